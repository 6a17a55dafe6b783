/* SPDX-License-Identifier: MIT
 *
 * batch.c - rows become jobs; all memory of a batch is one arena.
 */
#include <stdlib.h>
#include <string.h>

#include "queue/internal.h"

tq_batch *tqi_batch_new(void)
{
    tq_batch *b = calloc(1, sizeof(*b));

    if (b)
        tr_arena_init(&b->arena, (size_t)4 << 30);
    return b;
}

void tq_batch_free(tq_batch *b)
{
    if (!b)
        return;
    tr_arena_done(&b->arena);
    free(b->jobs);
    free(b->extra);
    free(b);
}

int tq_batch_count(const tq_batch *b)
{
    return b ? b->n : 0;
}

const struct tq_job *tq_batch_job(const tq_batch *b, int i)
{
    return b && i >= 0 && i < b->n ? &b->jobs[i] : NULL;
}

static int grow(tq_batch *b)
{
    int cap = b->cap ? b->cap * 2 : 16;
    struct tq_job *jobs = realloc(b->jobs, (size_t)cap * sizeof(*jobs));

    if (!jobs)
        return TR_E_NOMEM;
    b->jobs = jobs;
    struct tqi_extra *extra = realloc(b->extra, (size_t)cap * sizeof(*extra));
    if (!extra)
        return TR_E_NOMEM;
    b->extra = extra;
    b->cap = cap;
    return 0;
}

/* A copy with a closing 0; NULL stays NULL. A failure sticks in b->failed. */
static const char *keep(tq_batch *b, const struct tq_val *v, size_t *ret_len)
{
    if (ret_len)
        *ret_len = v->type == TQ_NULL ? 0 : v->len;
    if (v->type == TQ_NULL)
        return NULL;
    char *p = tr_arena_alloc(&b->arena, v->len + 1);
    if (!p) {
        b->failed = TR_E_NOMEM;
        return NULL;
    }
    if (v->len)
        memcpy(p, v->p, v->len);
    p[v->len] = '\0';
    return p;
}

int tqi_batch_row(void *arg, const struct tq_val *c, int ncols)
{
    tq_batch *b = arg;

    if (ncols < TQI_COLS_JOB)
        return TR_E_FATAL;
    if (b->n == b->cap && grow(b) < 0)
        return TR_E_NOMEM;
    struct tq_job *j = &b->jobs[b->n];
    struct tqi_extra *x = &b->extra[b->n];
    *j = (struct tq_job){.size = sizeof(*j),
                         .ref = {tqi_val_int(&c[0]), tqi_val_int(&c[1])},
                         .state = (int)tqi_val_int(&c[2]),
                         .priority = (int)tqi_val_int(&c[3]),
                         .attempts = (int)tqi_val_int(&c[4]),
                         .max_attempts = (int)tqi_val_int(&c[5]),
                         .crashes = (int)tqi_val_int(&c[6]),
                         .max_crashes = (int)tqi_val_int(&c[7]),
                         .json = (int)tqi_val_int(&c[8]) & 1,
                         .cancel_requested = (int)tqi_val_int(&c[9]),
                         .queue = keep(b, &c[10], NULL),
                         .kind = keep(b, &c[11], NULL),
                         .group_key = keep(b, &c[12], NULL),
                         .locked_by = keep(b, &c[13], NULL),
                         .rank = tqi_val_int(&c[18]),
                         .created_us = tqi_val_int(&c[19]),
                         .available_us = tqi_val_int(&c[20]),
                         .started_us = tqi_val_int(&c[21]),
                         .lease_until_us = tqi_val_int(&c[22]),
                         .finished_us = tqi_val_int(&c[23])};
    j->unique_key = keep(b, &c[14], &j->unique_len);
    j->payload = keep(b, &c[15], &j->payload_len);
    j->progress = keep(b, &c[16], &j->progress_len);
    j->result = keep(b, &c[17], &j->result_len);
    *x = (struct tqi_extra){.slot = -1, .payload_kind = (int)tqi_val_int(&c[8])};
    if (ncols == TQI_COLS_JOB + 1)
        x->now_us = tqi_val_int(&c[24]);
    if (ncols >= TQI_COLS_JOB + 2) {
        x->slot = c[24].type == TQ_NULL ? -1 : tqi_val_int(&c[24]);
        x->has_next = (int)tqi_val_int(&c[25]);
    }
    if (b->failed)
        return b->failed;
    b->n++;
    return 0;
}

static int by_order(const void *a_, const void *b_)
{
    const struct tq_job *a = a_, *b = b_;

    if (a->priority != b->priority)
        return a->priority > b->priority ? -1 : 1;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return a->ref.id < b->ref.id ? -1 : a->ref.id > b->ref.id;
}

/* UPDATE … RETURNING has no order of its own. `extra` is not moved along: only a claim sorts, and
 * it looks at extra before. */
void tqi_batch_sort(tq_batch *b)
{
    if (b->n > 1)
        qsort(b->jobs, (size_t)b->n, sizeof(*b->jobs), by_order);
}

void tqi_batch_drop(tq_batch *b, int i)
{
    memmove(b->jobs + i, b->jobs + i + 1, (size_t)(b->n - i - 1) * sizeof(*b->jobs));
    memmove(b->extra + i, b->extra + i + 1, (size_t)(b->n - i - 1) * sizeof(*b->extra));
    b->n--;
}

const char *tq_state_name(int state)
{
    static const char *const names[] = {"scheduled", "ready",       "running",   "waiting",
                                        "completed", "dead_letter", "discarded", "cancelled"};

    return state >= 0 && state < (int)TR_ARRAY_LEN(names) ? names[state] : "unknown";
}
