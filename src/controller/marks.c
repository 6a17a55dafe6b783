/* SPDX-License-Identifier: MIT
 *
 * marks.c - see marks.h.
 *
 * A reading that began before one of our own changes was stored does not know of it: it is thrown
 * away, and the next one counts.
 */
#include "controller/marks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "controller/ctl.h"
#include "controller/dispatch.h"
#include "controller/judges.h"
#include "store/marks.h"

enum {
    OLD_US = 1000000,
    ARENA_MAX = 16 * 1024 * 1024,
    MARKS_MAX = 4096 /* drained judges and broken languages or problems; people look at each */
};

struct marks {
    struct ctl *ctl;
    struct mark *list;
    size_t count;
    bool reading;
    int64_t read_us;
    unsigned storing; /* changes of ours on their way */
    uint64_t changes; /* of ours, ever … */
    uint64_t seen;    /* … when the present reading began */
};

static const char *const kinds[MARK_KINDS] = {"drain", "language", "problem"};

const char *mark_kind_name(enum mark_kind kind)
{
    return kinds[kind];
}

struct marks *marks_new(struct ctl *ctl)
{
    struct marks *m = calloc(1, sizeof(*m));

    if (m)
        m->ctl = ctl;
    return m;
}

void marks_free(struct marks *m)
{
    if (!m)
        return;
    free(m->list);
    free(m);
}

static size_t find(const struct marks *m, enum mark_kind kind, const char *name)
{
    size_t i = 0;

    while (i < m->count && (m->list[i].kind != kind || strcmp(m->list[i].name, name) != 0))
        i++;
    return i;
}

bool marks_has(const struct marks *m, enum mark_kind kind, const char *name)
{
    return find(m, kind, name) < m->count;
}

const struct mark *marks_at(const struct marks *m, size_t i)
{
    return i < m->count ? &m->list[i] : NULL;
}

/* ---------------------------------------------------------------- reading */

struct read_op {
    struct op op;
    struct tr_arena arena;
    struct tr_mark *rows;
    size_t count;
};

static int run_read(struct op *op, struct tr_store *st, struct tr_err *err)
{
    struct read_op *o = (struct read_op *)op;

    tr_arena_done(&o->arena);
    tr_arena_init(&o->arena, ARENA_MAX);
    return tr_store_mark_list(st, &o->arena, &o->rows, &o->count, err);
}

static enum mark_kind parse_kind(const char *word)
{
    int i = 0;

    while (i < MARK_KINDS && strcmp(kinds[i], word) != 0)
        i++;
    return (enum mark_kind)i;
}

static void take_rows(struct marks *m, const struct read_op *o)
{
    size_t before = m->count, n = o->count < MARKS_MAX ? o->count : MARKS_MAX;
    struct mark *list = calloc(n + 1, sizeof(*list));

    if (!list)
        return;
    free(m->list);
    m->list = list;
    m->count = 0;
    for (size_t i = 0; i < n; i++) {
        const struct tr_mark *r = &o->rows[i];
        struct mark *to = &list[m->count];

        to->kind = parse_kind(r->kind);
        if (to->kind == MARK_KINDS)
            continue; /* of a later version */
        (void)snprintf(to->name, sizeof(to->name), "%s", r->name);
        (void)snprintf(to->note, sizeof(to->note), "%.255s", r->note);
        to->faults = r->faults;
        to->since_us = r->created_us;
        m->count++;
    }
    judges_drain_as_marked(m->ctl);
    if (m->count < before && m->ctl->dispatch)
        dispatch_poll(m->ctl); /* something flows again */
}

static void read_done(struct op *op)
{
    struct read_op *o = (struct read_op *)op;
    struct marks *m = op->ctl->marks;

    m->reading = false;
    if (op->result < 0)
        storage_warn(op);
    else if (m->storing == 0 && m->seen == m->changes)
        take_rows(m, o);
    tr_arena_done(&o->arena);
    free(o);
}

static void begin(struct marks *m)
{
    struct read_op *o = calloc(1, sizeof(*o));

    if (!o)
        return;
    m->reading = true;
    m->read_us = tr_clock_mono_us();
    m->seen = m->changes;
    o->op = (struct op){.run = run_read, .done = read_done, .lane = OP_READ};
    storage_do(m->ctl->storage, &o->op);
}

void marks_load(struct marks *m)
{
    begin(m);
    while (m->reading)
        (void)uv_run(tr_loop_uv(m->ctl->loop), UV_RUN_ONCE);
}

void marks_tick(struct marks *m)
{
    if (!m->reading && tr_clock_mono_us() - m->read_us > OLD_US)
        begin(m);
}

/* ---------------------------------------------------------------- changing */

struct change_op {
    struct op op;
    struct mark mark;
    bool set;
    void (*then)(void *arg, int result);
    void *arg;
};

static int run_change(struct op *op, struct tr_store *st, struct tr_err *err)
{
    const struct change_op *o = (struct change_op *)op;
    const struct tr_mark row = {.kind = kinds[o->mark.kind],
                                .name = o->mark.name,
                                .note = o->mark.note,
                                .faults = o->mark.faults};

    if (o->set)
        return tr_store_mark_set(st, &row, err);
    int r = tr_store_mark_clear(st, row.kind, row.name, err);
    return r < 0 ? r : 0;
}

static void change_done(struct op *op)
{
    struct change_op *o = (struct change_op *)op;

    op->ctl->marks->storing--;
    if (op->result < 0)
        tr_log_err(TR_LOG_ERROR, NULL, &op->err);
    if (o->then)
        o->then(o->arg, op->result);
    free(o);
}

static void store(struct marks *m, const struct mark *mark, bool set,
                  void (*then)(void *arg, int result), void *arg)
{
    struct change_op *o = calloc(1, sizeof(*o));

    m->changes++;
    if (!o) {
        if (then)
            then(arg, TR_E_NOMEM);
        return;
    }
    o->op = (struct op){.run = run_change, .done = change_done, .lane = OP_NORMAL, .must = true};
    o->mark = *mark;
    o->set = set;
    o->then = then;
    o->arg = arg;
    m->storing++;
    storage_do(m->ctl->storage, &o->op);
}

void marks_set(struct marks *m, const struct mark *mark, void (*then)(void *arg, int result),
               void *arg)
{
    size_t i = find(m, mark->kind, mark->name);

    if (i == m->count) {
        struct mark *more = i < MARKS_MAX ? realloc(m->list, (i + 1) * sizeof(*m->list)) : NULL;

        if (!more) {
            if (then)
                then(arg, TR_E_LIMIT);
            return;
        }
        m->list = more;
        m->count++;
    }
    m->list[i] = *mark;
    m->list[i].since_us = tr_clock_real_us();
    store(m, mark, true, then, arg);
}

void marks_clear(struct marks *m, enum mark_kind kind, const char *name,
                 void (*then)(void *arg, int result), void *arg)
{
    struct mark gone = {.kind = kind};
    size_t i = find(m, kind, name);

    (void)snprintf(gone.name, sizeof(gone.name), "%s", name); /* name may be the list's own */
    if (i < m->count)
        memmove(&m->list[i], &m->list[i + 1], (--m->count - i) * sizeof(*m->list));
    store(m, &gone, false, then, arg);
}
