/* SPDX-License-Identifier: MIT
 *
 * bench_queue.c - `tribunal bench queue --db URL`.
 */
#include <stdlib.h>
#include <string.h>

#include <tribunal/queue_worker.h>

#include "base/cleanup.h"
#include "cli/bench.h"
#include "cli/bench_queue.h"

struct options {
    struct queue_common common;
    int64_t jobs, threads, batch, payload, hold_us, samples;
    bool worker;
};

static const struct tr_conf_item items[] = {
    QUEUE_ITEM_DB(struct options),
    QUEUE_ITEM_JSON(struct options),
    CLI_NUMBER("jobs", jobs, "100000", 1, 10000000, "jobs of the full life cycle"),
    CLI_NUMBER("threads", threads, "2", 1, 64, "threads of the full life cycle"),
    CLI_NUMBER("batch", batch, "500", 1, TQ_BATCH_MAX, "jobs in one call of the full life cycle"),
    CLI_NUMBER("payload", payload, "100", 1, 1000000, "bytes of a payload"),
    CLI_NUMBER("samples", samples, "200", 1, 100000, "jobs whose latency is taken"),
    CLI_TIME("hold", hold_us, "0",
             "also run this long with a snapshot held open, and a third of it before and after"),
    CLI_FLAG("worker", worker,
             "measure the worker: no-op handlers in threads and in processes, and its latency"),
};

static const struct cli_doc doc = {
    .name = "tribunal bench queue",
    .usage = "--db URL [--json] [--jobs N] [--hold 60s]",
    .summary =
        "Measures enqueue, claim and ack at batches of 1, 10 and 100, the full life cycle\n"
        "with history, the latency from enqueue to start, and (--hold) throughput while a\n"
        "transaction keeps vacuum from cleaning up. Works in the queue 'tribunal-bench' and\n"
        "empties it.",
    .examples = "  tribunal bench queue --db sqlite:/tmp/bench.db\n"
                "  tribunal bench queue --db postgres://… --json --hold 60s\n",
    .items = items,
    .count = TR_ARRAY_LEN(items),
};

struct numbers {
    struct bench_steps steps[3];
    double cycle, bare, held, before, after;
    int64_t p50, p99;
};

static const int batches[3] = {1, 10, 100};

static int prepare(const struct bench *b, tq **ret, struct tr_err *err)
{
    int r = queue_open(b->db, ret, err);

    if (r >= 0)
        r = tq_migrate(*ret, -1, err);
    return r < 0 ? r : bench_wipe(*ret, err);
}

/* Without, with and without again: a machine that gets slower or faster meanwhile hurts both. */
static int measure_held(const struct bench *b, int seconds, struct numbers *n, struct tr_err *err)
{
    struct bench held = *b;
    int third = seconds / 3 > 0 ? seconds / 3 : 1;

    held.batch = 20;
    int r = bench_held(&held, false, third, &n->before, err);
    if (r >= 0)
        r = bench_held(&held, true, seconds, &n->held, err);
    return r < 0 ? r : bench_held(&held, false, third, &n->after, err);
}

static double held_of_free(const struct numbers *n)
{
    return 2 * n->held / (n->before + n->after);
}

static int measure(const struct bench *b, const struct options *o, tq *q, struct numbers *n,
                   struct tr_err *err)
{
    /* The cycle comes first, while the tables are new, as they are for the peers of bench/queue. */
    int r = bench_cycle(b, &n->cycle, err);

    if (r >= 0)
        r = bench_bare(b, &n->bare, err);
    if (r >= 0)
        r = bench_wipe(q, err);
    for (int i = 0; i < 3 && r >= 0; i++)
        r = bench_steps(b, batches[i], o->jobs / 100 * batches[i] / (i ? 5 : 1) + batches[i],
                        &n->steps[i], err);
    if (r >= 0)
        r = bench_latency(b, (int)o->samples, &n->p50, &n->p99, err);
    if (r >= 0 && o->hold_us && strncmp(b->db, "sqlite:", 7) != 0)
        r = measure_held(b, (int)(o->hold_us / 1000000), n, err);
    return r < 0 ? r : bench_wipe(q, err);
}

/* --worker: the numbers of tq_worker alone. The handle is closed first, for the children's sake. */
static int worker_numbers(const struct bench *b, const struct options *o, tq **q,
                          struct tr_err *err)
{
    struct bench few = *b;
    double threads = 0, processes = 0;
    int64_t p50 = 0, p99 = 0;

    few.jobs = b->jobs / 10 + 1; /* every one of them goes through two pipes */
    tq_close(TR_TAKE(*q));
    int r = bench_worker(b, TQ_THREADS, &threads, err);
    if (r >= 0)
        r = bench_worker(&few, TQ_PROCESSES, &processes, err);
    if (r >= 0)
        r = bench_worker_latency(b, (int)o->samples, &p50, &p99, err);
    if (r >= 0)
        r = prepare(b, q, err);
    if (r < 0)
        return r;
    (void)printf(o->common.json
                     ? "{\"jobs\": %lld, \"threads\": %.0f, \"processes\": %.0f, \"start_p50_us\": "
                       "%lld, \"start_p99_us\": %lld}\n"
                     : "%lld no-op jobs, enqueue to history: %.0f jobs/s in threads, %.0f in "
                       "processes\nenqueue to start, idle: p50 %lld us, p99 %lld us\n",
                 (long long)b->jobs, threads, processes, (long long)p50, (long long)p99);
    return 0;
}

static void print_json(const struct numbers *n, const struct bench *b)
{
    (void)printf("{\"jobs\": %lld, \"threads\": %d, \"batch\": %d, \"steps\": [",
                 (long long)b->jobs, b->threads, b->batch);
    for (int i = 0; i < 3; i++)
        (void)printf("%s{\"batch\": %d, \"enqueue\": %.0f, \"claim\": %.0f, \"ack\": %.0f}",
                     i ? ", " : "", batches[i], n->steps[i].enqueue, n->steps[i].claim,
                     n->steps[i].ack);
    (void)printf("], \"cycle\": %.0f", n->cycle);
    if (n->bare > 0)
        (void)printf(", \"bare\": %.0f, \"of_bare\": %.2f", n->bare, n->cycle / n->bare);
    (void)printf(", \"latency_p50_us\": %lld, \"latency_p99_us\": %lld", (long long)n->p50,
                 (long long)n->p99);
    if (n->before > 0)
        (void)printf(
            ", \"free\": %.0f, \"free_after\": %.0f, \"held\": %.0f, \"held_of_free\": %.2f",
            n->before, n->after, n->held, held_of_free(n));
    (void)printf("}\n");
}

static void print_text(const struct numbers *n)
{
    (void)printf("jobs/s        enqueue     claim       ack\n");
    for (int i = 0; i < 3; i++)
        (void)printf("batch %-4d  %9.0f %9.0f %9.0f\n", batches[i], n->steps[i].enqueue,
                     n->steps[i].claim, n->steps[i].ack);
    (void)printf("full life cycle with history: %.0f jobs/s\n", n->cycle);
    if (n->bare > 0)
        (void)printf("the same rows bare:           %.0f rows/s (%.2f)\n", n->bare,
                     n->cycle / n->bare);
    (void)printf("enqueue to start:             p50 %lld us, p99 %lld us\n", (long long)n->p50,
                 (long long)n->p99);
    if (n->before > 0)
        (void)printf(
            "steady, batch 20:             %.0f jobs/s before, %.0f after; with a snapshot "
            "held %.0f (%.2f)\n",
            n->before, n->after, n->held, held_of_free(n));
}

int bench_queue(int argc, char **argv)
{
    TR_CLEANUP(cli_end) struct cli_run run;
    TR_CLEANUP(queue_closep) tq *q = NULL;
    struct tr_err err = TR_ERR_INIT;
    struct options o = {0};
    struct numbers n = {0};
    int code = CLI_OK;

    if (!cli_begin(&run, &doc, &o, argc, argv, &code))
        return code;
    tr_autofree char *bytes = calloc(1, (size_t)o.payload);
    struct bench b = {.db = o.common.db,
                      .threads = (int)o.threads,
                      .batch = (int)o.batch,
                      .jobs = o.jobs,
                      .payload = (size_t)o.payload,
                      .bytes = bytes};
    if (!bytes)
        return CLI_FAULT;
    memset(bytes, 'x', (size_t)o.payload);
    int r = prepare(&b, &q, &err);
    if (r >= 0)
        r = o.worker ? worker_numbers(&b, &o, &q, &err) : measure(&b, &o, q, &n, &err);
    if (r < 0)
        return cli_fail(&run, &err);
    if (o.worker)
        return CLI_OK;
    if (o.common.json)
        print_json(&n, &b);
    else
        print_text(&n);
    return CLI_OK;
}
