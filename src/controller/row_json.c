/* SPDX-License-Identifier: MIT
 *
 * row_json.c - rows to JSON; see row_json.h.
 */
#include "controller/row_json.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "codec/brief.h"
#include "codec/json.h"
#include "controller/ctl.h"
#include "controller/judges.h"

enum {
    EVENTS_MAX = 500
};

static void put_time(json_t *o, const char *name, int64_t us)
{
    char when[TR_TIME_TEXT];

    if (us)
        (void)json_object_set_new(o, name, json_string(tr_clock_text(us, when)));
}

static void put_text(json_t *o, const char *name, const char *text)
{
    if (text && *text)
        (void)json_object_set_new(o, name, tr_json_clean(text, strlen(text), 64 * 1024));
}

static json_t *points(int64_t millionths)
{
    return millionths % 1000000 == 0 ? json_integer(millionths / 1000000)
                                     : json_real((double)millionths / 1e6);
}

/* Counts, limits and the strip, as the result left them. */
static void put_brief(json_t *o, const char *brief)
{
    TR_CLEANUP(tr_json_unrefp) json_t *j = NULL;

    if (brief && tr_json_parse(brief, strlen(brief), TR_BRIEF_MAX, &j, NULL) >= 0)
        (void)json_object_update_missing(o, j);
}

static void put_progress(struct ctl *ctl, json_t *o, const struct tr_submission *s)
{
    struct judge *g = s->worker_id ? judges_find(ctl->judges, s->worker_id) : NULL;
    const struct run *r = g ? judge_run(g, s->submit_id) : NULL;

    if (r && *r->stage)
        (void)json_object_set_new(o, "progress",
                                  json_pack("{s:s, s:I, s:I, s:s}", "stage", r->stage, "done",
                                            (json_int_t)r->done, "total", (json_int_t)r->total,
                                            "strip", r->strip ? r->strip : ""));
}

json_t *row_summary(struct ctl *ctl, const struct tr_submission *s)
{
    json_t *o =
        json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:s}", "submit_id", s->submit_id, "status",
                  tr_state_name(s->status), "priority", (json_int_t)s->priority, "generation",
                  (json_int_t)s->generation, "attempts", (json_int_t)s->retry_count, "crashes",
                  (json_int_t)s->crashes, "kind", strcmp(s->subject, "run") == 0 ? "run" : "judge");

    if (!o)
        return NULL;
    put_text(o, "problem", s->problem_id);
    put_text(o, "language", s->lang);
    put_text(o, "user", *s->user_name ? s->user_name : s->user_id);
    put_text(o, "contest", s->contest_id);
    put_text(o, "worker_id", s->worker_id);
    put_text(o, "error", s->error);
    if (s->status == TR_FINISHED) {
        put_text(o, "verdict", s->verdict);
        (void)json_object_set_new(o, "score", points(s->score));
        (void)json_object_set_new(o, "time_ms", json_integer(s->time_ms));
        (void)json_object_set_new(o, "memory_kb", json_integer(s->memory_kb));
        put_brief(o, s->brief);
    } else if (s->status == TR_RUNNING) {
        put_progress(ctl, o, s);
    }
    put_time(o, "created_at", s->created_us);
    put_time(o, "started_at", s->start_us);
    put_time(o, "finished_at", s->finish_us);
    return o;
}

int row_read(struct tr_store *st, const char *submit_id, struct tr_arena *arena,
             struct row_whole *ret, struct tr_err *err)
{
    int r = tr_store_get(st, submit_id, arena, &ret->s, err);

    if (r >= 0)
        r = tr_store_texts(st, submit_id, arena, &ret->task, &ret->task_len, &ret->result,
                           &ret->result_len, err);
    if (r >= 0)
        r = tr_store_history(st, submit_id, arena, &ret->history, &ret->nhistory, err);
    if (r >= 0)
        r = tr_store_events_of(st, submit_id, EVENTS_MAX, arena, &ret->events, err);
    ret->ahead = 0;
    return r < 0 || ret->s.status != TR_PENDING ? r : tr_store_ahead(st, &ret->s, &ret->ahead, err);
}

/* PENDING, RUNNING …: the events as a line of life. */
static json_t *timeline(const struct tr_event_list *events)
{
    json_t *list = json_array();
    char when[TR_TIME_TEXT];

    for (size_t i = 0; list && i < events->count; i++) {
        const struct tr_event *e = &events->rows[i];
        TR_CLEANUP(tr_json_unrefp)
        json_t *body = json_loadb(e->body, e->body_len, JSON_REJECT_DUPLICATES, NULL);
        const char *status = json_string_value(json_object_get(body, "status"));
        json_t *o =
            json_pack("{s:s, s:s, s:O*, s:O*}", "at", tr_clock_text(e->at_us, when), "what",
                      status ? status : e->type, "worker_id", json_object_get(body, "worker_id"),
                      "message", json_object_get(body, "message"));

        (void)json_array_append_new(list, o);
    }
    return list;
}

static json_t *history(const struct row_whole *w)
{
    json_t *list = json_array();

    for (size_t i = 0; list && i < w->nhistory; i++) {
        const struct tr_generation *g = &w->history[i];
        json_t *o =
            json_pack("{s:I, s:s, s:s*, s:o}", "generation", (json_int_t)g->generation, "status",
                      tr_state_name(g->status), "verdict", g->verdict, "score", points(g->score));

        if (o)
            put_time(o, "finished_at", g->finish_us);
        (void)json_array_append_new(list, o);
    }
    return list;
}

static void put_task(json_t *o, const json_t *task, bool source)
{
    json_t *code = json_object_get(task, "code");
    json_t *version = json_object_get(json_object_get(task, "problem"), "version");
    json_t *class = json_object_get(task, "class");

    if (code)
        (void)json_object_set_new(o, "code_bytes",
                                  json_integer((json_int_t)json_string_length(code)));
    if (code && source)
        (void)json_object_set(o, "source", code);
    if (version)
        (void)json_object_set(o, "problem_version", version);
    if (class)
        (void)json_object_set(o, "class", class);
}

static void put_result(json_t *o, const struct row_whole *w)
{
    TR_CLEANUP(tr_json_unrefp)
    json_t *kept = json_loadb(w->result, w->result_len, JSON_ALLOW_NUL, NULL);
    /* what came through NATS is kept as the whole event */
    json_t *inner = json_object_get(kept, "result");
    json_t *result = json_is_object(inner) ? inner : kept;
    char brief[TR_BRIEF_MAX];

    if (!w->s.brief) { /* finished before lists had it */
        tr_result_brief(result, brief);
        put_brief(o, brief);
    }
    (void)json_object_set(o, "result", result);
}

json_t *row_json(struct ctl *ctl, const struct row_whole *w, bool source)
{
    json_t *o = row_summary(ctl, &w->s);
    TR_CLEANUP(tr_json_unrefp)
    json_t *task = json_loadb(w->task, w->task_len, JSON_ALLOW_NUL, NULL);

    if (!o)
        return NULL;
    if (task)
        put_task(o, task, source);
    if (w->s.status == TR_PENDING)
        (void)json_object_set_new(o, "queue_position", json_integer(w->ahead));
    if (w->result_len && w->s.status == TR_FINISHED)
        put_result(o, w);
    (void)json_object_set_new(o, "timeline", timeline(&w->events));
    (void)json_object_set_new(o, "history", history(w));
    return o;
}
