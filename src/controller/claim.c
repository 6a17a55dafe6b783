/* SPDX-License-Identifier: MIT
 *
 * claim.c - the storage side of dispatch; see claim.h.
 */
#include "controller/claim.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "codec/json.h"
#include "store/tell.h"

enum {
    ARENA_MAX = 40 * 1024 * 1024,
    NOTE_MAX = 4096
};
#define ASIDE_US INT64_C(30000000) /* a job of a problem that is set aside is looked at again */

struct claim_op *claim_new(size_t noffers)
{
    struct claim_op *o = calloc(1, sizeof(*o));

    if (!o)
        return NULL;
    o->offers = calloc(noffers ? noffers : 1, sizeof(*o->offers));
    for (size_t i = 0; o->offers && i < CLAIM_QUEUES_MAX; i++)
        o->queues[i].eligible = calloc(noffers ? noffers : 1, sizeof(bool));
    if (!o->offers || !o->queues[CLAIM_QUEUES_MAX - 1].eligible) {
        claim_free(o);
        return NULL;
    }
    return o;
}

static void drop_claimed(struct claim_op *o)
{
    while (o->first) {
        struct claimed *c = o->first;

        o->first = c->next;
        run_free(c->run);
        free(c->task);
        free(c);
    }
}

void claim_free(struct claim_op *o)
{
    if (!o)
        return;
    drop_claimed(o);
    for (size_t i = 0; o->offers && i < o->noffers; i++)
        free(o->offers[i].marks);
    free(o->offers);
    for (size_t i = 0; i < CLAIM_QUEUES_MAX; i++)
        free(o->queues[i].eligible);
    free(o);
}

uint64_t claim_mark(const char *sha256)
{
    char head[17] = "";

    (void)snprintf(head, sizeof(head), "%.16s", sha256);
    return strtoull(head, NULL, 16); /* our own digits; 0 for an empty text */
}

/* ---------------------------------------------------------------- the note in a job */

json_t *job_note_json(const struct job_note *n)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:b, s:b, s:b}", "submit_id",
                     n->submit_id, "problem", n->problem, "lang", n->lang, "data", n->data, "code",
                     n->code, "version", n->version, "generation", (json_int_t)n->generation,
                     "heavy", (int)n->heavy, "run", (int)n->run, "own_lang", (int)n->own_lang);
}

static bool parse_note(const struct tq_job *job, struct job_note *ret)
{
    TR_CLEANUP(tr_json_unrefp) json_t *j = NULL;
    const char *id, *problem, *lang, *data, *code, *version;
    json_int_t generation = 0;
    int heavy = 0, run = 0, own_lang = 0;

    if (tr_json_parse(job->payload, job->payload_len, NOTE_MAX, &j, NULL) < 0 ||
        json_unpack(j, "{s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:b, s:b, s?b}", "submit_id", &id,
                    "problem", &problem, "lang", &lang, "data", &data, "code", &code, "version",
                    &version, "generation", &generation, "heavy", &heavy, "run", &run, "own_lang",
                    &own_lang) < 0)
        return false;
    *ret = (struct job_note){
        .generation = generation, .heavy = heavy, .run = run, .own_lang = own_lang};
    (void)snprintf(ret->submit_id, sizeof(ret->submit_id), "%s", id);
    (void)snprintf(ret->problem, sizeof(ret->problem), "%s", problem);
    (void)snprintf(ret->lang, sizeof(ret->lang), "%s", lang);
    (void)snprintf(ret->data, sizeof(ret->data), "%s", data);
    (void)snprintf(ret->code, sizeof(ret->code), "%s", code);
    (void)snprintf(ret->version, sizeof(ret->version), "%s", version);
    return true;
}

/* ---------------------------------------------------------------- choosing */

static bool has_mark(const struct offer *f, const char *sha256)
{
    uint64_t mark = claim_mark(sha256);

    for (size_t i = 0; mark && i < f->nmarks; i++)
        if (f->marks[i] == mark)
            return true;
    return false;
}

/* Who has compiled it before, then who has its data, then who has the most room. */
static size_t choose(const struct claim_op *o, const struct claim_queue *q,
                     const struct job_note *n)
{
    size_t best = o->noffers;
    int64_t best_score = -1;

    for (size_t i = 0; i < o->noffers; i++) {
        const struct offer *f = &o->offers[i];

        if (!q->eligible[i] || f->left <= 0)
            continue;
        int64_t score =
            (has_mark(f, n->code) ? 1 << 22 : 0) + (has_mark(f, n->data) ? 1 << 21 : 0) + f->left;
        if (score > best_score) {
            best_score = score;
            best = i;
        }
    }
    return best;
}

static int64_t room(const struct claim_op *o, const struct claim_queue *q)
{
    int64_t n = 0;

    for (size_t i = 0; i < o->noffers; i++)
        n += q->eligible[i] ? o->offers[i].left : 0;
    return n;
}

/* ---------------------------------------------------------------- one job */

static int tell_running(struct tr_store *st, const struct job_note *n, const char *judge_id,
                        struct tr_err *err)
{
    const struct tr_tell t = {.submit_id = n->submit_id,
                              .status = "RUNNING",
                              .generation = n->generation,
                              .worker_id = judge_id,
                              .problem = n->problem,
                              .language = n->lang};

    return tr_store_tell(st, &t, err);
}

static int take_task(struct claim_op *o, struct tr_store *st, const struct tq_job *job,
                     const struct job_note *n, size_t offer, const struct tr_start *s,
                     struct tr_err *err)
{
    struct tr_arena arena;
    const char *task = NULL, *result = NULL;
    size_t task_len = 0, result_len = 0;
    struct claimed *c = calloc(1, sizeof(*c));

    if (!c)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory for a task");
    c->next = o->first;
    o->first = c;
    tr_arena_init(&arena, ARENA_MAX);
    int r = tr_store_texts(st, n->submit_id, &arena, &task, &task_len, &result, &result_len, err);
    c->task = r < 0 ? NULL : strndup(task, task_len);
    tr_arena_done(&arena);
    c->run = run_new(n->submit_id, n->problem, n->lang);
    if (r < 0 || !c->task || !c->run)
        return r < 0 ? r : tr_fail(err, TR_E_NOMEM, 0, "no memory for a task");
    c->task_len = task_len;
    c->offer = offer;
    c->custom_run = n->run;
    memcpy(c->data, n->data, sizeof(c->data));
    memcpy(c->code, n->code, sizeof(c->code));
    memcpy(c->version, n->version, sizeof(c->version));
    c->run->run_lease = s->run_lease;
    c->run->generation = s->generation;
    c->run->retry_count = s->retry_count;
    c->run->crashes = s->crashes;
    c->run->job = job->ref;
    c->run->heavy = n->heavy;
    c->run->own_lang = n->own_lang;
    c->run->own_data = !*n->data;
    c->run->created_us = job->created_us;
    return tell_running(st, n, o->offers[offer].judge_id, err);
}

/* A job whose submission cannot be started now, or ever. */
static int put_away(tq *q, const struct tq_job *job, int started, int64_t wait_us,
                    struct tr_err *err)
{
    static const char why[] = "its submission does not wait for a judge any more";

    if (started == TR_START_BUSY || started == TR_START_EARLY)
        return tq_snooze(q, job->ref, wait_us, err);
    if (started == TR_START_DEAD || started == TR_START_WORN_OUT)
        return tq_bury(q, job->ref, why, sizeof(why) - 1, err);
    return tq_discard(q, job->ref, why, sizeof(why) - 1, err);
}

static bool is_aside(const struct claim_op *o, const char *problem)
{
    for (size_t i = 0; i < o->naside; i++)
        if (strcmp(o->aside[i], problem) == 0)
            return true;
    return false;
}

static int start_job(struct claim_op *o, struct tr_store *st, const struct claim_queue *queue,
                     const struct tq_job *job, struct tr_err *err)
{
    struct job_note n;
    struct tr_start s = {0};
    tq *q = tr_store_queue(st);

    if (!parse_note(job, &n))
        return tq_bury(q, job->ref, "not a note of ours", 18, err);
    if (*n.data && is_aside(o, n.problem))
        return tq_snooze(q, job->ref, ASIDE_US, err);
    size_t i = choose(o, queue, &n);
    if (i == o->noffers)
        return tq_release(q, job->ref, err);
    tr_store_set_worker(st, o->offers[i].judge_id);
    int r = tr_store_start(st, n.submit_id, n.generation, o->lease_us, &s, err);
    if (r < 0)
        return r;
    if (r != TR_START_OK)
        return put_away(q, job, r, s.wait_us, err);
    o->offers[i].left--;
    return take_task(o, st, job, &n, i, &s, err);
}

static int claim_one(struct claim_op *o, struct tr_store *st, struct claim_queue *queue,
                     struct tr_err *err)
{
    int64_t want = room(o, queue);
    tq_batch *batch = NULL;

    queue->emptied = false;
    if (want <= 0)
        return 0;
    if (want > CLAIM_JOBS_MAX)
        want = CLAIM_JOBS_MAX;
    int n = tq_claim(tr_store_queue(st), queue->name, (int)want, o->lease_us, &batch, err);
    int r = n;
    for (int i = 0; r >= 0 && i < n; i++)
        r = start_job(o, st, queue, tq_batch_job(batch, i), err);
    queue->emptied = n >= 0 && n < want;
    tq_batch_free(batch);
    return r;
}

int claim_run(struct op *op, struct tr_store *st, struct tr_err *err)
{
    struct claim_op *o = (struct claim_op *)op;
    int r = 0;

    drop_claimed(o); /* of a try that was rolled back */
    for (size_t i = 0; i < o->noffers; i++)
        o->offers[i].left = o->offers[i].room;
    for (size_t i = 0; r >= 0 && i < o->nqueues; i++)
        r = claim_one(o, st, &o->queues[i], err);
    return r < 0 ? r : 0;
}
