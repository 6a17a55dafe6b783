/* SPDX-License-Identifier: MIT
 *
 * tribunal/queue_worker.h - a program that works through a queue.
 *
 * One dispatch loop fetches, renews leases and settles; N executors run handlers. Handlers run in
 * threads (fast; a handler that crashes takes the program along) or in processes (a handler that
 * crashes, is killed or hangs past its deadline costs its own job one attempt and nobody else
 * anything). The promises are the same in both.
 *
 *     static int greet(struct tq_run *run, const struct tq_job *job, void *user)
 *     {
 *         printf("%.*s\n", (int)job->payload_len, (const char *)job->payload);
 *         return 0;
 *     }
 *
 *     struct tq_opts q = TQ_OPTS_INIT;
 *     struct tq_worker_opts o = TQ_WORKER_OPTS_INIT;
 *     q.driver = tq_sqlite_driver();
 *     o.url = "sqlite:jobs.db";
 *     o.queue = &q;
 *     tq_worker_new(&w, &o, &err);
 *     tq_worker_handle(w, NULL, NULL, greet, NULL, &err);
 *     tq_worker_run(w, &err);
 *     tq_worker_free(w);
 *
 * The driver and the URL are the factory of connections: the dispatch loop opens one, and every
 * executor one of its own when a handler first asks for it (tq_run_queue()).
 */
#ifndef TRIBUNAL_QUEUE_WORKER_H
#define TRIBUNAL_QUEUE_WORKER_H

#include <tribunal/queue.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tq_worker tq_worker;
struct tq_run; /* one run of one job, as its handler sees it; valid until the handler returns */

enum {
    TQ_CONCURRENCY_MAX = 1024,
    TQ_PREFETCH_MAX = 5000,
    TQ_HANDLERS_MAX = 256,
    TQ_PERIODIC_MAX = 256
};

/* ---------------------------------------------------------------- handlers */

/* What it returns decides, unless it settled the job itself in a transaction that was committed:
 *
 *   0                   done: ack, with what tq_run_result() was given
 *   TQ_NACK, TR_E_*     failed: again after the queue's backoff (or tq_run_delay())
 *   TQ_BURY             failed for good: dead letter
 *   TQ_DISCARD          not wanted
 *   TQ_SNOOZE           not now: again after tq_run_delay() (else 1 s), no attempt spent
 *   TQ_RELEASE          give it back at once, no attempt spent
 *
 * A handler that settled in its own transaction and committed has the last word; one that rolled
 * back has settled nothing. One that returns 0 with its transaction still open has failed: what it
 * wrote cannot be known to last. Handlers of one worker run at the same time, in any order. */
typedef int (*tq_handler)(struct tq_run *run, const struct tq_job *job, void *user);

/* The result, or with a failure the error: bytes are copied; a second call replaces the first.
 * TR_E_LIMIT over tq_opts.max_payload. */
TR_PUBLIC int tq_run_result(struct tq_run *run, const void *data, size_t len, struct tr_err *err);
/* How long until the next try, for TQ_NACK and TQ_SNOOZE. */
TR_PUBLIC void tq_run_delay(struct tq_run *run, int64_t delay_us);

/* The executor's own handle, opened at the first call and kept for later runs: tq_begin(),
 * business SQL by tq_sql(), tq_tx_ack(), tq_commit(). For a connection of the program's own use it
 * as the first argument: tq_tx_ack(q, tq_tx_pg(mine), …). NULL with a sentence on failure. */
TR_PUBLIC tq *tq_run_queue(struct tq_run *run, struct tr_err *err);
/* What tq_worker_opts.executor_begin() made for this executor. */
TR_PUBLIC void *tq_run_local(struct tq_run *run);

enum tq_stop {
    TQ_GO_ON = 0,
    TQ_STOP_LOST = 1,     /* the lease is somebody else's: whatever is settled now is refused */
    TQ_STOP_CANCEL = 2,   /* somebody cancelled the job */
    TQ_STOP_DEADLINE = 3, /* the run took longer than timeout_us */
    TQ_STOP_SHUTDOWN = 4  /* the drain timeout is over, the job was given back */
};
/* Should this run stop? Cheap; a long handler asks now and then, or polls the descriptor, which
 * becomes readable when the answer changes (do not read from it). In process mode a handler that
 * does not stop is killed. */
TR_PUBLIC int tq_run_stopped(struct tq_run *run);
TR_PUBLIC int tq_run_fd(struct tq_run *run);

/* ---------------------------------------------------------------- options */

enum tq_worker_mode {
    TQ_THREADS = 0,
    TQ_PROCESSES = 1 /* handlers run in forked children, which open their own connections. Start
                        the worker before the program has threads or (SQLite) open connections */
};
enum tq_worker_flags {
    TQ_WORKER_UNTIL_EMPTY = 1, /* stop when nothing is ready and nothing runs here; what is
                                  scheduled for later does not count */
    TQ_WORKER_NO_LEADER = 2    /* take no part in maintenance and periodic jobs */
};

/* A job that is enqueued again and again. Times are UTC and the database's. */
struct tq_periodic {
    size_t size;
    const char *name;    /* names the schedule over all workers */
    const char *cron;    /* "MIN HOUR DAY MONTH WEEKDAY", @hourly, @daily, @weekly, @monthly,
                            @yearly; or NULL and … */
    int64_t every_us;    /* … an interval, counted from 1970: at least 1 s */
    int64_t catch_up_us; /* ticks missed longer ago than this are skipped; 0: 1 h */
    struct tq_item item; /* what to enqueue; its available_us will be the tick's time */
};
#define TQ_PERIODIC_INIT                                                                           \
    {                                                                                              \
        sizeof(struct tq_periodic), NULL, NULL, 0, 0, TQ_ITEM_INIT                                 \
    }

enum tq_trace_event {
    TQ_TRACE_INSERT = 1, /* a periodic job was enqueued; producers' inserts: tq_hooks.inserted */
    TQ_TRACE_START = 2,  /* a handler starts; threads: in its thread, processes: in the loop's */
    TQ_TRACE_END = 3,    /* the run is settled: `end` and `result` say how */
    TQ_TRACE_ERROR = 4   /* something failed and will be tried again: `err` */
};
struct tq_trace {
    size_t size;
    int event;                /* enum tq_trace_event */
    const struct tq_job *job; /* NULL: not about one job */
    int end;                  /* END: enum tq_end, or 0: settled by the handler itself */
    int result;               /* END: enum tq_settled, or TR_E_LOST */
    int64_t run_us;           /* END: how long the handler took */
    const struct tr_err *err; /* ERROR */
};

struct tq_worker_opts {
    size_t size;
    const char *url;
    const struct tq_opts *queue;      /* driver, hooks, blobs …; copied, used for every handle */
    const struct tq_weighted *queues; /* copied; NULL: "default" */
    size_t nqueues;
    int mode;           /* enum tq_worker_mode */
    unsigned flags;     /* enum tq_worker_flags */
    int concurrency;    /* executors; 0: 4 */
    int prefetch;       /* jobs held ready beyond those that run, given back on stop; 0: as many as
                           executors, -1: none */
    int64_t lease_us;   /* 0: 30 s */
    int64_t beat_us;    /* how often leases are renewed; 0: a third of the lease */
    int64_t poll_us;    /* how often to look when nothing pushes; 0: 5 ms SQLite, 200 ms MySQL, and
                           beside PostgreSQL's push 1 s */
    int64_t drain_us;   /* after a stop: how long running handlers may take; 0: 30 s */
    int64_t timeout_us; /* deadline of every run; 0: none */
    int64_t grace_us;   /* from being asked to stop to being killed or given up; 0: 5 s */
    int runs_per_process;  /* a child is replaced after so many runs, against leaks; 0: 1000 */
    size_t process_memory; /* bytes a child may allocate (RLIMIT_DATA); 0: no limit */
    const struct tq_periodic *periodic; /* copied; their strings must outlive the worker */
    size_t nperiodic;
    /* For every executor, in its thread or process: a connection of the program's own, say.
     * Tried again every second while it fails. */
    int (*executor_begin)(void *user, void **ret_local, struct tr_err *err);
    void (*executor_end)(void *user, void *local);
    void (*trace)(void *user, const struct tq_trace *t);
    void *user;
};
#define TQ_WORKER_OPTS_INIT                                                                        \
    {                                                                                              \
        sizeof(struct tq_worker_opts), NULL, NULL, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,    \
            NULL, 0, NULL, NULL, NULL, NULL                                                        \
    }

/* ---------------------------------------------------------------- running */

TR_PUBLIC int tq_worker_new(tq_worker **ret, const struct tq_worker_opts *o, struct tr_err *err);
/* Which handler gets which jobs; NULL stands for any. Queue and kind together win over kind, kind
 * over queue, queue over neither. A job that none fits fails with a sentence. Before the start. */
TR_PUBLIC int tq_worker_handle(tq_worker *w, const char *queue, const char *kind, tq_handler fn,
                               void *user, struct tr_err *err);

/* Run in this thread until stopped. Returns 0 when everything is settled or given back, 1 when
 * handlers (threads) still run that did not stop in time: their jobs were given back. A lost
 * database is waited for, with jitter; an error is returned only when the start fails. */
TR_PUBLIC int tq_worker_run(tq_worker *w, struct tr_err *err);

/* Or step by step in an event loop: when the descriptor (an epoll) is readable or the time is
 * over, call process. It returns 1 as long as the worker lives, 0 when it has stopped. It may
 * take as long as a statement of the database does. */
TR_PUBLIC int tq_worker_fd(tq_worker *w, struct tr_err *err);
TR_PUBLIC int64_t tq_worker_timeout_us(tq_worker *w); /* 0: at once */
TR_PUBLIC int tq_worker_process(tq_worker *w, struct tr_err *err);

/* Stop: fetch no more, give back what has not started, wait drain_us for what runs. The second
 * call gives back everything now. From any thread and from signal handlers. */
TR_PUBLIC void tq_worker_stop(tq_worker *w);
/* There may be work: look now. From any thread and from signal handlers. */
TR_PUBLIC void tq_worker_wake(tq_worker *w);
/* NULL is fine. After a stop; a worker that still has jobs gives them back. */
TR_PUBLIC void tq_worker_free(tq_worker *w);

/* ---------------------------------------------------------------- what it did */

enum {
    TQ_HISTOGRAM_BUCKETS = 20 /* up to 100, 200, 500 us, 1, 2, 5 ms … 100 s, and longer */
};
struct tq_histogram {
    uint64_t count;
    int64_t sum; /* microseconds, or attempts */
    uint64_t bucket[TQ_HISTOGRAM_BUCKETS];
};
/* The upper end of bucket i; INT64_MAX for the last. */
TR_PUBLIC int64_t tq_histogram_bound(int i);
/* The value that a share of `permille` did not exceed, interpolated in its bucket. */
TR_PUBLIC int64_t tq_histogram_at(const struct tq_histogram *h, int permille);

enum {
    TQ_ATTEMPT_BUCKETS = 10 /* 1 … 9 attempts, and more */
};
struct tq_worker_stats {
    size_t size;
    int executors, running, buffered;
    uint64_t claimed, acked, failed, buried, discarded, snoozed, released; /* as settled */
    uint64_t by_handler;         /* settled by the handler's own transaction */
    uint64_t lost;               /* leases lost while we held them */
    uint64_t crashed;            /* children that died in a handler */
    uint64_t overdue;            /* runs past their deadline */
    uint64_t left_open;          /* handlers that returned with their transaction open */
    uint64_t errors;             /* failed calls to the database */
    uint64_t beats;              /* statements that renewed leases */
    uint64_t fired;              /* periodic jobs enqueued */
    int leader;                  /* this worker does the maintenance */
    struct tq_histogram dequeue; /* the claiming statement */
    struct tq_histogram ack;     /* from the handler's return to its settlement */
    struct tq_histogram wait;    /* from available to start, by the database's clock at the claim */
    struct tq_histogram run;     /* the handler */
    uint64_t attempts[TQ_ATTEMPT_BUCKETS]; /* of the runs that were acked or buried */
};
#define TQ_WORKER_STATS_INIT                                                                       \
    {                                                                                              \
        .size = sizeof(struct tq_worker_stats)                                                     \
    }
/* A snapshot; from any thread. */
TR_PUBLIC void tq_worker_stats(tq_worker *w, struct tq_worker_stats *ret);
/* The same in Prometheus' text format; free() it. From any thread. */
TR_PUBLIC int tq_worker_prometheus(tq_worker *w, char **ret, struct tr_err *err);

/* What is in the queues, by priority; from the database, whoever the workers are. */
struct tq_stat_priority {
    size_t size;
    const char *queue;
    int priority;
    int64_t ready, scheduled, running, waiting;
    int64_t oldest_ready_us; /* age of the oldest ready job; 0: none */
};
/* Calls fn for each queue and priority that has live jobs, highest priority first. */
TR_PUBLIC int tq_stats_priorities(tq *q, int (*fn)(void *arg, const struct tq_stat_priority *s),
                                  void *arg, struct tr_err *err);

/* What happened lately in one queue, from its history: at most the last TQ_BATCH_MAX jobs. */
struct tq_recent {
    size_t size;
    int64_t window_us; /* as asked */
    int64_t completed, dead, other;
    struct tq_histogram wait; /* from created to first started */
    struct tq_histogram run;  /* from first started to finished: all attempts and pauses */
    uint64_t attempts[TQ_ATTEMPT_BUCKETS];
};
#define TQ_RECENT_INIT                                                                             \
    {                                                                                              \
        .size = sizeof(struct tq_recent)                                                           \
    }
TR_PUBLIC int tq_recent(tq *q, const char *queue, int64_t window_us, struct tq_recent *ret,
                        struct tr_err *err);
/* Counts of all queues and priorities, oldest ages and the last minute, in Prometheus' text format;
 * free() it. */
TR_PUBLIC int tq_prometheus(tq *q, char **ret, struct tr_err *err);

/* ---------------------------------------------------------------- periodic jobs, by hand */

/* Enqueue what is due of n schedules, each tick once whoever calls it how often at what time: the
 * last tick of a schedule and its job are one transaction. Returns how many were enqueued;
 * *ret_next_us (may be NULL) is the database's time of the next tick, INT64_MAX for none. */
TR_PUBLIC int tq_periodic_fire(tq *q, const struct tq_periodic *list, size_t n,
                               int64_t *ret_next_us, struct tr_err *err);
/* The first tick after after_us. TR_E_PARSE with a sentence for a malformed expression. */
TR_PUBLIC int tq_cron_next(const char *cron, int64_t after_us, int64_t *ret_us, struct tr_err *err);
/* Be, or stay, the one holder of `role` for lease_us (0: step down). 1: we are, 0: somebody else
 * is. The holder is the handle's worker name. */
TR_PUBLIC int tq_leader(tq *q, const char *role, int64_t lease_us, struct tr_err *err);

#ifdef __cplusplus
}
#endif

#endif
