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

/* ---------------------------------------------------------------- taking */

/* MySQL: the rows as they were, patched to what the UPDATE makes of them. */
static int take_picked(struct tqi_link *l, const struct tqi_claim *c, const struct tq_val p[6],
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
    struct tq_set set = {.types = "i", .cells = ids, .nrows = n, .extra = extra, .nextra = 5};
    return tqi_exec_set(l, S_CLAIM, &set, NULL, NULL, NULL, err);
}

int tqi_take(struct tqi_link *l, const struct tqi_claim *c, int max, bool limits_done,
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

/* ---------------------------------------------------------------- the call */

/* The fast way; 0 also when the queue has limits. */
static int take_free(struct tqi_link *l, struct tqi_claim *c, struct tqi_queue *m,
                     struct tr_err *err)
{
    int64_t now = tr_clock_mono_us();
    bool due = now - m->promoted_at_us >= PROMOTE_EVERY_US || !m->promoted_at_us;
    int r = 0;

    if (due) {
        r = tqi_promote(l, c->queue, err);
        m->promoted_at_us = r == TQI_PROMOTE_MAX ? 0 : now;
    }
    if (r >= 0)
        r = tqi_take(l, c, c->max - c->batch->n, false, err);
    if (r < 0 || c->batch->n == c->max || due)
        return r;
    r = tqi_promote(l, c->queue, err);
    m->promoted_at_us = now;
    return r > 0 ? tqi_take(l, c, c->max - c->batch->n, false, err) : r;
}

static bool is_special(const struct tqi_config *g)
{
    return g->c.paused || g->c.concurrency_limit > 0 || g->rate_milli > 0 || g->c.max_lease_us > 0;
}

static int claim_op(struct tqi_link *l, void *arg, struct tr_err *err)
{
    struct tqi_claim *c = arg;
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
    return r < 0 ? r : tqi_take_limited(l, c, &g, err);
}

/* SQLite: look before taking the one write lock. */
static int peek_op(struct tqi_link *l, void *arg, struct tr_err *err)
{
    const struct tqi_claim *c = arg;
    struct tq_val p = tqi_text(c->queue);
    int64_t wait = 1;

    int r = tqi_scalar(l, S_PEEK, &p, 1, &wait, err);
    return r < 0 ? r : wait <= 0;
}

static int claim_own(tq *q, struct tqi_claim *c, struct tr_err *err)
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
static int claim_queue(tq *q, const struct tq_tx *tx, struct tqi_claim *c, struct tr_err *err)
{
    int r = 0;

    c->from = c->batch->n;
    if (!q->executor)
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
    struct tqi_claim c = {.queue = queue, .max = max, .lease_us = lease_us, .batch = b};

    if (!b)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory for a claim");
    int r = check_claim(queue, max, lease_us, err);
    if (r >= 0)
        r = claim_queue(q, tx, &c, err);
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

static int check_queues(const struct tq_weighted *queues, size_t n, int max, int64_t lease_us,
                        struct tr_err *err)
{
    int r = 0;

    if (n == 0 || n > TQI_QUEUES_MAX)
        return tr_fail(err, TR_E_LIMIT, 0, "1 … %d queues", (int)TQI_QUEUES_MAX);
    for (size_t i = 0; i < n && r >= 0; i++)
        r = check_claim(queues[i].queue, max, lease_us, err);
    return r;
}

int tq_claim_any(tq *q, const struct tq_weighted *queues, size_t n, int max, int64_t lease_us,
                 tq_batch **ret_batch, struct tr_err *err)
{
    bool asked[TQI_QUEUES_MAX] = {false};
    TR_CLEANUP(tqi_batch_freep) tq_batch *b = tqi_batch_new();

    int ok = check_queues(queues, n, max, lease_us, err);
    if (ok < 0)
        return ok;
    if (!b)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory for a claim");
    for (size_t i = 0; i < n && b->n < max; i++) {
        size_t k = draw(queues, asked, n);
        struct tqi_claim c = {
            .queue = queues[k].queue, .max = max, .lease_us = lease_us, .batch = b};

        asked[k] = true;
        int r = claim_queue(q, NULL, &c, err);
        if (r < 0 && b->n == 0)
            return r;
        if (r < 0)
            break; /* what is claimed must reach the caller */
    }
    return finish_claim(q, NULL, &b, ret_batch, err);
}

struct fused {
    const struct tq_weighted *queues;
    size_t n;
    int max;
    int64_t lease_us;
    tq_batch *batch;
};

/* All queues in the transaction of the settlement; a retry begins with an empty batch. */
static int claim_fused(struct tqi_link *l, void *arg, struct tr_err *err)
{
    struct fused *f = arg;
    bool asked[TQI_QUEUES_MAX] = {false};

    f->batch->n = f->batch->failed = 0;
    for (size_t i = 0; i < f->n && f->batch->n < f->max; i++) {
        size_t k = draw(f->queues, asked, f->n);
        struct tqi_claim c = {.queue = f->queues[k].queue,
                              .max = f->max,
                              .lease_us = f->lease_us,
                              .batch = f->batch,
                              .from = f->batch->n};

        asked[k] = true;
        int r = claim_op(l, &c, err);
        if (r < 0)
            return r;
    }
    return f->batch->n;
}

/* NOLINTNEXTLINE(readability-function-size): the words of a settle and of a claim */
int tq_settle_and_claim(tq *q, struct tq_settlement *items, size_t nitems,
                        const struct tq_weighted *queues, size_t nqueues, int max, int64_t lease_us,
                        tq_batch **ret_batch, struct tr_err *err)
{
    TR_CLEANUP(tqi_batch_freep) tq_batch *b = NULL;

    if (nitems == 0)
        return tq_claim_any(q, queues, nqueues, max, lease_us, ret_batch, err);
    int r = check_queues(queues, nqueues, max, lease_us, err);
    if (r >= 0 && !q->executor)
        r = tqi_live_begin(q, err);
    if (r < 0)
        return r;
    b = tqi_batch_new();
    if (!b)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory for a claim");
    struct fused f = {.queues = queues, .n = nqueues, .max = max, .lease_us = lease_us, .batch = b};
    r = tqi_settle_then(q, items, nitems, claim_fused, &f, err);
    return r < 0 ? r : finish_claim(q, NULL, &b, ret_batch, err);
}
