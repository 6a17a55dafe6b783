/* SPDX-License-Identifier: MIT
 *
 * controller/conn.h - one connection: a request at a time, or a WebSocket.
 *
 * Everything here belongs to the loop's thread. A connection ends at any moment: whoever keeps a
 * pointer to one (a request that waits for the database, a judge, a listener) is told by its own
 * `gone` call and must drop it there.
 */
#ifndef CONTROLLER_CONN_H
#define CONTROLLER_CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ctl;
struct lws;
struct http_req;

/* Bytes to send, shared by all who get the same (an event for a thousand listeners is one). */
struct note {
    unsigned refs;
    size_t len;
    unsigned char *bytes; /* LWS_PRE bytes of room before them */
};
struct note *note_new(const void *bytes, size_t len); /* NULL when memory is out */
struct note *note_ref(struct note *n);
void note_unref(struct note *n);

enum conn_kind {
    CONN_HTTP,
    CONN_JUDGE,
    CONN_BACKEND
};

enum {
    CONN_BACKLOG_MAX = 64 * 1024 * 1024, /* to a judge: four tasks of the largest kind */
    CONN_LISTENER_BACKLOG_MAX = 1024 * 1024,
    CONN_PEER_MAX = 64
};

struct conn_out;

struct conn {
    struct ctl *ctl;
    struct lws *wsi;
    enum conn_kind kind;
    char peer[CONN_PEER_MAX]; /* its address, for people */
    bool loopback;
    struct http_req *req; /* HTTP: the request under way */

    /* What goes out, in order. */
    struct conn_out *first, *last;
    size_t backlog, backlog_max;

    /* WebSocket: the message that is coming in, and the end we want. */
    struct {
        char *data;
        size_t len, cap, max;
    } in;
    unsigned close_code; /* 0: stays open; else close after what is queued */
    char close_why[124];
    bool close_sent;
    bool open;     /* counted in ctl->sockets */
    void *session; /* of judge_ws.c or backend_ws.c */
    void (*message)(struct conn *c, const char *text, size_t len);
    void (*gone)(struct conn *c);
};

/* Queue bytes; takes over the caller's reference. A connection too far behind is closed. */
void conn_send(struct conn *c, struct note *n);
/* Close with this WebSocket code once everything queued is out. What comes in is ignored. */
void conn_close(struct conn *c, unsigned code, const char *why);
/* Write what can be written now: for the WRITEABLE callbacks. -1: the connection has to end. */
int conn_flush(struct conn *c);
bool conn_pending(const struct conn *c);

struct conn *conn_new(struct ctl *ctl, struct lws *wsi);
void conn_free(struct conn *c);

/* A piece of a WebSocket message. -1: the connection has to end. */
int conn_receive(struct conn *c, const void *in, size_t len, bool binary, bool last);

#endif
