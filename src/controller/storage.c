/* SPDX-License-Identifier: MIT
 *
 * storage.c - two threads with a connection each, and batches.
 *
 * Never logs what an operation found; its done() does. Never drops an operation: each comes back to
 * the loop exactly once.
 */
#include "controller/storage.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/gather.h"
#include "base/log.h"
#include "controller/ctl.h"

enum {
    TRIES = 6 /* about a second */
};

#define AGAIN_US INT64_C(200000)
/* A database that takes longer over one batch does not answer, as far as people are concerned. */
#define STUCK_US INT64_C(5000000)
#define LEAVE_US INT64_C(30000000) /* others' writes may keep one fsync for ten seconds */
#define SAY_US INT64_C(10000000)   /* the log need not say it more often */

struct lane {
    struct op *first, *last;
};

enum {
    URGENT,
    NORMAL,
    AGAIN, /* must happen and could not: asked again every AGAIN_US, between the others */
    LANES
};

struct worker {
    struct storage *s;
    pthread_t thread;
    pthread_mutex_t lock; /* guards what follows, up to ended */
    pthread_cond_t some;
    struct lane lanes[LANES];
    int64_t again_us; /* when AGAIN is due */
    size_t waiting;
    bool stopping;                 /* nothing is tried again for ever */
    bool ended;                    /* nothing comes any more */
    atomic_bool alive;             /* the database took the last operation */
    atomic_int_least64_t since_us; /* this batch is being worked on; 0: none */
    int64_t said_us;               /* when the log may say again that the database is away */
    struct tr_store *st;
};

struct storage {
    struct ctl *ctl;
    size_t handed;     /* over and not back yet; the loop's thread counts */
    uint64_t returned; /* in all */
    struct worker writer, reader;
};

/* ---------------------------------------------------------------- lists */

static void push(struct lane *l, struct op *op)
{
    op->next = NULL;
    if (l->last)
        l->last->next = op;
    else
        l->first = op;
    l->last = op;
}

static struct op *pop(struct lane *l)
{
    struct op *op = l->first;

    if (op) {
        l->first = op->next;
        if (!l->first)
            l->last = NULL;
        op->next = NULL;
    }
    return op;
}

static void add(struct worker *w, struct op *op, int lane)
{
    (void)pthread_mutex_lock(&w->lock);
    if (lane == AGAIN && !w->lanes[AGAIN].first)
        w->again_us = tr_clock_mono_us() + AGAIN_US;
    push(&w->lanes[lane], op);
    w->waiting++;
    (void)pthread_cond_signal(&w->some);
    (void)pthread_mutex_unlock(&w->lock);
}

/* The lane to take from, or NULL: nothing to do yet. */
static struct lane *next_lane(struct worker *w)
{
    if (w->lanes[AGAIN].first && (w->stopping || tr_clock_mono_us() >= w->again_us))
        return &w->lanes[AGAIN];
    for (int i = URGENT; i <= NORMAL; i++)
        if (w->lanes[i].first)
            return &w->lanes[i];
    return NULL;
}

static void wait_for_some(struct worker *w)
{
    const struct timespec until = {.tv_sec = w->again_us / 1000000,
                                   .tv_nsec = w->again_us % 1000000 * 1000};

    if (w->lanes[AGAIN].first)
        (void)pthread_cond_timedwait(&w->some, &w->lock, &until);
    else
        (void)pthread_cond_wait(&w->some, &w->lock);
}

/* The next batch in the order of the lanes; one that goes alone goes alone. Waits for it. */
static size_t take(struct worker *w, struct op **batch)
{
    struct lane *l;
    size_t n = 0;

    (void)pthread_mutex_lock(&w->lock);
    while (!next_lane(w) && !w->ended)
        wait_for_some(w);
    while (n < STORAGE_BATCH && (l = next_lane(w)) && (n == 0 || !l->first->alone)) {
        batch[n++] = pop(l);
        w->waiting--;
        if (batch[n - 1]->alone)
            break;
    }
    (void)pthread_mutex_unlock(&w->lock);
    return n;
}

/* ---------------------------------------------------------------- running */

static void pause_ms(int64_t ms)
{
    struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

    while (nanosleep(&t, &t) < 0 && errno == EINTR) {
    }
}

static tr_kind kind(const void *op)
{
    return (tr_kind)((const struct op *)op)->many;
}

static int run_some(struct worker *w, struct op **ops, size_t n, struct tr_err *err)
{
    if (n > 1)
        return ops[0]->many(ops, n, w->st, err);
    return ops[0]->result = ops[0]->run(ops[0], w->st, err);
}

static int run_in_tx(struct worker *w, struct op **batch, size_t n, struct tr_err *err)
{
    int r = tr_store_begin(w->st, err);

    if (r < 0)
        return r;
    for (size_t i = 0, some; i < n; i += some) {
        some = tr_gather((void **)(batch + i), n - i, kind);
        r = run_some(w, batch + i, some, err);
        if (r < 0) {
            tr_store_rollback(w->st);
            return r;
        }
    }
    r = tr_store_commit(w->st, err);
    return r < 0 ? r : 0;
}

static bool passing(int code)
{
    int class = tr_err_class(code);

    return class == TR_E_RETRY || class == TR_E_ABORT || class == TR_E_UNSURE;
}

static bool is_stopping(struct worker *w)
{
    (void)pthread_mutex_lock(&w->lock);
    bool stopping = w->stopping;
    (void)pthread_mutex_unlock(&w->lock);
    return stopping;
}

/* False: it must happen, and cannot now. While the database is away or full everything is tried
 * once only, so that whoever can be refused is not kept waiting by what cannot. */
static bool run_one(struct worker *w, struct op *op)
{
    int most = atomic_load(&w->alive) ? TRIES : 1;

    for (int tries = 1;; tries++) {
        bool plain = op->alone || op->lane == OP_READ;

        op->err = (struct tr_err)TR_ERR_INIT;
        int r = plain ? op->run(op, w->st, &op->err) : run_in_tx(w, &op, 1, &op->err);
        if (r < 0 || plain)
            op->result = r;
        atomic_store(&w->alive, r >= 0 || !passing(r));
        if (r >= 0 || !passing(r))
            return true;
        if (tries >= most)
            return !op->must || is_stopping(w);
        pause_ms(10 << tries);
    }
}

/* After a failure: is it the database, and not the operation? Every connection attempt may last its
 * whole timeout, so what one finds out is true for the whole batch. Clients get a sentence of ours:
 * the driver's names hosts and ports. */
static bool is_away(struct worker *w, struct tr_err *err)
{
    *err = (struct tr_err)TR_ERR_INIT;
    if (tr_store_begin(w->st, err) >= 0) {
        tr_store_rollback(w->st);
        return false;
    }
    int64_t now_us = tr_clock_mono_us();
    if (now_us >= w->said_us) {
        tr_log_err(TR_LOG_ERROR, NULL, err);
        w->said_us = now_us + SAY_US;
    }
    *err = (struct tr_err)TR_ERR_INIT;
    (void)tr_fail(err, TR_E_RETRY, 0, "the database does not answer; try again in a moment");
    return true;
}

/* What has ended is moved to the front of the batch; how many that are. The rest waits again. */
static size_t run_batch(struct worker *w, struct op **batch, size_t n)
{
    struct tr_err err = TR_ERR_INIT;
    bool away = false;
    size_t ended = 0;

    if (n > 1 && batch[0]->lane != OP_READ && run_in_tx(w, batch, n, &err) >= 0) {
        atomic_store(&w->alive, true);
        return n;
    }
    for (size_t i = 0; i < n; i++) {
        struct op *op = batch[i];
        bool over = !away && run_one(w, op);

        if (!away && !atomic_load(&w->alive))
            away = is_away(w, &err);
        op->away = away;
        if (away) {
            op->err = err;
            op->result = err.code;
            over = !op->must || is_stopping(w);
        }
        if (over)
            batch[ended++] = op;
        else
            add(w, op, AGAIN);
    }
    return ended;
}

/* ---------------------------------------------------------------- the way back */

struct finished {
    struct storage *s;
    size_t n;
    struct op *ops[];
};

static void call_done(void *arg)
{
    struct finished *f = arg;

    f->s->handed -= f->n;
    f->s->returned += f->n;
    for (size_t i = 0; i < f->n; i++)
        f->ops[i]->done(f->ops[i]);
    free(f);
}

static void hand_back(struct worker *w, struct op **batch, size_t n)
{
    struct finished *f = NULL;

    while (!(f = malloc(sizeof(*f) + n * sizeof(struct op *))))
        pause_ms(10);
    f->s = w->s;
    f->n = n;
    for (size_t i = 0; i < n; i++)
        f->ops[i] = batch[i];
    while (tr_loop_post(w->s->ctl->loop, call_done, f, NULL) < 0) /* full, or no memory now */
        pause_ms(1);
}

static void *work(void *arg)
{
    struct worker *w = arg;
    struct op *batch[STORAGE_BATCH];

    for (;;) {
        size_t n = take(w, batch);

        if (n == 0)
            return NULL;
        atomic_store(&w->since_us, tr_clock_mono_us());
        size_t ended = run_batch(w, batch, n);
        atomic_store(&w->since_us, 0);
        if (ended > 0)
            hand_back(w, batch, ended);
    }
}

/* ---------------------------------------------------------------- life */

static int start_worker(struct storage *s, struct worker *w, struct tr_err *err)
{
    struct tr_store_conf conf = {.url = s->ctl->conf.db,
                                 .worker_id = s->ctl->conf.controller_id,
                                 .reader = w == &s->reader,
                                 .queue_flags = TQ_ONE_TRY};

    w->s = s;
    atomic_store(&w->alive, true);
    (void)pthread_mutex_init(&w->lock, NULL);
    pthread_condattr_t by;
    (void)pthread_condattr_init(&by);
    (void)pthread_condattr_setclock(&by, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&w->some, &by);
    (void)pthread_condattr_destroy(&by);
    int r = tr_store_open(&conf, &w->st, err);
    if (r >= 0 && w == &s->writer)
        r = tr_store_migrate(w->st, -1, err);
    if (r < 0)
        return r;
    int e = pthread_create(&w->thread, NULL, work, w);
    if (e == 0)
        return 0;
    w->thread = 0;
    return tr_fail(err, TR_E_IO, e, "start a thread for the database");
}

static void tell(struct worker *w, bool *what)
{
    (void)pthread_mutex_lock(&w->lock);
    *what = true;
    (void)pthread_cond_signal(&w->some);
    (void)pthread_mutex_unlock(&w->lock);
}

static void end_worker(struct worker *w)
{
    if (!w->s) /* never begun */
        return;
    if (w->thread) {
        tell(w, &w->ended);
        (void)pthread_join(w->thread, NULL);
    }
    tr_store_close(w->st);
    (void)pthread_cond_destroy(&w->some);
    (void)pthread_mutex_destroy(&w->lock);
}

/* A call of the database that never returns cannot be ended from outside. Nobody was told that it
 * succeeded, so the process may end in the middle of it. */
static void leave(void)
{
    tr_log(TR_LOG_ERROR, NULL, "the database has not answered for %d s; ended without it",
           (int)(LEAVE_US / 1000000));
    _exit(EXIT_FAILURE);
}

/* What comes back may have more to hand over: the threads end when nothing is under way. */
static void drain(struct storage *s)
{
    int64_t until_us = tr_clock_mono_us() + LEAVE_US;

    tell(&s->writer, &s->writer.stopping);
    tell(&s->reader, &s->reader.stopping);
    while (s->handed > 0) {
        uint64_t before = s->returned;

        (void)uv_run(tr_loop_uv(s->ctl->loop), UV_RUN_NOWAIT);
        if (s->returned != before)
            until_us = tr_clock_mono_us() + LEAVE_US;
        else if (tr_clock_mono_us() > until_us)
            leave();
        pause_ms(1);
    }
}

int storage_start(struct ctl *ctl, struct storage **ret, struct tr_err *err)
{
    struct storage *s = calloc(1, sizeof(*s));

    if (!s)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory for the storage");
    s->ctl = ctl;
    int r = start_worker(s, &s->writer, err);
    if (r >= 0)
        r = start_worker(s, &s->reader, err);
    if (r < 0) {
        storage_stop(s);
        return r;
    }
    *ret = s;
    return 0;
}

void storage_stop(struct storage *s)
{
    if (!s)
        return;
    if (s->writer.thread && s->reader.thread)
        drain(s);
    end_worker(&s->writer);
    end_worker(&s->reader);
    free(s);
}

void storage_do(struct storage *s, struct op *op)
{
    struct worker *w = op->lane == OP_READ ? &s->reader : &s->writer;

    op->ctl = s->ctl;
    s->handed++;
    add(w, op, op->lane == OP_NORMAL ? NORMAL : URGENT);
}

size_t storage_waiting(struct storage *s)
{
    (void)pthread_mutex_lock(&s->writer.lock);
    size_t n = s->writer.waiting;
    (void)pthread_mutex_unlock(&s->writer.lock);
    return n;
}

static bool answers(struct worker *w)
{
    int64_t since_us = atomic_load(&w->since_us);

    return atomic_load(&w->alive) && (since_us == 0 || tr_clock_mono_us() - since_us < STUCK_US);
}

bool storage_alive(struct storage *s)
{
    return answers(&s->writer) && answers(&s->reader);
}
