/* SPDX-License-Identifier: MIT
 *
 * event_prune.c - see event_prune.h.
 */
#include "controller/event_prune.h"

#include <stdlib.h>

#include "controller/ctl.h"
#include "store/events.h"

struct prune_op {
    struct op op;
    int64_t up_to;
};

static int run_prune(struct op *op, struct tr_store *st, struct tr_err *err)
{
    return tr_store_events_prune(st, ((struct prune_op *)op)->up_to, err);
}

static void free_op(struct op *op)
{
    free(op);
}

void event_prune(struct ctl *ctl, int64_t up_to)
{
    struct prune_op *o = calloc(1, sizeof(*o));

    if (!o)
        return;
    o->op = (struct op){.run = run_prune, .done = free_op, .lane = OP_NORMAL};
    o->up_to = up_to;
    storage_do(ctl->storage, &o->op);
}
