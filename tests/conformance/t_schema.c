/* SPDX-License-Identifier: MIT
 *
 * t_schema.c - migrations up and down, and schemas that do not fit.
 */
#include "conf.h"

static void migrating_twice_changes_nothing(void **state)
{
    int newest = tq_schema_newest();

    (void)put("q", "x");
    assert_int_equal(OK(tq_migrate(E.q, -1, &E.err)), newest);
    assert_int_equal(OK(tq_schema_version(E.q, &E.err)), newest);
    (void)take(E.q, "q");
}

static void every_step_goes_down_and_up_again(void **state)
{
    int newest = tq_schema_newest();

    for (int v = newest - 1; v >= 0; v--) {
        assert_int_equal(OK(tq_migrate(E.q, v, &E.err)), v);
        assert_int_equal(OK(tq_schema_version(E.q, &E.err)), v);
    }
    for (int v = 1; v <= newest; v++)
        assert_int_equal(OK(tq_migrate(E.q, v, &E.err)), v);
    (void)put("q", "x");
    (void)take(E.q, "q");
}

static void steps_keep_the_jobs(void **state)
{
    int64_t id = put("q", "x");

    OK(tq_migrate(E.q, 1, &E.err));
    OK(tq_migrate(E.q, -1, &E.err));
    assert_int_equal(take(E.q, "q")->ref.id, id);
}

static void an_older_schema_is_refused_with_the_command_to_run(void **state)
{
    struct tq_item it = job("q", "x");
    tq *q = open_another();

    OK(tq_migrate(E.q, tq_schema_newest() - 1, &E.err));
    int r = tq_enqueue(q, &it, NULL, &E.err);
    char msg[TR_ERR_MSG_MAX];
    memcpy(msg, E.err.msg, sizeof(msg));
    OK(tq_migrate(E.q, -1, &E.err));
    assert_int_equal(r, TR_E_FATAL);
    assert_non_null(strstr(msg, "migrate up"));
    OK(tq_enqueue(q, &it, NULL, &E.err));
}

static void a_newer_schema_is_refused_and_not_touched(void **state)
{
    struct tq_item it = job("q", "x");
    struct tq_tx own = caller();
    tq *q = open_another();

    sql(own, "INSERT INTO tribunal_queue_schema (version, applied_at) VALUES (99, 0)");
    int use = tq_enqueue(q, &it, NULL, &E.err);
    int move = tq_migrate(q, -1, &E.err);
    sql(own, "DELETE FROM tribunal_queue_schema WHERE version = 99");
    assert_int_equal(use, TR_E_FATAL);
    assert_int_equal(move, TR_E_FATAL);
}

static void a_missing_schema_is_refused_also_in_a_transaction(void **state)
{
    struct tq_tx tx = caller();
    struct tq_item it = job("q", "x");
    tq *q = open_another();

    OK(tq_migrate(E.q, 0, &E.err));
    begin(tx);
    int r = tq_tx_enqueue(q, tx, &it, NULL, &E.err);
    assert_int_equal(tx.driver->state(tx.conn), TQ_CONN_TX);
    rollback(tx);
    OK(tq_migrate(E.q, -1, &E.err));
    assert_int_equal(r, TR_E_FATAL);
}

static void there_is_no_version_beyond_the_newest(void **state)
{
    FAILS(tq_migrate(E.q, tq_schema_newest() + 1, &E.err), TR_E_USAGE);
}

static void the_sql_of_every_step_can_be_shown(void **state)
{
    static const char *const backends[] = {"postgres", "mysql", "sqlite"};

    for (int b = 0; b < 3; b++)
        for (int v = 1; v <= tq_schema_newest(); v++) {
            const char *name = NULL;

            assert_non_null(tq_schema_sql(backends[b], v, 1, &name));
            assert_non_null(tq_schema_sql(backends[b], v, 0, NULL));
            assert_non_null(name);
        }
    assert_null(tq_schema_sql("oracle", 1, 1, NULL));
    assert_null(tq_schema_sql("mysql", tq_schema_newest() + 1, 1, NULL));
}

const struct promise schema_promises[] = {
    PROMISE(migrating_twice_changes_nothing),
    PROMISE(every_step_goes_down_and_up_again),
    PROMISE(steps_keep_the_jobs),
    PROMISE(an_older_schema_is_refused_with_the_command_to_run),
    PROMISE(a_newer_schema_is_refused_and_not_touched),
    PROMISE(a_missing_schema_is_refused_also_in_a_transaction),
    PROMISE(there_is_no_version_beyond_the_newest),
    PROMISE(the_sql_of_every_step_can_be_shown),
    {NULL, NULL}};
