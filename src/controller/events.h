/* SPDX-License-Identifier: MIT
 *
 * controller/events.h - who listens to what happens: server-sent events, backends, and requests
 * that wait for one submission's end.
 *
 * Events with an id are rows, written in the transaction of the change they tell of; they are read
 * back in order and so reach a listener once, from whichever controller they came, and can be read
 * again from any id. Live ones (progress, judges, statistics) are told once and kept nowhere.
 */
#ifndef CONTROLLER_EVENTS_H
#define CONTROLLER_EVENTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct ctl;
struct conn;
struct events;
struct http_req;
struct event_wait;

enum {
    EVENTS_KEPT = 100000,
    EVENTS_LISTENERS_MAX = 4096,
    EVENTS_IDS_MAX = 256 /* submissions that one listener names */
};

int events_new(struct ctl *ctl, struct events **ret, struct tr_err *err);
void events_free(struct events *ev);

/* There may be new rows: read them. */
void events_poke(struct events *ev);
/* Tell everybody now; takes the document over (NULL is ignored). */
void events_live(struct events *ev, json_t *doc);
/* Does anybody listen? Then it is worth making an event. */
bool events_heard(const struct events *ev);

/* GET /api/v1/events: answers the request and keeps it. */
void events_listen_http(struct http_req *req);
/* A backend's subscription, replacing the one it had; ids NULL: everything. after < 0: from now on.
 * False when there are too many listeners. */
bool events_listen_ws(struct events *ev, struct conn *c, const char *const *ids, size_t n,
                      int64_t after);
/* One more submission for a connection that named some (or none yet). */
void events_also(struct events *ev, struct conn *c, const char *submit_id);
void events_unlisten(struct events *ev, struct conn *c);

/* Call fn(arg, true) when the submission comes to its end (FINISHED, DLQ, CANCELLED), fn(arg,
 * false) after timeout_us. NULL when memory is out. */
struct event_wait *events_wait(struct events *ev, const char *submit_id, int64_t timeout_us,
                               void (*fn)(void *arg, bool ended), void *arg);
void events_wait_stop(struct event_wait *w); /* before fn was called; fn will not be */

#endif
