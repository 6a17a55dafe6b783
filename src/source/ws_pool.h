/* SPDX-License-Identifier: MIT
 *
 * source/ws_pool.h - a real judge on a controller: the ws source over slot processes.
 */
#ifndef SOURCE_WS_POOL_H
#define SOURCE_WS_POOL_H

#include "pool/pool.h"
#include "source/ws.h"

struct tr_ws_pool;

struct tr_ws_pool_conf {
    struct tr_loop *loop;
    struct tr_pool_conf pool;        /* its events are ours */
    struct tr_ws_source_conf source; /* of tokens 0 means: as many as slots */
    struct tr_ws_judge_events events;
    const char *data_dir; /* where slots look for archives by hash */
    uint64_t data_bytes;
    const char *redis;   /* second level, or NULL */
    const char *ca_file; /* for https and wss, or NULL */
    bool no_logs;
    void (*broken)(void *arg, const char *why); /* a slot cannot start; arg of events */
};

int tr_ws_pool_new(const struct tr_ws_pool_conf *conf, struct tr_ws_pool **ret, struct tr_err *err);
/* After events.ended(); the loop has stopped. */
void tr_ws_pool_free(struct tr_ws_pool *p);

/* As tr_ws_source_leave(). */
void tr_ws_pool_leave(struct tr_ws_pool *p, bool now);

#endif
