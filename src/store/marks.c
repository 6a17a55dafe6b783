/* SPDX-License-Identifier: MIT
 *
 * marks.c - the table operator_marks.
 */
#include "store/marks.h"

#include "store/private.h"

static int clear_op(struct tr_store *st, void *arg, struct tr_err *err)
{
    int64_t r = ts_exec(st, TS_MARK_CLEAR, TS_NO_MOVE, arg, 2, NULL, NULL, err);

    return r < 0 ? (int)r : r > 0;
}

static int set_op(struct tr_store *st, void *arg, struct tr_err *err)
{
    int r = clear_op(st, arg, err);

    if (r >= 0)
        r = (int)ts_exec(st, TS_MARK_ADD, TS_NO_MOVE, arg, 4, NULL, NULL, err);
    return r < 0 ? r : 0;
}

int tr_store_mark_set(struct tr_store *st, const struct tr_mark *m, struct tr_err *err)
{
    struct tq_val p[] = {ts_text(m->kind), ts_text(m->name), ts_name(m->note), ts_int(m->faults)};
    int r = ts_check_text("the name", m->name, TR_STORE_NAME_MAX, true, err);

    if (r >= 0)
        r = ts_check_text("the note", m->note, TR_MARK_NOTE_MAX, false, err);
    return r < 0 ? r : ts_run(st, set_op, p, err);
}

int tr_store_mark_clear(struct tr_store *st, const char *kind, const char *name, struct tr_err *err)
{
    struct tq_val p[] = {ts_text(kind), ts_text(name)};

    return ts_run(st, clear_op, p, err);
}

static int fill(void *row, const struct tq_val *c, struct tr_arena *a)
{
    struct tr_mark *m = row;

    *m = (struct tr_mark){
        .kind = ts_val_text(a, &c[0]),
        .name = ts_val_text(a, &c[1]),
        .note = ts_val_text(a, &c[2]),
        .faults = ts_val_int(&c[3]),
        .created_us = ts_val_int(&c[4]),
    };
    return m->note ? 0 : TR_E_NOMEM;
}

int tr_store_mark_list(struct tr_store *st, struct tr_arena *arena, struct tr_mark **ret,
                       size_t *ret_count, struct tr_err *err)
{
    struct ts_listing l = {TS_MARK_LIST, sizeof(struct tr_mark), fill, arena, NULL, 0, 0};
    int r = ts_list(st, &l, err);

    if (r < 0)
        return r;
    *ret = l.rows;
    *ret_count = l.count;
    return 0;
}
