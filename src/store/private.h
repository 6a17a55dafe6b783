/* SPDX-License-Identifier: MIT
 *
 * store/private.h - what the files of the store share.
 */
#ifndef STORE_PRIVATE_H
#define STORE_PRIVATE_H

#include "base/cleanup.h"
#include "store/store.h"
#include "store/store_sql.h"

enum {
    TS_EVENTS_MAX = 128,
    TS_EVENT_COLS = 3
};

/* Events of the open transaction that wait for its commit, to be written in one statement. */
struct ts_events {
    struct tr_arena arena; /* their texts */
    struct tq_val cells[TS_EVENTS_MAX * TS_EVENT_COLS];
    size_t count, bytes;
};

struct tr_store {
    tq *q;
    const struct ts_text *sql;
    const struct ts_migration *moves;
    const struct tq_driver *driver;
    struct tq_hooks hooks;
    struct tq_tx tx;
    bool in_tx;
    bool reader;
    bool broken; /* a reader's connection failed */
    int tries;   /* of what fails for now */
    char worker_id[TR_STORE_NAME_MAX + 1];
    char owner[TR_STORE_NAME_MAX + 32]; /* worker_id and a number drawn at open: two workers of one
                                         name are two owners */
    uint64_t starts;
    struct ts_events events;
    char *made[TS_COUNT]; /* statements with their @from, which the connection keeps prepared */
};

enum {
    TS_NO_MOVE = -1,
    TS_INSERT_COLS = 17,
    TS_FINISH_COLS = 8,
    TS_START_NAME = TR_STORE_KEY_MAX + 32
};

/* One statement in the open transaction; @from is filled in for `move`, always the same one for
 * one statement. Stays prepared. Returns the rows affected. */
int64_t ts_exec(struct tr_store *st, enum ts_stmt s, int move, const struct tq_val *params, int n,
                tq_row_fn row, void *row_arg, struct tr_err *err);
/* The same over a set of rows, for engines that have the statement (ts_has()). */
int64_t ts_exec_set(struct tr_store *st, enum ts_stmt s, int move, const struct tq_set *set,
                    tq_row_fn row, void *row_arg, struct tr_err *err);
bool ts_has(const struct tr_store *st, enum ts_stmt s);
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

/* Write the events that wait, or forget them. */
int ts_events_flush(struct tr_store *st, struct tr_err *err);
void ts_events_drop(struct tr_store *st);

/* What the statements of insert and finish take, alone or many at once. */
int ts_insert_check(const struct tr_submission_new *n, struct tr_err *err);
void ts_insert_cells(const struct tr_submission_new *n, const char *duplicate_of,
                     struct tq_val p[static TS_INSERT_COLS]);
void ts_finish_cells(const char *submit_id, int64_t run_lease, const struct tr_verdict_row *v,
                     struct tq_val p[static TS_FINISH_COLS]);
/* A verdict that was just written, given to the duplicates: TR_MOVED_COPIED, or TR_MOVED: none. */
int ts_copy(struct tr_store *st, const struct tq_val p[static TS_FINISH_COLS], struct tr_err *err);
/* A name for a run's start that no other start has. */
void ts_name_start(struct tr_store *st, char *out, size_t size);

int ts_check_text(const char *what, const char *s, size_t max, bool needed, struct tr_err *err);
int ts_event(void *user, struct tq_tx tx, int event, const struct tq_job *job, struct tr_err *err);

#endif
