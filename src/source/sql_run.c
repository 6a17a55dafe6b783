/* SPDX-License-Identifier: MIT
 *
 * sql_run.c - one job of the queue: its submission starts, is judged, and is settled with it.
 *
 * Three transactions at most. Start: renew the job's lease (which fails when it is not ours), make
 * the row if a site enqueued the whole task, move it to RUNNING. Settle: verdict, ack and event, or
 * fault, nack and event, or release of both. What is not settled here (a lost database, a lost
 * lease) is left to the leases: both run out, and the job comes back.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "codec/brief.h"
#include "codec/json.h"
#include "source/sql_private.h"
#include "store/tell.h"

enum {
    ARENA_MAX = 48 << 20,
    PAYLOAD_MAX = 16 << 20,
    RESULT_MAX = 48 << 20, /* what a slot may send */
    SETTLE_TRIES = 6,
    PAUSE_MS = 10 /* before the second try, doubled for each later one */
};

struct sql_run {
    struct sql_source *s;
    struct tr_store *st;
    struct tq_run *run;
    const struct tq_job *job;
    struct tr_arena arena;
    json_t *payload;
    const char *submit_id;
    const char *problem, *lang, *user;
    int64_t generation;
    bool whole; /* the payload is the task itself */
    bool heavy;
    struct tr_start start;
    json_t *slim; /* with a verdict: the result as events tell it */
    int64_t score;
    const char *task;
    size_t task_len;
    int64_t renew_at_us;
    enum tq_stop stop;
};

/* --- the payload ----------------------------------------------------------------------------- */

static const char *text_or(const json_t *o, const char *name, const char *other)
{
    const json_t *v = json_object_get(o, name);

    return json_is_string(v) ? json_string_value(v) : other;
}

/* Numbers as ids are the seed's; ours are texts. */
static const char *id_of(struct sql_run *w, const json_t *o, const char *name)
{
    const json_t *v = json_object_get(o, name);

    if (json_is_integer(v))
        return tr_arena_printf(&w->arena, "%lld", (long long)json_integer_value(v));
    return json_is_string(v) ? json_string_value(v) : "";
}

static int read_payload(struct sql_run *w, struct tr_err *err)
{
    int r = tr_json_parse(w->job->payload, w->job->payload_len, PAYLOAD_MAX, &w->payload, err);

    if (r < 0)
        return r;
    w->submit_id = text_or(w->payload, "submit_id", NULL);
    if (!w->submit_id || !*w->submit_id || strlen(w->submit_id) > TR_STORE_SUBMIT_ID_MAX)
        return tr_fail(err, TR_E_PARSE, 0, "the job has no submit_id");
    w->whole = json_is_object(json_object_get(w->payload, "problem"));
    w->generation = json_integer_value(json_object_get(w->payload, "generation"));
    w->heavy = json_is_true(json_object_get(w->payload, "heavy"));
    if (w->whole) {
        const json_t *user = json_object_get(w->payload, "user");

        w->problem = id_of(w, json_object_get(w->payload, "problem"), "id");
        w->lang = text_or(json_object_get(w->payload, "language"), "slug", "");
        w->user = text_or(user, "username", "");
    } else {
        w->problem = text_or(w->payload, "problem", "");
        w->lang = text_or(w->payload, "lang", "");
    }
    return 0;
}

/* --- transactions ---------------------------------------------------------------------------- */

static int tell(struct sql_run *w, const char *status, const char *message, struct tr_err *err)
{
    const struct tr_tell t = {.submit_id = w->submit_id,
                              .status = status,
                              .generation = w->start.generation,
                              .worker_id = w->s->host->worker_id,
                              .problem = w->problem,
                              .language = w->lang,
                              .message = message,
                              .result = w->slim,
                              .score = w->score};

    return tr_store_tell(w->st, &t, err);
}

static int insert_row(struct sql_run *w, struct tr_err *err)
{
    const json_t *user = json_object_get(w->payload, "user");
    const json_t *contest = json_object_get(w->payload, "contest");
    struct tr_submission_new n = {.submit_id = w->submit_id,
                                  .user_id = id_of(w, user, "id"),
                                  .user_name = w->user,
                                  .source = "queue",
                                  .subject = "judge", /* as a controller marks them */
                                  .problem_id = w->problem,
                                  .contest_id = id_of(w, contest, "id"),
                                  .lang = w->lang,
                                  .priority = w->job->priority,
                                  .generation = w->generation,
                                  .job_id = w->job->ref.id,
                                  .task = w->job->payload,
                                  .task_len = w->job->payload_len};
    int r = tr_store_insert(w->st, &n, NULL, err);

    return r < 0 ? r : tr_store_set_job(w->st, w->submit_id, w->job->ref.id, err);
}

/* In a transaction: enum tr_started. */
static int start_in(struct sql_run *w, struct tr_err *err)
{
    int64_t lease_us = w->s->conf.lease_us;
    /* The lease proves that the job is ours at this moment; the row starts with it or not at all.
     */
    struct tq_ref ref = w->job->ref;
    unsigned char beat = 0;
    int r = tq_heartbeat(tr_store_queue(w->st), &ref, 1, lease_us, &beat, err);

    /* The worker's own renewal may hold the row for a moment. */
    if (r >= 0 && beat == TQ_BEAT_SETTLING)
        return tr_fail(err, TR_E_BUSY, 0, "the job's row is busy");
    if (r >= 0 && beat != TQ_BEAT_RENEWED && beat != TQ_BEAT_CANCEL)
        r = tr_fail(err, TR_E_LOST, 0, "the job is somebody else's");
    if (r >= 0 && w->whole)
        r = insert_row(w, err);
    if (r < 0)
        return r;
    r = tr_store_start(w->st, w->submit_id, w->generation, lease_us, &w->start, err);
    if (r != TR_START_OK)
        return r;
    const char *result = NULL;
    size_t result_len = 0;
    r = tr_store_texts(w->st, w->submit_id, &w->arena, &w->task, &w->task_len, &result, &result_len,
                       err);
    return r < 0 ? r : tell(w, "RUNNING", NULL, err);
}

/* Run `step` in a transaction of its own; again when that is what the database asks for. */
static int in_tx(struct sql_run *w, int (*step)(struct sql_run *w, struct tr_err *err),
                 struct tr_err *err)
{
    int r = TR_E_RETRY;

    for (int i = 0; i < SETTLE_TRIES; i++) {
        r = tr_store_begin(w->st, err);
        int said = r < 0 ? r : step(w, err);
        if (said >= 0) {
            r = tr_store_commit(w->st, err);
            if (r >= 0)
                return said;
        } else {
            r = said;
        }
        tr_store_rollback(w->st);
        /* Unsure of a commit: the same step again finds out what became of it. */
        int class = tr_err_class(r);
        if (class != TR_E_RETRY && class != TR_E_ABORT && class != TR_E_UNSURE)
            break;
        (void)nanosleep(&(struct timespec){.tv_nsec = (long)PAUSE_MS * 1000000 << i}, NULL);
    }
    return r;
}

/* --- ends ------------------------------------------------------------------------------------ */

struct ending {
    struct sql_run w; /* first: in_tx() hands it on */
    struct sql_task t;
};

static int finish(struct sql_run *w, struct tr_err *err)
{
    struct sql_task *t = &((struct ending *)w)->t;
    TR_CLEANUP(tr_json_unrefp) json_t *event = NULL;
    int r = tr_json_parse(t->json, strlen(t->json), RESULT_MAX, &event, err);

    if (r < 0)
        return r;
    json_t *result = json_object_get(event, "result");
    tr_autofree char *text = json_dumps(result, JSON_COMPACT);
    if (!text)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory for a result");
    char brief[TR_BRIEF_MAX];
    tr_result_brief(result, brief);
    json_decref(w->slim); /* of a try before */
    w->slim = tr_result_slim(result);
    w->score = t->score;
    if (!w->slim)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory for a result");
    struct tr_verdict_row v = {.verdict = t->verdict,
                               .score = t->score,
                               .time_ms = t->time_ms,
                               .memory_kb = t->memory_kb,
                               .result = text,
                               .result_len = strlen(text),
                               .brief = *brief ? brief : NULL};
    r = tr_store_finish(w->st, w->submit_id, w->start.run_lease, &v, err);
    if (r == TR_MOVED_BEFORE)
        return 0;
    if (r >= 0)
        r = tq_ack(tr_store_queue(w->st), w->job->ref, t->verdict, strlen(t->verdict), err);
    return r < 0 ? r : tell(w, "FINISHED", NULL, err);
}

static int fault(struct sql_run *w, struct tr_err *err)
{
    struct sql_task *t = &((struct ending *)w)->t;
    tq *q = tr_store_queue(w->st);
    int64_t delay = tr_store_fault_delay_us(w->heavy, w->start.retry_count);
    int r = tr_store_fault(w->st, w->submit_id, w->start.run_lease, t->why, delay,
                           t->final ? 0 : TR_STORE_RETRIES, err);

    if (r < 0)
        return r;
    bool dead = r == TR_FAULT_DEAD;
    r = dead ? tq_bury(q, w->job->ref, t->why, strlen(t->why), err)
             : tq_nack(q, w->job->ref, delay, t->why, strlen(t->why), err);
    return r < 0 ? r : tell(w, dead ? "DLQ" : "SYSTEM_ERROR", t->why, err);
}

static int give_back(struct sql_run *w, struct tr_err *err)
{
    int r = tr_store_release(w->st, w->submit_id, w->start.run_lease, false, err);

    return r != TR_MOVED ? r : tq_release(tr_store_queue(w->st), w->job->ref, err);
}

static int cancel(struct sql_run *w, struct tr_err *err)
{
    static const char why[] = "cancelled";
    int r = tr_store_cancel(w->st, w->submit_id, why, err);

    if (r >= 0)
        r = tq_discard(tr_store_queue(w->st), w->job->ref, why, sizeof(why) - 1, err);
    return r < 0 ? r : tell(w, "CANCELLED", why, err);
}

/* A judge error is a fault of the problem or of ours: what its result says about it. */
static void say_why(struct sql_task *t)
{
    TR_CLEANUP(tr_json_unrefp) json_t *event = NULL;

    (void)tr_json_parse(t->json, strlen(t->json), RESULT_MAX, &event, NULL);
    (void)snprintf(
        t->why, sizeof(t->why), "%s",
        text_or(json_object_get(event, "result"), "fault", "the problem's checker failed"));
}

static int settle(struct ending *e, struct tr_err *err)
{
    struct sql_task *t = &e->t;

    if (t->end == SQL_STOPPED && e->w.stop == TQ_STOP_LOST)
        return tr_fail(err, TR_E_LOST, 0, "the lease was lost");
    if (t->end == SQL_STOPPED)
        return in_tx(&e->w, e->w.stop == TQ_STOP_CANCEL ? cancel : give_back, err);
    if (t->end == SQL_RESULT && strcmp(t->verdict, "JE") != 0)
        return in_tx(&e->w, finish, err);
    if (t->end == SQL_RESULT)
        say_why(t);
    return in_tx(&e->w, fault, err);
}

/* --- the handler ----------------------------------------------------------------------------- */

/* Every second while it is judged: keep the row's lease alive, and look whether to stop. */
static bool look(void *arg)
{
    struct sql_run *w = arg;
    int64_t now = tr_clock_mono_us();

    w->stop = (enum tq_stop)tq_run_stopped(w->run);
    if (w->stop == TQ_GO_ON && now >= w->renew_at_us) {
        w->renew_at_us = now + w->s->conf.lease_us / 3;
        if (tr_store_renew(w->st, w->submit_id, w->start.run_lease, w->s->conf.lease_us, NULL) ==
            TR_E_LOST)
            w->stop = TQ_STOP_LOST;
    }
    return w->stop != TQ_GO_ON;
}

/* A submission that cannot start: what becomes of its job. */
static int not_now(struct sql_run *w, int started)
{
    static const char why[] = "its submission does not wait for a judge any more";

    if (started == TR_START_BUSY || started == TR_START_EARLY) {
        tq_run_delay(w->run, w->start.wait_us);
        return TQ_SNOOZE;
    }
    (void)tq_run_result(w->run, why, sizeof(why) - 1, NULL);
    return started == TR_START_DEAD || started == TR_START_WORN_OUT ? TQ_BURY : TQ_DISCARD;
}

/* Logs are kept where there is a verdict, as the other sources do. */
static void end_logs(struct sql_run *w, struct sql_task *t, bool keep)
{
    struct tr_logs *logs = w->s->host->logs;

    if (t->spool && keep)
        tr_logs_keep(logs, t->spool);
    else if (t->spool)
        tr_logs_drop(logs, t->spool);
    free(t->spool);
}

static int judge_and_settle(struct ending *e)
{
    struct sql_run *w = &e->w;
    struct tr_log_field submit = {.up = w->s->host->log, .key = "submit", .value = w->submit_id};
    struct tr_err err = TR_ERR_INIT;

    e->t.s = w->s;
    e->t.task = w->task;
    e->t.task_len = w->task_len;
    if (w->s->host->logs)
        e->t.spool = tr_logs_folder(w->s->host->logs, w->submit_id, w->start.run_lease);
    w->renew_at_us = tr_clock_mono_us() + w->s->conf.lease_us / 3;
    (void)pthread_mutex_init(&e->t.lock, NULL);
    (void)pthread_cond_init(&e->t.changed, NULL);
    sql_judge(&e->t, look, w);
    int r = settle(e, &err);
    if (r < 0)
        tr_log_err(r == TR_E_LOST ? TR_LOG_INFO : TR_LOG_WARN, &submit, &err);
    else if (e->t.end == SQL_FAULT || e->t.end == SQL_DIED)
        tr_log(TR_LOG_WARN, &submit, "fault: %s", e->t.why);
    end_logs(w, &e->t, r >= 0 && w->slim);
    (void)pthread_cond_destroy(&e->t.changed);
    (void)pthread_mutex_destroy(&e->t.lock);
    free(e->t.json);
    /* Settled, or lost: the library finds the job gone or another's and does nothing. Whatever is
     * still ours must not be acked without a verdict: it goes back. */
    return TQ_RELEASE;
}

int sql_handle(struct tq_run *run, const struct tq_job *job, void *user)
{
    struct sql_source *s = user;
    struct ending e = {.w = {.s = s, .st = tq_run_local(run), .run = run, .job = job, .user = ""}};
    struct tr_err err = TR_ERR_INIT;

    tr_arena_init(&e.w.arena, ARENA_MAX);
    int r = read_payload(&e.w, &err);
    int end = TQ_BURY;
    if (r < 0) {
        (void)tq_run_result(run, err.msg, strlen(err.msg), NULL);
    } else {
        r = in_tx(&e.w, start_in, &err);
        if (r == TR_START_OK)
            end = judge_and_settle(&e);
        else if (r > 0)
            end = not_now(&e.w, r);
        else
            end = TQ_RELEASE;
    }
    if (r < 0)
        tr_log_err(TR_LOG_WARN, s->host->log, &err);
    json_decref(e.w.slim);
    json_decref(e.w.payload);
    tr_arena_done(&e.w.arena);
    return end;
}
