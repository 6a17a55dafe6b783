/* SPDX-License-Identifier: MIT
 *
 * settle.c - see settle.h.
 *
 * The submission's fence decides. The queue's job follows in the same transaction; should it have
 * been lost there, whoever claims it next finds the submission at its end and drops it.
 */
#include "controller/settle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "codec/brief.h"
#include "controller/ctl.h"
#include "controller/dispatch.h"
#include "controller/judge_ws.h"
#include "controller/judges.h"
#include "controller/metrics.h"
#include "controller/setaside.h"
#include "store/tell.h"

enum how {
    BY_RESULT,
    BY_FAULT,
    BY_RETURN,
    BY_CRASH
};

enum outcome {
    OUT_FINISHED,
    OUT_RETRY,
    OUT_DEAD,
    OUT_RETURNED,
    OUT_CANCELLED,
    OUT_STALE
};
static const char *const outcomes[] = {"finished", "retry",     "dead",
                                       "returned", "cancelled", "stale"};

struct settle_op {
    struct op op;
    enum how how;
    struct run *run;
    char session[17];
    char judge_id[TR_JUDGE_ID_MAX + 1];
    bool fatal;
    char why[1024];
    /* a verdict */
    char verdict[8];
    int64_t score, time_ms, memory_kb;
    char *result; /* JSON text */
    json_t *slim; /* for the event */
    char brief[TR_BRIEF_MAX];
    enum outcome outcome;
};

/* ---------------------------------------------------------------- on the storage thread */

static int tell(struct tr_store *st, const struct settle_op *o, const char *status,
                const char *message, struct tr_err *err)
{
    const struct run *r = o->run;
    const struct tr_tell t = {.submit_id = r->submit_id,
                              .status = status,
                              .generation = r->generation,
                              .worker_id = o->judge_id,
                              .problem = r->problem,
                              .language = r->lang,
                              .message = message,
                              .result = o->outcome == OUT_FINISHED ? o->slim : NULL,
                              .score = o->score};

    return tr_store_tell(st, &t, err);
}

/* A job that is not ours any more is no reason to undo the submission's move. */
static int forgive(int r)
{
    return r == TR_E_LOST ? 0 : r;
}

static struct tr_verdict_row verdict_of(const struct settle_op *o)
{
    return (struct tr_verdict_row){.verdict = o->verdict,
                                   .score = o->score,
                                   .time_ms = o->time_ms,
                                   .memory_kb = o->memory_kb,
                                   .result = o->result,
                                   .result_len = strlen(o->result),
                                   .brief = *o->brief ? o->brief : NULL};
}

static int finish(struct settle_op *o, struct tr_store *st, struct tr_err *err)
{
    const struct tr_verdict_row v = verdict_of(o);
    int r = tr_store_finish(st, o->run->submit_id, o->run->run_lease, &v, err);

    if (r < 0)
        return r;
    o->outcome = OUT_FINISHED;
    if (r == TR_MOVED_BEFORE)
        return 0;
    r = forgive(tq_ack(tr_store_queue(st), o->run->job, o->verdict, strlen(o->verdict), err));
    return r < 0 ? r : tell(st, o, "FINISHED", NULL, err);
}

static int fault(struct settle_op *o, struct tr_store *st, int retries, struct tr_err *err)
{
    int64_t delay = tr_store_fault_delay_us(o->run->heavy, o->run->retry_count);
    tq *q = tr_store_queue(st);
    int r = tr_store_fault(st, o->run->submit_id, o->run->run_lease, o->why, delay, retries, err);

    if (r < 0)
        return r;
    o->outcome = r == TR_FAULT_DEAD ? OUT_DEAD : OUT_RETRY;
    r = r == TR_FAULT_DEAD ? tq_bury(q, o->run->job, o->why, strlen(o->why), err)
                           : tq_nack(q, o->run->job, delay, o->why, strlen(o->why), err);
    r = forgive(r);
    return r < 0 ? r : tell(st, o, o->outcome == OUT_DEAD ? "DLQ" : "SYSTEM_ERROR", o->why, err);
}

static int release(struct settle_op *o, struct tr_store *st, struct tr_err *err)
{
    bool crash = o->how == BY_CRASH;

    if (crash && o->run->crashes + 1 > TR_STORE_CRASHES)
        return fault(o, st, 0, err);
    int r = tr_store_release(st, o->run->submit_id, o->run->run_lease, crash, err);
    if (r < 0)
        return r;
    o->outcome = OUT_RETURNED;
    if (r == TR_MOVED_BEFORE)
        return 0;
    r = forgive(tq_release(tr_store_queue(st), o->run->job, err));
    return r < 0 || !crash ? r : tell(st, o, "PENDING", o->why, err);
}

/* Its run is over, found before anything was changed: 0. */
static int is_over(struct settle_op *o, int r)
{
    if (r != TR_E_LOST && r != TR_E_NOTFOUND)
        return r;
    o->outcome = o->run->cancelled ? OUT_CANCELLED : OUT_STALE;
    return 0;
}

static int run_settle(struct op *op, struct tr_store *st, struct tr_err *err)
{
    struct settle_op *o = (struct settle_op *)op;
    int r;

    if (o->how == BY_RESULT)
        r = finish(o, st, err);
    else if (o->how == BY_FAULT)
        r = fault(o, st, o->fatal ? 0 : TR_STORE_RETRIES, err);
    else
        r = release(o, st, err);
    return is_over(o, r);
}

/* Verdicts that were written: their jobs are done, and everybody is told. */
static int end_many(struct op **ops, size_t n, const struct tr_finish_item *done,
                    struct tr_store *st, struct tr_err *err)
{
    tr_autofree struct tq_settlement *acks = calloc(n, sizeof(*acks));
    size_t k = 0;
    int r = acks ? 0 : tr_fail(err, TR_E_NOMEM, 0, "no memory for %zu results", n);

    for (size_t i = 0; r >= 0 && i < n; i++) {
        struct settle_op *o = (struct settle_op *)ops[i];

        ops[i]->result = 0;
        if (done[i].of.result < 0) {
            r = is_over(o, done[i].of.result);
            continue;
        }
        o->outcome = OUT_FINISHED;
        if (done[i].of.result == TR_MOVED_BEFORE)
            continue;
        acks[k] = (struct tq_settlement)TQ_SETTLEMENT_INIT;
        acks[k].ref = o->run->job;
        acks[k].end = TQ_ACK;
        acks[k].data = o->verdict;
        acks[k++].data_len = strlen(o->verdict);
        r = tell(st, o, "FINISHED", NULL, err);
    }
    /* One that is lost says so in its result, which is no reason to undo anything. */
    return r < 0 || k == 0 ? r : tq_settle(tr_store_queue(st), acks, k, err);
}

static int finish_many(struct op **ops, size_t n, struct tr_store *st, struct tr_err *err)
{
    tr_autofree struct tr_verdict_row *rows = calloc(n, sizeof(*rows));
    tr_autofree struct tr_finish_item *done = calloc(n, sizeof(*done));

    if (!rows || !done)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory for %zu results", n);
    for (size_t i = 0; i < n; i++) {
        const struct settle_op *o = (const struct settle_op *)ops[i];

        rows[i] = verdict_of(o);
        done[i].of.submit_id = o->run->submit_id;
        done[i].run_lease = o->run->run_lease;
        done[i].verdict = &rows[i];
    }
    int r = tr_store_finish_many(st, done, n, err);
    return r < 0 ? r : end_many(ops, n, done, st, err);
}

/* ---------------------------------------------------------------- on the loop */

static void count(struct settle_op *o)
{
    struct ctl *ctl = o->op.ctl;
    const struct run *r = o->run;
    const char *lang = r->own_lang ? "" : r->lang, *problem = r->own_data ? "" : r->problem;

    if (o->outcome == OUT_FINISHED) {
        metrics_finished(ctl, r->lang, o->verdict, tr_clock_real_us() - r->created_us);
        setaside_verdict(ctl->setaside, lang, problem);
    } else if (o->outcome == OUT_RETRY || o->outcome == OUT_DEAD) {
        metrics_fault(ctl, r->lang);
        setaside_fault(ctl->setaside, lang, problem, r->submit_id, o->why);
    } else if (o->outcome == OUT_STALE) {
        metrics_stale(ctl);
    }
}

static void settle_done(struct op *op)
{
    struct settle_op *o = (struct settle_op *)op;
    struct tr_log_field judge = {.key = "judge", .value = o->judge_id};
    struct tr_log_field submit = {.up = &judge, .key = "submit", .value = o->run->submit_id};

    if (op->result < 0) {
        tr_log_err(TR_LOG_ERROR, &submit, &op->err); /* the judge keeps it and presents it again */
    } else {
        count(o);
        if (o->outcome == OUT_RETRY || o->outcome == OUT_DEAD)
            tr_log(TR_LOG_WARN, &submit, "fault (%s): %s", outcomes[o->outcome], o->why);
        if (*o->session)
            judge_ws_settled(op->ctl, o->session, o->run, outcomes[o->outcome]);
        if (o->outcome == OUT_RETURNED)
            dispatch_poll(op->ctl);
        events_poke(op->ctl->events);
    }
    run_free(o->run);
    free(o->result);
    json_decref(o->slim);
    free(o);
}

static struct settle_op *new_op(struct ctl *ctl, const struct judge *g, struct run *r, enum how how)
{
    struct settle_op *o = calloc(1, sizeof(*o));

    if (!o) {
        /* The lease runs out, and it is judged again: nothing is lost. */
        run_free(r);
        return NULL;
    }
    o->op = (struct op){
        .ctl = ctl, .run = run_settle, .done = settle_done, .lane = OP_URGENT, .must = true};
    o->how = how;
    o->run = r;
    if (g) {
        (void)snprintf(o->session, sizeof(o->session), "%s", g->session);
        (void)snprintf(o->judge_id, sizeof(o->judge_id), "%s", g->judge_id);
    }
    return o;
}

static int64_t millionths(const json_t *score)
{
    double d = json_is_number(score) ? json_number_value(score) : 0;

    return d > -1e9 && d < 1e9 ? llround(d * 1e6) : 0;
}

void settle_result(struct judge *g, struct run *r, const json_t *message)
{
    struct settle_op *o = new_op(g->ctl, g, r, BY_RESULT);
    json_t *result = json_object_get(message, "result");

    if (!o)
        return;
    (void)snprintf(o->verdict, sizeof(o->verdict), "%s",
                   json_string_value(json_object_get(result, "verdict")));
    o->score = millionths(json_object_get(message, "score"));
    o->time_ms = json_integer_value(json_object_get(result, "time_ms"));
    o->memory_kb = json_integer_value(json_object_get(result, "memory_kb"));
    o->result = json_dumps(result, JSON_COMPACT);
    o->slim = tr_result_slim(result);
    tr_result_brief(result, o->brief);
    if (!o->result || !o->slim) { /* the judge keeps it and presents it again */
        o->op.result = tr_fail(&o->op.err, TR_E_NOMEM, 0, "no memory for a result");
        settle_done(&o->op);
        return;
    }
    g->judged++;
    o->op.many = finish_many;
    storage_do(g->ctl->storage, &o->op);
}

void settle_fault(struct judge *g, struct run *r, const char *why, bool fatal, bool crashed)
{
    struct settle_op *o = new_op(g->ctl, g, r, BY_FAULT);

    if (!o)
        return;
    o->fatal = fatal;
    (void)snprintf(o->why, sizeof(o->why), "%s%.1000s", crashed ? "the slot died: " : "", why);
    g->faults++;
    storage_do(g->ctl->storage, &o->op);
}

void settle_returned(struct judge *g, struct run *r)
{
    struct settle_op *o = new_op(g->ctl, g, r, BY_RETURN);

    if (o)
        storage_do(g->ctl->storage, &o->op);
}

void settle_release(struct ctl *ctl, struct run *r)
{
    struct settle_op *o = new_op(ctl, NULL, r, BY_RETURN);

    if (o)
        storage_do(ctl->storage, &o->op);
}

void settle_crash(struct ctl *ctl, const char *judge_id, struct run *r, const char *why)
{
    struct settle_op *o = new_op(ctl, NULL, r, BY_CRASH);

    if (!o)
        return;
    (void)snprintf(o->judge_id, sizeof(o->judge_id), "%s", judge_id);
    (void)snprintf(o->why, sizeof(o->why), "%s", why);
    storage_do(ctl->storage, &o->op);
}
