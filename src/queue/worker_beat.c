/* SPDX-License-Identifier: MIT
 *
 * worker_beat.c - leases are renewed, in one statement for everything in flight; who is to stop is
 * asked, and later killed (a process) or given up (a thread).
 */
#include <string.h>

#include "base/clock.h"
#include "queue/worker.h"

static void is_lost(tq_worker *w, struct tq_run *r)
{
    r->given_up = true;
    atomic_store(&r->stop, TQ_STOP_LOST); /* one that has not started never will */
    tqw_count(w, &w->stats.lost);
    w->ops->ask(w, r, TQ_STOP_LOST);
    (void)w->ops->kill(w, r);
}

void tqw_ask(tq_worker *w, struct tq_run *r, int stop)
{
    if (r->kill_us || r->given_up)
        return;
    w->asked = true;
    r->kill_us = w->now_us + w->o.grace_us;
    w->ops->ask(w, r, stop);
}

/* Everything in flight that is still ours. */
static size_t held(const tq_worker *w, struct tq_ref *refs, struct tq_run **runs)
{
    size_t n = 0;

    for (size_t i = 0; i < w->nruns && n < TQ_BATCH_MAX; i++)
        if (!w->runs[i]->given_up) {
            refs[n] = w->runs[i]->job->ref;
            runs[n++] = w->runs[i];
        }
    return n;
}

static bool is_at_work(tq_worker *w, const struct tq_run *r)
{
    struct tq_run *running[TQ_CONCURRENCY_MAX];
    int n = tqw_running(w, running);

    for (int i = 0; i < n; i++)
        if (running[i] == r)
            return true;
    return false;
}

void tqw_beat(tq_worker *w)
{
    struct tr_err err = TR_ERR_INIT;

    if (w->now_us < w->beat_us || w->now_us < w->down_until_us || w->nruns == 0)
        return;
    tr_autofree struct tq_ref *refs = calloc(w->nruns, sizeof(*refs));
    tr_autofree struct tq_run **runs = calloc(w->nruns, sizeof(struct tq_run *)); /* NOLINT */
    tr_autofree unsigned char *beats = calloc(w->nruns, 1);
    if (!refs || !runs || !beats)
        return;
    size_t n = held(w, refs, runs);
    w->beat_us = w->now_us + w->o.beat_us;
    if (n == 0)
        return;
    if (tq_heartbeat(w->q, refs, n, w->o.lease_us, beats, &err) < 0) {
        w->beat_us = 0; /* again as soon as the database is back */
        tqw_down(w, &err);
        return;
    }
    tqw_up(w);
    tqw_count(w, &w->stats.beats);
    for (size_t i = 0; i < n; i++)
        if (beats[i] == TQ_BEAT_LOST)
            is_lost(w, runs[i]);
        else if (beats[i] == TQ_BEAT_CANCEL && is_at_work(w, runs[i]))
            tqw_ask(w, runs[i], TQ_STOP_CANCEL);
}

static void stop_now(tq_worker *w, struct tq_run *r)
{
    int stop = atomic_load(&r->stop);

    r->kill_us = 0;
    if (w->ops->kill(w, r))
        return;
    tqw_give_up(w, r, TQ_NACK,
                stop == TQ_STOP_DEADLINE ? "the run took longer than it may and did not stop"
                                         : "the run was cancelled and did not stop");
}

void tqw_deadlines(tq_worker *w)
{
    struct tq_run *runs[TQ_CONCURRENCY_MAX];

    if (!w->o.timeout_us && !w->asked)
        return;
    int n = tqw_running(w, runs);
    w->asked = false;
    for (int i = 0; i < n; i++) {
        struct tq_run *r = runs[i];

        if (r->given_up)
            continue;
        if (!r->kill_us && w->o.timeout_us && w->now_us >= r->started_us + w->o.timeout_us) {
            tqw_count(w, &w->stats.overdue);
            tqw_ask(w, r, TQ_STOP_DEADLINE);
        }
        if (r->kill_us && w->now_us >= r->kill_us)
            stop_now(w, r);
        w->asked = w->asked || r->kill_us;
    }
}

int64_t tqw_next_deadline(tq_worker *w)
{
    struct tq_run *runs[TQ_CONCURRENCY_MAX];
    int64_t at = INT64_MAX;

    if (!w->o.timeout_us && !w->asked)
        return at;
    int n = tqw_running(w, runs);
    for (int i = 0; i < n; i++) {
        int64_t t = runs[i]->kill_us   ? runs[i]->kill_us
                    : !w->o.timeout_us ? INT64_MAX
                                       : runs[i]->started_us + w->o.timeout_us;
        if (!runs[i]->given_up && t < at)
            at = t;
    }
    return at;
}

/* No more waiting: a process is killed and its job given back when it is dead; a thread goes on
 * without its job. */
void tqw_hurry(tq_worker *w)
{
    struct tq_run *runs[TQ_CONCURRENCY_MAX];

    int n = tqw_running(w, runs);
    for (int i = 0; i < n; i++) {
        if (runs[i]->given_up)
            continue;
        w->ops->ask(w, runs[i], TQ_STOP_SHUTDOWN);
        if (!w->ops->kill(w, runs[i]))
            tqw_give_up(w, runs[i], TQ_RELEASE, NULL);
    }
}
