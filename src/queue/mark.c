/* SPDX-License-Identifier: MIT
 *
 * mark.c - PostgreSQL: claim from a watermark.
 *
 * While somebody holds a snapshot open, vacuum removes nothing, and a claim in plain order walks
 * over every job that was ever taken from the head of the ready index (two minutes of 3,000 jobs/s:
 * 40 ms a claim). A handle therefore remembers for each priority ("lane") how far the index is
 * spent and starts there.
 *
 * Jobs may appear behind a mark: transactions that commit later than the ids they took, and jobs
 * that were nacked, reclaimed or promoted by somebody else. So a mark follows at a distance
 * (LAG_US), and a scan from the start runs often: as often as it costs at most a hundredth of
 * the time, and at least every SCAN_MAX_US. Without a held snapshot that is every SCAN_MIN_US.
 *
 * Reclaim has the same trouble with the index of leases and the same cure: between two scans it
 * looks only at leases that ran out a moment ago (LEASE_LAG_US).
 *
 * A scan that filled its batch has seen every lane down to the last one it took from (floor), and
 * nothing below: a claim that the lanes above the floor cannot fill scans again.
 */
#include <string.h>

#include "base/clock.h"
#include "queue/internal.h"

enum {
    LAG_US = 5000,
    LEASE_LAG_US = 5000000, /* longer than most transactions that hold an expired job */
    SCAN_MIN_US = 50000,
    SCAN_MAX_US = 60000000,
    SCAN_SHARE = 100,
    SCAN_CHEAP_US =
        2000 /* below this nobody waits for a scan: an idle worker finds what is there */
};

void tqi_mark_reset(tq *q, const char *queue)
{
    for (int i = 0; i < q->nqueues; i++)
        if (!queue || !strcmp(q->queues[i].name, queue))
            q->queues[i].nlanes = 0;
    if (!queue)
        q->expired_from_us = 0;
}

static struct tqi_lane *lane_of(struct tqi_queue *m, int64_t prio)
{
    int i = 0;

    while (i < m->nlanes && m->lanes[i].prio > prio)
        i++;
    if (i < m->nlanes && m->lanes[i].prio == prio)
        return &m->lanes[i];
    if (m->nlanes == TQI_LANES_MAX)
        return NULL;
    memmove(&m->lanes[i + 1], &m->lanes[i], (size_t)(m->nlanes - i) * sizeof(m->lanes[0]));
    m->nlanes++;
    m->lanes[i] = (struct tqi_lane){.prio = prio, .rank = -1, .next_rank = -1};
    return &m->lanes[i];
}

/* A job of ours becomes ready: its lane must not have passed it. */
void tqi_mark_lower(tq *q, const char *queue, int64_t prio, int64_t rank, int64_t id)
{
    struct tqi_queue *m = tqi_queue(q, queue);

    if (q->be != BE_POSTGRES || m->nlanes == 0)
        return;
    struct tqi_lane *lane = lane_of(m, prio);
    if (!lane) {
        m->nlanes = 0;
    } else if (rank < lane->rank || (rank == lane->rank && id <= lane->id)) {
        lane->rank = lane->next_rank = rank;
        lane->id = lane->next_id = id - 1;
        lane->next_at_us = tr_clock_mono_us();
    }
}

static void advance(struct tqi_queue *m, const tq_batch *b, int from, int64_t now)
{
    for (int i = from; i < b->n; i++) {
        const struct tq_job *j = &b->jobs[i];
        struct tqi_lane *lane = lane_of(m, j->priority);

        if (!lane) { /* too many priorities to follow: plain claims */
            m->nlanes = 0;
            return;
        }
        if (now - lane->next_at_us >= LAG_US) {
            lane->rank = lane->next_rank;
            lane->id = lane->next_id;
            lane->next_at_us = now;
        }
        if (j->rank > lane->next_rank ||
            (j->rank == lane->next_rank && j->ref.id > lane->next_id)) {
            lane->next_rank = j->rank;
            lane->next_id = j->ref.id;
        }
    }
}

static int claim_marked(struct tqi_link *l, const struct tqi_queue *m, const struct tq_val p[6],
                        tq_batch *b, struct tr_err *err)
{
    struct tq_val cells[TQI_LANES_MAX * 3];
    size_t n = 0;

    for (; n < (size_t)m->nlanes && m->lanes[n].prio >= m->floor; n++) {
        cells[3 * n] = tqi_int(m->lanes[n].prio);
        cells[3 * n + 1] = tqi_int(m->lanes[n].rank);
        cells[3 * n + 2] = tqi_int(m->lanes[n].id);
    }
    if (n == 0)
        return 0;
    struct tq_set set = {.types = "iii", .cells = cells, .nrows = n, .extra = p, .nextra = 6};
    return tqi_exec_set(l, S_CLAIM_MARKED, &set, tqi_batch_row, b, NULL, err);
}

static int claim_scan(struct tqi_link *l, struct tqi_queue *m, const struct tq_val p[6],
                      tq_batch *b, struct tr_err *err)
{
    int64_t start = tr_clock_mono_us();
    int from = b->n;

    int r = tqi_exec(l, S_CLAIM, p, 6, tqi_batch_row, b, NULL, err);
    m->scan_at_us = tr_clock_mono_us();
    m->scan_cost_us = m->scan_at_us - start;
    m->floor = INT64_MIN;
    if (b->n - from == p[1].i) {
        m->floor = INT64_MAX;
        for (int i = from; i < b->n; i++)
            if (b->jobs[i].priority < m->floor)
                m->floor = b->jobs[i].priority;
    }
    return r;
}

static int64_t share_of(int64_t cost_us)
{
    int64_t us = cost_us * SCAN_SHARE;

    return us > SCAN_MAX_US ? SCAN_MAX_US : us;
}

static int64_t scan_every_us(const struct tqi_queue *m)
{
    int64_t us = share_of(m->scan_cost_us);

    return us < SCAN_MIN_US ? SCAN_MIN_US : us;
}

int tqi_mark_claim(struct tqi_link *l, struct tqi_queue *m, const struct tq_val p[6], tq_batch *b,
                   struct tr_err *err)
{
    int from = b->n;
    int64_t max = p[1].i, age = tr_clock_mono_us() - m->scan_at_us;

    /* In a caller's transaction a rollback would bring jobs back behind the mark. */
    if (!l->own)
        return tqi_exec(l, S_CLAIM, p, 6, tqi_batch_row, b, NULL, err);
    if (m->nlanes == 0 || age >= scan_every_us(m)) {
        int r = claim_scan(l, m, p, b, err);
        advance(m, b, from, tr_clock_mono_us());
        return r;
    }
    int r = claim_marked(l, m, p, b, err);
    bool due = m->floor > INT64_MIN || m->scan_cost_us < SCAN_CHEAP_US ||
               age >= m->scan_cost_us * SCAN_SHARE;
    if (r >= 0 && b->n - from < max && due) {
        struct tq_val rest[6];

        memcpy(rest, p, sizeof(rest));
        rest[1].i = max - (b->n - from);
        r = claim_scan(l, m, rest, b, err);
    }
    advance(m, b, from, tr_clock_mono_us());
    return r;
}

int tqi_mark_expired(struct tqi_link *l, int max, tq_batch *b, struct tr_err *err)
{
    tq *q = l->q;
    int64_t start = tr_clock_mono_us(), now = 0;
    bool scan = q->expired_from_us == 0 || start - q->expired_at_us >= share_of(q->expired_cost_us);
    struct tq_val p[] = {tqi_int(max), tqi_int(scan ? 0 : q->expired_from_us)};
    int r = 0;

    if (q->be != BE_POSTGRES)
        return tqi_exec(l, S_EXPIRED, p, 1, tqi_batch_row, b, NULL, err);
    if (scan)
        r = tqi_scalar(l, S_NOW, NULL, 0, &now, err);
    if (r >= 0)
        r = tqi_exec(l, S_EXPIRED, p, 2, tqi_batch_row, b, NULL, err);
    if (r < 0 || !scan)
        return r;
    q->expired_at_us = tr_clock_mono_us();
    q->expired_cost_us = q->expired_at_us - start;
    q->expired_from_us = b->n < max ? now - LEASE_LAG_US : 0;
    return r;
}
