/* SPDX-License-Identifier: MIT
 *
 * finish.c - the statements that end a run: into history, or back into the line.
 *
 * Every change is guarded by {id, run_lease, state = running} in the statement that makes it; how
 * many rows it touched is the answer. Nothing is looked up first and believed later.
 */
#include <string.h>

#include "queue/internal.h"

int tqi_lock(struct tqi_link *l, const int64_t *ids, size_t n, tq_batch *ret, struct tr_err *err)
{
    tr_autofree struct tq_val *cells = calloc(n, sizeof(*cells));

    if (!cells)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory for %zu jobs", n);
    for (size_t i = 0; i < n; i++)
        cells[i] = tqi_int(ids[i]);
    struct tq_set set = {.types = "i", .cells = cells, .nrows = n};
    return tqi_exec_set(l, S_LOCK, &set, tqi_batch_row, ret, NULL, err);
}

int tqi_slot_free(struct tqi_link *l, int64_t id, struct tr_err *err)
{
    struct tq_val p = tqi_int(id);

    return tqi_exec(l, S_SLOT_FREE, &p, 1, NULL, NULL, NULL, err);
}

int tqi_event(struct tqi_link *l, int event, const struct tq_job *job, struct tr_err *err)
{
    const struct tq_hooks *h = l->q->hooks;

    if (!h || !h->event || !l->own)
        return 0;
    return h->event(h->user, (struct tq_tx){.driver = l->drv, .conn = l->conn}, event, job, err);
}

/* Rows that came back: which items they belong to, and what else they need. */
struct done {
    struct tqi_finish *fin;
    struct tqi_requeue *req;
    size_t n;
    int64_t *after; /* ids that have a slot or a successor */
    bool *slot, *next;
    size_t nafter;
    size_t at; /* rows mostly come back in order: look here first */
};

static int finish_row(void *arg, const struct tq_val *cols, int ncols)
{
    struct done *d = arg;
    int64_t id = tqi_val_int(&cols[0]), lease = tqi_val_int(&cols[1]);

    for (size_t k = 0; k < d->n; k++) {
        size_t i = (d->at + k) % d->n;

        if (d->fin[i].ref.id != id || d->fin[i].ref.run_lease != lease || d->fin[i].done)
            continue;
        d->fin[i].done = true;
        d->at = i + 1;
        bool slot = cols[2].type != TQ_NULL, next = tqi_val_int(&cols[3]) != 0;
        if (slot || next) {
            d->after[d->nafter] = id;
            d->slot[d->nafter] = slot;
            d->next[d->nafter++] = next;
        }
        return 0;
    }
    return 0;
}

static int after_finish(struct tqi_link *l, const struct done *d, struct tr_err *err)
{
    for (size_t i = 0; i < d->nafter; i++) {
        struct tq_val id = tqi_int(d->after[i]);
        int r = 0;

        if (d->slot[i])
            r = tqi_slot_free(l, d->after[i], err);
        if (r >= 0 && d->next[i])
            r = tqi_exec(l, S_NEXT_READY, &id, 1, NULL, NULL, NULL, err);
        if (r < 0)
            return r;
    }
    return 0;
}

/* Cells of the items that are still to be done (MySQL: of those that the lock found). */
static size_t finish_cells(const struct tqi_finish *items, size_t n, bool done, struct tq_val *c)
{
    size_t rows = 0;

    for (size_t i = 0; i < n; i++) {
        if (items[i].done != done)
            continue;
        c[4 * rows] = tqi_int(items[i].ref.id);
        c[4 * rows + 1] = tqi_int(items[i].ref.run_lease);
        c[4 * rows + 2] = tqi_int(items[i].status);
        c[4 * rows++ + 3] = tqi_bytes(items[i].data, items[i].len);
    }
    return rows;
}

static int finish_statements(struct tqi_link *l, struct tq_set *set, struct done *d,
                             struct tq_val *cells, struct tr_err *err)
{
    int r = 0;

    if (tqi_has(l, S_FINISH_LOCK)) {
        r = tqi_exec_set(l, S_FINISH_LOCK, set, finish_row, d, NULL, err);
        set->nrows = finish_cells(d->fin, d->n, true, cells);
    }
    if (r >= 0 && set->nrows && tqi_has(l, S_FINISH_ARCHIVE))
        r = tqi_exec_set(l, S_FINISH_ARCHIVE, set, NULL, NULL, NULL, err);
    if (r >= 0 && set->nrows)
        r = tqi_exec_set(l, S_FINISH, set, finish_row, d, NULL, err);
    return r < 0 ? r : after_finish(l, d, err);
}

int tqi_finish(struct tqi_link *l, struct tqi_finish *items, size_t n, bool fast, bool any_state,
               struct tr_err *err)
{
    tr_autofree struct tq_val *cells = calloc(n, 4 * sizeof(*cells));
    tr_autofree int64_t *after = calloc(n, sizeof(*after));
    tr_autofree bool *flags = calloc(n, 2);
    struct tq_val extra[] = {tqi_int(!fast), tqi_int(any_state)};

    if (!cells || !after || !flags)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory for %zu jobs", n);
    struct done d = {.fin = items, .n = n, .after = after, .slot = flags, .next = flags + n};
    struct tq_set set = {.types = "iiib",
                         .cells = cells,
                         .nrows = finish_cells(items, n, false, cells),
                         .extra = extra,
                         .nextra = 2};
    return finish_statements(l, &set, &d, cells, err);
}

static int requeue_row(void *arg, const struct tq_val *cols, int ncols)
{
    struct done *d = arg;
    int64_t id = tqi_val_int(&cols[0]), lease = tqi_val_int(&cols[1]);

    for (size_t i = 0; i < d->n; i++)
        if (d->req[i].ref.id == id && d->req[i].ref.run_lease == lease)
            d->req[i].done = true;
    return 0;
}

static size_t requeue_cells(const struct tqi_requeue *items, size_t n, bool done, struct tq_val *c)
{
    size_t rows = 0;

    for (size_t i = 0; i < n; i++) {
        const struct tqi_requeue *it = &items[i];

        if (it->done != done)
            continue;
        struct tq_val *row = c + 7 * rows++;
        row[0] = tqi_int(it->ref.id);
        row[1] = tqi_int(it->ref.run_lease);
        row[2] = tqi_int(it->delay_us);
        row[3] = tqi_int(it->attempts_by);
        row[4] = tqi_int(it->crashes_by);
        row[5] = tqi_int(it->ended);
        row[6] = tqi_bytes(it->data, it->len);
    }
    return rows;
}

int tqi_requeue(struct tqi_link *l, struct tqi_requeue *items, size_t n, struct tr_err *err)
{
    tr_autofree struct tq_val *cells = calloc(n, 7 * sizeof(*cells));
    struct tq_val worker = tqi_text(l->q->worker);
    struct done d = {.req = items, .n = n};
    int r = 0;

    if (!cells)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory for %zu jobs", n);
    struct tq_set set = {.types = "iiiiiib",
                         .cells = cells,
                         .nrows = requeue_cells(items, n, false, cells),
                         .extra = &worker,
                         .nextra = 1};
    if (tqi_has(l, S_REQUEUE_LOCK)) {
        r = tqi_exec_set(l, S_REQUEUE_LOCK, &set, requeue_row, &d, NULL, err);
        set.nrows = requeue_cells(items, n, true, cells);
    }
    if (r >= 0 && set.nrows && tqi_has(l, S_REQUEUE_ARCHIVE))
        r = tqi_exec_set(l, S_REQUEUE_ARCHIVE, &set, NULL, NULL, NULL, err);
    if (r >= 0 && set.nrows)
        r = tqi_exec_set(l, S_REQUEUE, &set, requeue_row, &d, NULL, err);
    return r;
}
