/* SPDX-License-Identifier: MIT
 *
 * limit.c - queues that may not run everything at once: slots, rates, longest leases.
 *
 * A slot is a row, locked and skipped like a job, so a concurrency limit is exact over all
 * processes and nobody waits for it.
 */
#include "queue/internal.h"

struct slots {
    int64_t slot[TQ_BATCH_MAX];
    int n;
};

static int slot_row(void *arg, const struct tq_val *cols, int ncols)
{
    struct slots *s = arg;

    if (s->n == TQ_BATCH_MAX)
        return TR_E_FATAL;
    s->slot[s->n++] = tqi_val_int(&cols[0]);
    return 0;
}

static int make_slots(struct tqi_link *l, const char *queue, int limit, struct tr_err *err)
{
    tr_autofree struct tq_val *cells = calloc((size_t)limit, 2 * sizeof(*cells));

    if (!cells)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory for %d slots", limit);
    for (int i = 0; i < limit; i++) {
        cells[2 * i] = tqi_text(queue);
        cells[2 * i + 1] = tqi_int(i);
    }
    struct tq_set set = {.types = "ti", .cells = cells, .nrows = (size_t)limit};
    return tqi_exec_set(l, S_SLOT_MAKE, &set, NULL, NULL, NULL, err);
}

/* Lock as many free slots as jobs are wanted. Other claimers skip them, so nobody waits and the
 * limit is exact. */
static int pick_slots(struct tqi_link *l, const struct tqi_claim *c, int limit, int want,
                      struct slots *s, struct tr_err *err)
{
    struct tq_val p[] = {tqi_text(c->queue), tqi_int(limit), tqi_int(want)};
    int64_t have = 0, used = 0;

    int r = tqi_scalar(l, S_SLOT_COUNT, p, 2, &have, err);
    if (r >= 0 && have < limit)
        r = make_slots(l, c->queue, limit, err);
    /* After a limit was lowered, jobs in higher slots still count. */
    if (r >= 0)
        r = tqi_scalar(l, S_SLOT_USED, p, 1, &used, err);
    if (r < 0)
        return r;
    if (want > limit - used)
        want = used < limit ? (int)(limit - used) : 0;
    p[2] = tqi_int(want);
    return want ? tqi_exec(l, S_SLOT_PICK, p, 3, slot_row, s, NULL, err) : 0;
}

static int use_slots(struct tqi_link *l, const struct tqi_claim *c, const struct slots *s, int from,
                     struct tr_err *err)
{
    for (int i = from; i < c->batch->n; i++) {
        int64_t id = c->batch->jobs[i].ref.id, slot = s->slot[i - from];
        struct tq_val take_p[] = {tqi_text(c->queue), tqi_int(slot), tqi_int(id)};
        struct tq_val note_p[] = {tqi_int(id), tqi_int(slot)};

        int r = tqi_exec(l, S_SLOT_TAKE, take_p, 3, NULL, NULL, NULL, err);
        if (r >= 0)
            r = tqi_exec(l, S_SLOT_NOTE, note_p, 2, NULL, NULL, NULL, err);
        if (r < 0)
            return r;
    }
    return 0;
}

/* How many starts the rate allows now, by the generic cell rate algorithm: rate_next_us is the
 * time at which the bucket will be full again. */
static int rate_allows(const struct tqi_config *g, int want, int64_t *ret_interval_us)
{
    int64_t interval = g->rate_milli > 0 ? 1000000000 / g->rate_milli : 0;
    int64_t burst = g->c.rate_burst > 0 ? g->c.rate_burst : g->rate_milli / 1000;
    int64_t from = g->rate_next_us > g->now_us ? g->rate_next_us : g->now_us;

    *ret_interval_us = interval;
    if (interval <= 0)
        return want;
    int64_t room = (g->now_us + (burst > 0 ? burst : 1) * interval - from) / interval;
    return room < want ? (room > 0 ? (int)room : 0) : want;
}

static int set_rate(struct tqi_link *l, const struct tqi_config *g, const struct tqi_claim *c,
                    int64_t used_us, struct tr_err *err)
{
    int64_t base = g->rate_next_us > g->now_us ? g->rate_next_us : g->now_us;
    struct tq_val p[] = {tqi_text(c->queue), tqi_int(base + used_us)};

    return tqi_exec(l, S_RATE_SET, p, 2, NULL, NULL, NULL, err);
}

int tqi_take_limited(struct tqi_link *l, struct tqi_claim *c, struct tqi_config *g,
                     struct tr_err *err)
{
    tr_autofree struct slots *slots = calloc(1, sizeof(*slots));
    int64_t interval;
    int r = 0;

    if (!slots)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory for a claim");
    if (g->rate_milli > 0) { /* skipped when another claimer holds it: nobody waits */
        r = tqi_config(l, S_CONFIG_LOCK, c->queue, g, err);
        if (r < 0 || !g->found)
            return r;
    }
    if (g->c.paused)
        return 0;
    if (g->c.max_lease_us > 0 && c->lease_us > g->c.max_lease_us)
        c->lease_us = g->c.max_lease_us;
    int limit = g->c.concurrency_limit;
    int want = rate_allows(g, c->max - c->from, &interval);
    if (want > 0 && limit > 0) {
        r = pick_slots(l, c, limit, want, slots, err);
        want = slots->n;
    }
    if (r >= 0)
        r = tqi_take(l, c, want, true, err);
    if (r >= 0 && limit > 0)
        r = use_slots(l, c, slots, c->from, err);
    int n = c->batch->n - c->from;
    if (r >= 0 && interval > 0 && n > 0)
        r = set_rate(l, g, c, n * interval, err);
    return r < 0 ? r : n;
}
