/* SPDX-License-Identifier: MIT
 *
 * cli/bench.h - the parts of `tribunal bench`, and the arithmetic they share.
 */
#ifndef CLI_BENCH_H
#define CLI_BENCH_H

#include <stddef.h>

int bench_box(int argc, char **argv);
int bench_compile(int argc, char **argv);
int bench_judge(int argc, char **argv);
int bench_nats(int argc, char **argv);
int bench_queue(int argc, char **argv);
int bench_ws(int argc, char **argv);

/* The q-quantile (0..1) of n values, which are sorted in place; 0 when there are none. */
double bench_quantile(double *values, size_t n, double q);

#endif
