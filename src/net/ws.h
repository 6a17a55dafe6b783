/* SPDX-License-Identifier: MIT
 *
 * net/ws.h - WebSocket connections to somebody else's server, as a client, on our event loop.
 *
 * Text messages only, whole ones: fragments are put together, what is over its ceiling ends the
 * connection. Nothing here tries again; that is the caller's, who knows why it was connected.
 */
#ifndef NET_WS_H
#define NET_WS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "rt/loop.h"

/* What all connections of one loop share. All calls belong to the loop's thread. */
struct tr_ws_net;

struct tr_ws_conf {
    const char *ca_file; /* trusted certificates for wss://; NULL: the system's */
    unsigned most;       /* connections at once; 0: 16 */
};

int tr_ws_net_new(struct tr_loop *loop, const struct tr_ws_conf *conf, struct tr_ws_net **ret,
                  struct tr_err *err);
/* After all its connections were freed and the loop has stopped. Turns the loop a few more times,
 * because libuv closes handles only there. */
void tr_ws_net_free(struct tr_ws_net *n);

struct tr_ws;

/* Called on the loop, never from inside a call of this file. tr_ws_free() is allowed in each. */
struct tr_ws_events {
    void *arg;
    void (*opened)(void *arg);
    /* One text message; bytes[len] is 0. */
    void (*text)(void *arg, char *bytes, size_t len);
    /* Once and last, also when it could not be opened: the peer's close code, or 1006 when there
     * was none, and a sentence. */
    void (*closed)(void *arg, int code, const char *why);
};

struct tr_ws_target {
    const char *url;         /* ws://host[:port] or wss://…; http and https mean the same */
    const char *path;        /* "/ws/judge" */
    const char *subprotocol; /* asked for; or NULL */
    size_t max_message;      /* of a message that we take */
    size_t max_waiting;      /* bytes that may wait to be sent */
};

/* Begin to connect; gives up by itself after 10 s. TR_E_PARSE for a bad address. */
int tr_ws_connect(struct tr_ws_net *n, const struct tr_ws_target *target,
                  const struct tr_ws_events *events, struct tr_ws **ret, struct tr_err *err);

/* Queue one text message. TR_E_LOST when the connection is closing, TR_E_LIMIT when the peer reads
 * too slowly. */
int tr_ws_send(struct tr_ws *w, const char *bytes, size_t len, struct tr_err *err);

/* Close with a code after what is queued was sent, or as soon as it is open; closed() follows. */
void tr_ws_close(struct tr_ws *w, int code);

/* Forget it now; no event comes any more. NULL is fine. */
void tr_ws_free(struct tr_ws *w);

/* "https://host:port" of a ws or http address, for requests to the same server. `out` has at least
 * TR_WS_BASE bytes. */
enum {
    TR_WS_BASE = 280
};
int tr_ws_http_base(const char *url, char out[static TR_WS_BASE], struct tr_err *err);

#endif
