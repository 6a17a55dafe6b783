/* SPDX-License-Identifier: MIT
 *
 * net/http.h - one HTTP exchange, bounded in time and bytes.
 */
#ifndef NET_HTTP_H
#define NET_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct tr_http_conf {
    const char *ca_file;        /* trusted certificates; NULL: the system's */
    int64_t connect_timeout_us; /* 0: 10 s */
    int64_t stall_us;           /* give up when nothing moves for so long; 0: 30 s */
    int64_t timeout_us;         /* one whole exchange; 0: 30 min, for 16 GiB at 10 MB/s */
    int tries;                  /* of the calls that try again; 0: 5 */
    int64_t backoff_us;         /* before the second try, doubled for each later one; 0: 200 ms */
    bool (*stop)(void *arg);    /* asked often; true ends everything with TR_E_LOST. NULL: never */
    void *stop_arg;
};

/* A client keeps its connections open between requests. One thread at a time. The texts of `conf`
 * stay the caller's and must outlive the client. */
struct tr_http;
int tr_http_new(const struct tr_http_conf *conf, struct tr_http **ret, struct tr_err *err);
void tr_http_free(struct tr_http *h);
void tr_http_freep(struct tr_http **h);

struct tr_http_reply {
    int status;
    uint64_t bytes;      /* of the body that were handed to the sink */
    int64_t length;      /* Content-Length, or -1 */
    int64_t range_start; /* of Content-Range, or -1 */
    char etag[160];      /* with its quotes; "" when there is none or it is longer */
    char problem[4096];  /* the start of the body when the status is not 2xx, as text */
    size_t problem_len;
};

/* Where the body of a 2xx answer goes. A negative result ends the exchange and is what
 * tr_http_exchange() returns. */
struct tr_http_sink {
    int (*head)(void *arg, const struct tr_http_reply *reply, struct tr_err *err); /* or NULL */
    int (*bytes)(void *arg, const void *bytes, size_t len, struct tr_err *err);
    void *arg;
};

struct tr_http_request {
    const char *method; /* GET, HEAD, PUT, POST or DELETE */
    const char *url;    /* http:// or https://, already checked and encoded */
    const char *const *headers;
    size_t nheaders;
    const void *body; /* for PUT and POST: these bytes, or … */
    size_t body_len;
    int body_fd; /* … body_size bytes of this file from its start (-1: none) */
    uint64_t body_size;
    uint64_t max_bytes;              /* of the answer's body; more is TR_E_LIMIT */
    int redirects;                   /* how many to follow: 0 for what is signed */
    const struct tr_http_sink *sink; /* NULL: a 2xx body is dropped */
};

/* One exchange, no second try. Returns 0 whenever an answer came, whatever its status; *ret says
 * which. Else TR_E_RETRY (no connection, cut off, too slow), TR_E_LIMIT, TR_E_LOST (stopped),
 * TR_E_DENIED (the certificate), or what the sink returned. */
int tr_http_exchange(struct tr_http *h, const struct tr_http_request *req,
                     struct tr_http_reply *ret, struct tr_err *err);

/* May the same request succeed later? 408, 429 and 5xx. */
bool tr_http_status_is_passing(int status);

int tr_http_tries(const struct tr_http *h);

/* Wait before try number `next` (2 …) with jitter. TR_E_LOST when stopped meanwhile. */
int tr_http_backoff(struct tr_http *h, int next, struct tr_err *err);

#endif
