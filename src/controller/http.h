/* SPDX-License-Identifier: MIT
 *
 * controller/http.h - a request, from its first header to the last byte of its answer.
 *
 * A handler gets a request whose body is complete, and answers now or later: exactly one of the
 * reply functions, from the loop's thread. While an answer waits for the database the request is
 * held (http_hold, http_release); the client may be gone by then, which replies do not mind.
 */
#ifndef CONTROLLER_HTTP_H
#define CONTROLLER_HTTP_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "controller/conn.h"
#include "controller/keys.h"

struct route;

enum {
    HTTP_PARTS_MAX = 8,  /* of a path */
    HTTP_QUERY_MAX = 24, /* parameters */
    HTTP_ARENA_MAX = 64 * 1024
};

struct http_param {
    const char *name, *value;
};

struct http_req {
    struct ctl *ctl;
    struct conn *conn; /* NULL: the client is gone */
    unsigned refs;
    struct tr_arena arena;
    const char *method; /* "GET" … */
    bool head_only;
    char *path;
    char *parts[HTTP_PARTS_MAX]; /* the path's, decoded */
    size_t nparts;
    struct http_param query[HTTP_QUERY_MAX];
    size_t nquery;
    const char *authorization, *idempotency_key, *last_event_id, *if_none_match, *range, *if_range,
        *accept_encoding; /* or NULL */
    bool here;            /* needs no key (door.h) */
    int64_t body_left;    /* still to come */
    struct tr_buf body;
    int body_fd; /* uploads: a file without a name; else -1 */
    uint64_t body_bytes;

    const struct route *route;
    const char *args[HTTP_PARTS_MAX]; /* what stands for {…} in the route */
    struct key_who who;

    /* The answer. */
    bool replied, streaming, closing;
    bool drained; /* answered, and only the rest of the body is awaited */
    int status;
    struct tr_buf head;
    struct note *note; /* the body, or … */
    int file_fd;       /* … this part of a file */
    int64_t file_at, file_left;
    bool head_sent;

    /* While it waits. */
    void *waiting;
    void (*gone)(struct http_req *req); /* the client left; NULL: nobody cares */
    struct http_req *next;              /* in a list of whoever holds it */
};

struct http_req *http_hold(struct http_req *req);
void http_release(struct http_req *req);

/* The value of a parameter, or NULL; "" where it has none. */
const char *http_query(const struct http_req *req, const char *name);

/* ---------------------------------------------------------------- replies */

/* Takes the document over; NULL (memory is out) becomes an error. */
void reply_json(struct http_req *req, int status, json_t *doc);
void reply_bytes(struct http_req *req, int status, const char *type, const void *bytes, size_t len);
/* {"error": …}; field may be NULL. */
void reply_error(struct http_req *req, int status, const char *code, const char *field,
                 const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/* A failed call of ours, by its class. */
void reply_failure(struct http_req *req, const char *field, const struct tr_err *err);
/* A file from its start, or the part that Range asks for; takes fd over. */
void reply_file(struct http_req *req, int fd, uint64_t size, const char *type, const char *etag);
/* A header line for the answer to come, without its end. Before the reply. */
void reply_header(struct http_req *req, const char *name, const char *value);
/* Head only; the body follows by conn_send() and never ends. */
void reply_stream(struct http_req *req, const char *type);
json_t *error_json(const char *code, const char *field, const char *message);

/* ---------------------------------------------------------------- for server.c */

int http_begin(struct conn *c);
int http_body(struct conn *c, const void *bytes, size_t len);
int http_body_end(struct conn *c);
int http_writeable(struct conn *c);
int http_late(struct conn *c);
void http_gone(struct conn *c);

#endif
