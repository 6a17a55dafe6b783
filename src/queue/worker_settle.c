/* SPDX-License-Identifier: MIT
 *
 * worker_settle.c - a handler came back. What is true now?
 *
 * Not what it says: what the row says. A run that was settled by a committed transaction is over;
 * one that is still ours is settled by the handler's return value, guarded by its run_lease. A row
 * that somebody's open transaction holds is looked at again later and never waited for. The table
 * stands in doc/decisions/0420-the-truth-table.md; tests/queue-worker checks it row by row.
 */
#include <string.h>

#include "base/clock.h"
#include "queue/worker.h"

enum {
    AT_ONCE_MAX = 500 /* runs settled by one statement */
};

static void add_ended(tq_worker *w, struct tq_run *r)
{
    r->next = w->ended;
    w->ended = r;
}

/* ---------------------------------------------------------------- a run is over */

static void count_end(tq_worker *w, const struct tq_run *r, int result)
{
    struct tq_worker_stats *s = &w->stats;

    if (r->end == TQ_ACK)
        tqw_count(w, &s->acked);
    else if (r->end == TQ_BURY || result == TQ_SETTLED_BURIED)
        tqw_count(w, &s->buried);
    else if (r->end == TQ_NACK)
        tqw_count(w, &s->failed);
    else if (r->end == TQ_DISCARD)
        tqw_count(w, &s->discarded);
    else
        tqw_count(w, r->end == TQ_SNOOZE ? &s->snoozed : &s->released);
    if (r->end == TQ_ACK || r->end == TQ_BURY || result == TQ_SETTLED_BURIED) {
        int n = r->job->attempts;

        tqw_count(w, &s->attempts[n < 1                    ? 0
                                  : n > TQ_ATTEMPT_BUCKETS ? TQ_ATTEMPT_BUCKETS - 1
                                                           : n - 1]);
    }
}

/* `by_handler`: its own transaction did it. */
static void over(tq_worker *w, struct tq_run *r, bool by_handler, int result)
{
    int64_t run_us = r->started_us ? r->ended_us - r->started_us : 0;

    if (result == TR_E_LOST) {
        tqw_count(w, &w->stats.lost);
    } else {
        count_end(w, r, result);
        if (by_handler)
            tqw_count(w, &w->stats.by_handler);
        if (r->ended_us)
            tqw_observe(w, &w->stats.ack, tr_clock_mono_us() - r->ended_us);
    }
    if (r->started_us)
        tqw_observe(w, &w->stats.run, run_us);
    tqw_trace(w, &(struct tq_trace){.event = TQ_TRACE_END,
                                    .job = r->job,
                                    .end = by_handler ? 0 : r->end,
                                    .result = result,
                                    .run_us = run_us});
    w->ops->settled(w, r);
    tqw_drop(w, r);
}

/* ---------------------------------------------------------------- looking at rows */

/* The row is still ours and nobody holds it. */
static void is_ours(struct tq_run *r)
{
    r->check = false;
    if (r->was_open && r->end == TQ_ACK)
        tqw_failed(r, "the handler returned with its transaction open, and it was rolled back");
}

/* Somebody's open transaction holds the row: the handler's. A child that holds it is killed, which
 * ends the transaction; a thread cannot be. */
static void is_held(tq_worker *w, struct tq_run *r)
{
    if (!r->was_open)
        tqw_count(w, &w->stats.left_open);
    r->was_open = true;
    r->next_look_us = w->now_us + TQW_LOOK_AGAIN_US;
    (void)w->ops->kill(w, r);
}

/* SQLite has one lock for all rows, so a read is all that does not wait. */
static int look_by_reading(tq_worker *w, struct tq_run **runs, size_t n, struct tr_err *err)
{
    for (size_t i = 0; i < n; i++) {
        int truth = tq_verify(w->q, runs[i]->job->ref, err);

        if (truth < 0)
            return truth;
        if (truth == TQ_STILL_MINE) {
            is_ours(runs[i]);
            add_ended(w, runs[i]);
        } else {
            bool done = truth == TQ_WAS_SETTLED || truth == TQ_WAS_RELEASED;
            over(w, runs[i], done, done ? TQ_SETTLED_FINAL : TR_E_LOST);
        }
        runs[i] = NULL;
    }
    return 0;
}

static int look_by_beating(tq_worker *w, struct tq_run **runs, size_t n, struct tr_err *err)
{
    struct tq_ref refs[AT_ONCE_MAX];
    unsigned char beats[AT_ONCE_MAX];

    for (size_t i = 0; i < n; i++)
        refs[i] = runs[i]->job->ref;
    int r = tq_heartbeat(w->q, refs, n, w->o.lease_us, beats, err);
    if (r < 0)
        return r;
    for (size_t i = 0; i < n; i++) {
        struct tq_run *run = runs[i];

        runs[i] = NULL;
        if (beats[i] == TQ_BEAT_SETTLED || beats[i] == TQ_BEAT_LOST) {
            bool done = beats[i] == TQ_BEAT_SETTLED;
            over(w, run, done, done ? TQ_SETTLED_FINAL : TR_E_LOST);
            continue;
        }
        if (beats[i] == TQ_BEAT_SETTLING)
            is_held(w, run);
        else
            is_ours(run);
        add_ended(w, run);
    }
    return 0;
}

static void put_back(tq_worker *w, struct tq_run **runs, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (runs[i]) {
            runs[i]->check = true;
            add_ended(w, runs[i]);
        }
}

static void look(tq_worker *w, struct tq_run **runs, size_t n)
{
    struct tr_err err = TR_ERR_INIT;

    int r = w->q->be == BE_SQLITE ? look_by_reading(w, runs, n, &err)
                                  : look_by_beating(w, runs, n, &err);
    if (r >= 0)
        return;
    put_back(w, runs, n);
    tqw_down(w, &err);
}

/* ---------------------------------------------------------------- settling */

/* Not ours when the statement ran: did the handler settle it unseen, or was it lost? */
static void not_ours(tq_worker *w, struct tq_run *r)
{
    int truth = tq_verify(w->q, r->job->ref, NULL);

    if (truth < 0) {
        r->check = true;
        add_ended(w, r);
        return;
    }
    bool done = truth == TQ_WAS_SETTLED || truth == TQ_WAS_RELEASED;
    over(w, r, done, done ? TQ_SETTLED_FINAL : TR_E_LOST);
}

static void could_not(tq_worker *w, struct tq_run **runs, size_t n, int code,
                      const struct tr_err *err)
{
    for (size_t i = 0; i < n; i++)
        if (w->q->be == BE_SQLITE && tr_err_class(code) == TR_E_RETRY && runs[i]->foreign) {
            if (!runs[i]->was_open)
                tqw_count(w, &w->stats.left_open);
            runs[i]->was_open = true;
            (void)w->ops->kill(w, runs[i]);
        }
    put_back(w, runs, n);
    tqw_down(w, err);
}

static struct tq_settlement *items_of(struct tq_run **runs, size_t n)
{
    struct tq_settlement *items = calloc(n, sizeof(*items));

    for (size_t i = 0; items && i < n; i++) {
        items[i] = (struct tq_settlement)TQ_SETTLEMENT_INIT;
        items[i].ref = runs[i]->job->ref;
        items[i].end = runs[i]->end;
        items[i].data = runs[i]->data;
        items[i].data_len = runs[i]->len;
        items[i].delay_us = runs[i]->delay_us;
    }
    return items;
}

/* While there is work, the next jobs are claimed in the same commit: half the flushes. */
static void settle(tq_worker *w, struct tq_run **runs, size_t n)
{
    struct tr_err err = TR_ERR_INIT;
    tr_autofree struct tq_settlement *items = items_of(runs, n);
    int want = w->empty ? 0 : tqw_wanted(w, n);
    int64_t start = tr_clock_mono_us();
    tq_batch *batch = NULL;

    if (!items) {
        put_back(w, runs, n);
        return;
    }
    int r = want ? tq_settle_and_claim(w->q, items, n, w->queues, w->o.nqueues, want, w->o.lease_us,
                                       &batch, &err)
                 : tq_settle(w->q, items, n, &err);
    if (r < 0) {
        could_not(w, runs, n, r, &err);
        return;
    }
    tqw_up(w);
    w->claim_us = 0; /* what waited for these may be ready now */
    if (want)
        tqw_claimed(w, batch, r, want, start);
    for (size_t i = 0; i < n; i++)
        if (items[i].result == TR_E_LOST)
            not_ours(w, runs[i]);
        else
            over(w, runs[i], false, items[i].result);
}

/* Take up to AT_ONCE_MAX runs off the list that are to be looked at, or to be settled. */
static size_t pick(tq_worker *w, bool check, struct tq_run **ret)
{
    struct tq_run **at = &w->ended, *r;
    size_t n = 0;

    while ((r = *at) != NULL && n < AT_ONCE_MAX) {
        if (r->check == check && r->next_look_us <= w->now_us) {
            *at = r->next;
            r->next = NULL;
            ret[n++] = r;
        } else {
            at = &r->next;
        }
    }
    return n;
}

void tqw_settle(tq_worker *w)
{
    struct tq_run *runs[AT_ONCE_MAX];
    size_t n;

    while (w->now_us >= w->down_until_us && (n = pick(w, true, runs)) > 0)
        look(w, runs, n);
    while (w->now_us >= w->down_until_us && (n = pick(w, false, runs)) > 0)
        settle(w, runs, n);
}

/* ---------------------------------------------------------------- what comes in */

void tqw_collect(tq_worker *w)
{
    struct tq_run *r = w->ops->collect(w), *next;

    for (; r; r = next) {
        next = r->next;
        r->next = NULL;
        if (r->left_open)
            tqw_count(w, &w->stats.left_open);
        if (r->crashed)
            tqw_count(w, &w->stats.crashed);
        if (r->given_up) {
            w->ops->settled(w, r);
            tqw_drop(w, r);
            continue;
        }
        r->check = r->touched || r->crashed;
        add_ended(w, r);
    }
}

void tqw_give_back(tq_worker *w, struct tq_run *list)
{
    for (struct tq_run *r = list, *next; r; r = next) {
        next = r->next;
        r->end = TQ_RELEASE;
        r->state = RUN_ENDED;
        add_ended(w, r);
    }
}

void tqw_give_up(tq_worker *w, struct tq_run *r, int end, const char *why)
{
    struct tq_run *ghost = tqw_new_run(w, r->batch, r->job);

    r->given_up = true;
    if (!ghost)
        return; /* its lease runs out */
    if (end == TQ_NACK)
        tqw_failed(ghost, "%s", why);
    ghost->end = end;
    ghost->state = RUN_ENDED;
    ghost->check = true;
    add_ended(w, ghost);
}
