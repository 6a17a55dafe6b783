/* SPDX-License-Identifier: MIT
 *
 * unique.c - enqueue with a unique key.
 *
 * While a job must stay the only one, its row holds the key in unique_slot, under a unique index:
 * the database decides, not a look beforehand. A claim empties the slot of scope QUEUED. Scope
 * WINDOW holds its key in job_unique, because it outlives the row.
 */
#include <string.h>

#include "queue/enqueue.h"

enum {
    ROUNDS_MAX = 8 /* the job in the way may be gone each time we look */
};

struct found {
    int64_t id;
    int state;
    int rows;
};

static int found_row(void *arg, const struct tq_val *cols, int ncols)
{
    struct found *f = arg;

    f->id = tqi_val_int(&cols[0]);
    f->state = ncols > 1 ? (int)tqi_val_int(&cols[1]) : 0;
    f->rows++;
    return 0;
}

static int replace(struct tqi_link *l, struct tqi_new *n, int64_t id, struct tr_err *err)
{
    struct tq_val c[TQI_INSERT_COLS];
    int64_t changed = 0;

    tqi_new_cells(n, c);
    struct tq_val p[] = {tqi_int(id), c[2], c[3], c[1], c[4], c[5], c[6], c[7], c[8]};
    int r = tqi_exec(l, S_REPLACE, p, (int)TR_ARRAY_LEN(p), NULL, NULL, &changed, err);
    return r < 0 ? r : changed > 0;
}

/* The job `running` runs: leave one successor behind it, the newest. */
static int follow(struct tqi_link *l, struct tqi_new *n, int64_t running, struct tr_err *err)
{
    struct tq_val id = tqi_int(running);
    struct found next = {0};
    int64_t marked = 0;

    /* Locks the running row: its owner's ack comes before this (then nothing is marked and the
     * caller looks again) or after it (then it sees the mark). */
    int r = tqi_exec(l, S_MARK_NEXT, &id, 1, NULL, NULL, &marked, err);
    if (r < 0)
        return r;
    r = tqi_exec(l, S_AFTER_FIND, &id, 1, found_row, &next, NULL, err);
    if (r < 0)
        return r;
    if (next.rows) {
        r = replace(l, n, next.id, err);
        n->out = (struct tq_enqueued){.id = next.id, .existed = TQ_FOLLOWS};
        return r < 0 ? r : 1;
    }
    struct found still = {0};
    struct tq_val p[] = {tqi_text(n->item.queue),
                         tqi_bytes(n->item.unique_key, n->item.unique_len)};
    r = tqi_exec(l, S_UNIQUE_FIND, p, 2, found_row, &still, NULL, err);
    if (r < 0 || !still.rows || still.id != running || still.state != TQ_RUNNING)
        return r < 0 ? r : 0;
    n->with_slot = false;
    n->after_id = running;
    r = tqi_insert_one(l, n, err);
    n->after_id = 0;
    n->out.existed = TQ_FOLLOWS;
    return r;
}

/* 1 when the conflict is settled, 0 to look again. */
static int on_conflict(struct tqi_link *l, struct tqi_new *n, const struct found *there,
                       struct tr_err *err)
{
    int mode = n->item.on_conflict;

    if (mode == TQ_CONFLICT_AFTER_RUNNING && there->state == TQ_RUNNING)
        return follow(l, n, there->id, err);
    if (mode != TQ_CONFLICT_KEEP && there->state != TQ_RUNNING) {
        int r = replace(l, n, there->id, err);
        n->out = (struct tq_enqueued){.id = there->id, .existed = TQ_REPLACED};
        return r;
    }
    n->out = (struct tq_enqueued){.id = there->id, .existed = TQ_EXISTED};
    return 1;
}

static int in_slot(struct tqi_link *l, struct tqi_new *n, struct tr_err *err)
{
    struct tq_val p[] = {tqi_text(n->item.queue),
                         tqi_bytes(n->item.unique_key, n->item.unique_len)};
    bool keep = n->item.on_conflict == TQ_CONFLICT_KEEP;

    for (int round = 0; round < ROUNDS_MAX; round++) {
        struct found there = {0};

        /* Looking first spares an id for every duplicate. */
        int r =
            tqi_exec(l, keep ? S_UNIQUE_SEEN : S_UNIQUE_FIND, p, 2, found_row, &there, NULL, err);
        if (r >= 0 && there.rows) {
            r = on_conflict(l, n, &there, err);
        } else if (r >= 0) {
            n->with_slot = true;
            n->out.existed = TQ_NEW;
            r = tqi_insert_one(l, n, err);
        }
        if (r != 0)
            return r < 0 ? r : 0;
    }
    return tr_fail(err, TR_E_RETRY, 0, "the job with this unique key changed %d times meanwhile",
                   (int)ROUNDS_MAX);
}

static int in_window(struct tqi_link *l, struct tqi_new *n, struct tr_err *err)
{
    struct tq_val p[] = {tqi_text(n->item.queue), tqi_bytes(n->item.unique_key, n->item.unique_len),
                         tqi_int(n->item.unique_window_us)};
    int64_t holder = 0;

    int r = tqi_exec(l, S_WINDOW_TAKE, p, 3, NULL, NULL, NULL, err);
    if (r >= 0)
        r = tqi_scalar(l, S_WINDOW_FIND, p, 2, &holder, err);
    if (r < 0)
        return r;
    if (r == 0) /* in a caller's old snapshot the holder's row may be out of sight */
        return tr_fail(err, TR_E_ABORT, 0, "another transaction took this unique key just now");
    if (holder > 0) {
        n->out = (struct tq_enqueued){.id = holder, .existed = TQ_EXISTED};
        return 0;
    }
    n->with_slot = false;
    r = tqi_insert_one(l, n, err);
    if (r < 0)
        return r;
    p[2] = tqi_int(n->out.id);
    n->out.existed = TQ_NEW;
    return tqi_exec(l, S_WINDOW_SET, p, 3, NULL, NULL, NULL, err);
}

int tqi_enqueue_unique(struct tqi_link *l, struct tqi_new *n, struct tr_err *err)
{
    n->out = (struct tq_enqueued){0};
    return n->item.unique_scope == TQ_UNIQUE_WINDOW ? in_window(l, n, err) : in_slot(l, n, err);
}
