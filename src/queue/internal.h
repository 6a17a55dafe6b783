/* SPDX-License-Identifier: MIT
 *
 * queue/internal.h - what the files of the queue library share.
 *
 * All policy is here in C and knows no engine. What an engine does differently stands in
 * sql/<backend>/: the same statement names, the same parameter numbers, the same columns back. A
 * name that a backend lacks is a step it does not need (MySQL has no RETURNING, so it locks first).
 */
#ifndef QUEUE_INTERNAL_H
#define QUEUE_INTERNAL_H

#include <stdbool.h>
#include <sys/types.h>

#include <tribunal/queue.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "queue/queue_sql.h"

enum tqi_backend {
    BE_POSTGRES,
    BE_MYSQL,
    BE_SQLITE
};

enum {
    TQI_COLS_JOB = 24,           /* columns of {job} and {old} */
    TQI_LANES_MAX = 16,          /* priorities of one queue whose watermark is kept */
    TQI_QUEUES_MAX = 64,         /* queues whose claim state one handle remembers */
    TQI_SET_BYTES_MAX = 8 << 20, /* SQL text or arrays of one statement: under every server's
                                    packet limit (MariaDB's default is 16 MiB) */
    TQI_PROMOTE_MAX = 500
};

/* Where the ready index of one priority starts to hold live rows (mark.c). */
struct tqi_lane {
    int64_t prio, rank, id; /* in use */
    int64_t next_rank, next_id;
    int64_t next_at_us; /* monotonic: when next_* was taken */
};

/* What a handle remembers of one queue. */
struct tqi_queue {
    char name[TQ_NAME_MAX + 1];
    struct tqi_lane lanes[TQI_LANES_MAX];
    int nlanes;
    int64_t floor;                    /* lanes of this priority and above are all known */
    int64_t scan_at_us, scan_cost_us; /* last claim without marks */
    int64_t promoted_at_us;
    int64_t notified_at_us;
    bool special; /* configuration that the fast claim must not pass by */
};

struct tq {
    const struct tq_driver *drv;
    enum tqi_backend be;
    const struct tq_text *sql;
    struct tq_conninfo info;
    char *url_copy; /* info's strings live here */
    void *conn, *cache;
    void *listen_conn, *listen_cache;
    bool listening;
    bool in_tx;      /* tq_begin() */
    bool foreign_tx; /* something was settled on a connection that is not ours (the worker asks) */
    int tries;       /* of a failed statement on our connection; 0: the default */
    bool schema_ok;
    bool mariadb;
    pid_t pid;
    unsigned flags;
    char worker[TQ_NAME_MAX + 1];
    size_t max_payload, inline_max;
    const struct tq_blobs *blobs;
    const struct tq_hooks *hooks;
    int live_fd, probe_fd; /* SQLite: the lock file (live.c) */
    int64_t executor;      /* 0: none */
    int64_t pruned_at_us;
    int64_t expired_from_us; /* the database's clock: leases before were looked at; 0: none */
    int64_t expired_at_us, expired_cost_us; /* of the last look at all of them */
    uint64_t leader_token;                  /* 0: not drawn yet */
    struct tqi_queue queues[TQI_QUEUES_MAX];
    int nqueues;
};

/* A connection during one call: the handle's own, or the caller's with its transaction open. */
struct tqi_link {
    tq *q;
    const struct tq_driver *drv;
    void *conn, *cache;
    bool own;   /* the handle's connection */
    bool in_tx; /* several statements are one unit */
};

/* ---- link.c: connection, transactions, retries ---- */
enum tqi_mode {
    OP_READ, /* may simply be done again */
    OP_ONE,  /* one statement, committed by itself */
    OP_TX    /* several statements in one transaction */
};
typedef int (*tqi_op)(struct tqi_link *l, void *arg, struct tr_err *err);

int tqi_connect(tq *q, struct tr_err *err);
void tqi_disconnect(tq *q);
int tqi_run(tq *q, enum tqi_mode mode, tqi_op op, void *arg, struct tr_err *err);
int tqi_run_tx(tq *q, struct tq_tx tx, tqi_op op, void *arg, struct tr_err *err);

/* ---- exec.c: statements ---- */
int tqi_exec(struct tqi_link *l, enum tq_stmt s, const struct tq_val *params, int nparams,
             tq_row_fn row, void *row_arg, int64_t *ret_affected, struct tr_err *err);
int tqi_exec_text(struct tqi_link *l, const char *sql, struct tr_err *err);

int tqi_exec_set(struct tqi_link *l, enum tq_stmt s, const struct tq_set *set, tq_row_fn row,
                 void *row_arg, int64_t *ret_affected, struct tr_err *err);
bool tqi_has(const struct tqi_link *l, enum tq_stmt s);
/* First column of the first row; -1 and 0 rows: *ret untouched, returns 0; 1 when there was one. */
int tqi_scalar(struct tqi_link *l, enum tq_stmt s, const struct tq_val *params, int nparams,
               int64_t *ret, struct tr_err *err);

/* ---- val.c ---- */
struct tq_val tqi_int(int64_t i);
struct tq_val tqi_text(const char *s);            /* NULL: SQL NULL */
struct tq_val tqi_bytes(const void *p, size_t n); /* NULL: SQL NULL */
int64_t tqi_val_int(const struct tq_val *v);      /* 0 for NULL */

/* ---- sqltext.c ---- */
void tqi_expand(struct tr_buf *out, const char *sql, const struct tq_set *set);
void tqi_pg_array(struct tr_buf *out, const struct tq_set *set, size_t col, unsigned *ret_oid);
/* ?n → $n for PostgreSQL. */
void tqi_renumber(struct tr_buf *out, const char *sql);

/* ---- batch.c ---- */
struct tq_batch {
    struct tr_arena arena;
    struct tq_job *jobs;
    struct tqi_extra {
        int64_t slot; /* -1: none */
        int has_next;
        int payload_kind;
        int64_t now_us; /* MySQL claim */
    } * extra;
    int n, cap;
    int failed;
};
tq_batch *tqi_batch_new(void);
int tqi_batch_row(void *arg, const struct tq_val *c, int ncols); /* a tq_row_fn for a batch */
void tqi_batch_sort(tq_batch *b);
void tqi_batch_drop(tq_batch *b, int i);
static inline void tqi_batch_freep(tq_batch **b)
{
    tq_batch_free(*b);
}

/* ---- the rest ---- */
struct tqi_queue *tqi_queue(tq *q, const char *name);
int tqi_check_name(const char *what, const char *s, bool may_be_empty, struct tr_err *err);

int tqi_promote(struct tqi_link *l, const char *queue, struct tr_err *err);

/* One queue's part of a claim. */
struct tqi_claim {
    const char *queue;
    int max; /* of the whole batch */
    int64_t lease_us;
    tq_batch *batch;
    int from; /* what other queues gave is before this */
};
/* Up to `max` more jobs into the batch; how many came. */
int tqi_take(struct tqi_link *l, const struct tqi_claim *c, int max, bool limits_done,
             struct tr_err *err);
int tqi_group_rank(struct tqi_link *l, const char *queue, int prio, const char *group, int64_t *ret,
                   struct tr_err *err);

int tqi_mark_claim(struct tqi_link *l, struct tqi_queue *m, const struct tq_val p[6], tq_batch *b,
                   struct tr_err *err);
/* Lock up to `max` running jobs whose lease ran out. */
int tqi_mark_expired(struct tqi_link *l, int max, tq_batch *b, struct tr_err *err);
void tqi_mark_reset(tq *q, const char *queue); /* NULL: all queues */
void tqi_mark_lower(tq *q, const char *queue, int64_t prio, int64_t rank, int64_t id);

struct tqi_config {
    struct tq_config c;
    int64_t rate_milli, rate_next_us, now_us;
    bool found;
};
int tqi_config(struct tqi_link *l, enum tq_stmt s, const char *queue, struct tqi_config *ret,
               struct tr_err *err);
int tqi_take_limited(struct tqi_link *l, struct tqi_claim *c, struct tqi_config *g,
                     struct tr_err *err);
int64_t tqi_backoff_us(const struct tq_config *c, int attempts, int64_t base_us, int jitter);

/* Settle on the handle's connection, and `then` in the same transaction. Returns what `then` does.
 */
int tqi_settle_then(tq *q, struct tq_settlement *items, size_t n, tqi_op then, void *arg,
                    struct tr_err *err);

/* What to do with one locked row; settle.c and reclaim.c fill these. */
struct tqi_finish {
    struct tq_ref ref;
    int status; /* TQ_COMPLETED … TQ_CANCELLED */
    const void *data;
    size_t len;
    bool done;
};
struct tqi_requeue {
    struct tq_ref ref;
    int64_t delay_us;
    int attempts_by, crashes_by, ended;
    const void *data;
    size_t len;
    bool done;
};
enum {
    TQI_ENDED_LOST = 9
};
/* `fast`: skip rows that need a second statement. `any_state`: also jobs that are not running. */
int tqi_finish(struct tqi_link *l, struct tqi_finish *items, size_t n, bool fast, bool any_state,
               struct tr_err *err);
int tqi_requeue(struct tqi_link *l, struct tqi_requeue *items, size_t n, struct tr_err *err);
int tqi_lock(struct tqi_link *l, const int64_t *ids, size_t n, tq_batch *ret, struct tr_err *err);
int tqi_slot_free(struct tqi_link *l, int64_t id, struct tr_err *err);
int tqi_event(struct tqi_link *l, int event, const struct tq_job *job, struct tr_err *err);

int tqi_live_begin(tq *q, struct tr_err *err); /* SQLite: have an executor */
int tqi_live_dead(tq *q, int64_t executor);    /* 1 dead, 0 alive */
void tqi_live_end(tq *q);
int tqi_live_any_dead(struct tqi_link *l, int64_t *ret_executor, struct tr_err *err);

int tqi_blob_store(tq *q, const void *data, size_t len, char name[TQ_BLOB_NAME],
                   struct tr_err *err);
int tqi_blob_load(tq *q, tq_batch *b, int i, struct tr_err *err);

/* ---- stats.c: rows of one kind, each with the name of its queue ---- */
struct tqi_rows {
    void *list; /* of what the caller keeps */
    char (*names)[TQ_NAME_MAX + 1];
    size_t n, cap;
};
/* Room for one more row of `size` bytes, which the caller then fills, and its name. */
int tqi_rows_add(struct tqi_rows *s, const struct tq_val *name, size_t size);
bool tqi_rows_named(const struct tqi_rows *s, size_t i, const struct tq_val *name);
void tqi_rows_done(struct tqi_rows *s);

#endif
