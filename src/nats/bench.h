/* SPDX-License-Identifier: MIT
 *
 * nats/bench.h - what a server can do with a stream of our kind, for `tribunal bench nats`.
 *
 * Works in a stream of its own and removes it: JUDGE_TASKS is never touched.
 */
#ifndef NATS_BENCH_H
#define NATS_BENCH_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "nats/conn.h"

struct tr_nats_bench;

int tr_nats_bench_open(struct tr_nats *n, struct tr_nats_bench **ret, struct tr_err *err);
void tr_nats_bench_close(struct tr_nats_bench *b); /* removes the stream */

/* Publish `count` tasks of about `bytes` bytes, one after the other, each certain; per second. */
int tr_nats_bench_publish(struct tr_nats_bench *b, int64_t count, size_t bytes, double *ret_rate,
                          struct tr_err *err);

/* Pull `count` tasks `batch` at a time; work() is called for each batch with the sequences, then
 * each message is acked. Fills the stream first; only pulling, working and acking is timed. */
typedef int (*tr_nats_bench_fn)(void *arg, const uint64_t *seqs, size_t n, struct tr_err *err);
int tr_nats_bench_pull(struct tr_nats_bench *b, int64_t count, size_t bytes, int batch,
                       tr_nats_bench_fn work, void *arg, double *ret_rate, struct tr_err *err);

#endif
