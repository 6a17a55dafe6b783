/* SPDX-License-Identifier: MIT
 *
 * t_claim.c - who gets which job.
 */
#include "conf.h"

static void claim_marks_the_job_running(void **state)
{
    (void)put("q", "x");
    const struct tq_job *j = take_for(E.q, "q", 30 * SEC);
    assert_int_equal(j->state, TQ_RUNNING);
    assert_int_equal(j->attempts, 1);
    assert_true(j->ref.run_lease > 0);
    assert_non_null(j->locked_by);
    assert_true(j->started_us > 0);
    int64_t left = j->lease_until_us - db_now();
    assert_true(left > 25 * SEC && left <= 30 * SEC);
    assert_int_equal(num("SELECT state FROM job_queue"), TQ_RUNNING);
}

static void a_claimed_job_is_not_claimed_again(void **state)
{
    (void)put("q", "x");
    (void)take(E.q, "q");
    assert_true(nothing_in(E.q, "q"));
    assert_true(nothing_in(open_another(), "q"));
}

static void claim_of_an_empty_queue_gives_nothing(void **state)
{
    tq_batch *b = (tq_batch *)&E;

    assert_int_equal(OK(tq_claim(E.q, "none", 5, SEC, &b, &E.err)), 0);
    assert_ptr_equal(b, &E);
}

static void claim_takes_at_most_max(void **state)
{
    tq_batch *b;

    for (int i = 0; i < 5; i++)
        (void)put("q", "x");
    assert_int_equal(take_n(E.q, "q", 3, &b), 3);
    assert_int_equal(take_n(E.q, "q", 3, &b), 2);
}

static void claim_keeps_to_its_queue(void **state)
{
    (void)put("a", "x");
    assert_true(nothing_in(E.q, "b"));
    (void)take(E.q, "a");
}

static void higher_priority_goes_first(void **state)
{
    static const int prio[] = {0, 5, -3, 5, 1};
    static const int want[] = {5, 5, 1, 0, -3};
    tq_batch *b;

    for (int i = 0; i < 5; i++) {
        struct tq_item it = job("q", "x");
        it.priority = prio[i];
        (void)put_item(&it);
    }
    assert_int_equal(take_n(E.q, "q", 5, &b), 5);
    for (int i = 0; i < 5; i++)
        assert_int_equal(tq_batch_job(b, i)->priority, want[i]);
    assert_true(tq_batch_job(b, 0)->ref.id < tq_batch_job(b, 1)->ref.id);
}

static void equal_priority_is_first_in_first_out(void **state)
{
    int64_t ids[10];

    for (int i = 0; i < 10; i++)
        ids[i] = put("q", "x");
    for (int i = 0; i < 10; i++)
        assert_int_equal(take(E.q, "q")->ref.id, ids[i]);
}

static void a_new_higher_priority_passes_the_backlog(void **state)
{
    for (int i = 0; i < 20; i++)
        (void)put("q", "x");
    for (int i = 0; i < 5; i++)
        (void)take(E.q, "q");
    struct tq_item it = job("q", "urgent");
    it.priority = 9;
    (void)put_item(&it);
    tq_batch *b;
    bool seen = false;
    UNTIL(take_n(E.q, "q", 1, &b) == 1 && (seen = seen || tq_batch_job(b, 0)->priority == 9, seen));
}

static void a_job_that_comes_back_is_seen_behind_the_watermark(void **state)
{
    tq_batch *b;

    for (int i = 0; i < 50; i++)
        (void)put("q", "x");
    struct tq_ref first = take(E.q, "q")->ref;
    for (int i = 0; i < 30; i++)
        (void)take(E.q, "q");
    tq *other = open_another();
    OK(tq_release(other, first, &E.err));
    bool seen = false;
    UNTIL(take_n(E.q, "q", 1, &b) == 1 &&
          (seen = seen || tq_batch_job(b, 0)->ref.id == first.id, seen));
}

static void run_lease_grows_at_every_claim(void **state)
{
    int64_t last = 0;

    (void)put("q", "x");
    for (int i = 0; i < 4; i++) {
        struct tq_ref ref = take(E.q, "q")->ref;

        assert_true(ref.run_lease > last);
        last = ref.run_lease;
        OK(tq_release(E.q, ref, &E.err));
    }
}

static void started_at_is_the_first_claim(void **state)
{
    (void)put("q", "x");
    const struct tq_job *j = take(E.q, "q");
    int64_t first = j->started_us;
    OK(tq_release(E.q, j->ref, &E.err));
    UNTIL(db_now() > first);
    assert_int_equal(take(E.q, "q")->started_us, first);
}

static void locked_by_names_the_worker(void **state)
{
    struct tq_opts o = opts();

    o.worker = "judge-light-1";
    tq *q = open_with(&o);
    (void)put("q", "x");
    assert_string_equal(take(q, "q")->locked_by, "judge-light-1");
    assert_int_equal(num("SELECT count(*) FROM job_queue WHERE locked_by = 'judge-light-1'"), 1);
}

static void claim_in_the_callers_transaction_commits_with_it(void **state)
{
    struct tq_tx tx = caller();
    tq_batch *b = NULL;
    int64_t id = put("q", "x");

    begin(tx);
    assert_int_equal(OK(tq_tx_claim(E.q, tx, "q", 1, 60 * SEC, &b, &E.err)), 1);
    sql(tx, "INSERT INTO biz VALUES (%lld, 1)", (long long)tq_batch_job(b, 0)->ref.id);
    commit(tx);
    struct tq_ref ref = tq_batch_job(b, 0)->ref;
    tq_batch_free(b);
    assert_int_equal(ref.id, id);
    assert_int_equal(num("SELECT state FROM job_queue"), TQ_RUNNING);
    assert_int_equal(num("SELECT count(*) FROM biz"), 1);
    OK(tq_ack(E.q, ref, NULL, 0, &E.err));
}

static void claim_in_the_callers_transaction_is_undone_with_it(void **state)
{
    struct tq_tx tx = caller();
    tq_batch *b = NULL;

    (void)put("q", "x");
    begin(tx);
    assert_int_equal(OK(tq_tx_claim(E.q, tx, "q", 1, 60 * SEC, &b, &E.err)), 1);
    struct tq_ref ref = tq_batch_job(b, 0)->ref;
    tq_batch_free(b);
    rollback(tx);
    FAILS(tq_ack(E.q, ref, NULL, 0, &E.err), TR_E_LOST);
    assert_int_equal(num("SELECT attempts FROM job_queue"), 0);
    (void)take(E.q, "q");
}

static void a_second_worker_gets_a_job_while_a_claim_is_open(void **state)
{
    struct tq_tx tx = caller();
    tq_batch *b = NULL;

    if (E.lite)
        return; /* one writer: see waits_on_sqlite_are_bounded */
    for (int i = 0; i < 3; i++)
        (void)put("q", "x");
    begin(tx);
    assert_int_equal(OK(tq_tx_claim(E.q, tx, "q", 1, 60 * SEC, &b, &E.err)), 1);
    int64_t held = tq_batch_job(b, 0)->ref.id;
    tq_batch_free(b);
    int64_t start = mono_us();
    assert_true(take(E.q, "q")->ref.id != held);
    assert_true(mono_us() - start < SEC);
    commit(tx);
}

static void enqueue_goes_through_while_a_claim_is_open(void **state)
{
    struct tq_tx tx = caller();
    tq_batch *b = NULL;

    if (E.lite)
        return;
    if (E.my)
        sql(tx, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
    begin(tx);
    assert_int_equal(OK(tq_tx_claim(E.q, tx, "q", 1, 60 * SEC, &b, &E.err)), 0);
    int64_t start = mono_us();
    (void)put("q", "x");
    assert_true(mono_us() - start < SEC);
    rollback(tx);
}

static void polling_an_empty_queue_does_not_block_producers(void **state)
{
    struct tq_tx tx;
    tq_batch *b = NULL;

    if (E.lite)
        return;
    OK(tq_begin(E.q, &tx, &E.err));
    assert_int_equal(OK(tq_claim(E.q, "q", 1, SEC, &b, &E.err)), 0);
    tq *producer = open_another();
    struct tq_item it = job("q", "x");
    int64_t start = mono_us();
    OK(tq_enqueue(producer, &it, NULL, &E.err));
    assert_true(mono_us() - start < SEC);
    tq_rollback(E.q);
}

static void waits_on_sqlite_are_bounded(void **state)
{
    struct tq_opts o = opts();
    struct tq_tx tx = caller();
    struct tq_item it = job("q", "x");

    if (!E.lite)
        return;
    o.timeout_us = 20000;
    tq *q = open_with(&o);
    begin(tx);
    int64_t start = mono_us();
    FAILS(tq_enqueue(q, &it, NULL, &E.err), TR_E_BUSY);
    assert_true(mono_us() - start < 5 * SEC);
    rollback(tx);
    OK(tq_enqueue(q, &it, NULL, &E.err));
}

static void several_queues_are_drained_by_one_call(void **state)
{
    struct tq_weighted w[] = {{"a", 3}, {"b", 1}, {"c", 0}};
    tq_batch *b = NULL;

    (void)put("a", "1");
    (void)put("b", "2");
    (void)put("c", "3");
    assert_int_equal(OK(tq_claim_any(E.q, w, 3, 10, 60 * SEC, &b, &E.err)), 3);
    tq_batch_free(b);
    b = NULL;
    assert_int_equal(OK(tq_claim_any(E.q, w, 3, 10, 60 * SEC, &b, &E.err)), 0);
}

static void weights_decide_which_queue_is_asked_first(void **state)
{
    struct tq_weighted w[] = {{"rare", 1}, {"often", 9}, {"last", 0}};
    int often = 0, last = 0;

    for (int i = 0; i < 60; i++) {
        (void)put("rare", "x");
        (void)put("often", "x");
        (void)put("last", "x");
    }
    for (int i = 0; i < 60; i++) {
        tq_batch *b = NULL;

        assert_int_equal(OK(tq_claim_any(E.q, w, 3, 1, 60 * SEC, &b, &E.err)), 1);
        often += !strcmp(tq_batch_job(b, 0)->queue, "often");
        last += !strcmp(tq_batch_job(b, 0)->queue, "last");
        tq_batch_free(b);
    }
    assert_true(often >= 40); /* 54 of 60 expected; below 40 once in ten million runs */
    assert_int_equal(last, 0);
}

static void groups_take_turns(void **state)
{
    tq_batch *b;

    for (int i = 0; i < 20; i++) {
        struct tq_item it = job("q", "big");
        it.group_key = "heavy";
        (void)put_item(&it);
    }
    (void)take_n(E.q, "q", 3, &b); /* some are running already */
    struct tq_item it = job("q", "small");
    it.group_key = "light";
    int64_t id = put_item(&it);
    assert_int_equal(take_n(E.q, "q", 2, &b), 2);
    assert_true(tq_batch_job(b, 0)->ref.id == id || tq_batch_job(b, 1)->ref.id == id);
}

static void groups_interleave_fairly(void **state)
{
    enum {
        N = 10
    };
    static struct tq_item items[3 * N];
    static const char *const names[] = {"a", "b", "c"};
    int seen[3] = {0, 0, 0};

    for (int i = 0; i < 3 * N; i++) {
        items[i] = job("q", "x");
        items[i].group_key = names[i / N];
    }
    for (int g = 0; g < 3; g++)
        OK(tq_enqueue_many(E.q, items + g * N, N, NULL, &E.err));
    for (int i = 0; i < 15; i++)
        seen[take(E.q, "q")->group_key[0] - 'a']++;
    for (int g = 0; g < 3; g++)
        assert_true(seen[g] >= 4 && seen[g] <= 6);
}

static void a_group_that_was_idle_gets_no_credit(void **state)
{
    tq_batch *b;
    struct tq_item it = job("q", "x");

    it.group_key = "old";
    (void)put_item(&it);
    OK(tq_ack(E.q, take(E.q, "q")->ref, NULL, 0, &E.err));
    for (int i = 0; i < 4; i++) {
        it.group_key = i % 2 ? "old" : "new";
        (void)put_item(&it);
    }
    assert_int_equal(take_n(E.q, "q", 2, &b), 2);
    assert_string_not_equal(tq_batch_job(b, 0)->group_key, tq_batch_job(b, 1)->group_key);
}

static void priority_beats_fairness(void **state)
{
    struct tq_item it = job("q", "x");

    it.group_key = "a";
    for (int i = 0; i < 5; i++)
        (void)put_item(&it);
    it.priority = 1;
    int64_t id = put_item(&it);
    assert_int_equal(take(E.q, "q")->ref.id, id);
}

static void delayed_jobs_of_a_group_do_not_come_in_one_lump(void **state)
{
    struct tq_item it = job("q", "x");
    tq_batch *b;

    it.group_key = "burst";
    it.delay_us = 3600LL * SEC;
    for (int i = 0; i < 10; i++)
        (void)put_item(&it);
    all_due();
    it.delay_us = 0;
    it.group_key = "single";
    (void)put_item(&it);
    tq *q = open_another();
    assert_int_equal(take_n(q, "q", 3, &b), 3);
    int single = 0;
    for (int i = 0; i < 3; i++)
        single += !strcmp(tq_batch_job(b, i)->group_key, "single");
    assert_int_equal(single, 1);
}

const struct promise claim_promises[] = {
    PROMISE(claim_marks_the_job_running),
    PROMISE(a_claimed_job_is_not_claimed_again),
    PROMISE(claim_of_an_empty_queue_gives_nothing),
    PROMISE(claim_takes_at_most_max),
    PROMISE(claim_keeps_to_its_queue),
    PROMISE(higher_priority_goes_first),
    PROMISE(equal_priority_is_first_in_first_out),
    PROMISE(a_new_higher_priority_passes_the_backlog),
    PROMISE(a_job_that_comes_back_is_seen_behind_the_watermark),
    PROMISE(run_lease_grows_at_every_claim),
    PROMISE(started_at_is_the_first_claim),
    PROMISE(locked_by_names_the_worker),
    PROMISE(claim_in_the_callers_transaction_commits_with_it),
    PROMISE(claim_in_the_callers_transaction_is_undone_with_it),
    PROMISE(a_second_worker_gets_a_job_while_a_claim_is_open),
    PROMISE(enqueue_goes_through_while_a_claim_is_open),
    PROMISE(polling_an_empty_queue_does_not_block_producers),
    PROMISE(waits_on_sqlite_are_bounded),
    PROMISE(several_queues_are_drained_by_one_call),
    PROMISE(weights_decide_which_queue_is_asked_first),
    PROMISE(groups_take_turns),
    PROMISE(groups_interleave_fairly),
    PROMISE(a_group_that_was_idle_gets_no_credit),
    PROMISE(priority_beats_fairness),
    PROMISE(delayed_jobs_of_a_group_do_not_come_in_one_lump),
    {NULL, NULL}};
