/* SPDX-License-Identifier: MIT
 *
 * settle.c - how a run ends: when does a job die, and when does it run again?
 *
 * Every change is guarded by {id, run_lease, state = running} in the statement that makes it; how
 * many rows it touched is the answer. Nothing is looked up first and believed later.
 */
#include <string.h>

#include "base/clock.h"
#include "base/rand.h"
#include "queue/internal.h"

/* ---------------------------------------------------------------- policy */

int64_t tqi_backoff_us(const struct tq_config *c, int attempts, int64_t base_us, int jitter)
{
    int64_t base = base_us > 0 ? base_us : c->base_backoff_us > 0 ? c->base_backoff_us : 2000000;
    int64_t most = c->max_backoff_us > 0 ? c->max_backoff_us : 3600000000;
    int percent = jitter >= 0 ? jitter : c->jitter_percent >= 0 ? c->jitter_percent : 20;
    int64_t delay = base;

    for (int i = 1; i < attempts && delay < most; i++)
        delay *= 2; /* stops far below overflow: most is at most an hour or what people set */
    if (delay > most)
        delay = most;
    int64_t swing = delay / 100 * (percent > 100 ? 100 : percent);
    if (swing > 0)
        delay += (int64_t)tr_random_below((uint64_t)(2 * swing + 1)) - swing;
    return delay > 0 ? delay : 1;
}

/* ---------------------------------------------------------------- deciding */

struct settle {
    char *items;
    size_t n, stride;
    struct tqi_finish *fin; /* n places each */
    struct tqi_requeue *req;
    struct tq_settlement **fin_of, **req_of;
    size_t nfin, nreq;
    int64_t *locked; /* ids to lock first */
    bool fast;       /* one statement, outside of a transaction */
    tq_batch *rows;  /* what the lock found */
    tqi_op then;     /* done in the same transaction; its answer is the call's */
    void *then_arg;
};

static struct tq_settlement *item(const struct settle *s, size_t i)
{
    return (struct tq_settlement *)(void *)(s->items + i * s->stride);
}

static bool is_final(int end)
{
    return end == TQ_ACK || end == TQ_BURY || end == TQ_DISCARD;
}

static void add_finish(struct settle *s, struct tq_settlement *it, int status)
{
    s->fin_of[s->nfin] = it;
    s->fin[s->nfin++] = (struct tqi_finish){
        .ref = it->ref, .status = status, .data = it->data, .len = it->data_len};
}

static void add_requeue(struct settle *s, struct tq_settlement *it, const struct tq_config *c,
                        int attempts)
{
    bool nack = it->end == TQ_NACK;
    int64_t delay = nack && it->delay_us < 0
                        ? tqi_backoff_us(c, attempts, it->base_us, it->jitter_percent)
                    : it->end == TQ_RELEASE ? 0
                                            : it->delay_us;

    s->req_of[s->nreq] = it;
    s->req[s->nreq++] = (struct tqi_requeue){.ref = it->ref,
                                             .delay_us = delay > 0 ? delay : 0,
                                             .attempts_by = nack ? 0 : -1,
                                             .ended = it->end,
                                             .data = it->data,
                                             .len = it->data_len};
}

/* One locked row that is still ours. */
static int decide(struct tqi_link *l, struct settle *s, struct tq_settlement *it, int row,
                  struct tr_err *err)
{
    const struct tq_job *job = &s->rows->jobs[row];
    struct tqi_config g;
    bool last = it->end == TQ_NACK && job->attempts >= job->max_attempts;

    if (it->end == TQ_NACK && job->cancel_requested) {
        add_finish(s, it, TQ_CANCELLED);
        return tqi_event(l, TQ_EV_CANCELLED, job, err);
    }
    if (last || it->end == TQ_BURY) {
        add_finish(s, it, TQ_DEAD);
        it->result = last ? TQ_SETTLED_BURIED : TQ_SETTLED_FINAL;
        return tqi_event(l, TQ_EV_BURIED, job, err);
    }
    int r = tqi_config(l, S_CONFIG_GET, job->queue, &g, err);
    if (r < 0)
        return r;
    add_requeue(s, it, &g.c, job->attempts);
    tqi_mark_lower(l->q, job->queue, job->priority, 0, job->ref.id);
    return s->rows->extra[row].slot >= 0 ? tqi_slot_free(l, job->ref.id, err) : 0;
}

static int decide_locked(struct tqi_link *l, struct settle *s, size_t nlocked, struct tr_err *err)
{
    tqi_batch_freep(&s->rows);
    s->rows = tqi_batch_new();
    if (!s->rows)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory to settle");
    int r = tqi_lock(l, s->locked, nlocked, s->rows, err);
    for (size_t i = 0; i < s->n && r >= 0; i++) {
        struct tq_settlement *it = item(s, i);

        for (int k = 0; k < s->rows->n && r >= 0; k++)
            if (s->rows->jobs[k].ref.id == it->ref.id &&
                s->rows->jobs[k].ref.run_lease == it->ref.run_lease) {
                r = decide(l, s, it, k, err);
                break;
            }
    }
    return r;
}

/* A stale settlement, where that must not be committed. */
static int poison(struct tqi_link *l, struct tr_err *err)
{
    struct tq_val one = tqi_int(1);

    (void)tqi_exec(l, S_POISON, &one, l->q->be == BE_SQLITE ? 1 : 0, NULL, NULL, NULL, NULL);
    return tr_fail(err, TR_E_LOST, 0,
                   "a job is no longer ours; the transaction was made impossible to commit");
}

static int collect(struct tqi_link *l, struct settle *s, struct tr_err *err)
{
    int ours = 0;

    for (size_t i = 0; i < s->nfin; i++)
        if (s->fin[i].done) {
            ours++;
            if (s->fin_of[i]->result != TQ_SETTLED_BURIED)
                s->fin_of[i]->result = TQ_SETTLED_FINAL;
        } else {
            s->fin_of[i]->result = TR_E_LOST;
        }
    for (size_t i = 0; i < s->nreq; i++) {
        s->req_of[i]->result = s->req[i].done ? TQ_SETTLED_AGAIN : TR_E_LOST;
        ours += s->req[i].done;
    }
    if ((size_t)ours < s->n && l->in_tx && (l->q->flags & TQ_STALE_POISONS) &&
        (!l->own || l->q->in_tx))
        return poison(l, err);
    return ours;
}

static int settle_op(struct tqi_link *l, void *arg, struct tr_err *err)
{
    struct settle *s = arg;
    size_t nlocked = 0;
    int r = 0;

    s->nfin = s->nreq = 0;
    for (size_t i = 0; i < s->n; i++) {
        struct tq_settlement *it = item(s, i);
        bool hooked = l->own && l->q->hooks && it->end == TQ_BURY;

        it->result = TR_E_LOST;
        if (is_final(it->end) && !hooked)
            add_finish(s, it,
                       it->end == TQ_ACK    ? TQ_COMPLETED
                       : it->end == TQ_BURY ? TQ_DEAD
                                            : TQ_DISCARDED);
        else
            s->locked[nlocked++] = it->ref.id;
    }
    if (nlocked)
        r = decide_locked(l, s, nlocked, err);
    if (r >= 0 && s->nfin)
        r = tqi_finish(l, s->fin, s->nfin, s->fast && !l->in_tx, false, err);
    if (r >= 0 && s->nreq)
        r = tqi_requeue(l, s->req, s->nreq, err);
    if (r >= 0)
        r = collect(l, s, err);
    return r < 0 || !s->then ? r : s->then(l, s->then_arg, err);
}

static int check_items(const tq *q, const struct settle *s, bool *ret_all_final, struct tr_err *err)
{
    *ret_all_final = true;
    for (size_t i = 0; i < s->n; i++) {
        const struct tq_settlement *it = item(s, i);

        if (it->end < TQ_ACK || it->end > TQ_RELEASE)
            return tr_fail(err, TR_E_USAGE, 0, "settlement %zu: unknown end %d", i, it->end);
        if (it->data_len > q->max_payload)
            return tr_fail(err, TR_E_LIMIT, 0,
                           "settlement %zu: the result has %zu bytes; the ceiling is %zu", i,
                           it->data_len, q->max_payload);
        if (it->end == TQ_SNOOZE && it->delay_us < 0)
            return tr_fail(err, TR_E_USAGE, 0, "settlement %zu: a snooze needs a delay", i);
        if (it->delay_us > INT64_MAX / 4 || it->base_us > INT64_MAX / 4)
            return tr_fail(err, TR_E_LIMIT, 0, "settlement %zu: the delay is endless", i);
        if (!is_final(it->end) || (q->hooks && it->end == TQ_BURY))
            *ret_all_final = false;
    }
    return 0;
}

/* The fast statement passes by rows that hold a slot or have a successor: those once more, in a
 * transaction. */
static int settle_own(tq *q, struct settle *s, bool all_final, struct tr_err *err)
{
    s->fast = q->be == BE_POSTGRES && all_final && !q->in_tx && !s->then;
    int r = tqi_run(q, s->fast ? OP_ONE : OP_TX, settle_op, s, err);
    if (!s->fast || r < 0 || (size_t)r == s->n)
        return r;
    struct settle rest = *s;
    int ours = r;
    rest.fast = false;
    rest.n = 0;
    tr_autofree char *left = malloc(s->n * s->stride);
    if (!left)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory to settle");
    rest.items = left;
    for (size_t i = 0; i < s->n; i++)
        if (item(s, i)->result == TR_E_LOST)
            memcpy(left + rest.n++ * s->stride, item(s, i), s->stride);
    r = tqi_run(q, OP_TX, settle_op, &rest, err);
    if (r < 0)
        return r;
    for (size_t i = 0, k = 0; i < s->n; i++)
        if (item(s, i)->result == TR_E_LOST)
            item(s, i)->result = item(&rest, k++)->result;
    return ours + r;
}

struct then {
    tqi_op op;
    void *arg;
};

static int settle(tq *q, const struct tq_tx *tx, struct tq_settlement *items, size_t n,
                  struct then then, struct tr_err *err)
{
    bool all_final;

    if (!items || n == 0 || n > TQ_BATCH_MAX || items->size < sizeof(*items))
        return tr_fail(err, n > TQ_BATCH_MAX ? TR_E_LIMIT : TR_E_USAGE, 0,
                       "a call settles 1 … %d jobs, each begun with TQ_SETTLEMENT_INIT",
                       (int)TQ_BATCH_MAX);
    tr_autofree struct tqi_finish *fin = calloc(n, sizeof(*fin));
    tr_autofree struct tqi_requeue *req = calloc(n, sizeof(*req));
    tr_autofree struct tq_settlement **of = calloc(2 * n, sizeof(*of)); /* NOLINT: pointers */
    tr_autofree int64_t *locked = calloc(n, sizeof(*locked));
    if (!fin || !req || !of || !locked)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory to settle %zu jobs", n);
    struct settle s = {.items = (char *)items,
                       .n = n,
                       .stride = items->size,
                       .fin = fin,
                       .req = req,
                       .fin_of = of,
                       .req_of = of + n,
                       .locked = locked,
                       .then = then.op,
                       .then_arg = then.arg};
    if (tx && tx->conn != q->conn)
        q->foreign_tx = true;
    int r = check_items(q, &s, &all_final, err);
    if (r >= 0)
        r = tx ? tqi_run_tx(q, *tx, settle_op, &s, err) : settle_own(q, &s, all_final, err);
    tq_batch_free(s.rows);
    return r;
}

/* ---------------------------------------------------------------- public */

int tq_settle(tq *q, struct tq_settlement *items, size_t n, struct tr_err *err)
{
    return settle(q, NULL, items, n, (struct then){0}, err);
}

int tq_tx_settle(tq *q, struct tq_tx tx, struct tq_settlement *items, size_t n, struct tr_err *err)
{
    return settle(q, &tx, items, n, (struct then){0}, err);
}

int tqi_settle_then(tq *q, struct tq_settlement *items, size_t n, tqi_op then, void *arg,
                    struct tr_err *err)
{
    return settle(q, NULL, items, n, (struct then){then, arg}, err);
}

/* One job: a stale one is an error here, because there is nothing else to report. */
static int one(tq *q, const struct tq_tx *tx, struct tq_settlement s, struct tr_err *err)
{
    int r = settle(q, tx, &s, 1, (struct then){0}, err);

    if (r < 0)
        return r;
    if (s.result == TR_E_LOST)
        return tr_fail(err, TR_E_LOST, 0, "job %lld is no longer held under run_lease %lld",
                       (long long)s.ref.id, (long long)s.ref.run_lease);
    return s.end == TQ_NACK ? s.result : 0;
}

#define ONE(ref_, end_, data_, len_, delay_)                                                       \
    (struct tq_settlement)                                                                         \
    {                                                                                              \
        .size = sizeof(struct tq_settlement), .ref = (ref_), .end = (end_), .data = (data_),       \
        .data_len = (len_), .delay_us = (delay_), .jitter_percent = -1                             \
    }

int tq_ack(tq *q, struct tq_ref ref, const void *result, size_t len, struct tr_err *err)
{
    return one(q, NULL, ONE(ref, TQ_ACK, result, len, -1), err);
}

int tq_nack(tq *q, struct tq_ref ref, int64_t delay_us, const void *error, size_t len,
            struct tr_err *err)
{
    return one(q, NULL, ONE(ref, TQ_NACK, error, len, delay_us), err);
}

int tq_bury(tq *q, struct tq_ref ref, const void *error, size_t len, struct tr_err *err)
{
    return one(q, NULL, ONE(ref, TQ_BURY, error, len, -1), err);
}

int tq_discard(tq *q, struct tq_ref ref, const void *why, size_t len, struct tr_err *err)
{
    return one(q, NULL, ONE(ref, TQ_DISCARD, why, len, -1), err);
}

int tq_snooze(tq *q, struct tq_ref ref, int64_t delay_us, struct tr_err *err)
{
    return one(q, NULL, ONE(ref, TQ_SNOOZE, NULL, 0, delay_us), err);
}

int tq_release(tq *q, struct tq_ref ref, struct tr_err *err)
{
    return one(q, NULL, ONE(ref, TQ_RELEASE, NULL, 0, 0), err);
}

int tq_tx_ack(tq *q, struct tq_tx tx, struct tq_ref ref, const void *result, size_t len,
              struct tr_err *err)
{
    return one(q, &tx, ONE(ref, TQ_ACK, result, len, -1), err);
}

int tq_tx_nack(tq *q, struct tq_tx tx, struct tq_ref ref, int64_t delay_us, const void *error,
               size_t len, struct tr_err *err)
{
    return one(q, &tx, ONE(ref, TQ_NACK, error, len, delay_us), err);
}

int tq_tx_bury(tq *q, struct tq_tx tx, struct tq_ref ref, const void *error, size_t len,
               struct tr_err *err)
{
    return one(q, &tx, ONE(ref, TQ_BURY, error, len, -1), err);
}

int tq_tx_discard(tq *q, struct tq_tx tx, struct tq_ref ref, const void *why, size_t len,
                  struct tr_err *err)
{
    return one(q, &tx, ONE(ref, TQ_DISCARD, why, len, -1), err);
}

int tq_tx_snooze(tq *q, struct tq_tx tx, struct tq_ref ref, int64_t delay_us, struct tr_err *err)
{
    return one(q, &tx, ONE(ref, TQ_SNOOZE, NULL, 0, delay_us), err);
}
