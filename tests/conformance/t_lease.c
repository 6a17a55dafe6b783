/* SPDX-License-Identifier: MIT
 *
 * t_lease.c - heartbeats, lost leases, reclaim, hooks, clocks, the truth after a lost answer.
 */
#include "conf.h"

static void heartbeat_extends_the_lease(void **state)
{
    unsigned char beat = 99;

    (void)put("q", "x");
    const struct tq_job *j = take_for(E.q, "q", 10 * SEC);
    assert_int_equal(OK(tq_heartbeat(E.q, &j->ref, 1, 100LL * SEC, &beat, &E.err)), 1);
    assert_int_equal(beat, TQ_BEAT_RENEWED);
    assert_true(num("SELECT lease_until FROM job_queue") > db_now() + 90LL * SEC);
}

static void an_adopted_job_is_lost_to_its_first_owner(void **state)
{
    (void)put("q", "x");
    const struct tq_job *j = take_for(E.q, "q", 10 * SEC);
    struct tq_ref old = j->ref, mine = j->ref;

    OK(tq_adopt(E.q, &mine, 100LL * SEC, &E.err));
    assert_int_equal(mine.run_lease, old.run_lease + 1);
    assert_int_equal(tq_ack(E.q, old, "", 0, &E.err), TR_E_LOST);
    assert_int_equal(tq_adopt(E.q, &old, 100LL * SEC, &E.err), TR_E_LOST);
    assert_true(num("SELECT lease_until FROM job_queue") > db_now() + 90LL * SEC);
    OK(tq_ack(E.q, mine, "", 0, &E.err));
}

static void heartbeats_go_in_one_batch(void **state)
{
    struct tq_ref refs[20];
    unsigned char beats[20];
    tq_batch *b;

    for (int i = 0; i < 20; i++)
        (void)put("q", "x");
    assert_int_equal(take_n(E.q, "q", 20, &b), 20);
    for (int i = 0; i < 20; i++)
        refs[i] = tq_batch_job(b, i)->ref;
    int64_t before = S.calls;
    assert_int_equal(OK(tq_heartbeat(E.q, refs, 20, 100LL * SEC, beats, &E.err)), 20);
    assert_true(S.calls - before <= 4);
}

static void heartbeat_tells_settled_from_lost(void **state)
{
    struct tq_ref refs[5];
    unsigned char beats[5];
    tq_batch *b;

    for (int i = 0; i < 5; i++)
        (void)put("q", "x");
    refs[4] = lost_job("q");
    reclaim_n(1);
    assert_int_equal(take_n(E.q, "q", 4, &b), 4);
    for (int i = 0; i < 4; i++)
        refs[i] = tq_batch_job(b, i)->ref;
    OK(tq_ack(E.q, refs[1], NULL, 0, &E.err));
    OK(tq_nack(E.q, refs[2], 3600LL * SEC, NULL, 0, &E.err));
    OK(tq_cancel(E.q, refs[3].id, 1, &E.err));
    assert_int_equal(OK(tq_heartbeat(E.q, refs, 5, 100LL * SEC, beats, &E.err)), 1);
    assert_int_equal(beats[0], TQ_BEAT_RENEWED);
    assert_int_equal(beats[1], TQ_BEAT_SETTLED);
    assert_int_equal(beats[2], TQ_BEAT_SETTLED);
    assert_int_equal(beats[3], TQ_BEAT_LOST);
    assert_int_equal(beats[4], TQ_BEAT_LOST);
}

static void heartbeat_is_not_blocked_by_an_open_ack(void **state)
{
    struct tq_tx tx = caller();
    struct tq_ref refs[3];
    unsigned char beats[3];
    tq_batch *b;

    if (E.lite)
        return; /* a live process keeps its leases by its lock */
    for (int i = 0; i < 3; i++)
        (void)put("q", "x");
    assert_int_equal(take_n(E.q, "q", 3, &b), 3);
    for (int i = 0; i < 3; i++)
        refs[i] = tq_batch_job(b, i)->ref;
    begin(tx);
    OK(tq_tx_ack(E.q, tx, refs[1], NULL, 0, &E.err));
    int64_t start = mono_us();
    assert_int_equal(OK(tq_heartbeat(E.q, refs, 3, 100LL * SEC, beats, &E.err)), 2);
    assert_true(mono_us() - start < SEC);
    assert_int_equal(beats[0], TQ_BEAT_RENEWED);
    assert_int_equal(beats[1], TQ_BEAT_SETTLING);
    assert_int_equal(beats[2], TQ_BEAT_RENEWED);
    commit(tx);
    assert_int_equal(OK(tq_heartbeat(E.q, refs, 3, 100LL * SEC, beats, &E.err)), 2);
    assert_int_equal(beats[1], TQ_BEAT_SETTLED);
}

static void heartbeat_after_a_rolled_back_ack_renews(void **state)
{
    struct tq_tx tx = caller();
    unsigned char beat;

    (void)put("q", "x");
    struct tq_ref ref = take(E.q, "q")->ref;
    begin(tx);
    OK(tq_tx_ack(E.q, tx, ref, NULL, 0, &E.err));
    rollback(tx);
    OK(tq_heartbeat(E.q, &ref, 1, 100LL * SEC, &beat, &E.err));
    assert_int_equal(beat, TQ_BEAT_RENEWED);
}

static void two_owners_with_one_name_are_told_apart(void **state)
{
    struct tq_opts o = opts();
    unsigned char beat;

    o.worker = "judge-1";
    tq *old = open_with(&o), *fresh = open_with(&o);
    (void)put("q", "x");
    struct tq_ref first = take_for(old, "q", 1)->ref;
    close_handle(old);
    reclaim_n(1);
    all_due();
    struct tq_ref second = take(fresh, "q")->ref;
    old = open_with(&o);
    FAILS(tq_ack(old, first, NULL, 0, &E.err), TR_E_LOST);
    OK(tq_heartbeat(old, &first, 1, SEC, &beat, &E.err));
    assert_int_equal(beat, TQ_BEAT_LOST);
    OK(tq_ack(fresh, second, NULL, 0, &E.err));
}

static void an_expired_lease_comes_back(void **state)
{
    int64_t id = put("q", "x");
    struct tq_ref ref = lost_job("q");

    reclaim_n(1);
    all_due();
    const struct tq_job *j = take(E.q, "q");
    assert_int_equal(j->ref.id, id);
    assert_true(j->ref.run_lease > ref.run_lease);
    assert_int_equal(j->crashes, 1);
    assert_int_equal(j->attempts, 2);
    assert_non_null(j->result);
}

static void a_valid_lease_is_not_reclaimed(void **state)
{
    (void)put("q", "x");
    struct tq_ref ref = take(E.q, "q")->ref;
    assert_int_equal(OK(tq_reclaim(open_another(), 100, &E.err)), 0);
    OK(tq_ack(E.q, ref, NULL, 0, &E.err));
}

static void a_reclaimed_job_waits_for_its_backoff(void **state)
{
    (void)put("q", "x");
    (void)lost_job("q");
    reclaim_n(1);
    assert_true(nothing_in(E.q, "q"));
}

static void reclaim_buries_a_job_on_its_last_attempt(void **state)
{
    struct tq_item it = job("q", "x");

    it.max_attempts = 1;
    int64_t id = put_item(&it);
    struct tq_ref ref = lost_job("q");
    reclaim_n(1);
    assert_int_equal(num("SELECT count(*) FROM job_queue"), 0);
    assert_int_equal(num("SELECT count(*) FROM job_dead_letter WHERE id = %lld", (long long)id), 1);
    assert_int_equal(tq_verify(E.q, ref, &E.err), TQ_WAS_LOST);
}

static void crashes_are_counted_apart_when_asked(void **state)
{
    struct tq_item it = job("q", "x");

    it.max_attempts = 1;
    it.max_crashes = 3;
    (void)put_item(&it);
    for (int i = 1; i < 3; i++) {
        (void)lost_job("q");
        reclaim_n(1);
        assert_int_equal(num("SELECT attempts FROM job_queue"), 0);
        assert_int_equal(num("SELECT crashes FROM job_queue"), i);
        all_due();
    }
    (void)lost_job("q");
    reclaim_n(1);
    assert_int_equal(num("SELECT count(*) FROM job_dead_letter"), 1);
}

static void reclaim_takes_no_more_than_asked(void **state)
{
    tq *victim = open_another();
    tq_batch *b = NULL;

    for (int i = 0; i < 10; i++)
        (void)put("q", "x");
    OK(tq_claim(victim, "q", 10, 1, &b, &E.err));
    tq_batch_free(b);
    close_handle(victim);
    UNTIL(db_now() > num("SELECT max(lease_until) FROM job_queue"));
    assert_int_equal(OK(tq_reclaim(E.q, 4, &E.err)), 4);
    assert_int_equal(num("SELECT count(*) FROM job_queue WHERE state = 2"), 6);
}

static void reclaim_leaves_a_job_whose_ack_is_open(void **state)
{
    struct tq_tx tx = caller();

    if (E.lite)
        return;
    (void)put("q", "x");
    struct tq_ref ref = take_for(E.q, "q", 1)->ref;
    UNTIL(db_now() > num("SELECT max(lease_until) FROM job_queue"));
    begin(tx);
    sql(tx, "INSERT INTO biz VALUES (1, 1)");
    OK(tq_tx_ack(E.q, tx, ref, NULL, 0, &E.err));
    assert_int_equal(OK(tq_reclaim(E.q, 100, &E.err)), 0);
    commit(tx);
    assert_int_equal(tq_verify(E.q, ref, &E.err), TQ_WAS_SETTLED);
}

static void ack_after_reclaim_leaves_no_business_row(void **state)
{
    struct tq_tx tx = caller();

    (void)put("q", "x");
    struct tq_ref stale = lost_job("q");
    reclaim_n(1);
    all_due();
    struct tq_ref fresh = take(E.q, "q")->ref;
    begin(tx);
    sql(tx, "INSERT INTO biz VALUES (%lld, 666)", (long long)stale.id);
    FAILS(tq_tx_ack(E.q, tx, stale, NULL, 0, &E.err), TR_E_LOST);
    rollback(tx);
    begin(tx);
    sql(tx, "INSERT INTO biz VALUES (%lld, 1)", (long long)fresh.id);
    OK(tq_tx_ack(E.q, tx, fresh, NULL, 0, &E.err));
    commit(tx);
    assert_int_equal(num("SELECT count(*) FROM biz"), 1);
    assert_int_equal(num("SELECT note FROM biz"), 1);
}

static void a_late_owner_may_still_ack_before_anyone_reclaims(void **state)
{
    (void)put("q", "x");
    struct tq_ref ref = take_for(E.q, "q", 1)->ref;
    UNTIL(db_now() > num("SELECT max(lease_until) FROM job_queue"));
    OK(tq_ack(E.q, ref, NULL, 0, &E.err));
}

static void sqlite_keeps_the_lease_of_a_living_process(void **state)
{
    if (!E.lite)
        return;
    (void)put("q", "x");
    struct tq_ref ref = take_for(E.q, "q", 1)->ref;
    UNTIL(db_now() > num("SELECT max(lease_until) FROM job_queue"));
    assert_int_equal(OK(tq_reclaim(open_another(), 100, &E.err)), 0);
    OK(tq_ack(E.q, ref, NULL, 0, &E.err));
}

static void sqlite_takes_back_a_dead_processs_jobs_at_once(void **state)
{
    if (!E.lite)
        return;
    (void)put("q", "x");
    tq *victim = open_another();
    (void)take_for(victim, "q", 3600LL * SEC);
    close_handle(victim);
    int64_t start = mono_us();
    reclaim_n(1);
    assert_true(mono_us() - start < SEC);
}

static void verify_knows_every_ending(void **state)
{
    tq_batch *b;
    struct tq_ref r[6];
    struct tq_ref nobody = {987654321, 3};

    for (int i = 0; i < 6; i++)
        (void)put("q", "x");
    r[5] = lost_job("q");
    reclaim_n(1);
    assert_int_equal(take_n(E.q, "q", 5, &b), 5);
    for (int i = 0; i < 5; i++)
        r[i] = tq_batch_job(b, i)->ref;
    OK(tq_ack(E.q, r[1], NULL, 0, &E.err));
    OK(tq_nack(E.q, r[2], 0, NULL, 0, &E.err));
    OK(tq_snooze(E.q, r[3], 0, &E.err));
    OK(tq_bury(E.q, r[4], NULL, 0, &E.err));
    assert_int_equal(OK(tq_verify(E.q, r[0], &E.err)), TQ_STILL_MINE);
    assert_int_equal(OK(tq_verify(E.q, r[1], &E.err)), TQ_WAS_SETTLED);
    assert_int_equal(OK(tq_verify(E.q, r[2], &E.err)), TQ_WAS_RELEASED);
    assert_int_equal(OK(tq_verify(E.q, r[3], &E.err)), TQ_WAS_RELEASED);
    assert_int_equal(OK(tq_verify(E.q, r[4], &E.err)), TQ_WAS_SETTLED);
    assert_int_equal(OK(tq_verify(E.q, r[5], &E.err)), TQ_WAS_LOST);
    assert_int_equal(OK(tq_verify(E.q, nobody, &E.err)), TQ_UNKNOWN);
}

static void verify_tells_a_nacked_run_after_a_new_claim(void **state)
{
    (void)put("q", "x");
    struct tq_ref first = take(E.q, "q")->ref;
    OK(tq_nack(E.q, first, 0, NULL, 0, &E.err));
    (void)take(E.q, "q");
    assert_int_equal(OK(tq_verify(E.q, first, &E.err)), TQ_WAS_RELEASED);
}

static void verify_does_not_wait_for_an_open_ack(void **state)
{
    struct tq_tx tx = caller();

    (void)put("q", "x");
    struct tq_ref ref = take(E.q, "q")->ref;
    begin(tx);
    OK(tq_tx_ack(E.q, tx, ref, NULL, 0, &E.err));
    int64_t start = mono_us();
    assert_int_equal(OK(tq_verify(E.q, ref, &E.err)), TQ_STILL_MINE);
    assert_true(mono_us() - start < SEC);
    commit(tx);
    assert_int_equal(OK(tq_verify(E.q, ref, &E.err)), TQ_WAS_SETTLED);
}

static void clock_one_hour_back_makes_no_duplicate(void **state)
{
    (void)put("q", "x");
    struct tq_ref ref = take(E.q, "q")->ref;
    S.clock_us = -3600LL * SEC;
    assert_true(nothing_in(E.q, "q"));
    assert_int_equal(OK(tq_reclaim(E.q, 100, &E.err)), 0);
    OK(tq_ack(E.q, ref, NULL, 0, &E.err));
    (void)put("q", "y");
    (void)take(E.q, "q"); /* new work still flows */
}

static void clock_one_hour_forward_is_a_lost_lease_not_a_double_ack(void **state)
{
    (void)put("q", "x");
    struct tq_ref first = take(E.q, "q")->ref;
    S.clock_us = 3600LL * SEC;
    tq *other = open_another();
    if (E.lite) { /* the process lives, whatever the clock says */
        assert_int_equal(OK(tq_reclaim(other, 100, &E.err)), 0);
        OK(tq_ack(E.q, first, NULL, 0, &E.err));
        return;
    }
    assert_int_equal(OK(tq_reclaim(other, 100, &E.err)), 1);
    S.clock_us += 3600LL * SEC;
    struct tq_ref second = take(other, "q")->ref;
    FAILS(tq_ack(E.q, first, NULL, 0, &E.err), TR_E_LOST);
    OK(tq_ack(other, second, NULL, 0, &E.err));
    assert_int_equal(num("SELECT count(*) FROM job_history"), 1);
}

static void a_clock_step_does_not_lose_scheduled_jobs(void **state)
{
    struct tq_item it = job("q", "x");

    it.delay_us = 600LL * SEC;
    (void)put_item(&it);
    S.clock_us = -3600LL * SEC;
    assert_true(nothing_in(open_another(), "q"));
    S.clock_us = 3600LL * SEC;
    (void)take(open_another(), "q");
}

/* ---------------------------------------------------------------- hooks */

static int hook_calls[4];
static int hook_fails;

static int on_event(void *user, struct tq_tx tx, int event, const struct tq_job *j,
                    struct tr_err *err)
{
    struct tq_val p[] = {{.type = TQ_INT, .i = j->ref.id}, {.type = TQ_INT, .i = event}};

    hook_calls[event]++;
    if (tq_sql(tx, "INSERT INTO biz (job_id, note) VALUES (?1, ?2)", p, 2, NULL, NULL, err) < 0)
        return TR_E_FATAL;
    return hook_fails ? tq_driver_fail(err, TR_E_FATAL, "hook", "says no") : 0;
}

static tq *open_hooked(void)
{
    static struct tq_hooks h = TQ_HOOKS_INIT;
    struct tq_opts o = opts();

    h.event = on_event;
    o.hooks = &h;
    memset(hook_calls, 0, sizeof(hook_calls));
    hook_fails = 0;
    return open_with(&o);
}

static void hooks_run_in_the_transaction_that_reclaims(void **state)
{
    tq *q = open_hooked();
    int64_t id = put("q", "x");

    (void)lost_job("q");
    UNTIL(OK(tq_reclaim(q, 10, &E.err)) == 1);
    assert_int_equal(hook_calls[TQ_EV_RECLAIMED], 1);
    assert_int_equal(num("SELECT note FROM biz WHERE job_id = %lld", (long long)id),
                     TQ_EV_RECLAIMED);
}

static void hooks_see_burials_by_reclaim_and_by_nack(void **state)
{
    tq *q = open_hooked();
    struct tq_item it = job("q", "x");

    it.max_attempts = 1;
    (void)put_item(&it);
    (void)lost_job("q");
    UNTIL(OK(tq_reclaim(q, 10, &E.err)) == 1);
    (void)put_item(&it);
    OK(tq_nack(q, take(q, "q")->ref, 0, NULL, 0, &E.err));
    (void)put_item(&it);
    OK(tq_bury(q, take(q, "q")->ref, NULL, 0, &E.err));
    assert_int_equal(hook_calls[TQ_EV_BURIED], 3);
    assert_int_equal(num("SELECT count(*) FROM biz WHERE note = %d", TQ_EV_BURIED), 3);
}

static void hooks_see_cancellations(void **state)
{
    tq *q = open_hooked();
    int64_t id = put("q", "x");

    assert_int_equal(OK(tq_cancel(q, id, 0, &E.err)), TQ_CANCELLED);
    assert_int_equal(num("SELECT count(*) FROM biz WHERE note = %d", TQ_EV_CANCELLED), 1);
}

static void a_failing_hook_undoes_everything(void **state)
{
    tq *q = open_hooked();

    (void)put("q", "x");
    struct tq_ref ref = lost_job("q");
    UNTIL(E.lite || db_now() > num("SELECT max(lease_until) FROM job_queue"));
    hook_fails = 1;
    FAILS(tq_reclaim(q, 10, &E.err), TR_E_FATAL);
    assert_int_equal(num("SELECT count(*) FROM biz"), 0);
    assert_int_equal(num("SELECT count(*) FROM job_queue WHERE state = 2"), 1);
    assert_int_equal(OK(tq_verify(E.q, ref, &E.err)), TQ_STILL_MINE);
}

const struct promise lease_promises[] = {
    PROMISE(heartbeat_extends_the_lease),
    PROMISE(an_adopted_job_is_lost_to_its_first_owner),
    PROMISE(heartbeats_go_in_one_batch),
    PROMISE(heartbeat_tells_settled_from_lost),
    PROMISE(heartbeat_is_not_blocked_by_an_open_ack),
    PROMISE(heartbeat_after_a_rolled_back_ack_renews),
    PROMISE(two_owners_with_one_name_are_told_apart),
    PROMISE(an_expired_lease_comes_back),
    PROMISE(a_valid_lease_is_not_reclaimed),
    PROMISE(a_reclaimed_job_waits_for_its_backoff),
    PROMISE(reclaim_buries_a_job_on_its_last_attempt),
    PROMISE(crashes_are_counted_apart_when_asked),
    PROMISE(reclaim_takes_no_more_than_asked),
    PROMISE(reclaim_leaves_a_job_whose_ack_is_open),
    PROMISE(ack_after_reclaim_leaves_no_business_row),
    PROMISE(a_late_owner_may_still_ack_before_anyone_reclaims),
    PROMISE(sqlite_keeps_the_lease_of_a_living_process),
    PROMISE(sqlite_takes_back_a_dead_processs_jobs_at_once),
    PROMISE(verify_knows_every_ending),
    PROMISE(verify_tells_a_nacked_run_after_a_new_claim),
    PROMISE(verify_does_not_wait_for_an_open_ack),
    PROMISE(clock_one_hour_back_makes_no_duplicate),
    PROMISE(clock_one_hour_forward_is_a_lost_lease_not_a_double_ack),
    PROMISE(a_clock_step_does_not_lose_scheduled_jobs),
    PROMISE(hooks_run_in_the_transaction_that_reclaims),
    PROMISE(hooks_see_burials_by_reclaim_and_by_nack),
    PROMISE(hooks_see_cancellations),
    PROMISE(a_failing_hook_undoes_everything),
    {NULL, NULL}};
