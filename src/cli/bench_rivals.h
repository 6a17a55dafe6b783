/* SPDX-License-Identifier: MIT
 *
 * cli/bench_rivals.h - sandboxes of others that `tribunal bench box` runs beside ours.
 *
 * Each takes part where it is installed, does what its own users do between two tests, and has its
 * answer checked: a contender that is fast because nothing ran would be no contender.
 */
#ifndef CLI_BENCH_RIVALS_H
#define CLI_BENCH_RIVALS_H

#include "base/err.h"

struct bench_program {
    const char *path;
    const char *input;  /* standard input, or NULL */
    const char *output; /* what it must print */
    int dir;            /* folder fd of a place where a contender may work */
};

/* Isolate, found in PATH: one folder, one `isolate --run` for each run (without --cg, which asks
 * for pure cgroup v2). *ret is NULL when it is not installed. */
struct bench_isolate;
int bench_isolate_open(const struct bench_program *p, struct bench_isolate **ret,
                       struct tr_err *err);
int bench_isolate_run(struct bench_isolate *i, int in, struct tr_err *err);
void bench_isolate_close(struct bench_isolate *i); /* NULL is fine */

/* go-judge, found by $TRIBUNAL_GO_JUDGE or in PATH: its server on a free port of this machine, and
 * one connection that stays open. *ret is NULL when it is not installed. */
struct bench_gojudge;
int bench_gojudge_open(const struct bench_program *p, struct bench_gojudge **ret,
                       struct tr_err *err);
int bench_gojudge_run(struct bench_gojudge *g, struct tr_err *err);
void bench_gojudge_close(struct bench_gojudge *g); /* NULL is fine */

#endif
