/* SPDX-License-Identifier: MIT
 *
 * sql.c - the queue's worker in threads of its own, the slots on the loop, tasks in between.
 *
 * An executor waits for its slot as it would for any long work. Only two things cross between the
 * threads: a struct sql_task under its mutex, and posts to the loop.
 */
#include "source/sql.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "rt/notify.h"
#include "source/sql_private.h"

enum {
    LEASE_S = 30,
    LOOK_S = 1 /* between two looks at whether to stop */
};

/* --- slots, on the loop ---------------------------------------------------------------------- */

static void tell(struct sql_task *t, enum sql_end end, const char *why)
{
    pthread_mutex_lock(&t->lock);
    t->end = end;
    (void)snprintf(t->why, sizeof(t->why), "%s", why);
    pthread_cond_signal(&t->changed);
    pthread_mutex_unlock(&t->lock); /* it may be gone from here on */
}

static void give_waiting(struct sql_source *s)
{
    while (s->waiting && tr_pool_free(s->pool) > 0) {
        struct sql_task *t = s->waiting;
        struct tr_err err = TR_ERR_INIT;
        int r = tr_pool_give(s->pool, t, t->task, t->task_len, t->spool, &err);

        if (r == TR_E_BUSY)
            return;
        s->waiting = t->next;
        t->given = true;
        if (r < 0)
            tell(t, SQL_FAULT, err.msg);
    }
}

static void post_give(void *arg)
{
    struct sql_task *t = arg;
    struct sql_task **at = &t->s->waiting;

    while (*at)
        at = &(*at)->next;
    *at = t;
    give_waiting(t->s);
}

/* Take it from the list of those that wait; false when it is not there. */
static bool unlist(struct sql_task *t)
{
    for (struct sql_task **at = &t->s->waiting; *at; at = &(*at)->next) {
        if (*at == t) {
            *at = t->next;
            return true;
        }
    }
    return false;
}

static void post_cancel(void *arg)
{
    struct sql_task *t = arg;

    pthread_mutex_lock(&t->lock);
    bool too_late = t->end != SQL_WAITING;
    t->cancelled = true;
    t->cancel_seen = true; /* its executor may let go of it when it has ended too */
    pthread_cond_signal(&t->changed);
    pthread_mutex_unlock(&t->lock);
    if (too_late)
        return;
    if (t->given)
        tr_pool_cancel(t->s->pool, t);
    else if (unlist(t))
        tell(t, SQL_STOPPED, "stopped");
}

static void on_result(void *arg, void *user, const struct tr_pool_result *r)
{
    struct sql_task *t = user;

    pthread_mutex_lock(&t->lock);
    (void)snprintf(t->verdict, sizeof(t->verdict), "%s", r->verdict);
    t->score = r->score;
    t->time_ms = r->time_ms;
    t->memory_kb = r->memory_kb;
    t->json = strndup(r->json, r->json_len);
    pthread_mutex_unlock(&t->lock);
    tell(t, t->json ? SQL_RESULT : SQL_FAULT, t->json ? "" : "no memory for a result");
    give_waiting(arg);
}

static void on_fault(void *arg, void *user, const char *why, bool final)
{
    struct sql_task *t = user;

    t->final = final;
    tell(t, t->cancelled ? SQL_STOPPED : SQL_FAULT, why);
    give_waiting(arg);
}

static void on_died(void *arg, void *user, const char *how)
{
    struct sql_task *t = user;

    tell(t, t->cancelled ? SQL_STOPPED : SQL_DIED, how);
    give_waiting(arg);
}

static void on_room(void *arg)
{
    struct sql_source *s = arg;

    if (s->pool)
        give_waiting(s);
}

static void on_broken(void *arg, const char *why)
{
    struct sql_source *s = arg;

    tr_log(TR_LOG_ERROR, s->host->log, "a slot cannot start: %s", why);
}

/* --- from an executor's thread --------------------------------------------------------------- */

static bool wait_a_while(struct sql_task *t, bool asked)
{
    struct timespec until;
    int r = 0;

    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += LOOK_S;
    pthread_mutex_lock(&t->lock);
    while ((t->end == SQL_WAITING || (asked && !t->cancel_seen)) && r == 0)
        r = pthread_cond_timedwait(&t->changed, &t->lock, &until);
    bool over = t->end != SQL_WAITING && (!asked || t->cancel_seen);
    pthread_mutex_unlock(&t->lock);
    return over;
}

void sql_judge(struct sql_task *t, bool (*look)(void *arg), void *arg)
{
    struct tr_loop *loop = t->s->host->loop;
    struct tr_err err = TR_ERR_INIT;
    bool asked = false;

    if (tr_loop_post(loop, post_give, t, &err) < 0) {
        tell(t, SQL_FAULT, err.msg);
        return;
    }
    while (!wait_a_while(t, asked)) {
        if (!asked && look(arg))
            asked = tr_loop_post(loop, post_cancel, t, NULL) == 0;
    }
}

static int executor_begin(void *user, void **ret_local, struct tr_err *err)
{
    struct sql_source *s = user;
    const struct tr_store_conf conf = {.url = s->conf.db, .worker_id = s->host->worker_id};
    struct tr_store *st = NULL;
    int r = tr_store_open(&conf, &st, err);

    if (r == 0)
        *ret_local = st;
    return r;
}

static void executor_end(void *user, void *local)
{
    (void)user;
    tr_store_close(local);
}

/* --- the worker's own thread ----------------------------------------------------------------- */

static void post_ended(void *arg)
{
    struct sql_source *s = arg;

    s->ended = true;
    (void)uv_timer_stop(&s->haste);
    s->host->ended(s->host->arg, s->result < 0 ? &s->why : NULL);
}

static void *work(void *arg)
{
    struct sql_source *s = arg;

    s->result = tq_worker_run(s->worker, &s->why);
    (void)tr_loop_post(s->host->loop, post_ended, s, NULL);
    return NULL;
}

static void trace(void *user, const struct tq_trace *t)
{
    struct sql_source *s = user;

    if (t->event == TQ_TRACE_ERROR && t->err)
        tr_log_err(TR_LOG_WARN, s->host->log, t->err);
}

/* --- made, drained, freed -------------------------------------------------------------------- */

static void on_haste(uv_timer_t *timer)
{
    struct sql_source *s = timer->data;

    tq_worker_stop(s->worker); /* the second time: give everything back now */
}

static void drain(struct tr_source *base, int64_t timeout_us)
{
    struct sql_source *s = (struct sql_source *)base;

    if (s->ended)
        return;
    tr_notify_stopping();
    tq_worker_stop(s->worker);
    if (timeout_us > 0)
        (void)uv_timer_start(&s->haste, on_haste, (uint64_t)timeout_us / 1000, 0);
    else
        tq_worker_stop(s->worker);
}

static void freed(uv_handle_t *timer)
{
    free(timer->data);
}

static void source_free(struct tr_source *base)
{
    struct sql_source *s = (struct sql_source *)base;

    if (!s)
        return;
    if (s->running)
        (void)pthread_join(s->thread, NULL);
    tq_worker_free(s->worker);
    if (s->pool)
        tr_pool_close(s->pool);
    free(s->queues);
    uv_close((uv_handle_t *)&s->haste, freed);
}

static int read_queues(struct sql_source *s, struct tr_err *err)
{
    s->queues = calloc(s->conf.nqueues ? s->conf.nqueues : 1, sizeof(*s->queues));
    if (!s->queues)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory for %zu queues", s->conf.nqueues);
    for (size_t i = 0; i < s->conf.nqueues; i++)
        s->queues[i] = (struct tq_weighted){.queue = s->conf.queues[i], .weight = 1};
    return 0;
}

static int open_worker(struct sql_source *s, struct tr_err *err)
{
    struct tq_opts q = TQ_OPTS_INIT;
    struct tq_worker_opts o = TQ_WORKER_OPTS_INIT;

    q.driver = tr_store_driver(s->conf.db, err);
    if (!q.driver)
        return err->code;
    q.worker = s->host->worker_id;
    o.url = s->conf.db;
    o.queue = &q;
    o.queues = s->queues;
    o.nqueues = s->conf.nqueues;
    o.concurrency = (int)s->host->slots;
    o.prefetch = -1; /* a job that waits here could be judged elsewhere */
    o.lease_us = s->conf.lease_us;
    o.executor_begin = executor_begin;
    o.executor_end = executor_end;
    o.trace = trace;
    o.user = s;
    int r = tq_worker_new(&s->worker, &o, err);
    return r < 0 ? r : tq_worker_handle(s->worker, NULL, NULL, sql_handle, s, err);
}

static int check_schema(struct sql_source *s, struct tr_err *err)
{
    TR_CLEANUP(tr_store_closep) struct tr_store *st = NULL;
    int r = tr_store_open(&(struct tr_store_conf){.url = s->conf.db}, &st, err);

    if (r == 0 && s->conf.migrate)
        r = tr_store_migrate(st, -1, err);
    return r < 0 ? r : tr_store_check_schema(st, err);
}

static int open_all(struct sql_source *s, struct tr_err *err)
{
    struct tr_pool_conf pool = {.loop = s->host->loop,
                                .slots = s->host->slots,
                                .program = s->host->program,
                                .arg = "slot",
                                .setup = s->host->setup,
                                .events = {.arg = s,
                                           .result = on_result,
                                           .fault = on_fault,
                                           .died = on_died,
                                           .room = on_room,
                                           .broken = on_broken}};
    int r = read_queues(s, err);

    if (r == 0)
        r = check_schema(s, err);
    if (r == 0)
        r = open_worker(s, err);
    if (r == 0)
        r = tr_pool_open(&pool, &s->pool, err);
    if (r < 0)
        return r;
    r = pthread_create(&s->thread, NULL, work, s);
    if (r != 0)
        return tr_fail(err, TR_E_RETRY, r, "start the queue's thread");
    s->running = true;
    return 0;
}

int tr_source_sql_open(const struct tr_source_host *host, const struct tr_source_sql_conf *conf,
                       struct tr_source **ret, struct tr_err *err)
{
    struct sql_source *s = calloc(1, sizeof(*s));

    if (!s)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory for a source");
    s->base = (struct tr_source){.drain = drain, .free = source_free};
    s->host = host;
    s->conf = *conf;
    s->conf.lease_us = conf->lease_us ? conf->lease_us : (int64_t)LEASE_S * 1000000;
    (void)uv_timer_init(tr_loop_uv(host->loop), &s->haste);
    s->haste.data = s;
    int r = open_all(s, err);
    if (r < 0) {
        source_free(&s->base);
        return r;
    }
    *ret = &s->base;
    return 0;
}
