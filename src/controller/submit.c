/* SPDX-License-Identifier: MIT
 *
 * submit.c - see submit.h. The row, its job and the event commit together; an answer leaves after.
 */
#include "controller/submit.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "codec/json.h"
#include "controller/claim.h"
#include "controller/ctl.h"
#include "controller/dispatch.h"
#include "controller/judge_ws.h"
#include "controller/metrics.h"
#include "store/tell.h"

enum {
    ARENA_MAX = 40 * 1024 * 1024,
    JOB_TRIES =
        1000 /* the submission counts its faults and crashes; the queue must not stop first */
};

static int tell(struct tr_store *st, const struct submit_op *o, const char *status,
                const char *message, struct tr_err *err)
{
    const struct spec *s = o->spec.task ? &o->spec : NULL; /* cancel and retry know the id only */
    const struct tr_tell t = {.submit_id = o->submit_id,
                              .status = status,
                              .generation = o->generation,
                              .problem = s ? s->problem : NULL,
                              .language = s ? s->lang : NULL,
                              .user = s ? s->user_name : NULL,
                              .message = message};

    return tr_store_tell(st, &t, err);
}

/* The job of a submission; the caller frees *ret_text, which is its payload. */
static int make_item(const struct spec *s, int64_t generation, struct tq_item *ret, char **ret_text,
                     struct tr_err *err)
{
    struct job_note n = {.generation = generation,
                         .heavy = strcmp(s->class, "heavy") == 0,
                         .run = s->run,
                         .own_lang = s->own_lang};
    const char *code = strstr(s->task, "\"code\"");

    (void)snprintf(n.submit_id, sizeof(n.submit_id), "%s", s->submit_id);
    (void)snprintf(n.problem, sizeof(n.problem), "%s", s->problem);
    (void)snprintf(n.lang, sizeof(n.lang), "%s", s->lang);
    (void)snprintf(n.data, sizeof(n.data), "%s", s->data);
    (void)snprintf(n.version, sizeof(n.version), "%s", s->version);
    if (code) /* who compiled this text before is the better judge for it */
        tr_sha256_hex(code, strlen(code), n.code);
    json_t *j = job_note_json(&n);
    *ret_text = j ? json_dumps(j, JSON_COMPACT) : NULL;
    json_decref(j);
    if (!*ret_text)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory for a job");
    *ret = (struct tq_item)TQ_ITEM_INIT;
    ret->queue = s->queue;
    ret->kind = s->run ? "run" : "judge";
    ret->payload = *ret_text;
    ret->payload_len = strlen(*ret_text);
    ret->json = 1;
    ret->priority = (int)s->priority;
    ret->max_attempts = JOB_TRIES;
    ret->max_crashes = JOB_TRIES;
    ret->group_key = s->user_id && *s->user_id ? s->user_id : NULL;
    return 0;
}

static int enqueue(struct tr_store *st, const struct spec *s, int64_t generation, int64_t *ret_job,
                   struct tr_err *err)
{
    tr_autofree char *text = NULL;
    struct tq_enqueued got = {0};
    struct tq_item item;
    int r = make_item(s, generation, &item, &text, err);

    if (r >= 0)
        r = tq_enqueue(tr_store_queue(st), &item, &got, err);
    *ret_job = got.id;
    return r;
}

/* ---------------------------------------------------------------- new */

static int note_existing(struct submit_op *o, struct tr_store *st, const char *id,
                         struct tr_err *err)
{
    struct tr_arena arena;
    struct tr_submission s;

    tr_arena_init(&arena, ARENA_MAX);
    int r = tr_store_get(st, id, &arena, &s, err);
    if (r >= 0) {
        o->outcome = SUBMIT_EXISTED;
        o->generation = s.generation;
        (void)snprintf(o->submit_id, sizeof(o->submit_id), "%s", s.submit_id);
        (void)snprintf(o->status, sizeof(o->status), "%s", tr_state_name(s.status));
    }
    tr_arena_done(&arena);
    return r;
}

static struct tr_submission_new row_of(const struct spec *s)
{
    return (struct tr_submission_new){
        .submit_id = s->submit_id,
        .user_id = s->user_id,
        .user_name = s->user_name,
        .idempotency_key = s->idempotency_key,
        .source = "queue",
        .subject = s->run ? "run" : "judge",
        .problem_id = s->problem,
        .contest_id = s->contest,
        .lang = s->lang,
        .priority = s->priority,
        .task = s->task,
        .task_len = s->task_len,
        .on_key = TR_KEY_SAME,
    };
}

static int is_new(struct submit_op *o, struct tr_store *st, struct tr_err *err)
{
    o->outcome = SUBMIT_NEW;
    (void)snprintf(o->submit_id, sizeof(o->submit_id), "%s", o->spec.submit_id);
    (void)snprintf(o->status, sizeof(o->status), "PENDING");
    int r = tell(st, o, "PENDING", NULL, err);
    return r < 0 ? r : 0;
}

static int run_new_submission(struct op *op, struct tr_store *st, struct tr_err *err)
{
    struct submit_op *o = (struct submit_op *)op;
    const struct spec *s = &o->spec;
    const struct tr_submission_new n = row_of(s);
    char other[TR_STORE_SUBMIT_ID_MAX + 1] = "";
    int64_t job = 0;
    int r = tr_store_insert(st, &n, other, err);

    if (r < 0)
        return r;
    if (r != TR_INSERT_NEW)
        return note_existing(o, st, r == TR_INSERT_SAME_KEY ? other : s->submit_id, err);
    r = enqueue(st, s, 0, &job, err);
    if (r >= 0)
        r = tr_store_set_job(st, s->submit_id, job, err);
    return r < 0 ? r : is_new(o, st, err);
}

/* The jobs of many at once. */
struct jobs {
    struct tq_item *items;
    char **texts;
    struct tq_enqueued *got;
    struct tr_job_item *set;
    size_t n, room;
};

static void free_jobs(struct jobs *j)
{
    for (size_t i = 0; j->texts && i < j->room; i++)
        free(j->texts[i]);
    free(j->texts);
    free(j->items);
    free(j->got);
    free(j->set);
}

static int enqueue_all(struct jobs *j, struct tr_store *st, struct tr_err *err)
{
    if (j->n == 0)
        return 0;
    int r = tq_enqueue_many(tr_store_queue(st), j->items, j->n, j->got, err);
    for (size_t i = 0; r >= 0 && i < j->n; i++)
        j->set[i].job_id = j->got[i].id;
    return r < 0 ? r : tr_store_set_job_many(st, j->set, j->n, err);
}

static int insert_all(struct op **ops, size_t n, struct jobs *j, struct tr_store *st,
                      struct tr_err *err)
{
    tr_autofree struct tr_submission_new *rows = calloc(n, sizeof(*rows));
    tr_autofree struct tr_insert_item *in = calloc(n, sizeof(*in));
    char(*others)[TR_STORE_SUBMIT_ID_MAX + 1] = calloc(n, sizeof(*others));
    int r = rows && in && others ? 0 : tr_fail(err, TR_E_NOMEM, 0, "out of memory");

    for (size_t i = 0; r >= 0 && i < n; i++) {
        rows[i] = row_of(&((const struct submit_op *)ops[i])->spec);
        in[i].row = &rows[i];
        in[i].other = others[i];
    }
    if (r >= 0)
        r = tr_store_insert_many(st, in, n, err);
    for (size_t i = 0; r >= 0 && i < n; i++) {
        struct submit_op *o = (struct submit_op *)ops[i];
        int how = in[i].of.result;

        if (how < 0) { /* replayed alone, where it says why */
            r = tr_fail(err, how, 0, "one of many submissions was refused");
        } else if (how != TR_INSERT_NEW) {
            r = note_existing(o, st, how == TR_INSERT_SAME_KEY ? others[i] : o->spec.submit_id,
                              err);
        } else {
            j->set[j->n].submit_id = o->spec.submit_id;
            r = make_item(&o->spec, 0, &j->items[j->n], &j->texts[j->n], err);
            j->n++;
            if (r >= 0)
                r = is_new(o, st, err);
        }
        ops[i]->result = r;
    }
    free(others);
    return r;
}

static int new_many(struct op **ops, size_t n, struct tr_store *st, struct tr_err *err)
{
    TR_CLEANUP(free_jobs)
    struct jobs j = {.items = calloc(n, sizeof(*j.items)),
                     .texts = calloc(n, sizeof(char *)),
                     .got = calloc(n, sizeof(*j.got)),
                     .set = calloc(n, sizeof(*j.set)),
                     .room = n};

    if (!j.items || !j.texts || !j.got || !j.set)
        return tr_fail(err, TR_E_NOMEM, 0, "out of memory");
    int r = insert_all(ops, n, &j, st, err);
    return r < 0 ? r : enqueue_all(&j, st, err);
}

/* ---------------------------------------------------------------- changes */

/* The row now; 0 and outcome NOT_NOW when `move` is not allowed in its state. */
static int look(struct submit_op *o, struct tr_store *st, enum tr_move move, int64_t *ret_job,
                struct tr_err *err)
{
    struct tr_arena arena;
    struct tr_submission s;

    tr_arena_init(&arena, ARENA_MAX);
    int r = tr_store_get(st, o->submit_id, &arena, &s, err);
    if (r >= 0) {
        o->running = s.status == TR_RUNNING;
        o->generation = s.generation;
        o->outcome = tr_move_allowed(move, s.status) ? SUBMIT_CHANGED : SUBMIT_NOT_NOW;
        (void)snprintf(o->status, sizeof(o->status), "%s", tr_state_name(s.status));
        *ret_job = s.job_id;
    }
    tr_arena_done(&arena);
    return r;
}

static int forgive(int r)
{
    return r == TR_E_NOTFOUND || r == TR_E_LOST || r == TR_E_EXISTS ? 0 : r;
}

static int cancel(struct submit_op *o, struct tr_store *st, int64_t job, struct tr_err *err)
{
    int r = tr_store_cancel(st, o->submit_id, o->worker, err);

    if (r >= 0 && job) /* by force: a running one is taken from its judge, whose fence is gone */
        r = forgive(tq_cancel(tr_store_queue(st), job, 1, err));
    if (r >= 0)
        r = tell(st, o, "CANCELLED", o->worker, err);
    (void)snprintf(o->status, sizeof(o->status), "CANCELLED");
    return r < 0 ? r : 0;
}

static int run_cancel(struct op *op, struct tr_store *st, struct tr_err *err)
{
    struct submit_op *o = (struct submit_op *)op;
    int64_t job = 0;
    int r = look(o, st, TR_MOVE_CANCEL, &job, err);

    if (r < 0 || o->outcome == SUBMIT_NOT_NOW)
        return r;
    return cancel(o, st, job, err);
}

/* A dead letter that nobody wants; what lives is not touched. */
static int run_discard(struct op *op, struct tr_store *st, struct tr_err *err)
{
    struct submit_op *o = (struct submit_op *)op;
    int64_t job = 0;
    int r = look(o, st, TR_MOVE_CANCEL, &job, err);

    if (r >= 0 && strcmp(o->status, "DLQ") != 0)
        o->outcome = SUBMIT_NOT_NOW;
    return r < 0 || o->outcome == SUBMIT_NOT_NOW ? r : cancel(o, st, job, err);
}

static int run_rejudge(struct op *op, struct tr_store *st, struct tr_err *err)
{
    struct submit_op *o = (struct submit_op *)op;
    const struct spec *s = &o->spec;
    int64_t job = 0;
    int r = look(o, st, TR_MOVE_REJUDGE, &job, err);

    if (r < 0 || o->outcome == SUBMIT_NOT_NOW)
        return r;
    if (job) /* a dead letter's job, which nobody needs any more */
        r = forgive(tq_drop(tr_store_queue(st), job, err));
    int64_t generation = r < 0 ? r : tr_store_rejudge(st, o->submit_id, s->task, s->task_len, err);
    if (generation < 0)
        return (int)generation;
    o->generation = generation;
    r = enqueue(st, s, generation, &job, err);
    if (r >= 0)
        r = tr_store_set_job(st, o->submit_id, job, err);
    if (r >= 0)
        r = tell(st, o, "PENDING", "rejudge", err);
    (void)snprintf(o->status, sizeof(o->status), "PENDING");
    return r < 0 ? r : 0;
}

static int run_retry(struct op *op, struct tr_store *st, struct tr_err *err)
{
    struct submit_op *o = (struct submit_op *)op;
    int64_t job = 0;
    int r = look(o, st, TR_MOVE_RETRY, &job, err);

    if (r < 0 || o->outcome == SUBMIT_NOT_NOW)
        return r;
    r = tr_store_retry(st, o->submit_id, -1, err);
    if (r >= 0)
        r = tq_retry(tr_store_queue(st), job, err);
    if (r >= 0)
        r = tell(st, o, "PENDING", "retried", err);
    (void)snprintf(o->status, sizeof(o->status), "PENDING");
    return r < 0 ? r : 0;
}

/* ---------------------------------------------------------------- the loop's side */

static void submit_done(struct op *op)
{
    struct submit_op *o = (struct submit_op *)op;
    struct ctl *ctl = op->ctl;

    if (op->result >= 0 && (o->outcome == SUBMIT_NEW || o->outcome == SUBMIT_CHANGED)) {
        if (o->outcome == SUBMIT_NEW)
            metrics_submitted(ctl);
        if (o->running)
            judge_ws_cancel(ctl, o->submit_id, "cancelled");
        if (o->spec.queue[0])
            dispatch_hint(ctl, o->spec.queue);
        else
            dispatch_poll(ctl);
        events_poke(ctl->events);
    }
    if (o->then)
        o->then(o);
    spec_done(&o->spec);
    free(o);
}

static void start(struct ctl *ctl, struct spec *spec, const char *submit_id,
                  int (*run)(struct op *op, struct tr_store *st, struct tr_err *err),
                  const char *why, void (*then)(struct submit_op *o), void *arg)
{
    struct submit_op *o = calloc(1, sizeof(*o));

    if (!o) { /* answer all the same */
        struct submit_op none = {.op = {.ctl = ctl, .result = TR_E_NOMEM}, .arg = arg};

        (void)tr_fail(&none.op.err, TR_E_NOMEM, 0, "out of memory");
        if (spec)
            spec_done(spec);
        if (then)
            then(&none);
        return;
    }
    o->op = (struct op){.ctl = ctl, .run = run, .done = submit_done, .lane = OP_NORMAL};
    if (run == run_new_submission)
        o->op.many = new_many;
    if (spec)
        o->spec = *spec;
    (void)snprintf(o->submit_id, sizeof(o->submit_id), "%s", submit_id);
    (void)snprintf(o->worker, sizeof(o->worker), "%s", why);
    o->then = then;
    o->arg = arg;
    storage_do(ctl->storage, &o->op);
}

void submit_new(struct ctl *ctl, struct spec *spec, void (*then)(struct submit_op *o), void *arg)
{
    start(ctl, spec, spec->submit_id, run_new_submission, "", then, arg);
}

void submit_cancel(struct ctl *ctl, const char *submit_id, const char *why,
                   void (*then)(struct submit_op *o), void *arg)
{
    start(ctl, NULL, submit_id, run_cancel, why, then, arg);
}

void submit_discard(struct ctl *ctl, const char *submit_id, void (*then)(struct submit_op *o),
                    void *arg)
{
    start(ctl, NULL, submit_id, run_discard, "given up by an operator", then, arg);
}

void submit_rejudge(struct ctl *ctl, struct spec *spec, void (*then)(struct submit_op *o),
                    void *arg)
{
    start(ctl, spec, spec->submit_id, run_rejudge, "", then, arg);
}

void submit_retry(struct ctl *ctl, const char *submit_id, void (*then)(struct submit_op *o),
                  void *arg)
{
    start(ctl, NULL, submit_id, run_retry, "", then, arg);
}
