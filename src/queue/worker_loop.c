/* SPDX-License-Identifier: MIT
 *
 * worker_loop.c - one turn of the dispatch loop, and when the next one is due.
 *
 * A turn collects what executors handed back, settles it, renews leases, fetches what there is
 * room for, and looks at the clocks. Nothing here waits but for the database's answer; while the
 * database is away, handlers run on and the loop comes back with growing, jittered pauses.
 */
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/rand.h"
#include "queue/worker.h"

enum {
    LOOK_FILE_US = 5000,    /* SQLite: has anybody written? A look at shared memory */
    LOOK_FIRST_US = 2000,   /* doubles while nothing is found, to … */
    LOOK_MYSQL_US = 200000, /* … this, where nothing pushes */
    LOOK_PUSH_US = 1000000  /* … this, beside a push */
};

/* ---------------------------------------------------------------- the database is away */

void tqw_down(tq_worker *w, const struct tr_err *err)
{
    int64_t us = TQW_DOWN_FIRST_US;

    for (int i = 0; i < w->down_tries && us < TQW_DOWN_MAX_US; i++)
        us *= 2;
    if (us > TQW_DOWN_MAX_US)
        us = TQW_DOWN_MAX_US;
    us = us / 2 + (int64_t)tr_random_below((uint64_t)us);
    w->down_tries++;
    w->down_until_us = tr_clock_mono_us() + us;
    tqw_count(w, &w->stats.errors);
    tqw_trace_error(w, err);
}

void tqw_up(tq_worker *w)
{
    w->down_tries = 0;
    w->down_until_us = 0;
}

/* ---------------------------------------------------------------- runs */

struct tq_run *tqw_new_run(tq_worker *w, struct tqw_batch *b, const struct tq_job *job)
{
    if (w->nruns == w->cap) {
        size_t cap = w->cap ? 2 * w->cap : 64;
        void *more = realloc(w->runs, cap * sizeof(struct tq_run *)); /* NOLINT: pointers */
        if (!more)
            return NULL;
        w->runs = more;
        w->cap = cap;
    }
    struct tq_run *r = calloc(1, sizeof(*r));
    if (!r)
        return NULL;
    r->w = w;
    r->job = job;
    r->batch = b;
    r->delay_us = -1;
    r->at = w->nruns;
    w->runs[w->nruns++] = r;
    b->left++;
    return r;
}

void tqw_drop(tq_worker *w, struct tq_run *r)
{
    w->runs[r->at] = w->runs[--w->nruns];
    w->runs[r->at]->at = r->at;
    if (--r->batch->left == 0) {
        tq_batch_free(r->batch->b);
        free(r->batch);
    }
    free(r->data);
    free(r);
}

/* ---------------------------------------------------------------- fetching */

static void observe_wait(tq_worker *w, const struct tq_job *job)
{
    int64_t now = job->lease_until_us - w->o.lease_us; /* the database's, when it claimed */
    int64_t wait = now - job->available_us;

    tqw_observe(w, &w->stats.wait, wait > 0 ? wait : 0);
}

/* Turn a claimed batch into runs. What finds no memory comes back when its lease runs out. */
static void take_in(tq_worker *w, tq_batch *batch)
{
    struct tqw_batch *b = calloc(1, sizeof(*b));
    struct tq_run *list = NULL, **end = &list;

    if (!b) {
        tq_batch_free(batch);
        return;
    }
    b->b = batch;
    b->left = 1; /* ours, until all runs are made */
    for (int i = 0; i < tq_batch_count(batch); i++) {
        const struct tq_job *job = tq_batch_job(batch, i);
        struct tq_run *r = tqw_new_run(w, b, job);

        if (!r)
            break;
        if (job->cancel_requested)
            atomic_store(&r->stop, TQ_STOP_CANCEL);
        observe_wait(w, job);
        tqw_count(w, &w->stats.claimed);
        *end = r;
        end = &r->next;
    }
    if (--b->left == 0) {
        tq_batch_free(batch);
        free(b);
    }
    if (list)
        w->ops->put(w, list);
}

static int version_op(struct tqi_link *l, void *arg, struct tr_err *err)
{
    return tqi_scalar(l, S_DATA_VERSION, NULL, 0, arg, err);
}

/* SQLite: nobody has written since the last empty claim, and nothing can have become due. */
static bool file_is_quiet(tq_worker *w)
{
    int64_t version = -1, most = w->o.poll_us ? w->o.poll_us : LOOK_MYSQL_US;

    if (w->q->be != BE_SQLITE || !w->empty || w->now_us - w->looked_us >= most)
        return false;
    if (tqi_run(w->q, OP_READ, version_op, &version, NULL) < 0 || version != w->seen_version)
        return false;
    w->claim_us = w->now_us + LOOK_FILE_US;
    return true;
}

static int peek_op(struct tqi_link *l, void *arg, struct tr_err *err)
{
    struct tq_val p = tqi_text(*(const char **)arg);
    int64_t wait = LOOK_PUSH_US;

    int r = tqi_scalar(l, S_PEEK, &p, 1, &wait, err);
    return r < 0 ? r : wait <= 0 ? 0 : wait < LOOK_PUSH_US ? (int)wait : LOOK_PUSH_US;
}

/* When a scheduled job becomes due no push tells. */
static int64_t next_due(tq_worker *w, int64_t pause)
{
    for (size_t i = 0; i < w->o.nqueues; i++) {
        int due = tqi_run(w->q, OP_READ, peek_op, &w->queues[i].queue, NULL);

        if (due > 0 && due < pause)
            pause = due;
    }
    return pause;
}

static void pause_claims(tq_worker *w)
{
    int64_t most = w->o.poll_us ? w->o.poll_us : w->listen_fd >= 0 ? LOOK_PUSH_US : LOOK_MYSQL_US;

    if (w->q->be == BE_SQLITE) {
        w->claim_us = w->now_us + LOOK_FILE_US;
        w->looked_us = w->now_us;
        (void)tqi_run(w->q, OP_READ, version_op, &w->seen_version, NULL);
        return;
    }
    w->idle_us = w->idle_us ? 2 * w->idle_us : LOOK_FIRST_US;
    if (w->idle_us > most || w->listen_fd >= 0)
        w->idle_us = most;
    int64_t us = w->idle_us - w->idle_us / 4 + (int64_t)tr_random_below((uint64_t)w->idle_us / 2);
    w->claim_us = w->now_us + (w->listen_fd >= 0 ? next_due(w, us) : us);
}

static void listen_again(tq_worker *w)
{
    struct epoll_event ev = {.events = EPOLLIN, .data.fd = -1};

    if (w->listen_fd >= 0 || w->q->be != BE_POSTGRES || w->now_us < w->listen_us)
        return;
    w->listen_us = w->now_us + LOOK_PUSH_US;
    int fd = tq_fd(w->q, NULL);
    if (fd >= 0 && epoll_ctl(w->epoll_fd, EPOLL_CTL_ADD, fd, &ev) == 0)
        w->listen_fd = fd;
}

static void heard(tq_worker *w)
{
    if (w->listen_fd < 0)
        return;
    int n = tq_woken(w->q, NULL);
    if (n > 0)
        w->claim_us = 0;
    if (n < 0) {
        (void)epoll_ctl(w->epoll_fd, EPOLL_CTL_DEL, w->listen_fd, NULL);
        w->listen_fd = -1; /* closed by the handle when it listens again */
        w->listen_us = w->now_us + LOOK_FIRST_US;
        w->claim_us = 0;
    }
}

/* How many to ask for: what can run, and the buffer; not a few at a time while it is half full.
 * `leaving` of the runs in flight are about to be settled. */
int tqw_wanted(tq_worker *w, size_t leaving)
{
    int most = w->o.concurrency + w->o.prefetch, have = (int)(w->nruns - leaving);
    int want = have < most ? most - have : 0;

    if (w->phase != PHASE_WORK)
        return 0;

    if (want < (w->o.prefetch + 1) / 2 && tqw_buffered(w) > 0)
        return 0;
    return want;
}

void tqw_claimed(tq_worker *w, tq_batch *batch, int n, int want, int64_t started_us)
{
    w->empty = n == 0;
    if (n > 0) {
        tqw_observe(w, &w->stats.dequeue, tr_clock_mono_us() - started_us);
        take_in(w, batch);
        w->idle_us = 0;
    }
    w->now_us = tr_clock_mono_us();
    if (n < want)
        pause_claims(w);
    else
        w->claim_us = 0;
}

static void fetch(tq_worker *w)
{
    struct tr_err err = TR_ERR_INIT;
    tq_batch *batch = NULL;

    if (w->now_us < w->claim_us || w->now_us < w->down_until_us)
        return;
    int want = tqw_wanted(w, 0);
    if (want == 0)
        return;
    listen_again(w);
    if (file_is_quiet(w))
        return;
    int64_t start = tr_clock_mono_us();
    int n = tq_claim_any(w->q, w->queues, w->o.nqueues, want, w->o.lease_us, &batch, &err);
    if (n < 0) {
        tqw_down(w, &err);
        return;
    }
    tqw_up(w);
    tqw_claimed(w, batch, n, want, start);
}

/* ---------------------------------------------------------------- stopping */

static void begin_drain(tq_worker *w)
{
    w->phase = PHASE_DRAIN;
    w->drain_until_us = w->now_us + w->o.drain_us;
    tqw_give_back(w, tqw_take_back(w));
}

static bool nothing_left(const tq_worker *w)
{
    return (w->o.flags & TQ_WORKER_UNTIL_EMPTY) && w->empty && w->nruns == 0;
}

static void look_at_stops(tq_worker *w)
{
    int stops = atomic_load(&w->stops);

    if (w->phase == PHASE_WORK && nothing_left(w))
        stops = stops ? stops : 1;
    if (stops > 0 && w->phase == PHASE_WORK)
        begin_drain(w);
    if (w->phase == PHASE_DRAIN && (stops > 1 || w->now_us >= w->drain_until_us)) {
        w->phase = PHASE_HURRY;
        w->drain_until_us = w->now_us + w->o.grace_us;
        tqw_hurry(w);
    }
}

/* Everything is settled, given back, or cannot be helped. */
static bool is_over(tq_worker *w)
{
    if (w->phase < PHASE_DRAIN)
        return false;
    if (w->phase == PHASE_HURRY && w->now_us >= w->drain_until_us)
        return true; /* the database is away: leases run out by themselves */
    for (size_t i = 0; i < w->nruns; i++)
        if (!w->runs[i]->given_up)
            return false;
    return true;
}

/* ---------------------------------------------------------------- one turn */

static void drain_wakes(tq_worker *w)
{
    uint64_t n;

    if (read(w->wake_fd, &n, sizeof(n)) == (ssize_t)sizeof(n) && n >= TQW_WAKE)
        w->claim_us = 0;
}

int tqw_turn(tq_worker *w)
{
    w->now_us = tr_clock_mono_us();
    drain_wakes(w);
    heard(w);
    tqw_collect(w);
    look_at_stops(w);
    tqw_settle(w);
    w->now_us = tr_clock_mono_us();
    tqw_beat(w);
    fetch(w);
    tqw_deadlines(w);
    tqw_lead(w);
    if (!is_over(w))
        return 1;
    tqw_step_down(w);
    w->phase = PHASE_OVER;
    return 0;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

int64_t tqw_timeout(tq_worker *w)
{
    int64_t now = tr_clock_mono_us(), at = now + 1000000;

    if (atomic_load(&w->stops) != w->stops_seen) {
        w->stops_seen = atomic_load(&w->stops);
        return 0;
    }
    if (nothing_left(w))
        return 0;
    int64_t db = INT64_MAX; /* what needs the database waits for it */
    for (const struct tq_run *r = w->ended; r; r = r->next)
        db = least(db, r->next_look_us);
    if (tqw_wanted(w, 0) > 0)
        db = least(db, w->claim_us);
    if (w->nruns)
        db = least(db, w->beat_us);
    if (w->phase == PHASE_WORK)
        db = least(db, w->lead_us);
    at = least(at, db > w->down_until_us ? db : w->down_until_us);
    if (w->phase >= PHASE_DRAIN)
        at = least(at, w->drain_until_us);
    at = least(at, tqw_next_deadline(w));
    return at > now ? at - now : 0;
}
