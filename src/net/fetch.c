/* SPDX-License-Identifier: MIT
 *
 * fetch.c - file, http, https, s3 and minio behind one call.
 *
 * A task may name any address. file:// is ours, not curl's: it reads regular files below one folder
 * that the operator named, and nothing else, or a task could ask for /etc/shadow by its hash.
 */
#include "net/fetch.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fs.h"
#include "codec/sha256.h"
#include "net/http_get.h"
#include "net/url.h"

enum {
    REDIRECTS_MAX = 5,
    SHOWN_MAX = 200 /* of an address before a sentence */
};

static int copy_file(int from, int to, uint64_t max, uint64_t *ret_size, struct tr_err *err)
{
    char block[16384];
    uint64_t size = 0;

    for (;;) {
        ssize_t n = read(from, block, sizeof(block));

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return tr_fail(err, TR_E_IO, errno, "read");
        if (n == 0)
            break;
        if ((uint64_t)n > max - size) /* it grew while we read */
            return tr_fail(err, TR_E_LIMIT, 0, "it has more than the %llu bytes allowed",
                           (unsigned long long)max);
        int r = tr_fs_write_all(to, block, (size_t)n, err);
        if (r < 0)
            return r;
        size += (uint64_t)n;
    }
    *ret_size = size;
    return 0;
}

/* The part of `path` below `dir`, or NULL when it is not below. ".." is left to openat2. */
static const char *below(const char *dir, const char *path)
{
    size_t n = strlen(dir);

    while (n > 1 && dir[n - 1] == '/')
        n--;
    if (strncmp(path, dir, n) != 0)
        return NULL;
    path += n;
    if (*path != '/' && dir[n - 1] != '/')
        return NULL;
    return path + strspn(path, "/");
}

static int fetch_file(const struct tr_fetch *f, const char *path, int fd, uint64_t max,
                      const char *sha256, uint64_t *ret_size, struct tr_err *err)
{
    const char *rest = f->file_dir ? below(f->file_dir, path) : NULL;
    char got[TR_SHA256_HEX];

    if (!f->file_dir)
        return tr_fail(err, TR_E_DENIED, 0, "file:// is not allowed here: no data folder is set");
    if (!rest || !*rest)
        return tr_fail(err, TR_E_DENIED, 0, "it is not below the data folder '%s'", f->file_dir);
    tr_autoclose int dir = open(f->file_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return tr_fail(err, TR_E_IO, errno, "open the data folder '%s'", f->file_dir);
    tr_autoclose int from = tr_fs_open_regular(dir, rest, max, NULL, err);
    if (from < 0)
        return from;
    uint64_t size = 0;
    int r = copy_file(from, fd, max, &size, err);
    if (r == 0 && sha256)
        r = tr_sha256_fd(fd, got, err);
    if (r == 0 && sha256)
        r = tr_sha256_check(sha256, got, "the file", err);
    if (r < 0)
        return r;
    *ret_size = size;
    return 0;
}

static int fetch_http(const struct tr_fetch *f, const char *url, int fd, uint64_t max,
                      const char *sha256, uint64_t *ret_size, struct tr_err *err)
{
    const struct tr_http_get get = {
        .url = url, .redirects = REDIRECTS_MAX, .fd = fd, .max_bytes = max, .sha256 = sha256};

    return tr_http_get_file(f->http, &get, ret_size, err);
}

static int fetch_s3(const struct tr_fetch *f, const struct tr_url *u, int fd, uint64_t max,
                    const char *sha256, uint64_t *ret_size, struct tr_err *err)
{
    if (!f->s3)
        return tr_fail(err, TR_E_USAGE, 0, "no S3 endpoint is configured");
    const struct tr_s3_want want = {.fd = fd, .max_bytes = max, .sha256 = sha256};
    return tr_s3_get(f->s3, u->host, u->path, &want, ret_size, err);
}

int tr_fetch(const struct tr_fetch *f, const char *url, int fd, uint64_t max_bytes,
             const char *sha256, uint64_t *ret_size, struct tr_err *err)
{
    struct tr_url u;
    char hash[TR_SHA256_HEX];
    const char *want = sha256 ? hash : NULL;
    int r = tr_url_parse(url, strlen(url), &u, err);

    if (r == 0 && sha256)
        r = tr_sha256_parse(sha256, hash, err);
    if (r < 0)
        return r;
    switch (u.scheme) {
    case TR_URL_FILE:
        r = fetch_file(f, u.path, fd, max_bytes, want, ret_size, err);
        break;
    case TR_URL_S3:
        r = fetch_s3(f, &u, fd, max_bytes, want, ret_size, err);
        break;
    case TR_URL_HTTP:
    case TR_URL_HTTPS:
        r = fetch_http(f, url, fd, max_bytes, want, ret_size, err);
        break;
    }
    if (r == 0)
        return 0;
    /* Without the query: it may hold a signature. */
    size_t shown = strcspn(url, "?");
    return tr_fail_wrap(err, "%.*s", (int)(shown < SHOWN_MAX ? shown : SHOWN_MAX), url);
}
