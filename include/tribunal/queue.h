/* SPDX-License-Identifier: MIT
 *
 * tribunal/queue.h - a job queue in the database you already have.
 *
 * Jobs are rows. A job is enqueued, claimed under a lease, and settled; each of these can happen
 * inside the caller's own transaction, on the caller's own connection, so that the job's end and
 * the data it produced are committed together or not at all. What a job does inside that
 * transaction happens exactly once; anything outside of it at least once.
 *
 * {id, run_lease} is the whole proof of ownership. run_lease grows at every claim and is never
 * reused, so an owner that was away too long is recognised in the statement that would do harm.
 *
 * A handle (tq) belongs to one thread at a time and to the process that opened it. Everything else
 * is plain data. The library has no threads, keeps no global state and never logs. Times are
 * microseconds since 1970 UTC and always the database's, never the client's.
 *
 * Functions return 0 or more, or TR_E_* with a sentence in *err (see tribunal/err.h):
 *
 * - RETRY: nothing happened; try again, after a pause.
 * - ABORT: roll your transaction back and start it again.
 * - LOST: the lease is not yours any more; roll back, stop, write nothing.
 * - UNSURE: it may have happened; for a settlement ask tq_verify().
 * - FATAL: somebody has to change something.
 * - USAGE: the call makes no sense.
 */
#ifndef TRIBUNAL_QUEUE_H
#define TRIBUNAL_QUEUE_H

#include <stddef.h>
#include <stdint.h>

#include <tribunal/err.h>
#include <tribunal/queue_driver.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TQ_ABI_VERSION 1

typedef struct tq tq;
typedef struct tq_batch tq_batch;

/* The version of the ABI that the library was built as; differs from TQ_ABI_VERSION only when the
 * header and the library do not belong together. */
TR_PUBLIC int tq_abi_version(void);

/* Ceilings. A value outside is refused (TR_E_LIMIT), never cut. */
enum {
    TQ_NAME_MAX = 191,       /* bytes of a queue, group, kind or worker name */
    TQ_UNIQUE_MAX = 255,     /* bytes of a unique key */
    TQ_BATCH_MAX = 10000,    /* jobs in one call */
    TQ_ATTEMPTS_MAX = 1000,  /* max_attempts */
    TQ_PRIORITY_MAX = 32767, /* priorities are -32767 … 32767 */
    TQ_PAYLOAD_MAX = 1 << 28 /* bytes, the most that tq_opts.max_payload may say */
};

/* ---------------------------------------------------------------- handles */

struct tq_blobs;
struct tq_hooks;

enum tq_flags {
    TQ_NO_NOTIFY = 1,     /* send no wake-ups (PostgreSQL: no NOTIFY) */
    TQ_NO_PREPARE = 2,    /* keep no prepared statements: for poolers that cannot */
    TQ_STALE_POISONS = 4, /* a stale settlement makes the caller's transaction uncommittable */
    TQ_RELAXED_SYNC = 8,  /* SQLite synchronous=NORMAL: a power cut may undo the last commits */
    TQ_ONE_TRY = 16       /* what fails comes back at once: the caller has a loop of its own */
};

struct tq_opts {
    size_t size;
    const struct tq_driver *driver; /* required: tq_sqlite_driver(), tq_pg_driver(), … */
    const char *worker;             /* name kept in locked_by; NULL: host name and pid */
    unsigned flags;                 /* enum tq_flags */
    int64_t timeout_us;             /* connect and lock waits; 0: 5 s */
    size_t max_payload;             /* ceiling of a payload, result or error; 0: 4 MiB */
    size_t inline_max;              /* larger payloads go to `blobs`; 0: 64 KiB */
    const struct tq_blobs *blobs;   /* NULL: everything stays in the table */
    const struct tq_hooks *hooks;   /* NULL: none */
};
#define TQ_OPTS_INIT                                                                               \
    {                                                                                              \
        sizeof(struct tq_opts), NULL, NULL, 0, 0, 0, 0, NULL, NULL                                 \
    }

/* Connect. `url` is sqlite:PATH, postgres://… or mysql://user:pw@host:port/db[?socket=PATH].
 * What o points at (driver, blobs, hooks) must outlive the handle; strings are copied. Fails with
 * FATAL when there is no such database, no right, or a server that is too old. The schema is
 * looked at by the first call that needs it: TR_E_FATAL when it is older or newer than the
 * library (tq_migrate() mends the first). */
TR_PUBLIC int tq_open(tq **ret, const char *url, const struct tq_opts *o, struct tr_err *err);
TR_PUBLIC void tq_close(tq *q); /* NULL is fine; an open tq_begin() is rolled back */

/* A transaction on the handle's own connection, for programs that have none of their own and to
 * join several calls in one commit (ack the last batch, claim the next). Every call on q between
 * the two takes part in it. Commit: UNSURE when the answer was lost. */
TR_PUBLIC int tq_begin(tq *q, struct tq_tx *ret, struct tr_err *err);
TR_PUBLIC int tq_commit(tq *q, struct tr_err *err);
TR_PUBLIC void tq_rollback(tq *q);

/* ---------------------------------------------------------------- schema */

/* Bring the schema to version `target` (-1: the newest; 0: remove everything, jobs included).
 * Each step is one transaction where the engine can. Safe to run from several programs at once.
 * Returns the version reached. */
TR_PUBLIC int tq_migrate(tq *q, int target, struct tr_err *err);
TR_PUBLIC int tq_schema_version(tq *q, struct tr_err *err); /* 0: none */
TR_PUBLIC int tq_schema_newest(void);
/* The SQL of step n of "postgres", "mysql" or "sqlite" (up or down), or NULL. */
TR_PUBLIC const char *tq_schema_sql(const char *backend, int n, int up, const char **ret_name);

/* ---------------------------------------------------------------- enqueue */

enum tq_unique_scope {
    TQ_UNIQUE_ACTIVE = 0, /* as long as the job is queued or running */
    TQ_UNIQUE_QUEUED = 1, /* until it is claimed for the first time */
    TQ_UNIQUE_WINDOW = 2  /* unique_window_us from its enqueue on, finished or not */
};
enum tq_on_conflict {
    TQ_CONFLICT_KEEP = 0,         /* return the existing job */
    TQ_CONFLICT_REPLACE = 1,      /* a queued job gets the new payload, time and priority; a
                                     running one stays as it is */
    TQ_CONFLICT_AFTER_RUNNING = 2 /* as REPLACE, but if the job is running, keep the new one and
                                     make it ready when the running one is settled for good */
};

struct tq_item {
    size_t size;
    const char *queue; /* NULL: "default" */
    const char *kind;  /* for the handler to choose by; NULL: "" */
    const void *payload;
    size_t payload_len;
    int json;          /* the payload is JSON text: a mark for people and tools; bytes are kept */
    int priority;      /* higher first */
    int max_attempts;  /* 0: 5 */
    int max_crashes;   /* 0: a run that ends by lease expiry costs an attempt like a failure;
                          n: it costs none, and the n-th buries the job */
    int64_t delay_us;  /* from the database's now */
    int64_t run_at_us; /* absolute; 0: use delay_us */
    const void *unique_key;
    size_t unique_len;        /* 0: no unique key */
    int unique_scope;         /* enum tq_unique_scope */
    int on_conflict;          /* enum tq_on_conflict */
    int64_t unique_window_us; /* TQ_UNIQUE_WINDOW */
    const char *group_key;    /* fair share: of equal priority, groups take turns. Jobs without a
                                 group go before those that have one */
};
#define TQ_ITEM_INIT                                                                               \
    {                                                                                              \
        sizeof(struct tq_item), NULL, NULL, NULL, 0, 0, 0, 0, 0, 0, 0, NULL, 0, 0, 0, 0, NULL      \
    }

enum tq_existed {
    TQ_NEW = 0,      /* a job was added */
    TQ_EXISTED = 1,  /* the id is that of a job that was there, unchanged */
    TQ_REPLACED = 2, /* … changed to the new payload */
    TQ_FOLLOWS = 3   /* a job was added (or changed) that waits for the running one */
};
struct tq_enqueued {
    int64_t id;
    int existed; /* enum tq_existed */
};

/* Returns 0 and the id. ret may be NULL. _many writes all or nothing, in order; items are
 * items[0].size bytes apart, ret (NULL: not wanted) has n entries. */
TR_PUBLIC int tq_enqueue(tq *q, const struct tq_item *item, struct tq_enqueued *ret,
                         struct tr_err *err);
TR_PUBLIC int tq_enqueue_many(tq *q, const struct tq_item *items, size_t n, struct tq_enqueued *ret,
                              struct tr_err *err);
TR_PUBLIC int tq_tx_enqueue(tq *q, struct tq_tx tx, const struct tq_item *item,
                            struct tq_enqueued *ret, struct tr_err *err);
TR_PUBLIC int tq_tx_enqueue_many(tq *q, struct tq_tx tx, const struct tq_item *items, size_t n,
                                 struct tq_enqueued *ret, struct tr_err *err);

/* ---------------------------------------------------------------- claim */

struct tq_ref {
    int64_t id;
    int64_t run_lease;
};

enum tq_state {
    TQ_SCHEDULED = 0, /* waits for available_at */
    TQ_READY = 1,
    TQ_RUNNING = 2,
    TQ_WAITING = 3,   /* waits for the running job of the same unique key */
    TQ_COMPLETED = 4, /* in history from here on */
    TQ_DEAD = 5,
    TQ_DISCARDED = 6,
    TQ_CANCELLED = 7
};
TR_PUBLIC const char *tq_state_name(int state); /* the seeds' words for the final ones */

/* A job as the database had it. Read only; lives as long as its batch. */
struct tq_job {
    size_t size;
    struct tq_ref ref;
    int state; /* enum tq_state */
    int priority;
    int attempts; /* this run included */
    int max_attempts;
    int crashes;
    int max_crashes;
    int json;
    int cancel_requested;
    const char *queue;
    const char *kind;
    const char *group_key; /* NULL: none */
    const char *locked_by; /* NULL: not running */
    const void *unique_key;
    size_t unique_len;
    const void *payload;
    size_t payload_len;
    const void *progress; /* what tq_progress() stored last; NULL: nothing */
    size_t progress_len;
    const void *result; /* result, or last error; NULL: none */
    size_t result_len;
    int64_t rank;
    int64_t created_us;
    int64_t available_us;
    int64_t started_us; /* first claim; 0: never */
    int64_t lease_until_us;
    int64_t finished_us; /* 0: not in history */
};

/* Lease up to `max` jobs of one queue for lease_us. Returns how many, with *ret_batch (free it with
 * tq_batch_free()), or 0 and no batch. Highest priority first, then fair rank, then id. On UNSURE
 * jobs may be leased that nobody holds; they come back when the lease runs out.
 *
 * In the caller's transaction the claim is undone by a rollback. Claims never wait for each other,
 * nor do enqueues for them (SQLite has one writer: there waits are bounded by the timeout). */
TR_PUBLIC int tq_claim(tq *q, const char *queue, int max, int64_t lease_us, tq_batch **ret_batch,
                       struct tr_err *err);
TR_PUBLIC int tq_tx_claim(tq *q, struct tq_tx tx, const char *queue, int max, int64_t lease_us,
                          tq_batch **ret_batch, struct tr_err *err);

/* Several queues: the one to ask first is drawn by weight, the rest fill up what it left. Weights
 * are decided here, in the client; one statement never names two queues. */
struct tq_weighted {
    const char *queue;
    unsigned weight; /* 0: only when the others left room */
};
TR_PUBLIC int tq_claim_any(tq *q, const struct tq_weighted *queues, size_t n, int max,
                           int64_t lease_us, tq_batch **ret_batch, struct tr_err *err);

TR_PUBLIC int tq_batch_count(const tq_batch *b);
TR_PUBLIC const struct tq_job *tq_batch_job(const tq_batch *b, int i);
TR_PUBLIC void tq_batch_free(tq_batch *b); /* NULL is fine */

/* ---------------------------------------------------------------- settle */

enum tq_end {
    TQ_ACK = 1,     /* done: to history as "completed" */
    TQ_NACK = 2,    /* failed: again after a delay, or buried if this was the last attempt */
    TQ_BURY = 3,    /* failed for good: to history as "dead_letter" */
    TQ_DISCARD = 4, /* not wanted: to history as "discarded" */
    TQ_SNOOZE = 5,  /* not now: again after delay_us, the attempt does not count */
    TQ_RELEASE = 6  /* give it back unworked: ready at once, the attempt does not count */
};

struct tq_settlement {
    size_t size;
    struct tq_ref ref;
    int end;          /* enum tq_end */
    int result;       /* out: enum tq_settled, or TR_E_LOST: not ours, nothing changed */
    const void *data; /* result or error; may be NULL */
    size_t data_len;
    int64_t delay_us;   /* NACK: -1 for the policy; SNOOZE: how long */
    int64_t base_us;    /* NACK by policy: base·2^(attempts-1); 0: the queue's, else 2 s */
    int jitter_percent; /* ± of that; -1: the queue's, else 20 */
};
#define TQ_SETTLEMENT_INIT                                                                         \
    {                                                                                              \
        sizeof(struct tq_settlement), {0, 0}, 0, 0, NULL, 0, -1, 0, -1                             \
    }
enum tq_settled {
    TQ_SETTLED_FINAL = 1, /* archived as asked */
    TQ_SETTLED_AGAIN = 2, /* will be tried again */
    TQ_SETTLED_BURIED = 3 /* NACK on the last attempt: dead letter */
};

/* Settle n jobs. Returns how many were ours; each item's `result` tells. Never fails for a stale
 * one (the single forms below do). In a caller's transaction nothing counts until it commits.
 * With TQ_STALE_POISONS a stale item makes the caller's transaction uncommittable and the whole
 * call TR_E_LOST. At most one settlement per job in one call. */
TR_PUBLIC int tq_settle(tq *q, struct tq_settlement *items, size_t n, struct tr_err *err);
TR_PUBLIC int tq_tx_settle(tq *q, struct tq_tx tx, struct tq_settlement *items, size_t n,
                           struct tr_err *err);

/* Settle n jobs and claim up to `max` new ones, in one commit: what a busy worker does in its loop,
 * for the price of one. Returns how many were claimed (as tq_claim_any() does); each item's
 * `result` tells of the settlements, of which a stale one stops nothing. When this fails, neither
 * happened; on UNSURE ask tq_verify(), and jobs that were claimed come back when the lease ends. */
TR_PUBLIC int tq_settle_and_claim(tq *q, struct tq_settlement *items, size_t nitems,
                                  const struct tq_weighted *queues, size_t nqueues, int max,
                                  int64_t lease_us, tq_batch **ret_batch, struct tr_err *err);

/* One job each. 0 (or enum tq_settled for nack), or TR_E_LOST with nothing changed. */
TR_PUBLIC int tq_ack(tq *q, struct tq_ref ref, const void *result, size_t len, struct tr_err *err);
TR_PUBLIC int tq_nack(tq *q, struct tq_ref ref, int64_t delay_us, const void *error, size_t len,
                      struct tr_err *err);
TR_PUBLIC int tq_bury(tq *q, struct tq_ref ref, const void *error, size_t len, struct tr_err *err);
TR_PUBLIC int tq_discard(tq *q, struct tq_ref ref, const void *why, size_t len, struct tr_err *err);
TR_PUBLIC int tq_snooze(tq *q, struct tq_ref ref, int64_t delay_us, struct tr_err *err);
TR_PUBLIC int tq_release(tq *q, struct tq_ref ref, struct tr_err *err);
TR_PUBLIC int tq_tx_ack(tq *q, struct tq_tx tx, struct tq_ref ref, const void *result, size_t len,
                        struct tr_err *err);
TR_PUBLIC int tq_tx_nack(tq *q, struct tq_tx tx, struct tq_ref ref, int64_t delay_us,
                         const void *error, size_t len, struct tr_err *err);
TR_PUBLIC int tq_tx_bury(tq *q, struct tq_tx tx, struct tq_ref ref, const void *error, size_t len,
                         struct tr_err *err);
TR_PUBLIC int tq_tx_discard(tq *q, struct tq_tx tx, struct tq_ref ref, const void *why, size_t len,
                            struct tr_err *err);
TR_PUBLIC int tq_tx_snooze(tq *q, struct tq_tx tx, struct tq_ref ref, int64_t delay_us,
                           struct tr_err *err);

/* Store a checkpoint with the running job; the next run finds it in tq_job.progress. LOST when the
 * job is not ours. */
TR_PUBLIC int tq_progress(tq *q, struct tq_ref ref, const void *data, size_t len,
                          struct tr_err *err);
TR_PUBLIC int tq_tx_progress(tq *q, struct tq_tx tx, struct tq_ref ref, const void *data,
                             size_t len, struct tr_err *err);

/* The same for n jobs at once, each named once. Returns how many were ours; each item's `result`
 * tells: a stale one stops nothing. */
struct tq_note {
    size_t size;
    struct tq_ref ref;
    int result;       /* out: 0, or TR_E_LOST: not ours, nothing changed */
    const void *data; /* the checkpoint; NULL: an empty one */
    size_t data_len;
};
#define TQ_NOTE_INIT                                                                               \
    {                                                                                              \
        sizeof(struct tq_note), {0, 0}, 0, NULL, 0                                                 \
    }
TR_PUBLIC int tq_progress_many(tq *q, struct tq_note *items, size_t n, struct tr_err *err);
TR_PUBLIC int tq_tx_progress_many(tq *q, struct tq_tx tx, struct tq_note *items, size_t n,
                                  struct tr_err *err);

/* ---------------------------------------------------------------- leases */

enum tq_beat {
    TQ_BEAT_RENEWED = 0,
    TQ_BEAT_CANCEL = 1, /* renewed, and somebody asked the job to stop */
    TQ_BEAT_SETTLING =
        2,               /* somebody's open transaction is settling it; cannot be taken meanwhile */
    TQ_BEAT_SETTLED = 3, /* this run has ended: acked, nacked, snoozed … by whoever held it */
    TQ_BEAT_LOST = 4     /* reclaimed, cancelled or taken over: stop working */
};

/* Renew n leases to now + lease_us; beats[i] tells what became of each. Never waits for an open ack
 * (SQLite: for at most the timeout; there a live process keeps its leases by an OFD lock anyway).
 * Returns how many were renewed. */
TR_PUBLIC int tq_heartbeat(tq *q, const struct tq_ref *refs, size_t n, int64_t lease_us,
                           unsigned char *beats, struct tr_err *err);

/* Take over a running job that another process leased and whose owner has come to us: its run_lease
 * grows by one, and what the other still tries with the old one is LOST. 0 and *ref as it is now,
 * or TR_E_LOST: it is not running under that lease any more. */
TR_PUBLIC int tq_adopt(tq *q, struct tq_ref *ref, int64_t lease_us, struct tr_err *err);

enum tq_truth {
    TQ_STILL_MINE = 1,   /* the run goes on: a settlement of it did not commit */
    TQ_WAS_SETTLED = 2,  /* it is in history under this run_lease */
    TQ_WAS_RELEASED = 3, /* this run was nacked, snoozed or given back */
    TQ_WAS_LOST = 4,     /* this run was reclaimed or cancelled */
    TQ_UNKNOWN = 5       /* no trace (history pruned, or never existed) */
};
/* What became of a run: for commits whose answer was lost. Reads without locking: an open
 * transaction does not delay it and does not count. */
TR_PUBLIC int tq_verify(tq *q, struct tq_ref ref, struct tr_err *err);

/* Take back up to `max` expired leases (SQLite: those of dead processes at once). Jobs that have
 * tries left become ready after the queue's backoff, the others are buried. Returns how many. Any
 * number of programs may do this at the same time. */
TR_PUBLIC int tq_reclaim(tq *q, int max, struct tr_err *err);

/* Reclaim, promote what is due, prune history and spent keys, in small steps: call it now and then
 * (every second, say). Returns 1 when there is more to do at once. */
TR_PUBLIC int tq_maintain(tq *q, struct tr_err *err);
/* Delete up to `max` history rows older than older_us (dead letters: only with `dead`); queues
 * with a retention of their own use that. Returns how many. */
TR_PUBLIC int tq_prune(tq *q, int64_t older_us, int dead, int max, struct tr_err *err);

/* ---------------------------------------------------------------- hooks */

enum tq_event {
    TQ_EV_RECLAIMED = 1, /* lease expired, will run again */
    TQ_EV_BURIED = 2,    /* by tq_settle() or reclaim */
    TQ_EV_CANCELLED = 3  /* by tq_cancel() */
};
/* Called inside the transaction that does it, on the handle's connection, so that the caller's own
 * row moves along. `tx` runs SQL (tq_sql()); do not call the queue through it. A negative return
 * rolls everything back and is returned by the call. May be called again when a transaction has to
 * be retried. Settlements in a caller's transaction call no hook: the caller is already there. */
struct tq_hooks {
    size_t size;
    int (*event)(void *user, struct tq_tx tx, int event, const struct tq_job *job,
                 struct tr_err *err);
    void *user;
    /* For tracing: a job was enqueued by this handle (in a transaction: when that commits). */
    void (*inserted)(void *user, const struct tq_item *item, const struct tq_enqueued *out);
};
#define TQ_HOOKS_INIT                                                                              \
    {                                                                                              \
        sizeof(struct tq_hooks), NULL, NULL, NULL                                                  \
    }

/* Run one statement on a transaction: parameters are ?1, ?2 … on every engine. Returns the rows
 * affected. */
TR_PUBLIC int64_t tq_sql(struct tq_tx tx, const char *sql, const struct tq_val *params, int nparams,
                         tq_row_fn row, void *row_arg, struct tr_err *err);
/* The same for a text that lives as long as the handle: on the handle's own connection it stays
 * prepared. It is spelt as its engine wants it: $1, $2 … on PostgreSQL. */
TR_PUBLIC int64_t tq_sql_kept(tq *q, struct tq_tx tx, const char *sql, const struct tq_val *params,
                              int nparams, tq_row_fn row, void *row_arg, struct tr_err *err);

/* The handle's own connection as it is now, for tq_sql() of single statements outside a
 * transaction. No connection: .conn is NULL, and tq_begin() makes one. Valid until the next call on
 * the handle. */
TR_PUBLIC struct tq_tx tq_connection(const tq *q);

/* Rows for one statement. */
struct tq_set {
    const char *types; /* a letter for each column: i, t or b (TQ_INT, TQ_TEXT, TQ_BYTES) */
    const struct tq_val *cells; /* nrows times as many as there are columns; any may be TQ_NULL */
    size_t nrows;
    const struct tq_val *extra; /* parameters after the columns */
    int nextra;
};
/* tq_sql_kept() over all rows of a set, in one round trip. PostgreSQL gets each column as an array
 * ($1::bigint[], text[] or bytea[]); MySQL has what stands between the
 * comments "each SEPARATOR" and "end" once for each row; SQLite runs the statement for each row. */
TR_PUBLIC int64_t tq_sql_set(tq *q, struct tq_tx tx, const char *sql, const struct tq_set *set,
                             tq_row_fn row, void *row_arg, struct tr_err *err);

/* ---------------------------------------------------------------- administration */

/* A queued or waiting job goes to history as "cancelled" (returns TQ_CANCELLED); a running one is
 * asked to stop at its next heartbeat (returns TQ_RUNNING), or with `force` is taken from its owner
 * at once (TQ_CANCELLED). TR_E_NOTFOUND: no live job of that id. */
TR_PUBLIC int tq_cancel(tq *q, int64_t id, int force, struct tr_err *err);
/* A dead, discarded or cancelled job lives again: same id, attempts 0, run_lease going on. A
 * scheduled job becomes ready at once. TR_E_EXISTS: it is alive already, or its unique key is
 * taken. */
TR_PUBLIC int tq_retry(tq *q, int64_t id, struct tr_err *err);
/* Remove a queued job (to history as "discarded") or forget a dead one. */
TR_PUBLIC int tq_drop(tq *q, int64_t id, struct tr_err *err);

struct tq_config {
    size_t size;
    int paused;
    int concurrency_limit;   /* running jobs over all processes; 0: none */
    double rate_per_sec;     /* starts per second over all processes; 0: none */
    int rate_burst;          /* 0: max(1, rate) */
    int64_t max_lease_us;    /* longer leases are cut to this; 0: none */
    int64_t base_backoff_us; /* 0: 2 s */
    int64_t max_backoff_us;  /* 0: 1 h */
    int jitter_percent;      /* -1: 20 */
    int64_t retention_us;    /* history; 0: what tq_prune() is told */
};
#define TQ_CONFIG_INIT                                                                             \
    {                                                                                              \
        sizeof(struct tq_config), 0, 0, 0.0, 0, 0, 0, 0, -1, 0                                     \
    }
TR_PUBLIC int tq_config_get(tq *q, const char *queue, struct tq_config *ret, struct tr_err *err);
TR_PUBLIC int tq_config_set(tq *q, const char *queue, const struct tq_config *c,
                            struct tr_err *err);
TR_PUBLIC int tq_pause(tq *q, const char *queue, int paused, struct tr_err *err);

struct tq_stat {
    size_t size;
    const char *queue;
    int64_t ready, scheduled, running, waiting, dead, completed;
    int64_t oldest_ready_us; /* age of the oldest ready job; 0: none */
    int paused;
};
/* Calls fn once for each queue that has jobs, history or configuration. */
typedef int (*tq_stat_fn)(void *arg, const struct tq_stat *s);
TR_PUBLIC int tq_stats(tq *q, tq_stat_fn fn, void *arg, struct tr_err *err);

struct tq_filter {
    size_t size;
    const char *queue; /* NULL: all */
    int state;         /* enum tq_state; -1: all live ones */
    int64_t after_id;  /* page on from here */
    int limit;         /* 0: 100 */
};
#define TQ_FILTER_INIT                                                                             \
    {                                                                                              \
        sizeof(struct tq_filter), NULL, -1, 0, 0                                                   \
    }
/* Jobs in order of id; free the batch. Returns how many. */
TR_PUBLIC int tq_list(tq *q, const struct tq_filter *f, tq_batch **ret_batch, struct tr_err *err);
/* The live job, else its newest history. TR_E_NOTFOUND. */
TR_PUBLIC int tq_show(tq *q, int64_t id, tq_batch **ret_batch, struct tr_err *err);

/* ---------------------------------------------------------------- wake-ups */

/* Wait until something may have become ready in `queue` (NULL: any), at most timeout_us. Returns 1
 * or 0 (time out): both mean "go and claim". Polls with jitter where the engine cannot push, and
 * beside the push always. */
TR_PUBLIC int tq_wait(tq *q, const char *queue, int64_t timeout_us, struct tr_err *err);
/* For an event loop: a descriptor that becomes readable on a push, or TR_E_UNSUPPORTED (then
 * poll). Call tq_woken() when it is readable. */
TR_PUBLIC int tq_fd(tq *q, struct tr_err *err);
TR_PUBLIC int tq_woken(tq *q, struct tr_err *err);

/* ---------------------------------------------------------------- idempotency */

/* 1 the first time `key` is seen, 0 every other time; rolled back with tx. For effects that must
 * happen once however often the job runs: charge, mail outbox. Forgotten after keep_us (0: never).
 */
TR_PUBLIC int tq_tx_once(tq *q, struct tq_tx tx, const void *key, size_t len, int64_t keep_us,
                         struct tr_err *err);

/* ---------------------------------------------------------------- large payloads */

enum {
    TQ_BLOB_NAME = 33 /* bytes of a name with its closing 0: 32 hex digits */
};
/* Where payloads over inline_max live. All calls may come from any handle that has them. */
struct tq_blobs {
    size_t size;
    int (*put)(void *user, const char *name, const void *data, size_t len, struct tr_err *err);
    /* The library frees *ret with free(). */
    int (*get)(void *user, const char *name, size_t max, void **ret, size_t *ret_len,
               struct tr_err *err);
    int (*del)(void *user, const char *name, struct tr_err *err);
    /* Call fn for every blob older than older_us. */
    int (*list)(void *user, int64_t older_us, int (*fn)(void *arg, const char *name), void *arg,
                struct tr_err *err);
    void *user;
};
/* A folder as blob store (made if missing); tq_blobs_folder_free() at the end. */
TR_PUBLIC int tq_blobs_folder(const char *path, struct tq_blobs **ret, struct tr_err *err);
TR_PUBLIC void tq_blobs_folder_free(struct tq_blobs *b);
/* Delete blobs older than older_us that no row refers to (left by rollbacks, crashes, pruning).
 * older_us must be longer than any enqueueing transaction. Returns how many. */
TR_PUBLIC int tq_blobs_collect(tq *q, int64_t older_us, struct tr_err *err);

#ifdef __cplusplus
}
#endif

#endif
