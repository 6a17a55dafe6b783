/* SPDX-License-Identifier: MIT
 *
 * beat.c - heartbeats, and the truth about a run.
 */
#include <string.h>

#include "queue/internal.h"

struct beat {
    const struct tq_ref *refs;
    size_t n;
    int64_t lease_us;
    unsigned char *beats;
    bool *seen;
    size_t at;
};

static int beat_row(void *arg, const struct tq_val *cols, int ncols)
{
    struct beat *b = arg;
    int64_t id = tqi_val_int(&cols[0]), lease = tqi_val_int(&cols[1]);

    for (size_t k = 0; k < b->n; k++) {
        size_t i = (b->at + k) % b->n;

        if (b->refs[i].id != id || b->refs[i].run_lease != lease)
            continue;
        b->seen[i] = true;
        b->beats[i] = tqi_val_int(&cols[2]) ? TQ_BEAT_CANCEL : TQ_BEAT_RENEWED;
        b->at = i + 1;
        break;
    }
    return 0;
}

static size_t beat_cells(const struct beat *b, bool only_seen, struct tq_val *c)
{
    size_t rows = 0;

    for (size_t i = 0; i < b->n; i++) {
        if (only_seen && !b->seen[i])
            continue;
        c[2 * rows] = tqi_int(b->refs[i].id);
        c[2 * rows++ + 1] = tqi_int(b->refs[i].run_lease);
    }
    return rows;
}

/* Locked rows are skipped, not waited for: their owner is settling them, and reclaim skips them
 * for the same reason. */
static int beat_op(struct tqi_link *l, void *arg, struct tr_err *err)
{
    struct beat *b = arg;
    tr_autofree struct tq_val *cells = calloc(b->n, 2 * sizeof(*cells));
    struct tq_val lease = tqi_int(b->lease_us);
    int r = 0, n = 0;

    if (!cells)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory for %zu heartbeats", b->n);
    memset(b->seen, 0, b->n);
    struct tq_set set = {.types = "ii",
                         .cells = cells,
                         .nrows = beat_cells(b, false, cells),
                         .extra = &lease,
                         .nextra = 1};
    if (tqi_has(l, S_BEAT_PICK)) {
        r = tqi_exec_set(l, S_BEAT_PICK, &set, beat_row, b, NULL, err);
        set.nrows = beat_cells(b, true, cells);
    }
    if (r >= 0 && set.nrows)
        r = tqi_exec_set(l, S_BEAT, &set, beat_row, b, NULL, err);
    for (size_t i = 0; i < b->n; i++)
        n += b->seen[i];
    return r < 0 ? r : n;
}

static int verify_op(struct tqi_link *l, void *arg, struct tr_err *err)
{
    const struct tq_ref *ref = arg;
    struct tq_val p[] = {tqi_int(ref->id), tqi_int(ref->run_lease)};
    int64_t truth = TQ_UNKNOWN;

    int r = tqi_scalar(l, S_VERIFY, p, 2, &truth, err);
    return r < 0 ? r : (int)truth;
}

static int why_not(tq *q, const struct tq_ref *ref, unsigned char *ret, struct tr_err *err)
{
    int truth = tq_verify(q, *ref, err);

    if (truth < 0)
        return truth;
    *ret = truth == TQ_STILL_MINE                                ? TQ_BEAT_SETTLING
           : truth == TQ_WAS_SETTLED || truth == TQ_WAS_RELEASED ? TQ_BEAT_SETTLED
                                                                 : TQ_BEAT_LOST;
    return 0;
}

int tq_heartbeat(tq *q, const struct tq_ref *refs, size_t n, int64_t lease_us, unsigned char *beats,
                 struct tr_err *err)
{
    if (!refs || !beats || n == 0 || n > TQ_BATCH_MAX || lease_us < 1)
        return tr_fail(err, TR_E_USAGE, 0, "a heartbeat needs 1 … %d jobs and a lease",
                       (int)TQ_BATCH_MAX);
    tr_autofree bool *seen = calloc(n, sizeof(*seen));
    if (!seen)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory for %zu heartbeats", n);
    struct beat b = {.refs = refs, .n = n, .lease_us = lease_us, .beats = beats, .seen = seen};
    int r = tqi_run(q, q->be == BE_POSTGRES ? OP_ONE : OP_TX, beat_op, &b, err);
    if (r == TR_E_UNSURE) /* renewing twice does no harm */
        r = tqi_run(q, OP_TX, beat_op, &b, err);
    for (size_t i = 0; i < n && r >= 0; i++)
        if (!seen[i]) {
            int w = why_not(q, &refs[i], &beats[i], err);
            if (w < 0)
                return w;
        }
    return r;
}

int tq_verify(tq *q, struct tq_ref ref, struct tr_err *err)
{
    return tqi_run(q, OP_READ, verify_op, &ref, err);
}
