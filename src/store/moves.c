/* SPDX-License-Identifier: MIT
 *
 * moves.c - everything that happens to a submission after its start, each one conditional update.
 *
 * An update that matches no row is looked into: a move that has happened already by the very same
 * run (its commit's answer was lost) is TR_MOVED_BEFORE, everything else is TR_E_LOST.
 */
#include <string.h>

#include "store/private.h"

enum {
    ARENA_MAX = 1 << 20
};

/* One update and how to know that it has happened before. */
struct moving {
    enum ts_stmt stmt;
    enum tr_move move;
    const char *submit_id;
    int64_t run_lease; /* -1: the move has no run */
    const struct tq_val *params;
    int nparams;
};

static int lost(const struct moving *m, const struct tr_submission *s, struct tr_err *err)
{
    if (m->run_lease >= 0)
        return tr_fail(err, TR_E_LOST, 0,
                       "run %lld of submission '%.128s' is over: the row is %s at run %lld",
                       (long long)m->run_lease, m->submit_id, tr_state_name(s->status),
                       (long long)s->run_lease);
    return tr_fail(err, TR_E_LOST, 0, "submission '%.128s' is %s: this cannot happen to it now",
                   m->submit_id, tr_state_name(s->status));
}

static int no_row(struct tr_store *st, const struct moving *m, struct tr_err *err)
{
    struct tr_submission s = {0};
    struct tr_arena arena;

    tr_arena_init(&arena, ARENA_MAX);
    int r = ts_get(st, m->submit_id, &arena, &s, err);
    if (r >= 0) {
        bool done = m->run_lease >= 0 && s.run_lease == m->run_lease && m->move != TR_MOVE_RENEW &&
                    s.status == tr_move_to(m->move);
        r = done ? TR_MOVED_BEFORE : lost(m, &s, err);
    }
    tr_arena_done(&arena);
    return r;
}

static int move_op(struct tr_store *st, void *arg, struct tr_err *err)
{
    struct moving *m = arg;
    int64_t r = ts_exec(st, m->stmt, (int)m->move, m->params, m->nparams, NULL, NULL, err);

    if (r < 0)
        return (int)r;
    return r > 0 ? TR_MOVED : no_row(st, m, err);
}

int tr_store_renew(struct tr_store *st, const char *submit_id, int64_t run_lease, int64_t lease_us,
                   struct tr_err *err)
{
    struct tq_val p[] = {ts_text(submit_id), ts_int(run_lease), ts_int(lease_us)};
    struct moving m = {TS_RENEW, TR_MOVE_RENEW, submit_id, run_lease, p, TR_ARRAY_LEN(p)};

    return ts_run(st, move_op, &m, err);
}

int tr_store_adopt(struct tr_store *st, const char *submit_id, int64_t run_lease, int64_t lease_us,
                   int64_t *ret, struct tr_err *err)
{
    struct tq_val p[] = {ts_text(submit_id), ts_int(run_lease), ts_int(lease_us),
                         ts_text(st->owner)};
    struct moving m = {TS_ADOPT, TR_MOVE_RENEW, submit_id, run_lease, p, TR_ARRAY_LEN(p)};
    int r = ts_run(st, move_op, &m, err);

    if (r >= 0)
        *ret = run_lease + 1;
    return r;
}

/* ---------------------------------------------------------------- the verdict */

static int key_row(void *arg, const struct tq_val *c, int ncols)
{
    *(bool *)arg = ts_val_int(&c[0]) != 0;
    return 0;
}

int ts_copy(struct tr_store *st, const struct tq_val p[static TS_FINISH_COLS], struct tr_err *err)
{
    /* In a statement of its own: it has to see what was inserted while the verdict's update waited
     * for the row. */
    int64_t n = ts_exec(st, TS_COPY, TR_MOVE_COPY, p, TS_FINISH_COLS, NULL, NULL, err);

    return n < 0 ? (int)n : n > 0 ? TR_MOVED_COPIED : TR_MOVED;
}

static int finish_op(struct tr_store *st, void *arg, struct tr_err *err)
{
    struct moving *m = arg;
    bool has_key = true; /* unless the row says that it has none */
    int64_t n = ts_exec(st, m->stmt, (int)m->move, m->params, m->nparams, key_row, &has_key, err);

    if (n <= 0)
        return n < 0 ? (int)n : no_row(st, m, err); /* the copies were committed with it */
    /* A duplicate is a second one with the same key. */
    return has_key ? ts_copy(st, m->params, err) : TR_MOVED;
}

void ts_finish_cells(const char *submit_id, int64_t run_lease, const struct tr_verdict_row *v,
                     struct tq_val p[static TS_FINISH_COLS])
{
    const struct tq_val cells[] = {
        ts_text(submit_id),
        ts_int(run_lease),
        ts_text(v->verdict),
        ts_int(v->score),
        ts_int(v->time_ms),
        ts_int(v->memory_kb),
        ts_bytes(v->result ? v->result : "", v->result ? v->result_len : 0),
        ts_text(v->brief),
    };

    _Static_assert(TR_ARRAY_LEN(cells) == TS_FINISH_COLS, "as many as there are ?n");
    memcpy(p, cells, sizeof(cells));
}

int tr_store_finish(struct tr_store *st, const char *submit_id, int64_t run_lease,
                    const struct tr_verdict_row *v, struct tr_err *err)
{
    struct tq_val p[TS_FINISH_COLS];
    struct moving m = {TS_FINISH, TR_MOVE_FINISH, submit_id, run_lease, p, TS_FINISH_COLS};

    ts_finish_cells(submit_id, run_lease, v, p);
    return ts_run(st, finish_op, &m, err);
}

/* ---------------------------------------------------------------- faults */

struct faulting {
    struct moving again, dead;
};

static int fault_op(struct tr_store *st, void *arg, struct tr_err *err)
{
    struct faulting *f = arg;
    struct tr_submission s = {0};
    struct tr_arena arena;
    int64_t r =
        ts_exec(st, TS_FAULT, TR_MOVE_FAULT, f->again.params, f->again.nparams, NULL, NULL, err);

    if (r != 0)
        return r < 0 ? (int)r : TR_FAULT_AGAIN;
    r = ts_exec(st, TS_BURY_RUN, TS_NO_MOVE, f->dead.params, f->dead.nparams, NULL, NULL, err);
    if (r != 0)
        return r < 0 ? (int)r : TR_FAULT_DEAD;
    tr_arena_init(&arena, ARENA_MAX);
    r = ts_get(st, f->again.submit_id, &arena, &s, err);
    if (r >= 0 && s.run_lease == f->again.run_lease &&
        (s.status == TR_SYSTEM_ERROR || s.status == TR_DLQ))
        r = s.status == TR_DLQ ? TR_FAULT_DEAD : TR_FAULT_AGAIN;
    else if (r >= 0)
        r = lost(&f->again, &s, err);
    tr_arena_done(&arena);
    return (int)r;
}

int tr_store_fault(struct tr_store *st, const char *submit_id, int64_t run_lease, const char *why,
                   int64_t delay_us, int max_retries, struct tr_err *err)
{
    struct tq_val p[] = {ts_text(submit_id), ts_int(run_lease), ts_name(why), ts_int(delay_us),
                         ts_int(max_retries)};
    struct faulting f = {
        .again = {TS_FAULT, TR_MOVE_FAULT, submit_id, run_lease, p, 5},
        .dead = {TS_BURY_RUN, TR_MOVE_BURY, submit_id, run_lease, p, 3},
    };

    return ts_run(st, fault_op, &f, err);
}

/* ---------------------------------------------------------------- the rest */

int tr_store_release(struct tr_store *st, const char *submit_id, int64_t run_lease, bool crash,
                     struct tr_err *err)
{
    struct tq_val p[] = {ts_text(submit_id), ts_int(run_lease), ts_int(crash ? 1 : 0)};
    struct moving m = {TS_RELEASE, TR_MOVE_RELEASE, submit_id, run_lease, p, TR_ARRAY_LEN(p)};

    return ts_run(st, move_op, &m, err);
}

int tr_store_expire(struct tr_store *st, const char *submit_id, int64_t run_lease, int64_t grace_us,
                    struct tr_err *err)
{
    struct tq_val p[] = {ts_text(submit_id), ts_int(run_lease), ts_int(grace_us)};
    struct moving m = {TS_EXPIRE, TR_MOVE_RELEASE, submit_id, run_lease, p, TR_ARRAY_LEN(p)};

    return ts_run(st, move_op, &m, err);
}

int tr_store_bury(struct tr_store *st, const char *submit_id, const char *why, struct tr_err *err)
{
    struct tq_val p[] = {ts_text(submit_id), ts_name(why)};
    struct moving m = {TS_BURY, TR_MOVE_BURY, submit_id, -1, p, TR_ARRAY_LEN(p)};

    return ts_run(st, move_op, &m, err);
}

int tr_store_cancel(struct tr_store *st, const char *submit_id, const char *why, struct tr_err *err)
{
    struct tq_val p[] = {ts_text(submit_id), ts_text(why)};
    struct moving m = {TS_CANCEL, TR_MOVE_CANCEL, submit_id, -1, p, TR_ARRAY_LEN(p)};

    return ts_run(st, move_op, &m, err);
}

int tr_store_retry(struct tr_store *st, const char *submit_id, int64_t revivals, struct tr_err *err)
{
    struct tq_val p[] = {ts_text(submit_id), ts_int(revivals)};
    struct moving m = {TS_RETRY, TR_MOVE_RETRY, submit_id, -1, p, TR_ARRAY_LEN(p)};

    return ts_run(st, move_op, &m, err);
}

/* These two change no state: a row that is gone or has moved on is no failure. */
static int note_op(struct tr_store *st, void *arg, struct tr_err *err)
{
    struct moving *m = arg;
    int64_t r = ts_exec(st, m->stmt, TS_NO_MOVE, m->params, m->nparams, NULL, NULL, err);

    return r < 0 ? (int)r : 0;
}

int tr_store_carried(struct tr_store *st, const char *submit_id, const char *subject,
                     int64_t msg_seq, struct tr_err *err)
{
    struct tq_val p[] = {ts_text(submit_id), ts_name(subject), ts_int_or_null(msg_seq)};
    struct moving m = {.stmt = TS_CARRIED, .params = p, .nparams = TR_ARRAY_LEN(p)};

    return ts_run(st, note_op, &m, err);
}

int tr_store_set_job(struct tr_store *st, const char *submit_id, int64_t job_id, struct tr_err *err)
{
    struct tq_val p[] = {ts_text(submit_id), ts_int_or_null(job_id)};
    struct moving m = {.stmt = TS_SET_JOB, .params = p, .nparams = TR_ARRAY_LEN(p)};

    return ts_run(st, note_op, &m, err);
}

/* ---------------------------------------------------------------- rejudge */

struct rejudging {
    const char *submit_id;
    const void *task;
    size_t task_len;
    int64_t generation;
};

static int lock_row(void *arg, const struct tq_val *c, int ncols)
{
    *(int64_t *)arg = ts_val_int(&c[0]);
    return 0;
}

static int rejudge_op(struct tr_store *st, void *arg, struct tr_err *err)
{
    struct rejudging *j = arg;
    struct tq_val p[] = {ts_text(j->submit_id), ts_bytes(j->task, j->task_len)};
    struct moving m = {TS_REJUDGE, TR_MOVE_REJUDGE, j->submit_id, -1, p, TR_ARRAY_LEN(p)};
    int64_t generation = -1;
    int64_t r = ts_exec(st, TS_LOCK, TS_NO_MOVE, p, 1, lock_row, &generation, err);

    if (r >= 0)
        r = ts_exec(st, TS_KEEP, TR_MOVE_REJUDGE, p, 1, NULL, NULL, err);
    if (r >= 0)
        r = move_op(st, &m, err);
    if (r < 0)
        return (int)r;
    j->generation = generation + 1;
    return 0;
}

int64_t tr_store_rejudge(struct tr_store *st, const char *submit_id, const void *task,
                         size_t task_len, struct tr_err *err)
{
    struct rejudging j = {.submit_id = submit_id, .task = task, .task_len = task_len};
    int r = ts_run(st, rejudge_op, &j, err);

    return r < 0 ? r : j.generation;
}

/* ---------------------------------------------------------------- the queue's hook */

/* When the queue takes a job back, buries or cancels it, its submission goes along, in the same
 * transaction. A job that no submission carries is somebody else's. */
int ts_event(void *user, struct tq_tx tx, int event, const struct tq_job *job, struct tr_err *err)
{
    struct tr_store *st = user;
    static const struct {
        enum ts_stmt stmt;
        enum tr_move move;
    } by_event[] = {
        [TQ_EV_RECLAIMED] = {TS_JOB_RELEASE, TR_MOVE_RELEASE},
        [TQ_EV_BURIED] = {TS_JOB_BURY, TR_MOVE_BURY},
        [TQ_EV_CANCELLED] = {TS_JOB_CANCEL, TR_MOVE_CANCEL},
    };
    char why[512] = "the queue gave it up";
    struct tq_val p[] = {ts_int(job->ref.id), ts_text(why)};

    if (event < TQ_EV_RECLAIMED || event > TQ_EV_CANCELLED)
        return 0;
    if (job->result && job->result_len > 0) {
        (void)snprintf(why, sizeof(why), "%.*s", (int)job->result_len, (const char *)job->result);
        p[1] = ts_text(why);
    }
    struct tq_tx mine = st->tx;
    st->tx = tx;
    int64_t r = ts_exec(st, by_event[event].stmt, (int)by_event[event].move, p,
                        event == TQ_EV_BURIED ? 2 : 1, NULL, NULL, err);
    st->tx = mine;
    /* A database where only the queue was migrated has no submissions. */
    return r < 0 && r != TR_E_NOTFOUND ? (int)r : 0;
}
