/* SPDX-License-Identifier: MIT
 *
 * worker_pool.c - the lists between the loop and its executors, whatever these are: what is to be
 * done, who is at it, what is done.
 */
#include "base/clock.h"
#include "queue/worker.h"

int tqw_todo_add(struct tqw_pool *p, struct tq_run *list)
{
    int n = 0;

    *p->todo_end = list;
    for (struct tq_run *r = list; r; r = r->next, n++)
        p->todo_end = &r->next;
    p->buffered += n;
    return n;
}

struct tq_run *tqw_todo_next(struct tqw_pool *p)
{
    struct tq_run *r = p->todo;

    if (!r)
        return NULL;
    p->todo = r->next;
    if (!p->todo)
        p->todo_end = &p->todo;
    p->buffered--;
    r->next = NULL;
    return r;
}

static void add_done(struct tqw_pool *p, struct tq_run *r)
{
    r->state = RUN_ENDED;
    r->next = NULL;
    *p->done_end = r;
    p->done_end = &r->next;
}

void tqw_started(struct tqw_exec *e, struct tq_run *r)
{
    r->exec = e;
    r->state = RUN_RUNNING;
    r->started_us = tr_clock_mono_us();
    e->current = r;
}

void tqw_ended(struct tqw_exec *e, struct tq_run *r)
{
    r->ended_us = tr_clock_mono_us();
    e->current = NULL;
    add_done(&e->w->pool, r);
}

void tqw_not_started(tq_worker *w, struct tq_run *r)
{
    (void)pthread_mutex_lock(&w->pool.mu);
    add_done(&w->pool, r);
    (void)pthread_mutex_unlock(&w->pool.mu);
}

struct tq_run *tqw_take_back(tq_worker *w)
{
    struct tqw_pool *p = &w->pool;

    (void)pthread_mutex_lock(&p->mu);
    struct tq_run *list = p->todo;
    p->todo = NULL;
    p->todo_end = &p->todo;
    p->buffered = 0;
    (void)pthread_mutex_unlock(&p->mu);
    return list;
}

struct tq_run *tqw_take_done(tq_worker *w)
{
    struct tqw_pool *p = &w->pool;

    (void)pthread_mutex_lock(&p->mu);
    struct tq_run *list = p->done;
    p->done = NULL;
    p->done_end = &p->done;
    p->woken = false;
    (void)pthread_mutex_unlock(&p->mu);
    return list;
}

int tqw_running(tq_worker *w, struct tq_run **ret)
{
    int n = 0;

    (void)pthread_mutex_lock(&w->pool.mu);
    for (int i = 0; i < w->o.concurrency; i++)
        if (w->execs[i].current)
            ret[n++] = w->execs[i].current;
    (void)pthread_mutex_unlock(&w->pool.mu);
    return n;
}

int tqw_buffered(tq_worker *w)
{
    (void)pthread_mutex_lock(&w->pool.mu);
    int n = w->pool.buffered;
    (void)pthread_mutex_unlock(&w->pool.mu);
    return n;
}
