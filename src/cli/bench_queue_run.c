/* SPDX-License-Identifier: MIT
 *
 * bench_queue_run.c - what the queue does in a second, measured from outside through its public
 * header.
 */
#include "cli/bench_queue.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"

enum {
    LEASE_US = 600000000
};

static const char queue_name[] = "tribunal-bench";

static int open_quiet(const struct bench *b, tq **ret, struct tr_err *err)
{
    struct tq_opts o = TQ_OPTS_INIT;

    o.driver = queue_driver(b->db, err);
    o.flags = TQ_NO_NOTIFY;
    o.timeout_us = 30000000;
    return o.driver ? tq_open(ret, b->db, &o, err) : err->code;
}

int bench_wipe(tq *q, struct tr_err *err)
{
    static const char *const tables[] = {"job_queue", "job_history"};
    struct tq_tx tx = {0};

    int r = tq_begin(q, &tx, err);
    for (size_t i = 0; i < TR_ARRAY_LEN(tables) && r >= 0; i++) {
        char sql[128];

        (void)snprintf(sql, sizeof(sql), "DELETE FROM %s WHERE queue_name = '%s'", tables[i],
                       queue_name);
        r = (int)tq_sql(tx, sql, NULL, 0, NULL, NULL, err);
        r = r < 0 ? r : 0;
    }
    if (r < 0) {
        tq_rollback(q);
        return r;
    }
    return tq_commit(q, err);
}

/* ---------------------------------------------------------------- one worker */

static int add(tq *q, const struct bench *b, int n, struct tr_err *err)
{
    tr_autofree struct tq_item *items = calloc((size_t)n, sizeof(*items));

    if (!items)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory");
    for (int i = 0; i < n; i++) {
        items[i] = (struct tq_item)TQ_ITEM_INIT;
        items[i].queue = queue_name;
        items[i].payload = b->bytes;
        items[i].payload_len = b->payload;
    }
    return tq_enqueue_many(q, items, (size_t)n, NULL, err);
}

/* Acks for a whole batch; NULL without one. */
static struct tq_settlement *acks(const tq_batch *batch)
{
    int n = tq_batch_count(batch);
    struct tq_settlement *s = calloc((size_t)n + 1, sizeof(*s));

    for (int i = 0; s && i < n; i++) {
        s[i] = (struct tq_settlement)TQ_SETTLEMENT_INIT;
        s[i].ref = tq_batch_job(batch, i)->ref;
        s[i].end = TQ_ACK;
    }
    return s;
}

static int ack_all(tq *q, const tq_batch *batch, struct tr_err *err)
{
    tr_autofree struct tq_settlement *s = acks(batch);

    if (!s)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory");
    return batch ? tq_settle(q, s, (size_t)tq_batch_count(batch), err) : 0;
}

/* Ack the last batch and claim the next in one commit. */
static int ack_and_claim(tq *q, const struct bench *b, tq_batch **batch, struct tr_err *err)
{
    struct tq_weighted from = {queue_name, 1};
    tr_autofree struct tq_settlement *s = acks(*batch);
    tq_batch *next = NULL;

    if (!s)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory");
    int n = tq_settle_and_claim(q, s, (size_t)tq_batch_count(*batch), &from, 1, b->batch, LEASE_US,
                                &next, err);
    tq_batch_free(*batch);
    *batch = next;
    return n;
}

struct worker {
    pthread_t thread;
    const struct bench *b;
    tq *q;
    int64_t jobs, done;
    struct tr_err err;
    int r;
    int64_t until_us, from_us, late; /* held: when to stop, from when to count, how many counted */
};

static void *produce(void *arg)
{
    struct worker *w = arg;

    for (int64_t left = w->jobs; left > 0 && w->r >= 0;) {
        int n = left < w->b->batch ? (int)left : w->b->batch;

        w->r = add(w->q, w->b, n, &w->err);
        left -= n;
    }
    return NULL;
}

static void *consume(void *arg)
{
    struct worker *w = arg;
    tq_batch *batch = NULL;

    do {
        w->r = ack_and_claim(w->q, w->b, &batch, &w->err);
        w->done += w->r > 0 ? w->r : 0;
    } while (w->r > 0);
    tq_batch_free(batch);
    return NULL;
}

static int run_all(struct worker *w, int n, void *(*fn)(void *), struct tr_err *err)
{
    int r = 0;

    for (int i = 0; i < n; i++)
        if (pthread_create(&w[i].thread, NULL, fn, &w[i]) != 0)
            return tr_fail(err, TR_E_RETRY, 0, "cannot start a thread");
    for (int i = 0; i < n; i++) {
        (void)pthread_join(w[i].thread, NULL);
        if (w[i].r < 0) {
            r = w[i].r;
            *err = w[i].err;
        }
    }
    return r;
}

static struct worker *open_workers(const struct bench *b, struct tr_err *err)
{
    struct worker *w = calloc((size_t)b->threads, sizeof(*w));
    int r = w ? 0 : tr_fail(err, TR_E_NOMEM, 0, "no memory");

    for (int i = 0; w && i < b->threads && r >= 0; i++) {
        w[i].b = b;
        w[i].jobs = b->jobs / b->threads;
        r = open_quiet(b, &w[i].q, err);
    }
    if (r >= 0)
        return w;
    for (int i = 0; w && i < b->threads; i++)
        tq_close(w[i].q);
    free(w);
    return NULL;
}

static void close_workers(struct worker *w, int n)
{
    for (int i = 0; i < n; i++)
        tq_close(w[i].q);
    free(w);
}

int bench_cycle(const struct bench *b, double *ret_rate, struct tr_err *err)
{
    struct worker *w = open_workers(b, err);

    if (!w)
        return err->code;
    int64_t start = tr_clock_mono_us(), done = 0;
    int r = run_all(w, b->threads, produce, err);
    if (r >= 0)
        r = run_all(w, b->threads, consume, err);
    int64_t took = tr_clock_mono_us() - start;
    for (int i = 0; i < b->threads; i++)
        done += w[i].done;
    close_workers(w, b->threads);
    *ret_rate = (double)done * 1e6 / (double)took;
    return r;
}

/* ---------------------------------------------------------------- bare rows */

static void *bare(void *arg)
{
    struct worker *w = arg;
    struct tq_tx tx;

    for (int64_t left = w->jobs; left > 0 && w->r >= 0; left -= w->b->batch) {
        struct tq_val p[] = {{.type = TQ_INT, .i = w->b->batch},
                             {.type = TQ_BYTES, .p = w->b->bytes, .len = w->b->payload}};

        w->r = tq_begin(w->q, &tx, &w->err);
        if (w->r >= 0)
            w->r =
                (int)tq_sql(tx,
                            "INSERT INTO tq_bench_from (queue_name, payload) SELECT 'b', ?2::bytea "
                            "FROM generate_series(1, ?1::bigint)",
                            p, 2, NULL, NULL, &w->err);
        if (w->r >= 0)
            w->r = tq_commit(w->q, &w->err);
    }
    return NULL;
}

static void *bare_move(void *arg)
{
    struct worker *w = arg;
    struct tq_tx tx;
    int64_t moved = 1;

    while (moved > 0 && w->r >= 0) {
        struct tq_val p = {.type = TQ_INT, .i = w->b->batch};

        w->r = tq_begin(w->q, &tx, &w->err);
        if (w->r < 0)
            break;
        moved = tq_sql(tx,
                       "WITH d AS (DELETE FROM tq_bench_from WHERE id = ANY (ARRAY (SELECT id FROM "
                       "tq_bench_from ORDER BY id LIMIT ?1 FOR UPDATE SKIP LOCKED)) RETURNING *) "
                       "INSERT INTO tq_bench_to (id, run_lease, created_at, finished_at, priority, "
                       "attempts, max_attempts, crashes, max_crashes, payload_kind, unique_scope, "
                       "queue_name, kind, status_final, payload) SELECT id, run_lease, created_at, "
                       "created_at, priority, attempts, max_attempts, crashes, max_crashes, "
                       "payload_kind, unique_scope, queue_name, kind, 'completed', payload FROM d",
                       &p, 1, NULL, NULL, &w->err);
        w->r = moved < 0 ? (int)moved : tq_commit(w->q, &w->err);
        w->done += moved > 0 ? moved : 0;
    }
    return NULL;
}

static int bare_tables(tq *q, bool make, struct tr_err *err)
{
    static const char *const words[2][2] = {
        {"DROP TABLE IF EXISTS tq_bench_from", "DROP TABLE IF EXISTS tq_bench_to"},
        {"CREATE TABLE tq_bench_from (LIKE job_queue INCLUDING ALL)",
         "CREATE TABLE tq_bench_to (LIKE job_history INCLUDING ALL)"}};
    struct tq_tx tx = {0};

    int r = tq_begin(q, &tx, err);
    for (int i = 0; i < 2 && r >= 0; i++)
        r = (int)tq_sql(tx, words[make][i], NULL, 0, NULL, NULL, err);
    return r < 0 ? r : tq_commit(q, err);
}

int bench_bare(const struct bench *b, double *ret_rate, struct tr_err *err)
{
    *ret_rate = -1;
    if (strncmp(b->db, "postgres", 8) != 0)
        return 0;
    struct worker *w = open_workers(b, err);
    if (!w)
        return err->code;
    int r = bare_tables(w[0].q, false, err);
    if (r >= 0)
        r = bare_tables(w[0].q, true, err);
    int64_t start = tr_clock_mono_us(), done = 0;
    if (r >= 0)
        r = run_all(w, b->threads, bare, err);
    if (r >= 0)
        r = run_all(w, b->threads, bare_move, err);
    int64_t took = tr_clock_mono_us() - start;
    for (int i = 0; i < b->threads; i++)
        done += w[i].done;
    if (r >= 0)
        r = bare_tables(w[0].q, false, err);
    close_workers(w, b->threads);
    *ret_rate = (double)done * 1e6 / (double)took;
    return r;
}

/* ---------------------------------------------------------------- single steps */

int bench_steps(const struct bench *b, int batch, int64_t jobs, struct bench_steps *ret,
                struct tr_err *err)
{
    TR_CLEANUP(queue_closep) tq *q = NULL;
    int64_t rounds = jobs / batch, us[3] = {0, 0, 0};

    int r = open_quiet(b, &q, err);
    int64_t start = tr_clock_mono_us();
    for (int64_t i = 0; i < rounds && r >= 0; i++)
        r = add(q, b, batch, err);
    us[0] = tr_clock_mono_us() - start;
    for (int64_t i = 0; i < rounds && r >= 0; i++) {
        tq_batch *got = NULL;

        start = tr_clock_mono_us();
        r = tq_claim(q, queue_name, batch, LEASE_US, &got, err);
        us[1] += tr_clock_mono_us() - start;
        start = tr_clock_mono_us();
        if (r > 0)
            r = ack_all(q, got, err);
        us[2] += tr_clock_mono_us() - start;
        tq_batch_free(got);
    }
    double n = (double)(rounds * batch) * 1e6;
    *ret = (struct bench_steps){n / (double)(us[0] + 1), n / (double)(us[1] + 1),
                                n / (double)(us[2] + 1)};
    return r;
}

/* ---------------------------------------------------------------- latency */

struct listener {
    pthread_t thread;
    tq *q;
    int64_t *started_us; /* one for each job, in order */
    int samples, r;
    struct tr_err err;
};

static void *wait_and_start(void *arg)
{
    struct listener *w = arg;

    for (int i = 0; i < w->samples && w->r >= 0;) {
        tq_batch *got = NULL;

        w->r = tq_wait(w->q, queue_name, 5000000, &w->err);
        if (w->r >= 0)
            w->r = tq_claim(w->q, queue_name, 1, LEASE_US, &got, &w->err);
        if (w->r > 0) {
            __atomic_store_n(&w->started_us[i++], tr_clock_mono_us(), __ATOMIC_RELEASE);
            w->r = ack_all(w->q, got, &w->err);
        }
        tq_batch_free(got);
    }
    return NULL;
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

static int64_t one_sample(tq *q, const struct bench *b, struct listener *w, int i,
                          struct tr_err *err)
{
    struct tq_item it = TQ_ITEM_INIT;
    struct timespec pause = {.tv_nsec = 2000000};
    int64_t at;

    (void)nanosleep(&pause, NULL); /* the worker is idle again */
    it.queue = queue_name;
    it.payload = b->bytes;
    it.payload_len = b->payload;
    int64_t start = tr_clock_mono_us();
    int r = tq_enqueue(q, &it, NULL, err);
    if (r < 0)
        return r;
    while (!(at = __atomic_load_n(&w->started_us[i], __ATOMIC_ACQUIRE)) && w->r >= 0)
        (void)nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
    return at - start;
}

int bench_latency(const struct bench *b, int samples, int64_t *ret_p50, int64_t *ret_p99,
                  struct tr_err *err)
{
    TR_CLEANUP(queue_closep) tq *q = NULL, *q2 = NULL;
    tr_autofree int64_t *times = calloc((size_t)samples, 2 * sizeof(*times));
    struct listener w = {.samples = samples};

    if (!times)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory");
    w.started_us = times + samples;
    int r = queue_open(b->db, &q, err);
    if (r >= 0)
        r = queue_open(b->db, &q2, err);
    if (r < 0)
        return r;
    w.q = q2;
    if (pthread_create(&w.thread, NULL, wait_and_start, &w) != 0)
        return tr_fail(err, TR_E_RETRY, 0, "cannot start a thread");
    for (int i = 0; i < samples && r >= 0; i++) {
        times[i] = one_sample(q, b, &w, i, err);
        r = times[i] < 0 ? (int)times[i] : w.r < 0 ? w.r : 0;
    }
    (void)pthread_join(w.thread, NULL);
    qsort(times, (size_t)samples, sizeof(*times), compare);
    *ret_p50 = times[samples / 2];
    *ret_p99 = times[samples * 99 / 100];
    return r;
}

/* ---------------------------------------------------------------- a snapshot held open */

static void *keep_busy(void *arg)
{
    struct worker *w = arg;
    tq_batch *batch = NULL;

    while (w->r >= 0 && tr_clock_mono_us() < w->until_us) {
        w->r = add(w->q, w->b, w->b->batch, &w->err);
        if (w->r >= 0)
            w->r = ack_and_claim(w->q, w->b, &batch, &w->err);
        if (w->r > 0 && tr_clock_mono_us() >= w->from_us)
            w->late += w->r;
    }
    if (w->r >= 0)
        w->r = ack_all(w->q, batch, &w->err);
    tq_batch_free(batch);
    return NULL;
}

/* A transaction that has a number holds vacuum back for as long as it is open. */
static int hold(const struct bench *b, tq **ret, struct tr_err *err)
{
    bool mysql = strncmp(b->db, "mysql", 5) == 0;
    struct tq_tx tx = {0};

    int r = open_quiet(b, ret, err);
    if (r >= 0)
        r = tq_begin(*ret, &tx, err);
    if (r >= 0)
        r = (int)tq_sql(tx, mysql ? "SELECT count(*) FROM queue_config" : "SELECT txid_current()",
                        NULL, 0, NULL, NULL, err);
    return r < 0 ? r : 0;
}

int bench_held(const struct bench *b, bool held, int seconds, double *ret_rate, struct tr_err *err)
{
    TR_CLEANUP(queue_closep) tq *holder = NULL;
    struct worker *w = open_workers(b, err);
    int64_t now = tr_clock_mono_us(), span = (int64_t)seconds * 1000000, late = 0;

    if (!w)
        return err->code;
    int r = held ? hold(b, &holder, err) : 0;
    for (int i = 0; i < b->threads; i++) {
        w[i].until_us = now + span;
        w[i].from_us = now + span / 4 * 3;
    }
    if (r >= 0)
        r = run_all(w, b->threads, keep_busy, err);
    for (int i = 0; i < b->threads; i++)
        late += w[i].late;
    close_workers(w, b->threads);
    *ret_rate = (double)late * 4e6 / (double)span;
    return r;
}
