/* SPDX-License-Identifier: MIT
 *
 * kit.c - see kit.h.
 */
#include "kit.h"

#include <time.h>

#include <tribunal/queue_sqlite.h>
#ifdef WITH_POSTGRES
#include <tribunal/queue_pg.h>
#endif
#ifdef WITH_MYSQL
#include <tribunal/queue_mysql.h>
#endif

const char *kit_url;
bool kit_lite, kit_pg, kit_my;

/* Where the driver connects to is known once a handle has been opened; its strings are copied, so
 * that other connections can be made after it is closed. */
static struct tq_driver shim;
static const struct tq_driver *real;
static struct tq_conninfo info;

static const char *copied(const char *s)
{
    return s ? strdup(s) : NULL;
}

static int shim_open(const struct tq_conninfo *i, void **conn, void **cache, struct tr_err *err)
{
    static int taken;

    if (!__atomic_exchange_n(&taken, 1, __ATOMIC_ACQ_REL))
        info = (struct tq_conninfo){.size = sizeof(info),
                                    .url = copied(i->url),
                                    .path = copied(i->path),
                                    .host = copied(i->host),
                                    .port = i->port,
                                    .user = copied(i->user),
                                    .password = copied(i->password),
                                    .database = copied(i->database),
                                    .socket = copied(i->socket),
                                    .timeout_us = 5000000};
    return real->open(i, conn, cache, err);
}

void kit_init(void)
{
    kit_url = getenv("TRIBUNAL_QUEUE_URL");
    if (!kit_url) {
        (void)fprintf(stderr, "TRIBUNAL_QUEUE_URL is not set\n");
        exit(2);
    }
    kit_lite = !strncmp(kit_url, "sqlite:", 7);
    kit_pg = !strncmp(kit_url, "postgres", 8);
    kit_my = !kit_lite && !kit_pg;
    real = tq_sqlite_driver();
#ifdef WITH_POSTGRES
    if (kit_pg)
        real = tq_pg_driver();
#endif
#ifdef WITH_MYSQL
    if (kit_my)
        real = tq_mysql_driver();
#endif
    shim = *real;
    shim.open = shim_open;
    tq_close(kit_open()); /* fills info, before anything forks */
}

const struct tq_driver *kit_driver(void)
{
    return &shim;
}

int kit_ok(const char *what, int r, const struct tr_err *err)
{
    if (r < 0) {
        (void)fprintf(stderr, "%s: %d %s\n", what, r, err->msg);
        exit(3);
    }
    return r;
}

tq *kit_open(void)
{
    struct tq_opts o = TQ_OPTS_INIT;
    struct tr_err err = TR_ERR_INIT;
    tq *q = NULL;

    o.driver = &shim;
    (void)kit_ok("open", tq_open(&q, kit_url, &o, &err), &err);
    return q;
}

static int first(void *arg, const struct tq_val *c, int n)
{
    char text[32] = "";

    (void)n;
    if (c[0].type == TQ_INT)
        *(int64_t *)arg = c[0].i;
    else if (c[0].type != TQ_NULL) {
        memcpy(text, c[0].p, c[0].len < 31 ? c[0].len : 31);
        *(int64_t *)arg = strtoll(text, NULL, 10);
    }
    return 0;
}

static int64_t query(const char *sql)
{
    struct tr_err err = TR_ERR_INIT;
    struct tq_tx tx;
    int64_t v = -1;
    tq *q = kit_open();

    tx = kit_connect(q);
    (void)kit_ok(sql, (int)tq_sql(tx, sql, NULL, 0, first, &v, &err), &err);
    kit_disconnect(tx);
    tq_close(q);
    return v;
}

int64_t kit_num(const char *sql)
{
    return query(sql);
}

void kit_sql(const char *sql)
{
    (void)query(sql);
}

void kit_fresh(void)
{
    static const char *const tables[] = {"job_queue",    "job_history",   "job_attempt",
                                         "job_unique",   "queue_config",  "job_slot",
                                         "queue_leader", "queue_periodic"};
    struct tr_err err = TR_ERR_INIT;
    tq *q = kit_open();
    char sql[64];

    (void)kit_ok("migrate", tq_migrate(q, -1, &err), &err);
    tq_close(q);
    kit_sql("CREATE TABLE IF NOT EXISTS biz (job_id BIGINT NOT NULL)");
    kit_sql("DELETE FROM biz");
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
        (void)snprintf(sql, sizeof(sql), "DELETE FROM %s", tables[i]);
        kit_sql(sql);
    }
}

struct tq_tx kit_connect(tq *q)
{
    struct tr_err err = TR_ERR_INIT;
    struct tq_tx tx = {real, NULL};
    void *cache = NULL;

    (void)q;
    if (real->open(&info, &tx.conn, &cache, &err) < 0)
        tx.conn = NULL;
    if (tx.conn && kit_lite)
        free(cache);
#ifdef WITH_POSTGRES
    if (tx.conn && kit_pg)
        free(cache);
#endif
    return tx;
}

void kit_disconnect(struct tq_tx tx)
{
    if (tx.conn)
        real->close(tx.conn, NULL);
}

int kit_exec(struct tq_tx tx, const char *sql)
{
    struct tr_err err = TR_ERR_INIT;

    if (!tx.conn)
        return -1;
    int64_t r = tq_sql(tx, sql, NULL, 0, NULL, NULL, &err);
    if (r < 0)
        (void)fprintf(stderr, "%s: %s\n", sql, err.msg);
    return (int)r;
}

const char *kit_begin(void)
{
    return kit_lite ? "BEGIN IMMEDIATE" : "BEGIN";
}

int64_t kit_mono_us(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

struct tq_worker_opts kit_worker(const struct tq_opts *q, const char *mode)
{
    struct tq_worker_opts o = TQ_WORKER_OPTS_INIT;

    o.url = kit_url;
    o.queue = q;
    o.mode = !strcmp(mode, "processes") ? TQ_PROCESSES : TQ_THREADS;
    return o;
}
