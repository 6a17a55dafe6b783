/* SPDX-License-Identifier: MIT
 *
 * link.c - connections, transactions and the one place that retries.
 *
 * On the handle's own connection a deadlock, a serialization failure or a busy database is tried
 * again here and nowhere else; a lost connection is opened again. In the caller's transaction
 * nothing is ever retried: the caller learns what to do with its transaction.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/rand.h"
#include "queue/internal.h"

enum {
    TRIES_MAX = 12,       /* with the pauses below about two seconds */
    PAUSE_FIRST_US = 500, /* doubles each time, with jitter */
    PAUSE_MAX_US = 400000
};

/* ---------------------------------------------------------------- the handle's connection */

void tqi_disconnect(tq *q)
{
    if (q->conn)
        q->drv->close(q->conn, q->cache);
    q->conn = q->cache = NULL;
    q->in_tx = false;
    tqi_mark_reset(q, NULL);
}

static int setup_session(tq *q, struct tqi_link *l, struct tr_err *err)
{
    int r = tqi_exec(l, S_SETUP, NULL, 0, NULL, NULL, NULL, err);
    if (r < 0)
        return r;
    if (q->be == BE_MYSQL) {
        struct tq_val secs = tqi_int(q->info.timeout_us / 1000000 + 1);
        r = tqi_exec(l, S_SETUP_WAIT, &secs, 1, NULL, NULL, NULL, err);
    } else if (q->be == BE_POSTGRES && q->tries) {
        /* A worker's loop must come round: it waits for no lock longer than this. */
        char text[64];
        (void)snprintf(text, sizeof(text), "SET lock_timeout = %lld",
                       (long long)(q->info.timeout_us / 1000));
        r = tqi_exec_text(l, text, err);
    } else if (q->be == BE_SQLITE) {
        r = tqi_exec(l, q->flags & TQ_RELAXED_SYNC ? S_SETUP_NORMAL : S_SETUP_FULL, NULL, 0, NULL,
                     NULL, NULL, err);
    }
    return r;
}

int tqi_connect(tq *q, struct tr_err *err)
{
    if (q->conn)
        return 0;
    int r = q->drv->open(&q->info, &q->conn, &q->cache, err);
    if (r < 0) {
        q->conn = q->cache = NULL;
        return r;
    }
    struct tqi_link l = {.q = q, .drv = q->drv, .conn = q->conn, .own = true};
    r = setup_session(q, &l, err);
    if (r < 0)
        tqi_disconnect(q);
    return r == TR_E_UNSURE ? tr_fail_wrap(err, "connect") : r;
}

static int check_schema(tq *q, struct tr_err *err)
{
    if (q->schema_ok)
        return 0;
    int have = tq_schema_version(q, err);
    if (have < 0)
        return have;
    if (have < TQ_SCHEMA_VERSION)
        return tr_fail(err, TR_E_FATAL, 0,
                       "the queue's schema has version %d and this library needs %d: run "
                       "'tribunal queue migrate up'",
                       have, (int)TQ_SCHEMA_VERSION);
    if (have > TQ_SCHEMA_VERSION)
        return tr_fail(err, TR_E_FATAL, 0,
                       "the queue's schema has version %d and this library knows only %d: it "
                       "belongs to a newer tribunal",
                       have, (int)TQ_SCHEMA_VERSION);
    q->schema_ok = true;
    return 0;
}

static void pause_before(int attempt)
{
    int64_t us = PAUSE_FIRST_US;

    for (int i = 0; i < attempt && us < PAUSE_MAX_US; i++)
        us *= 2;
    us = us / 2 + (int64_t)tr_random_below((uint64_t)us);
    struct timespec ts = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
    (void)nanosleep(&ts, NULL);
}

static int rollback(struct tqi_link *l, int r)
{
    tqi_mark_reset(l->q, NULL); /* what was claimed is ready again, behind the mark */
    if (l->drv->state(l->conn) != TQ_CONN_DEAD &&
        tqi_exec(l, S_ROLLBACK, NULL, 0, NULL, NULL, NULL, NULL) < 0 && l->q->be != BE_SQLITE)
        tqi_disconnect(l->q);
    return r;
}

/* One try. `*ret_began` tells whether the failure (if any) came before COMMIT was sent. */
static int run_once(tq *q, enum tqi_mode mode, tqi_op op, void *arg, bool *ret_nothing_done,
                    struct tr_err *err)
{
    bool tx = mode == OP_TX || (mode == OP_ONE && q->be == BE_SQLITE);
    struct tqi_link l = {
        .q = q, .drv = q->drv, .conn = q->conn, .cache = q->cache, .own = true, .in_tx = tx};

    *ret_nothing_done = mode != OP_ONE || tx;
    if (!tx)
        return op(&l, arg, err);
    int r = tqi_exec(&l, S_BEGIN, NULL, 0, NULL, NULL, NULL, err);
    if (r < 0)
        return r;
    int done = op(&l, arg, err);
    if (done < 0)
        return rollback(&l, done);
    r = tqi_exec(&l, S_COMMIT, NULL, 0, NULL, NULL, NULL, err);
    if (r >= 0)
        return done;
    *ret_nothing_done = r != TR_E_UNSURE;
    if (r != TR_E_UNSURE)
        (void)rollback(&l, r);
    return r;
}

/* After a failure on our connection: the code for the caller, or 1 to try again. */
static int after_failure(tq *q, int r, bool nothing_done, int attempt, struct tr_err *err)
{
    bool again = r == TR_E_ABORT || r == TR_E_BUSY || r == TR_E_RETRY;

    if (r == TR_E_UNSURE) {
        tqi_disconnect(q);
        if (!nothing_done)
            return r;
        again = true;
    }
    if (!again)
        return r;
    if (attempt + 1 < (q->tries ? q->tries : TRIES_MAX))
        return 1;
    if (err)
        err->code = r == TR_E_BUSY ? TR_E_BUSY : TR_E_RETRY;
    return r == TR_E_BUSY ? TR_E_BUSY : TR_E_RETRY;
}

static int check_process(const tq *q, struct tr_err *err)
{
    if (q->pid != getpid())
        return tr_fail(err, TR_E_USAGE, 0,
                       "this queue handle was opened in another process; open one after fork");
    return 0;
}

/* In a transaction that the caller of the library holds, nothing is retried. */
static int in_held_tx(struct tqi_link *l, tqi_op op, void *arg, struct tr_err *err)
{
    int r = op(l, arg, err);

    if (r >= 0)
        return r;
    int state = l->drv->state(l->conn);
    bool spoilt = state == TQ_CONN_ABORTED || state == TQ_CONN_DEAD || state == TQ_CONN_IDLE;
    if (r == TR_E_UNSURE || r == TR_E_BUSY || (spoilt && r != TR_E_LOST)) {
        r = TR_E_ABORT;
        if (err)
            err->code = r;
    }
    return r;
}

static int run(tq *q, enum tqi_mode mode, tqi_op op, void *arg, struct tr_err *err)
{
    int r = check_process(q, err);

    if (r < 0)
        return r;
    if (q->in_tx) {
        struct tqi_link l = {
            .q = q, .drv = q->drv, .conn = q->conn, .cache = q->cache, .own = true, .in_tx = true};
        return in_held_tx(&l, op, arg, err);
    }
    for (int attempt = 0;; attempt++) {
        bool nothing_done = true;

        r = tqi_connect(q, err);
        if (r >= 0)
            r = check_schema(q, err);
        if (r >= 0)
            r = run_once(q, mode, op, arg, &nothing_done, err);
        if (r >= 0)
            return r;
        r = after_failure(q, r, nothing_done, attempt, err);
        if (r < 0)
            return r;
        pause_before(attempt);
    }
}

/* A try that failed on the way to success leaves no trace in the caller's err. */
static int report(int r, const struct tr_err *mine, struct tr_err *err)
{
    if (r < 0 && err)
        *err = *mine;
    return r;
}

int tqi_run(tq *q, enum tqi_mode mode, tqi_op op, void *arg, struct tr_err *err)
{
    struct tr_err mine = TR_ERR_INIT;

    return report(run(q, mode, op, arg, &mine), &mine, err);
}

static int check_tx(const tq *q, struct tq_tx tx, struct tr_err *err)
{
    if (!tx.driver || !tx.conn)
        return tr_fail(err, TR_E_USAGE, 0, "the transaction has no connection");
    if (strcmp(tx.driver->backend, q->drv->backend) != 0)
        return tr_fail(err, TR_E_USAGE, 0, "a %s transaction cannot be used with a %s queue",
                       tx.driver->backend, q->drv->backend);
    switch (tx.driver->state(tx.conn)) {
    case TQ_CONN_TX:
        return 0;
    case TQ_CONN_IDLE:
        return tr_fail(err, TR_E_USAGE, 0, "the connection is not in a transaction: BEGIN first");
    case TQ_CONN_ABORTED:
        return tr_fail(err, TR_E_ABORT, 0,
                       "the caller's transaction has failed already and can only be rolled back");
    case TQ_CONN_BUSY:
        return tr_fail(err, TR_E_USAGE, 0,
                       "the connection is busy: in pipeline mode, in COPY, or with a result that "
                       "was not read to its end");
    default:
        return tr_fail(err, TR_E_ABORT, 0, "the caller's connection is lost");
    }
}

static int run_tx(tq *q, struct tq_tx tx, tqi_op op, void *arg, struct tr_err *err)
{
    int r = check_process(q, err);

    if (r >= 0)
        r = check_tx(q, tx, err);
    if (r < 0)
        return r;
    if (!q->schema_ok && tx.conn != q->conn) {
        r = tqi_connect(q, err);
        if (r >= 0)
            r = check_schema(q, err);
        if (r < 0)
            return r;
    }
    struct tqi_link l = {.q = q,
                         .drv = tx.driver,
                         .conn = tx.conn,
                         .cache = tx.conn == q->conn ? q->cache : NULL,
                         .own = tx.conn == q->conn,
                         .in_tx = true};
    return in_held_tx(&l, op, arg, err);
}

int tqi_run_tx(tq *q, struct tq_tx tx, tqi_op op, void *arg, struct tr_err *err)
{
    struct tr_err mine = TR_ERR_INIT;

    return report(run_tx(q, tx, op, arg, &mine), &mine, err);
}

/* ---------------------------------------------------------------- public */

int tq_begin(tq *q, struct tq_tx *ret, struct tr_err *err)
{
    int r = check_process(q, err);

    if (r < 0)
        return r;
    if (q->in_tx)
        return tr_fail(err, TR_E_USAGE, 0, "a transaction is open on this handle already");
    for (int attempt = 0;; attempt++) {
        r = tqi_connect(q, err);
        if (r >= 0)
            r = check_schema(q, err);
        if (r >= 0) {
            struct tqi_link l = {.q = q, .drv = q->drv, .conn = q->conn, .cache = q->cache};
            r = tqi_exec(&l, S_BEGIN, NULL, 0, NULL, NULL, NULL, err);
        }
        if (r >= 0)
            break;
        r = after_failure(q, r, true, attempt, err);
        if (r < 0)
            return r;
        pause_before(attempt);
    }
    q->in_tx = true;
    if (ret)
        *ret = (struct tq_tx){.driver = q->drv, .conn = q->conn};
    return 0;
}

int tq_commit(tq *q, struct tr_err *err)
{
    struct tqi_link l = {.q = q, .drv = q->drv, .conn = q->conn, .cache = q->cache};

    if (!q->in_tx)
        return tr_fail(err, TR_E_USAGE, 0, "no transaction is open on this handle");
    int state = q->drv->state(q->conn);
    if (state == TQ_CONN_ABORTED || state == TQ_CONN_IDLE) {
        tq_rollback(q);
        return tr_fail(err, TR_E_ABORT, 0, "the transaction had failed and was rolled back");
    }
    q->in_tx = false;
    int r = tqi_exec(&l, S_COMMIT, NULL, 0, NULL, NULL, NULL, err);
    if (r == TR_E_UNSURE)
        tqi_disconnect(q);
    else if (r < 0)
        (void)rollback(&l, r);
    return r < 0 ? r : 0;
}

void tq_rollback(tq *q)
{
    struct tqi_link l = {.q = q, .drv = q->drv, .conn = q->conn, .cache = q->cache};

    if (!q->in_tx)
        return;
    q->in_tx = false;
    tqi_mark_reset(q, NULL);
    if (q->drv->state(q->conn) != TQ_CONN_IDLE)
        (void)rollback(&l, 0);
}

struct tq_tx tq_connection(const tq *q)
{
    return (struct tq_tx){.driver = q->drv, .conn = q->conn};
}

int64_t tq_sql(struct tq_tx tx, const char *sql, const struct tq_val *params, int nparams,
               tq_row_fn row, void *row_arg, struct tr_err *err)
{
    TR_CLEANUP(tr_buf_done) struct tr_buf text;
    struct tq_set none = {.extra = params, .nextra = nparams};
    bool mysql = !strcmp(tx.driver->backend, "mysql");

    tr_buf_init(&text, (size_t)1 << 30);
    if (mysql)
        tqi_expand(&text, sql, &none);
    else if (!strcmp(tx.driver->backend, "postgres"))
        tqi_renumber(&text, sql);
    else
        tr_buf_adds(&text, sql);
    int r = tr_buf_check(&text, "statement", err);
    if (r < 0)
        return r;
    struct tq_call call = {.sql = text.data,
                           .sql_len = text.len,
                           .params = params,
                           .nparams = mysql ? 0 : nparams,
                           .nsets = 1,
                           .row = row,
                           .row_arg = row_arg};
    r = tx.driver->exec(tx.conn, &call, err);
    return r < 0 ? r : call.affected;
}

/* NOLINTNEXTLINE(readability-function-size): eight words that every statement needs */
int64_t tq_sql_kept(tq *q, struct tq_tx tx, const char *sql, const struct tq_val *params,
                    int nparams, tq_row_fn row, void *row_arg, struct tr_err *err)
{
    /* MySQL gets its values in the text: nothing to keep. */
    if (q->be == BE_MYSQL || tx.conn != q->conn || (q->flags & TQ_NO_PREPARE))
        return tq_sql(tx, sql, params, nparams, row, row_arg, err);
    struct tq_call call = {.sql = sql,
                           .sql_len = strlen(sql),
                           .cache = q->cache,
                           .params = params,
                           .nparams = nparams,
                           .nsets = 1,
                           .row = row,
                           .row_arg = row_arg};
    int r = tx.driver->exec(tx.conn, &call, err);
    return r < 0 ? r : call.affected;
}
