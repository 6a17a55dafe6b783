/* SPDX-License-Identifier: MIT
 *
 * nats/plan.h - what should exist on the server, and what it costs when it is otherwise.
 *
 * Pure: no connection. Configurations are JSON objects in the server's own spelling, so what
 * --dry-run prints is what is sent.
 */
#ifndef NATS_PLAN_H
#define NATS_PLAN_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum {
    TR_PLAN_ITEMS = 6, /* three streams, then three consumers */

    /* max_ack_pending counts for the whole farm: what runs, and what waits out the delay of a
     * retry. Four per slot leave room for the retries of a bad hour; when a dependency is down and
     * all tasks fail fast, the ceiling is what keeps the backlog from burning its tries. */
    TR_PLAN_PENDING_PER_SLOT = 4,
    TR_PLAN_FARM_SLOTS = 256 /* when nobody says how many slots there are */
};

struct tr_plan_conf {
    int replicas;          /* 1, 3 or 5 */
    bool more_replicas_ok; /* nobody asked for just so many */
    int64_t farm_slots;
};

struct tr_plan_item {
    const char *stream;
    const char *consumer; /* NULL: the stream itself */
    json_t *config;       /* a null value: must not be set */
    bool more_replicas_ok;
};

/* Fills all items; the caller frees with tr_plan_done(). TR_E_NOMEM. */
int tr_plan_make(const struct tr_plan_conf *conf, struct tr_plan_item out[static TR_PLAN_ITEMS],
                 struct tr_err *err);
void tr_plan_done(struct tr_plan_item items[static TR_PLAN_ITEMS]);

/* The name for people: the stream's or the consumer's. */
const char *tr_plan_name(const struct tr_plan_item *item);

struct tr_plan_diff {
    const char *field;
    const json_t *is;   /* NULL: not set */
    const json_t *want; /* JSON null: should not be set */
    const char *cost;   /* a phrase: what happens because of it */
};

/* Call each() for every setting of `live` that is not as planned; returns how many there are. */
int tr_plan_compare(const struct tr_plan_item *item, const json_t *live,
                    void (*each)(void *arg, const struct tr_plan_diff *diff), void *arg);

/* `live` with the planned settings laid over it, for an update: what the operator or a newer server
 * has set besides stays. With NULL: what to create. NULL when memory is out. */
json_t *tr_plan_merge(const struct tr_plan_item *item, const json_t *live);

#endif
