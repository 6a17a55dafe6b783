/* SPDX-License-Identifier: MIT
 *
 * http_get.c - fetch a file with a ceiling, a hash and a memory of where the line broke.
 *
 * The hash runs along with the bytes; a resumed transfer goes on with it, so a server that answers
 * with the middle of another file is found out at the end.
 */
#include "net/http_get.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fs.h"
#include "codec/sha256.h"

enum {
    HEADERS_MAX = 16
};

struct transfer {
    const struct tr_http_get *get;
    struct tr_sha256 *hash; /* NULL: none wanted */
    uint64_t have;          /* bytes in the file */
    char etag[160];         /* of the file whose start we have; "" when it cannot be resumed */
};

static int start_over(struct transfer *t, struct tr_err *err)
{
    if (ftruncate(t->get->fd, 0) < 0 || lseek(t->get->fd, 0, SEEK_SET) < 0)
        return tr_fail(err, TR_E_IO, errno, "truncate the file being fetched");
    if (t->hash)
        tr_sha256_reset(t->hash);
    t->have = 0;
    return 0;
}

static int on_head(void *arg, const struct tr_http_reply *reply, struct tr_err *err)
{
    struct transfer *t = arg;
    bool resumed = t->have > 0 && reply->status == 206 && reply->range_start == (int64_t)t->have &&
                   strcmp(reply->etag, t->etag) == 0;

    if (reply->length > 0 && (uint64_t)reply->length > t->get->max_bytes)
        return tr_fail(err, TR_E_LIMIT, 0, "it has %lld bytes, more than the %llu allowed",
                       (long long)reply->length, (unsigned long long)t->get->max_bytes);
    if (!resumed && reply->status == 206)
        return tr_fail(err, TR_E_RETRY, 0, "the server answered with another part of the file");
    if (!resumed && t->have > 0) {
        int r = start_over(t, err);

        if (r < 0)
            return r;
    }
    /* A weak tag says "about the same", which is not enough to put two halves together. */
    bool strong = reply->etag[0] == '"';
    (void)snprintf(t->etag, sizeof(t->etag), "%s", strong ? reply->etag : "");
    return 0;
}

static int on_bytes(void *arg, const void *bytes, size_t len, struct tr_err *err)
{
    struct transfer *t = arg;

    if (len > t->get->max_bytes - t->have)
        return tr_fail(err, TR_E_LIMIT, 0, "it has more than the %llu bytes allowed",
                       (unsigned long long)t->get->max_bytes);
    int r = tr_fs_write_all(t->get->fd, bytes, len, err);
    if (r < 0)
        return r;
    if (t->hash)
        tr_sha256_add(t->hash, bytes, len);
    t->have += len;
    return 0;
}

/* One exchange; on_head() decides whether it goes on or begins again. */
static int try_once(struct tr_http *h, struct transfer *t, struct tr_http_reply *reply,
                    struct tr_err *err)
{
    const struct tr_http_get *get = t->get;
    const struct tr_http_sink sink = {.head = on_head, .bytes = on_bytes, .arg = t};
    const char *lines[HEADERS_MAX + 2];
    const char *const *made = NULL;
    size_t n = 0;
    char range[64];
    char if_range[192];

    if (get->headers) {
        int r = get->headers->make(get->headers->arg, &made, &n, err);

        if (r < 0)
            return r;
        if (n > HEADERS_MAX)
            return tr_fail(err, TR_E_LIMIT, 0, "%zu headers for one request", n);
        memcpy(lines, made, n * sizeof(*lines));
    }
    if (t->have > 0 && t->etag[0]) {
        (void)snprintf(range, sizeof(range), "Range: bytes=%llu-", (unsigned long long)t->have);
        (void)snprintf(if_range, sizeof(if_range), "If-Range: %s", t->etag);
        lines[n++] = range;
        lines[n++] = if_range;
    }
    const struct tr_http_request req = {
        .method = "GET",
        .url = get->url,
        .headers = lines,
        .nheaders = n,
        .body_fd = -1,
        .max_bytes = get->max_bytes,
        .redirects = get->redirects,
        .sink = &sink,
    };
    return tr_http_exchange(h, &req, reply, err);
}

int tr_http_explain(const char *what, const struct tr_http_reply *reply, struct tr_err *err)
{
    int s = reply->status;

    if (s == 404 || s == 410)
        return tr_fail(err, TR_E_NOTFOUND, 0, "%s: there is no such file (HTTP %d)", what, s);
    if (s == 401 || s == 403)
        return tr_fail(err, TR_E_DENIED, 0, "%s: the server refuses it (HTTP %d)", what, s);
    if (tr_http_status_is_passing(s))
        return tr_fail(err, TR_E_RETRY, 0, "%s: the server cannot just now (HTTP %d)", what, s);
    return tr_fail(err, TR_E_FATAL, 0, "%s: the server answered HTTP %d", what, s);
}

static int judge_status(const struct tr_http_get *get, const struct tr_http_reply *reply,
                        struct tr_err *err)
{
    if (reply->status / 100 == 2)
        return 0;
    if (get->explain)
        return get->explain(get->explain_arg, reply, err);
    return tr_http_explain("fetch", reply, err);
}

int tr_sha256_check(const char *want, const char *got, const char *what, struct tr_err *err)
{
    if (strcmp(want, got) == 0)
        return 0;
    return tr_fail(err, TR_E_FATAL, 0,
                   "%s has SHA-256 %s, expected %s: it was changed or the hash is of another file",
                   what, got, want);
}

static int finish(struct transfer *t, uint64_t *ret_size, struct tr_err *err)
{
    char got[TR_SHA256_HEX];

    if (t->hash) {
        tr_sha256_end_hex(t->hash, got);
        int r = tr_sha256_check(t->get->sha256, got, "the file", err);

        if (r < 0)
            return r;
    }
    *ret_size = t->have;
    return 0;
}

int tr_http_get_file(struct tr_http *h, const struct tr_http_get *get, uint64_t *ret_size,
                     struct tr_err *err)
{
    TR_CLEANUP(tr_sha256_freep) struct tr_sha256 *hash = get->sha256 ? tr_sha256_new() : NULL;
    struct transfer t = {.get = get, .hash = hash};
    int r = 0;

    if (get->sha256 && !hash)
        return tr_fail(err, TR_E_NOMEM, 0, "out of memory");
    for (int attempt = 1; attempt <= tr_http_tries(h); attempt++) {
        struct tr_http_reply reply = {.status = 0};

        if (attempt > 1 && tr_http_backoff(h, attempt, err) < 0)
            return TR_E_LOST;
        r = try_once(h, &t, &reply, err);
        if (r == 0 && reply.status == 416) { /* the file became shorter than what we have */
            t.etag[0] = '\0';
            r = tr_fail(err, TR_E_RETRY, 0, "the file changed while it was fetched");
        } else if (r == 0) {
            r = judge_status(get, &reply, err);
        }
        if (r == 0)
            return finish(&t, ret_size, err);
        if (tr_err_class(r) != TR_E_RETRY)
            return r;
        if (!t.etag[0] && t.have > 0 && start_over(&t, err) < 0)
            return TR_E_IO;
    }
    return r;
}
