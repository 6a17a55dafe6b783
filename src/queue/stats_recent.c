/* SPDX-License-Identifier: MIT
 *
 * stats_recent.c - counts by priority and the last minutes of a queue, from the database alone, so
 * that anybody can look, without a worker to ask.
 */
#include <string.h>

#include "queue/worker.h"

#define MINUTE_US ((int64_t)60 * 1000000)

/* ---------------------------------------------------------------- by priority */

static struct tq_stat_priority *row_of(struct tqi_rows *s, const struct tq_val *name, int priority)
{
    struct tq_stat_priority *last = s->n ? (struct tq_stat_priority *)s->list + s->n - 1 : NULL;

    if (last && last->priority == priority && tqi_rows_named(s, s->n - 1, name))
        return last; /* rows come sorted */
    if (tqi_rows_add(s, name, sizeof(*last)) < 0)
        return NULL;
    last = (struct tq_stat_priority *)s->list + s->n - 1;
    *last = (struct tq_stat_priority){.size = sizeof(*last), .priority = priority};
    return last;
}

static int priority_row(void *arg, const struct tq_val *c, int ncols)
{
    struct tq_stat_priority *s = row_of(arg, &c[0], (int)tqi_val_int(&c[2]));
    int64_t state = tqi_val_int(&c[1]);

    if (!s)
        return TR_E_NOMEM;
    *(state == TQ_SCHEDULED ? &s->scheduled
      : state == TQ_READY   ? &s->ready
      : state == TQ_RUNNING ? &s->running
                            : &s->waiting) = tqi_val_int(&c[3]);
    if (state == TQ_READY)
        s->oldest_ready_us = tqi_val_int(&c[4]);
    return 0;
}

static int priority_op(struct tqi_link *l, void *arg, struct tr_err *err)
{
    ((struct tqi_rows *)arg)->n = 0;
    return tqi_exec(l, S_STATS_PRIORITY, NULL, 0, priority_row, arg, NULL, err);
}

int tq_stats_priorities(tq *q, int (*fn)(void *arg, const struct tq_stat_priority *s), void *arg,
                        struct tr_err *err)
{
    TR_CLEANUP(tqi_rows_done) struct tqi_rows s = {0};

    int r = tqi_run(q, OP_READ, priority_op, &s, err);
    struct tq_stat_priority *list = s.list;
    for (size_t i = 0; i < s.n && r >= 0; i++) {
        list[i].queue = s.names[i];
        r = fn(arg, &list[i]);
    }
    return r < 0 ? r : 0;
}

/* ---------------------------------------------------------------- lately */

struct recent {
    const char *queue;
    struct tq_recent r;
};

static int recent_row(void *arg, const struct tq_val *c, int ncols)
{
    struct tq_recent *r = &((struct recent *)arg)->r;
    int64_t state = tqi_val_int(&c[0]), n = tqi_val_int(&c[1]);
    int64_t wait = tqi_val_int(&c[2]), run = tqi_val_int(&c[3]);

    if (ncols < 4)
        return TR_E_FATAL;
    ++*(state == TQ_COMPLETED ? &r->completed : state == TQ_DEAD ? &r->dead : &r->other);
    r->attempts[n < 1 ? 0 : n > TQ_ATTEMPT_BUCKETS ? TQ_ATTEMPT_BUCKETS - 1 : n - 1]++;
    tqw_histogram_add(&r->wait, wait > 0 ? wait : 0);
    tqw_histogram_add(&r->run, run > 0 ? run : 0);
    return 0;
}

static int recent_op(struct tqi_link *l, void *arg, struct tr_err *err)
{
    struct recent *a = arg;
    struct tq_val p[] = {tqi_text(a->queue), tqi_int(a->r.window_us), tqi_int(TQ_BATCH_MAX)};
    int64_t window = a->r.window_us;

    a->r = (struct tq_recent){.window_us = window};
    return tqi_exec(l, S_STATS_RECENT, p, 3, recent_row, a, NULL, err);
}

int tq_recent(tq *q, const char *queue, int64_t window_us, struct tq_recent *ret,
              struct tr_err *err)
{
    struct recent a = {.queue = queue, .r = {.window_us = window_us}};

    int r = tqi_check_name("queue name", queue, false, err);
    if (r >= 0 && window_us < 1)
        return tr_fail(err, TR_E_USAGE, 0, "the window needs a length");
    if (r >= 0)
        r = tqi_run(q, OP_READ, recent_op, &a, err);
    if (r < 0)
        return r;
    a.r.size = ret->size;
    memcpy(ret, &a.r, ret->size < sizeof(a.r) ? ret->size : sizeof(a.r));
    return 0;
}

/* ---------------------------------------------------------------- Prometheus */

/* queue="…", with what Prometheus wants escaped. */
static void add_label(struct tr_buf *b, const char *queue)
{
    tr_buf_adds(b, "queue=\"");
    for (; *queue; queue++) {
        if (*queue == '"' || *queue == '\\')
            tr_buf_addc(b, '\\');
        if (*queue == '\n')
            tr_buf_adds(b, "\\n");
        else
            tr_buf_addc(b, *queue);
    }
    tr_buf_adds(b, "\",");
}

struct text {
    tq *q;
    struct tr_buf *b, *label;
    char (*names)[TQ_NAME_MAX + 1];
    size_t n;
};

static int text_priority(void *arg, const struct tq_stat_priority *s)
{
    struct text *t = arg;
    const struct {
        const char *state;
        int64_t n;
    } rows[] = {{"ready", s->ready},
                {"running", s->running},
                {"scheduled", s->scheduled},
                {"waiting", s->waiting}};

    tr_buf_clear(t->label);
    add_label(t->label, s->queue);
    for (size_t i = 0; i < TR_ARRAY_LEN(rows); i++)
        tr_buf_addf(t->b, "tribunal_queue_jobs{%spriority=\"%d\",state=\"%s\"} %lld\n",
                    t->label->data, s->priority, rows[i].state, (long long)rows[i].n);
    if (s->ready)
        tr_buf_addf(t->b, "tribunal_queue_oldest_ready_seconds{%spriority=\"%d\"} %.3f\n",
                    t->label->data, s->priority, (double)s->oldest_ready_us / 1e6);
    return 0;
}

static int text_queue(void *arg, const struct tq_stat *s)
{
    struct text *t = arg;

    tr_buf_clear(t->label);
    add_label(t->label, s->queue);
    tr_buf_addf(t->b, "tribunal_queue_dead{%.*s} %lld\n", (int)t->label->len - 1, t->label->data,
                (long long)s->dead);
    tr_buf_addf(t->b, "tribunal_queue_completed{%.*s} %lld\n", (int)t->label->len - 1,
                t->label->data, (long long)s->completed);
    void *more = realloc(t->names, (t->n + 1) * sizeof(*t->names));
    if (!more)
        return TR_E_NOMEM;
    t->names = more;
    (void)snprintf(t->names[t->n++], sizeof(t->names[0]), "%s", s->queue);
    return 0;
}

static int text_recent(const struct text *t, size_t i, struct tr_err *err)
{
    struct tq_recent r = TQ_RECENT_INIT;

    int rc = tq_recent(t->q, t->names[i], MINUTE_US, &r, err);
    if (rc < 0)
        return rc;
    tr_buf_clear(t->label);
    add_label(t->label, t->names[i]);
    tr_buf_addf(t->b, "tribunal_queue_finished_last_minute{%sstatus=\"completed\"} %lld\n",
                t->label->data, (long long)r.completed);
    tr_buf_addf(t->b, "tribunal_queue_finished_last_minute{%sstatus=\"dead_letter\"} %lld\n",
                t->label->data, (long long)r.dead);
    tqw_histogram_text(t->b, "tribunal_queue_wait_last_minute_seconds", t->label->data, &r.wait);
    return 0;
}

int tq_prometheus(tq *q, char **ret, struct tr_err *err)
{
    TR_CLEANUP(tr_buf_done) struct tr_buf b, label;
    struct text t = {.q = q, .b = &b, .label = &label};

    tr_buf_init(&b, (size_t)16 << 20);
    tr_buf_init(&label, 4096);
    tr_buf_adds(&b, "# TYPE tribunal_queue_jobs gauge\n"
                    "# TYPE tribunal_queue_oldest_ready_seconds gauge\n"
                    "# TYPE tribunal_queue_dead gauge\n# TYPE tribunal_queue_completed gauge\n"
                    "# TYPE tribunal_queue_finished_last_minute gauge\n");
    int r = tq_stats_priorities(q, text_priority, &t, err);
    if (r >= 0)
        r = tq_stats(q, text_queue, &t, err);
    for (size_t i = 0; i < t.n && r >= 0; i++)
        r = text_recent(&t, i, err);
    free(t.names);
    if (r >= 0)
        r = tr_buf_check(&b, "metrics", err);
    if (r < 0)
        return r;
    *ret = tr_buf_take(&b);
    return *ret ? 0 : tr_fail(err, TR_E_NOMEM, 0, "no memory for the metrics");
}
