/* SPDX-License-Identifier: MIT
 *
 * nats/conn.h - one connection to NATS that comes back by itself.
 *
 * Opening either works or says in one sentence what is wrong: nobody there, credentials, TLS. Once
 * open it reconnects for ever, with growing and jittered pauses; calls made meanwhile fail with
 * TR_E_RETRY. Acks leave at once (without that every ack waits for a flusher of 1 ms).
 */
#ifndef NATS_CONN_H
#define NATS_CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "nats/conf.h"

enum tr_nats_event {
    TR_NATS_DOWN,  /* the connection broke; it is being made anew */
    TR_NATS_UP,    /* again */
    TR_NATS_ERROR, /* the server complained (permissions, a slow reader); `text` says what */
    TR_NATS_CLOSED /* for good; only after tr_nats_close() or when the server refuses us for ever */
};

/* Called on a thread of the library: hand over, do not work. May be NULL. */
struct tr_nats_watch {
    void (*event)(void *arg, enum tr_nats_event what, const char *text);
    void *arg;
};

struct tr_nats;

/* With conf->wait it keeps trying when nobody answers at first (a worker that starts before the
 * server). Wrong credentials end it all the same: by TR_E_DENIED, or by TR_NATS_CLOSED when the
 * server came later. TR_E_RETRY: nobody there; TR_E_DENIED:
 * credentials or TLS; TR_E_USAGE, TR_E_NOTFOUND: the settings. The texts of `conf` are not kept. */
int tr_nats_open(const struct tr_nats_conf *conf, const struct tr_nats_watch *watch,
                 struct tr_nats **ret, struct tr_err *err);
void tr_nats_close(struct tr_nats *n); /* waits for what was sent */
void tr_nats_closep(struct tr_nats **n);

bool tr_nats_is_up(struct tr_nats *n);
int64_t tr_nats_timeout_ms(const struct tr_nats *n); /* of one request */
int64_t tr_nats_max_payload(struct tr_nats *n);
int tr_nats_servers(struct tr_nats *n); /* known members of the cluster, itself included */

/* The server we talk to, without credentials; for sentences. */
const char *tr_nats_where(struct tr_nats *n, char *out, size_t size);

/* What the server last complained about, "" when nothing; it is forgotten by the call. */
void tr_nats_last_complaint(struct tr_nats *n, char *out, size_t size);

#endif
