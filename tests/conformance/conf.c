/* SPDX-License-Identifier: MIT
 *
 * conf.c - the environment of the conformance suite and its faulty driver.
 */
#include "conf.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

#include <tribunal/queue_sqlite.h>
#ifdef WITH_POSTGRES
#include <tribunal/queue_pg.h>
#endif
#ifdef WITH_MYSQL
#include <tribunal/queue_mysql.h>
#endif

struct env E;
struct shim S;

enum {
    MANY = 256
};
static tq *handles[MANY];
static void *conns[MANY];
static tq_batch *batches[MANY];
static int nhandles, nconns, nbatches;
static struct tq_conninfo info; /* of the handle that stays open over the whole run */
static tq *keeper;
static struct tq_tx own;

/* ---------------------------------------------------------------- the faulty driver */

static int shim_open(const struct tq_conninfo *i, void **conn, void **cache, struct tr_err *err)
{
    if (S.dead)
        return tq_driver_fail(err, TR_E_FATAL, "test", "this process is dead");
    if (!info.size)
        info = *i;
    return E.real->open(i, conn, cache, err);
}

static void shim_close(void *conn, void *cache)
{
    E.real->close(conn, cache);
}

/* Every engine's SQL has one expression for the time. */
static char *shifted(const char *text, size_t len)
{
    const char *now = E.pg   ? "(extract(epoch FROM statement_timestamp()) * 1000000)::bigint"
                      : E.my ? "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))"
                             : "(CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS "
                               "INTEGER) * 1000)";
    size_t n = strlen(now), cap = len * 3 + 4096, used = 0;
    char *out = malloc(cap);

    for (const char *p = text, *end = text + len; p < end;) {
        if ((size_t)(end - p) >= n && !strncmp(p, now, n)) {
            used += (size_t)snprintf(out + used, cap - used, "(%s + (%lld))", now,
                                     (long long)S.clock_us);
            p += n;
        } else {
            out[used++] = *p++;
        }
        if (used + n + 64 > cap)
            out = realloc(out, cap *= 2);
    }
    out[used] = '\0';
    return out;
}

static int run_real(void *conn, struct tq_call *call, struct tr_err *err)
{
    if (!S.clock_us)
        return E.real->exec(conn, call, err);
    struct tq_call other = *call;
    char *text = shifted(call->sql, call->sql_len);
    other.sql = text;
    other.sql_len = strlen(text);
    other.cache = NULL;
    int r = E.real->exec(conn, &other, err);
    call->affected = other.affected;
    free(text);
    return r;
}

static int shim_exec(void *conn, struct tq_call *call, struct tr_err *err)
{
    int64_t n = __atomic_add_fetch(&S.calls, 1, __ATOMIC_RELAXED);

    if (S.spy)
        S.spy(call);
    if (S.dead || (S.crash_at && n >= S.crash_at && !S.crash_after)) {
        S.dead = true;
        return tq_driver_fail(err, TR_E_FATAL, "test", "crashed before this statement");
    }
    if (S.break_next) {
        S.break_next = false;
        return tq_driver_fail(err, TR_E_UNSURE, "test", "the connection is lost");
    }
    int r = run_real(conn, call, err);
    if (S.crash_at && n >= S.crash_at) {
        S.dead = true;
        return tq_driver_fail(err, TR_E_FATAL, "test", "crashed after this statement");
    }
    if (r >= 0 && S.lose_commit && !strncmp(call->sql, "COMMIT", 6)) {
        S.lose_commit = false;
        return tq_driver_fail(err, TR_E_UNSURE, "test", "the answer of the commit was lost");
    }
    return r;
}

static int shim_state(void *conn)
{
    return S.dead ? TQ_CONN_DEAD : E.real->state(conn);
}

static int shim_fd(void *conn)
{
    return E.real->fd(conn);
}

static int shim_notified(void *conn)
{
    return E.real->notified(conn);
}

static struct tq_driver shim = {.size = sizeof(struct tq_driver),
                                .open = shim_open,
                                .close = shim_close,
                                .exec = shim_exec,
                                .state = shim_state,
                                .fd = shim_fd,
                                .notified = shim_notified};

/* ---------------------------------------------------------------- helpers */

int64_t mono_us(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * SEC + ts.tv_nsec / 1000;
}

void pause_us(int64_t us)
{
    struct timespec ts = {.tv_sec = us / SEC, .tv_nsec = us % SEC * 1000};

    (void)nanosleep(&ts, NULL);
}

struct tq_opts opts(void)
{
    struct tq_opts o = TQ_OPTS_INIT;

    o.driver = E.drv;
    return o;
}

tq *open_with(const struct tq_opts *o)
{
    tq *q = NULL;

    OK(tq_open(&q, E.url, o, &E.err));
    assert_true(nhandles < MANY);
    handles[nhandles++] = q;
    return q;
}

tq *open_another(void)
{
    struct tq_opts o = opts();

    return open_with(&o);
}

void close_handle(tq *q)
{
    for (int i = 0; i < nhandles; i++)
        if (handles[i] == q)
            handles[i] = NULL;
    tq_close(q);
}

struct tq_item job(const char *queue, const char *payload)
{
    struct tq_item it = TQ_ITEM_INIT;

    it.queue = queue;
    it.payload = payload;
    it.payload_len = payload ? strlen(payload) : 0;
    return it;
}

int64_t put_item(const struct tq_item *it)
{
    struct tq_enqueued out = {0, 0};

    OK(tq_enqueue(E.q, it, &out, &E.err));
    return out.id;
}

int64_t put(const char *queue, const char *payload)
{
    struct tq_item it = job(queue, payload);

    return put_item(&it);
}

static void keep_batch(tq_batch *b)
{
    assert_true(nbatches < MANY);
    batches[nbatches++] = b;
}

const struct tq_job *take_for(tq *q, const char *queue, int64_t lease_us)
{
    tq_batch *b = NULL;

    int n = OK(tq_claim(q, queue, 1, lease_us, &b, &E.err));
    if (n != 1)
        fail_msg("nothing to claim in '%s'", queue);
    keep_batch(b);
    return tq_batch_job(b, 0);
}

const struct tq_job *take(tq *q, const char *queue)
{
    return take_for(q, queue, 60 * SEC);
}

int take_n(tq *q, const char *queue, int n, tq_batch **b)
{
    *b = NULL;
    int got = OK(tq_claim(q, queue, n, 60 * SEC, b, &E.err));
    if (*b)
        keep_batch(*b);
    return got;
}

bool nothing_in(tq *q, const char *queue)
{
    tq_batch *b = NULL;

    return take_n(q, queue, 1, &b) == 0;
}

struct tq_ref lost_job(const char *queue)
{
    tq *victim = open_another();
    struct tq_ref ref = take_for(victim, queue, 1)->ref;

    close_handle(victim);
    return ref;
}

void reclaim_n(int want)
{
    int got = 0;

    UNTIL((got += OK(tq_reclaim(E.q, 100, &E.err))) >= want);
    assert_int_equal(got, want);
}

void all_due(void)
{
    sql(own, "UPDATE job_queue SET available_at = 1 WHERE state = 0");
}

/* ---------------------------------------------------------------- connections */

static void *connect_raw(void)
{
    void *conn = NULL, *cache = NULL;

    OK(E.real->open(&info, &conn, &cache, &E.err));
    if (cache && E.pg)
        free(cache);
    if (cache && E.lite)
        free(cache);
    return conn;
}

struct tq_tx caller(void)
{
    assert_true(nconns < MANY);
    conns[nconns++] = connect_raw();
    return (struct tq_tx){.driver = E.real, .conn = conns[nconns - 1]};
}

int try_sql(struct tq_tx tx, const char *text)
{
    return (int)tq_sql(tx, text, NULL, 0, NULL, NULL, &E.err);
}

void sql(struct tq_tx tx, const char *fmt, ...)
{
    char text[2048];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    if (try_sql(tx, text) < 0)
        fail_msg("%s: %s", text, E.err.msg);
}

void begin(struct tq_tx tx)
{
    sql(tx, "%s", E.lite ? "BEGIN IMMEDIATE" : "BEGIN");
}

void commit(struct tq_tx tx)
{
    sql(tx, "COMMIT");
}

void rollback(struct tq_tx tx)
{
    sql(tx, "ROLLBACK");
}

struct first {
    int64_t v;
    int rows;
};

static int first_row(void *arg, const struct tq_val *c, int n)
{
    struct first *f = arg;
    char text[32] = "";

    if (f->rows++ || c[0].type == TQ_NULL)
        return 0;
    if (c[0].type == TQ_INT) {
        f->v = c[0].i;
    } else {
        memcpy(text, c[0].p, c[0].len < 31 ? c[0].len : 31);
        f->v = strtoll(text, NULL, 10);
    }
    return 0;
}

static int64_t __attribute__((format(printf, 2, 0)))
vnum(struct tq_tx tx, const char *fmt, va_list ap)
{
    char text[2048];
    struct first f = {-1, 0};

    (void)vsnprintf(text, sizeof(text), fmt, ap);
    if (tq_sql(tx, text, NULL, 0, first_row, &f, &E.err) < 0)
        fail_msg("%s: %s", text, E.err.msg);
    return f.v;
}

int64_t num(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    int64_t v = vnum(own, fmt, ap);
    va_end(ap);
    return v;
}

int64_t num_in(struct tq_tx tx, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    int64_t v = vnum(tx, fmt, ap);
    va_end(ap);
    return v;
}

int64_t db_now(void)
{
    return num("SELECT %s",
               E.pg   ? "(extract(epoch FROM statement_timestamp()) * 1000000)::bigint"
               : E.my ? "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))"
                      : "CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * "
                        "1000");
}

/* ---------------------------------------------------------------- the suite */

static int choose_engine(void)
{
    E.url = getenv("TRIBUNAL_QUEUE_URL");
    if (!E.url)
        return -1;
    E.lite = !strncmp(E.url, "sqlite:", 7);
    E.pg = !strncmp(E.url, "postgres", 8);
    E.my = !E.lite && !E.pg;
    if (E.lite)
        E.real = tq_sqlite_driver();
#ifdef WITH_POSTGRES
    if (E.pg)
        E.real = tq_pg_driver();
#endif
#ifdef WITH_MYSQL
    if (E.my)
        E.real = tq_mysql_driver();
#endif
    E.drv = &shim;
    shim.backend = E.real ? E.real->backend : "";
    E.soak = getenv("TRIBUNAL_SOAK") != NULL;
    return E.real ? 0 : -1;
}

static void begin_run(void)
{
    struct tq_opts o = opts();

    OK(tq_open(&keeper, E.url, &o, &E.err));
    own = (struct tq_tx){.driver = E.real, .conn = connect_raw()};
    OK(tq_migrate(keeper, -1, &E.err));
    (void)try_sql(own, "DROP TABLE biz");
    sql(own, "CREATE TABLE biz (job_id BIGINT NOT NULL, note %s)", E.my ? "INT" : "INTEGER");
}

static void wipe(void)
{
    static const char *const tables[] = {
        "job_queue",  "job_history",     "job_attempt",  "queue_config",   "job_slot",
        "job_unique", "job_idempotency", "queue_leader", "queue_periodic", "biz"};

    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
        sql(own, "DELETE FROM %s", tables[i]);
}

int suite_setup(void **state)
{
    (void)state;
    memset(&S, 0, sizeof(S));
    if (!own.conn) {
        if (choose_engine() < 0)
            fail_msg("TRIBUNAL_QUEUE_URL names no database of this build");
        begin_run();
    }
    memset(&E.err, 0, sizeof(E.err));
    wipe();
    E.q = open_another();
    return 0;
}

int suite_teardown(void **state)
{
    (void)state;
    memset(&S, 0, sizeof(S));
    for (int i = 0; i < nbatches; i++)
        tq_batch_free(batches[i]);
    for (int i = 0; i < nhandles; i++)
        tq_close(handles[i]);
    for (int i = 0; i < nconns; i++)
        E.real->close(conns[i], NULL);
    nbatches = nhandles = nconns = 0;
    return 0;
}

int suite_end(void **state)
{
    (void)state;
    if (keeper)
        tq_close(keeper);
    if (own.conn)
        E.real->close(own.conn, NULL);
    return 0;
}
