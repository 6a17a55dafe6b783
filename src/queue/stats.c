/* SPDX-License-Identifier: MIT
 *
 * stats.c - what is in the queues: counts, lists, single jobs.
 */
#include <stdlib.h>
#include <string.h>

#include "queue/internal.h"

int tqi_rows_add(struct tqi_rows *s, const struct tq_val *name, size_t size)
{
    size_t len = name->len <= TQ_NAME_MAX ? name->len : TQ_NAME_MAX;

    if (s->n == s->cap) {
        size_t cap = s->cap ? 2 * s->cap : 16;
        void *list = realloc(s->list, cap * size);
        if (list)
            s->list = list;
        void *names = list ? realloc(s->names, cap * sizeof(*s->names)) : NULL;
        if (!names)
            return TR_E_NOMEM;
        s->names = names;
        s->cap = cap;
    }
    memcpy(s->names[s->n], name->p, len);
    s->names[s->n][len] = '\0';
    s->n++;
    return 0;
}

bool tqi_rows_named(const struct tqi_rows *s, size_t i, const struct tq_val *name)
{
    size_t len = name->len <= TQ_NAME_MAX ? name->len : TQ_NAME_MAX;

    return strlen(s->names[i]) == len && !memcmp(s->names[i], name->p, len);
}

void tqi_rows_done(struct tqi_rows *s)
{
    free(s->list);
    free(s->names);
}

static struct tq_stat *stat_of(struct tqi_rows *s, const struct tq_val *name)
{
    size_t i = 0;

    while (i < s->n && !tqi_rows_named(s, i, name))
        i++;
    if (i == s->n) {
        if (tqi_rows_add(s, name, sizeof(struct tq_stat)) < 0)
            return NULL;
        ((struct tq_stat *)s->list)[i] = (struct tq_stat){.size = sizeof(struct tq_stat)};
    }
    return &((struct tq_stat *)s->list)[i];
}

static int stat_row(void *arg, const struct tq_val *c, int ncols)
{
    struct tq_stat *s = stat_of(arg, &c[0]);
    int64_t state = tqi_val_int(&c[1]), n = tqi_val_int(&c[2]);

    if (!s)
        return TR_E_NOMEM;
    int64_t *const counts[] = {
        [TQ_SCHEDULED] = &s->scheduled, [TQ_READY] = &s->ready,         [TQ_RUNNING] = &s->running,
        [TQ_WAITING] = &s->waiting,     [TQ_COMPLETED] = &s->completed, [TQ_DEAD] = &s->dead};
    if (state >= 0 && state < (int64_t)TR_ARRAY_LEN(counts))
        *counts[state] = n;
    else
        s->paused = (int)n;
    if (state == TQ_READY)
        s->oldest_ready_us = tqi_val_int(&c[3]);
    return 0;
}

static int stats_op(struct tqi_link *l, void *arg, struct tr_err *err)
{
    struct tqi_rows *s = arg;

    s->n = 0;
    int r = tqi_exec(l, S_STATS_LIVE, NULL, 0, stat_row, s, NULL, err);
    if (r >= 0)
        r = tqi_exec(l, S_STATS_OLD, NULL, 0, stat_row, s, NULL, err);
    if (r >= 0)
        r = tqi_exec(l, S_STATS_CONFIG, NULL, 0, stat_row, s, NULL, err);
    return r;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct tq_stat *)a)->queue, ((const struct tq_stat *)b)->queue);
}

int tq_stats(tq *q, tq_stat_fn fn, void *arg, struct tr_err *err)
{
    TR_CLEANUP(tqi_rows_done) struct tqi_rows s = {0};

    int r = tqi_run(q, OP_READ, stats_op, &s, err);
    struct tq_stat *list = s.list;
    for (size_t i = 0; i < s.n; i++)
        list[i].queue = s.names[i];
    if (s.n > 1)
        qsort(list, s.n, sizeof(*list), by_name);
    for (size_t i = 0; i < s.n && r >= 0; i++)
        r = fn(arg, &list[i]);
    return r < 0 ? r : 0;
}

struct lookup {
    enum tq_stmt s, or_else;
    struct tq_val p[4];
    int n;
    tq_batch *b;
};

static int lookup_op(struct tqi_link *l, void *arg, struct tr_err *err)
{
    struct lookup *k = arg;

    k->b->n = 0;
    int r = tqi_exec(l, k->s, k->p, k->n, tqi_batch_row, k->b, NULL, err);
    if (r >= 0 && k->b->n == 0 && k->or_else != k->s)
        r = tqi_exec(l, k->or_else, k->p, k->n, tqi_batch_row, k->b, NULL, err);
    return r < 0 ? r : k->b->n;
}

static int lookup(tq *q, struct lookup *k, tq_batch **ret, struct tr_err *err)
{
    TR_CLEANUP(tqi_batch_freep) tq_batch *b = tqi_batch_new();

    if (!b)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory");
    k->b = b;
    int r = tqi_run(q, OP_READ, lookup_op, k, err);
    for (int i = 0; i < b->n && r >= 0; i++)
        if ((b->extra[i].payload_kind & 2) && tqi_blob_load(q, b, i, NULL) < 0) {
            b->jobs[i].payload = NULL; /* people may look at a job whose payload is gone */
            b->jobs[i].payload_len = 0;
        }
    if (r > 0)
        *ret = TR_TAKE(b);
    return r;
}

int tq_list(tq *q, const struct tq_filter *given, tq_batch **ret_batch, struct tr_err *err)
{
    struct tq_filter f = TQ_FILTER_INIT;

    memcpy(&f, given, given->size < sizeof(f) ? given->size : sizeof(f));
    if (f.limit < 0 || f.limit > TQ_BATCH_MAX || f.state > TQ_CANCELLED)
        return tr_fail(err, TR_E_LIMIT, 0, "a list has 1 … %d jobs of one state",
                       (int)TQ_BATCH_MAX);
    enum tq_stmt s = f.state >= TQ_COMPLETED ? S_LIST_OLD : S_LIST_LIVE;
    struct lookup k = {.s = s,
                       .or_else = s,
                       .p = {tqi_int(f.after_id), tqi_text(f.queue), tqi_int(f.state),
                             tqi_int(f.limit ? f.limit : 100)},
                       .n = 4};
    return lookup(q, &k, ret_batch, err);
}

int tq_show(tq *q, int64_t id, tq_batch **ret_batch, struct tr_err *err)
{
    struct lookup k = {.s = S_SHOW_LIVE, .or_else = S_SHOW_OLD, .p = {tqi_int(id)}, .n = 1};

    int r = lookup(q, &k, ret_batch, err);
    if (r == 0)
        return tr_fail(err, TR_E_NOTFOUND, 0, "no job %lld", (long long)id);
    return r;
}
