/* SPDX-License-Identifier: MIT
 *
 * worker.c - the worker as its program sees it: options, start, stop, end.
 *
 * The start has an order that matters: children are forked first, by a process that has no
 * connection and no thread of ours, and only then is the database opened. (SQLite keeps what it
 * knows about locks in memory that a fork copies; a child must never inherit that.)
 */
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "queue/worker.h"

/* ---------------------------------------------------------------- options */

static int check_opts(const struct tq_worker_opts *o, struct tr_err *err)
{
    if (!o->url || !o->queue || !o->queue->driver)
        return tr_fail(err, TR_E_USAGE, 0, "a worker needs a URL and tq_opts with a driver");
    if (o->concurrency < 0 || o->concurrency > TQ_CONCURRENCY_MAX || o->prefetch < -1 ||
        o->prefetch > TQ_PREFETCH_MAX || o->nqueues > TQI_QUEUES_MAX ||
        o->nperiodic > TQ_PERIODIC_MAX)
        return tr_fail(err, TR_E_LIMIT, 0,
                       "at most %d executors, %d jobs ahead, %d queues, %d schedules",
                       (int)TQ_CONCURRENCY_MAX, (int)TQ_PREFETCH_MAX, (int)TQI_QUEUES_MAX,
                       (int)TQ_PERIODIC_MAX);
    if (o->lease_us < 0 || o->beat_us < 0 || o->poll_us < 0 || o->drain_us < 0 ||
        o->timeout_us < 0 || o->grace_us < 0 || o->runs_per_process < 0)
        return tr_fail(err, TR_E_USAGE, 0, "a time or a number of the worker is negative");
    if (o->mode != TQ_THREADS && o->mode != TQ_PROCESSES)
        return tr_fail(err, TR_E_USAGE, 0, "a worker's mode is TQ_THREADS or TQ_PROCESSES");
    return 0;
}

static void set_defaults(struct tq_worker_opts *o)
{
    if (!o->concurrency)
        o->concurrency = 4;
    o->prefetch = o->prefetch < 0 ? 0 : o->prefetch ? o->prefetch : o->concurrency;
    if (!o->lease_us)
        o->lease_us = 30000000;
    if (!o->beat_us)
        o->beat_us = o->lease_us / 3;
    if (!o->drain_us)
        o->drain_us = 30000000;
    if (!o->grace_us)
        o->grace_us = 5000000;
    if (!o->runs_per_process)
        o->runs_per_process = 1000;
}

static int copy_queues(tq_worker *w, const struct tq_worker_opts *o, struct tr_err *err)
{
    static const struct tq_weighted standard = {"default", 1};
    const struct tq_weighted *from = o->nqueues ? o->queues : &standard;

    w->o.nqueues = o->nqueues ? o->nqueues : 1;
    w->queues = calloc(w->o.nqueues, sizeof(*w->queues));
    if (!w->queues)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory for a worker");
    for (size_t i = 0; i < w->o.nqueues; i++) {
        int r = tqi_check_name("queue name", from[i].queue, false, err);
        if (r < 0)
            return r;
        w->queues[i] = (struct tq_weighted){strdup(from[i].queue), from[i].weight};
        if (!w->queues[i].queue)
            return tr_fail(err, TR_E_NOMEM, 0, "no memory for a worker");
    }
    return 0;
}

/* Schedules are copied as they are: their strings stay the caller's, like those of tq_opts. */
static int copy_periodic(tq_worker *w, const struct tq_worker_opts *o, struct tr_err *err)
{
    if (!o->nperiodic)
        return 0;
    w->periodic = calloc(o->nperiodic, sizeof(*w->periodic));
    if (!w->periodic)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory for a worker");
    for (size_t i = 0; i < o->nperiodic; i++) {
        w->periodic[i] = o->periodic[i];
        int64_t next;
        if (w->periodic[i].cron) {
            int r = tq_cron_next(w->periodic[i].cron, 0, &next, err);
            if (r < 0)
                return tr_fail_wrap(err, "schedule '%s'", w->periodic[i].name);
        }
    }
    return 0;
}

static void freep(tq_worker **w)
{
    tq_worker_free(*w);
}

static int make_fds(tq_worker *w, struct tr_err *err)
{
    struct epoll_event ev = {.events = EPOLLIN, .data.fd = -1};

    w->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    w->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (w->epoll_fd < 0 || w->wake_fd < 0 ||
        epoll_ctl(w->epoll_fd, EPOLL_CTL_ADD, w->wake_fd, &ev) < 0)
        return tr_fail(err, TR_E_IO, errno, "descriptors of a worker");
    return 0;
}

static int make_execs(tq_worker *w, struct tr_err *err)
{
    w->execs = calloc((size_t)w->o.concurrency, sizeof(*w->execs));
    if (!w->execs)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory for %d executors", w->o.concurrency);
    for (int i = 0; i < w->o.concurrency; i++) {
        w->execs[i] = (struct tqw_exec){.w = w, .index = i, .stop_fd = -1, .sock = -1};
        tr_buf_init(&w->execs[i].in, (size_t)1 << 30);
        tr_buf_init(&w->execs[i].out, (size_t)1 << 30);
    }
    return 0;
}

int tq_worker_new(tq_worker **ret, const struct tq_worker_opts *given, struct tr_err *err)
{
    struct tq_worker_opts o = TQ_WORKER_OPTS_INIT;
    TR_CLEANUP(freep) tq_worker *w = NULL;

    if (!ret || !given)
        return tr_fail(err, TR_E_USAGE, 0, "tq_worker_new needs options (TQ_WORKER_OPTS_INIT)");
    memcpy(&o, given, given->size < sizeof(o) ? given->size : sizeof(o));
    int r = check_opts(&o, err);
    if (r < 0)
        return r;
    w = calloc(1, sizeof(*w));
    if (!w)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory for a worker");
    w->epoll_fd = w->wake_fd = w->listen_fd = w->nursery_fd = -1;
    (void)pthread_mutex_init(&w->pool.mu, NULL);
    (void)pthread_cond_init(&w->pool.more, NULL);
    (void)pthread_mutex_init(&w->stats_mu, NULL);
    w->pool.todo_end = &w->pool.todo;
    w->pool.done_end = &w->pool.done;
    w->pid = getpid();
    w->o = o;
    set_defaults(&w->o);
    memcpy(&w->qopts, o.queue, o.queue->size < sizeof(w->qopts) ? o.queue->size : sizeof(w->qopts));
    w->qopts.size = sizeof(w->qopts);
    w->ops = o.mode == TQ_PROCESSES ? &tqw_procs : &tqw_threads;
    w->url = strdup(o.url);
    if (!w->url)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory for a worker");
    if ((r = copy_queues(w, &o, err)) < 0 || (r = copy_periodic(w, &o, err)) < 0 ||
        (r = make_fds(w, err)) < 0 || (r = make_execs(w, err)) < 0)
        return r;
    *ret = TR_TAKE(w);
    return 0;
}

int tq_worker_handle(tq_worker *w, const char *queue, const char *kind, tq_handler fn, void *user,
                     struct tr_err *err)
{
    if (!fn || w->phase != PHASE_NEW || w->nhandlers == TQ_HANDLERS_MAX)
        return tr_fail(err, TR_E_USAGE, 0,
                       "handlers (at most %d) are registered before the worker starts",
                       (int)TQ_HANDLERS_MAX);
    struct tqw_handler *more = realloc(w->handlers, (w->nhandlers + 1) * sizeof(*more));
    if (!more)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory for a handler");
    w->handlers = more;
    struct tqw_handler *h = &more[w->nhandlers];
    *h = (struct tqw_handler){queue ? strdup(queue) : NULL, kind ? strdup(kind) : NULL, fn, user};
    if ((queue && !h->queue) || (kind && !h->kind)) {
        free(h->queue);
        free(h->kind);
        return tr_fail(err, TR_E_NOMEM, 0, "no memory for a handler");
    }
    w->nhandlers++;
    return 0;
}

/* ---------------------------------------------------------------- start and stop */

static int start(tq_worker *w, struct tr_err *err)
{
    if (w->phase != PHASE_NEW)
        return 0;
    int r = w->ops->start(w, err);
    if (r >= 0)
        r = tqw_open(w, true, &w->q, err);
    if (r >= 0) {
        r = tq_schema_version(w->q, err);
        if (r >= 0 && r != tq_schema_newest())
            r = tr_fail(err, TR_E_FATAL, 0,
                        "the queue's schema has version %d and this library needs %d: run "
                        "'tribunal queue migrate up'",
                        r, tq_schema_newest());
    }
    if (r < 0) {
        w->phase = PHASE_OVER;
        return r;
    }
    w->phase = PHASE_WORK;
    return 0;
}

int tq_worker_fd(tq_worker *w, struct tr_err *err)
{
    int r = start(w, err);

    return r < 0 ? r : w->epoll_fd;
}

int64_t tq_worker_timeout_us(tq_worker *w)
{
    return w->phase == PHASE_NEW || w->phase == PHASE_OVER ? 0 : tqw_timeout(w);
}

int tq_worker_process(tq_worker *w, struct tr_err *err)
{
    int r = start(w, err);

    if (r < 0)
        return r;
    return w->phase == PHASE_OVER ? 0 : tqw_turn(w);
}

int tq_worker_run(tq_worker *w, struct tr_err *err)
{
    int r;

    while ((r = tq_worker_process(w, err)) > 0) {
        int64_t us = tqw_timeout(w);
        struct pollfd p = {.fd = w->epoll_fd, .events = POLLIN};
        struct timespec ts = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};

        (void)ppoll(&p, 1, &ts, NULL);
    }
    return r < 0 ? r : w->nruns > 0;
}

void tq_worker_stop(tq_worker *w)
{
    uint64_t one = 1;
    int saved = errno;

    atomic_fetch_add(&w->stops, 1);
    (void)!write(w->wake_fd, &one, sizeof(one));
    errno = saved;
}

void tq_worker_wake(tq_worker *w)
{
    uint64_t many = TQW_WAKE;
    int saved = errno;

    (void)!write(w->wake_fd, &many, sizeof(many));
    errno = saved;
}

/* ---------------------------------------------------------------- the end */

/* A worker that is freed in the middle of its work gives back what it holds. */
static void finish(tq_worker *w)
{
    if (w->phase != PHASE_WORK && w->phase != PHASE_DRAIN && w->phase != PHASE_HURRY)
        return;
    atomic_store(&w->stops, 2);
    while (tqw_turn(w) > 0) {
        int64_t us = tqw_timeout(w);
        struct timespec ts = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
        struct pollfd p = {.fd = w->epoll_fd, .events = POLLIN};

        (void)ppoll(&p, 1, &ts, NULL);
    }
}

static bool is_stuck(tq_worker *w)
{
    bool stuck = false;

    (void)pthread_mutex_lock(&w->pool.mu);
    for (int i = 0; w->execs && i < w->o.concurrency; i++)
        stuck = stuck || (w->o.mode == TQ_THREADS && w->execs[i].current);
    (void)pthread_mutex_unlock(&w->pool.mu);
    return stuck;
}

void tq_worker_free(tq_worker *w)
{
    if (!w)
        return;
    finish(w);
    if (w->execs)
        w->ops->end(w);
    tq_close(w->q);
    w->q = NULL;
    if (is_stuck(w))
        return; /* a handler that never returned still uses all of this */
    tqw_collect(w);
    while (w->nruns)
        tqw_drop(w, w->runs[0]);
    for (int i = 0; w->execs && i < w->o.concurrency; i++) {
        tr_buf_done(&w->execs[i].in);
        tr_buf_done(&w->execs[i].out);
    }
    for (size_t i = 0; i < w->nhandlers; i++) {
        free(w->handlers[i].queue);
        free(w->handlers[i].kind);
    }
    for (size_t i = 0; w->queues && i < w->o.nqueues; i++)
        free((char *)(uintptr_t)w->queues[i].queue); /* NOLINT: ours, const for callers */
    tr_close(&w->epoll_fd);
    tr_close(&w->wake_fd);
    (void)pthread_mutex_destroy(&w->pool.mu);
    (void)pthread_cond_destroy(&w->pool.more);
    (void)pthread_mutex_destroy(&w->stats_mu);
    free(w->runs);
    free(w->handlers);
    free(w->queues);
    free(w->periodic);
    free(w->execs);
    free(w->url);
    free(w);
}
