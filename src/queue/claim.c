/* SPDX-License-Identifier: MIT
 *
 * claim.c - jobs come out, each to one owner.
 *
 * One statement never names two queues: with IN (…) no index gives the order, and MySQL would lock
 * every ready row. The fast statement passes by queues that have limits (it tests that itself, so
 * a limit set a moment ago counts); those take the slower way through their configuration.
 */
#include <string.h>

#include "base/clock.h"
#include "base/rand.h"
#include "queue/internal.h"

enum {
    PROMOTE_EVERY_US = 20000, /* how long a due job may stay behind ready ones of its queue */
    NEEDS_TX = 1 << 30        /* a result of claim_op: once more, in a transaction */
};

struct claim {
    const char *queue;
    int max; /* of the whole batch */
    int64_t lease_us;
    tq_batch *batch;
    int from; /* what other queues gave is before this */
};

/* ---------------------------------------------------------------- promotion */

struct due {
    int64_t id[TQI_PROMOTE_MAX];
    int prio[TQI_PROMOTE_MAX];
    char *group[TQI_PROMOTE_MAX];
    int n, ngrouped;
};

static void due_done(struct due *d)
{
    for (int i = 0; i < d->n; i++)
        free(d->group[i]);
}

static int due_row(void *arg, const struct tq_val *cols, int ncols)
{
    struct due *d = arg;

    if (d->n == TQI_PROMOTE_MAX)
        return TR_E_FATAL;
    d->id[d->n] = tqi_val_int(&cols[0]);
    d->prio[d->n] = (int)tqi_val_int(&cols[1]);
    d->group[d->n] = NULL;
    if (cols[2].type != TQ_NULL) {
        d->group[d->n] = strndup(cols[2].p ? cols[2].p : "", cols[2].len);
        if (!d->group[d->n])
            return TR_E_NOMEM;
        d->ngrouped++;
    }
    d->n++;
    return 0;
}

/* A job that waited takes its place in its group's line when it becomes ready. */
static int rank_due(struct tqi_link *l, const char *queue, const struct due *d, struct tr_err *err)
{
    for (int i = 0; i < d->n; i++) {
        int64_t rank = 0;

        if (!d->group[i])
            continue;
        int r = tqi_group_rank(l, queue, d->prio[i], d->group[i], &rank, err);
        if (r < 0)
            return r;
        struct tq_val p[] = {tqi_int(d->id[i]), tqi_int(rank)};
        r = tqi_exec(l, S_SET_RANK, p, 2, NULL, NULL, NULL, err);
        if (r < 0)
            return r;
    }
    return 0;
}

int tqi_promote(struct tqi_link *l, const char *queue, struct tr_err *err)
{
    struct tq_val p[] = {tqi_text(queue), tqi_int(TQI_PROMOTE_MAX)};
    tr_autofree struct due *d = calloc(1, sizeof(*d));

    if (!d)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory to promote jobs");
    bool pick = tqi_has(l, S_PROMOTE_PICK);
    int r = tqi_exec(l, pick ? S_PROMOTE_PICK : S_PROMOTE, p, 2, due_row, d, NULL, err);
    if (r >= 0 && pick && d->n > 0) {
        tr_autofree struct tq_val *cells = calloc((size_t)d->n, sizeof(*cells));

        if (!cells)
            r = tr_fail(err, TR_E_NOMEM, 0, "no memory to promote jobs");
        for (int i = 0; cells && i < d->n; i++)
            cells[i] = tqi_int(d->id[i]);
        struct tqi_set set = {.types = "i", .cells = cells, .nrows = (size_t)d->n};
        if (r >= 0)
            r = tqi_exec_set(l, S_PROMOTE, &set, NULL, NULL, NULL, err);
    }
    if (r >= 0 && d->ngrouped)
        r = rank_due(l, queue, d, err);
    int n = d->n;
    for (int i = 0; i < n; i++)
        tqi_mark_lower(l->q, queue, d->prio[i], 0, d->id[i]);
    due_done(d);
    return r < 0 ? r : n;
}

/* ---------------------------------------------------------------- taking */

/* MySQL: the rows as they were, patched to what the UPDATE makes of them. */
static int take_picked(struct tqi_link *l, const struct claim *c, const struct tq_val p[6],
                       int from, struct tr_err *err)
{
    tq_batch *b = c->batch;
    size_t n = (size_t)(b->n - from);

    if (n == 0)
        return 0;
    tr_autofree struct tq_val *ids = calloc(n, sizeof(*ids));
    if (!ids)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory for a claim");
    for (size_t i = 0; i < n; i++) {
        struct tq_job *j = &b->jobs[from + (int)i];
        int64_t now = b->extra[from + (int)i].now_us;

        ids[i] = tqi_int(j->ref.id);
        j->state = TQ_RUNNING;
        j->attempts++;
        j->ref.run_lease++;
        j->lease_until_us = now + c->lease_us;
        j->started_us = j->started_us ? j->started_us : now;
        j->locked_by = tr_arena_strdup(&b->arena, l->q->worker);
    }
    /* The same "now" as the rows were patched with. */
    struct tq_val extra[] = {p[1], p[2], p[3], p[4], tqi_int(b->extra[from].now_us)};
    struct tqi_set set = {.types = "i", .cells = ids, .nrows = n, .extra = extra, .nextra = 5};
    return tqi_exec_set(l, S_CLAIM, &set, NULL, NULL, NULL, err);
}

/* Up to `max` more jobs into the batch; how many came. */
static int take(struct tqi_link *l, const struct claim *c, int max, bool limits_done,
                struct tr_err *err)
{
    struct tq_val p[6] = {tqi_text(c->queue),
                          tqi_int(max),
                          tqi_int(c->lease_us),
                          tqi_text(l->q->worker),
                          l->q->executor ? tqi_int(l->q->executor)
                                         : (struct tq_val){.type = TQ_NULL, .oid = 20},
                          tqi_int(limits_done)};
    int from = c->batch->n, r;

    if (max <= 0)
        return 0;
    if (tqi_has(l, S_CLAIM_PICK)) {
        r = tqi_exec(l, S_CLAIM_PICK, p, 6, tqi_batch_row, c->batch, NULL, err);
        if (r >= 0)
            r = take_picked(l, c, p, from, err);
    } else if (tqi_has(l, S_CLAIM_MARKED)) {
        r = tqi_mark_claim(l, tqi_queue(l->q, c->queue), p, c->batch, err);
    } else {
        r = tqi_exec(l, S_CLAIM, p, 6, tqi_batch_row, c->batch, NULL, err);
    }
    return r < 0 ? r : c->batch->n - from;
}

/* ---------------------------------------------------------------- limits */

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
    struct tqi_set set = {.types = "ti", .cells = cells, .nrows = (size_t)limit};
    return tqi_exec_set(l, S_SLOT_MAKE, &set, NULL, NULL, NULL, err);
}

/* Lock as many free slots as jobs are wanted. Other claimers skip them, so nobody waits and the
 * limit is exact. */
static int pick_slots(struct tqi_link *l, const struct claim *c, int limit, int want,
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

static int use_slots(struct tqi_link *l, const struct claim *c, const struct slots *s, int from,
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

static int set_rate(struct tqi_link *l, const struct tqi_config *g, const struct claim *c,
                    int64_t used_us, struct tr_err *err)
{
    int64_t base = g->rate_next_us > g->now_us ? g->rate_next_us : g->now_us;
    struct tq_val p[] = {tqi_text(c->queue), tqi_int(base + used_us)};

    return tqi_exec(l, S_RATE_SET, p, 2, NULL, NULL, NULL, err);
}

static int take_limited(struct tqi_link *l, struct claim *c, struct tqi_config *g,
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
        r = take(l, c, want, true, err);
    if (r >= 0 && limit > 0)
        r = use_slots(l, c, slots, c->from, err);
    int n = c->batch->n - c->from;
    if (r >= 0 && interval > 0 && n > 0)
        r = set_rate(l, g, c, n * interval, err);
    return r < 0 ? r : n;
}

/* ---------------------------------------------------------------- the call */

/* The fast way; 0 also when the queue has limits. */
static int take_free(struct tqi_link *l, struct claim *c, struct tqi_queue *m, struct tr_err *err)
{
    int64_t now = tr_clock_mono_us();
    bool due = now - m->promoted_at_us >= PROMOTE_EVERY_US || !m->promoted_at_us;
    int r = 0;

    if (due) {
        r = tqi_promote(l, c->queue, err);
        m->promoted_at_us = r == TQI_PROMOTE_MAX ? 0 : now;
    }
    if (r >= 0)
        r = take(l, c, c->max - c->batch->n, false, err);
    if (r < 0 || c->batch->n == c->max || due)
        return r;
    r = tqi_promote(l, c->queue, err);
    m->promoted_at_us = now;
    return r > 0 ? take(l, c, c->max - c->batch->n, false, err) : r;
}

static bool is_special(const struct tqi_config *g)
{
    return g->c.paused || g->c.concurrency_limit > 0 || g->rate_milli > 0 || g->c.max_lease_us > 0;
}

static int claim_op(struct tqi_link *l, void *arg, struct tr_err *err)
{
    struct claim *c = arg;
    struct tqi_queue *m = tqi_queue(l->q, c->queue);
    struct tqi_config g;
    int r = 0;

    c->batch->n = c->from;
    c->batch->failed = 0;
    if (!m->special) {
        r = take_free(l, c, m, err);
        if (r < 0 || c->batch->n > c->from)
            return r < 0 ? r : c->batch->n - c->from;
    }
    r = tqi_config(l, S_CONFIG_GET, c->queue, &g, err);
    if (r < 0)
        return r;
    bool was = m->special;
    m->special = is_special(&g);
    if (!m->special) {
        r = was ? take_free(l, c, m, err) : 0;
        return r < 0 ? r : c->batch->n - c->from;
    }
    if (!l->in_tx)
        return NEEDS_TX;
    r = g.c.paused ? 0 : tqi_promote(l, c->queue, err);
    return r < 0 ? r : take_limited(l, c, &g, err);
}

/* SQLite: look before taking the one write lock. */
static int peek_op(struct tqi_link *l, void *arg, struct tr_err *err)
{
    const struct claim *c = arg;
    struct tq_val p = tqi_text(c->queue);
    int64_t wait = 1;

    int r = tqi_scalar(l, S_PEEK, &p, 1, &wait, err);
    return r < 0 ? r : wait <= 0;
}

static int claim_own(tq *q, struct claim *c, struct tr_err *err)
{
    enum tqi_mode mode = q->be == BE_POSTGRES && !tqi_queue(q, c->queue)->special ? OP_ONE : OP_TX;

    if (q->be == BE_SQLITE) {
        int r = tqi_run(q, OP_READ, peek_op, c, err);
        if (r <= 0)
            return r;
    }
    int r = tqi_run(q, mode, claim_op, c, err);
    return r == NEEDS_TX ? tqi_run(q, OP_TX, claim_op, c, err) : r;
}

/* A payload that cannot be fetched must not stop the others: its job goes back with the reason. */
static int load_blobs(tq *q, const struct tq_tx *tx, tq_batch *b, struct tr_err *err)
{
    for (int i = b->n; i-- > 0;) {
        struct tr_err why = TR_ERR_INIT;

        if (!(b->extra[i].payload_kind & 2) || tqi_blob_load(q, b, i, &why) >= 0)
            continue;
        struct tq_settlement s = TQ_SETTLEMENT_INIT;
        s.ref = b->jobs[i].ref;
        s.end = TQ_NACK;
        s.data = why.msg;
        s.data_len = strlen(why.msg);
        int r = tx ? tq_tx_settle(q, *tx, &s, 1, err) : tq_settle(q, &s, 1, err);
        if (r < 0)
            return r;
        tqi_batch_drop(b, i);
    }
    return 0;
}

static int check_claim(const char *queue, int max, int64_t lease_us, struct tr_err *err)
{
    int r = tqi_check_name("queue name", queue, false, err);

    if (r < 0)
        return r;
    if (max < 1 || max > TQ_BATCH_MAX)
        return tr_fail(err, TR_E_LIMIT, 0, "a claim takes 1 … %d jobs", (int)TQ_BATCH_MAX);
    if (lease_us < 1 || lease_us > INT64_MAX / 4)
        return tr_fail(err, TR_E_USAGE, 0, "a lease needs a length");
    return 0;
}

/* Fill c->batch further from one queue. */
static int claim_queue(tq *q, const struct tq_tx *tx, struct claim *c, struct tr_err *err)
{
    int r = check_claim(c->queue, c->max, c->lease_us, err);

    c->from = c->batch->n;
    if (r >= 0 && !q->executor)
        r = tqi_live_begin(q, err);
    if (r >= 0)
        r = tx ? tqi_run_tx(q, *tx, claim_op, c, err) : claim_own(q, c, err);
    return r;
}

static int finish_claim(tq *q, const struct tq_tx *tx, tq_batch **b, tq_batch **ret_batch,
                        struct tr_err *err)
{
    int r = load_blobs(q, tx, *b, err);

    if (r < 0 || (*b)->n == 0)
        return r < 0 ? r : 0;
    if (q->be != BE_MYSQL)
        tqi_batch_sort(*b);
    int n = (*b)->n;
    *ret_batch = TR_TAKE(*b);
    return n;
}

static int claim(tq *q, const struct tq_tx *tx, const char *queue, int max, int64_t lease_us,
                 tq_batch **ret_batch, struct tr_err *err)
{
    TR_CLEANUP(tqi_batch_freep) tq_batch *b = tqi_batch_new();
    struct claim c = {.queue = queue, .max = max, .lease_us = lease_us, .batch = b};

    if (!b)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory for a claim");
    int r = claim_queue(q, tx, &c, err);
    return r < 0 ? r : finish_claim(q, tx, &b, ret_batch, err);
}

int tq_claim(tq *q, const char *queue, int max, int64_t lease_us, tq_batch **ret_batch,
             struct tr_err *err)
{
    return claim(q, NULL, queue, max, lease_us, ret_batch, err);
}

int tq_tx_claim(tq *q, struct tq_tx tx, const char *queue, int max, int64_t lease_us,
                tq_batch **ret_batch, struct tr_err *err)
{
    return claim(q, &tx, queue, max, lease_us, ret_batch, err);
}

/* The index of the queue to ask next, drawn by weight among those not asked yet. */
static size_t draw(const struct tq_weighted *queues, const bool *asked, size_t n)
{
    uint64_t total = 0;

    for (size_t i = 0; i < n; i++)
        total += asked[i] ? 0 : queues[i].weight;
    uint64_t at = total ? tr_random_below(total) : 0;
    for (size_t i = 0; i < n; i++) {
        if (asked[i] || (total && !queues[i].weight))
            continue;
        if (!total || at < queues[i].weight)
            return i;
        at -= queues[i].weight;
    }
    return n;
}

int tq_claim_any(tq *q, const struct tq_weighted *queues, size_t n, int max, int64_t lease_us,
                 tq_batch **ret_batch, struct tr_err *err)
{
    bool asked[TQI_QUEUES_MAX] = {false};
    TR_CLEANUP(tqi_batch_freep) tq_batch *b = tqi_batch_new();

    if (n == 0 || n > TQI_QUEUES_MAX)
        return tr_fail(err, TR_E_LIMIT, 0, "1 … %d queues", (int)TQI_QUEUES_MAX);
    if (!b)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory for a claim");
    for (size_t i = 0; i < n && b->n < max; i++) {
        size_t k = draw(queues, asked, n);
        struct claim c = {.queue = queues[k].queue, .max = max, .lease_us = lease_us, .batch = b};

        asked[k] = true;
        int r = claim_queue(q, NULL, &c, err);
        if (r < 0 && b->n == 0)
            return r;
        if (r < 0)
            break; /* what is claimed must reach the caller */
    }
    return finish_claim(q, NULL, &b, ret_batch, err);
}
