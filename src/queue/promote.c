/* SPDX-License-Identifier: MIT
 *
 * promote.c - jobs whose time has come become ready.
 */
#include <string.h>

#include "queue/internal.h"

struct due {
    int64_t id[TQI_PROMOTE_MAX];
    int prio[TQI_PROMOTE_MAX];
    char *group[TQI_PROMOTE_MAX];
    int n, ngrouped;
};

static void due_done(struct due *d)
{
    for (int i = 0; i < d->n; i++)
        free(d->group[i]);
}

static int due_row(void *arg, const struct tq_val *cols, int ncols)
{
    struct due *d = arg;

    if (d->n == TQI_PROMOTE_MAX)
        return TR_E_FATAL;
    d->id[d->n] = tqi_val_int(&cols[0]);
    d->prio[d->n] = (int)tqi_val_int(&cols[1]);
    d->group[d->n] = NULL;
    if (cols[2].type != TQ_NULL) {
        d->group[d->n] = strndup(cols[2].p ? cols[2].p : "", cols[2].len);
        if (!d->group[d->n])
            return TR_E_NOMEM;
        d->ngrouped++;
    }
    d->n++;
    return 0;
}

/* A job that waited takes its place in its group's line when it becomes ready. */
static int rank_due(struct tqi_link *l, const char *queue, const struct due *d, struct tr_err *err)
{
    for (int i = 0; i < d->n; i++) {
        int64_t rank = 0;

        if (!d->group[i])
            continue;
        int r = tqi_group_rank(l, queue, d->prio[i], d->group[i], &rank, err);
        if (r < 0)
            return r;
        struct tq_val p[] = {tqi_int(d->id[i]), tqi_int(rank)};
        r = tqi_exec(l, S_SET_RANK, p, 2, NULL, NULL, NULL, err);
        if (r < 0)
            return r;
    }
    return 0;
}

int tqi_promote(struct tqi_link *l, const char *queue, struct tr_err *err)
{
    struct tq_val p[] = {tqi_text(queue), tqi_int(TQI_PROMOTE_MAX)};
    tr_autofree struct due *d = calloc(1, sizeof(*d));

    if (!d)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory to promote jobs");
    bool pick = tqi_has(l, S_PROMOTE_PICK);
    int r = tqi_exec(l, pick ? S_PROMOTE_PICK : S_PROMOTE, p, 2, due_row, d, NULL, err);
    if (r >= 0 && pick && d->n > 0) {
        tr_autofree struct tq_val *cells = calloc((size_t)d->n, sizeof(*cells));

        if (!cells)
            r = tr_fail(err, TR_E_NOMEM, 0, "no memory to promote jobs");
        for (int i = 0; cells && i < d->n; i++)
            cells[i] = tqi_int(d->id[i]);
        struct tq_set set = {.types = "i", .cells = cells, .nrows = (size_t)d->n};
        if (r >= 0)
            r = tqi_exec_set(l, S_PROMOTE, &set, NULL, NULL, NULL, err);
    }
    if (r >= 0 && d->ngrouped)
        r = rank_due(l, queue, d, err);
    int n = d->n;
    for (int i = 0; i < n; i++)
        tqi_mark_lower(l->q, queue, d->prio[i], 0, d->id[i]);
    due_done(d);
    return r < 0 ? r : n;
}
