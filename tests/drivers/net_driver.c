/* SPDX-License-Identifier: MIT
 *
 * net_driver.c - src/net on the command line, so that pytest can show it real servers.
 *
 *     net_driver put BUCKET KEY FILE | get BUCKET KEY FILE [SHA256] | head BUCKET KEY
 *     net_driver delete BUCKET KEY | list BUCKET PREFIX | presign METHOD BUCKET KEY SECONDS
 *     net_driver fetch URL FILE MAX [SHA256]
 *
 * The server is in S3_ENDPOINT, S3_KEY, S3_SECRET; TRIES, BACKOFF_MS, PAGE_KEYS, CA_FILE and
 * FILE_DIR do what they say. Prints one line per fact. Exit 0, or 1 with "CLASS sentence" on
 * standard error.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "net/fetch.h"

struct driver {
    struct tr_http *http;
    struct tr_s3 *s3;
    char **args;
    int nargs;
};

static int64_t number(const char *text)
{
    int64_t n = 0;

    if (text && tr_parse_i64(text, 0, INT64_MAX, &n, NULL) < 0)
        abort();
    return n;
}

static int create(const char *path)
{
    return open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
}

static int do_put(const struct driver *d, struct tr_err *err)
{
    tr_autoclose int fd = open(d->args[2], O_RDONLY | O_CLOEXEC);

    return fd < 0 ? tr_fail(err, TR_E_IO, 0, "no file")
                  : tr_s3_put_fd(d->s3, d->args[0], d->args[1], fd, "text/plain", err);
}

static int do_puts(const struct driver *d, struct tr_err *err)
{
    return tr_s3_put(d->s3, d->args[0], d->args[1], d->args[2], strlen(d->args[2]), NULL, err);
}

static int do_get(const struct driver *d, struct tr_err *err)
{
    tr_autoclose int fd = create(d->args[2]);
    uint64_t size = 0;
    const struct tr_s3_want want = {
        .fd = fd, .max_bytes = UINT64_C(1) << 30, .sha256 = d->nargs > 3 ? d->args[3] : NULL};
    int r = tr_s3_get(d->s3, d->args[0], d->args[1], &want, &size, err);

    if (r == 0)
        (void)printf("%llu\n", (unsigned long long)size);
    return r;
}

static int do_head(const struct driver *d, struct tr_err *err)
{
    struct tr_s3_head head;
    int r = tr_s3_head(d->s3, d->args[0], d->args[1], &head, err);

    if (r == 0)
        (void)printf("%llu %s\n", (unsigned long long)head.size, head.etag);
    return r;
}

static int do_delete(const struct driver *d, struct tr_err *err)
{
    return tr_s3_delete(d->s3, d->args[0], d->args[1], err);
}

static int print_key(void *arg, const char *key, uint64_t size, struct tr_err *err)
{
    (void)printf("%llu %s\n", (unsigned long long)size, key);
    return 0;
}

static int do_list(const struct driver *d, struct tr_err *err)
{
    return tr_s3_list(d->s3, d->args[0], d->args[1], print_key, NULL, err);
}

static int do_presign(const struct driver *d, struct tr_err *err)
{
    TR_CLEANUP(tr_buf_done) struct tr_buf out;

    tr_buf_init(&out, 8192);
    int r = tr_s3_presign(d->s3, d->args[0], d->args[1], d->args[2], number(d->args[3]), &out, err);
    if (r == 0)
        (void)printf("%s\n", out.data);
    return r;
}

static int do_fetch(const struct driver *d, struct tr_err *err)
{
    tr_autoclose int fd = create(d->args[1]);
    const struct tr_fetch f = {.http = d->http, .s3 = d->s3, .file_dir = getenv("FILE_DIR")};
    uint64_t size = 0;
    int r = tr_fetch(&f, d->args[0], fd, (uint64_t)number(d->args[2]),
                     d->nargs > 3 ? d->args[3] : NULL, &size, err);

    if (r == 0)
        (void)printf("%llu\n", (unsigned long long)size);
    return r;
}

static const struct {
    const char *name;
    int args;
    int (*run)(const struct driver *d, struct tr_err *err);
} verbs[] = {
    {"put", 3, do_put},     {"puts", 3, do_puts},       {"get", 3, do_get},
    {"head", 2, do_head},   {"delete", 2, do_delete},   {"list", 2, do_list},
    {"fetch", 3, do_fetch}, {"presign", 4, do_presign},
};

static int run(int argc, char **argv, struct tr_err *err)
{
    TR_CLEANUP(tr_http_freep) struct tr_http *http = NULL;
    TR_CLEANUP(tr_s3_freep) struct tr_s3 *s3 = NULL;
    const struct tr_http_conf conf = {.ca_file = getenv("CA_FILE"),
                                      .tries = (int)number(getenv("TRIES")),
                                      .backoff_us = number(getenv("BACKOFF_MS")) * 1000};
    const struct tr_s3_conf s3_conf = {.endpoint = getenv("S3_ENDPOINT"),
                                       .access_key = getenv("S3_KEY"),
                                       .secret_key = getenv("S3_SECRET"),
                                       .page_keys = (int)number(getenv("PAGE_KEYS"))};
    int r = tr_http_new(&conf, &http, err);

    if (r == 0 && s3_conf.endpoint)
        r = tr_s3_new(&s3_conf, http, &s3, err);
    if (r < 0)
        return r;
    struct driver d = {.http = http, .s3 = s3, .args = argv + 2, .nargs = argc - 2};
    for (size_t i = 0; i < TR_ARRAY_LEN(verbs); i++) {
        if (argc > 1 && strcmp(argv[1], verbs[i].name) == 0 && d.nargs >= verbs[i].args)
            return verbs[i].run(&d, err);
    }
    return tr_fail(err, TR_E_USAGE, 0, "see the top of net_driver.c");
}

int main(int argc, char **argv)
{
    struct tr_err err = TR_ERR_INIT;

    if (run(argc, argv, &err) >= 0)
        return 0;
    (void)fprintf(stderr, "%s %s\n", tr_err_class_name(err.code), err.msg);
    return 1;
}
