/* SPDX-License-Identifier: MIT
 *
 * store/events.h - what happened to submissions, in order, kept with the change itself.
 */
#ifndef STORE_EVENTS_H
#define STORE_EVENTS_H

#include "store/store.h"

struct tr_event {
    int64_t id, at_us;
    const char *type, *submit_id;
    const char *body; /* JSON */
    size_t body_len;
};
struct tr_event_list {
    struct tr_event *rows;
    size_t count;
};

/* In the caller's transaction, beside the move it tells of. */
int tr_store_event_add(struct tr_store *st, const char *type, const char *submit_id,
                       const char *body, size_t len, struct tr_err *err);
/* At most `limit` behind after_id, in order. Ids may have gaps; another writer's smaller id may
 * become visible after a larger one (not on SQLite). */
int tr_store_events_after(struct tr_store *st, int64_t after_id, int limit, struct tr_arena *arena,
                          struct tr_event_list *ret, struct tr_err *err);
/* Those of one submission. */
int tr_store_events_of(struct tr_store *st, const char *submit_id, int limit,
                       struct tr_arena *arena, struct tr_event_list *ret, struct tr_err *err);
/* The first and the last id that are there; 0, 0 when none is. */
int tr_store_events_ends(struct tr_store *st, int64_t *ret_first, int64_t *ret_last,
                         struct tr_err *err);
/* Forget all up to this id. */
int tr_store_events_prune(struct tr_store *st, int64_t up_to, struct tr_err *err);

#endif
