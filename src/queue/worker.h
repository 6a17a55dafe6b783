/* SPDX-License-Identifier: MIT
 *
 * queue/worker.h - what the files of the worker share.
 *
 * worker.c         options, start, stop, the public face
 * worker_loop.c    one turn of the dispatch loop: fetch, timers
 * worker_settle.c  a handler came back: the truth table
 * worker_beat.c    leases, cancelling, deadlines
 * worker_run.c     around one handler: what it may call, what its return means
 * worker_threads.c executors that are threads
 * worker_procs.c   executors that are processes, seen from the loop
 * worker_nursery.c the process that forks them, and their inside
 * worker_stats.c   counters, Prometheus text
 * worker_lead.c    maintenance and periodic jobs, by one worker at a time
 *
 * Everything belongs to the loop's thread but for what stands under `mu` of the thread pool, the
 * atomics, and a run between "handed to an executor" and "handed back".
 */
#ifndef QUEUE_WORKER_H
#define QUEUE_WORKER_H

#include <pthread.h>
#include <stdatomic.h>

#include <tribunal/queue_worker.h>

#include "queue/internal.h"

struct tqw_handler {
    char *queue, *kind; /* NULL: any */
    tq_handler fn;
    void *user;
};

/* A claimed batch lives until the last of its jobs is settled. */
struct tqw_batch {
    tq_batch *b;
    int left;
};

enum tqw_state {
    RUN_BUFFERED, /* claimed, nobody works on it */
    RUN_RUNNING,
    RUN_ENDED, /* its handler returned or died; to be settled */
};

struct tq_run {
    struct tq_run *next; /* in the list it is in */
    tq_worker *w;
    const struct tq_job *job;
    struct tqw_batch *batch;
    struct tqw_exec *exec; /* who runs it, or ran it last */
    size_t at;             /* its place in w->runs */
    int state;             /* enum tqw_state */
    int64_t started_us, ended_us;

    /* Written by the executor, read by the loop once the run is back. */
    int end; /* enum tq_end */
    int64_t delay_us;
    char *data;
    size_t len;
    bool touched;   /* the handler asked for a handle: it may have settled, or have a lock */
    bool left_open; /* … and returned inside its transaction, which was rolled back */
    bool foreign;   /* … or settled on a connection of the program's own */
    bool crashed;

    /* The loop's. */
    bool check;           /* look at the row before settling */
    bool was_open;        /* the row was seen locked after the handler returned */
    bool given_up;        /* lost or given back: whatever comes back is dropped */
    int64_t next_look_us; /* not before */
    int64_t kill_us;      /* asked to stop; killed or given up then. 0: not asked */
    atomic_int stop;      /* enum tq_stop */
};

/* One executor. Its handle and `local` are its own. */
struct tqw_exec {
    tq_worker *w;
    int index;
    struct tq_run *current; /* under mu */
    tq *q;
    void *local;
    bool has_local;
    /* threads */
    pthread_t thread;
    bool thread_runs; /* to be joined */
    bool gone;        /* under mu: it has left its loop */
    int stop_fd;      /* readable: stop. In a child: the socket to the loop */
    /* processes */
    pid_t pid; /* 0: none, or being started */
    bool starting;
    bool dying;          /* asked to be killed */
    struct tq_run *held; /* its last run is not settled yet: nothing new before it is */
    int sock;
    struct tr_buf out, in;
    int runs;
    int64_t start_us; /* not before: a child that dies at birth is not restarted at once */
    int births;       /* in a row that died without a run */
};

/* What the loop asks of executors, whatever they are. */
struct tqw_pool_ops {
    int (*start)(tq_worker *w, struct tr_err *err);
    void (*put)(tq_worker *w, struct tq_run *list);        /* to the buffer, in order */
    struct tq_run *(*collect)(tq_worker *w);               /* what came back */
    void (*ask)(tq_worker *w, struct tq_run *r, int stop); /* please stop */
    bool (*kill)(tq_worker *w, struct tq_run *r);          /* true: it will come back, crashed */
    void (*settled)(tq_worker *w, struct tq_run *r);       /* its executor may go on */
    void (*end)(tq_worker *w);
};
extern const struct tqw_pool_ops tqw_threads, tqw_procs;

struct tqw_pool {
    pthread_mutex_t mu;
    pthread_cond_t more;
    struct tq_run *todo, **todo_end;
    struct tq_run *done, **done_end;
    int buffered, idle;
    bool stopping, woken;
};

enum tqw_phase {
    PHASE_NEW,
    PHASE_WORK,
    PHASE_DRAIN, /* no more fetching */
    PHASE_HURRY, /* everything has been given back */
    PHASE_OVER
};

struct tq_worker {
    struct tq_worker_opts o;
    struct tq_opts qopts;
    char *url;
    struct tq_weighted *queues;
    struct tqw_handler *handlers;
    size_t nhandlers;
    struct tq_periodic *periodic;
    tq *q; /* the loop's handle */
    const struct tqw_pool_ops *ops;
    struct tqw_pool pool;
    struct tqw_exec *execs;
    int phase; /* enum tqw_phase */
    pid_t pid;

    int epoll_fd, wake_fd;
    int listen_fd; /* -1: none */
    atomic_int stops;
    int stops_seen;

    struct tq_run **runs; /* everything in flight */
    size_t nruns, cap;
    struct tq_run *ended; /* to be settled */
    int64_t now_us;       /* monotonic, of this turn */
    int64_t claim_us;     /* when to claim next; 0: now */
    int64_t idle_us;      /* the pause before the last claim that found nothing */
    int64_t seen_version; /* SQLite: the file's, at the last claim */
    int64_t looked_us;    /* SQLite: the last full look */
    int64_t listen_us;    /* when to try to listen again */
    int64_t beat_us;
    int64_t lead_us, tick_us, leader_until_us;
    int64_t drain_until_us;
    int64_t down_until_us; /* the database is away: no call before that */
    int down_tries;
    bool empty; /* the last claim found nothing */
    bool asked; /* some run was asked to stop */

    /* processes */
    int nursery_fd;
    pid_t nursery_pid;

    pthread_mutex_t stats_mu;
    struct tq_worker_stats stats;
};

enum {
    TQW_TRIES = 2,             /* of one statement; the loop itself comes back later */
    TQW_DOWN_FIRST_US = 50000, /* pause after a failed call, doubling with jitter … */
    TQW_DOWN_MAX_US = 2000000, /* … to this */
    TQW_LOOK_AGAIN_US = 20000, /* at a row that somebody's transaction holds */
    TQW_LOCK_WAIT_US = 250000, /* the loop's handle waits so long for a lock, as a backstop */
    TQW_LEADER_US = 3000000,   /* lease of the leader */
    TQW_MAINTAIN_US = 1000000
};
/* Executors add 1 to the eventfd, tq_worker_wake() this much. */
#define TQW_WAKE ((uint64_t)1 << 32)

/* worker_pool.c: the lists between the loop and its executors. These four with pool.mu held: */
int tqw_todo_add(struct tqw_pool *p, struct tq_run *list); /* how many they were */
struct tq_run *tqw_todo_next(struct tqw_pool *p);          /* NULL: none */
void tqw_started(struct tqw_exec *e, struct tq_run *r);
void tqw_ended(struct tqw_exec *e, struct tq_run *r); /* … and to the list of those that are done */
/* … and these without. */
void tqw_not_started(tq_worker *w, struct tq_run *r);
struct tq_run *tqw_take_back(tq_worker *w); /* everything that is buffered */
struct tq_run *tqw_take_done(tq_worker *w);
int tqw_running(tq_worker *w, struct tq_run **ret); /* runs at work: TQ_CONCURRENCY_MAX */
int tqw_buffered(tq_worker *w);

/* worker_run.c */
void tqw_execute(struct tqw_exec *e, struct tq_run *r);
const struct tqw_handler *tqw_find(const tq_worker *w, const struct tq_job *job);
int tqw_exec_begin(struct tqw_exec *e, struct tr_err *err);
void tqw_exec_end(struct tqw_exec *e);
int tqw_open(tq_worker *w, bool loop, tq **ret, struct tr_err *err);
/* The run fails with this sentence, unless it has failed already. */
void tqw_failed(struct tq_run *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* worker_loop.c */
int tqw_turn(tq_worker *w);
int64_t tqw_timeout(tq_worker *w);
void tqw_drop(tq_worker *w, struct tq_run *r); /* forget it, free it */
struct tq_run *tqw_new_run(tq_worker *w, struct tqw_batch *b, const struct tq_job *job);
int tqw_wanted(tq_worker *w, size_t leaving);
void tqw_claimed(tq_worker *w, tq_batch *batch, int n, int want, int64_t started_us);
void tqw_down(tq_worker *w, const struct tr_err *err);
void tqw_up(tq_worker *w);

/* worker_settle.c */
void tqw_settle(tq_worker *w);
void tqw_collect(tq_worker *w);
void tqw_give_back(tq_worker *w, struct tq_run *list);

/* worker_beat.c */
void tqw_beat(tq_worker *w);
void tqw_deadlines(tq_worker *w);
void tqw_ask(tq_worker *w, struct tq_run *r, int stop);
void tqw_hurry(tq_worker *w);
int64_t tqw_next_deadline(tq_worker *w);
/* End a run whose handler does not: another object stands for it from now on. */
void tqw_give_up(tq_worker *w, struct tq_run *r, int end, const char *why);

/* worker_nursery.c */
int tqw_nursery_start(tq_worker *w, struct tr_err *err);
enum tqw_news_type {
    NEWS_NONE,
    NEWS_BORN, /* index, pid, fd */
    NEWS_DIED, /* pid, status */
    NEWS_LOST  /* the nursery itself */
};
struct tqw_news {
    int type, index;
    pid_t pid;
    int status;
    int fd;
};
void tqw_nursery_news(tq_worker *w, struct tqw_news *ret);
bool tqw_nursery_ask(tq_worker *w, int index);
void tqw_nursery_kill(tq_worker *w, int index, pid_t pid);
void tqw_nursery_end(tq_worker *w);

/* worker_wire.c: jobs and outcomes between the loop and a child */
enum tqw_frame_type {
    FRAME_JOB = 1,
    FRAME_STOP = 2,
    FRAME_DONE = 3
};
struct tqw_frame {
    uint32_t type;
    uint32_t arg; /* STOP: the reason */
    uint64_t len; /* of what follows */
};
struct tqw_done {
    int64_t delay_us;
    int end;
    bool touched, left_open, foreign;
};
void tqw_wire_job(struct tr_buf *out, const struct tq_job *job);
/* Points into `bytes`, which must stay. False: not a job of ours. */
bool tqw_unwire_job(char *bytes, size_t len, struct tq_job *ret);

/* worker_stats.c */
void tqw_histogram_add(struct tq_histogram *h, int64_t us);
void tqw_histogram_text(struct tr_buf *b, const char *name, const char *labels,
                        const struct tq_histogram *h);
void tqw_count(tq_worker *w, uint64_t *counter);
void tqw_observe(tq_worker *w, struct tq_histogram *h, int64_t us);
void tqw_trace(tq_worker *w, const struct tq_trace *t);
void tqw_trace_error(tq_worker *w, const struct tr_err *err);

/* worker_lead.c */
void tqw_lead(tq_worker *w);
void tqw_step_down(tq_worker *w);

#endif
