/* SPDX-License-Identifier: MIT
 *
 * nats_task.c - one delivery, from its arrival to its settlement; all on the loop.
 *
 *   WAITING → STARTING → JUDGING → ENDING → SETTLING
 *
 * A delivery whose run turns out not to be ours is forgotten without a settlement: the server
 * delivers it again, and the row then says what to do with it.
 */
#include <stdlib.h>
#include <string.h>

#include "codec/json.h"
#include "nats/letter.h"
#include "nats/row.h"
#include "source/nats_private.h"

enum {
    ARENA_MAX = 32 << 20
};
#define AWAY_US (INT64_C(5) * 1000000) /* before the next try when the database is away */

/* ---------------------------------------------------------------- the list */

static struct delivery *task_new(struct src *s, natsMsg *msg)
{
    struct delivery *d = calloc(1, sizeof(*d));

    if (!d)
        return NULL;
    d->src = s;
    d->msg = msg;
    tr_arena_init(&d->arena, ARENA_MAX);
    d->next = s->first;
    if (s->first)
        s->first->prev = d;
    s->first = d;
    s->held++;
    return d;
}

static void really_free(struct delivery *d)
{
    natsMsg_Destroy(d->msg);
    tr_arena_done(&d->arena);
    free(d->spool);
    free(d);
}

void task_free(struct delivery *d)
{
    struct src *s = d->src;

    if (d->prev)
        d->prev->next = d->next;
    else
        s->first = d->next;
    if (d->next)
        d->next->prev = d->prev;
    s->held--;
    if (d->spool && s->host->logs)
        tr_logs_drop(s->host->logs, d->spool);
    if (d->renewing)
        d->unlinked = true;
    else
        really_free(d);
    if (!s->closing) {
        pull_more(s);
        src_check_end(s);
    }
}

/* Publish what `o` holds, then settle; the delivery ends when that is done. */
static void settle(struct delivery *d, struct outgoing *o)
{
    d->stage = ST_SETTLING;
    if (o)
        out_send(d->src, o);
    else
        task_free(d); /* no memory: the server delivers it again */
}

static void settle_plain(struct delivery *d, enum settle how, int64_t delay_us)
{
    struct outgoing *o = out_new(d, how);

    if (o)
        o->delay_us = delay_us;
    settle(d, o);
}

void task_settled(struct delivery *d)
{
    task_free(d);
}

/* ---------------------------------------------------------------- dead letters */

/* To the dead letters, then terminate. `id` names the letter. */
static void bury(struct delivery *d, const char *why, const char *id)
{
    const char *subject = natsMsg_GetSubject(d->msg);
    struct tr_letter letter = {
        .original_subject = subject,
        .submit_id = d->env.submit_id,
        .error = why,
        .retry_count = d->run.retry_count,
        .failed_at_us = tr_clock_real_us(),
        .payload = natsMsg_GetData(d->msg),
        .payload_len = (size_t)natsMsg_GetDataLength(d->msg),
    };
    struct outgoing *o = out_new(d, SETTLE_TERM);
    struct tr_err err = TR_ERR_INIT;
    char *text = NULL, event[TR_MSG_ID_MAX + 64];

    if (tr_letter_write(&letter, &text, &err) < 0)
        src_log(d->src, TR_LOG_ERROR, d->env.submit_id, &err, "dead letter");
    if (o) {
        out_add(o, tr_letter_subject(subject), id, text, true);
        if (d->env.submit_id[0]) {
            event_id(d, "DLQ", event, sizeof(event));
            out_add(o, TR_SUBJECT_EVENTS ".status", event, event_status(d->src, d, TR_DLQ, why),
                    false);
        }
    } else {
        free(text);
    }
    tr_metric_add(d->src->host->metrics, TR_M_TASKS_DEAD);
    settle(d, o);
}

static void bury_run(struct delivery *d, const char *why)
{
    char id[TR_MSG_ID_MAX + 64];

    (void)snprintf(id, sizeof(id), "%s:%lld:%lld:dlq", d->env.submit_id,
                   (long long)d->run.generation, (long long)d->run.revivals);
    bury(d, why, id);
}

static void not_a_task(struct delivery *d, const struct tr_err *why)
{
    char id[64];

    (void)snprintf(id, sizeof(id), "bad:%llu", (unsigned long long)d->seq);
    src_log(d->src, TR_LOG_WARN, NULL, why, "not a task; to the dead letters");
    tr_metric_add(d->src->host->metrics, TR_M_TASKS_BAD);
    d->env.submit_id[0] = '\0';
    bury(d, why->msg, id);
}

/* ---------------------------------------------------------------- arrival */

static int read_task(struct delivery *d, const char *bytes, size_t len, struct tr_err *err)
{
    struct tr_nats_row row;
    int r = tr_nats_row(bytes, len, natsMsg_GetSubject(d->msg), "", &d->arena, &row, err);

    if (r < 0)
        return r;
    d->env = row.env;
    d->row = row.row;
    d->row.submit_id = d->env.submit_id;
    d->contest = row.contest;
    d->user = row.user;
    d->run = (struct tr_start){.generation = d->env.generation,
                               .retry_count = d->env.retry_count,
                               .crashes = d->env.crashes};
    return 0;
}

void task_arrived(struct src *s, natsMsg *msg)
{
    struct delivery *d = task_new(s, msg);
    struct tr_err why = TR_ERR_INIT;
    jsMsgMetaData *meta = NULL;

    if (!d || natsMsg_GetMetaData(&meta, msg) != NATS_OK) {
        if (d)
            task_free(d); /* somebody else wrote to our inbox */
        else
            natsMsg_Destroy(msg);
        return;
    }
    d->seq = meta->Sequence.Stream;
    d->published_us = meta->Timestamp / 1000;
    s->backlog = (int64_t)meta->NumPending;
    jsMsgMetaData_Destroy(meta);
    const char *data = natsMsg_GetData(msg);
    if (read_task(d, data ? data : "", (size_t)natsMsg_GetDataLength(msg), &why) < 0) {
        not_a_task(d, &why);
        return;
    }
    d->row.msg_seq = (int64_t)d->seq;
    if (s->draining) {
        settle_plain(d, SETTLE_NAK, 0);
        return;
    }
    task_next(s);
    pull_more(s);
}

void task_next(struct src *s)
{
    size_t room = tr_pool_free(s->pool);

    for (struct delivery *d = s->first; d; d = d->next)
        room -= d->stage == ST_STARTING && room > 0;
    for (struct delivery *d = s->first; d && room > 0; d = d->next) {
        if (d->stage == ST_WAITING && !s->draining) {
            d->stage = ST_STARTING;
            db_start(d);
            room--;
        }
    }
}

/* ---------------------------------------------------------------- start */

static void say_status(struct delivery *d, enum tr_state state, const char *error)
{
    src_say(d->src, TR_SUBJECT_EVENTS ".status", event_status(d->src, d, state, error));
}

static void give_to_slot(struct delivery *d)
{
    struct src *s = d->src;
    struct tr_err err = TR_ERR_INIT;

    if (s->draining || s->closing) {
        d->stage = ST_ENDING;
        db_release(d);
        return;
    }
    tr_metric_time(s->host->metrics, TR_M_QUEUE_WAIT, tr_clock_real_us() - d->published_us);
    if (s->host->logs)
        d->spool = tr_logs_folder(s->host->logs, d->env.submit_id, d->run.run_lease);
    int r = tr_pool_give(s->pool, d, natsMsg_GetData(d->msg), (size_t)natsMsg_GetDataLength(d->msg),
                         d->spool, &err);
    if (r < 0) { /* the slot died meanwhile */
        d->stage = ST_ENDING;
        db_release(d);
        return;
    }
    d->stage = ST_JUDGING;
    d->started_us = tr_clock_mono_us();
    say_status(d, TR_RUNNING, NULL);
}

/* The result event of a row at its end, and those of its duplicates; then ack. */
static void send_result(struct delivery *d, json_t *event, json_t *duplicates)
{
    struct outgoing *o = out_new(d, SETTLE_ACK);
    char id[TR_MSG_ID_MAX + 64];
    size_t i;
    json_t *name;

    if (!o || !event) {
        settle(d, o);
        return;
    }
    event_id(d, "result", id, sizeof(id));
    out_add(o, TR_SUBJECT_EVENTS ".status", id, event_text(event), false);
    if (d->contest) {
        event_id(d, "contest", id, sizeof(id));
        out_add(o, TR_SUBJECT_EVENTS ".contest", id, event_contest(d, event), false);
    }
    json_array_foreach(duplicates, i, name)
    {
        json_t *copy = json_copy(event);

        (void)json_object_set(copy, "submit_id", name);
        (void)json_object_set_new(copy, "duplicate_of", json_string(d->env.submit_id));
        (void)snprintf(id, sizeof(id), "%.128s:duplicate:result", json_string_value(name));
        out_add(o, TR_SUBJECT_EVENTS ".status", id, event_text(copy), false);
        json_decref(copy);
    }
    settle(d, o);
}

/* This message is a second submission of what `first` is. Its result may be there already. */
static void send_duplicate(struct delivery *d, json_t *event, const char *first)
{
    struct outgoing *o = out_new(d, SETTLE_ACK);
    char id[TR_MSG_ID_MAX + 64];

    tr_metric_add(d->src->host->metrics, TR_M_TASKS_DUPLICATE);
    if (o && event) {
        json_t *copy = json_copy(event);

        (void)json_object_set_new(copy, "submit_id", json_string(d->env.submit_id));
        (void)json_object_set_new(copy, "duplicate_of", json_string(first));
        (void)snprintf(id, sizeof(id), "%s:duplicate:result", d->env.submit_id);
        out_add(o, TR_SUBJECT_EVENTS ".status", id, event_text(copy), false);
        json_decref(copy);
    }
    settle(d, o);
}

static void not_started(struct delivery *d, int r, const struct tr_err *err)
{
    if (tr_err_class(r) == TR_E_USAGE && r != TR_E_NOTFOUND) {
        not_a_task(d, err); /* a name that is too long for its column */
        return;
    }
    src_log(d->src, TR_LOG_ERROR, d->env.submit_id, err, "database");
    tr_metric_add(d->src->host->metrics, TR_M_TASKS_RETURNED);
    settle_plain(d, SETTLE_NAK, AWAY_US);
}

void task_started(struct delivery *d, int how, const struct tr_err *err, json_t *result,
                  json_t *duplicates, const char *duplicate_of)
{
    struct tr_metrics *m = d->src->host->metrics;

    switch (how) {
    case TR_START_OK:
        give_to_slot(d);
        return;
    case TR_START_BUSY:
    case TR_START_EARLY:
        tr_metric_add(m, TR_M_TASKS_RETURNED);
        settle_plain(d, SETTLE_NAK, d->run.wait_us);
        return;
    case TR_START_FINISHED:
        tr_metric_add(m, TR_M_TASKS_SKIPPED);
        send_result(d, result, duplicates);
        return;
    case TR_START_DUPLICATE:
        send_duplicate(d, result, duplicate_of);
        return;
    case TR_START_DEAD:
        bury_run(d, "it is in the dead letters already");
        return;
    case TR_START_WORN_OUT:
        bury_run(d, "the workers that judged it died, too many times in a row");
        return;
    case TR_START_CANCELLED:
    case TR_START_STALE:
        tr_metric_add(m, TR_M_TASKS_SKIPPED);
        settle_plain(d, SETTLE_ACK, 0);
        return;
    default:
        not_started(d, how, err);
        return;
    }
}

/* ---------------------------------------------------------------- while it is judged */

static void in_progress(struct delivery *d)
{
    if (src_answer(d->src, d->msg, "+WPI"))
        tr_metric_add(d->src->host->metrics, TR_M_IN_PROGRESS);
}

void task_renew_all(struct src *s)
{
    for (struct delivery *d = s->first; d; d = d->next) {
        if (d->stage != ST_JUDGING) {
            if (d->stage != ST_SETTLING)
                in_progress(d);
        } else if (!d->renewing) {
            d->renewing = true;
            db_renew(d);
        } else {
            in_progress(d); /* the database is slow: at least nobody else gets the message */
        }
    }
}

void task_renewed(struct delivery *d, int r)
{
    struct src *s = d->src;

    d->renewing = false;
    if (d->unlinked) {
        really_free(d);
        return;
    }
    if (d->stage != ST_JUDGING || s->closing)
        return;
    if (r != TR_E_LOST) {
        in_progress(d);
        return;
    }
    src_log(s, TR_LOG_WARN, d->env.submit_id, NULL,
            "the run was taken over or cancelled: stopped, nothing is written");
    tr_metric_add(s->host->metrics, TR_M_TASKS_LOST);
    tr_pool_kill(s->pool, d);
    task_free(d);
}

void task_progress(void *arg, void *user, const char *json, size_t len)
{
    struct src *s = arg;

    src_say(s, TR_SUBJECT_EVENTS ".status", event_progress(s, user, json, len));
}

/* ---------------------------------------------------------------- the end */

void task_result(void *arg, void *user, const struct tr_pool_result *r)
{
    struct src *s = arg;
    struct delivery *d = user;

    if (!strcmp(r->verdict, "JE") && !r->late) { /* the judge's own: again later */
        task_fault(arg, user, *r->fault ? r->fault : "judge error", false);
        return;
    }
    tr_metric_time(s->host->metrics, TR_M_JUDGE_TIME, tr_clock_mono_us() - d->started_us);
    if (r->compile_us)
        tr_metric_time(s->host->metrics, TR_M_COMPILE_TIME, r->compile_us);
    tr_metric_verdict(s->host->metrics, r->lang, r->verdict);
    if (r->log_error)
        src_log(s, TR_LOG_WARN, d->env.submit_id, NULL, r->log_error);
    d->stage = ST_ENDING;
    json_t *event = event_result(s, d, r);
    if (event)
        db_finish(d, r, event);
    else
        db_fault(d, "its slot gave a result that is no JSON", false);
}

void task_fault(void *arg, void *user, const char *why, bool final)
{
    struct delivery *d = user;

    d->stage = ST_ENDING;
    db_fault(d, why, final);
}

void task_died(void *arg, void *user, const char *how)
{
    struct src *s = arg;

    tr_metric_add(s->host->metrics, TR_M_SLOT_DEATHS);
    task_fault(arg, user, how, false);
}

/* The row did not take it: the run is another's, or the database refuses for good. */
static void end_lost(struct delivery *d, const struct tr_err *err)
{
    src_log(d->src, TR_LOG_WARN, d->env.submit_id, err, "not written");
    tr_metric_add(d->src->host->metrics, TR_M_TASKS_LOST);
    task_free(d);
}

void task_finished(struct delivery *d, int r, const struct tr_err *err, json_t *event,
                   json_t *duplicates)
{
    struct src *s = d->src;

    if (r < 0) {
        end_lost(d, err);
        return;
    }
    tr_metric_add(s->host->metrics, TR_M_TASKS_FINISHED);
    if (d->spool && s->host->logs) {
        tr_logs_keep(s->host->logs, d->spool);
        free(d->spool);
        d->spool = NULL;
    }
    send_result(d, event, duplicates);
    task_next(s);
}

void task_faulted(struct delivery *d, int r, const struct tr_err *err, const char *why,
                  int64_t delay_us)
{
    struct src *s = d->src;

    if (r < 0) {
        end_lost(d, err);
        return;
    }
    src_log(s, TR_LOG_WARN, d->env.submit_id, NULL, why);
    if (r == TR_FAULT_DEAD) {
        bury_run(d, why);
    } else {
        d->run.retry_count++;
        tr_metric_add(s->host->metrics, TR_M_TASKS_FAULT);
        say_status(d, TR_SYSTEM_ERROR, why);
        settle_plain(d, SETTLE_NAK, delay_us);
    }
    task_next(s);
}

/* ---------------------------------------------------------------- drain */

void task_give_back(struct delivery *d)
{
    if (d->stage == ST_WAITING) {
        settle_plain(d, SETTLE_NAK, 0);
    } else if (d->stage == ST_JUDGING) {
        tr_pool_kill(d->src->pool, d);
        d->stage = ST_ENDING;
        db_release(d);
    }
}

void task_released(struct delivery *d)
{
    tr_metric_add(d->src->host->metrics, TR_M_TASKS_RETURNED);
    settle_plain(d, SETTLE_NAK, 0);
}
