/* SPDX-License-Identifier: MIT
 *
 * t_limit.c - pause, concurrency, rate, longest lease.
 */
#include "conf.h"

static void set(const struct tq_config *c)
{
    OK(tq_config_set(E.q, "q", c, &E.err));
}

static void a_paused_queue_gives_nothing(void **state)
{
    (void)put("q", "x");
    OK(tq_pause(E.q, "q", 1, &E.err));
    assert_true(nothing_in(E.q, "q"));
    assert_true(nothing_in(open_another(), "q"));
    (void)put("other", "x");
    (void)take(E.q, "other");
}

static void pause_takes_effect_at_the_next_claim(void **state)
{
    for (int i = 0; i < 3; i++)
        (void)put("q", "x");
    tq *worker = open_another();
    (void)take(worker, "q");
    OK(tq_pause(E.q, "q", 1, &E.err));
    assert_true(nothing_in(worker, "q"));
}

static void resume_takes_effect_at_the_next_claim(void **state)
{
    (void)put("q", "x");
    tq *worker = open_another();
    OK(tq_pause(E.q, "q", 1, &E.err));
    assert_true(nothing_in(worker, "q"));
    OK(tq_pause(E.q, "q", 0, &E.err));
    (void)take(worker, "q");
}

static void a_paused_queue_still_takes_jobs_and_acks(void **state)
{
    (void)put("q", "x");
    struct tq_ref ref = take(E.q, "q")->ref;
    OK(tq_pause(E.q, "q", 1, &E.err));
    (void)put("q", "y");
    OK(tq_ack(E.q, ref, NULL, 0, &E.err));
}

static void concurrency_is_limited_over_all_handles(void **state)
{
    struct tq_config c = TQ_CONFIG_INIT;
    tq_batch *b;

    c.concurrency_limit = 3;
    set(&c);
    for (int i = 0; i < 10; i++)
        (void)put("q", "x");
    assert_int_equal(take_n(E.q, "q", 2, &b), 2);
    assert_int_equal(take_n(open_another(), "q", 5, &b), 1);
    assert_true(nothing_in(open_another(), "q"));
}

static void a_settled_job_frees_its_place(void **state)
{
    struct tq_config c = TQ_CONFIG_INIT;

    c.concurrency_limit = 1;
    set(&c);
    for (int i = 0; i < 6; i++)
        (void)put("q", "x");
    struct tq_ref ref = take(E.q, "q")->ref;
    assert_true(nothing_in(E.q, "q"));
    OK(tq_ack(E.q, ref, NULL, 0, &E.err));
    ref = take(E.q, "q")->ref;
    OK(tq_nack(E.q, ref, 3600LL * SEC, NULL, 0, &E.err));
    ref = take(E.q, "q")->ref;
    OK(tq_bury(E.q, ref, NULL, 0, &E.err));
    ref = take(E.q, "q")->ref;
    OK(tq_snooze(E.q, ref, 3600LL * SEC, &E.err));
    ref = take(E.q, "q")->ref;
    OK(tq_cancel(E.q, ref.id, 1, &E.err));
    (void)take(E.q, "q");
    assert_true(nothing_in(E.q, "q"));
}

static void a_reclaimed_job_frees_its_place(void **state)
{
    struct tq_config c = TQ_CONFIG_INIT;

    c.concurrency_limit = 1;
    set(&c);
    (void)put("q", "x");
    (void)put("q", "y");
    (void)lost_job("q");
    assert_true(nothing_in(E.q, "q"));
    reclaim_n(1);
    (void)take(E.q, "q");
}

static void an_ack_rolled_back_keeps_its_place(void **state)
{
    struct tq_config c = TQ_CONFIG_INIT;
    struct tq_tx tx = caller();

    c.concurrency_limit = 1;
    set(&c);
    (void)put("q", "x");
    (void)put("q", "y");
    struct tq_ref ref = take(E.q, "q")->ref;
    begin(tx);
    OK(tq_tx_ack(E.q, tx, ref, NULL, 0, &E.err));
    if (!E.lite)
        assert_true(nothing_in(E.q, "q"));
    rollback(tx);
    assert_true(nothing_in(E.q, "q"));
    begin(tx);
    OK(tq_tx_ack(E.q, tx, ref, NULL, 0, &E.err));
    commit(tx);
    (void)take(E.q, "q");
}

static void a_raised_limit_lets_more_run(void **state)
{
    struct tq_config c = TQ_CONFIG_INIT;
    tq_batch *b;

    c.concurrency_limit = 1;
    set(&c);
    for (int i = 0; i < 5; i++)
        (void)put("q", "x");
    assert_int_equal(take_n(E.q, "q", 5, &b), 1);
    c.concurrency_limit = 3;
    set(&c);
    assert_int_equal(take_n(E.q, "q", 5, &b), 2);
}

static void a_lowered_limit_counts_what_runs(void **state)
{
    struct tq_config c = TQ_CONFIG_INIT;
    tq_batch *b, *rest;

    c.concurrency_limit = 4;
    set(&c);
    for (int i = 0; i < 8; i++)
        (void)put("q", "x");
    assert_int_equal(take_n(E.q, "q", 8, &b), 4);
    c.concurrency_limit = 2;
    set(&c);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(take_n(E.q, "q", 8, &rest), 0);
        OK(tq_ack(E.q, tq_batch_job(b, i)->ref, NULL, 0, &E.err));
    }
    assert_int_equal(take_n(E.q, "q", 8, &rest), 0);
    OK(tq_ack(E.q, tq_batch_job(b, 2)->ref, NULL, 0, &E.err));
    assert_int_equal(take_n(E.q, "q", 8, &rest), 1);
}

static void a_rate_limits_starts_over_all_handles(void **state)
{
    struct tq_config c = TQ_CONFIG_INIT;
    tq_batch *b;

    c.rate_per_sec = 0.01;
    c.rate_burst = 3;
    set(&c);
    for (int i = 0; i < 10; i++)
        (void)put("q", "x");
    assert_int_equal(take_n(E.q, "q", 2, &b), 2);
    assert_int_equal(take_n(open_another(), "q", 5, &b), 1);
    assert_true(nothing_in(E.q, "q"));
}

static void a_rate_refills_with_time(void **state)
{
    struct tq_config c = TQ_CONFIG_INIT;
    tq_batch *b;

    c.rate_per_sec = 1;
    c.rate_burst = 2;
    set(&c);
    for (int i = 0; i < 10; i++)
        (void)put("q", "x");
    assert_int_equal(take_n(E.q, "q", 10, &b), 2);
    S.clock_us = 60LL * SEC;
    assert_int_equal(take_n(E.q, "q", 10, &b), 2); /* no more than the burst, however long */
}

static void a_long_lease_is_cut(void **state)
{
    struct tq_config c = TQ_CONFIG_INIT;

    c.max_lease_us = 5LL * SEC;
    set(&c);
    (void)put("q", "x");
    const struct tq_job *j = take_for(E.q, "q", 3600LL * SEC);
    assert_true(j->lease_until_us <= db_now() + 5LL * SEC);
    assert_int_equal(num("SELECT lease_until FROM job_queue"), j->lease_until_us);
}

static void configuration_is_read_as_written(void **state)
{
    struct tq_config c = TQ_CONFIG_INIT, got = TQ_CONFIG_INIT;

    c.concurrency_limit = 7;
    c.rate_per_sec = 2.5;
    c.rate_burst = 9;
    c.max_lease_us = 11;
    c.base_backoff_us = 12;
    c.max_backoff_us = 13;
    c.jitter_percent = 14;
    c.retention_us = 15;
    set(&c);
    OK(tq_config_get(E.q, "q", &got, &E.err));
    assert_int_equal(got.concurrency_limit, 7);
    assert_true(got.rate_per_sec > 2.49 && got.rate_per_sec < 2.51);
    assert_int_equal(got.rate_burst, 9);
    assert_int_equal(got.max_lease_us, 11);
    assert_int_equal(got.base_backoff_us, 12);
    assert_int_equal(got.max_backoff_us, 13);
    assert_int_equal(got.jitter_percent, 14);
    assert_int_equal(got.retention_us, 15);
    OK(tq_pause(E.q, "q", 1, &E.err));
    OK(tq_config_get(E.q, "q", &got, &E.err));
    assert_int_equal(got.paused, 1);
    assert_int_equal(got.concurrency_limit, 7);
}

static void an_unconfigured_queue_has_defaults(void **state)
{
    struct tq_config got = TQ_CONFIG_INIT;

    OK(tq_config_get(E.q, "nobody", &got, &E.err));
    assert_int_equal(got.paused, 0);
    assert_int_equal(got.concurrency_limit, 0);
    assert_int_equal(got.jitter_percent, -1);
}

const struct promise limit_promises[] = {PROMISE(a_paused_queue_gives_nothing),
                                         PROMISE(pause_takes_effect_at_the_next_claim),
                                         PROMISE(resume_takes_effect_at_the_next_claim),
                                         PROMISE(a_paused_queue_still_takes_jobs_and_acks),
                                         PROMISE(concurrency_is_limited_over_all_handles),
                                         PROMISE(a_settled_job_frees_its_place),
                                         PROMISE(a_reclaimed_job_frees_its_place),
                                         PROMISE(an_ack_rolled_back_keeps_its_place),
                                         PROMISE(a_raised_limit_lets_more_run),
                                         PROMISE(a_lowered_limit_counts_what_runs),
                                         PROMISE(a_rate_limits_starts_over_all_handles),
                                         PROMISE(a_rate_refills_with_time),
                                         PROMISE(a_long_lease_is_cut),
                                         PROMISE(configuration_is_read_as_written),
                                         PROMISE(an_unconfigured_queue_has_defaults),
                                         {NULL, NULL}};
