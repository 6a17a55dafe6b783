/* SPDX-License-Identifier: MIT
 *
 * admin.c - what people do to single jobs, pruning, and keys that must be seen once.
 */
#include <string.h>

#include "base/clock.h"
#include "queue/internal.h"

struct target {
    int64_t id;
    int force;
};

/* The live row, locked; 0 when there is none. */
static int lock_row(struct tqi_link *l, int64_t id, tq_batch *b, struct tr_err *err)
{
    struct tq_val p = tqi_int(id);

    int r = tqi_exec(l, S_LOCK_ANY, &p, 1, tqi_batch_row, b, NULL, err);
    return r < 0 ? r : b->n;
}

static int archive(struct tqi_link *l, const tq_batch *b, int status, struct tr_err *err)
{
    struct tqi_finish f = {.ref = b->jobs[0].ref, .status = status};

    if (b->jobs[0].result) {
        f.data = b->jobs[0].result;
        f.len = b->jobs[0].result_len;
    }
    return tqi_finish(l, &f, 1, false, true, err);
}

static int cancel_op(struct tqi_link *l, void *arg, struct tr_err *err)
{
    const struct target *t = arg;
    TR_CLEANUP(tqi_batch_freep) tq_batch *b = tqi_batch_new();
    struct tq_val p = tqi_int(t->id);

    if (!b)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory");
    int r = lock_row(l, t->id, b, err);
    if (r <= 0)
        return r < 0 ? r : tr_fail(err, TR_E_NOTFOUND, 0, "no live job %lld", (long long)t->id);
    if (b->jobs[0].state == TQ_RUNNING && !t->force) {
        r = tqi_exec(l, S_ASK_CANCEL, &p, 1, NULL, NULL, NULL, err);
        return r < 0 ? r : TQ_RUNNING;
    }
    r = archive(l, b, TQ_CANCELLED, err);
    if (r >= 0)
        r = tqi_event(l, TQ_EV_CANCELLED, &b->jobs[0], err);
    return r < 0 ? r : TQ_CANCELLED;
}

static int retry_op(struct tqi_link *l, void *arg, struct tr_err *err)
{
    struct tq_val p = tqi_int(((const struct target *)arg)->id);
    int64_t state = -1, done = 0;

    int r = tqi_scalar(l, S_STATE_OF, &p, 1, &state, err);
    if (r < 0)
        return r;
    if (state == TQ_SCHEDULED) {
        r = tqi_exec(l, S_RUN_NOW, &p, 1, NULL, NULL, NULL, err);
        tqi_mark_reset(l->q, NULL);
        return r < 0 ? r : 0;
    }
    if (state >= 0)
        return tr_fail(err, TR_E_EXISTS, 0, "job %lld is %s already", (long long)p.i,
                       tq_state_name((int)state));
    r = tqi_exec(l, S_REVIVE, &p, 1, NULL, NULL, &done, err);
    if (r >= 0 && !done)
        return tr_fail(err, TR_E_NOTFOUND, 0, "no dead, discarded or cancelled job %lld",
                       (long long)p.i);
    if (r >= 0 && tqi_has(l, S_REVIVE_MARK))
        r = tqi_exec(l, S_REVIVE_MARK, &p, 1, NULL, NULL, NULL, err);
    tqi_mark_reset(l->q, NULL);
    return r < 0 ? r : 0;
}

static int drop_op(struct tqi_link *l, void *arg, struct tr_err *err)
{
    const struct target *t = arg;
    TR_CLEANUP(tqi_batch_freep) tq_batch *b = tqi_batch_new();
    struct tq_val p = tqi_int(t->id);
    int64_t done = 0;

    if (!b)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory");
    int r = lock_row(l, t->id, b, err);
    if (r < 0)
        return r;
    if (r > 0 && b->jobs[0].state == TQ_RUNNING)
        return tr_fail(err, TR_E_BUSY, 0, "job %lld is running; cancel it", (long long)t->id);
    if (r > 0)
        return archive(l, b, TQ_DISCARDED, err);
    r = tqi_exec(l, S_FORGET, &p, 1, NULL, NULL, &done, err);
    if (r >= 0 && !done)
        return tr_fail(err, TR_E_NOTFOUND, 0, "no queued or dead job %lld", (long long)t->id);
    return r;
}

int tq_cancel(tq *q, int64_t id, int force, struct tr_err *err)
{
    struct target t = {.id = id, .force = force};

    return tqi_run(q, OP_TX, cancel_op, &t, err);
}

int tq_retry(tq *q, int64_t id, struct tr_err *err)
{
    struct target t = {.id = id};

    return tqi_run(q, OP_TX, retry_op, &t, err);
}

int tq_drop(tq *q, int64_t id, struct tr_err *err)
{
    struct target t = {.id = id};

    int r = tqi_run(q, OP_TX, drop_op, &t, err);
    return r < 0 ? r : 0;
}

/* ---------------------------------------------------------------- pruning */

struct prune {
    int64_t older_us;
    int dead, max;
    char queue[TQ_NAME_MAX + 1];
    bool more;
};

static int queue_row(void *arg, const struct tq_val *cols, int ncols)
{
    struct prune *p = arg;

    p->more = cols[0].type != TQ_NULL && cols[0].len <= TQ_NAME_MAX;
    if (p->more) {
        memcpy(p->queue, cols[0].p, cols[0].len);
        p->queue[cols[0].len] = '\0';
    }
    return 0;
}

/* One queue after the other, along the index (queue_name, finished_at). */
static int prune_op(struct tqi_link *l, void *arg, struct tr_err *err)
{
    struct prune *p = arg;
    int left = p->max;
    int64_t gone = 0;

    p->queue[0] = '\0';
    while (left > 0) {
        struct tq_val last = tqi_text(p->queue);
        struct tqi_config g;

        p->more = false;
        int r = tqi_exec(l, S_PRUNE_QUEUE, &last, 1, queue_row, p, NULL, err);
        if (r < 0 || !p->more)
            break;
        r = tqi_config(l, S_CONFIG_GET, p->queue, &g, err);
        if (r < 0)
            return r;
        int64_t older = g.c.retention_us > 0 ? g.c.retention_us : p->older_us;
        struct tq_val v[] = {tqi_text(p->queue), tqi_int(older), tqi_int(p->dead), tqi_int(left)};
        r = older > 0 ? tqi_exec(l, S_PRUNE, v, 4, NULL, NULL, &gone, err) : 0;
        if (r < 0)
            return r;
        left -= older > 0 ? (int)gone : 0;
    }
    struct tq_val v[] = {tqi_int(p->older_us), tqi_int(p->max)};
    int r = p->older_us > 0 ? tqi_exec(l, S_PRUNE_ATTEMPTS, v, 2, NULL, NULL, NULL, err) : 0;
    return r < 0 ? r : p->max - left;
}

static int prune_keys_op(struct tqi_link *l, void *arg, struct tr_err *err)
{
    struct tq_val max = tqi_int(*(int *)arg);

    int r = tqi_exec(l, S_WINDOW_PRUNE, &max, 1, NULL, NULL, NULL, err);
    return r < 0 ? r : tqi_exec(l, S_ONCE_PRUNE, &max, 1, NULL, NULL, NULL, err);
}

int tq_prune(tq *q, int64_t older_us, int dead, int max, struct tr_err *err)
{
    struct prune p = {.older_us = older_us, .dead = dead != 0, .max = max};

    if (max < 1 || max > 100000 || older_us < 0)
        return tr_fail(err, TR_E_USAGE, 0, "prune needs an age and a number of rows (1 … 100000)");
    return tqi_run(q, OP_TX, prune_op, &p, err);
}

int tq_maintain(tq *q, struct tr_err *err)
{
    enum {
        STEP = 500, /* rows of one transaction: milliseconds, not seconds */
        PRUNE_EVERY_US = 10000000
    };
    int64_t now = tr_clock_mono_us();
    int step = STEP;

    int r = tq_reclaim(q, STEP, err);
    if (r < 0)
        return r;
    bool more = r == STEP;
    if (q->pruned_at_us && now - q->pruned_at_us < PRUNE_EVERY_US)
        return more;
    int pruned = tq_prune(q, 0, 0, STEP, err);
    if (pruned < 0)
        return pruned;
    r = tqi_run(q, OP_TX, prune_keys_op, &step, err);
    if (r < 0)
        return r;
    q->pruned_at_us = pruned == STEP ? 0 : now;
    return more || pruned == STEP;
}

/* ---------------------------------------------------------------- idempotency */

struct once {
    const void *key;
    size_t len;
    int64_t keep_us;
};

static int once_op(struct tqi_link *l, void *arg, struct tr_err *err)
{
    const struct once *o = arg;
    struct tq_val p[] = {tqi_bytes(o->key, o->len), tqi_int(o->keep_us)};
    int64_t added = 0;

    int r = tqi_exec(l, S_ONCE, p, 2, NULL, NULL, &added, err);
    if (r == TR_E_EXISTS && l->drv->state(l->conn) == TQ_CONN_TX)
        return 0;
    return r < 0 ? r : added > 0;
}

int tq_tx_once(tq *q, struct tq_tx tx, const void *key, size_t len, int64_t keep_us,
               struct tr_err *err)
{
    struct once o = {.key = key, .len = len, .keep_us = keep_us};

    if (!key || len == 0 || len > TQ_UNIQUE_MAX || keep_us < 0)
        return tr_fail(err, TR_E_USAGE, 0, "an idempotency key has 1 … %d bytes",
                       (int)TQ_UNIQUE_MAX);
    return tqi_run_tx(q, tx, once_op, &o, err);
}
