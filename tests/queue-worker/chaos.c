/* SPDX-License-Identifier: MIT
 *
 * chaos.c - a worker that gets killed.
 *
 *     tq-chaos prepare N           an empty queue, N jobs
 *     tq-chaos work MODE CRASH     work until SIGTERM; CRASH % of the runs die by SIGSEGV, half of
 *                                  them inside their transaction
 *     tq-chaos hold MODE           as work, with handlers that take 300 ms; prints the numbers at
 *                                  the end
 *     tq-chaos left                jobs that are not done yet
 *     tq-chaos count               what there is, as JSON
 *
 * Each job writes one business row in the transaction of its ack.
 */
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "kit.h"

static int crash_percent;
static int hold_ms;
static tq_worker *volatile worker;

static void on_term(int sig)
{
    (void)sig;
    if (worker)
        tq_worker_stop(worker);
}

/* A number that differs from run to run of one job. */
static unsigned luck(const struct tq_job *job)
{
    uint64_t x = (uint64_t)job->ref.id * 0x9e3779b97f4a7c15u + (uint64_t)job->ref.run_lease;

    x ^= x >> 31;
    x *= 0xbf58476d1ce4e5b9u;
    return (unsigned)(x >> 40) % 200;
}

static int handler(struct tq_run *run, const struct tq_job *job, void *user)
{
    struct tr_err err = TR_ERR_INIT;
    unsigned draw = luck(job);
    struct tq_tx tx = {NULL, NULL};
    char sql[80];

    (void)user;
    if (hold_ms) {
        struct timespec ts = {.tv_nsec = hold_ms * 1000000};
        (void)nanosleep(&ts, NULL);
    }
    if (draw < (unsigned)crash_percent)
        (void)raise(SIGSEGV);
    tq *q = tq_run_queue(run, &err);
    int r = q ? tq_begin(q, &tx, &err) : err.code;
    if (r < 0)
        return r;
    (void)snprintf(sql, sizeof(sql), "INSERT INTO biz (job_id) VALUES (%lld)",
                   (long long)job->ref.id);
    r = (int)tq_sql(tx, sql, NULL, 0, NULL, NULL, &err);
    if (r >= 0)
        r = tq_tx_ack(q, tx, job->ref, NULL, 0, &err);
    if (draw < 2 * (unsigned)crash_percent)
        (void)raise(SIGSEGV);
    if (r < 0) {
        tq_rollback(q);
        return r;
    }
    r = tq_commit(q, &err);
    return r < 0 ? r : 0;
}

static void trace(void *user, const struct tq_trace *t)
{
    (void)user;
    if (t->event == TQ_TRACE_ERROR && getenv("CHAOS_VERBOSE"))
        (void)fprintf(stderr, "%d: %s\n", (int)getpid(), t->err->msg);
}

static int work(const char *mode)
{
    struct sigaction term = {.sa_handler = on_term};
    struct tq_opts qo = TQ_OPTS_INIT;
    struct tr_err err = TR_ERR_INIT;
    struct tq_worker_stats s = TQ_WORKER_STATS_INIT;
    tq_worker *w = NULL;

    qo.driver = kit_driver();
    struct tq_worker_opts o = kit_worker(&qo, mode);
    o.concurrency = 4;
    o.prefetch = 8;
    o.lease_us = 2000000;
    o.beat_us = 500000;
    o.drain_us = 5000000;
    o.trace = trace;
    (void)kit_ok("worker", tq_worker_new(&w, &o, &err), &err);
    (void)kit_ok("handle", tq_worker_handle(w, NULL, NULL, handler, NULL, &err), &err);
    worker = w;
    (void)sigaction(SIGTERM, &term, NULL);
    int r = tq_worker_run(w, &err);
    (void)kit_ok("run", r, &err);
    tq_worker_stats(w, &s);
    (void)printf("{\"ran_out\": %d, \"acked\": %llu, \"released\": %llu, \"lost\": %llu, "
                 "\"crashed\": %llu, \"errors\": %llu}\n",
                 r, (unsigned long long)s.acked, (unsigned long long)s.released,
                 (unsigned long long)s.lost, (unsigned long long)s.crashed,
                 (unsigned long long)s.errors);
    (void)fflush(stdout);
    worker = NULL;
    tq_worker_free(w);
    return 0;
}

static void prepare(int n)
{
    struct tq_config c = TQ_CONFIG_INIT;
    struct tr_err err = TR_ERR_INIT;
    struct tq_item *items = calloc((size_t)n, sizeof(*items));
    tq *q;

    kit_fresh();
    q = kit_open();
    c.base_backoff_us = 10000; /* every job is killed several times: not to wait for hours */
    c.max_backoff_us = 50000;
    (void)kit_ok("config", tq_config_set(q, "default", &c, &err), &err);
    for (int i = 0; i < n; i++) {
        items[i] = (struct tq_item)TQ_ITEM_INIT;
        items[i].payload = "x";
        items[i].payload_len = 1;
        items[i].max_attempts = TQ_ATTEMPTS_MAX;
        items[i].max_crashes = 1000;
    }
    for (int i = 0; i < n; i += 1000)
        (void)kit_ok(
            "enqueue",
            tq_enqueue_many(q, items + i, (size_t)(n - i < 1000 ? n - i : 1000), NULL, &err), &err);
    tq_close(q);
    free(items);
}

static void count(void)
{
    (void)printf("{\"rows\": %lld, \"distinct\": %lld, \"history\": %lld, \"completed\": %lld, "
                 "\"left\": %lld, \"running\": %lld}\n",
                 (long long)kit_num("SELECT count(*) FROM biz"),
                 (long long)kit_num("SELECT count(DISTINCT job_id) FROM biz"),
                 (long long)kit_num("SELECT count(*) FROM job_history"),
                 (long long)kit_num("SELECT count(*) FROM job_history WHERE status_final = "
                                    "'completed'"),
                 (long long)kit_num("SELECT count(*) FROM job_queue"),
                 (long long)kit_num("SELECT count(*) FROM job_queue WHERE state = 2"));
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    kit_init();
    if (!strcmp(argv[1], "prepare") && argc > 2)
        prepare((int)strtol(argv[2], NULL, 10));
    else if (!strcmp(argv[1], "count"))
        count();
    else if (!strcmp(argv[1], "left"))
        (void)printf("%lld\n", (long long)kit_num("SELECT count(*) FROM job_queue"));
    else if (argc > 2) {
        crash_percent = argc > 3 ? (int)strtol(argv[3], NULL, 10) : 0;
        hold_ms = !strcmp(argv[1], "hold") ? 300 : 0;
        return work(argv[2]);
    }
    return 0;
}
