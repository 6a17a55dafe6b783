/* SPDX-License-Identifier: MIT
 *
 * t_crash.c - the process dies at every statement boundary, one after the other.
 *
 * A scenario is run again and again; in run k everything from statement k on fails as it would for
 * a process that was killed there, once before the database did it and once after. Then a new
 * process recovers. Whatever k was, the end must be the same: one job, one business row, one
 * entry in history, nothing lost and nothing double.
 */
#include "conf.h"

#include <unistd.h>

/* Runs one scenario on a handle that may die; `ref` is what it knows of its job. */
typedef void (*scenario)(tq *q, struct tq_tx tx, struct tq_ref *ref);

static struct tr_err ignored;

/* The worker: claim, write, ack in its own transaction. Every step may be the last. */
static void work_in_tx(tq *q, struct tq_tx tx, struct tq_ref *ref)
{
    tq_batch *b = NULL;
    char text[128];

    if (tq_claim(q, "q", 1, 1, &b, &ignored) != 1)
        return;
    *ref = tq_batch_job(b, 0)->ref;
    tq_batch_free(b);
    (void)snprintf(text, sizeof(text), "INSERT INTO biz VALUES (%lld, 1)", (long long)ref->id);
    if (tq_sql(tx, E.lite ? "BEGIN IMMEDIATE" : "BEGIN", NULL, 0, NULL, NULL, &ignored) >= 0 &&
        tq_sql(tx, text, NULL, 0, NULL, NULL, &ignored) >= 0 &&
        tq_tx_ack(q, tx, *ref, "ok", 2, &ignored) >= 0)
        (void)tq_sql(tx, "COMMIT", NULL, 0, NULL, NULL, &ignored);
}

/* Claim and the first row in one transaction, ack and the second in another. */
static void claim_in_tx(tq *q, struct tq_tx tx, struct tq_ref *ref)
{
    tq_batch *b = NULL;
    char text[128];

    if (tq_sql(tx, E.lite ? "BEGIN IMMEDIATE" : "BEGIN", NULL, 0, NULL, NULL, &ignored) < 0 ||
        tq_tx_claim(q, tx, "q", 1, 1, &b, &ignored) != 1)
        return;
    *ref = tq_batch_job(b, 0)->ref;
    tq_batch_free(b);
    if (tq_sql(tx, "COMMIT", NULL, 0, NULL, NULL, &ignored) < 0)
        return;
    (void)snprintf(text, sizeof(text), "INSERT INTO biz VALUES (%lld, 1)", (long long)ref->id);
    if (tq_sql(tx, E.lite ? "BEGIN IMMEDIATE" : "BEGIN", NULL, 0, NULL, NULL, &ignored) >= 0 &&
        tq_sql(tx, text, NULL, 0, NULL, NULL, &ignored) >= 0 &&
        tq_tx_ack(q, tx, *ref, NULL, 0, &ignored) >= 0)
        (void)tq_sql(tx, "COMMIT", NULL, 0, NULL, NULL, &ignored);
}

/* A failure first, on the library's own connection. */
static void nack_then_work(tq *q, struct tq_tx tx, struct tq_ref *ref)
{
    tq_batch *b = NULL;

    if (tq_claim(q, "q", 1, 1, &b, &ignored) != 1)
        return;
    *ref = tq_batch_job(b, 0)->ref;
    tq_batch_free(b);
    if (tq_nack(q, *ref, 0, "e", 1, &ignored) >= 0)
        work_in_tx(q, tx, ref);
}

/* A limited queue: slots must not leak either. */
static void work_limited(tq *q, struct tq_tx tx, struct tq_ref *ref)
{
    work_in_tx(q, tx, ref);
}

static int64_t live_or_done(void)
{
    return num("SELECT (SELECT count(*) FROM job_queue) + (SELECT count(*) FROM job_history WHERE "
               "status_final = 'completed')");
}

/* A new process: takes back what the dead one held, then does the work. */
static void recover(int jobs)
{
    struct tq_tx tx = caller();
    struct tq_ref ref;

    for (int64_t end = mono_us() + 10 * SEC;
         num("SELECT count(*) FROM job_history WHERE status_final = 'completed'") < jobs;) {
        if (mono_us() > end)
            fail_msg("not recovered: %lld live, %lld waiting",
                     (long long)num("SELECT count(*) FROM job_queue"),
                     (long long)num("SELECT count(*) FROM job_queue WHERE state = 3"));
        OK(tq_reclaim(E.q, 10, &E.err));
        all_due();
        work_in_tx(E.q, tx, &ref);
    }
}

static void prepare(scenario run)
{
    struct tq_item it = job("q", "x");

    it.max_attempts = 50;
    if (run == work_limited) {
        struct tq_config c = TQ_CONFIG_INIT;
        c.concurrency_limit = 1;
        OK(tq_config_set(E.q, "q", &c, &E.err));
    }
    (void)put_item(&it);
}

static void crash_everywhere(scenario run, bool after)
{
    struct tq_opts o = opts();
    int64_t k = 1;

    for (bool complete = false; !complete; k++) {
        struct tq_ref ref = {0, 0};

        (void)suite_teardown(NULL);
        (void)suite_setup(NULL);
        prepare(run);
        tq *victim = open_with(&o);
        struct tq_tx tx = caller();
        tx.driver = E.drv; /* the caller dies with its process */
        OK(tq_schema_version(victim, &E.err));
        S.calls = 0;
        S.crash_at = k;
        S.crash_after = after;
        run(victim, tx, &ref);
        complete = !S.dead;
        memset(&S, 0, sizeof(S));
        close_handle(victim); /* the server sees the connection end */
        if (tx.driver->state(tx.conn) != TQ_CONN_IDLE)
            (void)try_sql((struct tq_tx){E.real, tx.conn}, "ROLLBACK");
        assert_int_equal(live_or_done(), 1);
        recover(1);
        assert_int_equal(num("SELECT count(*) FROM biz"), 1);
        assert_int_equal(num("SELECT count(*) FROM job_history WHERE status_final = 'completed'"),
                         1);
        assert_int_equal(num("SELECT count(*) FROM job_queue"), 0);
        assert_int_equal(num("SELECT count(*) FROM job_slot WHERE job_id IS NOT NULL"), 0);
        assert_true(k < 100);
    }
    print_message("# %lld boundaries\n", (long long)k - 2);
    assert_true(k > 5);
}

static void death_before_any_statement_of_work_loses_nothing(void **state)
{
    crash_everywhere(work_in_tx, false);
}

static void death_after_any_statement_of_work_doubles_nothing(void **state)
{
    crash_everywhere(work_in_tx, true);
}

static void death_before_any_statement_of_a_claim_in_tx_loses_nothing(void **state)
{
    crash_everywhere(claim_in_tx, false);
}

static void death_after_any_statement_of_a_claim_in_tx_doubles_nothing(void **state)
{
    crash_everywhere(claim_in_tx, true);
}

static void death_before_any_statement_of_a_nack_loses_nothing(void **state)
{
    crash_everywhere(nack_then_work, false);
}

static void death_after_any_statement_of_a_nack_doubles_nothing(void **state)
{
    crash_everywhere(nack_then_work, true);
}

static void death_before_any_statement_leaks_no_slot(void **state)
{
    crash_everywhere(work_limited, false);
}

static void death_after_any_statement_leaks_no_slot(void **state)
{
    crash_everywhere(work_limited, true);
}

/* Enqueue of many with keys and groups: all of it or nothing. */
static void death_during_enqueue_leaves_all_or_nothing(void **state)
{
    struct tq_opts o = opts();

    for (int after = 0; after < 2; after++)
        for (int64_t k = 1;; k++) {
            struct tq_item items[4] = {job("q", "1"), job("q", "2"), job("q", "3"), job("q", "4")};

            (void)suite_teardown(NULL);
            (void)suite_setup(NULL);
            items[1].unique_key = "k";
            items[1].unique_len = 1;
            items[2].group_key = "g";
            tq *victim = open_with(&o);
            OK(tq_schema_version(victim, &E.err));
            S.crash_at = k;
            S.calls = 0;
            S.crash_after = after;
            (void)tq_enqueue_many(victim, items, 4, NULL, &ignored);
            bool complete = !S.dead;
            memset(&S, 0, sizeof(S));
            close_handle(victim);
            int64_t n = num("SELECT count(*) FROM job_queue");
            assert_true(n == 0 || n == 4);
            if (complete)
                break;
        }
}

static void death_during_reclaim_is_harmless(void **state)
{
    struct tq_opts o = opts();

    for (int after = 0; after < 2; after++)
        for (int64_t k = 1;; k++) {
            struct tq_item it = job("q", "x");

            (void)suite_teardown(NULL);
            (void)suite_setup(NULL);
            it.max_attempts = 1;
            (void)put_item(&it);
            (void)lost_job("q");
            UNTIL(db_now() > num("SELECT max(lease_until) FROM job_queue"));
            tq *victim = open_with(&o);
            OK(tq_schema_version(victim, &E.err));
            S.crash_at = k;
            S.calls = 0;
            S.crash_after = after;
            (void)tq_reclaim(victim, 10, &ignored);
            bool complete = !S.dead;
            memset(&S, 0, sizeof(S));
            close_handle(victim);
            UNTIL(OK(tq_reclaim(E.q, 10, &E.err)) >= 0 &&
                  num("SELECT count(*) FROM job_queue") == 0);
            assert_int_equal(num("SELECT count(*) FROM job_dead_letter"), 1);
            if (complete)
                break;
        }
}

static void follower_survives_the_death_of_its_predecessor(void **state)
{
    struct tq_item it = job("q", "x");

    it.max_attempts = 50;
    it.unique_key = "k";
    it.unique_len = 1;
    it.on_conflict = TQ_CONFLICT_AFTER_RUNNING;
    (void)put_item(&it);
    (void)lost_job("q");
    struct tq_enqueued out;
    OK(tq_enqueue(E.q, &it, &out, &E.err));
    assert_int_equal(out.existed, TQ_FOLLOWS);
    recover(2);
    assert_int_equal(num("SELECT count(*) FROM biz"), 2);
}

static void a_lost_commit_answer_can_be_verified(void **state)
{
    struct tq_tx tx = caller();

    (void)put("q", "x");
    struct tq_ref ref = take(E.q, "q")->ref;
    tx.driver = E.drv;
    begin(tx);
    sql(tx, "INSERT INTO biz VALUES (%lld, 1)", (long long)ref.id);
    OK(tq_tx_ack(E.q, tx, ref, NULL, 0, &E.err));
    S.lose_commit = true;
    assert_int_equal(try_sql(tx, "COMMIT"), TR_E_UNSURE);
    assert_int_equal(OK(tq_verify(E.q, ref, &E.err)), TQ_WAS_SETTLED);
    assert_int_equal(num("SELECT count(*) FROM biz"), 1);
}

static void a_lost_commit_of_the_library_is_unsure_and_then_known(void **state)
{
    struct tq_tx tx;

    (void)put("q", "x");
    struct tq_ref ref = take(E.q, "q")->ref;
    OK(tq_begin(E.q, &tx, &E.err));
    OK(tq_ack(E.q, ref, NULL, 0, &E.err));
    S.lose_commit = true;
    FAILS(tq_commit(E.q, &E.err), TR_E_UNSURE);
    assert_int_equal(OK(tq_verify(E.q, ref, &E.err)), TQ_WAS_SETTLED);
    FAILS(tq_ack(E.q, ref, NULL, 0, &E.err), TR_E_LOST);
}

static void a_commit_that_never_arrived_is_still_mine(void **state)
{
    struct tq_tx tx;

    (void)put("q", "x");
    struct tq_ref ref = take(E.q, "q")->ref;
    OK(tq_begin(E.q, &tx, &E.err));
    OK(tq_ack(E.q, ref, NULL, 0, &E.err));
    S.break_next = true;
    FAILS(tq_commit(E.q, &E.err), TR_E_UNSURE);
    assert_int_equal(OK(tq_verify(E.q, ref, &E.err)), TQ_STILL_MINE);
    OK(tq_ack(E.q, ref, NULL, 0, &E.err));
}

const struct promise crash_promises[] = {
    PROMISE(death_before_any_statement_of_work_loses_nothing),
    PROMISE(death_after_any_statement_of_work_doubles_nothing),
    PROMISE(death_before_any_statement_of_a_claim_in_tx_loses_nothing),
    PROMISE(death_after_any_statement_of_a_claim_in_tx_doubles_nothing),
    PROMISE(death_before_any_statement_of_a_nack_loses_nothing),
    PROMISE(death_after_any_statement_of_a_nack_doubles_nothing),
    PROMISE(death_before_any_statement_leaks_no_slot),
    PROMISE(death_after_any_statement_leaks_no_slot),
    PROMISE(death_during_enqueue_leaves_all_or_nothing),
    PROMISE(death_during_reclaim_is_harmless),
    PROMISE(follower_survives_the_death_of_its_predecessor),
    PROMISE(a_lost_commit_answer_can_be_verified),
    PROMISE(a_lost_commit_of_the_library_is_unsure_and_then_known),
    PROMISE(a_commit_that_never_arrived_is_still_mine),
    {NULL, NULL}};
