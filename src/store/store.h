/* SPDX-License-Identifier: MIT
 *
 * store/store.h - submissions on a database: the truth that transports only carry.
 *
 * A store is one connection, shared with a queue: what is done between tr_store_begin() and
 * tr_store_commit() on the store and on tr_store_queue() is one transaction. So "claim a job and
 * move its submission to RUNNING", and "ack and verdict", commit together or not at all:
 *
 *     tr_store_begin(st, &err);
 *     tq_claim(tr_store_queue(st), …);  tr_store_start(st, …);
 *     tr_store_commit(st, &err);        … or tr_store_rollback(st)
 *
 * Every move is one conditional update with the fence {submit_id, run_lease}; a late, repeated or
 * forged result matches no row and changes nothing. Moves outside a transaction are their own, are
 * tried again when the database was busy or away for a moment, and are safe to repeat: a commit
 * whose answer was lost is recognised.
 *
 * One thread at a time. Times are microseconds since 1970 UTC by the database's clock. Returns: 0
 * or more, or TR_E_* as in tribunal/err.h; TR_E_LOST: the run is not ours any more, stop.
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tribunal/queue.h>

#include "base/arena.h"
#include "base/err.h"
#include "model/state.h"

struct tr_store;

enum {
    TR_STORE_SUBMIT_ID_MAX = 128,
    TR_STORE_NAME_MAX = 191, /* users, problems, contests, workers */
    TR_STORE_KEY_MAX = 255,
    TR_STORE_TASK_MAX = 16 * 1024 * 1024,
    TR_STORE_RETRIES = 3,  /* after the first try (DESIGN §1) */
    TR_STORE_CRASHES = 20, /* deaths of workers */
    TR_STORE_LIST_MAX = 1000,
    TR_STORE_AHEAD_MAX = 1000 /* as far as tr_store_ahead() looks */
};

struct tr_store_conf {
    const char *url;       /* sqlite:PATH, postgres://…, mysql://… */
    const char *worker_id; /* who starts runs; NULL: host name and pid */
    unsigned queue_flags;  /* enum tq_flags of the queue on the same connection */
    int64_t timeout_us;    /* connecting and locks; 0: 5 s */
    bool reader; /* only reads, each statement alone: on SQLite never waits for a writer */
};

/* The driver for a URL, of those that this build has; NULL and a sentence otherwise. */
const struct tq_driver *tr_store_driver(const char *url, struct tr_err *err);

int tr_store_open(const struct tr_store_conf *conf, struct tr_store **ret, struct tr_err *err);
void tr_store_close(struct tr_store *st); /* NULL is fine */
static inline void tr_store_closep(struct tr_store **st)
{
    tr_store_close(*st);
}

/* The queue on the same connection. When it reclaims, buries or cancels a job whose id a submission
 * carries (tr_store_set_job()), that submission moves in the same transaction. */
tq *tr_store_queue(struct tr_store *st);

/* Who starts the runs that follow: for a controller, which starts them for its judges. */
void tr_store_set_worker(struct tr_store *st, const char *worker_id);

bool tr_store_is_sqlite(const struct tr_store *st);

/* The queue's tables and ours, each with a version line of its own. -1: the newest; 0 removes our
 * tables and leaves the queue's. Returns the version reached. Safe from several programs. */
int tr_store_migrate(struct tr_store *st, int target, struct tr_err *err);
int tr_store_schema_version(struct tr_store *st, struct tr_err *err); /* 0: none */
int tr_store_schema_newest(void);
/* TR_E_FATAL with what to do, unless the schema is the one we know. */
int tr_store_check_schema(struct tr_store *st, struct tr_err *err);

/* ---------------------------------------------------------------- transactions */

int tr_store_begin(struct tr_store *st, struct tr_err *err);
int tr_store_commit(struct tr_store *st, struct tr_err *err); /* TR_E_UNSURE: look first */
void tr_store_rollback(struct tr_store *st);                  /* harmless without one */
/* The open transaction, for tq_tx_*() and tq_sql(). */
struct tq_tx tr_store_tx(struct tr_store *st);

/* ---------------------------------------------------------------- rows */

/* A submission without its two large texts. Lives in the arena it was read into. 0 stands for a
 * time that is not set. */
struct tr_submission {
    int64_t id; /* grows; for cursors */
    const char *submit_id;
    const char *user_id, *user_name;
    const char *idempotency_key; /* NULL: none */
    const char *duplicate_of;    /* submit_id of the one that is judged instead; or NULL */
    enum tr_state status;
    const char *source;  /* "nats" or "queue" */
    const char *subject; /* NATS: where its task is published */
    const char *problem_id, *contest_id, *lang;
    int64_t priority;
    int64_t generation;
    int64_t run_lease;
    int64_t lease_until_us;
    int64_t available_us; /* SYSTEM_ERROR: not before */
    int64_t retry_count, crashes, revivals;
    const char *worker_id; /* NULL: never started */
    int64_t job_id;        /* 0: none */
    int64_t msg_seq;       /* sequence of its message in the stream; 0: not known */
    int64_t created_us, updated_us, start_us, finish_us;
    const char *verdict; /* "AC" …; NULL: none yet */
    int64_t score;       /* millionths of a point */
    int64_t time_ms, memory_kb;
    const char *error; /* the last fault; NULL: none */
    const char *brief; /* of its result, for lists (codec/brief.h); NULL: none */
};

struct tr_submission_list {
    struct tr_submission *rows;
    size_t count;
};

/* TR_E_NOTFOUND. */
int tr_store_get(struct tr_store *st, const char *submit_id, struct tr_arena *arena,
                 struct tr_submission *ret, struct tr_err *err);
/* The task as it was inserted and the result ("" and 0 while there is none), in the arena. */
int tr_store_texts(struct tr_store *st, const char *submit_id, struct tr_arena *arena,
                   const char **ret_task, size_t *ret_task_len, const char **ret_result,
                   size_t *ret_result_len, struct tr_err *err);

struct tr_store_filter { /* zero what does not matter */
    int64_t before_id;   /* page on: smaller ids only; 0: from the newest */
    int limit;           /* 0: 50 */
    const char *status;  /* a state's name */
    const char *verdict, *user_id, *problem_id, *contest_id, *lang, *source, *worker_id;
    const char *subject;
    int64_t since_us, until_us; /* created at or after, created before; 0: whenever */
};
/* Newest first. */
int tr_store_list(struct tr_store *st, const struct tr_store_filter *f, struct tr_arena *arena,
                  struct tr_submission_list *ret, struct tr_err *err);
int tr_store_duplicates(struct tr_store *st, const char *submit_id, struct tr_arena *arena,
                        struct tr_submission_list *ret, struct tr_err *err);
int tr_store_counts(struct tr_store *st, int64_t ret[static TR_STATES], struct tr_err *err);
/* How many of the TR_STORE_AHEAD_MAX that came last before `s` wait with its priority or a higher
 * one: a lower bound of what is before it, that costs the same however many wait. */
int tr_store_ahead(struct tr_store *st, const struct tr_submission *s, int64_t *ret,
                   struct tr_err *err);
int tr_store_now(struct tr_store *st, int64_t *ret_us, struct tr_err *err);

/* Earlier generations, newest first. */
struct tr_generation {
    int64_t generation;
    enum tr_state status;
    const char *verdict, *worker_id, *error; /* or NULL */
    int64_t score, time_ms, memory_kb;
    int64_t start_us, finish_us, replaced_us;
    const char *result; /* JSON; NULL: none */
    size_t result_len;
};
int tr_store_history(struct tr_store *st, const char *submit_id, struct tr_arena *arena,
                     struct tr_generation **ret, size_t *ret_count, struct tr_err *err);

/* ---------------------------------------------------------------- moves */

enum tr_on_key {
    TR_KEY_SAME,     /* the same key of the same user is the same submission: nothing is added */
    TR_KEY_DUPLICATE /* … its own row, which is not judged and takes over the first's verdict */
};
enum tr_inserted {
    TR_INSERT_NEW,
    TR_INSERT_EXISTED,   /* this submit_id is there already; nothing changed */
    TR_INSERT_SAME_KEY,  /* the key belongs to *ret_other; nothing added */
    TR_INSERT_DUPLICATE, /* added as duplicate of *ret_other; FINISHED at once if that one is */
};
struct tr_submission_new {
    const char *submit_id;
    const char *user_id, *user_name; /* NULL: "" */
    const char *idempotency_key;     /* NULL or "": none */
    const char *source;              /* "nats" or "queue" */
    const char *subject;             /* NULL: "" */
    const char *problem_id, *contest_id, *lang;
    int64_t priority, generation, retry_count, crashes;
    int64_t job_id;  /* 0: none */
    int64_t msg_seq; /* of its message in the stream; 0: not known */
    const void *task;
    size_t task_len;
    enum tr_on_key on_key;
};
/* Returns enum tr_inserted; ret_other (may be NULL) has TR_STORE_SUBMIT_ID_MAX + 1 bytes. */
int tr_store_insert(struct tr_store *st, const struct tr_submission_new *n, char *ret_other,
                    struct tr_err *err);

enum tr_started {
    TR_START_OK,        /* ours: run_lease is the fence of all that follows */
    TR_START_BUSY,      /* another's live lease: come back after wait_us */
    TR_START_EARLY,     /* a fault's delay is not over: come back after wait_us */
    TR_START_FINISHED,  /* has its verdict */
    TR_START_DEAD,      /* DLQ */
    TR_START_WORN_OUT,  /* too many workers died of it: moved to DLQ just now */
    TR_START_CANCELLED, /* */
    TR_START_STALE,     /* the row is of a later generation */
    TR_START_DUPLICATE, /* another one is judged instead */
    TR_START_UNKNOWN    /* no row: insert it first */
};
struct tr_start {
    int64_t run_lease, retry_count, crashes, revivals, generation;
    int64_t wait_us;
};
/* Take a submission for lease_us. Returns enum tr_started and fills *ret. */
int tr_store_start(struct tr_store *st, const char *submit_id, int64_t generation, int64_t lease_us,
                   struct tr_start *ret, struct tr_err *err);

/* 0, or TR_E_LOST: taken over, cancelled, or ended. */
int tr_store_renew(struct tr_store *st, const char *submit_id, int64_t run_lease, int64_t lease_us,
                   struct tr_err *err);

/* A run goes on with the same worker under a new fence: 0 and run_lease + 1 in *ret, or TR_E_LOST.
 */
int tr_store_adopt(struct tr_store *st, const char *submit_id, int64_t run_lease, int64_t lease_us,
                   int64_t *ret, struct tr_err *err);

/* What finish, release and expire say besides TR_E_LOST. The transaction that moved the row has
 * committed whole: what the caller puts beside the move (an event, an ack) is there as well, and
 * must not be done twice. */
enum tr_moved {
    TR_MOVED,
    TR_MOVED_BEFORE, /* by this very run; the answer of that commit was lost */
    TR_MOVED_COPIED  /* a verdict, and duplicates took it over: tr_store_duplicates() */
};

struct tr_verdict_row {
    const char *verdict; /* "AC" … */
    int64_t score, time_ms, memory_kb;
    const void *result; /* JSON */
    size_t result_len;
    const char *brief; /* codec/brief.h; NULL: none */
};
/* The verdict, once: enum tr_moved, or TR_E_LOST with nothing written. Duplicates that wait for it
 * take it over in the same transaction. */
int tr_store_finish(struct tr_store *st, const char *submit_id, int64_t run_lease,
                    const struct tr_verdict_row *v, struct tr_err *err);

enum tr_faulted {
    TR_FAULT_AGAIN, /* SYSTEM_ERROR, again after delay_us */
    TR_FAULT_DEAD   /* that was the last try: DLQ */
};
/* Returns enum tr_faulted or TR_E_LOST. max_retries: TR_STORE_RETRIES; 0 buries at once. */
int tr_store_fault(struct tr_store *st, const char *submit_id, int64_t run_lease, const char *why,
                   int64_t delay_us, int max_retries, struct tr_err *err);

/* Give a run back, PENDING at once: unworked (crash false), or because its worker is gone. Returns
 * enum tr_moved or TR_E_LOST. */
int tr_store_release(struct tr_store *st, const char *submit_id, int64_t run_lease, bool crash,
                     struct tr_err *err);

/* Without a run: to DLQ, CANCELLED. TR_E_LOST when its state does not allow it, TR_E_NOTFOUND. */
int tr_store_bury(struct tr_store *st, const char *submit_id, const char *why, struct tr_err *err);
int tr_store_cancel(struct tr_store *st, const char *submit_id, const char *why,
                    struct tr_err *err);
/* DLQ → PENDING with new tries. `revivals` makes repeats harmless: it happens only when the row has
 * fewer; -1: one more than it has. */
int tr_store_retry(struct tr_store *st, const char *submit_id, int64_t revivals,
                   struct tr_err *err);
/* The next generation, PENDING; the old result goes to the history. `task` replaces the task (NULL:
 * the same). Returns the new generation; TR_E_LOST while it is not at an end. */
int64_t tr_store_rejudge(struct tr_store *st, const char *submit_id, const void *task,
                         size_t task_len, struct tr_err *err);

/* Where its message or job is. */
int tr_store_carried(struct tr_store *st, const char *submit_id, const char *subject,
                     int64_t msg_seq, struct tr_err *err);
int tr_store_set_job(struct tr_store *st, const char *submit_id, int64_t job_id,
                     struct tr_err *err);

/* ---------------------------------------------------------------- many at once */

/* The three moves of every task, for many in a few round trips. Only between tr_store_begin() and
 * tr_store_commit(). Each item gets in `result` what its own call would have returned, in the order
 * given, and the sentence in *err when that is negative. The call itself returns 0, or TR_E_*: the
 * transaction is of no use any more. */
struct tr_many_item {
    const char *submit_id;
    struct tr_err *err; /* NULL: not wanted */
    int result;
};

struct tr_insert_item {
    struct tr_many_item of; /* the submit_id is the row's */
    const struct tr_submission_new *row;
    char *other; /* as ret_other of tr_store_insert(); NULL: not wanted */
};
int tr_store_insert_many(struct tr_store *st, struct tr_insert_item *items, size_t n,
                         struct tr_err *err);

struct tr_start_item {
    struct tr_many_item of;
    int64_t generation;
    struct tr_start got;
};
int tr_store_start_many(struct tr_store *st, struct tr_start_item *items, size_t n,
                        int64_t lease_us, struct tr_err *err);

struct tr_finish_item {
    struct tr_many_item of;
    int64_t run_lease;
    const struct tr_verdict_row *verdict;
};
int tr_store_finish_many(struct tr_store *st, struct tr_finish_item *items, size_t n,
                         struct tr_err *err);

/* tr_store_set_job() for each. */
struct tr_job_item {
    const char *submit_id;
    int64_t job_id;
};
int tr_store_set_job_many(struct tr_store *st, const struct tr_job_item *items, size_t n,
                          struct tr_err *err);

/* ---------------------------------------------------------------- watchdog */

/* RUNNING ones of `source` whose lease is over for longer than grace_us … */
int tr_store_expired(struct tr_store *st, const char *source, int64_t grace_us, int limit,
                     struct tr_arena *arena, struct tr_submission_list *ret, struct tr_err *err);
/* … back to PENDING with crashes + 1, if that is still so: enum tr_moved, or TR_E_LOST. */
int tr_store_expire(struct tr_store *st, const char *submit_id, int64_t run_lease, int64_t grace_us,
                    struct tr_err *err);
/* PENDING ones of `source` that nothing happened to for older_us; in order of id, after after_id.
 */
int tr_store_waiting(struct tr_store *st, const char *source, int64_t older_us, int64_t after_id,
                     int limit, struct tr_arena *arena, struct tr_submission_list *ret,
                     struct tr_err *err);

#endif
