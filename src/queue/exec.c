/* SPDX-License-Identifier: MIT
 *
 * exec.c - one statement, in the form its engine takes: parameters, arrays or text.
 */
#include <string.h>

#include "queue/internal.h"

bool tqi_has(const struct tqi_link *l, enum tq_stmt s)
{
    return l->q->sql[s].sql != NULL;
}

static int call_driver(struct tqi_link *l, struct tq_call *call, int64_t *ret_affected,
                       struct tr_err *err)
{
    call->cache = l->q->flags & TQ_NO_PREPARE ? NULL : l->cache;
    int r = l->drv->exec(l->conn, call, err);
    if (r >= 0 && ret_affected)
        *ret_affected = call->affected;
    return r;
}

static int exec_expanded(struct tqi_link *l, const struct tq_text *t, const struct tq_set *set,
                         tq_row_fn row, void *row_arg, int64_t *ret_affected, struct tr_err *err)
{
    TR_CLEANUP(tr_buf_done) struct tr_buf sql;

    tr_buf_init(&sql, (size_t)1 << 30);
    tqi_expand(&sql, t->sql, set);
    int r = tr_buf_check(&sql, "statement", err);
    if (r < 0)
        return r;
    struct tq_call call = {
        .sql = sql.data, .sql_len = sql.len, .nsets = 1, .row = row, .row_arg = row_arg};
    return call_driver(l, &call, ret_affected, err);
}

/* NOLINTNEXTLINE(readability-function-size): eight words that every statement needs */
int tqi_exec(struct tqi_link *l, enum tq_stmt s, const struct tq_val *params, int nparams,
             tq_row_fn row, void *row_arg, int64_t *ret_affected, struct tr_err *err)
{
    const struct tq_text *t = &l->q->sql[s];

    if (l->q->be == BE_MYSQL) {
        struct tq_set none = {.extra = params, .nextra = nparams};
        return exec_expanded(l, t, &none, row, row_arg, ret_affected, err);
    }
    struct tq_call call = {.sql = t->sql,
                           .sql_len = t->len,
                           .params = params,
                           .nparams = nparams,
                           .nsets = 1,
                           .row = row,
                           .row_arg = row_arg};
    return call_driver(l, &call, ret_affected, err);
}

int tqi_exec_text(struct tqi_link *l, const char *sql, struct tr_err *err)
{
    struct tq_call call = {.sql = sql, .sql_len = strlen(sql), .nsets = 1};

    return l->drv->exec(l->conn, &call, err);
}

static int exec_arrays(struct tqi_link *l, const struct tq_text *t, const struct tq_set *set,
                       tq_row_fn row, void *row_arg, int64_t *ret_affected, struct tr_err *err)
{
    enum {
        PARAMS_MAX = 24
    };
    TR_CLEANUP(tr_buf_done) struct tr_buf all;
    struct tq_val params[PARAMS_MAX];
    size_t at[PARAMS_MAX + 1] = {0}, ncols = strlen(set->types);

    tr_buf_init(&all, (size_t)1 << 30);
    for (size_t k = 0; k < ncols; k++) {
        unsigned oid;

        tqi_pg_array(&all, set, k, &oid);
        at[k + 1] = all.len;
        params[k] = (struct tq_val){.type = TQ_RAW, .oid = oid};
    }
    int r = tr_buf_check(&all, "arrays of a statement", err);
    if (r < 0)
        return r;
    for (size_t k = 0; k < ncols; k++) {
        params[k].p = all.data + at[k];
        params[k].len = at[k + 1] - at[k];
    }
    for (int k = 0; k < set->nextra; k++)
        params[ncols + (size_t)k] = set->extra[k];
    struct tq_call call = {.sql = t->sql,
                           .sql_len = t->len,
                           .params = params,
                           .nparams = (int)ncols + set->nextra,
                           .nsets = 1,
                           .row = row,
                           .row_arg = row_arg};
    return call_driver(l, &call, ret_affected, err);
}

/* SQLite: one run for each row, the statement prepared once. */
static int exec_runs(struct tqi_link *l, const struct tq_text *t, const struct tq_set *set,
                     tq_row_fn row, void *row_arg, int64_t *ret_affected, struct tr_err *err)
{
    size_t ncols = strlen(set->types), width = ncols + (size_t)set->nextra;
    tr_autofree struct tq_val *params = calloc(set->nrows * width, sizeof(*params));

    if (!params)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory for %zu rows", set->nrows);
    for (size_t i = 0; i < set->nrows; i++) {
        memcpy(params + i * width, set->cells + i * ncols, ncols * sizeof(*params));
        if (set->nextra)
            memcpy(params + i * width + ncols, set->extra, (size_t)set->nextra * sizeof(*params));
    }
    struct tq_call call = {.sql = t->sql,
                           .sql_len = t->len,
                           .params = params,
                           .nparams = (int)width,
                           .nsets = (int)set->nrows,
                           .row = row,
                           .row_arg = row_arg};
    return call_driver(l, &call, ret_affected, err);
}

static int exec_set(struct tqi_link *l, const struct tq_text *t, const struct tq_set *set,
                    tq_row_fn row, void *row_arg, int64_t *ret_affected, struct tr_err *err)
{
    switch (l->q->be) {
    case BE_MYSQL:
        return exec_expanded(l, t, set, row, row_arg, ret_affected, err);
    case BE_POSTGRES:
        return exec_arrays(l, t, set, row, row_arg, ret_affected, err);
    case BE_SQLITE:
    default:
        return exec_runs(l, t, set, row, row_arg, ret_affected, err);
    }
}

int tqi_exec_set(struct tqi_link *l, enum tq_stmt s, const struct tq_set *set, tq_row_fn row,
                 void *row_arg, int64_t *ret_affected, struct tr_err *err)
{
    return exec_set(l, &l->q->sql[s], set, row, row_arg, ret_affected, err);
}

int64_t tq_sql_set(tq *q, struct tq_tx tx, const char *sql, const struct tq_set *set, tq_row_fn row,
                   void *row_arg, struct tr_err *err)
{
    struct tqi_link l = {
        .q = q, .drv = tx.driver, .conn = tx.conn, .cache = tx.conn == q->conn ? q->cache : NULL};
    const struct tq_text t = {.sql = sql, .len = strlen(sql)};
    int64_t affected = 0;
    int r = exec_set(&l, &t, set, row, row_arg, &affected, err);

    return r < 0 ? r : affected;
}

struct scalar {
    int64_t value;
    int rows;
};

static int scalar_row(void *arg, const struct tq_val *cols, int ncols)
{
    struct scalar *s = arg;

    if (s->rows == 0 && ncols > 0 && cols[0].type != TQ_NULL) {
        s->value = tqi_val_int(&cols[0]);
        s->rows = 1;
    }
    return 0;
}

int tqi_scalar(struct tqi_link *l, enum tq_stmt s, const struct tq_val *params, int nparams,
               int64_t *ret, struct tr_err *err)
{
    struct scalar got = {0};

    int r = tqi_exec(l, s, params, nparams, scalar_row, &got, NULL, err);
    if (r < 0)
        return r;
    if (got.rows)
        *ret = got.value;
    return got.rows;
}
