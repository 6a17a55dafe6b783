/* SPDX-License-Identifier: MIT
 *
 * rows.c - submissions read: one, many by filter, earlier generations, counts.
 */
#include <string.h>

#include "base/buf.h"
#include "store/private.h"

/* The order of {row} in sql/statements.sql. */
enum {
    C_ID,
    C_SUBMIT_ID,
    C_USER_ID,
    C_USER_NAME,
    C_KEY,
    C_DUPLICATE_OF,
    C_STATUS,
    C_SOURCE,
    C_SUBJECT,
    C_PROBLEM,
    C_CONTEST,
    C_LANG,
    C_PRIORITY,
    C_GENERATION,
    C_RUN_LEASE,
    C_LEASE_UNTIL,
    C_AVAILABLE,
    C_RETRY_COUNT,
    C_CRASHES,
    C_REVIVALS,
    C_WORKER,
    C_JOB,
    C_MSG_SEQ,
    C_CREATED,
    C_UPDATED,
    C_START,
    C_FINISH,
    C_VERDICT,
    C_SCORE,
    C_TIME,
    C_MEMORY,
    C_ERROR,
    C_BRIEF,
    C_COUNT
};

static const char *name_of(struct tr_arena *a, const struct tq_val *v)
{
    const char *s = ts_val_text(a, v);

    return s ? s : "";
}

static void fill(struct tr_submission *s, const struct tq_val *c, struct tr_arena *a)
{
    *s = (struct tr_submission){
        .id = ts_val_int(&c[C_ID]),
        .submit_id = name_of(a, &c[C_SUBMIT_ID]),
        .user_id = name_of(a, &c[C_USER_ID]),
        .user_name = name_of(a, &c[C_USER_NAME]),
        .idempotency_key = ts_val_text(a, &c[C_KEY]),
        .duplicate_of = ts_val_text(a, &c[C_DUPLICATE_OF]),
        .status = tr_state_parse(name_of(a, &c[C_STATUS])),
        .source = name_of(a, &c[C_SOURCE]),
        .subject = name_of(a, &c[C_SUBJECT]),
        .problem_id = name_of(a, &c[C_PROBLEM]),
        .contest_id = name_of(a, &c[C_CONTEST]),
        .lang = name_of(a, &c[C_LANG]),
        .priority = ts_val_int(&c[C_PRIORITY]),
        .generation = ts_val_int(&c[C_GENERATION]),
        .run_lease = ts_val_int(&c[C_RUN_LEASE]),
        .lease_until_us = ts_val_int(&c[C_LEASE_UNTIL]),
        .available_us = ts_val_int(&c[C_AVAILABLE]),
        .retry_count = ts_val_int(&c[C_RETRY_COUNT]),
        .crashes = ts_val_int(&c[C_CRASHES]),
        .revivals = ts_val_int(&c[C_REVIVALS]),
        .worker_id = ts_val_text(a, &c[C_WORKER]),
        .job_id = ts_val_int(&c[C_JOB]),
        .msg_seq = ts_val_int(&c[C_MSG_SEQ]),
        .created_us = ts_val_int(&c[C_CREATED]),
        .updated_us = ts_val_int(&c[C_UPDATED]),
        .start_us = ts_val_int(&c[C_START]),
        .finish_us = ts_val_int(&c[C_FINISH]),
        .verdict = ts_val_text(a, &c[C_VERDICT]),
        .score = ts_val_int(&c[C_SCORE]),
        .time_ms = ts_val_int(&c[C_TIME]),
        .memory_kb = ts_val_int(&c[C_MEMORY]),
        .error = ts_val_text(a, &c[C_ERROR]),
        .brief = ts_val_text(a, &c[C_BRIEF]),
    };
}

int ts_row(void *arg, const struct tq_val *cols, int ncols)
{
    struct ts_rows *r = arg;

    if (ncols < C_COUNT)
        return TR_E_FATAL;
    if (r->count == r->cap) {
        size_t cap = r->cap ? 2 * r->cap : 8;
        struct tr_submission *more = tr_arena_array(r->arena, cap, sizeof(*more));

        if (!more)
            return TR_E_NOMEM;
        if (r->count)
            memcpy(more, r->rows, r->count * sizeof(*more));
        r->rows = more;
        r->cap = cap;
    }
    fill(&r->rows[r->count++], cols, r->arena);
    return 0;
}

int ts_get(struct tr_store *st, const char *submit_id, struct tr_arena *a,
           struct tr_submission *ret, struct tr_err *err)
{
    struct ts_rows rows = {.arena = a};
    struct tq_val id = ts_text(submit_id);
    int64_t r = ts_exec(st, TS_GET, TS_NO_MOVE, &id, 1, ts_row, &rows, err);

    if (r < 0)
        return (int)r;
    if (rows.count == 0)
        return tr_fail(err, TR_E_NOTFOUND, 0, "there is no submission '%.128s'", submit_id);
    *ret = rows.rows[0];
    return 0;
}

/* A reading operation: what, and where its rows go. */
struct reading {
    const char *submit_id;
    struct tr_arena *arena;
    struct tr_submission *one;
    enum ts_stmt stmt;
    const char *sql; /* instead of stmt */
    const struct tq_val *params;
    int nparams;
    struct ts_rows rows;
};

static int get_op(struct tr_store *st, void *arg, struct tr_err *err)
{
    struct reading *g = arg;

    return ts_get(st, g->submit_id, g->arena, g->one, err);
}

int tr_store_get(struct tr_store *st, const char *submit_id, struct tr_arena *arena,
                 struct tr_submission *ret, struct tr_err *err)
{
    struct reading g = {.submit_id = submit_id, .arena = arena, .one = ret};

    return ts_run(st, get_op, &g, err);
}

static int rows_op(struct tr_store *st, void *arg, struct tr_err *err)
{
    struct reading *g = arg;

    g->rows = (struct ts_rows){.arena = g->arena};
    int64_t r =
        g->sql ? ts_exec_text(st, g->sql, g->params, g->nparams, ts_row, &g->rows, err)
               : ts_exec(st, g->stmt, TS_NO_MOVE, g->params, g->nparams, ts_row, &g->rows, err);
    return r < 0 ? (int)r : 0;
}

static int read_rows(struct tr_store *st, struct reading *g, struct tr_submission_list *ret,
                     struct tr_err *err)
{
    int r = ts_run(st, rows_op, g, err);

    if (r >= 0)
        *ret = (struct tr_submission_list){.rows = g->rows.rows, .count = g->rows.count};
    return r;
}

int tr_store_duplicates(struct tr_store *st, const char *submit_id, struct tr_arena *arena,
                        struct tr_submission_list *ret, struct tr_err *err)
{
    struct tq_val p[] = {ts_text(submit_id)};
    struct reading g = {.arena = arena, .stmt = TS_DUPLICATES, .params = p, .nparams = 1};

    return read_rows(st, &g, ret, err);
}

int tr_store_expired(struct tr_store *st, const char *source, int64_t grace_us, int limit,
                     struct tr_arena *arena, struct tr_submission_list *ret, struct tr_err *err)
{
    struct tq_val p[] = {ts_text(source), ts_int(grace_us), ts_int(limit)};
    struct reading g = {.arena = arena, .stmt = TS_EXPIRED, .params = p, .nparams = 3};

    return read_rows(st, &g, ret, err);
}

/* NOLINTNEXTLINE(readability-function-size): a page of a list needs its words */
int tr_store_waiting(struct tr_store *st, const char *source, int64_t older_us, int64_t after_id,
                     int limit, struct tr_arena *arena, struct tr_submission_list *ret,
                     struct tr_err *err)
{
    struct tq_val p[] = {ts_text(source), ts_int(older_us), ts_int(after_id), ts_int(limit)};
    struct reading g = {.arena = arena, .stmt = TS_WAITING, .params = p, .nparams = 4};

    return read_rows(st, &g, ret, err);
}

int tr_store_list(struct tr_store *st, const struct tr_store_filter *f, struct tr_arena *arena,
                  struct tr_submission_list *ret, struct tr_err *err)
{
    TR_CLEANUP(tr_buf_done) struct tr_buf sql = {0};
    const struct {
        const char *column, *value;
    } words[] = {
        {"status", f->status},         {"verdict", f->verdict},     {"user_id", f->user_id},
        {"problem_id", f->problem_id}, {"lang", f->lang},           {"contest_id", f->contest_id},
        {"source", f->source},         {"worker_id", f->worker_id}, {"subject", f->subject},
    };
    struct tq_val p[TR_ARRAY_LEN(words) + 4];
    int n = 0;

    if (f->limit > TR_STORE_LIST_MAX)
        return tr_fail(err, TR_E_LIMIT, 0, "at most %d submissions at once", TR_STORE_LIST_MAX);
    p[n++] = ts_int(f->before_id > 0 ? f->before_id : INT64_MAX);
    tr_buf_init(&sql, 1 << 16);
    tr_buf_adds(&sql, st->sql[TS_LIST].sql);
    for (size_t i = 0; i < TR_ARRAY_LEN(words); i++) {
        if (!words[i].value)
            continue;
        p[n++] = ts_text(words[i].value);
        tr_buf_addf(&sql, " AND %s = ?%d", words[i].column, n);
    }
    if (f->since_us) {
        p[n++] = ts_int(f->since_us);
        tr_buf_addf(&sql, " AND created_at >= ?%d", n);
    }
    if (f->until_us) {
        p[n++] = ts_int(f->until_us);
        tr_buf_addf(&sql, " AND created_at < ?%d", n);
    }
    p[n++] = ts_int(f->limit > 0 ? f->limit : 50);
    tr_buf_addf(&sql, " ORDER BY id DESC LIMIT ?%d", n);
    int r = tr_buf_check(&sql, "statement", err);
    struct reading g = {.arena = arena, .sql = sql.data, .params = p, .nparams = n};
    return r < 0 ? r : read_rows(st, &g, ret, err);
}

/* ---------------------------------------------------------------- texts, history, numbers */

struct texts {
    const char *submit_id;
    struct tr_arena *arena;
    const char *text[2];
    size_t len[2];
    bool found, no_memory;
};

static int texts_row(void *arg, const struct tq_val *c, int ncols)
{
    struct texts *t = arg;

    t->found = true;
    for (int i = 0; i < 2 && i < ncols; i++) {
        bool null = c[i].type == TQ_NULL;

        t->text[i] = null ? "" : ts_val_text(t->arena, &c[i]);
        t->len[i] = null ? 0 : c[i].len;
        t->no_memory = t->no_memory || !t->text[i];
    }
    return 0;
}

static int texts_op(struct tr_store *st, void *arg, struct tr_err *err)
{
    struct texts *t = arg;
    struct tq_val id = ts_text(t->submit_id);
    int64_t r = ts_exec(st, TS_TEXTS, TS_NO_MOVE, &id, 1, texts_row, t, err);

    if (r < 0)
        return (int)r;
    if (!t->found)
        return tr_fail(err, TR_E_NOTFOUND, 0, "there is no submission '%.128s'", t->submit_id);
    if (t->no_memory)
        return tr_fail(err, TR_E_LIMIT, 0, "the texts of '%.128s' do not fit", t->submit_id);
    return 0;
}

/* NOLINTNEXTLINE(readability-function-size): two texts and their lengths */
int tr_store_texts(struct tr_store *st, const char *submit_id, struct tr_arena *arena,
                   const char **ret_task, size_t *ret_task_len, const char **ret_result,
                   size_t *ret_result_len, struct tr_err *err)
{
    struct texts t = {.submit_id = submit_id, .arena = arena};
    int r = ts_run(st, texts_op, &t, err);

    if (r < 0)
        return r;
    *ret_task = t.text[0];
    *ret_task_len = t.len[0];
    *ret_result = t.text[1];
    *ret_result_len = t.len[1];
    return 0;
}

struct generations {
    const char *submit_id;
    struct tr_arena *arena;
    struct tr_generation *list;
    size_t count, cap;
};

static int generation_row(void *arg, const struct tq_val *c, int ncols)
{
    struct generations *g = arg;

    if (g->count == g->cap) {
        size_t cap = g->cap ? 2 * g->cap : 4;
        struct tr_generation *more = tr_arena_array(g->arena, cap, sizeof(*more));

        if (!more)
            return TR_E_NOMEM;
        if (g->count)
            memcpy(more, g->list, g->count * sizeof(*more));
        g->list = more;
        g->cap = cap;
    }
    g->list[g->count++] = (struct tr_generation){
        .generation = ts_val_int(&c[0]),
        .status = tr_state_parse(name_of(g->arena, &c[1])),
        .verdict = ts_val_text(g->arena, &c[2]),
        .score = ts_val_int(&c[3]),
        .time_ms = ts_val_int(&c[4]),
        .memory_kb = ts_val_int(&c[5]),
        .worker_id = ts_val_text(g->arena, &c[6]),
        .start_us = ts_val_int(&c[7]),
        .finish_us = ts_val_int(&c[8]),
        .replaced_us = ts_val_int(&c[9]),
        .error = ts_val_text(g->arena, &c[10]),
        .result = ts_val_text(g->arena, &c[11]),
        .result_len = c[11].len,
    };
    return 0;
}

static int history_op(struct tr_store *st, void *arg, struct tr_err *err)
{
    struct generations *g = arg;
    struct tq_val id = ts_text(g->submit_id);

    g->count = 0;
    int64_t r = ts_exec(st, TS_HISTORY, TS_NO_MOVE, &id, 1, generation_row, g, err);
    return r < 0 ? (int)r : 0;
}

int tr_store_history(struct tr_store *st, const char *submit_id, struct tr_arena *arena,
                     struct tr_generation **ret, size_t *ret_count, struct tr_err *err)
{
    struct generations g = {.submit_id = submit_id, .arena = arena};
    int r = ts_run(st, history_op, &g, err);

    if (r < 0)
        return r;
    *ret = g.list;
    *ret_count = g.count;
    return 0;
}

static int count_row(void *arg, const struct tq_val *c, int ncols)
{
    int64_t *counts = arg;
    char word[32] = "";

    if (ncols < 2 || c[0].len >= sizeof(word) || !c[0].p)
        return 0;
    memcpy(word, c[0].p, c[0].len);
    enum tr_state s = tr_state_parse(word);
    if (s < TR_STATES)
        counts[s] = ts_val_int(&c[1]);
    return 0;
}

static int counts_op(struct tr_store *st, void *arg, struct tr_err *err)
{
    memset(arg, 0, TR_STATES * sizeof(int64_t));
    int64_t r = ts_exec(st, TS_COUNTS, TS_NO_MOVE, NULL, 0, count_row, arg, err);

    return r < 0 ? (int)r : 0;
}

int tr_store_counts(struct tr_store *st, int64_t ret[static TR_STATES], struct tr_err *err)
{
    int64_t counts[TR_STATES];
    int r = ts_run(st, counts_op, counts, err);

    if (r >= 0)
        memcpy(ret, counts, sizeof(counts));
    return r;
}

struct ahead {
    const struct tr_submission *s;
    int64_t count;
};

static int ahead_row(void *arg, const struct tq_val *c, int ncols)
{
    ((struct ahead *)arg)->count = ts_val_int(&c[0]);
    return 0;
}

static int ahead_op(struct tr_store *st, void *arg, struct tr_err *err)
{
    const struct tr_submission *s = ((struct ahead *)arg)->s;
    struct tq_val p[] = {ts_text(s->source), ts_int(s->id), ts_int(s->priority),
                         ts_int(TR_STORE_AHEAD_MAX)};
    int64_t r = ts_exec(st, TS_AHEAD, TS_NO_MOVE, p, TR_ARRAY_LEN(p), ahead_row, arg, err);

    return r < 0 ? (int)r : 0;
}

int tr_store_ahead(struct tr_store *st, const struct tr_submission *s, int64_t *ret,
                   struct tr_err *err)
{
    struct ahead a = {.s = s};
    int r = ts_run(st, ahead_op, &a, err);

    if (r >= 0)
        *ret = a.count;
    return r;
}

static int now_row(void *arg, const struct tq_val *c, int ncols)
{
    *(int64_t *)arg = ts_val_int(&c[0]);
    return 0;
}

static int now_op(struct tr_store *st, void *arg, struct tr_err *err)
{
    int64_t r = ts_exec(st, TS_NOW, TS_NO_MOVE, NULL, 0, now_row, arg, err);

    return r < 0 ? (int)r : 0;
}

int tr_store_now(struct tr_store *st, int64_t *ret_us, struct tr_err *err)
{
    return ts_run(st, now_op, ret_us, err);
}
