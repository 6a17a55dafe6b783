/* SPDX-License-Identifier: MIT
 *
 * t_fused.c - tq_settle_and_claim(): the end of one run and the start of the next are one commit.
 */
#include "conf.h"

static const struct tq_weighted only_q[] = {{"q", 1}};
static struct tr_err ignored;

static struct tq_settlement end_as(struct tq_ref ref, int end)
{
    struct tq_settlement s = TQ_SETTLEMENT_INIT;

    s.ref = ref;
    s.end = end;
    return s;
}

static int fused(tq *q, struct tq_settlement *s, size_t n, int max, tq_batch **b)
{
    return tq_settle_and_claim(q, s, n, only_q, 1, max, 60 * SEC, b, &E.err);
}

static void the_end_and_the_next_start_come_from_one_call(void **state)
{
    tq_batch *b = NULL;

    (void)put("q", "1");
    int64_t second = put("q", "2");
    struct tq_settlement s = end_as(take(E.q, "q")->ref, TQ_ACK);
    assert_int_equal(OK(fused(E.q, &s, 1, 10, &b)), 1);
    assert_int_equal(s.result, TQ_SETTLED_FINAL);
    assert_int_equal(tq_batch_job(b, 0)->ref.id, second);
    assert_int_equal(tq_batch_job(b, 0)->state, TQ_RUNNING);
    tq_batch_free(b);
    assert_int_equal(num("SELECT count(*) FROM job_history WHERE status_final = 'completed'"), 1);
}

static void a_stale_item_does_not_stop_the_claim(void **state)
{
    tq_batch *b = NULL;

    (void)put("q", "1");
    (void)put("q", "2");
    struct tq_ref ref = take(E.q, "q")->ref;
    struct tq_settlement s[2] = {end_as(ref, TQ_ACK), end_as(ref, TQ_ACK)};
    s[0].ref.run_lease += 7;
    assert_int_equal(OK(fused(E.q, s, 2, 1, &b)), 1);
    assert_int_equal(s[0].result, TR_E_LOST);
    assert_int_equal(s[1].result, TQ_SETTLED_FINAL);
    tq_batch_free(b);
}

static void with_nothing_to_settle_it_is_a_claim(void **state)
{
    tq_batch *b = NULL;

    (void)put("q", "1");
    assert_int_equal(OK(fused(E.q, NULL, 0, 1, &b)), 1);
    tq_batch_free(b);
}

static void with_nothing_to_claim_it_is_a_settlement(void **state)
{
    tq_batch *b = NULL;

    (void)put("q", "1");
    struct tq_settlement s = end_as(take(E.q, "q")->ref, TQ_ACK);
    assert_int_equal(OK(fused(E.q, &s, 1, 1, &b)), 0);
    assert_null(b);
    assert_int_equal(s.result, TQ_SETTLED_FINAL);
}

static void a_slot_that_is_given_back_is_taken_again_at_once(void **state)
{
    struct tq_config c = TQ_CONFIG_INIT;
    tq_batch *b = NULL;

    c.concurrency_limit = 1;
    OK(tq_config_set(E.q, "q", &c, &E.err));
    (void)put("q", "1");
    (void)put("q", "2");
    struct tq_settlement s = end_as(take(E.q, "q")->ref, TQ_ACK);
    assert_true(nothing_in(E.q, "q"));
    assert_int_equal(OK(fused(E.q, &s, 1, 5, &b)), 1);
    tq_batch_free(b);
    assert_int_equal(num("SELECT count(*) FROM job_slot WHERE job_id IS NOT NULL"), 1);
}

static void a_released_job_can_be_claimed_by_the_same_call(void **state)
{
    tq_batch *b = NULL;

    int64_t id = put("q", "1");
    struct tq_ref ref = take(E.q, "q")->ref;
    struct tq_settlement s = end_as(ref, TQ_RELEASE);
    assert_int_equal(OK(fused(E.q, &s, 1, 1, &b)), 1);
    assert_int_equal(tq_batch_job(b, 0)->ref.id, id);
    assert_true(tq_batch_job(b, 0)->ref.run_lease > ref.run_lease);
    tq_batch_free(b);
}

static void a_claim_that_makes_no_sense_settles_nothing(void **state)
{
    tq_batch *b = NULL;

    (void)put("q", "1");
    struct tq_settlement s = end_as(take(E.q, "q")->ref, TQ_ACK);
    FAILS(fused(E.q, &s, 1, 0, &b), TR_E_LIMIT);
    FAILS(tq_settle_and_claim(E.q, &s, 1, only_q, 0, 1, SEC, &b, &E.err), TR_E_LIMIT);
    assert_int_equal(OK(tq_verify(E.q, s.ref, &E.err)), TQ_STILL_MINE);
}

static void after_a_lost_answer_verify_tells_the_truth(void **state)
{
    tq_batch *b = NULL;

    (void)put("q", "1");
    (void)put("q", "2");
    struct tq_settlement s = end_as(take(E.q, "q")->ref, TQ_ACK);
    S.lose_commit = true;
    FAILS(fused(E.q, &s, 1, 1, &b), TR_E_UNSURE);
    assert_null(b);
    assert_int_equal(OK(tq_verify(E.q, s.ref, &E.err)), TQ_WAS_SETTLED);
    assert_int_equal(num("SELECT count(*) FROM job_queue WHERE state = 2"), 1);
}

/* The process dies before and after each statement: the old run has ended if and only if the new
 * one has begun. */
static void death_at_any_statement_leaves_both_or_neither(void **state)
{
    struct tq_opts o = opts();

    for (int after = 0; after < 2; after++)
        for (int64_t k = 1;; k++) {
            tq_batch *b = NULL;

            (void)suite_teardown(NULL);
            (void)suite_setup(NULL);
            (void)put("q", "1");
            (void)put("q", "2");
            tq *victim = open_with(&o);
            struct tq_settlement s = end_as(take(victim, "q")->ref, TQ_ACK);
            S.calls = 0;
            S.crash_at = k;
            S.crash_after = after;
            (void)tq_settle_and_claim(victim, &s, 1, only_q, 1, 1, 60 * SEC, &b, &ignored);
            bool complete = !S.dead;
            memset(&S, 0, sizeof(S));
            close_handle(victim);
            tq_batch_free(b);
            int64_t ended = num("SELECT count(*) FROM job_history");
            assert_int_equal(num("SELECT count(*) FROM job_queue"), 2 - ended);
            assert_int_equal(num("SELECT count(*) FROM job_queue WHERE state = 1"), 1 - ended);
            if (complete) {
                assert_int_equal(ended, 1);
                break;
            }
            assert_true(k < 30);
        }
}

const struct promise fused_promises[] = {PROMISE(the_end_and_the_next_start_come_from_one_call),
                                         PROMISE(a_stale_item_does_not_stop_the_claim),
                                         PROMISE(with_nothing_to_settle_it_is_a_claim),
                                         PROMISE(with_nothing_to_claim_it_is_a_settlement),
                                         PROMISE(a_slot_that_is_given_back_is_taken_again_at_once),
                                         PROMISE(a_released_job_can_be_claimed_by_the_same_call),
                                         PROMISE(a_claim_that_makes_no_sense_settles_nothing),
                                         PROMISE(after_a_lost_answer_verify_tells_the_truth),
                                         PROMISE(death_at_any_statement_leaves_both_or_neither),
                                         {0}};
