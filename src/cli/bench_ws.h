/* SPDX-License-Identifier: MIT
 *
 * cli/bench_ws.h - what the two files of `tribunal bench ws` share.
 */
#ifndef CLI_BENCH_WS_H
#define CLI_BENCH_WS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "base/err.h"

/* Threads that POST submissions number first … first + count - 1 over HTTP, each on one connection
 * that stays open, with at most `ahead` submissions without a result. */
struct ws_posts {
    int port;
    unsigned threads;
    int64_t first, count, ahead;
    atomic_llong next;    /* how many were begun */
    atomic_llong results; /* how many have a result; counted by the listener */
    atomic_int failed;    /* an HTTP status that is not 201, or -1: the connection broke */
    int64_t *posted_us;   /* by number - first: when its POST began */
    pthread_t thread[64];
};

int ws_posts_start(struct ws_posts *p, struct tr_err *err);
void ws_posts_join(struct ws_posts *p);

#endif
