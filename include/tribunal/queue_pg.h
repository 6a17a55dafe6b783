/* SPDX-License-Identifier: MIT
 *
 * tribunal/queue_pg.h - the queue on PostgreSQL through the program's own libpq (14 or newer).
 *
 *     struct tq_opts o = TQ_OPTS_INIT;
 *     o.driver = tq_pg_driver();
 *     tq_open(&q, "postgres://...", &o, &err);
 *     ...
 *     PQexec(mine, "BEGIN");  ...  tq_tx_ack(q, tq_tx_pg(mine), ref, NULL, 0, &err);
 *
 * On the program's connection the library runs plain statements: no session settings, no advisory
 * locks, no savepoints, nothing left prepared.
 */
#ifndef TRIBUNAL_QUEUE_PG_H
#define TRIBUNAL_QUEUE_PG_H

#include <stdlib.h>

#include <libpq-fe.h>

#include <tribunal/queue.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    TQ_PG_PARAMS_MAX = 32,
    TQ_PG_COLS_MAX = 48,
    TQ_PG_CACHE_MAX = 96
};

/* Statements prepared on a connection of the library's own. The key is the address of the text:
 * those texts are constants. */
struct tq_pg_cache {
    int n;
    const char *sql[TQ_PG_CACHE_MAX];
};

/* The class of a failure, from its SQLSTATE. */
static inline int tq_pg_code(const char *s)
{
    if (!s || !strncmp(s, "08", 2) || !strncmp(s, "57P0", 4))
        return TR_E_UNSURE;
    if (!strncmp(s, "40", 2) || !strcmp(s, "55P03") || !strcmp(s, "25P02") || !strcmp(s, "57014"))
        return TR_E_ABORT;
    if (!strcmp(s, "23505"))
        return TR_E_EXISTS;
    if (!strcmp(s, "42501") || !strncmp(s, "28", 2) || !strcmp(s, "25006"))
        return TR_E_DENIED;
    if (!strcmp(s, "42P01") || !strcmp(s, "42703"))
        return TR_E_NOTFOUND;
    if (!strncmp(s, "53", 2))
        return TR_E_RETRY;
    return TR_E_FATAL;
}

static inline int tq_pg_fail(PGconn *c, const PGresult *res, struct tr_err *err)
{
    const char *state = res ? PQresultErrorField(res, PG_DIAG_SQLSTATE) : NULL;
    int code = PQstatus(c) == CONNECTION_OK && state ? tq_pg_code(state) : TR_E_UNSURE;
    const char *text = res ? PQresultErrorMessage(res) : NULL;
    char what[32];

    (void)snprintf(what, sizeof(what), "PostgreSQL%s%s", state ? " " : "", state ? state : "");
    return tq_driver_fail(err, code, what, text && *text ? text : PQerrorMessage(c));
}

static inline int64_t tq_pg_be(const char *p, int len)
{
    uint64_t v = len > 0 && (p[0] & 0x80) ? ~(uint64_t)0 : 0;
    int i;

    for (i = 0; i < len; i++)
        v = v << 8 | (unsigned char)p[i];
    return (int64_t)v;
}

/* Hand the rows of a binary result to call->row. */
static inline int tq_pg_rows(const PGresult *res, const struct tq_call *call)
{
    struct tq_val cols[TQ_PG_COLS_MAX];
    int n = PQntuples(res), w = PQnfields(res), r, i, k;

    if (w > TQ_PG_COLS_MAX)
        w = TQ_PG_COLS_MAX;
    for (i = 0; i < n; i++) {
        memset(cols, 0, sizeof(cols));
        for (k = 0; k < w; k++) {
            unsigned type = (unsigned)PQftype(res, k);
            int len = PQgetlength(res, i, k);
            const char *p = PQgetvalue(res, i, k);

            if (PQgetisnull(res, i, k))
                continue;
            if (type == 20 || type == 21 || type == 23 || type == 16) { /* int8 int2 int4 bool */
                cols[k].type = TQ_INT;
                cols[k].i = tq_pg_be(p, len);
            } else {
                cols[k].type = type == 17 ? TQ_BYTES : TQ_TEXT; /* bytea */
                cols[k].p = p;
                cols[k].len = (size_t)len;
            }
        }
        r = call->row(call->row_arg, cols, w);
        if (r < 0)
            return r;
    }
    return 0;
}

struct tq_pg_args {
    Oid types[TQ_PG_PARAMS_MAX];
    const char *values[TQ_PG_PARAMS_MAX];
    int lengths[TQ_PG_PARAMS_MAX];
    int formats[TQ_PG_PARAMS_MAX];
    char ints[TQ_PG_PARAMS_MAX][8];
};

static inline void tq_pg_bind(struct tq_pg_args *a, const struct tq_val *v, int i)
{
    int k;

    a->formats[i] = 1;
    a->values[i] = (const char *)v->p;
    a->lengths[i] = (int)v->len;
    a->types[i] = v->type == TQ_INT    ? 20
                  : v->type == TQ_TEXT ? 25
                  : v->type == TQ_RAW  ? v->oid
                                       : 17;
    if (v->type == TQ_NULL) {
        a->values[i] = NULL;
        a->types[i] = v->oid; /* 0: the server infers it */
    } else if (v->type == TQ_INT) {
        for (k = 0; k < 8; k++)
            a->ints[i][k] = (char)((uint64_t)v->i >> (56 - 8 * k));
        a->values[i] = a->ints[i];
        a->lengths[i] = 8;
    } else if (!a->values[i]) {
        a->values[i] = ""; /* an empty value is not NULL */
    }
}

static inline PGresult *tq_pg_cached(PGconn *c, struct tq_pg_cache *cache,
                                     const struct tq_call *call, const struct tq_pg_args *a)
{
    char name[16];
    PGresult *res;
    int i;

    for (i = 0; i < cache->n && cache->sql[i] != call->sql; i++)
        ;
    if (i == TQ_PG_CACHE_MAX)
        return PQexecParams(c, call->sql, call->nparams, a->types, a->values, a->lengths,
                            a->formats, 1);
    (void)snprintf(name, sizeof(name), "tq_%d", i);
    if (i == cache->n) {
        res = PQprepare(c, name, call->sql, call->nparams, a->types);
        if (PQresultStatus(res) != PGRES_COMMAND_OK)
            return res;
        PQclear(res);
        cache->sql[cache->n++] = call->sql;
    }
    return PQexecPrepared(c, name, call->nparams, a->values, a->lengths, a->formats, 1);
}

static inline int tq_pg_exec(void *conn, struct tq_call *call, struct tr_err *err)
{
    PGconn *c = (PGconn *)conn;
    struct tq_pg_cache *cache = (struct tq_pg_cache *)call->cache;
    struct tq_pg_args a;
    PGresult *res;
    int i, r = 0;

    for (i = 0; i < call->nparams && i < TQ_PG_PARAMS_MAX; i++)
        tq_pg_bind(&a, &call->params[i], i);
    if (call->nparams == 0 && !call->row)
        res = PQexec(c, call->sql); /* may hold several statements: migrations */
    else if (cache)
        res = tq_pg_cached(c, cache, call, &a);
    else
        res = PQexecParams(c, call->sql, call->nparams, a.types, a.values, a.lengths, a.formats, 1);
    if (PQresultStatus(res) == PGRES_TUPLES_OK) {
        call->affected = (int64_t)strtoll(PQcmdTuples(res), NULL, 10);
        if (call->row)
            r = tq_pg_rows(res, call);
    } else if (PQresultStatus(res) == PGRES_COMMAND_OK) {
        call->affected = (int64_t)strtoll(PQcmdTuples(res), NULL, 10);
    } else {
        r = tq_pg_fail(c, res, err);
    }
    PQclear(res);
    return r;
}

static inline int tq_pg_state(void *conn)
{
    const PGconn *c = (const PGconn *)conn;

    if (!c || PQstatus(c) != CONNECTION_OK)
        return TQ_CONN_DEAD;
    if (PQpipelineStatus(c) != PQ_PIPELINE_OFF)
        return TQ_CONN_BUSY;
    switch (PQtransactionStatus(c)) {
    case PQTRANS_IDLE:
        return TQ_CONN_IDLE;
    case PQTRANS_INTRANS:
        return TQ_CONN_TX;
    case PQTRANS_INERROR:
        return TQ_CONN_ABORTED;
    case PQTRANS_ACTIVE:
        return TQ_CONN_BUSY;
    case PQTRANS_UNKNOWN:
    default:
        return TQ_CONN_DEAD;
    }
}

static inline void tq_pg_quiet(void *arg, const PGresult *res)
{
    (void)arg;
    (void)res;
}

static inline int tq_pg_open(const struct tq_conninfo *info, void **ret_conn, void **ret_cache,
                             struct tr_err *err)
{
    char secs[24];
    /* What stands before dbname gives way to what the URL says. A peer that vanished is found out
     * within half a minute, not after the kernel's quarter of an hour. */
    const char *const keys[] = {"tcp_user_timeout",
                                "keepalives_idle",
                                "keepalives_interval",
                                "keepalives_count",
                                "dbname",
                                "connect_timeout",
                                "client_encoding",
                                "fallback_application_name",
                                NULL};
    const char *const vals[] = {"25000",          "10", "5", "3", info->url, secs, "UTF8",
                                "tribunal-queue", NULL};
    struct tq_pg_cache *cache = (struct tq_pg_cache *)calloc(1, sizeof(*cache));
    PGconn *c;
    int code;

    (void)snprintf(secs, sizeof(secs), "%lld", (long long)(info->timeout_us / 1000000 + 1));
    c = cache ? PQconnectdbParams(keys, vals, 1) : NULL;
    if (!c || PQstatus(c) != CONNECTION_OK) {
        const char *text = c ? PQerrorMessage(c) : "out of memory";

        /* libpq gives no SQLSTATE for a refused login; the words tell what a retry can mend. */
        code = !c ? TR_E_NOMEM
               : strstr(text, "does not exist") || strstr(text, "authentication failed") ||
                       strstr(text, "permission denied") || strstr(text, "invalid") ||
                       strstr(text, "could not translate") || strstr(text, "no pg_hba.conf")
                   ? TR_E_FATAL
                   : TR_E_RETRY;
        code = tq_driver_fail(err, code, "connect to PostgreSQL", text);
        if (c)
            PQfinish(c);
        free(cache);
        return code;
    }
    (void)PQsetNoticeReceiver(c, tq_pg_quiet, NULL);
    *ret_conn = c;
    *ret_cache = cache;
    return 0;
}

static inline void tq_pg_close(void *conn, void *cache)
{
    PQfinish((PGconn *)conn);
    free(cache);
}

static inline int tq_pg_fd(void *conn)
{
    return PQsocket((const PGconn *)conn);
}

static inline int tq_pg_notified(void *conn)
{
    PGconn *c = (PGconn *)conn;
    PGnotify *n;
    int count = 0;

    if (!PQconsumeInput(c))
        return TR_E_UNSURE;
    while ((n = PQnotifies(c)) != NULL) {
        PQfreemem(n);
        count++;
    }
    return count;
}

static inline const struct tq_driver *tq_pg_driver(void)
{
    static const struct tq_driver d = {sizeof(struct tq_driver),
                                       "postgres",
                                       tq_pg_open,
                                       tq_pg_close,
                                       tq_pg_exec,
                                       tq_pg_state,
                                       tq_pg_fd,
                                       tq_pg_notified};
    return &d;
}

/* The transaction that is open on `c`. */
static inline struct tq_tx tq_tx_pg(PGconn *c)
{
    struct tq_tx tx;

    tx.driver = tq_pg_driver();
    tx.conn = c;
    return tx;
}

#ifdef __cplusplus
}
#endif

#endif
