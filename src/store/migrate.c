/* SPDX-License-Identifier: MIT
 *
 * migrate.c - the store's tables, step by step, beside the queue's and with their own version line:
 * whoever uses the queue alone gets none of them.
 */
#include <string.h>

#include "base/buf.h"
#include "store/private.h"

int tr_store_schema_newest(void)
{
    return TS_SCHEMA_VERSION;
}

struct scalar {
    int64_t value;
    bool found;
};

static int scalar_row(void *arg, const struct tq_val *cols, int ncols)
{
    struct scalar *s = arg;

    if (ncols > 0 && cols[0].type != TQ_NULL) {
        s->value = ts_val_int(&cols[0]);
        s->found = true;
    }
    return 0;
}

static int read_version(struct tr_store *st, struct tr_err *err)
{
    struct scalar s = {0};
    int64_t r = ts_exec(st, TS_SCHEMA_EXISTS, TS_NO_MOVE, NULL, 0, scalar_row, &s, err);

    if (r < 0 || !s.found)
        return r < 0 ? (int)r : 0;
    s = (struct scalar){0};
    r = ts_exec(st, TS_SCHEMA_READ, TS_NO_MOVE, NULL, 0, scalar_row, &s, err);
    return r < 0 ? (int)r : (int)s.value;
}

/* MySQL takes one statement at a time; none of ours has a ';' inside. */
static int run_script(struct tr_store *st, const char *sql, struct tr_err *err)
{
    TR_CLEANUP(tr_buf_done) struct tr_buf one;

    tr_buf_init(&one, 1 << 20);
    if (strcmp(st->driver->backend, "mysql") != 0)
        return (int)ts_exec_text(st, sql, NULL, 0, NULL, NULL, err);
    for (const char *end; (end = strstr(sql, ";\n")) != NULL; sql = end + 2) {
        tr_buf_clear(&one);
        tr_buf_add(&one, sql, (size_t)(end - sql));
        int r = tr_buf_check(&one, "migration", err);
        if (r >= 0)
            r = (int)ts_exec_text(st, one.data, NULL, 0, NULL, NULL, err);
        if (r < 0)
            return r;
    }
    return 0;
}

static int step(struct tr_store *st, int n, bool up, struct tr_err *err)
{
    const struct ts_migration *m = &st->moves[n - 1];
    struct tq_val version = ts_int(n);
    int r = run_script(st, up ? m->up : m->down, err);

    if (r >= 0)
        r = (int)ts_exec(st, up ? TS_SCHEMA_ADD : TS_SCHEMA_REMOVE, TS_NO_MOVE, &version, 1, NULL,
                         NULL, err);
    return r < 0 ? tr_fail_wrap(err, "store migration %d (%s) %s", n, m->name, up ? "up" : "down")
                 : 0;
}

static int steps(struct tr_store *st, int target, struct tr_err *err)
{
    int r = (int)ts_exec(st, TS_SCHEMA_TABLE, TS_NO_MOVE, NULL, 0, NULL, NULL, err);
    int have = r < 0 ? r : read_version(st, err);

    if (have < 0)
        return have;
    if (have > TS_SCHEMA_VERSION)
        return tr_fail(err, TR_E_FATAL, 0,
                       "the store's schema has version %d, newer than this program's %d: not "
                       "touched",
                       have, (int)TS_SCHEMA_VERSION);
    for (r = 0; r >= 0 && have < target; have++)
        r = step(st, have + 1, true, err);
    for (; r >= 0 && have > target; have--)
        r = step(st, have, false, err);
    if (r >= 0 && target == 0)
        r = (int)ts_exec(st, TS_SCHEMA_DROP, TS_NO_MOVE, NULL, 0, NULL, NULL, err);
    return r < 0 ? r : target;
}

static int migrate_op(struct tr_store *st, void *arg, struct tr_err *err)
{
    struct scalar s;
    int r = 0;

    if (st->sql[TS_SCHEMA_LOCK].sql)
        r = (int)ts_exec(st, TS_SCHEMA_LOCK, TS_NO_MOVE, NULL, 0, scalar_row, &s, err);
    if (r >= 0)
        r = steps(st, *(int *)arg, err);
    if (st->sql[TS_SCHEMA_UNLOCK].sql)
        (void)ts_exec(st, TS_SCHEMA_UNLOCK, TS_NO_MOVE, NULL, 0, scalar_row, &s, NULL);
    /* MySQL has ended our transaction at the first CREATE; the caller is about to commit one. */
    if (r >= 0 && !strcmp(st->driver->backend, "mysql") &&
        ts_exec_text(st, "START TRANSACTION", NULL, 0, NULL, NULL, err) < 0)
        return TR_E_RETRY;
    return r;
}

int tr_store_migrate(struct tr_store *st, int target, struct tr_err *err)
{
    int want = target < 0 ? TS_SCHEMA_VERSION : target;

    if (want > TS_SCHEMA_VERSION)
        return tr_fail(err, TR_E_USAGE, 0, "there is no store version %d; the newest is %d", want,
                       (int)TS_SCHEMA_VERSION);
    int r = tq_migrate(st->q, -1, err);
    return r < 0 ? r : ts_run(st, migrate_op, &want, err);
}

static int version_op(struct tr_store *st, void *arg, struct tr_err *err)
{
    return read_version(st, err);
}

int tr_store_schema_version(struct tr_store *st, struct tr_err *err)
{
    int r = tq_schema_version(st->q, err); /* without the queue's tables there are none of ours */

    return r <= 0 ? r : ts_run(st, version_op, NULL, err);
}

int tr_store_check_schema(struct tr_store *st, struct tr_err *err)
{
    int have = tr_store_schema_version(st, err);

    if (have < 0 || have == TS_SCHEMA_VERSION)
        return have < 0 ? have : 0;
    return tr_fail(
        err, TR_E_FATAL, 0, "the submissions' schema has version %d and this program needs %d: %s",
        have, (int)TS_SCHEMA_VERSION,
        have < TS_SCHEMA_VERSION ? "it must be migrated first" : "it belongs to a newer tribunal");
}
