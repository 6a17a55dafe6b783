/* SPDX-License-Identifier: MIT
 *
 * worker_lead.c - one worker at a time looks after the queue: takes back expired leases, makes due
 * what is due, prunes, fires periodic jobs.
 *
 * Being the leader only saves work: every step is safe when two do it (guarded rows, SKIP LOCKED,
 * a tick that can be written once), as happens around a failover.
 */
#include "base/clock.h"
#include "base/rand.h"
#include "queue/worker.h"

static bool am_leader(tq_worker *w, struct tr_err *err, int *ret)
{
    if (w->now_us < w->leader_until_us - TQW_LEADER_US * 2 / 3)
        return true; /* renewed a moment ago */
    *ret = tq_leader(w->q, "maintenance", TQW_LEADER_US, err);
    w->leader_until_us = *ret > 0 ? w->now_us + TQW_LEADER_US : 0;
    (void)pthread_mutex_lock(&w->stats_mu);
    w->stats.leader = *ret > 0;
    (void)pthread_mutex_unlock(&w->stats_mu);
    return *ret > 0;
}

static int fire(tq_worker *w, struct tr_err *err)
{
    if (!w->o.nperiodic)
        return 0;
    int n = tq_periodic_fire(w->q, w->periodic, w->o.nperiodic, NULL, err);
    if (n > 0) {
        (void)pthread_mutex_lock(&w->stats_mu);
        w->stats.fired += (uint64_t)n;
        (void)pthread_mutex_unlock(&w->stats_mu);
        tqw_trace(w, &(struct tq_trace){.event = TQ_TRACE_INSERT});
        w->claim_us = 0;
    }
    return n;
}

void tqw_lead(tq_worker *w)
{
    struct tr_err err = TR_ERR_INIT;
    int r = 0;

    if ((w->o.flags & TQ_WORKER_NO_LEADER) || w->phase != PHASE_WORK || w->now_us < w->lead_us ||
        w->now_us < w->down_until_us)
        return;
    /* The jitter keeps a crowd of followers from asking in step. */
    w->lead_us = w->now_us + TQW_MAINTAIN_US - (int64_t)tr_random_below(TQW_MAINTAIN_US / 4);
    if (am_leader(w, &err, &r)) {
        r = tq_maintain(w->q, &err);
        if (r > 0)
            w->lead_us = w->now_us;
        if (r >= 0)
            r = fire(w, &err);
    } else if (r == 0 && w->q->be == BE_SQLITE) {
        r = tq_reclaim(w->q, 100, &err); /* a look at locks; a dead leader's jobs come back too */
    }
    if (r < 0)
        tqw_down(w, &err);
}

void tqw_step_down(tq_worker *w)
{
    if (w->leader_until_us && w->now_us >= w->down_until_us)
        (void)tq_leader(w->q, "maintenance", 0, NULL);
    w->leader_until_us = 0;
}
