/* SPDX-License-Identifier: MIT
 *
 * t_wake.c - who waits for work hears of it soon, and hears it once.
 */
#include "conf.h"

static void wait_returns_at_once_when_work_is_there(void **state)
{
    (void)put("q", "x");
    int64_t start = mono_us();
    assert_int_equal(OK(tq_wait(E.q, "q", 5 * SEC, &E.err)), 1);
    assert_true(mono_us() - start < SEC);
}

static void wait_times_out_on_an_empty_queue(void **state)
{
    int64_t start = mono_us();

    assert_int_equal(OK(tq_wait(E.q, "q", 50000, &E.err)), 0);
    assert_true(mono_us() - start >= 45000);
}

static void wait_ends_when_a_scheduled_job_is_due(void **state)
{
    struct tq_item it = job("q", "x");

    it.delay_us = 60000;
    (void)put_item(&it);
    int64_t start = mono_us();
    assert_int_equal(OK(tq_wait(E.q, "q", 10 * SEC, &E.err)), 1);
    assert_true(mono_us() - start < 5 * SEC);
}

static void pushes_reach_a_listener(void **state)
{
    if (!E.pg) {
        FAILS(tq_fd(E.q, &E.err), TR_E_UNSUPPORTED);
        return;
    }
    tq *listener = open_another();
    assert_true(OK(tq_fd(listener, &E.err)) >= 0);
    assert_int_equal(OK(tq_woken(listener, &E.err)), 0);
    (void)put("q", "x");
    UNTIL(OK(tq_woken(listener, &E.err)) > 0);
}

static void pushes_wait_for_the_callers_commit(void **state)
{
    struct tq_item it = job("q", "x");

    if (!E.pg)
        return;
    struct tq_tx tx = caller();
    tq *listener = open_another();
    OK(tq_fd(listener, &E.err));
    begin(tx);
    OK(tq_tx_enqueue(E.q, tx, &it, NULL, &E.err));
    assert_int_equal(OK(tq_woken(listener, &E.err)), 0);
    commit(tx);
    UNTIL(OK(tq_woken(listener, &E.err)) > 0);
}

static void polling_works_without_pushes(void **state)
{
    struct tq_opts o = opts();

    o.flags = TQ_NO_NOTIFY;
    tq *q = open_with(&o);
    struct tq_item it = job("q", "x");
    it.delay_us = 30000;
    OK(tq_enqueue(q, &it, NULL, &E.err));
    assert_int_equal(OK(tq_wait(q, "q", 10 * SEC, &E.err)), 1);
}

/* A wake-up says "look"; a thousand of them say no more. */
static int pushes;

static void count_pushes(const struct tq_call *call)
{
    pushes += strstr(call->sql, "pg_notify") != NULL;
}

static void many_enqueues_make_few_pushes(void **state)
{
    struct tq_item items[50];

    for (int i = 0; i < 50; i++)
        items[i] = job("q", "x");
    pushes = 0;
    S.spy = count_pushes;
    OK(tq_enqueue_many(E.q, items, 50, NULL, &E.err));
    assert_int_equal(pushes, E.pg ? 1 : 0);
    int64_t start = mono_us();
    for (int i = 0; i < 200; i++)
        (void)put("q", "x");
    int64_t most = (mono_us() - start) / 2000 + 2; /* one in two milliseconds */
    S.spy = NULL;
    assert_true(pushes <= most && (pushes > 1 || !E.pg || most < 3));
}

const struct promise wake_promises[] = {
    PROMISE(wait_returns_at_once_when_work_is_there), PROMISE(wait_times_out_on_an_empty_queue),
    PROMISE(wait_ends_when_a_scheduled_job_is_due),   PROMISE(pushes_reach_a_listener),
    PROMISE(pushes_wait_for_the_callers_commit),      PROMISE(polling_works_without_pushes),
    PROMISE(many_enqueues_make_few_pushes),           {NULL, NULL}};
