/* SPDX-License-Identifier: MIT
 *
 * t_worker.c - the worker with handlers in threads: what it starts, stops and gives back.
 *
 * Processes are forked by tests/queue-worker, from programs that have no connection open.
 */
#include <poll.h>
#include <pthread.h>
#include <time.h>

#include <tribunal/queue_worker.h>

#include "conf.h"

/* What the handlers of these tests share. */
static struct {
    pthread_mutex_t mu;
    int started, ended, now, most, stopped;
    int deaf;  /* handlers do not listen when they are asked to stop */
    bool hold; /* handlers wait until it is false, or until they are asked to stop */
} H = {.mu = PTHREAD_MUTEX_INITIALIZER};

static void begin_test(void)
{
    H.started = H.ended = H.now = H.most = H.stopped = 0;
    H.hold = false;
    H.deaf = 0;
}

static int get(const int *n)
{
    (void)pthread_mutex_lock(&H.mu);
    int v = *n;
    (void)pthread_mutex_unlock(&H.mu);
    return v;
}

static void set_hold(bool hold, bool deaf)
{
    (void)pthread_mutex_lock(&H.mu);
    H.hold = hold;
    H.deaf = deaf;
    (void)pthread_mutex_unlock(&H.mu);
}

static bool must_wait(struct tq_run *run)
{
    (void)pthread_mutex_lock(&H.mu);
    bool wait = H.hold && (H.deaf || tq_run_stopped(run) == TQ_GO_ON);
    (void)pthread_mutex_unlock(&H.mu);
    return wait;
}

static int handler(struct tq_run *run, const struct tq_job *job, void *user)
{
    struct pollfd p = {.fd = tq_run_fd(run), .events = POLLIN};

    (void)job;
    (void)pthread_mutex_lock(&H.mu);
    H.started++;
    H.now++;
    H.most = H.now > H.most ? H.now : H.most;
    (void)pthread_mutex_unlock(&H.mu);
    while (must_wait(run))
        (void)poll(&p, get(&H.deaf) ? 0 : 1, 1);
    int stop = tq_run_stopped(run);
    if (user)
        OK(tq_run_result(run, user, strlen(user), &E.err));
    (void)pthread_mutex_lock(&H.mu);
    H.now--;
    H.ended++;
    H.stopped = stop;
    (void)pthread_mutex_unlock(&H.mu);
    return stop == TQ_GO_ON ? 0 : TQ_NACK;
}

static tq_worker *make(struct tq_worker_opts *o, struct tq_opts *q)
{
    tq_worker *w = NULL;

    begin_test();
    *q = opts();
    o->url = E.url;
    o->queue = q;
    o->grace_us = o->grace_us ? o->grace_us : SEC;
    OK(tq_worker_new(&w, o, &E.err));
    OK(tq_worker_handle(w, NULL, NULL, handler, NULL, &E.err));
    return w;
}

/* Drive the worker until the condition holds. */
#define DRIVE(w, cond)                                                                             \
    do {                                                                                           \
        int64_t end_ = mono_us() + 20 * SEC;                                                       \
        while (!(cond)) {                                                                          \
            if (mono_us() > end_)                                                                  \
                fail_msg("not within twenty seconds: %s", #cond);                                  \
            OK(tq_worker_process(w, &E.err));                                                      \
            int64_t us_ = tq_worker_timeout_us(w);                                                 \
            struct pollfd p_ = {.fd = tq_worker_fd(w, &E.err), .events = POLLIN};                  \
            (void)poll(&p_, 1, us_ > 5000 ? 5 : (int)(us_ / 1000));                                \
        }                                                                                          \
    } while (0)

static int64_t in_state(int state)
{
    return num("SELECT count(*) FROM job_queue WHERE state = %d", state);
}

static void a_worker_does_every_job_once(void **state)
{
    struct tq_worker_opts o = TQ_WORKER_OPTS_INIT;
    struct tq_worker_stats s = TQ_WORKER_STATS_INIT;
    struct tq_opts q;

    (void)state;
    o.flags = TQ_WORKER_UNTIL_EMPTY;
    o.concurrency = 3;
    tq_worker *w = make(&o, &q);
    for (int i = 0; i < 100; i++)
        put("default", "x");
    assert_int_equal(OK(tq_worker_run(w, &E.err)), 0);
    tq_worker_stats(w, &s);
    tq_worker_free(w);
    assert_int_equal(H.started, 100);
    assert_true(H.most <= 3);
    assert_int_equal(num("SELECT count(*) FROM job_history WHERE status_final = 'completed'"), 100);
    assert_int_equal(num("SELECT count(*) FROM job_queue"), 0);
    assert_int_equal(s.claimed, 100);
    assert_int_equal(s.acked, 100);
    assert_int_equal(s.run.count, 100);
    assert_int_equal(s.attempts[0], 100);
    assert_true(s.dequeue.count > 0 && s.ack.count == 100 && s.wait.count == 100);
}

static void a_handler_is_chosen_by_kind_then_queue(void **state)
{
    static char any[] = "any", by_queue[] = "queue", by_kind[] = "kind", by_both[] = "both";
    static const struct {
        const char *queue, *kind, *want;
    } rows[] = {{"a", "x", "both"}, {"b", "x", "kind"}, {"a", "y", "queue"}, {"b", "y", "any"}};
    struct tq_weighted queues[] = {{"a", 1}, {"b", 1}};
    struct tq_worker_opts o = TQ_WORKER_OPTS_INIT;
    struct tq_opts q = opts();
    int64_t ids[4];
    tq_worker *w = NULL;

    (void)state;
    begin_test();
    o.flags = TQ_WORKER_UNTIL_EMPTY;
    o.queues = queues;
    o.nqueues = 2;
    o.url = E.url;
    o.queue = &q;
    OK(tq_worker_new(&w, &o, &E.err));
    OK(tq_worker_handle(w, NULL, NULL, handler, any, &E.err));
    OK(tq_worker_handle(w, "a", "x", handler, by_both, &E.err));
    OK(tq_worker_handle(w, NULL, "x", handler, by_kind, &E.err));
    OK(tq_worker_handle(w, "a", NULL, handler, by_queue, &E.err));
    for (int i = 0; i < 4; i++) {
        struct tq_item it = job(rows[i].queue, "p");
        it.kind = rows[i].kind;
        ids[i] = put_item(&it);
    }
    OK(tq_worker_run(w, &E.err));
    tq_worker_free(w);
    for (int i = 0; i < 4; i++) {
        tq_batch *b = NULL;

        OK(tq_show(E.q, ids[i], &b, &E.err));
        assert_string_equal(tq_batch_job(b, 0)->result, rows[i].want);
        tq_batch_free(b);
    }
}

static void a_job_without_handler_fails_with_a_sentence(void **state)
{
    struct tq_worker_opts o = TQ_WORKER_OPTS_INIT;
    struct tq_opts q = opts();
    tq_worker *w = NULL;
    tq_batch *b = NULL;

    (void)state;
    int64_t id = put("default", "x");
    o.url = E.url;
    o.queue = &q;
    o.flags = TQ_WORKER_UNTIL_EMPTY;
    OK(tq_worker_new(&w, &o, &E.err));
    OK(tq_worker_handle(w, "elsewhere", NULL, handler, NULL, &E.err));
    OK(tq_worker_run(w, &E.err));
    tq_worker_free(w);
    OK(tq_show(E.q, id, &b, &E.err));
    assert_int_equal(tq_batch_job(b, 0)->attempts, 1);
    assert_non_null(strstr(tq_batch_job(b, 0)->result, "no handler here"));
    tq_batch_free(b);
}

static void a_stop_finishes_what_runs_and_gives_back_the_rest(void **state)
{
    struct tq_worker_opts o = TQ_WORKER_OPTS_INIT;
    struct tq_opts q;

    (void)state;
    o.concurrency = 2;
    o.prefetch = 5;
    tq_worker *w = make(&o, &q);
    set_hold(true, false);
    for (int i = 0; i < 20; i++)
        put("default", "x");
    DRIVE(w, get(&H.started) == 2 && in_state(TQ_RUNNING) == 7);
    tq_worker_stop(w);
    DRIVE(w, in_state(TQ_RUNNING) == 2);
    assert_int_equal(in_state(TQ_READY), 18);
    assert_int_equal(num("SELECT max(attempts) FROM job_queue WHERE state = 1"), 0);
    set_hold(false, false);
    assert_int_equal(OK(tq_worker_run(w, &E.err)), 0);
    tq_worker_free(w);
    assert_int_equal(H.ended, 2);
    assert_int_equal(num("SELECT count(*) FROM job_history"), 2);
    assert_int_equal(in_state(TQ_READY), 18);
}

static void a_second_stop_gives_back_everything_now(void **state)
{
    struct tq_worker_opts o = TQ_WORKER_OPTS_INIT;
    struct tq_opts q;

    (void)state;
    tq_worker *w = make(&o, &q);
    set_hold(true, true);
    put("default", "x");
    DRIVE(w, get(&H.started) == 1);
    tq_worker_stop(w);
    tq_worker_stop(w);
    int64_t begun = mono_us();
    assert_int_equal(OK(tq_worker_run(w, &E.err)), 1); /* a handler still runs */
    assert_true(mono_us() - begun < 5 * SEC);
    assert_int_equal(in_state(TQ_READY), 1);
    set_hold(false, false);
    tq_worker_free(w);
    assert_int_equal(H.stopped, TQ_STOP_SHUTDOWN);
    assert_int_equal(in_state(TQ_READY), 1); /* its late result was dropped */
}

static void the_drain_timeout_ends_the_waiting(void **state)
{
    struct tq_worker_opts o = TQ_WORKER_OPTS_INIT;
    struct tq_opts q;

    (void)state;
    o.drain_us = SEC / 5;
    tq_worker *w = make(&o, &q);
    set_hold(true, false);
    put("default", "x");
    DRIVE(w, get(&H.started) == 1);
    tq_worker_stop(w);
    int64_t begun = mono_us();
    OK(tq_worker_run(w, &E.err));
    assert_true(mono_us() - begun >= SEC / 5 && mono_us() - begun < 5 * SEC);
    tq_worker_free(w);
    assert_int_equal(in_state(TQ_READY), 1);
    assert_int_equal(num("SELECT attempts FROM job_queue"), 0);
}

static void a_lost_lease_stops_its_handler(void **state)
{
    struct tq_worker_opts o = TQ_WORKER_OPTS_INIT;
    struct tq_worker_stats s = TQ_WORKER_STATS_INIT;
    struct tq_opts q;

    (void)state;
    o.beat_us = SEC / 20;
    tq_worker *w = make(&o, &q);
    set_hold(true, false);
    int64_t id = put("default", "x");
    DRIVE(w, get(&H.started) == 1);
    OK(tq_cancel(E.q, id, 1, &E.err));
    OK(tq_retry(E.q, id, &E.err)); /* the job lives again under another lease … */
    const struct tq_job *mine = take(E.q, "default");
    DRIVE(w, get(&H.ended) == 1);
    assert_int_equal(H.stopped, TQ_STOP_LOST);
    tq_worker_stop(w);
    OK(tq_worker_run(w, &E.err));
    tq_worker_stats(w, &s);
    tq_worker_free(w);
    assert_int_equal(s.lost, 1);
    OK(tq_ack(E.q, mine->ref, NULL, 0, &E.err)); /* … and nobody touched that one */
}

static void a_cancelled_job_stops_and_is_cancelled(void **state)
{
    struct tq_worker_opts o = TQ_WORKER_OPTS_INIT;
    struct tq_opts q;

    (void)state;
    o.beat_us = SEC / 20;
    tq_worker *w = make(&o, &q);
    set_hold(true, false);
    int64_t id = put("default", "x");
    DRIVE(w, get(&H.started) == 1);
    assert_int_equal(OK(tq_cancel(E.q, id, 0, &E.err)), TQ_RUNNING);
    DRIVE(w, num("SELECT count(*) FROM job_history WHERE status_final = 'cancelled'") == 1);
    assert_int_equal(H.stopped, TQ_STOP_CANCEL);
    tq_worker_free(w);
}

static void leases_are_renewed_while_handlers_run(void **state)
{
    struct tq_worker_opts o = TQ_WORKER_OPTS_INIT;
    struct tq_opts q;

    (void)state;
    o.lease_us = SEC;
    o.beat_us = SEC / 10;
    tq_worker *w = make(&o, &q);
    set_hold(true, false);
    put("default", "x");
    DRIVE(w, get(&H.started) == 1);
    int64_t first = num("SELECT lease_until FROM job_queue");
    DRIVE(w, num("SELECT lease_until FROM job_queue") > first + SEC);
    assert_int_equal(OK(tq_reclaim(E.q, 10, &E.err)), 0);
    set_hold(false, false);
    DRIVE(w, num("SELECT count(*) FROM job_history") == 1);
    tq_worker_free(w);
}

static void a_freed_worker_gives_back_what_it_holds(void **state)
{
    struct tq_worker_opts o = TQ_WORKER_OPTS_INIT;
    struct tq_opts q;

    (void)state;
    o.concurrency = 1;
    tq_worker *w = make(&o, &q);
    set_hold(true, false);
    put("default", "x");
    put("default", "y");
    DRIVE(w, get(&H.started) == 1 && in_state(TQ_RUNNING) == 2);
    tq_worker_free(w);
    assert_int_equal(in_state(TQ_READY), 2);
}

/* The connection breaks under a settlement: it is looked at again, and settled once. */
static void a_lost_answer_is_verified(void **state)
{
    struct tq_worker_opts o = TQ_WORKER_OPTS_INIT;
    struct tq_opts q;

    (void)state;
    tq_worker *w = make(&o, &q);
    set_hold(true, false);
    put("default", "x");
    DRIVE(w, get(&H.started) == 1);
    set_hold(false, false);
    UNTIL(get(&H.ended) == 1);
    S.break_next = true;
    DRIVE(w, num("SELECT count(*) FROM job_history WHERE status_final = 'completed'") == 1);
    tq_worker_free(w);
    assert_false(S.break_next);
    assert_int_equal(num("SELECT count(*) FROM job_queue"), 0);
}

/* ---- tracing ---- */

static struct {
    int inserts, starts, ends, errors;
    int64_t id;
} T;

static void note_insert(void *user, const struct tq_item *item, const struct tq_enqueued *out)
{
    (void)user;
    assert_string_equal(item->queue, "default");
    T.inserts++;
    T.id = out->id;
}

static void note_trace(void *user, const struct tq_trace *t)
{
    (void)user;
    (void)pthread_mutex_lock(&H.mu);
    T.starts += t->event == TQ_TRACE_START && t->job->ref.id == T.id;
    T.ends += t->event == TQ_TRACE_END && t->end == TQ_ACK && t->result == TQ_SETTLED_FINAL;
    T.errors += t->event == TQ_TRACE_ERROR && t->err->msg[0];
    (void)pthread_mutex_unlock(&H.mu);
}

static void hooks_see_insert_start_error_and_end(void **state)
{
    struct tq_hooks hooks = TQ_HOOKS_INIT;
    struct tq_worker_opts o = TQ_WORKER_OPTS_INIT;
    struct tq_opts q, traced = opts();
    struct tq_item it = job("default", "x");

    (void)state;
    memset(&T, 0, sizeof(T));
    hooks.inserted = note_insert;
    traced.hooks = &hooks;
    OK(tq_enqueue(open_with(&traced), &it, NULL, &E.err));
    o.trace = note_trace;
    tq_worker *w = make(&o, &q);
    set_hold(true, false);
    DRIVE(w, get(&H.started) == 1);
    set_hold(false, false);
    UNTIL(get(&H.ended) == 1);
    S.crash_at = S.calls + 1; /* everything fails for a moment */
    DRIVE(w, get(&T.errors) > 0);
    S.crash_at = 0;
    S.dead = false;
    DRIVE(w, get(&T.ends) == 1);
    tq_worker_free(w);
    assert_int_equal(T.inserts, 1);
    assert_int_equal(T.starts, 1);
}

static void nonsense_options_are_refused(void **state)
{
    struct tq_worker_opts o = TQ_WORKER_OPTS_INIT;
    struct tq_opts q = opts();
    tq_worker *w = NULL;

    (void)state;
    FAILS(tq_worker_new(&w, &o, &E.err), TR_E_USAGE);
    o.url = E.url;
    o.queue = &q;
    o.concurrency = 100000;
    FAILS(tq_worker_new(&w, &o, &E.err), TR_E_LIMIT);
    o.concurrency = 1;
    o.lease_us = -1;
    FAILS(tq_worker_new(&w, &o, &E.err), TR_E_USAGE);
    assert_null(w);
}

const struct promise worker_promises[] = {
    PROMISE(a_worker_does_every_job_once),
    PROMISE(a_handler_is_chosen_by_kind_then_queue),
    PROMISE(a_job_without_handler_fails_with_a_sentence),
    PROMISE(a_stop_finishes_what_runs_and_gives_back_the_rest),
    PROMISE(a_second_stop_gives_back_everything_now),
    PROMISE(the_drain_timeout_ends_the_waiting),
    PROMISE(a_lost_lease_stops_its_handler),
    PROMISE(a_cancelled_job_stops_and_is_cancelled),
    PROMISE(leases_are_renewed_while_handlers_run),
    PROMISE(a_freed_worker_gives_back_what_it_holds),
    PROMISE(a_lost_answer_is_verified),
    PROMISE(hooks_see_insert_start_error_and_end),
    PROMISE(nonsense_options_are_refused),
    {NULL, NULL}};
