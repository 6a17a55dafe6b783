/* SPDX-License-Identifier: MIT
 *
 * tribunal/queue_driver.h - how the queue library talks to a database it does not link.
 *
 * libtribunal-queue contains no client library. queue_pg.h, queue_mysql.h and queue_sqlite.h each
 * define one struct tq_driver as inline code, compiled against the headers of the program that
 * includes them, so the process keeps exactly the client library it already had: two copies of
 * SQLite on one file lose each other's locks, and a MYSQL* of one client crashes in the other.
 *
 * A program only includes one of those headers. This file is for people who write a driver, wrap
 * one (tests count and fail statements that way), or run SQL of their own inside a hook.
 */
#ifndef TRIBUNAL_QUEUE_DRIVER_H
#define TRIBUNAL_QUEUE_DRIVER_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <tribunal/err.h>

#ifdef __cplusplus
extern "C" {
#endif

enum tq_val_type {
    TQ_NULL = 0,
    TQ_INT,   /* i */
    TQ_TEXT,  /* p, len: UTF-8 */
    TQ_BYTES, /* p, len: anything */
    TQ_RAW    /* PostgreSQL: p, len in the binary form of type `oid`; MySQL: SQL text of ours */
};

struct tq_val {
    int type;     /* enum tq_val_type */
    unsigned oid; /* TQ_RAW on PostgreSQL only */
    int64_t i;
    const void *p;
    size_t len;
};

/* One row of a result. The values are valid during the call only. Integers may arrive as TQ_INT or
 * as decimal TQ_TEXT. Return 0 to go on, TR_E_* to stop (the rest of the result is discarded). */
typedef int (*tq_row_fn)(void *arg, const struct tq_val *cols, int ncols);

struct tq_call {
    const char *sql; /* `$1`/`?1` parameters; MySQL gets text with everything in it */
    size_t sql_len;
    void *cache;                 /* from open(): statements may stay prepared; NULL: leave none */
    const struct tq_val *params; /* nsets runs of nparams values */
    int nparams;
    int nsets; /* the statement runs once for each; more than 1 only on SQLite */
    tq_row_fn row;
    void *row_arg;
    int64_t affected; /* out: rows inserted, updated or deleted, over all sets */
};

/* What a connection is doing. */
enum tq_conn_state {
    TQ_CONN_IDLE = 0,    /* no transaction */
    TQ_CONN_TX = 1,      /* inside one */
    TQ_CONN_ABORTED = 2, /* inside one that can only be rolled back */
    TQ_CONN_BUSY = 3,    /* pipeline mode, COPY, or a result not yet read */
    TQ_CONN_DEAD = 4
};

struct tq_conninfo {
    size_t size;
    const char *url;      /* as given; PostgreSQL takes it whole */
    const char *path;     /* SQLite: the file */
    const char *host;     /* MySQL; NULL: local socket */
    unsigned port;        /* 0: default */
    const char *user;     /* NULL: client's default */
    const char *password; /* NULL: none */
    const char *database;
    const char *socket;
    int64_t timeout_us; /* for connecting, and for locks on SQLite and MySQL */
};

/* Errors of exec(): TR_E_UNSURE the connection died on the way (so it may have happened);
 * TR_E_ABORT deadlock, serialization, lock wait, or the transaction is already aborted; TR_E_BUSY
 * SQLite could not get the lock in time; TR_E_EXISTS a unique key; TR_E_DENIED no right;
 * TR_E_NOTFOUND no such table; everything else TR_E_FATAL. The sentence carries the database's. */
struct tq_driver {
    size_t size;
    const char *backend; /* "postgres", "mysql" or "sqlite" */
    int (*open)(const struct tq_conninfo *info, void **ret_conn, void **ret_cache,
                struct tr_err *err);
    void (*close)(void *conn, void *cache);
    int (*exec)(void *conn, struct tq_call *call, struct tr_err *err);
    int (*state)(void *conn);
    int (*fd)(void *conn);       /* socket to poll for notifications, or -1 */
    int (*notified)(void *conn); /* drain; how many notifications came; TR_E_UNSURE when dead */
};

/* A transaction that the program itself began on its own connection. By value, owns nothing, valid
 * until that transaction ends. Made by tq_tx_pg(), tq_tx_mysql(), tq_tx_sqlite() or tq_begin(). */
struct tq_tx {
    const struct tq_driver *driver;
    void *conn;
};

/* For drivers: fill *err and return `code`. */
static inline int tq_driver_fail(struct tr_err *err, int code, const char *what, const char *why)
{
    if (err) {
        size_t n;

        err->code = code;
        err->sys = 0;
        (void)snprintf(err->msg, sizeof(err->msg), "%s: %s", what, why ? why : "unknown error");
        for (n = strlen(err->msg); n > 0 && (err->msg[n - 1] == '\n' || err->msg[n - 1] == ' ');
             n--)
            err->msg[n - 1] = '\0';
    }
    return code;
}

#ifdef __cplusplus
}
#endif

#endif
