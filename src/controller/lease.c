/* SPDX-License-Identifier: MIT
 *
 * lease.c - see lease.h.
 */
#include "controller/lease.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/parse.h"
#include "controller/ctl.h"
#include "controller/dispatch.h"
#include "controller/judge_ws.h"
#include "controller/judges.h"
#include "controller/settle.h"

struct item {
    char submit_id[132];
    int64_t run_lease, new_lease;
    struct tq_ref job;
    bool lost;
    /* adoption: what we have to know of it */
    char problem[200], lang[72];
    int64_t generation, retry_count, crashes;
};

struct lease_op {
    struct op op;
    char session[17], judge_id[TR_JUDGE_ID_MAX + 1];
    json_t *lost;
    size_t n;
    struct item items[];
};

static struct lease_op *new_op(struct judge *g, size_t n)
{
    struct lease_op *o = calloc(1, sizeof(*o) + n * sizeof(struct item));

    if (!o)
        return NULL;
    o->op.lane = OP_URGENT;
    (void)snprintf(o->session, sizeof(o->session), "%s", g->session);
    (void)snprintf(o->judge_id, sizeof(o->judge_id), "%s", g->judge_id);
    return o;
}

static json_t *fence_json(const char *submit_id, int64_t run_lease)
{
    return json_pack("{s:s, s:I}", "submit_id", submit_id, "run_lease", (json_int_t)run_lease);
}

/* ---------------------------------------------------------------- renewal */

static int run_renew(struct op *op, struct tr_store *st, struct tr_err *err)
{
    struct lease_op *o = (struct lease_op *)op;
    int64_t lease = ctl_lease_us(op->ctl);
    struct tq_ref refs[JUDGE_TOKENS_MAX];
    unsigned char beats[JUDGE_TOKENS_MAX];
    size_t n = 0;

    for (size_t i = 0; i < o->n; i++) {
        struct item *t = &o->items[i];
        int r = tr_store_renew(st, t->submit_id, t->run_lease, lease, err);

        if (r < 0 && r != TR_E_LOST && r != TR_E_NOTFOUND)
            return r;
        t->lost = r < 0;
        if (!t->lost && n < JUDGE_TOKENS_MAX)
            refs[n++] = t->job;
    }
    int r = n ? tq_heartbeat(tr_store_queue(st), refs, n, lease, beats, err) : 0;
    return r < 0 ? r : 0;
}

static void renew_done(struct op *op)
{
    struct lease_op *o = (struct lease_op *)op;
    struct judge *g = judge_ws_session(op->ctl, o->session);

    if (g)
        g->renewing = false;
    for (size_t i = 0; g && op->result >= 0 && i < o->n; i++) {
        const struct item *t = &o->items[i];
        const struct run *r = t->lost ? judge_run(g, t->submit_id) : NULL;

        if (!t->lost)
            continue;
        (void)json_array_append_new(o->lost, fence_json(t->submit_id, t->run_lease));
        if (r && r->run_lease == t->run_lease)
            run_free(judge_take_run(g, t->submit_id));
    }
    if (g && op->result >= 0)
        judge_ws_send(
            g, json_pack("{s:s, s:I, s:O}", "type", "beat", "seq", g->beat_seq, "lost", o->lost));
    if (op->result < 0)
        storage_warn(op);
    json_decref(o->lost);
    free(o);
    if (g)
        dispatch_kick(g->ctl);
}

void lease_renew(struct judge *g, json_int_t seq, const json_t *running, json_t *lost)
{
    /* One that comes before the last was answered is answered with it: a flood of them must not
     * keep the database from others. */
    g->beat_seq = seq;
    struct lease_op *o = g->renewing ? NULL : new_op(g, (size_t)g->nruns);
    size_t i;
    const json_t *v;

    if (!o) {
        json_decref(lost);
        return;
    }
    o->lost = lost;
    json_array_foreach(running, i, v)
    {
        const char *id = json_string_value(json_object_get(v, "submit_id"));
        const struct run *r = id ? judge_run(g, id) : NULL;

        if (!r || r->run_lease != json_integer_value(json_object_get(v, "run_lease")) ||
            o->n >= (size_t)g->nruns)
            continue;
        struct item *t = &o->items[o->n++];
        (void)snprintf(t->submit_id, sizeof(t->submit_id), "%s", id);
        t->run_lease = r->run_lease;
        t->job = r->job;
    }
    o->op.ctl = g->ctl;
    o->op.run = run_renew;
    o->op.done = renew_done;
    if (o->n == 0) {
        renew_done(&o->op);
        return;
    }
    g->renewing = true;
    storage_do(g->ctl->storage, &o->op);
}

/* ---------------------------------------------------------------- adoption */

/* Tickets and fences are small numbers that anybody can guess: what another judge has is not
 * touched. 1: it is this judge's, and `t` is filled; 0: it is not. */
static int look(struct item *t, const char *judge_id, struct tr_store *st, struct tr_err *err)
{
    struct tr_arena arena;
    struct tr_submission s;

    tr_arena_init(&arena, 1 << 20);
    int r = tr_store_get(st, t->submit_id, &arena, &s, err);
    if (r >= 0) {
        r = s.status == TR_RUNNING && s.job_id == t->job.id && s.run_lease == t->run_lease &&
            s.worker_id && strcmp(s.worker_id, judge_id) == 0;
        (void)snprintf(t->problem, sizeof(t->problem), "%s", s.problem_id);
        (void)snprintf(t->lang, sizeof(t->lang), "%s", s.lang);
        t->generation = s.generation;
        t->retry_count = s.retry_count;
        t->crashes = s.crashes;
    }
    tr_arena_done(&arena);
    return r == TR_E_NOTFOUND ? 0 : r;
}

static int adopt_one(struct item *t, const struct lease_op *o, struct tr_store *st,
                     struct tr_err *err)
{
    struct tq_ref job = t->job;
    tq *q = tr_store_queue(st);
    int64_t lease = ctl_lease_us(o->op.ctl);
    int r = look(t, o->judge_id, st, err);

    t->lost = true;
    if (r <= 0)
        return r;
    r = tq_adopt(q, &job, lease, err);
    if (r == TR_E_LOST)
        return 0;
    if (r >= 0)
        r = tr_store_adopt(st, t->submit_id, t->run_lease, lease, &t->new_lease, err);
    if (r == TR_E_LOST || r == TR_E_NOTFOUND) /* a job without its submission: nobody needs it */
        return tq_discard(q, job, "its submission has moved on", 27, err);
    t->lost = r < 0;
    return r;
}

static int run_adopt(struct op *op, struct tr_store *st, struct tr_err *err)
{
    struct lease_op *o = (struct lease_op *)op;
    int r = 0;

    for (size_t i = 0; r >= 0 && i < o->n; i++) {
        /* adopt_one() changes its own copy, so that a second run of the batch begins alike */
        o->items[i].new_lease = 0;
        r = adopt_one(&o->items[i], o, st, err);
    }
    return r < 0 ? r : 0;
}

/* What an earlier session of the same judge had and this one did not bring. */
static void drop_old_sessions(struct judge *g)
{
    struct judge *next;

    for (struct judge *old = judges_first(g->ctl->judges); old; old = next) {
        next = old->next;
        if (old == g || old->state != JUDGE_LOST || strcmp(old->judge_id, g->judge_id) != 0)
            continue;
        while (old->runs)
            settle_crash(g->ctl, g->judge_id, judge_take_run(old, old->runs->submit_id),
                         "the judge came back without it");
        judge_remove(old);
    }
}

static struct run *run_of(const struct item *t)
{
    struct run *r = run_new(t->submit_id, t->problem, t->lang);

    if (!r)
        return NULL;
    r->run_lease = t->new_lease;
    r->job = (struct tq_ref){t->job.id, t->job.run_lease + 1};
    r->generation = t->generation;
    r->retry_count = t->retry_count;
    r->crashes = t->crashes;
    r->own_lang = r->own_data = true; /* the row does not tell */
    return r;
}

static void forget_elsewhere(struct ctl *ctl, const char *submit_id)
{
    struct judge *g;

    while ((g = judges_of_run(ctl->judges, submit_id)))
        run_free(judge_take_run(g, submit_id));
}

static void adopt_done(struct op *op)
{
    struct lease_op *o = (struct lease_op *)op;
    struct judge *g = judge_ws_session(op->ctl, o->session);
    json_t *tasks = json_array(), *lost = json_array();

    for (size_t i = 0; i < o->n; i++) {
        const struct item *t = &o->items[i];
        struct run *r = t->lost || op->result < 0 ? NULL : run_of(t);

        if (!r) {
            (void)json_array_append_new(lost, fence_json(t->submit_id, t->run_lease));
            continue;
        }
        forget_elsewhere(op->ctl, t->submit_id);
        if (!g) {
            settle_crash(op->ctl, "", r, "the judge was lost again");
            continue;
        }
        char ticket[64];
        (void)snprintf(ticket, sizeof(ticket), "%lld.%lld", (long long)r->job.id,
                       (long long)r->job.run_lease);
        (void)json_array_append_new(tasks, json_pack("{s:s, s:I, s:I, s:s}", "submit_id",
                                                     t->submit_id, "run_lease",
                                                     (json_int_t)t->run_lease, "new_run_lease",
                                                     (json_int_t)t->new_lease, "ticket", ticket));
        judge_add_run(g, r);
    }
    if (op->result < 0)
        storage_warn(op);
    if (g) {
        drop_old_sessions(g);
        if (o->n > 0)
            judge_ws_send(
                g, json_pack("{s:s, s:O, s:O}", "type", "adopted", "tasks", tasks, "lost", lost));
        judge_ws_begin(g);
    }
    json_decref(tasks);
    json_decref(lost);
    free(o);
}

static bool read_ticket(const char *ticket, struct tq_ref *ret)
{
    const char *dot = ticket ? strchr(ticket, '.') : NULL;
    int64_t id = 0, lease = 0;
    char word[24];

    if (!dot || (size_t)(dot - ticket) >= sizeof(word))
        return false;
    (void)snprintf(word, sizeof(word), "%.*s", (int)(dot - ticket), ticket);
    if (tr_parse_i64(word, 1, INT64_MAX, &id, NULL) < 0 ||
        tr_parse_i64(dot + 1, 1, INT64_MAX, &lease, NULL) < 0)
        return false;
    *ret = (struct tq_ref){id, lease};
    return true;
}

void lease_adopt(struct judge *g, const json_t *running)
{
    size_t i, n = running ? json_array_size(running) : 0;
    const json_t *v;
    struct lease_op *o = new_op(g, n);

    if (!o)
        return;
    o->op.ctl = g->ctl;
    o->op.run = run_adopt;
    o->op.done = adopt_done;
    json_array_foreach(running, i, v)
    {
        const char *id = json_string_value(json_object_get(v, "submit_id"));
        struct item *t = &o->items[o->n];

        if (!id || strlen(id) >= sizeof(t->submit_id) ||
            !read_ticket(json_string_value(json_object_get(v, "ticket")), &t->job))
            continue;
        (void)snprintf(t->submit_id, sizeof(t->submit_id), "%s", id);
        t->run_lease = json_integer_value(json_object_get(v, "run_lease"));
        o->n++;
    }
    if (o->n == 0)
        adopt_done(&o->op);
    else
        storage_do(g->ctl->storage, &o->op);
}
