/* SPDX-License-Identifier: MIT
 *
 * source/source.h - where a worker's tasks come from: what the program gives a source, and what a
 * source must be able to do.
 *
 * A source owns its pool (pool/pool.h), pulls as many tasks as there are free slots, and settles
 * each with its transport. All calls are on the loop's thread.
 */
#ifndef SOURCE_SOURCE_H
#define SOURCE_SOURCE_H

#include "base/log.h"
#include "pool/pool.h"
#include "rt/loop.h"
#include "sink/logs.h"
#include "source/metrics.h"

/* What every source is given. Outlives it. */
struct tr_source_host {
    struct tr_loop *loop;
    const char *worker_id;
    size_t slots;
    const char *program;  /* for tr_pool_conf */
    const char *setup;    /* likewise */
    struct tr_logs *logs; /* NULL: no logs are kept */
    struct tr_metrics *metrics;
    const struct tr_log_field *log; /* fields of every line */
    /* The source has nothing left to do (after a drain), or cannot go on (err). Once. */
    void (*ended)(void *arg, const struct tr_err *err);
    void *arg;
};

struct tr_source {
    /* Take nothing new; ended() when what runs is settled, at the latest after timeout_us, when the
     * rest is given back. Called again with 0: give back at once. */
    void (*drain)(struct tr_source *s, int64_t timeout_us);
    /* Numbers that are looked up when somebody asks for the metrics. May be NULL. */
    void (*gauges)(struct tr_source *s, struct tr_metrics *m);
    void (*free)(struct tr_source *s);
};

#endif
