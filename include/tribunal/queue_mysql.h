/* SPDX-License-Identifier: MIT
 *
 * tribunal/queue_mysql.h - the queue on MySQL 8 or MariaDB 10.8 and newer, through the program's
 * own client: libmariadb or libmysqlclient, whichever its <mysql.h> is.
 *
 *     struct tq_opts o = TQ_OPTS_INIT;
 *     o.driver = tq_mysql_driver();
 *     tq_open(&q, "mysql://user:pw@host/db", &o, &err);
 *     ...
 *     mysql_query(mine, "START TRANSACTION");  tq_tx_ack(q, tq_tx_mysql(mine), ref, ...);
 *
 * Prefer READ COMMITTED for transactions that claim: under REPEATABLE READ the server locks gaps
 * and keeps producers waiting until the transaction ends.
 */
#ifndef TRIBUNAL_QUEUE_MYSQL_H
#define TRIBUNAL_QUEUE_MYSQL_H

#include <stdlib.h>

#include <mysql.h>

#include <tribunal/queue.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    TQ_MYSQL_COLS_MAX = 48
};

static inline int tq_mysql_fail(MYSQL *c, struct tr_err *err)
{
    unsigned e = mysql_errno(c);
    int code = TR_E_FATAL;
    char what[32];

    switch (e) {
    case 2006: /* server has gone away */
    case 2013: /* lost connection during query */
    case 2055:
    case 1053: /* server shutdown in progress */
    case 1927: /* MariaDB: connection was killed */
        code = TR_E_UNSURE;
        break;
    case 1213: /* deadlock: the server has rolled the transaction back */
    case 1205: /* lock wait timeout */
    case 3024: /* statement time exceeded */
    case 1969:
    case 1020: /* MariaDB: record has changed since last read */
        code = TR_E_ABORT;
        break;
    case 1062:
        code = TR_E_EXISTS;
        break;
    case 1044:
    case 1045:
    case 1142:
    case 1143:
    case 1227:
    case 1290:
    case 1698:
        code = TR_E_DENIED;
        break;
    case 1146:
    case 1054:
        code = TR_E_NOTFOUND;
        break;
    case 1021: /* disk full */
    case 1114: /* table full, which is the same */
    case 1040: /* too many connections */
    case 2002:
    case 2003:
        code = TR_E_RETRY;
        break;
    default:
        break;
    }
    (void)snprintf(what, sizeof(what), "MySQL %u", e);
    return tq_driver_fail(err, code, what, mysql_error(c));
}

static inline int tq_mysql_rows(MYSQL_RES *res, const struct tq_call *call)
{
    struct tq_val cols[TQ_MYSQL_COLS_MAX];
    unsigned w = mysql_num_fields(res), k;
    MYSQL_ROW row;
    int r;

    if (w > TQ_MYSQL_COLS_MAX)
        w = TQ_MYSQL_COLS_MAX;
    while ((row = mysql_fetch_row(res)) != NULL) {
        unsigned long *len = mysql_fetch_lengths(res);

        memset(cols, 0, sizeof(cols));
        for (k = 0; k < w; k++) {
            if (!row[k])
                continue;
            cols[k].type = TQ_TEXT;
            cols[k].p = row[k];
            cols[k].len = len[k];
        }
        r = call->row(call->row_arg, cols, (int)w);
        if (r < 0)
            return r;
    }
    return 0;
}

static inline int tq_mysql_exec(void *conn, struct tq_call *call, struct tr_err *err)
{
    MYSQL *c = (MYSQL *)conn;
    MYSQL_RES *res;
    int r = 0;

    if (mysql_real_query(c, call->sql, (unsigned long)call->sql_len))
        return tq_mysql_fail(c, err);
    res = mysql_store_result(c);
    if (res) {
        if (call->row)
            r = tq_mysql_rows(res, call);
        mysql_free_result(res);
    } else if (mysql_field_count(c) > 0) {
        return tq_mysql_fail(c, err);
    } else {
        call->affected = (int64_t)mysql_affected_rows(c);
    }
    return r;
}

static inline int tq_mysql_state(void *conn)
{
    const MYSQL *c = (const MYSQL *)conn;

    if (!c)
        return TQ_CONN_DEAD;
    /* 1: SERVER_STATUS_IN_TRANS, 2: SERVER_STATUS_AUTOCOMMIT. Without autocommit every statement
     * is in a transaction, also before its first one. */
    return (c->server_status & 1) || !(c->server_status & 2) ? TQ_CONN_TX : TQ_CONN_IDLE;
}

static inline int tq_mysql_open(const struct tq_conninfo *info, void **ret_conn, void **ret_cache,
                                struct tr_err *err)
{
    MYSQL *c = mysql_init(NULL);
    unsigned secs = (unsigned)(info->timeout_us / 1000000 + 1);
    int code;

    if (!c)
        return tq_driver_fail(err, TR_E_NOMEM, "MySQL", "out of memory");
    (void)mysql_options(c, MYSQL_OPT_CONNECT_TIMEOUT, &secs);
    (void)mysql_options(c, MYSQL_SET_CHARSET_NAME, "utf8mb4");
    if (!mysql_real_connect(c, info->host, info->user, info->password, info->database, info->port,
                            info->socket, 0)) {
        code = tq_mysql_fail(c, err);
        if (code == TR_E_UNSURE) {
            code = TR_E_RETRY; /* nothing was asked of it yet */
            if (err)
                err->code = code;
        }
        mysql_close(c);
        return code;
    }
    *ret_conn = c;
    *ret_cache = NULL;
    return 0;
}

static inline void tq_mysql_close(void *conn, void *cache)
{
    (void)cache;
    mysql_close((MYSQL *)conn);
}

static inline int tq_mysql_fd(void *conn)
{
    (void)conn;
    return -1;
}

static inline int tq_mysql_notified(void *conn)
{
    (void)conn;
    return 0;
}

static inline const struct tq_driver *tq_mysql_driver(void)
{
    static const struct tq_driver d = {
        sizeof(struct tq_driver), "mysql",     tq_mysql_open,    tq_mysql_close, tq_mysql_exec,
        tq_mysql_state,           tq_mysql_fd, tq_mysql_notified};
    return &d;
}

/* The transaction that is open on `c`. */
static inline struct tq_tx tq_tx_mysql(MYSQL *c)
{
    struct tq_tx tx;

    tx.driver = tq_mysql_driver();
    tx.conn = c;
    return tx;
}

#ifdef __cplusplus
}
#endif

#endif
