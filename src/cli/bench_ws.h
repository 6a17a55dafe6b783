/* SPDX-License-Identifier: MIT
 *
 * cli/bench_ws.h - what the files of `tribunal bench ws` share.
 */
#ifndef CLI_BENCH_WS_H
#define CLI_BENCH_WS_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "net/judge_auth.h"

/* Threads that POST submissions number first … first + count - 1 over HTTP, each on one connection
 * that stays open, with at most `ahead` submissions without a result. */
struct ws_posts {
    int port;
    unsigned threads;
    int64_t first, count, ahead;
    atomic_llong next;    /* how many were begun */
    atomic_llong results; /* how many have a result; counted by the listener */
    atomic_int failed;    /* an HTTP status that is not 201, or -1: the connection broke */
    sem_t room;           /* how many more may be under way */
    int64_t *posted_us;   /* by number - first: when its POST began */
    pthread_t thread[64];
};

/* A controller of the benchmark's own. */
struct ws_controller {
    char *folder;
    char url[64], db[300];
    int port;
    pid_t pid;
    struct tr_judge_key key; /* a judge's */
};

/* `db`: NULL: SQLite in its own folder. */
int ws_controller_start(struct ws_controller *c, const char *wish, const char *db,
                        struct tr_err *err);
void ws_controller_stop(struct ws_controller *c);
int64_t ws_controller_kib(const struct ws_controller *c); /* resident */

int ws_posts_start(struct ws_posts *p, struct tr_err *err);
void ws_posts_result(struct ws_posts *p); /* one of them has its result */
void ws_posts_join(struct ws_posts *p);   /* at once when it failed */

#endif
