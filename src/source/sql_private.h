/* SPDX-License-Identifier: MIT
 *
 * sql_private.h - what the files of the sql source share.
 *
 *     sql.c       the worker's threads and the slots' loop, and how a task goes between them
 *     sql_run.c   one job: start, judge, settle
 */
#ifndef SOURCE_SQL_PRIVATE_H
#define SOURCE_SQL_PRIVATE_H

#include <pthread.h>
#include <stdbool.h>
#include <tribunal/queue_worker.h>

#include "source/sql.h"

enum sql_end {
    SQL_WAITING,
    SQL_RESULT,
    SQL_FAULT, /* ours: why, final */
    SQL_DIED,  /* the slot: why */
    SQL_STOPPED
};

/* One task on its way to a slot and back. Made, awaited and freed by its executor's thread; the
 * loop's thread touches it between sql_judge()'s begin and its end only, under the mutex. */
struct sql_task {
    struct sql_task *next; /* waiting for a slot; the loop's */
    struct sql_source *s;
    const char *task;
    size_t task_len;
    char *spool;           /* folder for its logs, or NULL */
    bool given, cancelled; /* the loop's */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    enum sql_end end;
    bool cancel_seen; /* a cancel that was posted has arrived */
    bool final;
    char why[1024];
    char verdict[8];
    int64_t score, time_ms, memory_kb;
    char *json; /* the result event */
};

struct sql_source {
    struct tr_source base;
    const struct tr_source_host *host;
    struct tr_source_sql_conf conf;
    struct tr_pool *pool;
    tq_worker *worker;
    pthread_t thread;
    bool running; /* the thread is to be joined */
    int result;
    struct tr_err why;
    struct tq_weighted *queues;
    struct sql_task *waiting;
    uv_timer_t haste;
    bool ended;
};

/* sql.c: have it judged, from an executor's thread; `look` is called every second meanwhile and
 * stops it by returning true. t->end says how it ended. */
void sql_judge(struct sql_task *t, bool (*look)(void *arg), void *arg);

/* sql_run.c: the handler; tq_run_local() is the executor's struct tr_store, `user` the source. */
int sql_handle(struct tq_run *run, const struct tq_job *job, void *user);

#endif
