/* SPDX-License-Identifier: MIT
 *
 * reclaim.c - leases that ran out come back.
 *
 * The rows are locked (SKIP LOCKED: an owner in the middle of its ack keeps its job), decided here
 * and changed under the same fence as any settlement. A job that has no try left is buried in the
 * same transaction: it must not stay behind as a row that nobody claims.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "queue/internal.h"

static const char why[] = "lease expired: the worker died or did not renew it";

struct reclaim {
    int max;
    struct tqi_finish *fin;
    struct tqi_requeue *req;
};

/* SQLite: the jobs of dead processes, whatever their lease says; a live one keeps its own. */
static int orphans(struct tqi_link *l, int max, tq_batch *b, struct tr_err *err)
{
    int64_t executor = 0;

    int r = tqi_live_any_dead(l, &executor, err);
    if (r <= 0)
        return r;
    struct tq_val p[] = {tqi_int(executor), tqi_int(max)};
    return tqi_exec(l, S_ORPHANS, p, 2, tqi_batch_row, b, NULL, err);
}

static bool gives_up(const struct tq_job *j)
{
    return j->max_crashes > 0 ? j->crashes + 1 >= j->max_crashes : j->attempts >= j->max_attempts;
}

static int note_lost(struct tqi_link *l, const struct tq_job *j, struct tr_err *err)
{
    struct tq_val p[] = {tqi_int(j->ref.id), tqi_int(j->ref.run_lease), tqi_text(j->locked_by),
                         tqi_bytes(why, sizeof(why) - 1)};

    return tqi_exec(l, S_ATTEMPT_LOST, p, 4, NULL, NULL, NULL, err);
}

static int decide(struct tqi_link *l, struct reclaim *c, const struct tq_job *j, size_t *nfin,
                  size_t *nreq, struct tr_err *err)
{
    struct tqi_config g;

    if (j->cancel_requested || gives_up(j)) {
        bool dead = !j->cancel_requested;

        c->fin[(*nfin)++] = (struct tqi_finish){.ref = j->ref,
                                                .status = dead ? TQ_DEAD : TQ_CANCELLED,
                                                .data = why,
                                                .len = sizeof(why) - 1};
        int r = note_lost(l, j, err);
        return r < 0 ? r : tqi_event(l, dead ? TQ_EV_BURIED : TQ_EV_CANCELLED, j, err);
    }
    int r = tqi_config(l, S_CONFIG_GET, j->queue, &g, err);
    if (r < 0)
        return r;
    c->req[(*nreq)++] =
        (struct tqi_requeue){.ref = j->ref,
                             .delay_us = tqi_backoff_us(&g.c, j->crashes + 1, 0, -1),
                             .attempts_by = j->max_crashes > 0 ? -1 : 0,
                             .crashes_by = 1,
                             .ended = TQI_ENDED_LOST,
                             .data = why,
                             .len = sizeof(why) - 1};
    return tqi_event(l, TQ_EV_RECLAIMED, j, err);
}

static int reclaim_op(struct tqi_link *l, void *arg, struct tr_err *err)
{
    struct reclaim *c = arg;
    TR_CLEANUP(tqi_batch_freep) tq_batch *b = tqi_batch_new();
    size_t nfin = 0, nreq = 0;

    if (!b)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory to reclaim");
    int r = tqi_mark_expired(l, c->max, b, err);
    if (r >= 0 && b->n < c->max)
        r = orphans(l, c->max - b->n, b, err);
    for (int i = 0; i < b->n && r >= 0; i++) {
        r = decide(l, c, &b->jobs[i], &nfin, &nreq, err);
        if (r >= 0 && b->extra[i].slot >= 0)
            r = tqi_slot_free(l, b->jobs[i].ref.id, err);
    }
    if (r >= 0 && nfin)
        r = tqi_finish(l, c->fin, nfin, false, false, err);
    if (r >= 0 && nreq)
        r = tqi_requeue(l, c->req, nreq, err);
    return r < 0 ? r : b->n;
}

/* SQLite: a look costs no write lock. */
static int any_op(struct tqi_link *l, void *arg, struct tr_err *err)
{
    TR_CLEANUP(tqi_batch_freep) tq_batch *b = tqi_batch_new();
    struct tq_val max = tqi_int(1);
    int64_t executor;

    int r = tqi_live_any_dead(l, &executor, err);
    if (r == 0 && b)
        r = tqi_exec(l, S_EXPIRED, &max, 1, tqi_batch_row, b, NULL, err);
    return r < 0 ? r : r > 0 || (b && b->n > 0);
}

int tq_reclaim(tq *q, int max, struct tr_err *err)
{
    if (max < 1 || max > TQ_BATCH_MAX)
        return tr_fail(err, TR_E_LIMIT, 0, "reclaim takes 1 … %d jobs", (int)TQ_BATCH_MAX);
    if (q->be == BE_SQLITE && !q->in_tx) {
        int r = tqi_run(q, OP_READ, any_op, NULL, err);
        if (r <= 0)
            return r;
    }
    tr_autofree struct tqi_finish *fin = calloc((size_t)max, sizeof(*fin));
    tr_autofree struct tqi_requeue *req = calloc((size_t)max, sizeof(*req));
    if (!fin || !req)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory to reclaim %d jobs", max);
    struct reclaim c = {.max = max, .fin = fin, .req = req};
    return tqi_run(q, OP_TX, reclaim_op, &c, err);
}
