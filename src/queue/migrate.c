/* SPDX-License-Identifier: MIT
 *
 * migrate.c - the schema, step by step.
 *
 * One program migrates at a time: PostgreSQL and MySQL hold a named lock, SQLite the write lock.
 * MySQL commits at every CREATE, so a step that breaks there leaves its tables behind; the version
 * is written last, and the next run meets "already exists" with the table's name.
 */
#include <string.h>

#include "queue/internal.h"

static const struct tq_migration *moves_of(const char *backend)
{
    return !strcmp(backend, "postgres") ? tq_migrations_postgres
           : !strcmp(backend, "mysql")  ? tq_migrations_mysql
           : !strcmp(backend, "sqlite") ? tq_migrations_sqlite
                                        : NULL;
}

int tq_schema_newest(void)
{
    return TQ_SCHEMA_VERSION;
}

const char *tq_schema_sql(const char *backend, int n, int up, const char **ret_name)
{
    const struct tq_migration *m = backend ? moves_of(backend) : NULL;

    if (!m || n < 1 || n > TQ_SCHEMA_VERSION)
        return NULL;
    if (ret_name)
        *ret_name = m[n - 1].name;
    return up ? m[n - 1].up : m[n - 1].down;
}

static int read_version(struct tqi_link *l, struct tr_err *err)
{
    int64_t there = 0, version = 0;

    int r = tqi_scalar(l, S_SCHEMA_EXISTS, NULL, 0, &there, err);
    if (r <= 0)
        return r;
    r = tqi_scalar(l, S_SCHEMA_VERSION, NULL, 0, &version, err);
    return r < 0 ? r : (int)version;
}

int tq_schema_version(tq *q, struct tr_err *err)
{
    int r = tqi_connect(q, err);

    if (r < 0)
        return r;
    struct tqi_link l = {.q = q, .drv = q->drv, .conn = q->conn, .own = true};
    return read_version(&l, err);
}

/* MySQL takes one statement at a time. Our files have no ';' inside a statement but in triggers,
 * and MySQL's have none. */
static int run_script(struct tqi_link *l, const char *sql, struct tr_err *err)
{
    TR_CLEANUP(tr_buf_done) struct tr_buf one;

    tr_buf_init(&one, (size_t)1 << 20);
    if (l->q->be != BE_MYSQL)
        return tqi_exec_text(l, sql, err);
    for (const char *end; (end = strstr(sql, ";\n")) != NULL; sql = end + 2) {
        tr_buf_clear(&one);
        tr_buf_add(&one, sql, (size_t)(end - sql));
        int r = tr_buf_check(&one, "migration", err);
        if (r >= 0)
            r = tqi_exec_text(l, one.data, err);
        if (r < 0)
            return r;
    }
    return 0;
}

static int step(struct tqi_link *l, int n, bool up, struct tr_err *err)
{
    const struct tq_migration *m = &moves_of(l->drv->backend)[n - 1];
    struct tq_val version = tqi_int(n);

    int r = run_script(l, up ? m->up : m->down, err);
    if (r >= 0)
        r = tqi_exec(l, up ? S_SCHEMA_ADD : S_SCHEMA_REMOVE, &version, 1, NULL, NULL, NULL, err);
    if (r < 0)
        return tr_fail_wrap(err, "migration %d (%s) %s", n, m->name, up ? "up" : "down");
    return r;
}

static int skip_row(void *arg, const struct tq_val *cols, int ncols)
{
    return 0;
}

static int migrate_op(struct tqi_link *l, void *arg, struct tr_err *err)
{
    int target = *(int *)arg, r = 0;

    if (tqi_has(l, S_SCHEMA_LOCK))
        r = tqi_exec(l, S_SCHEMA_LOCK, NULL, 0, skip_row, NULL, NULL, err);
    if (r >= 0)
        r = tqi_exec(l, S_SCHEMA_TABLE, NULL, 0, NULL, NULL, NULL, err);
    int have = r < 0 ? r : read_version(l, err);
    if (have > TQ_SCHEMA_VERSION)
        return tr_fail(err, TR_E_FATAL, 0,
                       "the schema has version %d, newer than this library's %d: not touched", have,
                       (int)TQ_SCHEMA_VERSION);
    r = have;
    for (; r >= 0 && have < target; have++)
        r = step(l, have + 1, true, err);
    for (; r >= 0 && have > target; have--)
        r = step(l, have, false, err);
    if (r >= 0 && target == 0)
        r = tqi_exec(l, S_SCHEMA_DROP, NULL, 0, NULL, NULL, NULL, err);
    if (tqi_has(l, S_SCHEMA_UNLOCK))
        (void)tqi_exec(l, S_SCHEMA_UNLOCK, NULL, 0, skip_row, NULL, NULL, NULL);
    return r < 0 ? r : target;
}

int tq_migrate(tq *q, int target, struct tr_err *err)
{
    if (target < 0)
        target = TQ_SCHEMA_VERSION;
    if (target > TQ_SCHEMA_VERSION)
        return tr_fail(err, TR_E_USAGE, 0, "there is no schema version %d; the newest is %d",
                       target, (int)TQ_SCHEMA_VERSION);
    q->schema_ok = true; /* what the check would say is what we are here to change */
    int r = tqi_run(q, OP_TX, migrate_op, &target, err);
    q->schema_ok = false;
    return r;
}
