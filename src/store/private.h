/* SPDX-License-Identifier: MIT
 *
 * store/private.h - what the files of the store share.
 */
#ifndef STORE_PRIVATE_H
#define STORE_PRIVATE_H

#include "base/cleanup.h"
#include "store/store.h"
#include "store/store_sql.h"

struct tr_store {
    tq *q;
    const struct ts_text *sql;
    const struct ts_migration *moves;
    const struct tq_driver *driver;
    struct tq_hooks hooks;
    struct tq_tx tx;
    bool in_tx;
    bool reader;
    int tries;
    char worker_id[TR_STORE_NAME_MAX + 1];
    char owner[TR_STORE_NAME_MAX + 32]; /* worker_id and a number drawn at open: two workers of one
                                         name are two owners */
    uint64_t starts;
    char *made[TS_COUNT]; /* statements with their @from, which the connection keeps prepared */
};

enum {
    TS_NO_MOVE = -1
};

/* One statement in the open transaction; @from is filled in for `move`, always the same one for
 * one statement. Stays prepared. Returns the rows affected. */
int64_t ts_exec(struct tr_store *st, enum ts_stmt s, int move, const struct tq_val *params, int n,
                tq_row_fn row, void *row_arg, struct tr_err *err);
/* The same for a text made at run time: no @from, not kept. */
int64_t ts_exec_text(struct tr_store *st, const char *sql, const struct tq_val *params, int n,
                     tq_row_fn row, void *row_arg, struct tr_err *err);

/* Run `op` in the caller's transaction, or in one of its own that is tried again. */
typedef int (*ts_op)(struct tr_store *st, void *arg, struct tr_err *err);
int ts_run(struct tr_store *st, ts_op op, void *arg, struct tr_err *err);

struct tq_val ts_int(int64_t i);
struct tq_val ts_int_or_null(int64_t i); /* 0: NULL */
struct tq_val ts_text(const char *s);    /* NULL: NULL */
struct tq_val ts_name(const char *s);    /* NULL: "" */
struct tq_val ts_bytes(const void *p, size_t len);
int64_t ts_val_int(const struct tq_val *v);
char *ts_val_text(struct tr_arena *a, const struct tq_val *v); /* NULL for NULL or no memory */

/* Collects submissions in an arena; a tq_row_fn with struct ts_rows as argument. */
struct ts_rows {
    struct tr_arena *arena;
    struct tr_submission *rows;
    size_t count, cap;
};
int ts_row(void *arg, const struct tq_val *cols, int ncols);
/* Exactly one of them, in a running operation: TR_E_NOTFOUND. */
int ts_get(struct tr_store *st, const char *submit_id, struct tr_arena *a,
           struct tr_submission *ret, struct tr_err *err);

/* All rows of a statement without parameters, each made by fill() in an array in the arena. */
struct ts_listing {
    enum ts_stmt stmt;
    size_t size; /* of one */
    /* TR_E_NOMEM when a text did not fit. */
    int (*fill)(void *row, const struct tq_val *cols, struct tr_arena *arena);
    struct tr_arena *arena;
    void *rows;
    size_t count, cap;
};
int ts_list(struct tr_store *st, struct ts_listing *l, struct tr_err *err);

int ts_check_text(const char *what, const char *s, size_t max, bool needed, struct tr_err *err);
int ts_event(void *user, struct tq_tx tx, int event, const struct tq_job *job, struct tr_err *err);

#endif
