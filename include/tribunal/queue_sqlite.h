/* SPDX-License-Identifier: MIT
 *
 * tribunal/queue_sqlite.h - the queue on SQLite (3.35 or newer) through the program's own copy.
 *
 *     struct tq_opts o = TQ_OPTS_INIT;
 *     o.driver = tq_sqlite_driver();
 *     tq_open(&q, "sqlite:/var/lib/me/jobs.db", &o, &err);
 *     ...
 *     sqlite3_exec(mine, "BEGIN IMMEDIATE", ...);  tq_tx_ack(q, tq_tx_sqlite(mine), ref, ...);
 *
 * Begin with BEGIN IMMEDIATE. In a deferred transaction that has read already, SQLite may refuse
 * to write at once (SQLITE_BUSY_SNAPSHOT): the library then says TR_E_ABORT.
 */
#ifndef TRIBUNAL_QUEUE_SQLITE_H
#define TRIBUNAL_QUEUE_SQLITE_H

#include <stdlib.h>

#include <sqlite3.h>

#include <tribunal/queue.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    TQ_SQLITE_COLS_MAX = 48,
    TQ_SQLITE_CACHE_MAX = 96
};

struct tq_sqlite_cache {
    int n;
    const char *sql[TQ_SQLITE_CACHE_MAX]; /* by address: the texts are constants */
    sqlite3_stmt *stmt[TQ_SQLITE_CACHE_MAX];
};

static inline int tq_sqlite_fail(sqlite3 *db, int rc, struct tr_err *err)
{
    int code = TR_E_FATAL;
    char what[40];

    switch (rc & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        /* In a transaction that has only read so far, waiting cannot help: it must start again. */
        code = sqlite3_get_autocommit(db) ? TR_E_BUSY : TR_E_ABORT;
        break;
    case SQLITE_CONSTRAINT:
        code = rc == SQLITE_CONSTRAINT_UNIQUE || rc == SQLITE_CONSTRAINT_PRIMARYKEY ||
                       rc == SQLITE_CONSTRAINT_ROWID
                   ? TR_E_EXISTS
               : rc == SQLITE_CONSTRAINT_TRIGGER ? TR_E_ABORT
                                                 : TR_E_FATAL;
        break;
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
    case SQLITE_CANTOPEN:
        code = TR_E_DENIED;
        break;
    case SQLITE_FULL: /* the statement or the commit was undone */
        return tq_driver_fail(err, TR_E_RETRY, "SQLite",
                              "the disk is full: nothing was changed; make room and try again");
    case SQLITE_NOMEM:
        code = TR_E_NOMEM;
        break;
    case SQLITE_INTERRUPT:
        code = TR_E_ABORT;
        break;
    case SQLITE_ERROR:
        if (strstr(sqlite3_errmsg(db), "no such table") ||
            strstr(sqlite3_errmsg(db), "no such column"))
            code = TR_E_NOTFOUND;
        break;
    default:
        break;
    }
    (void)snprintf(what, sizeof(what), "SQLite %d", rc);
    return tq_driver_fail(err, code, what, sqlite3_errmsg(db));
}

static inline void tq_sqlite_bind(sqlite3_stmt *st, const struct tq_val *v, int i)
{
    if (v->type == TQ_INT)
        (void)sqlite3_bind_int64(st, i, (sqlite3_int64)v->i);
    else if (v->type == TQ_TEXT)
        (void)sqlite3_bind_text64(st, i, v->p ? (const char *)v->p : "", v->len, SQLITE_STATIC,
                                  SQLITE_UTF8);
    else if (v->type == TQ_BYTES)
        (void)sqlite3_bind_blob64(st, i, v->p && v->len ? v->p : "", v->len, SQLITE_STATIC);
    else
        (void)sqlite3_bind_null(st, i);
}

static inline int tq_sqlite_row(sqlite3_stmt *st, const struct tq_call *call)
{
    struct tq_val cols[TQ_SQLITE_COLS_MAX];
    int w = sqlite3_column_count(st), k;

    if (w > TQ_SQLITE_COLS_MAX)
        w = TQ_SQLITE_COLS_MAX;

    memset(cols, 0, sizeof(cols));
    for (k = 0; k < w; k++) {
        switch (sqlite3_column_type(st, k)) {
        case SQLITE_INTEGER:
            cols[k].type = TQ_INT;
            cols[k].i = (int64_t)sqlite3_column_int64(st, k);
            break;
        case SQLITE_NULL:
            break;
        default:
            cols[k].type = sqlite3_column_type(st, k) == SQLITE_BLOB ? TQ_BYTES : TQ_TEXT;
            cols[k].p = sqlite3_column_blob(st, k);
            cols[k].len = (size_t)sqlite3_column_bytes(st, k);
            break;
        }
    }
    return call->row(call->row_arg, cols, w);
}

/* One run of a prepared statement. A failing row callback does not stop the statement half way. */
static inline int tq_sqlite_run(sqlite3 *db, sqlite3_stmt *st, const struct tq_call *call, int set,
                                struct tr_err *err)
{
    int i, rc, r = 0;

    for (i = 0; i < call->nparams; i++)
        tq_sqlite_bind(st, &call->params[set * call->nparams + i], i + 1);
    while ((rc = sqlite3_step(st)) == SQLITE_ROW)
        if (call->row && r >= 0)
            r = tq_sqlite_row(st, call);
    if (rc != SQLITE_DONE)
        r = tq_sqlite_fail(db, sqlite3_extended_errcode(db), err);
    (void)sqlite3_reset(st);
    return r;
}

static inline int tq_sqlite_prepare(sqlite3 *db, const struct tq_call *call, sqlite3_stmt **ret,
                                    int *ret_kept, struct tr_err *err)
{
    struct tq_sqlite_cache *cache = (struct tq_sqlite_cache *)call->cache;
    int i, rc;

    *ret_kept = 0;
    if (cache)
        for (i = 0; i < cache->n; i++)
            if (cache->sql[i] == call->sql) {
                *ret = cache->stmt[i];
                *ret_kept = 1;
                return 0;
            }
    rc = sqlite3_prepare_v2(db, call->sql, (int)call->sql_len, ret, NULL);
    if (rc != SQLITE_OK)
        return tq_sqlite_fail(db, sqlite3_extended_errcode(db), err);
    if (cache && cache->n < TQ_SQLITE_CACHE_MAX) {
        cache->sql[cache->n] = call->sql;
        cache->stmt[cache->n++] = *ret;
        *ret_kept = 1;
    }
    return 0;
}

static inline int tq_sqlite_exec(void *conn, struct tq_call *call, struct tr_err *err)
{
    sqlite3 *db = (sqlite3 *)conn;
    sqlite3_stmt *st = NULL;
    int before = sqlite3_total_changes(db);
    int set, kept, rc, r;

    call->affected = 0;
    if (call->nparams == 0 && !call->row) { /* may hold several statements: migrations */
        rc = sqlite3_exec(db, call->sql, NULL, NULL, NULL);
        r = rc == SQLITE_OK ? 0 : tq_sqlite_fail(db, sqlite3_extended_errcode(db), err);
        call->affected = sqlite3_total_changes(db) - before;
        return r;
    }
    r = tq_sqlite_prepare(db, call, &st, &kept, err);
    if (r < 0)
        return r;
    for (set = 0; set < call->nsets && r >= 0; set++)
        r = tq_sqlite_run(db, st, call, set, err);
    if (kept)
        (void)sqlite3_clear_bindings(st);
    else
        (void)sqlite3_finalize(st);
    call->affected = sqlite3_total_changes(db) - before;
    return r;
}

static inline int tq_sqlite_state(void *conn)
{
    if (!conn)
        return TQ_CONN_DEAD;
    return sqlite3_get_autocommit((sqlite3 *)conn) ? TQ_CONN_IDLE : TQ_CONN_TX;
}

static inline void tq_sqlite_close(void *conn, void *cache_)
{
    struct tq_sqlite_cache *cache = (struct tq_sqlite_cache *)cache_;
    int i;

    for (i = 0; cache && i < cache->n; i++)
        (void)sqlite3_finalize(cache->stmt[i]);
    free(cache);
    (void)sqlite3_close_v2((sqlite3 *)conn);
}

static inline int tq_sqlite_open(const struct tq_conninfo *info, void **ret_conn, void **ret_cache,
                                 struct tr_err *err)
{
    sqlite3 *db = NULL;
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_EXRESCODE |
                SQLITE_OPEN_NOMUTEX; /* a handle belongs to one thread at a time */
    int rc, r;

    rc = sqlite3_open_v2(info->path, &db, flags, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_busy_timeout(db, (int)(info->timeout_us / 1000));
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(db, "PRAGMA schema_version", NULL, NULL, NULL);
    if (rc != SQLITE_OK) {
        r = db ? tq_sqlite_fail(db, rc, err)
               : tq_driver_fail(err, TR_E_NOMEM, "SQLite", "out of memory");
        (void)sqlite3_close_v2(db);
        return r;
    }
    *ret_cache = calloc(1, sizeof(struct tq_sqlite_cache)); /* without one it is only slower */
    *ret_conn = db;
    return 0;
}

static inline int tq_sqlite_none(void *conn)
{
    (void)conn;
    return -1;
}

static inline int tq_sqlite_quiet(void *conn)
{
    (void)conn;
    return 0;
}

static inline const struct tq_driver *tq_sqlite_driver(void)
{
    static const struct tq_driver d = {sizeof(struct tq_driver), "sqlite",       tq_sqlite_open,
                                       tq_sqlite_close,          tq_sqlite_exec, tq_sqlite_state,
                                       tq_sqlite_none,           tq_sqlite_quiet};
    return &d;
}

/* The transaction that is open on `db`, which must be a connection to the queue's own file. */
static inline struct tq_tx tq_tx_sqlite(sqlite3 *db)
{
    struct tq_tx tx;

    tx.driver = tq_sqlite_driver();
    tx.conn = db;
    return tx;
}

#ifdef __cplusplus
}
#endif

#endif
