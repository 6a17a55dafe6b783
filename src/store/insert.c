/* SPDX-License-Identifier: MIT
 *
 * insert.c - a submission arrives: new, known, or a second one with a known key.
 */
#include <string.h>

#include "store/private.h"

enum {
    ARENA_MAX = 1 << 20
};

struct inserting {
    const struct tr_submission_new *n;
    const char *duplicate_of;
    char other[TR_STORE_SUBMIT_ID_MAX + 1];
};

int ts_insert_check(const struct tr_submission_new *n, struct tr_err *err)
{
    const struct {
        const char *what, *value;
        size_t max;
        bool needed;
    } texts[] = {
        {"submit_id", n->submit_id, TR_STORE_SUBMIT_ID_MAX, true},
        {"source", n->source, 16, true},
        {"user", n->user_id, TR_STORE_NAME_MAX, false},
        {"user name", n->user_name, TR_STORE_KEY_MAX, false},
        {"idempotency_key", n->idempotency_key, TR_STORE_KEY_MAX, false},
        {"subject", n->subject, 64, false},
        {"problem", n->problem_id, TR_STORE_NAME_MAX, false},
        {"contest", n->contest_id, TR_STORE_NAME_MAX, false},
        {"language", n->lang, 64, false},
    };

    for (size_t i = 0; i < TR_ARRAY_LEN(texts); i++) {
        int r = ts_check_text(texts[i].what, texts[i].value, texts[i].max, texts[i].needed, err);

        if (r < 0)
            return r;
    }
    if (n->task_len > TR_STORE_TASK_MAX)
        return tr_fail(err, TR_E_LIMIT, 0, "the task has %zu bytes; at most %d are kept",
                       n->task_len, TR_STORE_TASK_MAX);
    return 0;
}

static bool has_key(const struct tr_submission_new *n)
{
    return n->idempotency_key && *n->idempotency_key;
}

void ts_insert_cells(const struct tr_submission_new *n, const char *duplicate_of,
                     struct tq_val p[static TS_INSERT_COLS])
{
    const struct tq_val cells[] = {
        ts_text(n->submit_id),
        ts_text(has_key(n) && !duplicate_of ? n->idempotency_key : NULL),
        ts_text(duplicate_of),
        ts_name(n->user_id),
        ts_name(n->user_name),
        ts_text(n->source),
        ts_name(n->subject),
        ts_name(n->problem_id),
        ts_name(n->contest_id),
        ts_name(n->lang),
        ts_int(n->priority),
        ts_int(n->generation),
        ts_int(n->retry_count),
        ts_int(n->crashes),
        ts_int_or_null(n->job_id),
        ts_bytes(n->task ? n->task : "", n->task ? n->task_len : 0),
        ts_int_or_null(n->msg_seq),
    };

    _Static_assert(TR_ARRAY_LEN(cells) == TS_INSERT_COLS, "as many as there are ?n");
    memcpy(p, cells, sizeof(cells));
}

/* 1 when the row was added. A duplicate has no key: the first has it. */
static int64_t add(struct tr_store *st, const struct tr_submission_new *n, const char *duplicate_of,
                   struct tr_err *err)
{
    struct tq_val p[TS_INSERT_COLS];

    ts_insert_cells(n, duplicate_of, p);
    return ts_exec(st, TS_INSERT, TS_NO_MOVE, p, TS_INSERT_COLS, NULL, NULL, err);
}

/* A verdict that is there already is taken over at once. */
static int copy_verdict(struct tr_store *st, const struct tr_submission *first,
                        struct tr_arena *arena, struct tr_err *err)
{
    const char *task, *result;
    size_t task_len, result_len;

    if (first->status != TR_FINISHED)
        return 0;
    int r =
        tr_store_texts(st, first->submit_id, arena, &task, &task_len, &result, &result_len, err);
    if (r < 0)
        return r;
    struct tq_val p[] = {ts_text(first->submit_id),    ts_int(first->run_lease),
                         ts_text(first->verdict),      ts_int(first->score),
                         ts_int(first->time_ms),       ts_int(first->memory_kb),
                         ts_bytes(result, result_len), ts_text(first->brief)};
    return (int)ts_exec(st, TS_COPY, TR_MOVE_COPY, p, TR_ARRAY_LEN(p), NULL, NULL, err);
}

/* Nothing was added: whose is the id, or the key? */
static int who_is_there(struct tr_store *st, struct inserting *in, struct tr_arena *arena,
                        struct tr_err *err)
{
    const struct tr_submission_new *n = in->n;
    struct ts_rows rows = {.arena = arena};
    struct tr_submission row;
    int64_t r = ts_get(st, n->submit_id, arena, &row, err);

    if (r != TR_E_NOTFOUND) {
        if (r >= 0 && row.duplicate_of)
            (void)snprintf(in->other, sizeof(in->other), "%s", row.duplicate_of);
        return r < 0 ? (int)r : TR_INSERT_EXISTED;
    }
    /* Locked: its verdict comes before this duplicate, which then copies it, or after it. */
    struct tq_val key[] = {ts_name(n->user_id), ts_text(n->idempotency_key)};
    r = ts_exec(st, TS_BY_KEY, TS_NO_MOVE, key, 2, ts_row, &rows, err);
    if (r < 0)
        return (int)r;
    if (rows.count == 0) /* it was there a moment ago */
        return tr_fail(err, TR_E_ABORT, 0, "submission '%.128s' came and went", n->submit_id);
    (void)snprintf(in->other, sizeof(in->other), "%s", rows.rows[0].submit_id);
    if (n->on_key == TR_KEY_SAME)
        return TR_INSERT_SAME_KEY;
    r = add(st, n, in->other, err);
    if (r >= 0)
        r = copy_verdict(st, &rows.rows[0], arena, err);
    return r < 0 ? (int)r : TR_INSERT_DUPLICATE;
}

static int insert_op(struct tr_store *st, void *arg, struct tr_err *err)
{
    struct inserting *in = arg;
    struct tr_arena arena;

    in->other[0] = '\0';
    int64_t r = add(st, in->n, NULL, err);
    if (r != 0)
        return r < 0 ? (int)r : TR_INSERT_NEW;
    tr_arena_init(&arena, TR_STORE_TASK_MAX * 4 + ARENA_MAX);
    int done = who_is_there(st, in, &arena, err);
    tr_arena_done(&arena);
    return done;
}

int tr_store_insert(struct tr_store *st, const struct tr_submission_new *n, char *ret_other,
                    struct tr_err *err)
{
    struct inserting in = {.n = n};
    int r = ts_insert_check(n, err);

    if (r >= 0)
        r = ts_run(st, insert_op, &in, err);
    if (r >= 0 && ret_other)
        memcpy(ret_other, in.other, sizeof(in.other));
    return r;
}
