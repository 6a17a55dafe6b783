/* SPDX-License-Identifier: MIT
 *
 * listing.c - small tables, read whole.
 */
#include <string.h>

#include "store/private.h"

static int add_row(void *arg, const struct tq_val *cols, int ncols)
{
    struct ts_listing *l = arg;

    (void)ncols;
    if (l->count == l->cap) {
        size_t cap = l->cap ? 2 * l->cap : 16;
        char *more = tr_arena_array(l->arena, cap, l->size);

        if (!more)
            return TR_E_NOMEM;
        if (l->count)
            memcpy(more, l->rows, l->count * l->size);
        l->rows = more;
        l->cap = cap;
    }
    return l->fill((char *)l->rows + l->count++ * l->size, cols, l->arena);
}

static int list_op(struct tr_store *st, void *arg, struct tr_err *err)
{
    struct ts_listing *l = arg;

    l->count = 0;
    int64_t r = ts_exec(st, l->stmt, TS_NO_MOVE, NULL, 0, add_row, l, err);
    return r < 0 ? (int)r : 0;
}

int ts_list(struct tr_store *st, struct ts_listing *l, struct tr_err *err)
{
    return ts_run(st, list_op, l, err);
}
