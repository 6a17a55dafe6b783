/* SPDX-License-Identifier: MIT
 *
 * t_tx.c - in the caller's own transaction, on the caller's own connection.
 */
#include "conf.h"

static void enqueue_commits_with_the_callers_row(void **state)
{
    struct tq_tx tx = caller();
    struct tq_item it = job("q", "x");
    struct tq_enqueued out;

    begin(tx);
    OK(tq_tx_enqueue(E.q, tx, &it, &out, &E.err));
    sql(tx, "INSERT INTO biz VALUES (%lld, 1)", (long long)out.id);
    commit(tx);
    assert_int_equal(take(E.q, "q")->ref.id, out.id);
}

static void enqueue_is_undone_with_the_callers_row(void **state)
{
    struct tq_tx tx = caller();
    struct tq_item it = job("q", "x");

    begin(tx);
    OK(tq_tx_enqueue(E.q, tx, &it, NULL, &E.err));
    rollback(tx);
    assert_true(nothing_in(E.q, "q"));
}

static void an_uncommitted_job_is_invisible(void **state)
{
    struct tq_tx tx = caller();
    struct tq_item it = job("q", "x");

    if (E.lite)
        return; /* the claim would wait for the writer; what it sees is the same */
    begin(tx);
    OK(tq_tx_enqueue(E.q, tx, &it, NULL, &E.err));
    assert_true(nothing_in(E.q, "q"));
    commit(tx);
    (void)take(E.q, "q");
}

static void many_go_into_the_callers_transaction(void **state)
{
    struct tq_tx tx = caller();
    struct tq_item items[] = {job("q", "1"), job("q", "2"), job("q", "3")};
    tq_batch *b;

    items[1].unique_key = "k";
    items[1].unique_len = 1;
    begin(tx);
    OK(tq_tx_enqueue_many(E.q, tx, items, 3, NULL, &E.err));
    commit(tx);
    assert_int_equal(take_n(E.q, "q", 9, &b), 3);
}

static void ack_commits_with_the_callers_row(void **state)
{
    struct tq_tx tx = caller();

    (void)put("q", "x");
    struct tq_ref ref = take(E.q, "q")->ref;
    begin(tx);
    sql(tx, "INSERT INTO biz VALUES (%lld, 1)", (long long)ref.id);
    OK(tq_tx_ack(E.q, tx, ref, "ok", 2, &E.err));
    commit(tx);
    assert_int_equal(tq_verify(E.q, ref, &E.err), TQ_WAS_SETTLED);
    assert_int_equal(num("SELECT count(*) FROM biz"), 1);
}

static void rollback_after_ack_leaves_the_job_leased(void **state)
{
    struct tq_tx tx = caller();

    (void)put("q", "x");
    struct tq_ref ref = take(E.q, "q")->ref;
    begin(tx);
    sql(tx, "INSERT INTO biz VALUES (1, 1)");
    OK(tq_tx_ack(E.q, tx, ref, NULL, 0, &E.err));
    rollback(tx);
    assert_int_equal(num("SELECT count(*) FROM biz"), 0);
    assert_int_equal(tq_verify(E.q, ref, &E.err), TQ_STILL_MINE);
    OK(tq_ack(E.q, ref, NULL, 0, &E.err));
}

static void nack_commits_with_the_callers_row(void **state)
{
    struct tq_tx tx = caller();

    (void)put("q", "x");
    struct tq_ref ref = take(E.q, "q")->ref;
    begin(tx);
    sql(tx, "INSERT INTO biz VALUES (1, 2)");
    assert_int_equal(OK(tq_tx_nack(E.q, tx, ref, 0, "e", 1, &E.err)), TQ_SETTLED_AGAIN);
    commit(tx);
    assert_int_equal(tq_verify(E.q, ref, &E.err), TQ_WAS_RELEASED);
    assert_int_equal(take(E.q, "q")->attempts, 2);
}

static void nack_in_a_transaction_tells_that_it_buried(void **state)
{
    struct tq_tx tx = caller();
    struct tq_item it = job("q", "x");

    it.max_attempts = 1;
    (void)put_item(&it);
    struct tq_ref ref = take(E.q, "q")->ref;
    begin(tx);
    assert_int_equal(OK(tq_tx_nack(E.q, tx, ref, 0, "e", 1, &E.err)), TQ_SETTLED_BURIED);
    commit(tx);
    assert_int_equal(num("SELECT count(*) FROM job_dead_letter"), 1);
}

static void bury_discard_snooze_progress_work_in_a_transaction(void **state)
{
    struct tq_tx tx = caller();
    tq_batch *b;

    for (int i = 0; i < 4; i++)
        (void)put("q", "x");
    assert_int_equal(take_n(E.q, "q", 4, &b), 4);
    begin(tx);
    OK(tq_tx_bury(E.q, tx, tq_batch_job(b, 0)->ref, "e", 1, &E.err));
    OK(tq_tx_discard(E.q, tx, tq_batch_job(b, 1)->ref, NULL, 0, &E.err));
    OK(tq_tx_snooze(E.q, tx, tq_batch_job(b, 2)->ref, 3600LL * SEC, &E.err));
    OK(tq_tx_progress(E.q, tx, tq_batch_job(b, 3)->ref, "p", 1, &E.err));
    commit(tx);
    assert_int_equal(num("SELECT count(*) FROM job_history"), 2);
    assert_int_equal(num("SELECT count(*) FROM job_queue WHERE state = 0"), 1);
    assert_int_equal(num("SELECT count(*) FROM job_queue WHERE progress IS NOT NULL"), 1);
}

static void a_stale_ack_writes_nothing_of_the_queue(void **state)
{
    struct tq_tx tx = caller();

    (void)put("q", "x");
    struct tq_ref stale = lost_job("q");
    reclaim_n(1);
    begin(tx);
    FAILS(tq_tx_ack(E.q, tx, stale, NULL, 0, &E.err), TR_E_LOST);
    rollback(tx);
    assert_int_equal(num("SELECT count(*) FROM job_history"), 0);
    assert_int_equal(num("SELECT count(*) FROM job_queue"), 1);
}

static void a_lost_ack_does_not_break_the_callers_transaction(void **state)
{
    struct tq_tx tx = caller();
    struct tq_ref nobody = {123456789, 1};

    begin(tx);
    sql(tx, "INSERT INTO biz VALUES (7, 7)");
    FAILS(tq_tx_ack(E.q, tx, nobody, NULL, 0, &E.err), TR_E_LOST);
    FAILS(tq_tx_nack(E.q, tx, nobody, 0, NULL, 0, &E.err), TR_E_LOST);
    commit(tx);
    assert_int_equal(num("SELECT count(*) FROM biz"), 1);
}

static void a_poisoned_transaction_cannot_commit(void **state)
{
    struct tq_opts o = opts();
    struct tq_tx tx = caller();
    struct tq_ref nobody = {123456789, 1};

    o.flags = TQ_STALE_POISONS;
    tq *q = open_with(&o);
    begin(tx);
    sql(tx, "INSERT INTO biz VALUES (7, 7)");
    FAILS(tq_tx_ack(q, tx, nobody, NULL, 0, &E.err), TR_E_LOST);
    (void)try_sql(tx, "COMMIT");
    if (tx.driver->state(tx.conn) != TQ_CONN_IDLE)
        (void)try_sql(tx, "ROLLBACK");
    assert_int_equal(num("SELECT count(*) FROM biz"), 0);
}

static void poison_spares_valid_acks(void **state)
{
    struct tq_opts o = opts();
    struct tq_tx tx = caller();

    o.flags = TQ_STALE_POISONS;
    tq *q = open_with(&o);
    (void)put("q", "x");
    struct tq_ref ref = take(q, "q")->ref;
    begin(tx);
    sql(tx, "INSERT INTO biz VALUES (1, 1)");
    OK(tq_tx_ack(q, tx, ref, NULL, 0, &E.err));
    commit(tx);
    assert_int_equal(num("SELECT count(*) FROM biz"), 1);
}

static void the_library_never_ends_the_callers_transaction(void **state)
{
    struct tq_tx tx = caller();
    struct tq_item it = job("q", "x");

    (void)put("q", "x");
    struct tq_ref ref = take(E.q, "q")->ref;
    begin(tx);
    OK(tq_tx_enqueue(E.q, tx, &it, NULL, &E.err));
    OK(tq_tx_ack(E.q, tx, ref, NULL, 0, &E.err));
    assert_int_equal(tx.driver->state(tx.conn), TQ_CONN_TX);
    rollback(tx);
    assert_int_equal(tx.driver->state(tx.conn), TQ_CONN_IDLE);
}

static void nothing_stays_prepared_on_the_callers_connection(void **state)
{
    struct tq_tx tx = caller();
    struct tq_item it = job("q", "x");

    begin(tx);
    OK(tq_tx_enqueue(E.q, tx, &it, NULL, &E.err));
    commit(tx);
    if (E.pg)
        assert_int_equal(num_in(tx, "SELECT count(*) FROM pg_prepared_statements"), 0);
    sql(tx, "DELETE FROM job_queue"); /* SQLite: an open statement would keep a lock */
}

static void session_settings_of_the_caller_stay(void **state)
{
    struct tq_tx tx = caller();
    struct tq_item it = job("q", "x");

    begin(tx);
    OK(tq_tx_enqueue(E.q, tx, &it, NULL, &E.err));
    commit(tx);
    if (E.pg)
        assert_int_equal(num_in(tx, "SELECT count(*) FROM pg_settings WHERE source = 'session' "
                                    "AND name LIKE 'enable_%%'"),
                         0);
    if (E.my)
        assert_int_equal(num_in(tx, "SELECT @@session.autocommit"), 1);
}

static void mysql_repeatable_read_callers_see_the_fence(void **state)
{
    struct tq_tx tx = caller();

    (void)put("q", "x");
    begin(tx);
    if (!E.lite)
        (void)num_in(tx, "SELECT count(*) FROM job_queue"); /* takes the snapshot */
    if (E.lite)
        rollback(tx);
    struct tq_ref ref = take(E.q, "q")->ref; /* after it */
    if (E.lite)
        begin(tx);
    OK(tq_tx_ack(E.q, tx, ref, NULL, 0, &E.err));
    commit(tx);
    assert_int_equal(num("SELECT count(*) FROM job_history"), 1);
}

static void a_stale_snapshot_cannot_ack_anothers_run(void **state)
{
    struct tq_tx tx = caller();

    (void)put("q", "x");
    struct tq_ref stale = lost_job("q");
    if (!E.lite) {
        begin(tx);
        (void)num_in(tx, "SELECT count(*) FROM job_queue");
    }
    reclaim_n(1);
    all_due();
    struct tq_ref fresh = take(E.q, "q")->ref;
    if (E.lite)
        begin(tx);
    FAILS(tq_tx_ack(E.q, tx, stale, NULL, 0, &E.err), TR_E_LOST);
    rollback(tx);
    OK(tq_ack(E.q, fresh, NULL, 0, &E.err));
}

static void a_deferred_sqlite_transaction_is_told_to_start_again(void **state)
{
    struct tq_tx tx = caller();
    struct tq_item it = job("q", "x");

    if (!E.lite)
        return;
    sql(tx, "BEGIN");
    (void)num_in(tx, "SELECT count(*) FROM job_queue");
    (void)put("q", "y"); /* another writer moves on */
    FAILS(tq_tx_enqueue(E.q, tx, &it, NULL, &E.err), TR_E_ABORT);
    rollback(tx);
}

static void business_rows_and_acks_agree_over_many_transactions(void **state)
{
    struct tq_tx tx = caller();

    for (int i = 0; i < 40; i++)
        (void)put("q", "x");
    for (int i = 0; i < 40; i++) {
        struct tq_ref ref = take(E.q, "q")->ref;

        begin(tx);
        sql(tx, "INSERT INTO biz VALUES (%lld, 1)", (long long)ref.id);
        OK(tq_tx_ack(E.q, tx, ref, NULL, 0, &E.err));
        if (i % 3 == 0) {
            rollback(tx);
            OK(tq_bury(E.q, ref, NULL, 0, &E.err));
        } else {
            commit(tx);
        }
    }
    assert_int_equal(num("SELECT count(*) FROM biz"),
                     num("SELECT count(*) FROM job_history WHERE status_final = 'completed'"));
}

static void once_is_true_once(void **state)
{
    struct tq_tx tx = caller();

    begin(tx);
    assert_int_equal(OK(tq_tx_once(E.q, tx, "pay\0 1", 6, 0, &E.err)), 1);
    assert_int_equal(OK(tq_tx_once(E.q, tx, "pay\0 1", 6, 0, &E.err)), 0);
    assert_int_equal(OK(tq_tx_once(E.q, tx, "pay\0 2", 6, 0, &E.err)), 1);
    commit(tx);
    begin(tx);
    assert_int_equal(OK(tq_tx_once(E.q, tx, "pay\0 1", 6, 0, &E.err)), 0);
    rollback(tx);
}

static void once_is_rolled_back_with_the_transaction(void **state)
{
    struct tq_tx tx = caller();

    begin(tx);
    assert_int_equal(OK(tq_tx_once(E.q, tx, "k", 1, 0, &E.err)), 1);
    rollback(tx);
    begin(tx);
    assert_int_equal(OK(tq_tx_once(E.q, tx, "k", 1, 0, &E.err)), 1);
    commit(tx);
}

const struct promise tx_promises[] = {PROMISE(enqueue_commits_with_the_callers_row),
                                      PROMISE(enqueue_is_undone_with_the_callers_row),
                                      PROMISE(an_uncommitted_job_is_invisible),
                                      PROMISE(many_go_into_the_callers_transaction),
                                      PROMISE(ack_commits_with_the_callers_row),
                                      PROMISE(rollback_after_ack_leaves_the_job_leased),
                                      PROMISE(nack_commits_with_the_callers_row),
                                      PROMISE(nack_in_a_transaction_tells_that_it_buried),
                                      PROMISE(bury_discard_snooze_progress_work_in_a_transaction),
                                      PROMISE(a_stale_ack_writes_nothing_of_the_queue),
                                      PROMISE(a_lost_ack_does_not_break_the_callers_transaction),
                                      PROMISE(a_poisoned_transaction_cannot_commit),
                                      PROMISE(poison_spares_valid_acks),
                                      PROMISE(the_library_never_ends_the_callers_transaction),
                                      PROMISE(nothing_stays_prepared_on_the_callers_connection),
                                      PROMISE(session_settings_of_the_caller_stay),
                                      PROMISE(mysql_repeatable_read_callers_see_the_fence),
                                      PROMISE(a_stale_snapshot_cannot_ack_anothers_run),
                                      PROMISE(a_deferred_sqlite_transaction_is_told_to_start_again),
                                      PROMISE(business_rows_and_acks_agree_over_many_transactions),
                                      PROMISE(once_is_true_once),
                                      PROMISE(once_is_rolled_back_with_the_transaction),
                                      {NULL, NULL}};
