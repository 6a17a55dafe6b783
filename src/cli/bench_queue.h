/* SPDX-License-Identifier: MIT
 *
 * cli/bench_queue.h - the single measurements of `tribunal bench queue`.
 */
#ifndef CLI_BENCH_QUEUE_H
#define CLI_BENCH_QUEUE_H

#include <stdint.h>

#include "cli/queue_cli.h"

struct bench {
    const char *db;
    int threads;
    int batch;
    int64_t jobs;
    size_t payload;
    char *bytes; /* payload */
};

/* Jobs per second through enqueue, claim and ack with history, `threads` at once. */
int bench_cycle(const struct bench *b, double *ret_rate, struct tr_err *err);
/* The same rows as bare batched INSERT … SELECT and DELETE … RETURNING into history; PostgreSQL
 * only, -1 elsewhere. */
int bench_bare(const struct bench *b, double *ret_rate, struct tr_err *err);
/* Rates of each step alone, one handle. */
struct bench_steps {
    double enqueue, claim, ack;
};
int bench_steps(const struct bench *b, int batch, int64_t jobs, struct bench_steps *ret,
                struct tr_err *err);
/* From enqueue to start, a waiting worker, microseconds. */
int bench_latency(const struct bench *b, int samples, int64_t *ret_p50, int64_t *ret_p99,
                  struct tr_err *err);
/* Offered load for `seconds`, with or without a snapshot held open: jobs per second in the last
 * quarter. */
int bench_held(const struct bench *b, bool held, int seconds, double *ret_rate, struct tr_err *err);
/* Jobs per second from the first enqueue to the last settlement of handlers that do nothing,
 * through a worker with `threads` executors and `batch` jobs ahead. mode: enum tq_worker_mode. */
int bench_worker(const struct bench *b, int mode, double *ret_rate, struct tr_err *err);
/* From enqueue to the start of the handler, an idle worker, microseconds. */
int bench_worker_latency(const struct bench *b, int samples, int64_t *ret_p50, int64_t *ret_p99,
                         struct tr_err *err);
/* Empty the queue that the measurements use. */
int bench_wipe(tq *q, struct tr_err *err);

#endif
