/* SPDX-License-Identifier: MIT
 *
 * events.c - the table judge_events.
 *
 * Nobody asks for an event within the transaction that adds it, as a rule: those of one transaction
 * are written together before its commit. Whoever does ask has them written first.
 */
#include "store/events.h"

#include <string.h>

#include "store/private.h"

struct eventing {
    enum ts_stmt stmt;
    const struct tq_val *params;
    int nparams;
    tq_row_fn row;
    struct tr_arena *arena;
    struct tr_event_list list;
    size_t cap;
    int64_t first, last;
};

static int event_row(void *arg, const struct tq_val *c, int ncols)
{
    struct eventing *g = arg;

    if (g->list.count == g->cap) {
        size_t cap = g->cap ? 2 * g->cap : 32;
        struct tr_event *more = tr_arena_array(g->arena, cap, sizeof(*more));

        if (!more)
            return TR_E_NOMEM;
        if (g->list.count)
            memcpy(more, g->list.rows, g->list.count * sizeof(*more));
        g->list.rows = more;
        g->cap = cap;
    }
    struct tr_event *e = &g->list.rows[g->list.count++];
    *e = (struct tr_event){
        .id = ts_val_int(&c[0]),
        .at_us = ts_val_int(&c[1]),
        .type = ts_val_text(g->arena, &c[2]),
        .submit_id = ts_val_text(g->arena, &c[3]),
        .body = ts_val_text(g->arena, &c[4]),
        .body_len = c[4].len,
    };
    return e->type && e->submit_id && e->body ? 0 : TR_E_NOMEM;
}

static int ends_row(void *arg, const struct tq_val *c, int ncols)
{
    struct eventing *g = arg;

    g->first = ts_val_int(&c[0]);
    g->last = ts_val_int(&c[1]);
    return 0;
}

static int event_op(struct tr_store *st, void *arg, struct tr_err *err)
{
    struct eventing *g = arg;

    g->list.count = 0;
    int flushed = ts_events_flush(st, err);
    if (flushed < 0)
        return flushed;
    int64_t r = ts_exec(st, g->stmt, TS_NO_MOVE, g->params, g->nparams, g->row, g, err);
    return r < 0 ? (int)r : 0;
}

/* ---------------------------------------------------------------- writing */

enum {
    BYTES_MAX = 2 << 20,            /* of one statement */
    ARENA_MAX = BYTES_MAX + 1048576 /* and what the arena needs around them */
};

void ts_events_drop(struct tr_store *st)
{
    tr_arena_done(&st->events.arena);
    st->events.count = st->events.bytes = 0;
}

int ts_events_flush(struct tr_store *st, struct tr_err *err)
{
    const struct tq_set set = {
        .types = "ttb", .cells = st->events.cells, .nrows = st->events.count};
    int64_t r = 0;

    if (set.nrows > 0)
        r = ts_exec_set(st, TS_EVENT_ADD_MANY, TS_NO_MOVE, &set, NULL, NULL, err);
    ts_events_drop(st);
    return r < 0 ? (int)r : 0;
}

static int keep(struct tr_store *st, const struct tq_val p[static TS_EVENT_COLS],
                struct tr_err *err)
{
    struct ts_events *e = &st->events;
    struct tq_val *cells = e->cells + e->count * TS_EVENT_COLS;

    if (e->count == 0)
        tr_arena_init(&e->arena, ARENA_MAX);
    for (int i = 0; i < TS_EVENT_COLS; i++) {
        cells[i] = p[i];
        cells[i].p = tr_arena_strndup(&e->arena, p[i].p, p[i].len);
        if (!cells[i].p)
            return tr_fail(err, TR_E_NOMEM, 0, "no memory for an event");
        e->bytes += p[i].len;
    }
    e->count++;
    return 0;
}

int tr_store_event_add(struct tr_store *st, const char *type, const char *submit_id,
                       const char *body, size_t len, struct tr_err *err)
{
    struct tq_val p[] = {ts_text(type), ts_text(submit_id), ts_bytes(body, len)};
    struct eventing g = {.stmt = TS_EVENT_ADD, .params = p, .nparams = TS_EVENT_COLS};
    size_t bytes = p[0].len + p[1].len + len;
    int r = 0;

    if (!st->in_tx || !ts_has(st, TS_EVENT_ADD_MANY) || bytes > BYTES_MAX)
        return ts_run(st, event_op, &g, err);
    if (st->events.count == TS_EVENTS_MAX || st->events.bytes + bytes > BYTES_MAX)
        r = ts_events_flush(st, err);
    return r < 0 ? r : keep(st, p, err);
}

/* ---------------------------------------------------------------- reading */

static int read_events(struct tr_store *st, struct eventing *g, struct tr_event_list *ret,
                       struct tr_err *err)
{
    g->row = event_row;
    int r = ts_run(st, event_op, g, err);
    if (r >= 0)
        *ret = g->list;
    return r;
}

int tr_store_events_after(struct tr_store *st, int64_t after_id, int limit, struct tr_arena *arena,
                          struct tr_event_list *ret, struct tr_err *err)
{
    struct tq_val p[] = {ts_int(after_id), ts_int(limit)};
    struct eventing g = {.stmt = TS_EVENT_AFTER, .params = p, .nparams = 2, .arena = arena};

    return read_events(st, &g, ret, err);
}

int tr_store_events_of(struct tr_store *st, const char *submit_id, int limit,
                       struct tr_arena *arena, struct tr_event_list *ret, struct tr_err *err)
{
    struct tq_val p[] = {ts_text(submit_id), ts_int(limit)};
    struct eventing g = {.stmt = TS_EVENT_OF, .params = p, .nparams = 2, .arena = arena};

    return read_events(st, &g, ret, err);
}

int tr_store_events_ends(struct tr_store *st, int64_t *ret_first, int64_t *ret_last,
                         struct tr_err *err)
{
    struct eventing g = {.stmt = TS_EVENT_ENDS, .row = ends_row};
    int r = ts_run(st, event_op, &g, err);

    if (r < 0)
        return r;
    *ret_first = g.first;
    *ret_last = g.last;
    return 0;
}

int tr_store_events_prune(struct tr_store *st, int64_t up_to, struct tr_err *err)
{
    struct tq_val p[] = {ts_int(up_to)};
    struct eventing g = {.stmt = TS_EVENT_PRUNE, .params = p, .nparams = 1};

    return ts_run(st, event_op, &g, err);
}
