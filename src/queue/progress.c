/* SPDX-License-Identifier: MIT
 *
 * progress.c - checkpoints of running jobs, for the run that comes after a crash.
 *
 * Guarded as a settlement is: by {id, run_lease, state = running}, in the statement that writes.
 */
#include <string.h>

#include "queue/internal.h"

struct notes {
    char *items;
    size_t n, stride;
    size_t at; /* rows mostly come back in order: look here first */
};

static struct tq_note *note(const struct notes *s, size_t i)
{
    return (struct tq_note *)(void *)(s->items + i * s->stride);
}

static int note_row(void *arg, const struct tq_val *cols, int ncols)
{
    struct notes *s = arg;
    int64_t id = tqi_val_int(&cols[0]), lease = tqi_val_int(&cols[1]);

    for (size_t k = 0; k < s->n; k++) {
        size_t i = (s->at + k) % s->n;

        if (note(s, i)->ref.id != id || note(s, i)->ref.run_lease != lease)
            continue;
        note(s, i)->result = 0;
        s->at = i + 1;
        break;
    }
    return 0;
}

static size_t note_cells(const struct notes *s, bool only_ours, struct tq_val *c)
{
    size_t rows = 0;

    for (size_t i = 0; i < s->n; i++) {
        const struct tq_note *it = note(s, i);

        if (only_ours && it->result < 0)
            continue;
        c[3 * rows] = tqi_int(it->ref.id);
        c[3 * rows + 1] = tqi_int(it->ref.run_lease);
        c[3 * rows++ + 2] = tqi_bytes(it->data ? it->data : "", it->data ? it->data_len : 0);
    }
    return rows;
}

static int progress_op(struct tqi_link *l, void *arg, struct tr_err *err)
{
    struct notes *s = arg;
    tr_autofree struct tq_val *cells = calloc(s->n, 3 * sizeof(*cells));
    int r = 0, ours = 0;

    if (!cells)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory for the progress of %zu jobs", s->n);
    for (size_t i = 0; i < s->n; i++)
        note(s, i)->result = TR_E_LOST;
    struct tq_set set = {.types = "iib", .cells = cells, .nrows = note_cells(s, false, cells)};
    /* MySQL cannot return what it updated, and counts a row that had the value as unchanged. */
    if (tqi_has(l, S_PROGRESS_LOCK)) {
        r = tqi_exec_set(l, S_PROGRESS_LOCK, &set, note_row, s, NULL, err);
        set.nrows = note_cells(s, true, cells);
    }
    if (r >= 0 && set.nrows)
        r = tqi_exec_set(l, S_PROGRESS, &set, note_row, s, NULL, err);
    for (size_t i = 0; i < s->n; i++)
        ours += note(s, i)->result == 0;
    return r < 0 ? r : ours;
}

static int progress(tq *q, const struct tq_tx *tx, struct tq_note *items, size_t n,
                    struct tr_err *err)
{
    if (!items || n == 0 || n > TQ_BATCH_MAX || items->size < sizeof(*items))
        return tr_fail(err, n > TQ_BATCH_MAX ? TR_E_LIMIT : TR_E_USAGE, 0,
                       "a call stores the progress of 1 … %d jobs, each begun with TQ_NOTE_INIT",
                       (int)TQ_BATCH_MAX);
    struct notes s = {.items = (char *)items, .n = n, .stride = items->size};
    for (size_t i = 0; i < n; i++)
        if (note(&s, i)->data_len > q->max_payload)
            return tr_fail(err, TR_E_LIMIT, 0, "the progress has %zu bytes; the ceiling is %zu",
                           note(&s, i)->data_len, q->max_payload);
    return tx ? tqi_run_tx(q, *tx, progress_op, &s, err)
              : tqi_run(q, q->be == BE_POSTGRES ? OP_ONE : OP_TX, progress_op, &s, err);
}

/* One job: a stale one is an error here, because there is nothing else to report. */
static int one(tq *q, const struct tq_tx *tx, struct tq_note it, struct tr_err *err)
{
    int r = progress(q, tx, &it, 1, err);

    if (r == 0)
        return tr_fail(err, TR_E_LOST, 0, "job %lld is no longer held under run_lease %lld",
                       (long long)it.ref.id, (long long)it.ref.run_lease);
    return r < 0 ? r : 0;
}

int tq_progress_many(tq *q, struct tq_note *items, size_t n, struct tr_err *err)
{
    return progress(q, NULL, items, n, err);
}

int tq_tx_progress_many(tq *q, struct tq_tx tx, struct tq_note *items, size_t n, struct tr_err *err)
{
    return progress(q, &tx, items, n, err);
}

int tq_progress(tq *q, struct tq_ref ref, const void *data, size_t len, struct tr_err *err)
{
    return one(q, NULL, (struct tq_note){sizeof(struct tq_note), ref, 0, data, len}, err);
}

int tq_tx_progress(tq *q, struct tq_tx tx, struct tq_ref ref, const void *data, size_t len,
                   struct tr_err *err)
{
    return one(q, &tx, (struct tq_note){sizeof(struct tq_note), ref, 0, data, len}, err);
}
