/* SPDX-License-Identifier: MIT
 *
 * dispatch.c - queues by band, class and language; rounds of claims for judges with tokens.
 *
 * A queue is asked when something may be in it: we put it there, it gave all that was asked for the
 * last time, or the statistics of every second say so (retries that are due, other controllers'
 * work). One round is under way at a time; the tokens it may use are reserved meanwhile.
 */
#include "controller/dispatch.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "controller/claim.h"
#include "controller/ctl.h"
#include "controller/judge_ws.h"
#include "controller/judges.h"
#include "controller/metrics.h"
#include "controller/setaside.h"
#include "controller/settle.h"

enum {
    QUEUES_MAX = 4096,
    POLL_MS = 1000,
    MINUTE = 60
};

struct queue {
    char name[192];
    char band[8], class[8], lang[72];
    int rank; /* 0 high, 1 normal, 2 low */
    bool hint, paused;
    int64_t ready, scheduled, running, dead, completed;
    int64_t oldest_us;
    int64_t past[MINUTE]; /* completed, by second */
};

struct dispatch {
    struct ctl *ctl;
    struct judge *judges[JUDGES_MAX]; /* of the round that is being made */
    struct queue *list;
    size_t count, cap;
    size_t turn; /* where the round begins: languages of one band take turns */
    bool claiming, polling, poll_again, maintaining;
    int64_t waiting; /* ready and scheduled at the last look, plus what came since */
    unsigned seconds;
    uv_timer_t timer;
    int64_t reclaim_from_us; /* judges may come back and adopt until then */
};

/* ---------------------------------------------------------------- the table */

static bool split_name(struct queue *q)
{
    int n = sscanf(q->name, "judge.%7[a-z].%7[a-z].%71[^\n]", q->band, q->class, q->lang);

    q->rank = strcmp(q->band, "high") == 0 ? 0 : strcmp(q->band, "low") == 0 ? 2 : 1;
    return n == 3;
}

static struct queue *queue_of(struct dispatch *d, const char *name)
{
    for (size_t i = 0; i < d->count; i++)
        if (strcmp(d->list[i].name, name) == 0)
            return &d->list[i];
    struct queue q = {.rank = 1};
    (void)snprintf(q.name, sizeof(q.name), "%s", name);
    if (!split_name(&q) || d->count == QUEUES_MAX)
        return NULL;
    if (d->count == d->cap) {
        size_t cap = d->cap ? 2 * d->cap : 16;
        struct queue *more = realloc(d->list, cap * sizeof(*more));

        if (!more)
            return NULL;
        d->list = more;
        d->cap = cap;
    }
    d->list[d->count] = q;
    return &d->list[d->count++];
}

void dispatch_hint(struct ctl *ctl, const char *queue)
{
    struct queue *q = queue_of(ctl->dispatch, queue);

    if (!q)
        return;
    q->hint = true;
    ctl->dispatch->waiting++;
    dispatch_kick(ctl);
}

/* ---------------------------------------------------------------- a round */

static bool eligible(const struct judge *g, const struct queue *q)
{
    if (strcmp(q->lang, "custom") != 0 && !judge_has_lang(g, q->lang))
        return false;
    if (strcmp(q->class, "huge") == 0)
        return g->memory_mib >= 16384;
    if (strcmp(q->class, "big") == 0)
        return g->memory_mib >= 4096;
    return strcmp(q->class, "heavy") == 0 ? g->heavy : g->light;
}

static bool askable(const struct dispatch *d, const struct queue *q)
{
    return q->hint && !q->paused && !setaside_is(d->ctl->setaside, SETASIDE_LANGUAGE, q->lang);
}

static void fill_offer(struct offer *f, const struct judge *g)
{
    (void)snprintf(f->session, sizeof(f->session), "%s", g->session);
    (void)snprintf(f->judge_id, sizeof(f->judge_id), "%s", g->judge_id);
    f->room = judge_free_tokens(g);
    f->marks = g->ndata ? malloc(g->ndata * sizeof(uint64_t)) : NULL;
    for (size_t i = 0; f->marks && i < g->ndata; i++)
        f->marks[i] = claim_mark(g->data[i]);
    f->nmarks = f->marks ? g->ndata : 0;
}

/* Is there a queue that this one could serve now? Thousands may be connected, few concerned. */
static bool concerned(const struct dispatch *d, const struct judge *g)
{
    for (size_t i = 0; i < d->count; i++)
        if (askable(d, &d->list[i]) && eligible(g, &d->list[i]))
            return true;
    return false;
}

/* The next queues in order of their bands; of equal band, those after the one that was last. */
static void fill_queues(struct dispatch *d, struct claim_op *o, struct judge **judges, size_t n)
{
    for (int rank = 0; rank <= 2; rank++)
        for (size_t k = 0; k < d->count && o->nqueues < CLAIM_QUEUES_MAX; k++) {
            const struct queue *q = &d->list[(d->turn + k) % d->count];
            struct claim_queue *c = &o->queues[o->nqueues];
            bool any = false;

            if (q->rank != rank || !askable(d, q))
                continue;
            for (size_t i = 0; i < n; i++) {
                c->eligible[i] = eligible(judges[i], q);
                any = any || c->eligible[i];
            }
            if (!any)
                continue;
            (void)snprintf(c->name, sizeof(c->name), "%s", q->name);
            o->nqueues++;
        }
    d->turn++;
}

static void send_claimed(struct ctl *ctl, struct claim_op *o)
{
    while (o->first) {
        struct claimed *c = o->first;
        struct judge *g = judge_ws_session(ctl, o->offers[c->offer].session);

        o->first = c->next;
        if (g && g->state == JUDGE_READY) {
            metrics_waited(ctl, c->run->since_us - c->run->created_us);
            judge_ws_task(g, c);
        } else {
            settle_release(ctl, c->run); /* it went while we asked */
        }
        free(c->task);
        free(c);
    }
}

static void round_done(struct op *op)
{
    struct claim_op *o = (struct claim_op *)op;
    struct dispatch *d = op->ctl->dispatch;

    d->claiming = false;
    for (struct judge *g = judges_first(op->ctl->judges); g; g = g->next)
        g->reserved = 0; /* one round at a time reserves */
    if (op->result < 0)
        storage_warn(op);
    for (size_t i = 0; i < o->nqueues; i++) {
        struct queue *q = queue_of(d, o->queues[i].name);

        /* the hint was taken down when the round was made; put it up again where more waits */
        if (q && (op->result < 0 || !o->queues[i].emptied))
            q->hint = true;
    }
    if (o->first)
        events_poke(op->ctl->events);
    send_claimed(op->ctl, o);
    claim_free(o);
    dispatch_kick(d->ctl);
}

static struct claim_op *make_round(struct dispatch *d)
{
    struct judge **judges = d->judges;
    const char *aside[CLAIM_ASIDE_MAX];
    size_t n = 0;

    for (struct judge *g = judges_first(d->ctl->judges); g && n < JUDGES_MAX; g = g->next)
        if (judge_free_tokens(g) > 0 && concerned(d, g))
            judges[n++] = g;
    struct claim_op *o = n ? claim_new(n) : NULL;
    if (!o)
        return NULL;
    for (size_t i = 0; i < n; i++)
        fill_offer(&o->offers[i], judges[i]);
    o->noffers = n;
    fill_queues(d, o, judges, n);
    o->naside = setaside_problems(d->ctl->setaside, aside, CLAIM_ASIDE_MAX);
    for (size_t i = 0; i < o->naside; i++)
        (void)snprintf(o->aside[i], sizeof(o->aside[i]), "%s", aside[i]);
    if (!o->nqueues) {
        claim_free(o);
        return NULL;
    }
    for (size_t i = 0; i < n; i++)
        judges[i]->reserved += o->offers[i].room;
    return o;
}

void dispatch_kick(struct ctl *ctl)
{
    struct dispatch *d = ctl->dispatch;
    bool any = false;

    if (d->claiming || ctl->stopping)
        return;
    for (size_t i = 0; i < d->count && !any; i++)
        any = askable(d, &d->list[i]);
    struct claim_op *o = any ? make_round(d) : NULL;
    if (!o)
        return;
    d->claiming = true;
    o->lease_us = ctl_lease_us(ctl);
    o->op.run = claim_run;
    o->op.done = round_done;
    o->op.lane = OP_NORMAL;
    for (size_t i = 0; i < o->nqueues; i++) /* a hint that comes from now on is news */
        queue_of(d, o->queues[i].name)->hint = false;
    storage_do(ctl->storage, &o->op);
}

/* ---------------------------------------------------------------- looking */

struct stat_row {
    char name[192];
    int64_t ready, scheduled, running, dead, completed, oldest_us;
    bool paused;
};

struct poll_op {
    struct op op;
    struct stat_row *rows;
    size_t count, cap;
};

static int stat_row(void *arg, const struct tq_stat *s)
{
    struct poll_op *o = arg;

    if (o->count == o->cap) {
        size_t cap = o->cap ? 2 * o->cap : 32;
        struct stat_row *more = realloc(o->rows, cap * sizeof(*more));

        if (!more)
            return TR_E_NOMEM;
        o->rows = more;
        o->cap = cap;
    }
    struct stat_row *r = &o->rows[o->count++];
    *r = (struct stat_row){.ready = s->ready,
                           .scheduled = s->scheduled,
                           .running = s->running,
                           .dead = s->dead,
                           .completed = s->completed,
                           .oldest_us = s->oldest_ready_us,
                           .paused = s->paused != 0};
    (void)snprintf(r->name, sizeof(r->name), "%s", s->queue);
    return 0;
}

static int run_poll(struct op *op, struct tr_store *st, struct tr_err *err)
{
    struct poll_op *o = (struct poll_op *)op;

    o->count = 0;
    return tq_stats(tr_store_queue(st), stat_row, o, err);
}

static void poll_done(struct op *op)
{
    struct poll_op *o = (struct poll_op *)op;
    struct dispatch *d = op->ctl->dispatch;
    int64_t waiting = 0;

    d->polling = false;
    for (size_t i = 0; op->result >= 0 && i < o->count; i++) {
        const struct stat_row *r = &o->rows[i];
        struct queue *q = queue_of(d, r->name);

        if (!q)
            continue;
        q->ready = r->ready;
        q->scheduled = r->scheduled;
        q->running = r->running;
        q->dead = r->dead;
        q->completed = r->completed;
        q->oldest_us = r->oldest_us;
        q->paused = r->paused;
        q->past[d->seconds % MINUTE] = r->completed;
        /* a claim makes ready what is due */
        q->hint = q->hint || r->ready > 0 || r->scheduled > 0;
        waiting += r->ready + r->scheduled;
    }
    if (op->result >= 0)
        d->waiting = waiting;
    else
        storage_warn(op);
    free(o->rows);
    free(o);
    dispatch_kick(d->ctl);
    if (d->poll_again) {
        d->poll_again = false;
        dispatch_poll(d->ctl);
    }
}

void dispatch_poll(struct ctl *ctl)
{
    struct dispatch *d = ctl->dispatch;

    if (d->polling) {
        d->poll_again = true;
        return;
    }
    struct poll_op *o = calloc(1, sizeof(*o));
    if (!o || ctl->stopping) {
        free(o);
        return;
    }
    d->polling = true;
    o->op = (struct op){.run = run_poll, .done = poll_done, .lane = OP_READ};
    storage_do(ctl->storage, &o->op);
}

/* ---------------------------------------------------------------- housekeeping */

static int run_maintain(struct op *op, struct tr_store *st, struct tr_err *err)
{
    (void)op;
    return tq_maintain(tr_store_queue(st), err);
}

static void maintain_done(struct op *op)
{
    op->ctl->dispatch->maintaining = false;
    if (op->result < 0)
        storage_warn(op);
    free(op);
}

/* Expired leases back, due retries ready, old history away. Not in the first seconds: judges of the
 * process before us come back and go on with what they have. */
static void maintain(struct dispatch *d)
{
    struct op *op = d->maintaining ? NULL : calloc(1, sizeof(*op));

    if (!op)
        return;
    d->maintaining = true;
    *op = (struct op){.run = run_maintain, .done = maintain_done, .lane = OP_NORMAL, .alone = true};
    storage_do(d->ctl->storage, op);
}

static void on_timer(uv_timer_t *t)
{
    struct dispatch *d = t->data;

    d->seconds++;
    if (d->ctl->stopping)
        return;
    if (tr_clock_mono_us() >= d->reclaim_from_us)
        maintain(d);
    dispatch_poll(d->ctl);
    metrics_second(d->ctl);
}

int dispatch_new(struct ctl *ctl, struct dispatch **ret, struct tr_err *err)
{
    struct dispatch *d = calloc(1, sizeof(*d));

    if (!d)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory for dispatch");
    d->ctl = ctl;
    d->reclaim_from_us = tr_clock_mono_us() + ctl->conf.grace_us;
    (void)uv_timer_init(tr_loop_uv(ctl->loop), &d->timer);
    d->timer.data = d;
    (void)uv_timer_start(&d->timer, on_timer, 10, POLL_MS);
    *ret = d;
    return 0;
}

void dispatch_free(struct dispatch *d)
{
    if (!d)
        return;
    free(d->list);
    free(d);
}

/* ---------------------------------------------------------------- what people see */

int64_t dispatch_waiting(const struct ctl *ctl)
{
    return ctl->dispatch->waiting;
}

static size_t serving(const struct ctl *ctl, const struct queue *q)
{
    size_t n = 0;

    for (const struct judge *g = judges_first(ctl->judges); g; g = g->next)
        n += g->state == JUDGE_READY && !g->draining && eligible(g, q);
    return n;
}

void dispatch_totals(const struct ctl *ctl, struct dispatch_totals *ret)
{
    const struct dispatch *d = ctl->dispatch;

    *ret = (struct dispatch_totals){0};
    for (size_t i = 0; i < d->count; i++) {
        const struct queue *q = &d->list[i];
        double oldest = (double)q->oldest_us / 1e6;

        ret->ready += q->ready;
        ret->scheduled += q->scheduled;
        ret->running += q->running;
        ret->dead += q->dead;
        ret->oldest_s = oldest > ret->oldest_s ? oldest : ret->oldest_s;
    }
}

json_t *dispatch_json(const struct ctl *ctl)
{
    const struct dispatch *d = ctl->dispatch;
    json_t *list = json_array();

    for (size_t i = 0; i < d->count; i++) {
        const struct queue *q = &d->list[i];
        int64_t before = q->past[(d->seconds + 1) % MINUTE];
        int64_t done = q->completed > before && d->seconds > MINUTE ? q->completed - before : 0;

        if (d->seconds <= MINUTE)
            done = q->completed - q->past[1] > 0 ? q->completed - q->past[1] : 0;
        (void)json_array_append_new(
            list, json_pack("{s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:f, s:I, s:b, s:I}", "name",
                            q->name, "band", q->band, "class", q->class, "language", q->lang,
                            "ready", (json_int_t)q->ready, "scheduled", (json_int_t)q->scheduled,
                            "running", (json_int_t)q->running, "dead", (json_int_t)q->dead,
                            "oldest_s", (double)q->oldest_us / 1e6, "per_minute", (json_int_t)done,
                            "paused", (int)q->paused, "judges", (json_int_t)serving(ctl, q)));
    }
    return list;
}

void dispatch_each(const struct ctl *ctl, void (*fn)(void *arg, const struct dispatch_view *v),
                   void *arg)
{
    const struct dispatch *d = ctl->dispatch;

    for (size_t i = 0; i < d->count; i++) {
        const struct queue *q = &d->list[i];
        struct dispatch_view v = {q->name,
                                  q->ready,
                                  q->scheduled,
                                  q->running,
                                  q->dead,
                                  q->completed,
                                  (double)q->oldest_us / 1e6};
        fn(arg, &v);
    }
}
