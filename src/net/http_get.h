/* SPDX-License-Identifier: MIT
 *
 * net/http_get.h - one file over HTTP, however often the line breaks.
 */
#ifndef NET_HTTP_GET_H
#define NET_HTTP_GET_H

#include <stdint.h>

#include "net/http.h"

/* Makes the headers of one try: a signature holds the time, so a second try needs new ones. The
 * lines live until the next call. */
struct tr_http_headers {
    int (*make)(void *arg, const char *const **ret_lines, size_t *ret_count, struct tr_err *err);
    void *arg;
};

struct tr_http_get {
    const char *url;
    const struct tr_http_headers *headers; /* or NULL */
    int redirects;
    int fd;             /* an empty file, written from its start */
    uint64_t max_bytes; /* more is TR_E_LIMIT */
    const char *sha256; /* 64 lower-case digits that must come out, or NULL */
    /* What a status that is not 2xx means, as TR_E_* with a sentence; NULL: the usual. */
    int (*explain)(void *arg, const struct tr_http_reply *reply, struct tr_err *err);
    void *explain_arg;
};

/* Fetch into fd. A transfer that breaks is tried again from where it broke when the server gave an
 * ETag and still has the same file, else from the start. Returns 0 and the size; TR_E_RETRY when
 * all tries failed, TR_E_NOTFOUND, TR_E_DENIED, TR_E_LIMIT, TR_E_LOST (stopped), TR_E_IO (disk),
 * or TR_E_FATAL: the bytes do not have the hash. What fd holds after a failure is of no use. */
int tr_http_get_file(struct tr_http *h, const struct tr_http_get *get, uint64_t *ret_size,
                     struct tr_err *err);

/* The usual meaning of a status. */
int tr_http_explain(const char *what, const struct tr_http_reply *reply, struct tr_err *err);

/* The same check for a file that is here already. */
int tr_sha256_check(const char *want, const char *got, const char *what, struct tr_err *err);

#endif
