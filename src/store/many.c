/* SPDX-License-Identifier: MIT
 *
 * many.c - insert, start and finish for many submissions in a few round trips.
 *
 * A set statement does what nearly always happens and says for which rows it did. Whatever it left
 * out (a known id, a busy row, a lost run) goes through the ordinary call, which finds out why. So
 * every rule stays in one place, and this file has none of its own.
 *
 * An engine without set statements (SQLite: it has no round trips) only makes the ordinary calls.
 */
#include <string.h>

#include "store/private.h"

enum {
    SET_MIN = 2,
    SET_ROWS = 256,
    SET_BYTES = 2 << 20 /* of values; MySQL's text has twice as many, under every packet limit */
};

/* What differs between the three. */
struct kind {
    enum ts_stmt stmt;
    enum ts_stmt before, after; /* where an engine's `stmt` says nothing of its rows, one of these
                                   does, in the same form */
    int move;
    const char *types;
    size_t size; /* of an item, which begins with a struct tr_many_item */
    /* Its values for the set; false: not for a set. */
    bool (*cells)(const void *item, struct tq_val *out);
    /* The set statement did it; cols[0] is the submit_id. False: the ordinary call has to go on. */
    bool (*took)(void *item, const struct tq_val *cols);
    /* The ordinary call. */
    int (*one)(struct tr_store *st, void *item, const struct tq_val *extra, struct tr_err *err);
    const struct tq_val *extra;
    int nextra;
};

struct many {
    struct tr_store *st;
    const struct kind *k;
    char *items;
    size_t n;
    bool *done;
    size_t in[SET_ROWS]; /* items of the set at work */
    size_t count, at;
};

static struct tr_many_item *item(const struct many *m, size_t i)
{
    return (struct tr_many_item *)(void *)(m->items + i * m->k->size);
}

/* An answer leaves the transaction as it was. */
static bool is_answer(int r)
{
    return r >= 0 || r == TR_E_LOST || r == TR_E_NOTFOUND || r == TR_E_LIMIT || r == TR_E_USAGE;
}

/* Rows come back in the order of the set, as a rule: the search begins where the last one ended. */
static int took_row(void *arg, const struct tq_val *c, int ncols)
{
    struct many *m = arg;

    for (size_t k = 0; k < m->count; k++) {
        size_t i = m->in[(m->at + k) % m->count];
        const char *id = item(m, i)->submit_id;

        if (strlen(id) != c[0].len || memcmp(id, c[0].p, c[0].len) != 0)
            continue;
        m->at = (m->at + k + 1) % m->count;
        m->done[i] = m->k->took(item(m, i), c);
        break;
    }
    return 0;
}

/* One id is in a set once: of two, the second is answered by what the first did. */
static bool is_in(const struct many *m, const char *id)
{
    for (size_t k = 0; k < m->count; k++)
        if (strcmp(item(m, m->in[k])->submit_id, id) == 0)
            return true;
    return false;
}

static size_t bytes_of(const struct tq_val *cells, size_t n)
{
    size_t bytes = 0;

    for (size_t i = 0; i < n; i++)
        bytes += cells[i].type == TQ_INT ? sizeof(int64_t) : cells[i].len;
    return bytes;
}

/* The next rows for a set, from item `*at` on; they are in m->in, their values in `cells`. */
static void fill_set(struct many *m, struct tq_val *cells, size_t *at)
{
    size_t cols = strlen(m->k->types), bytes = 0;

    m->count = m->at = 0;
    for (; *at < m->n && m->count < SET_ROWS; (*at)++) {
        struct tq_val *row = cells + m->count * cols;

        if (!m->k->cells(item(m, *at), row) || is_in(m, item(m, *at)->submit_id))
            continue;
        size_t more = bytes_of(row, cols);
        if (more > SET_BYTES)
            continue; /* alone */
        if (bytes + more > SET_BYTES)
            return;
        bytes += more;
        m->in[m->count++] = *at;
    }
}

static int run_set(struct many *m, const struct tq_val *cells, struct tr_err *err)
{
    const struct kind *k = m->k;
    const enum ts_stmt stmts[] = {k->before, k->stmt, k->after};
    const struct tq_set set = {.types = k->types,
                               .cells = cells,
                               .nrows = m->count,
                               .extra = k->extra,
                               .nextra = k->nextra};

    for (size_t i = 0; i < TR_ARRAY_LEN(stmts); i++) {
        if ((i != 1 && stmts[i] == k->stmt) || !ts_has(m->st, stmts[i]))
            continue;
        int64_t r = ts_exec_set(m->st, stmts[i], k->move, &set, took_row, m, err);
        if (r < 0)
            return (int)r;
    }
    return 0;
}

static int run_sets(struct many *m, struct tr_err *err)
{
    const struct kind *k = m->k;
    tr_autofree struct tq_val *cells = calloc(SET_ROWS * strlen(k->types), sizeof(*cells));

    if (!cells)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory for %zu submissions", m->n);
    for (size_t at = 0; at < m->n;) {
        fill_set(m, cells, &at);
        if (m->count < SET_MIN)
            continue;
        int r = run_set(m, cells, err);
        if (r < 0)
            return r;
    }
    return 0;
}

/* What the sets left out. */
static int run_rest(struct many *m, struct tr_err *err)
{
    for (size_t i = 0; i < m->n; i++) {
        struct tr_err mine = TR_ERR_INIT;
        struct tr_many_item *t = item(m, i);

        if (m->done[i])
            continue;
        t->result = m->k->one(m->st, t, m->k->extra, &mine);
        if (t->result < 0 && t->err)
            *t->err = mine;
        if (!is_answer(t->result)) {
            if (err)
                *err = mine;
            return t->result;
        }
    }
    return 0;
}

static int run_many(struct tr_store *st, const struct kind *k, void *items, size_t n,
                    struct tr_err *err)
{
    struct many m = {.st = st, .k = k, .items = items, .n = n};
    tr_autofree bool *done = calloc(n ? n : 1, sizeof(*done));
    int r = 0;

    if (!st->in_tx)
        return tr_fail(err, TR_E_USAGE, 0, "many at once need a transaction: tr_store_begin()");
    if (!done)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory for %zu submissions", n);
    m.done = done;
    for (size_t i = 0; i < n; i++)
        item(&m, i)->result = 0;
    if (ts_has(st, k->stmt))
        r = run_sets(&m, err);
    return r < 0 ? r : run_rest(&m, err);
}

/* ---------------------------------------------------------------- insert */

static bool insert_cells(const void *p, struct tq_val *out)
{
    const struct tr_insert_item *t = p;

    if (ts_insert_check(t->row, NULL) < 0)
        return false;
    ts_insert_cells(t->row, NULL, out);
    return true;
}

static bool inserted(void *p, const struct tq_val *c)
{
    struct tr_insert_item *t = p;

    t->of.result = TR_INSERT_NEW;
    if (t->other)
        t->other[0] = '\0';
    return true;
}

static int insert_one(struct tr_store *st, void *p, const struct tq_val *extra, struct tr_err *err)
{
    const struct tr_insert_item *t = p;

    return tr_store_insert(st, t->row, t->other, err);
}

int tr_store_insert_many(struct tr_store *st, struct tr_insert_item *items, size_t n,
                         struct tr_err *err)
{
    char owner[TS_START_NAME];

    ts_name_start(st, owner, sizeof(owner));
    const struct tq_val extra = ts_text(owner);
    const struct kind k = {.stmt = TS_INSERT_MANY,
                           .before = TS_INSERT_MANY,
                           .after = TS_INSERT_TAKEN,
                           .move = TS_NO_MOVE,
                           .types = "ttttttttttiiiiibi",
                           .size = sizeof(*items),
                           .cells = insert_cells,
                           .took = inserted,
                           .one = insert_one,
                           .extra = &extra,
                           .nextra = ts_has(st, TS_INSERT_TAKEN) ? 1 : 0};

    for (size_t i = 0; i < n; i++)
        items[i].of.submit_id = items[i].row->submit_id;
    return run_many(st, &k, items, n, err);
}

/* ---------------------------------------------------------------- start */

static bool start_cells(const void *p, struct tq_val *out)
{
    const struct tr_start_item *t = p;

    out[0] = ts_text(t->of.submit_id);
    out[1] = ts_int(t->generation);
    return true;
}

static bool started(void *p, const struct tq_val *c)
{
    struct tr_start_item *t = p;

    t->of.result = TR_START_OK;
    t->got = (struct tr_start){.run_lease = ts_val_int(&c[1]),
                               .retry_count = ts_val_int(&c[2]),
                               .crashes = ts_val_int(&c[3]),
                               .revivals = ts_val_int(&c[4]),
                               .generation = ts_val_int(&c[5])};
    return true;
}

static int start_one(struct tr_store *st, void *p, const struct tq_val *extra, struct tr_err *err)
{
    struct tr_start_item *t = p;

    return tr_store_start(st, t->of.submit_id, t->generation, extra[0].i, &t->got, err);
}

int tr_store_start_many(struct tr_store *st, struct tr_start_item *items, size_t n,
                        int64_t lease_us, struct tr_err *err)
{
    char owner[TS_START_NAME];

    ts_name_start(st, owner, sizeof(owner));
    const struct tq_val extra[] = {ts_int(lease_us), ts_text(st->worker_id), ts_text(owner),
                                   ts_int(TR_STORE_CRASHES)};
    const struct kind k = {.stmt = TS_START_MANY,
                           .before = TS_START_MANY,
                           .after = TS_START_TAKEN,
                           .move = TR_MOVE_START,
                           .types = "ti",
                           .size = sizeof(*items),
                           .cells = start_cells,
                           .took = started,
                           .one = start_one,
                           .extra = extra,
                           .nextra = TR_ARRAY_LEN(extra)};
    return run_many(st, &k, items, n, err);
}

/* ---------------------------------------------------------------- finish */

enum {
    HAS_KEY = -1 /* as result: written, and its duplicates have not been looked for */
};

static bool finish_cells(const void *p, struct tq_val *out)
{
    const struct tr_finish_item *t = p;

    ts_finish_cells(t->of.submit_id, t->run_lease, t->verdict, out);
    return true;
}

static bool finished(void *p, const struct tq_val *c)
{
    struct tr_finish_item *t = p;
    bool has_key = ts_val_int(&c[1]) != 0;

    t->of.result = has_key ? HAS_KEY : TR_MOVED;
    return !has_key;
}

static int finish_one(struct tr_store *st, void *p, const struct tq_val *extra, struct tr_err *err)
{
    const struct tr_finish_item *t = p;
    struct tq_val cells[TS_FINISH_COLS];

    if (t->of.result != HAS_KEY)
        return tr_store_finish(st, t->of.submit_id, t->run_lease, t->verdict, err);
    (void)finish_cells(t, cells);
    return ts_copy(st, cells, err);
}

int tr_store_finish_many(struct tr_store *st, struct tr_finish_item *items, size_t n,
                         struct tr_err *err)
{
    const struct kind k = {.stmt = TS_FINISH_MANY,
                           .before = TS_FINISH_LOCK,
                           .after = TS_FINISH_MANY,
                           .move = TR_MOVE_FINISH,
                           .types = "titiiibt",
                           .size = sizeof(*items),
                           .cells = finish_cells,
                           .took = finished,
                           .one = finish_one};

    return run_many(st, &k, items, n, err);
}

/* ---------------------------------------------------------------- jobs */

static int set_jobs(struct tr_store *st, const struct tr_job_item *items, size_t n,
                    struct tr_err *err)
{
    struct tq_val cells[SET_ROWS * 2];
    const struct tq_set set = {.types = "ti", .cells = cells, .nrows = n};

    for (size_t i = 0; i < n; i++) {
        cells[2 * i] = ts_text(items[i].submit_id);
        cells[2 * i + 1] = ts_int_or_null(items[i].job_id);
    }
    int64_t r = ts_exec_set(st, TS_SET_JOB_MANY, TS_NO_MOVE, &set, NULL, NULL, err);
    return r < 0 ? (int)r : 0;
}

int tr_store_set_job_many(struct tr_store *st, const struct tr_job_item *items, size_t n,
                          struct tr_err *err)
{
    bool sets = st->in_tx && ts_has(st, TS_SET_JOB_MANY);
    int r = 0;

    for (size_t i = 0, some; r >= 0 && i < n; i += some) {
        some = !sets ? 1 : n - i < SET_ROWS ? n - i : SET_ROWS;
        r = some == 1 ? tr_store_set_job(st, items[i].submit_id, items[i].job_id, err)
                      : set_jobs(st, items + i, some, err);
    }
    return r;
}
