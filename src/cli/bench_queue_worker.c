/* SPDX-License-Identifier: MIT
 *
 * bench_queue_worker.c - `tribunal bench queue --worker`: handlers that do nothing, through the
 * whole worker: enqueue, claim, hand over, run, settle, history.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <tribunal/queue_worker.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/rand.h"
#include "cli/bench_queue.h"

#define QUEUE "tribunal-bench"

static int no_op(struct tq_run *run, const struct tq_job *job, void *user)
{
    (void)run;
    (void)job;
    (void)user;
    return 0;
}

static int enqueue_all(const struct bench *b, tq *q, struct tr_err *err)
{
    enum {
        CHUNK = 500 /* as the peers' programs do */
    };
    static struct tq_item items[CHUNK];

    for (int i = 0; i < CHUNK; i++) {
        items[i] = (struct tq_item)TQ_ITEM_INIT;
        items[i].queue = QUEUE;
        items[i].payload = b->bytes;
        items[i].payload_len = b->payload;
    }
    for (int64_t left = b->jobs; left > 0; left -= CHUNK) {
        int r = tq_enqueue_many(q, items, (size_t)(left < CHUNK ? left : CHUNK), NULL, err);
        if (r < 0)
            return r;
    }
    return 0;
}

static struct tq_worker_opts worker_opts(const struct bench *b, struct tq_opts *q, int mode)
{
    static const struct tq_weighted queue = {QUEUE, 1};
    struct tq_worker_opts o = TQ_WORKER_OPTS_INIT;

    *q = (struct tq_opts)TQ_OPTS_INIT;
    q->driver = queue_driver(b->db, NULL);
    o.url = b->db;
    o.queue = q;
    o.queues = &queue;
    o.nqueues = 1;
    o.mode = mode;
    o.concurrency = b->threads;
    return o;
}

int bench_worker(const struct bench *b, int mode, double *ret_rate, struct tr_err *err)
{
    TR_CLEANUP(queue_closep) tq *q = NULL;
    struct tq_opts qo;
    tq_worker *w = NULL;

    int64_t start = tr_clock_mono_us();
    int r = queue_open(b->db, &q, err);
    if (r >= 0)
        r = enqueue_all(b, q, err);
    tq_close(TR_TAKE(q)); /* children are forked without an open database */
    if (r < 0)
        return r;
    struct tq_worker_opts o = worker_opts(b, &qo, mode);
    o.flags = TQ_WORKER_UNTIL_EMPTY;
    o.prefetch = b->batch;
    r = tq_worker_new(&w, &o, err);
    if (r >= 0)
        r = tq_worker_handle(w, NULL, NULL, no_op, NULL, err);
    if (r >= 0)
        r = tq_worker_run(w, err);
    tq_worker_free(w);
    *ret_rate = (double)b->jobs * 1e6 / (double)(tr_clock_mono_us() - start);
    return r;
}

/* ---------------------------------------------------------------- from enqueue to start */

struct latency {
    pthread_mutex_t mu;
    pthread_cond_t came;
    int64_t started_us; /* 0: not yet */
};

static int note_start(struct tq_run *run, const struct tq_job *job, void *user)
{
    struct latency *l = user;

    (void)run;
    (void)job;
    (void)pthread_mutex_lock(&l->mu);
    l->started_us = tr_clock_mono_us();
    (void)pthread_cond_signal(&l->came);
    (void)pthread_mutex_unlock(&l->mu);
    return 0;
}

struct running {
    tq_worker *w;
    struct tr_err err;
    int r;
};

static void *run_worker(void *arg)
{
    struct running *x = arg;

    x->r = tq_worker_run(x->w, &x->err);
    return NULL;
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

static int sample(tq *q, const struct bench *b, struct latency *l, int64_t *ret, struct tr_err *err)
{
    struct tq_item item = TQ_ITEM_INIT;
    struct timespec until, pause = {.tv_nsec = 3000000L + (long)tr_random_below(9000000)};
    int rc = 0;

    item.queue = QUEUE;
    item.payload = b->bytes;
    item.payload_len = b->payload;
    (void)nanosleep(&pause, NULL); /* idle, and not in step with anybody's clock */
    l->started_us = 0;
    int64_t start = tr_clock_mono_us();
    int r = tq_enqueue(q, &item, NULL, err);
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 5;
    (void)pthread_mutex_lock(&l->mu);
    while (r >= 0 && !l->started_us && rc == 0)
        rc = pthread_cond_timedwait(&l->came, &l->mu, &until);
    *ret = l->started_us - start;
    (void)pthread_mutex_unlock(&l->mu);
    return r < 0 ? r : rc ? tr_fail(err, TR_E_TIMEOUT, 0, "a job did not start within 5 s") : 0;
}

int bench_worker_latency(const struct bench *b, int samples, int64_t *ret_p50, int64_t *ret_p99,
                         struct tr_err *err)
{
    struct latency l = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0};
    tr_autofree int64_t *times = calloc((size_t)samples, sizeof(*times));
    TR_CLEANUP(queue_closep) tq *q = NULL;
    struct running x = {.err = TR_ERR_INIT};
    struct tq_opts qo;
    pthread_t thread;

    struct tq_worker_opts o = worker_opts(b, &qo, TQ_THREADS);
    int r = times ? queue_open(b->db, &q, err) : TR_E_NOMEM;
    if (r >= 0)
        r = tq_worker_new(&x.w, &o, err);
    if (r >= 0)
        r = tq_worker_handle(x.w, NULL, NULL, note_start, &l, err);
    if (r < 0 || pthread_create(&thread, NULL, run_worker, &x)) {
        tq_worker_free(x.w);
        return r < 0 ? r : TR_E_NOMEM;
    }
    int64_t warm;
    for (int i = 0; i < 20 && r >= 0; i++)
        r = sample(q, b, &l, &warm, err);
    for (int i = 0; i < samples && r >= 0; i++)
        r = sample(q, b, &l, &times[i], err);
    tq_worker_stop(x.w);
    (void)pthread_join(thread, NULL);
    tq_worker_free(x.w);
    if (r < 0)
        return r;
    qsort(times, (size_t)samples, sizeof(*times), by_value);
    *ret_p50 = times[samples / 2];
    *ret_p99 = times[samples * 99 / 100];
    return 0;
}
