/* SPDX-License-Identifier: MIT
 *
 * worker_procs.c - executors that are processes, seen from the loop.
 *
 * A child has one job at a time, so its death is that job's and nobody else's. A run whose handler
 * asked for a handle keeps its child from the next job until the row has been looked at: if a
 * transaction was left open, the child is killed, which ends it.
 */
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "queue/worker.h"

enum {
    BIRTH_FIRST_US = 50000, /* a child that died before its first run: pause, doubling to … */
    BIRTH_MAX_US = 5000000,
    EVENTS = 64
};

static void ended(struct tqw_exec *e, struct tq_run *r)
{
    (void)pthread_mutex_lock(&e->w->pool.mu);
    tqw_ended(e, r);
    (void)pthread_mutex_unlock(&e->w->pool.mu);
}

/* ---------------------------------------------------------------- sockets */

static void watch(const struct tqw_exec *e, int op)
{
    struct epoll_event ev = {.events = EPOLLIN | (e->out.len ? (uint32_t)EPOLLOUT : 0),
                             .data.fd = e->index};

    (void)epoll_ctl(e->w->epoll_fd, op, e->sock, &ev);
}

static void flush(struct tqw_exec *e)
{
    bool was = e->out.len > 0;

    while (e->out.len && e->sock >= 0) {
        ssize_t n = send(e->sock, e->out.data, e->out.len, MSG_DONTWAIT | MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break; /* full: later; broken: its death will be reported */
        tr_buf_eat(&e->out, (size_t)n);
    }
    if (was && e->sock >= 0)
        watch(e, EPOLL_CTL_MOD);
}

static void came_back(struct tqw_exec *e, const struct tqw_done *d, const char *data, size_t len)
{
    struct tq_run *r = e->current;

    if (!r)
        return;
    r->end = d->end;
    r->delay_us = d->delay_us;
    r->touched = d->touched;
    r->left_open = d->left_open;
    r->foreign = d->foreign;
    if (len)
        (void)tq_run_result(r, data, len, NULL);
    e->runs++;
    e->births = 0;
    e->held = r->touched ? r : NULL;
    ended(e, r);
}

static void parse(struct tqw_exec *e)
{
    struct tqw_frame f;
    struct tqw_done d;

    while (e->in.len >= sizeof(f) + sizeof(d)) {
        memcpy(&f, e->in.data, sizeof(f));
        if (f.type != FRAME_DONE || f.len < sizeof(d) || e->in.len < sizeof(f) + f.len)
            break;
        memcpy(&d, e->in.data + sizeof(f), sizeof(d));
        came_back(e, &d, e->in.data + sizeof(f) + sizeof(d), f.len - sizeof(d));
        tr_buf_eat(&e->in, sizeof(f) + f.len);
    }
}

static void hear(struct tqw_exec *e)
{
    while (e->sock >= 0) {
        char *room = tr_buf_room(&e->in, 65536);
        ssize_t n = room ? recv(e->sock, room, 65536, MSG_DONTWAIT) : -1;

        if (n < 0 && errno == EINTR)
            continue;
        if (n == 0) /* hung up: the nursery will say how it died */
            (void)epoll_ctl(e->w->epoll_fd, EPOLL_CTL_DEL, e->sock, NULL);
        if (n <= 0)
            break;
        tr_buf_grow(&e->in, (size_t)n);
    }
    parse(e);
}

/* ---------------------------------------------------------------- births and deaths */

static void ask_for_child(struct tqw_exec *e)
{
    if (e->pid || e->starting || tr_clock_mono_us() < e->start_us || e->w->phase >= PHASE_DRAIN)
        return;
    e->starting = tqw_nursery_ask(e->w, e->index);
}

static void born(struct tqw_exec *e, const struct tqw_news *news)
{
    e->starting = false;
    e->pid = news->pid;
    e->sock = news->fd;
    e->dying = false;
    e->runs = 0;
    tr_buf_clear(&e->in);
    tr_buf_clear(&e->out);
    watch(e, EPOLL_CTL_ADD);
}

static void say_how(struct tq_run *r, int status)
{
    int sig = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    const char *name = sig ? sigabbrev_np(sig) : NULL;

    switch (atomic_load(&r->stop)) {
    case TQ_STOP_SHUTDOWN:
        r->end = TQ_RELEASE;
        return;
    case TQ_STOP_DEADLINE:
        tqw_failed(r, "the run took longer than it may; its process was killed");
        return;
    case TQ_STOP_CANCEL:
        tqw_failed(r, "the run was cancelled; its process was killed");
        return;
    default:
        break;
    }
    if (sig)
        tqw_failed(r, "the handler's process was killed by SIG%s (signal %d)", name ? name : "?",
                   sig);
    else
        tqw_failed(r, "the handler's process ended in the middle of the run with status %d",
                   WEXITSTATUS(status));
}

static void died(struct tqw_exec *e, int status)
{
    struct tq_run *r;

    hear(e); /* it may have answered before */
    r = e->current;
    if (r) {
        say_how(r, status);
        r->crashed = atomic_load(&r->stop) != TQ_STOP_SHUTDOWN;
        r->check = true;
        ended(e, r);
    }
    int64_t pause = BIRTH_FIRST_US;
    e->births = r || e->runs ? 0 : e->births + 1;
    for (int i = 1; i < e->births && pause < BIRTH_MAX_US; i++)
        pause *= 2;
    e->start_us = e->births ? tr_clock_mono_us() + pause : 0;
    e->held = NULL;
    e->pid = 0;
    e->starting = e->dying = false;
    tr_close(&e->sock);
    ask_for_child(e);
}

static void nursery_lost(tq_worker *w)
{
    struct tr_err err = TR_ERR_INIT;

    (void)tr_fail(&err, TR_E_FATAL, 0, "the process that starts handlers died; stopping");
    tqw_trace_error(w, &err);
    tr_close(&w->nursery_fd);
    for (int i = 0; i < w->o.concurrency; i++)
        if (w->execs[i].pid)
            died(&w->execs[i], SIGKILL);
    atomic_fetch_add(&w->stops, 2);
}

static void read_news(tq_worker *w)
{
    struct tqw_news n;

    for (tqw_nursery_news(w, &n); n.type != NEWS_NONE; tqw_nursery_news(w, &n)) {
        if (n.type == NEWS_LOST) {
            nursery_lost(w);
            return;
        }
        struct tqw_exec *e = &w->execs[n.index];
        if (n.type == NEWS_BORN)
            born(e, &n);
        else
            died(e, n.status);
    }
}

/* ---------------------------------------------------------------- handing out */

static void give(struct tqw_exec *e, struct tq_run *r)
{
    (void)pthread_mutex_lock(&e->w->pool.mu);
    tqw_started(e, r);
    (void)pthread_mutex_unlock(&e->w->pool.mu);
    tqw_wire_job(&e->out, r->job);
    tqw_trace(e->w, &(struct tq_trace){.event = TQ_TRACE_START, .job = r->job});
    flush(e);
}

static struct tq_run *next_todo(tq_worker *w)
{
    (void)pthread_mutex_lock(&w->pool.mu);
    struct tq_run *r = tqw_todo_next(&w->pool);
    (void)pthread_mutex_unlock(&w->pool.mu);
    return r;
}

static void feed(tq_worker *w)
{
    for (int i = 0; i < w->o.concurrency && w->pool.todo; i++) {
        struct tqw_exec *e = &w->execs[i];

        if (!e->pid)
            ask_for_child(e);
        while (e->pid && !e->dying && !e->current && !e->held && e->runs < w->o.runs_per_process &&
               w->pool.todo) {
            struct tq_run *r = next_todo(w);

            if (atomic_load(&r->stop) == TQ_GO_ON) {
                give(e, r);
            } else { /* lost or cancelled while it waited */
                tqw_failed(r, "stopped before it started");
                tqw_not_started(w, r);
            }
        }
    }
}

/* ---------------------------------------------------------------- for the loop */

static int procs_start(tq_worker *w, struct tr_err *err)
{
    int r = tqw_nursery_start(w, err);

    for (int i = 0; i < w->o.concurrency && r >= 0; i++)
        ask_for_child(&w->execs[i]);
    return r;
}

static void procs_put(tq_worker *w, struct tq_run *list)
{
    (void)pthread_mutex_lock(&w->pool.mu);
    (void)tqw_todo_add(&w->pool, list);
    (void)pthread_mutex_unlock(&w->pool.mu);
    feed(w);
}

static struct tq_run *procs_collect(tq_worker *w)
{
    struct epoll_event ev[EVENTS];
    int n = epoll_wait(w->epoll_fd, ev, EVENTS, 0);

    for (int i = 0; i < n; i++) {
        if (ev[i].data.fd < 0)
            continue;
        struct tqw_exec *e = &w->execs[ev[i].data.fd];
        if (ev[i].events & EPOLLOUT)
            flush(e);
        hear(e);
    }
    read_news(w);
    feed(w);
    return tqw_take_done(w);
}

static void procs_ask(tq_worker *w, struct tq_run *r, int stop)
{
    struct tqw_frame f = {.type = FRAME_STOP, .arg = (uint32_t)stop};

    (void)w;
    atomic_store(&r->stop, stop);
    if (!r->exec || r->exec->current != r)
        return;
    tr_buf_add(&r->exec->out, &f, sizeof(f));
    flush(r->exec);
}

static bool procs_kill(tq_worker *w, struct tq_run *r)
{
    struct tqw_exec *e = r->exec;

    if (!e || (e->current != r && e->held != r) || !e->pid)
        return false;
    if (!e->dying)
        tqw_nursery_kill(w, e->index, e->pid);
    e->dying = true;
    return true;
}

static void procs_settled(tq_worker *w, struct tq_run *r)
{
    if (!r->exec || r->exec->held != r)
        return;
    r->exec->held = NULL;
    feed(w);
}

static void procs_end(tq_worker *w)
{
    for (int i = 0; i < w->o.concurrency; i++) {
        struct tqw_exec *e = &w->execs[i];

        if (e->current && e->pid)
            tqw_nursery_kill(w, e->index, e->pid);
        (void)pthread_mutex_lock(&w->pool.mu);
        e->current = NULL;
        (void)pthread_mutex_unlock(&w->pool.mu);
        tr_close(&e->sock);
    }
    tqw_nursery_end(w);
}

const struct tqw_pool_ops tqw_procs = {procs_start, procs_put,     procs_collect, procs_ask,
                                       procs_kill,  procs_settled, procs_end};
