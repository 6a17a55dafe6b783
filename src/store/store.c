/* SPDX-License-Identifier: MIT
 *
 * store.c - open, transactions, and the one place of the store that tries again.
 */
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/parse.h"
#include "base/rand.h"
#include "store/private.h"

enum {
    TRIES_MAX = 8, /* the queue itself tries twelve times to begin: with these about ten seconds */
    PAUSE_MS = 20
};

/* ---------------------------------------------------------------- values */

struct tq_val ts_int(int64_t i)
{
    return (struct tq_val){.type = TQ_INT, .i = i};
}

struct tq_val ts_int_or_null(int64_t i)
{
    return i ? ts_int(i) : (struct tq_val){.type = TQ_NULL, .oid = 20};
}

struct tq_val ts_text(const char *s)
{
    if (!s)
        return (struct tq_val){.type = TQ_NULL, .oid = 25};
    return (struct tq_val){.type = TQ_TEXT, .p = s, .len = strlen(s)};
}

struct tq_val ts_name(const char *s)
{
    return ts_text(s ? s : "");
}

struct tq_val ts_bytes(const void *p, size_t len)
{
    if (!p)
        return (struct tq_val){.type = TQ_NULL, .oid = 17};
    return (struct tq_val){.type = TQ_BYTES, .p = p, .len = len};
}

int64_t ts_val_int(const struct tq_val *v)
{
    char text[24];
    int64_t i = 0;

    if (v->type == TQ_INT)
        return v->i;
    if (v->type == TQ_NULL || v->len >= sizeof(text))
        return 0;
    memcpy(text, v->p, v->len);
    text[v->len] = '\0';
    (void)tr_parse_i64(text, INT64_MIN, INT64_MAX, &i, NULL);
    return i;
}

char *ts_val_text(struct tr_arena *a, const struct tq_val *v)
{
    if (v->type != TQ_TEXT && v->type != TQ_BYTES)
        return NULL;
    return tr_arena_strndup(a, v->p ? v->p : "", v->len);
}

int ts_check_text(const char *what, const char *s, size_t max, bool needed, struct tr_err *err)
{
    if (needed && (!s || !*s))
        return tr_fail(err, TR_E_USAGE, 0, "%s is missing", what);
    if (s && strlen(s) > max)
        return tr_fail(err, TR_E_LIMIT, 0, "%s has %zu bytes; at most %zu are kept", what,
                       strlen(s), max);
    return 0;
}

/* ---------------------------------------------------------------- open */

static void name_owner(struct tr_store *st, const char *worker_id)
{
    char host[64] = "";

    if (worker_id) {
        (void)snprintf(st->worker_id, sizeof(st->worker_id), "%s", worker_id);
    } else {
        if (gethostname(host, sizeof(host) - 1) < 0 || !host[0])
            (void)snprintf(host, sizeof(host), "localhost");
        (void)snprintf(st->worker_id, sizeof(st->worker_id), "%s:%d", host, (int)getpid());
    }
    (void)snprintf(st->owner, sizeof(st->owner), "%s/%016llx", st->worker_id,
                   (unsigned long long)tr_random_u64());
}

int tr_store_open(const struct tr_store_conf *conf, struct tr_store **ret, struct tr_err *err)
{
    struct tq_opts o = TQ_OPTS_INIT;
    const struct tq_driver *driver = tr_store_driver(conf->url, err);

    if (!driver)
        return TR_E_USAGE;
    int r = ts_check_text("worker_id", conf->worker_id, TR_STORE_NAME_MAX, false, err);
    if (r < 0)
        return r;
    TR_CLEANUP(tr_store_closep) struct tr_store *st = calloc(1, sizeof(*st));
    if (!st)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory for a store");
    name_owner(st, conf->worker_id);
    st->driver = driver;
    st->reader = conf->reader;
    st->tries = conf->queue_flags & TQ_ONE_TRY ? 1 : TRIES_MAX;
    st->sql = !strcmp(driver->backend, "postgres") ? ts_sql_postgres
              : !strcmp(driver->backend, "mysql")  ? ts_sql_mysql
                                                   : ts_sql_sqlite;
    st->moves = !strcmp(driver->backend, "postgres") ? ts_migrations_postgres
                : !strcmp(driver->backend, "mysql")  ? ts_migrations_mysql
                                                     : ts_migrations_sqlite;
    st->hooks = (struct tq_hooks){.size = sizeof(st->hooks), .event = ts_event, .user = st};
    o.driver = driver;
    o.worker = st->worker_id;
    o.flags = conf->queue_flags;
    o.timeout_us = conf->timeout_us;
    o.max_payload = TR_STORE_TASK_MAX;
    o.hooks = &st->hooks;
    r = tq_open(&st->q, conf->url, &o, err);
    if (r < 0)
        return r;
    *ret = TR_TAKE(st);
    return 0;
}

void tr_store_close(struct tr_store *st)
{
    if (!st)
        return;
    tq_close(st->q);
    ts_events_drop(st);
    for (size_t i = 0; i < TR_ARRAY_LEN(st->made); i++)
        free(st->made[i]);
    free(st);
}

void tr_store_set_worker(struct tr_store *st, const char *worker_id)
{
    (void)snprintf(st->worker_id, sizeof(st->worker_id), "%s", worker_id);
}

tq *tr_store_queue(struct tr_store *st)
{
    return st->q;
}

bool tr_store_is_sqlite(const struct tr_store *st)
{
    return !strcmp(st->driver->backend, "sqlite");
}

/* ---------------------------------------------------------------- transactions */

int tr_store_begin(struct tr_store *st, struct tr_err *err)
{
    int r = tq_begin(st->q, &st->tx, err);

    if (r >= 0)
        st->in_tx = true;
    return r;
}

int tr_store_commit(struct tr_store *st, struct tr_err *err)
{
    int r = st->in_tx ? ts_events_flush(st, err) : 0;

    if (r < 0) {
        tr_store_rollback(st);
        if (r == TR_E_UNSURE) /* COMMIT was never sent */
            r = TR_E_ABORT;
        if (err)
            err->code = r;
        return r;
    }
    st->in_tx = false;
    return tq_commit(st->q, err);
}

void tr_store_rollback(struct tr_store *st)
{
    st->in_tx = false;
    ts_events_drop(st);
    tq_rollback(st->q);
}

struct tq_tx tr_store_tx(struct tr_store *st)
{
    return st->tx;
}

static void pause_before(int attempt)
{
    int64_t ms = PAUSE_MS * ((int64_t)1 << attempt);

    ms = ms / 2 + (int64_t)tr_random_below((uint64_t)ms);
    (void)nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

static int run_once(struct tr_store *st, ts_op op, void *arg, struct tr_err *err)
{
    int r = tr_store_begin(st, err);

    if (r < 0)
        return r;
    int done = op(st, arg, err);
    if (done < 0) {
        tr_store_rollback(st);
        return done;
    }
    r = tr_store_commit(st, err);
    return r < 0 ? r : done;
}

/* Without a transaction: on SQLite even a reader's would keep the writers out, elsewhere it would
 * be two round trips more. The queue may have made a new connection meanwhile. */
static int read_once(struct tr_store *st, ts_op op, void *arg, struct tr_err *err)
{
    st->tx = tq_connection(st->q);
    if (!st->tx.conn || st->broken) { /* beginning looks at it, and makes a new one */
        int r = tr_store_begin(st, err);

        if (r < 0)
            return r;
        tr_store_rollback(st);
        st->tx = tq_connection(st->q);
        if (!st->tx.conn)
            return tr_fail(err, TR_E_RETRY, 0, "the connection to the database was lost");
    }
    int r = op(st, arg, err);
    st->broken = r == TR_E_UNSURE;
    return r;
}

int ts_run(struct tr_store *st, ts_op op, void *arg, struct tr_err *err)
{
    struct tr_err mine = TR_ERR_INIT;
    int r;

    if (st->in_tx)
        return op(st, arg, err);
    for (int attempt = 0;; attempt++) {
        r = st->reader ? read_once(st, op, arg, &mine) : run_once(st, op, arg, &mine);
        /* UNSURE too: every operation finds out by itself that it has happened already. */
        bool again =
            r == TR_E_ABORT || r == TR_E_BUSY || r == TR_E_UNSURE || tr_err_class(r) == TR_E_RETRY;
        if (!again || attempt + 1 == st->tries)
            break;
        pause_before(attempt);
    }
    if (r < 0 && err) {
        *err = mine;
        if (r == TR_E_ABORT) /* nothing of it remains: the same call may succeed later */
            r = err->code = TR_E_RETRY;
    }
    return r;
}

/* ---------------------------------------------------------------- statements */

int64_t ts_exec_text(struct tr_store *st, const char *sql, const struct tq_val *params, int n,
                     tq_row_fn row, void *row_arg, struct tr_err *err)
{
    return tq_sql(st->tx, sql, params, n, row, row_arg, err);
}

/* The text of a statement: a constant, or one that is made once. */
static int text_of(struct tr_store *st, enum ts_stmt s, int move, const char **ret,
                   struct tr_err *err)
{
    TR_CLEANUP(tr_buf_done) struct tr_buf text = {0};
    const char *sql = st->sql[s].sql;
    const char *from = strstr(sql, "@from");

    if (!from || st->made[s]) {
        *ret = from ? st->made[s] : sql;
        return 0;
    }
    tr_buf_init(&text, 1 << 16);
    tr_buf_add(&text, sql, (size_t)(from - sql));
    tr_buf_adds(&text, tr_move_from_sql((enum tr_move)move));
    tr_buf_adds(&text, from + strlen("@from"));
    int r = tr_buf_check(&text, "statement", err);
    if (r < 0)
        return r;
    *ret = st->made[s] = strdup(text.data);
    return *ret ? 0 : tr_fail(err, TR_E_NOMEM, 0, "out of memory");
}

/* NOLINTNEXTLINE(readability-function-size): eight words that every statement needs */
int64_t ts_exec(struct tr_store *st, enum ts_stmt s, int move, const struct tq_val *params, int n,
                tq_row_fn row, void *row_arg, struct tr_err *err)
{
    const char *sql;
    int r = text_of(st, s, move, &sql, err);

    return r < 0 ? r : tq_sql_kept(st->q, st->tx, sql, params, n, row, row_arg, err);
}

bool ts_has(const struct tr_store *st, enum ts_stmt s)
{
    return st->sql[s].sql != NULL;
}

int64_t ts_exec_set(struct tr_store *st, enum ts_stmt s, int move, const struct tq_set *set,
                    tq_row_fn row, void *row_arg, struct tr_err *err)
{
    const char *sql;
    int r = text_of(st, s, move, &sql, err);

    return r < 0 ? r : tq_sql_set(st->q, st->tx, sql, set, row, row_arg, err);
}
