/* SPDX-License-Identifier: MIT
 *
 * worker_run.c - around one handler: what it may call, and what its return value means.
 *
 * Runs in the executor: a thread of the worker's process, or a child that has nothing else.
 * A transaction that the handler left open on the executor's handle is rolled back here, so that
 * nothing half done can be committed later by somebody else's run.
 */
#include <poll.h>
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "queue/worker.h"

#define DELAY_MAX_US ((int64_t)100 * 365 * 86400 * 1000000) /* a hundred years */

int tqw_open(tq_worker *w, bool loop, tq **ret, struct tr_err *err)
{
    struct tq_opts o = w->qopts;

    if (loop)
        o.timeout_us = TQW_LOCK_WAIT_US;
    int r = tq_open(ret, w->url, &o, err);
    if (r >= 0 && loop)
        (*ret)->tries = TQW_TRIES;
    return r;
}

int tqw_exec_begin(struct tqw_exec *e, struct tr_err *err)
{
    const struct tq_worker_opts *o = &e->w->o;

    if (e->has_local || !o->executor_begin)
        return 0;
    int r = o->executor_begin(o->user, &e->local, err);
    e->has_local = r >= 0;
    return r;
}

void tqw_exec_end(struct tqw_exec *e)
{
    tq_close(e->q);
    e->q = NULL;
    if (e->has_local && e->w->o.executor_end)
        e->w->o.executor_end(e->w->o.user, e->local);
    e->has_local = false;
}

/* ---------------------------------------------------------------- the handler's calls */

int tq_run_result(struct tq_run *run, const void *data, size_t len, struct tr_err *err)
{
    size_t max = run->w->qopts.max_payload ? run->w->qopts.max_payload : (size_t)4 << 20;

    if (len > max)
        return tr_fail(err, TR_E_LIMIT, 0, "the result has %zu bytes; the ceiling is %zu", len,
                       max);
    char *copy = malloc(len + 1);
    if (!copy)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory for a result of %zu bytes", len);
    if (len)
        memcpy(copy, data, len);
    free(run->data);
    run->data = copy;
    run->len = len;
    return 0;
}

void tq_run_delay(struct tq_run *run, int64_t delay_us)
{
    run->delay_us = delay_us < 0 ? 0 : delay_us > DELAY_MAX_US ? DELAY_MAX_US : delay_us;
}

tq *tq_run_queue(struct tq_run *run, struct tr_err *err)
{
    run->touched = true;
    if (!run->exec->q && tqw_open(run->w, false, &run->exec->q, err) < 0)
        return NULL;
    return run->exec->q;
}

void *tq_run_local(struct tq_run *run)
{
    return run->exec->local;
}

/* In a child nothing but the socket knows. It is only looked at: the frame stays until the next
 * job is read, so that the descriptor stays readable. */
static int child_stopped(const struct tqw_exec *e)
{
    struct tqw_frame f;

    if (recv(e->stop_fd, &f, sizeof(f), MSG_PEEK | MSG_DONTWAIT) != (ssize_t)sizeof(f))
        return TQ_GO_ON;
    return f.type == FRAME_STOP ? (int)f.arg : TQ_GO_ON;
}

int tq_run_stopped(struct tq_run *run)
{
    int stop = atomic_load_explicit(&run->stop, memory_order_relaxed);

    if (stop == TQ_GO_ON && run->w->o.mode == TQ_PROCESSES) {
        stop = child_stopped(run->exec);
        atomic_store_explicit(&run->stop, stop, memory_order_relaxed);
    }
    return stop;
}

int tq_run_fd(struct tq_run *run)
{
    return run->exec->stop_fd;
}

/* ---------------------------------------------------------------- one run */

void tqw_failed(struct tq_run *r, const char *fmt, ...)
{
    char text[TR_ERR_MSG_MAX];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    r->end = TQ_NACK;
    (void)tq_run_result(r, text, strlen(text), NULL);
}

static int fits(const struct tqw_handler *h, const struct tq_job *job)
{
    if ((h->queue && strcmp(h->queue, job->queue) != 0) ||
        (h->kind && strcmp(h->kind, job->kind) != 0))
        return -1;
    return (h->kind ? 2 : 0) + (h->queue ? 1 : 0);
}

const struct tqw_handler *tqw_find(const tq_worker *w, const struct tq_job *job)
{
    const struct tqw_handler *best = NULL;
    int best_fit = -1;

    for (size_t i = 0; i < w->nhandlers; i++) {
        int fit = fits(&w->handlers[i], job);
        if (fit > best_fit) {
            best = &w->handlers[i];
            best_fit = fit;
        }
    }
    return best;
}

/* What the handler returned becomes an end. */
static void note_end(struct tq_run *r, int said)
{
    if (said == 0)
        r->end = TQ_ACK;
    else if (said >= TQ_ACK && said <= TQ_RELEASE)
        r->end = said;
    else if (said < 0 && r->data)
        r->end = TQ_NACK;
    else
        tqw_failed(r, "the handler returned %d", said);
    if (r->end == TQ_SNOOZE && r->delay_us < 0)
        r->delay_us = 1000000;
}

void tqw_execute(struct tqw_exec *e, struct tq_run *r)
{
    const struct tqw_handler *h = tqw_find(e->w, r->job);

    r->delay_us = -1;
    if (atomic_load(&r->stop) != TQ_GO_ON) {
        tqw_failed(r, "stopped before it started");
        return;
    }
    if (!h) {
        tqw_failed(r, "no handler here for kind '%s' in queue '%s'", r->job->kind, r->job->queue);
        return;
    }
    if (e->q)
        e->q->foreign_tx = false;
    note_end(r, h->fn(r, r->job, h->user));
    r->foreign = e->q && e->q->foreign_tx;
    if (e->q && e->q->in_tx) {
        tq_rollback(e->q);
        r->left_open = true;
        if (r->end == TQ_ACK)
            tqw_failed(r, "the handler returned with its transaction open; it was rolled back");
    }
}
