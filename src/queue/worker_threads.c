/* SPDX-License-Identifier: MIT
 *
 * worker_threads.c - executors that are threads of this process.
 *
 * One list of jobs to do, one of jobs done, one mutex. The loop is woken once for however many
 * runs end while it is busy with the database: that is what makes settlements come in batches.
 */
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "queue/worker.h"

static void wake_loop(const tq_worker *w)
{
    uint64_t one = 1;

    (void)!write(w->wake_fd, &one, sizeof(one)); /* full means awake already */
}

/* ---------------------------------------------------------------- in the thread */

static struct tq_run *next_run(struct tqw_exec *e)
{
    struct tqw_pool *p = &e->w->pool;

    (void)pthread_mutex_lock(&p->mu);
    p->idle++;
    while (!p->todo && !p->stopping)
        (void)pthread_cond_wait(&p->more, &p->mu);
    p->idle--;
    struct tq_run *r = p->stopping ? NULL : tqw_todo_next(p);
    if (r)
        tqw_started(e, r);
    (void)pthread_mutex_unlock(&p->mu);
    return r;
}

static void hand_back(struct tqw_exec *e, struct tq_run *r)
{
    struct tqw_pool *p = &e->w->pool;

    (void)pthread_mutex_lock(&p->mu);
    bool wake = !p->woken;
    p->woken = true;
    tqw_ended(e, r);
    if (atomic_load(&r->stop) != TQ_GO_ON) { /* the next run starts with a quiet descriptor */
        uint64_t n;
        (void)!read(e->stop_fd, &n, sizeof(n));
    }
    (void)pthread_mutex_unlock(&p->mu);
    if (wake)
        wake_loop(e->w);
}

/* The program's own part of an executor may need a database that is not there yet. */
static bool prepared(struct tqw_exec *e)
{
    struct tqw_pool *p = &e->w->pool;
    struct tr_err err = TR_ERR_INIT;

    while (tqw_exec_begin(e, &err) < 0) {
        struct timespec until;

        tqw_trace_error(e->w, &err);
        (void)clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec++;
        (void)pthread_mutex_lock(&p->mu);
        if (!p->stopping)
            (void)pthread_cond_timedwait(&p->more, &p->mu, &until);
        bool stop = p->stopping;
        (void)pthread_mutex_unlock(&p->mu);
        if (stop)
            return false;
    }
    return true;
}

static void *executor(void *arg)
{
    struct tqw_exec *e = arg;
    struct tq_run *r;

    if (prepared(e))
        while ((r = next_run(e)) != NULL) {
            tqw_trace(e->w, &(struct tq_trace){.event = TQ_TRACE_START, .job = r->job});
            tqw_execute(e, r);
            hand_back(e, r);
        }
    tqw_exec_end(e);
    (void)pthread_mutex_lock(&e->w->pool.mu);
    e->gone = true;
    (void)pthread_mutex_unlock(&e->w->pool.mu);
    wake_loop(e->w);
    return NULL;
}

/* ---------------------------------------------------------------- for the loop */

static int start_thread(struct tqw_exec *e, struct tr_err *err)
{
    sigset_t all, old;

    e->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (e->stop_fd < 0)
        return tr_fail(err, TR_E_IO, errno, "eventfd");
    (void)sigfillset(&all); /* signals are the program's: they go to its own threads */
    (void)pthread_sigmask(SIG_SETMASK, &all, &old);
    int rc = pthread_create(&e->thread, NULL, executor, e);
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (rc)
        return tr_fail(err, TR_E_IO, rc, "start executor %d", e->index);
    e->thread_runs = true;
    return 0;
}

static int threads_start(tq_worker *w, struct tr_err *err)
{
    for (int i = 0; i < w->o.concurrency; i++) {
        int r = start_thread(&w->execs[i], err);
        if (r < 0)
            return r;
    }
    return 0;
}

static void threads_put(tq_worker *w, struct tq_run *list)
{
    struct tqw_pool *p = &w->pool;

    (void)pthread_mutex_lock(&p->mu);
    int n = tqw_todo_add(p, list);
    int wake = n < p->idle ? n : p->idle;
    for (int i = 0; i < wake; i++)
        (void)pthread_cond_signal(&p->more);
    (void)pthread_mutex_unlock(&p->mu);
}

static void threads_ask(tq_worker *w, struct tq_run *r, int stop)
{
    struct tqw_pool *p = &w->pool;
    uint64_t one = 1;

    (void)pthread_mutex_lock(&p->mu);
    if (r->exec && r->exec->current == r) {
        atomic_store(&r->stop, stop);
        (void)!write(r->exec->stop_fd, &one, sizeof(one));
    }
    (void)pthread_mutex_unlock(&p->mu);
}

static bool threads_kill(tq_worker *w, struct tq_run *r)
{
    (void)w;
    (void)r;
    return false;
}

static void threads_settled(tq_worker *w, struct tq_run *r)
{
    (void)w;
    (void)r;
}

enum {
    END_WAIT_US = 1000000, /* a handler that was asked to stop may be on its way */
    END_LOOK_US = 1000
};

static bool still_runs(struct tqw_exec *e)
{
    (void)pthread_mutex_lock(&e->w->pool.mu);
    bool runs = e->current != NULL;
    (void)pthread_mutex_unlock(&e->w->pool.mu);
    return runs;
}

/* Join those that have nothing to do; one whose handler does not return is left to itself, with
 * everything it may still touch (tq_worker_free() then keeps the memory). */
static void threads_end(tq_worker *w)
{
    struct timespec look = {.tv_nsec = END_LOOK_US * 1000L};
    int64_t until = tr_clock_mono_us() + END_WAIT_US;
    struct tqw_pool *p = &w->pool;

    (void)pthread_mutex_lock(&p->mu);
    p->stopping = true;
    (void)pthread_cond_broadcast(&p->more);
    (void)pthread_mutex_unlock(&p->mu);
    for (int i = 0; i < w->o.concurrency; i++) {
        struct tqw_exec *e = &w->execs[i];

        if (!e->thread_runs)
            continue;
        while (still_runs(e) && tr_clock_mono_us() < until)
            (void)nanosleep(&look, NULL);
        bool stuck = still_runs(e);
        if (stuck)
            (void)pthread_detach(e->thread);
        else
            (void)pthread_join(e->thread, NULL);
        e->thread_runs = false;
        if (!stuck)
            tr_close(&e->stop_fd);
    }
}

const struct tqw_pool_ops tqw_threads = {threads_start, threads_put,     tqw_take_done, threads_ask,
                                         threads_kill,  threads_settled, threads_end};
