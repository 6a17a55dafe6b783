/* SPDX-License-Identifier: MIT
 *
 * t_admin.c - what people do to single jobs, lists, counts, pruning.
 */
#include "conf.h"

static void cancel_removes_a_queued_job(void **state)
{
    int64_t id = put("q", "x");

    assert_int_equal(OK(tq_cancel(E.q, id, 0, &E.err)), TQ_CANCELLED);
    assert_true(nothing_in(E.q, "q"));
    assert_int_equal(num("SELECT count(*) FROM job_history WHERE status_final = 'cancelled'"), 1);
}

static void cancel_removes_a_scheduled_job(void **state)
{
    struct tq_item it = job("q", "x");

    it.delay_us = 3600LL * SEC;
    int64_t id = put_item(&it);
    assert_int_equal(OK(tq_cancel(E.q, id, 0, &E.err)), TQ_CANCELLED);
    assert_int_equal(num("SELECT count(*) FROM job_queue"), 0);
}

static void cancel_asks_a_running_job_to_stop(void **state)
{
    unsigned char beat;
    int64_t id = put("q", "x");
    struct tq_ref ref = take(E.q, "q")->ref;

    assert_int_equal(OK(tq_cancel(open_another(), id, 0, &E.err)), TQ_RUNNING);
    OK(tq_heartbeat(E.q, &ref, 1, SEC, &beat, &E.err));
    assert_int_equal(beat, TQ_BEAT_CANCEL);
    OK(tq_ack(E.q, ref, NULL, 0, &E.err)); /* it may finish all the same */
}

static void a_nack_of_a_job_asked_to_stop_cancels_it(void **state)
{
    int64_t id = put("q", "x");
    struct tq_ref ref = take(E.q, "q")->ref;

    OK(tq_cancel(E.q, id, 0, &E.err));
    OK(tq_nack(E.q, ref, 0, NULL, 0, &E.err));
    assert_int_equal(num("SELECT count(*) FROM job_history WHERE status_final = 'cancelled'"), 1);
    assert_true(nothing_in(E.q, "q"));
}

static void forced_cancel_takes_the_job_from_its_owner(void **state)
{
    int64_t id = put("q", "x");
    struct tq_ref ref = take(E.q, "q")->ref;

    assert_int_equal(OK(tq_cancel(open_another(), id, 1, &E.err)), TQ_CANCELLED);
    FAILS(tq_ack(E.q, ref, NULL, 0, &E.err), TR_E_LOST);
    assert_int_equal(OK(tq_verify(E.q, ref, &E.err)), TQ_WAS_LOST);
}

static void cancel_of_an_unknown_job_says_so(void **state)
{
    FAILS(tq_cancel(E.q, 987654321, 0, &E.err), TR_E_NOTFOUND);
}

static void retry_revives_a_dead_job_with_its_id(void **state)
{
    struct tq_item it = job("q", "payload");

    it.priority = 3;
    it.kind = "k";
    it.group_key = "g";
    int64_t id = put_item(&it);
    OK(tq_bury(E.q, take(E.q, "q")->ref, "why", 3, &E.err));
    OK(tq_retry(E.q, id, &E.err));
    const struct tq_job *j = take(E.q, "q");
    assert_int_equal(j->ref.id, id);
    assert_int_equal(j->attempts, 1);
    assert_int_equal(j->priority, 3);
    assert_string_equal(j->kind, "k");
    assert_string_equal(j->group_key, "g");
    assert_memory_equal(j->payload, "payload", 7);
}

static void retry_never_reuses_a_run_lease(void **state)
{
    int64_t id = put("q", "x");
    struct tq_ref old = take(E.q, "q")->ref;

    OK(tq_bury(E.q, old, NULL, 0, &E.err));
    OK(tq_retry(E.q, id, &E.err));
    struct tq_ref fresh = take(E.q, "q")->ref;
    assert_true(fresh.run_lease > old.run_lease);
    FAILS(tq_ack(E.q, old, NULL, 0, &E.err), TR_E_LOST);
}

static void retry_runs_a_scheduled_job_now(void **state)
{
    struct tq_item it = job("q", "x");

    it.delay_us = 3600LL * SEC;
    int64_t id = put_item(&it);
    OK(tq_retry(E.q, id, &E.err));
    assert_int_equal(take(E.q, "q")->ref.id, id);
}

static void retry_refuses_live_and_unknown_jobs(void **state)
{
    int64_t id = put("q", "x");

    FAILS(tq_retry(E.q, id, &E.err), TR_E_EXISTS);
    (void)take(E.q, "q");
    FAILS(tq_retry(E.q, id, &E.err), TR_E_EXISTS);
    FAILS(tq_retry(E.q, 987654321, &E.err), TR_E_NOTFOUND);
}

static void retry_refuses_a_completed_job(void **state)
{
    int64_t id = put("q", "x");

    OK(tq_ack(E.q, take(E.q, "q")->ref, NULL, 0, &E.err));
    FAILS(tq_retry(E.q, id, &E.err), TR_E_NOTFOUND);
}

static void drop_discards_a_queued_job(void **state)
{
    int64_t id = put("q", "x");

    OK(tq_drop(E.q, id, &E.err));
    assert_true(nothing_in(E.q, "q"));
    assert_int_equal(num("SELECT count(*) FROM job_history WHERE status_final = 'discarded'"), 1);
}

static void drop_forgets_a_dead_job(void **state)
{
    int64_t id = put("q", "x");

    OK(tq_bury(E.q, take(E.q, "q")->ref, NULL, 0, &E.err));
    OK(tq_drop(E.q, id, &E.err));
    assert_int_equal(num("SELECT count(*) FROM job_dead_letter"), 0);
    FAILS(tq_drop(E.q, id, &E.err), TR_E_NOTFOUND);
}

static void drop_refuses_a_running_job(void **state)
{
    int64_t id = put("q", "x");

    (void)take(E.q, "q");
    E.err.msg[0] = '\0';
    int r = tq_drop(E.q, id, &E.err);
    assert_int_equal(tr_err_class(r), TR_E_RETRY);
    assert_int_equal(num("SELECT count(*) FROM job_queue"), 1);
}

static struct tq_stat last_stat;

static int keep_stat(void *arg, const struct tq_stat *s)
{
    if (!strcmp(s->queue, arg))
        last_stat = *s;
    return 0;
}

static void stats_count_by_queue_and_state(void **state)
{
    struct tq_item it = job("q", "x");

    for (int i = 0; i < 6; i++)
        (void)put("q", "x");
    it.delay_us = 3600LL * SEC;
    (void)put_item(&it);
    (void)put("other", "x");
    OK(tq_ack(E.q, take(E.q, "q")->ref, NULL, 0, &E.err));
    OK(tq_bury(E.q, take(E.q, "q")->ref, NULL, 0, &E.err));
    (void)take(E.q, "q");
    OK(tq_pause(E.q, "q", 1, &E.err));
    OK(tq_stats(E.q, keep_stat, (void *)(uintptr_t) "q", &E.err));
    assert_int_equal(last_stat.ready, 3);
    assert_int_equal(last_stat.scheduled, 1);
    assert_int_equal(last_stat.running, 1);
    assert_int_equal(last_stat.completed, 1);
    assert_int_equal(last_stat.dead, 1);
    assert_int_equal(last_stat.paused, 1);
    assert_true(last_stat.oldest_ready_us >= 0);
}

static void lists_page_by_id_and_filter(void **state)
{
    struct tq_filter f = TQ_FILTER_INIT;
    tq_batch *b = NULL;
    int64_t last = 0;

    for (int i = 0; i < 7; i++)
        (void)put(i % 2 ? "odd" : "even", "x");
    f.limit = 3;
    for (int want = 7; want > 0; want -= 3) {
        f.after_id = last;
        int n = OK(tq_list(E.q, &f, &b, &E.err));
        assert_int_equal(n, want < 3 ? want : 3);
        last = tq_batch_job(b, n - 1)->ref.id;
        tq_batch_free(b);
        b = NULL;
    }
    f.after_id = 0;
    f.limit = 0;
    f.queue = "odd";
    assert_int_equal(OK(tq_list(E.q, &f, &b, &E.err)), 3);
    tq_batch_free(b);
    b = NULL;
    f.state = TQ_RUNNING;
    assert_int_equal(OK(tq_list(E.q, &f, &b, &E.err)), 0);
    (void)take(E.q, "odd");
    assert_int_equal(OK(tq_list(E.q, &f, &b, &E.err)), 1);
    tq_batch_free(b);
}

static void dead_letters_can_be_listed(void **state)
{
    struct tq_filter f = TQ_FILTER_INIT;
    tq_batch *b = NULL;

    (void)put("q", "x");
    OK(tq_bury(E.q, take(E.q, "q")->ref, "why", 3, &E.err));
    f.state = TQ_DEAD;
    assert_int_equal(OK(tq_list(E.q, &f, &b, &E.err)), 1);
    assert_int_equal(tq_batch_job(b, 0)->state, TQ_DEAD);
    assert_memory_equal(tq_batch_job(b, 0)->result, "why", 3);
    tq_batch_free(b);
}

static void show_finds_a_job_wherever_it_is(void **state)
{
    tq_batch *b = NULL;
    int64_t id = put("q", "x");

    OK(tq_show(E.q, id, &b, &E.err));
    assert_int_equal(tq_batch_job(b, 0)->state, TQ_READY);
    tq_batch_free(b);
    OK(tq_discard(E.q, take(E.q, "q")->ref, NULL, 0, &E.err));
    b = NULL;
    OK(tq_show(E.q, id, &b, &E.err));
    assert_int_equal(tq_batch_job(b, 0)->state, TQ_DISCARDED);
    tq_batch_free(b);
    FAILS(tq_show(E.q, 987654321, &b, &E.err), TR_E_NOTFOUND);
}

static void prune_goes_in_small_steps(void **state)
{
    for (int i = 0; i < 10; i++) {
        (void)put(i % 2 ? "a" : "b", "x");
        OK(tq_ack(E.q, take(E.q, i % 2 ? "a" : "b")->ref, NULL, 0, &E.err));
    }
    sql(caller(), "UPDATE job_history SET finished_at = finished_at - 3600000000");
    assert_int_equal(OK(tq_prune(E.q, 1800LL * SEC, 0, 4, &E.err)), 4);
    assert_int_equal(OK(tq_prune(E.q, 1800LL * SEC, 0, 100, &E.err)), 6);
    assert_int_equal(OK(tq_prune(E.q, 1800LL * SEC, 0, 100, &E.err)), 0);
}

static void prune_keeps_the_young_and_the_dead(void **state)
{
    (void)put("q", "1");
    (void)put("q", "2");
    OK(tq_ack(E.q, take(E.q, "q")->ref, NULL, 0, &E.err));
    OK(tq_bury(E.q, take(E.q, "q")->ref, NULL, 0, &E.err));
    assert_int_equal(OK(tq_prune(E.q, 1800LL * SEC, 0, 100, &E.err)), 0);
    sql(caller(), "UPDATE job_history SET finished_at = finished_at - 3600000000");
    assert_int_equal(OK(tq_prune(E.q, 1800LL * SEC, 0, 100, &E.err)), 1);
    assert_int_equal(num("SELECT count(*) FROM job_dead_letter"), 1);
    assert_int_equal(OK(tq_prune(E.q, 1800LL * SEC, 1, 100, &E.err)), 1);
}

static void maintenance_follows_each_queues_retention(void **state)
{
    struct tq_config c = TQ_CONFIG_INIT;

    c.retention_us = 600LL * SEC;
    OK(tq_config_set(E.q, "short", &c, &E.err));
    (void)put("short", "x");
    (void)put("for ever", "x");
    OK(tq_ack(E.q, take(E.q, "short")->ref, NULL, 0, &E.err));
    OK(tq_ack(E.q, take(E.q, "for ever")->ref, NULL, 0, &E.err));
    sql(caller(), "UPDATE job_history SET finished_at = finished_at - 3600000000");
    assert_int_equal(OK(tq_maintain(open_another(), &E.err)), 0);
    assert_int_equal(num("SELECT count(*) FROM job_history"), 1);
}

static void maintenance_forgets_spent_keys(void **state)
{
    struct tq_item it = job("q", "x");
    struct tq_tx tx = caller();

    it.unique_key = "k";
    it.unique_len = 1;
    it.unique_scope = TQ_UNIQUE_WINDOW;
    it.unique_window_us = SEC;
    (void)put_item(&it);
    begin(tx);
    OK(tq_tx_once(E.q, tx, "short", 5, SEC, &E.err));
    OK(tq_tx_once(E.q, tx, "long", 4, 0, &E.err));
    commit(tx);
    S.clock_us = 3600LL * SEC;
    OK(tq_maintain(open_another(), &E.err));
    assert_int_equal(num("SELECT count(*) FROM job_unique"), 0);
    assert_int_equal(num("SELECT count(*) FROM job_idempotency"), 1);
}

const struct promise admin_promises[] = {PROMISE(cancel_removes_a_queued_job),
                                         PROMISE(cancel_removes_a_scheduled_job),
                                         PROMISE(cancel_asks_a_running_job_to_stop),
                                         PROMISE(a_nack_of_a_job_asked_to_stop_cancels_it),
                                         PROMISE(forced_cancel_takes_the_job_from_its_owner),
                                         PROMISE(cancel_of_an_unknown_job_says_so),
                                         PROMISE(retry_revives_a_dead_job_with_its_id),
                                         PROMISE(retry_never_reuses_a_run_lease),
                                         PROMISE(retry_runs_a_scheduled_job_now),
                                         PROMISE(retry_refuses_live_and_unknown_jobs),
                                         PROMISE(retry_refuses_a_completed_job),
                                         PROMISE(drop_discards_a_queued_job),
                                         PROMISE(drop_forgets_a_dead_job),
                                         PROMISE(drop_refuses_a_running_job),
                                         PROMISE(stats_count_by_queue_and_state),
                                         PROMISE(lists_page_by_id_and_filter),
                                         PROMISE(dead_letters_can_be_listed),
                                         PROMISE(show_finds_a_job_wherever_it_is),
                                         PROMISE(prune_goes_in_small_steps),
                                         PROMISE(prune_keeps_the_young_and_the_dead),
                                         PROMISE(maintenance_follows_each_queues_retention),
                                         PROMISE(maintenance_forgets_spent_keys),
                                         {NULL, NULL}};
