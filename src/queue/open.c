/* SPDX-License-Identifier: MIT
 *
 * open.c - handles: URLs, options, the server's version.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/parse.h"
#include "base/utf8.h"
#include "queue/internal.h"

int tq_abi_version(void)
{
    return TQ_ABI_VERSION;
}

int tqi_check_name(const char *what, const char *s, bool may_be_empty, struct tr_err *err)
{
    size_t len = s ? strlen(s) : 0;

    if (!s || (len == 0 && !may_be_empty))
        return tr_fail(err, TR_E_USAGE, 0, "%s is missing", what);
    if (len > TQ_NAME_MAX)
        return tr_fail(err, TR_E_LIMIT, 0, "%s has %zu bytes; at most %d are allowed", what, len,
                       (int)TQ_NAME_MAX);
    if (!tr_utf8_valid(s, len))
        return tr_fail(err, TR_E_USAGE, 0, "%s is not valid UTF-8", what);
    return 0;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* %XX in place. */
static void unescape(char *s)
{
    char *to = s;

    for (; *s; s++, to++) {
        int high = s[0] == '%' ? hex_digit(s[1]) : -1;
        int low = high >= 0 ? hex_digit(s[2]) : -1;

        if (low >= 0) {
            *to = (char)(high * 16 + low);
            s += 2;
        } else {
            *to = *s;
        }
    }
    *to = '\0';
}

static int parse_port(char *host, unsigned *ret, struct tr_err *err)
{
    char *colon = strrchr(host, ':');
    uint64_t port = 0;

    if (!colon)
        return 0;
    *colon = '\0';
    int r = tr_parse_u64(colon + 1, 1, 65535, &port, err);
    if (r < 0)
        return tr_fail_wrap(err, "port in the database URL");
    *ret = (unsigned)port;
    return 0;
}

/* mysql://[user[:password]@][host[:port]]/database[?socket=path] */
static int parse_mysql(struct tq_conninfo *info, char *s, struct tr_err *err)
{
    char *query = strchr(s, '?');
    if (query)
        *query++ = '\0';
    char *db = strchr(s, '/');
    if (!db || !db[1])
        return tr_fail(err, TR_E_USAGE, 0, "the database URL names no database");
    *db++ = '\0';
    info->database = db;
    unescape(db);
    char *at = strrchr(s, '@');
    if (at) {
        *at = '\0';
        char *password = strchr(s, ':');
        if (password) {
            *password++ = '\0';
            unescape(password);
            info->password = password;
        }
        unescape(s);
        info->user = s;
        s = at + 1;
    }
    if (*s) {
        int r = parse_port(s, &info->port, err);
        if (r < 0)
            return r;
        info->host = s;
    }
    if (query && !strncmp(query, "socket=", 7)) {
        unescape(query + 7);
        info->socket = query + 7;
    } else if (query && *query) {
        return tr_fail(err, TR_E_USAGE, 0, "unknown option '%s' in the database URL", query);
    }
    return 0;
}

static int parse_url(tq *q, const char *url, struct tr_err *err)
{
    static const char *const pg[] = {"postgres://", "postgresql://"};
    char *copy = q->url_copy;

    q->info.url = url;
    if (!strncmp(url, "sqlite:", 7)) {
        q->be = BE_SQLITE;
        q->sql = tq_sql_sqlite;
        q->info.path = copy + 7;
        return url[7] ? 0 : tr_fail(err, TR_E_USAGE, 0, "the database URL names no file");
    }
    if (!strncmp(url, pg[0], strlen(pg[0])) || !strncmp(url, pg[1], strlen(pg[1]))) {
        q->be = BE_POSTGRES;
        q->sql = tq_sql_postgres;
        q->info.url = copy;
        return 0;
    }
    if (!strncmp(url, "mysql://", 8) || !strncmp(url, "mariadb://", 10)) {
        q->be = BE_MYSQL;
        q->sql = tq_sql_mysql;
        return parse_mysql(&q->info, strstr(copy, "://") + 3, err);
    }
    return tr_fail(err, TR_E_USAGE, 0,
                   "a database URL begins with sqlite:, postgres:// or mysql://");
}

static int server_row(void *arg, const struct tq_val *cols, int ncols)
{
    char *out = arg;
    size_t len = ncols > 0 && cols[0].p ? cols[0].len : 0;

    if (len > 63)
        len = 63;
    if (len)
        memcpy(out, cols[0].p, len);
    out[len] = '\0';
    return 0;
}

/* SKIP LOCKED, RETURNING and descending indexes decide the oldest servers that can work. */
static int check_server(tq *q, struct tr_err *err)
{
    struct tqi_link l = {.q = q, .drv = q->drv, .conn = q->conn, .own = true};
    char version[64] = "";
    int major = 0, minor = 0;

    if (!tqi_has(&l, S_SERVER))
        return 0;
    int r = tqi_exec(&l, S_SERVER, NULL, 0, server_row, version, NULL, err);
    if (r < 0)
        return r;
    /* NOLINTNEXTLINE(cert-err34-c): the server's own words; two small numbers or nothing */
    if (sscanf(version, "%d.%d", &major, &minor) != 2)
        return 0;
    q->mariadb = strstr(version, "MariaDB") != NULL;
    bool ok = q->be == BE_SQLITE ? major > 3 || minor >= 35
              : q->mariadb       ? major > 10 || (major == 10 && minor >= 8)
                                 : major >= 8;
    if (!ok)
        return tr_fail(err, TR_E_UNSUPPORTED, 0,
                       "the database server is version %s; needed: MySQL 8, MariaDB 10.8 or "
                       "SQLite 3.35",
                       version);
    return 0;
}

static void default_worker(char out[TQ_NAME_MAX + 1])
{
    char host[64] = "";

    if (gethostname(host, sizeof(host) - 1) < 0 || !host[0])
        (void)snprintf(host, sizeof(host), "localhost");
    (void)snprintf(out, TQ_NAME_MAX + 1, "%s:%d", host, (int)getpid());
}

static int apply_opts(tq *q, const struct tq_opts *o, struct tr_err *err)
{
    q->drv = o->driver;
    q->flags = o->flags;
    q->tries = o->flags & TQ_ONE_TRY ? 1 : 0;
    q->blobs = o->blobs;
    q->hooks = o->hooks;
    q->max_payload = o->max_payload ? o->max_payload : (size_t)4 << 20;
    q->inline_max = o->inline_max ? o->inline_max : (size_t)64 << 10;
    if (q->max_payload > TQ_PAYLOAD_MAX)
        return tr_fail(err, TR_E_LIMIT, 0, "max_payload may be at most %d", (int)TQ_PAYLOAD_MAX);
    q->info.size = sizeof(q->info);
    q->info.timeout_us = o->timeout_us > 0 ? o->timeout_us : 5000000;
    if (!o->worker) {
        default_worker(q->worker);
        return 0;
    }
    int r = tqi_check_name("worker name", o->worker, false, err);
    if (r >= 0)
        (void)snprintf(q->worker, sizeof(q->worker), "%s", o->worker);
    return r;
}

static void closep(tq **q)
{
    tq_close(*q);
}

int tq_open(tq **ret, const char *url, const struct tq_opts *o, struct tr_err *err)
{
    struct tq_opts opts = TQ_OPTS_INIT;
    TR_CLEANUP(closep) tq *q = NULL;

    if (!ret || !url || !o || o->size < offsetof(struct tq_opts, worker))
        return tr_fail(err, TR_E_USAGE, 0, "tq_open needs a URL and options (TQ_OPTS_INIT)");
    memcpy(&opts, o, o->size < sizeof(opts) ? o->size : sizeof(opts));
    if (!opts.driver)
        return tr_fail(err, TR_E_USAGE, 0,
                       "tq_opts.driver is missing: set it to tq_sqlite_driver(), tq_pg_driver() or "
                       "tq_mysql_driver()");
    q = calloc(1, sizeof(*q));
    if (q)
        q->url_copy = strdup(url);
    if (!q || !q->url_copy)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory for a queue handle");
    q->live_fd = q->probe_fd = -1;
    q->pid = getpid();
    int r = apply_opts(q, &opts, err);
    if (r >= 0)
        r = parse_url(q, url, err);
    if (r < 0)
        return r;
    static const char *const names[] = {"postgres", "mysql", "sqlite"};
    if (strcmp(names[q->be], q->drv->backend) != 0)
        return tr_fail(err, TR_E_USAGE, 0, "the URL is for %s, but the driver is for %s",
                       names[q->be], q->drv->backend);
    r = tqi_connect(q, err);
    if (r >= 0)
        r = check_server(q, err);
    if (r < 0)
        return r;
    *ret = TR_TAKE(q);
    return 0;
}

void tq_close(tq *q)
{
    if (!q)
        return;
    if (q->pid == getpid()) {
        tq_rollback(q);
        tqi_disconnect(q);
        if (q->listen_conn)
            q->drv->close(q->listen_conn, q->listen_cache);
    }
    tqi_live_end(q);
    free(q->url_copy);
    free(q);
}

struct tqi_queue *tqi_queue(tq *q, const char *name)
{
    for (int i = 0; i < q->nqueues; i++)
        if (!strcmp(q->queues[i].name, name))
            return &q->queues[i];
    /* More queues than places: forget the oldest. Nothing is lost but speed. */
    struct tqi_queue *m = &q->queues[q->nqueues < TQI_QUEUES_MAX ? q->nqueues++ : 0];
    memset(m, 0, sizeof(*m));
    (void)snprintf(m->name, sizeof(m->name), "%s", name);
    return m;
}
