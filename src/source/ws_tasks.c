/* SPDX-License-Identifier: MIT
 *
 * ws_tasks.c - the tasks that this judge holds, from `task` to `settled`.
 *
 * A task leaves the list when the controller has stored its outcome, or says that it is not ours
 * any more. In the second case the work may still be busy with it: it is dropped, which means that
 * nobody will hear of it, and freed when the work lets go.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "codec/json.h"
#include "source/ws_private.h"

struct tr_ws_task *tr_ws_find_(struct tr_ws_source *s, const char *submit_id, int64_t run_lease)
{
    for (struct tr_ws_task *t = s->tasks; t; t = t->next) {
        if (!t->dropped && t->run_lease == run_lease && strcmp(t->submit_id, submit_id) == 0)
            return t;
    }
    return NULL;
}

bool tr_ws_fence_of_(const json_t *o, const char **ret_id, int64_t *ret_lease)
{
    const char *id = json_string_value(json_object_get(o, "submit_id"));
    const json_t *lease = json_object_get(o, "run_lease");

    if (!id || !id[0] || strlen(id) > WS_SUBMIT_ID_MAX || !json_is_integer(lease))
        return false;
    *ret_id = id;
    *ret_lease = json_integer_value(lease);
    return true;
}

void tr_ws_free_task_(struct tr_ws_task *t)
{
    struct tr_ws_source *s = t->s;

    for (struct tr_ws_task **at = &s->tasks; *at; at = &(*at)->next) {
        if (*at == t) {
            *at = t->next;
            s->ntasks--;
            break;
        }
    }
    json_decref(t->outcome);
    json_decref(t->cases);
    free(t->task);
    free(t);
}

/* An outcome for the controller; `frame` is taken. */
static void finish(struct tr_ws_task *t, json_t *frame)
{
    t->state = WS_T_DONE;
    t->outcome = frame;
    t->progress_waits = false;
    tr_ws_say_outcome_(t);
}

static json_t *fault_frame(bool again, bool crashed, const char *message)
{
    return json_pack("{s:s, s:s, s:b, s:o}", "type", "fault", "class", again ? "retry" : "fatal",
                     "crashed", crashed, "message",
                     tr_json_clean(message, strlen(message), WS_MESSAGE_MAX));
}

void tr_ws_return_(struct tr_ws_task *t, const char *reason)
{
    finish(t, json_pack("{s:s, s:s}", "type", "returned", "reason", reason));
}

void tr_ws_drop_(struct tr_ws_task *t)
{
    if (t->state != WS_T_JUDGING) {
        tr_ws_free_task_(t);
        return;
    }
    t->dropped = true;
    t->s->work.cancel(t->s->work.arg, t);
}

void tr_ws_cancel_(struct tr_ws_task *t, const char *reason)
{
    if (t->state == WS_T_DATA || t->state == WS_T_WAITS) {
        tr_ws_return_(t, reason);
    } else if (t->state == WS_T_JUDGING && !t->cancelled) {
        t->cancelled = true;
        t->s->work.cancel(t->s->work.arg, t);
    }
}

/* Is somebody fetching this archive already, in this session? */
static bool is_being_fetched(const struct tr_ws_task *t)
{
    for (const struct tr_ws_task *u = t->s->tasks; u; u = u->next) {
        if (u != t && u->state == WS_T_DATA && u->fetching == t->s->session &&
            strcmp(u->sha256, t->sha256) == 0)
            return true;
    }
    return false;
}

void tr_ws_fetch_(struct tr_ws_task *t)
{
    struct tr_ws_source *s = t->s;
    char url[TR_WS_BASE + sizeof(t->path)];
    struct tr_err err = TR_ERR_INIT;
    bool there = is_being_fetched(t);

    t->fetching = s->session;
    if (there)
        return;
    (void)snprintf(url, sizeof(url), "%s%s", s->base, t->path);
    if (s->work.fetch(s->work.arg, t->sha256, url, t->size, &err) < 0)
        tr_ws_ended_fault(t, true, false, err.msg);
}

void tr_ws_data_ready(struct tr_ws_source *s, const char *sha256, int r, const struct tr_err *err)
{
    struct tr_ws_task *next;

    for (struct tr_ws_task *t = s->tasks; t; t = next) {
        next = t->next;
        if (t->state != WS_T_DATA || strcmp(t->sha256, sha256) != 0)
            continue;
        /* A transfer that broke with the connection is no fault: it is begun anew with the next. */
        if (r == 0)
            t->state = WS_T_WAITS;
        else if (s->state != WS_LIVE || t->session != s->session)
            t->fetching = 0;
        else if (t->fetching != s->session)
            tr_ws_fetch_(t);
        else
            tr_ws_ended_fault(t, true, false, err->msg);
    }
    tr_ws_pump_(s);
}

static void begin(struct tr_ws_task *t)
{
    struct tr_ws_source *s = t->s;
    struct tr_err err = TR_ERR_INIT;
    struct tr_ws_job job = {.submit_id = t->submit_id,
                            .run_lease = t->run_lease,
                            .kind = t->kind,
                            .task = t->task,
                            .task_len = strlen(t->task),
                            .sha256 = t->sha256[0] ? t->sha256 : NULL};

    t->state = WS_T_JUDGING;
    s->busy++;
    if (s->work.begin(s->work.arg, t, &job, &err) == 0)
        return;
    s->busy--;
    finish(t, fault_frame(true, false, err.msg));
}

void tr_ws_pump_(struct tr_ws_source *s)
{
    while (!s->leaving && s->busy < s->work.slots) {
        struct tr_ws_task *t = s->tasks;

        while (t && t->state != WS_T_WAITS)
            t = t->next;
        if (!t)
            return;
        begin(t);
    }
}

static struct tr_ws_task *task_new(struct tr_ws_source *s, const json_t *frame)
{
    const char *id, *kind = json_string_value(json_object_get(frame, "kind"));
    const char *ticket = json_string_value(json_object_get(frame, "ticket"));
    const json_t *body = json_object_get(frame, "task");
    int64_t lease;

    if (!tr_ws_fence_of_(frame, &id, &lease) || !json_is_object(body))
        return NULL;
    struct tr_ws_task *t = calloc(1, sizeof(*t));
    if (!t)
        return NULL;
    *t = (struct tr_ws_task){
        .s = s, .session = s->session, .run_lease = lease, .stage = "preparing"};
    (void)snprintf(t->submit_id, sizeof(t->submit_id), "%s", id);
    (void)snprintf(t->ticket, sizeof(t->ticket), "%s", ticket ? ticket : "");
    (void)snprintf(t->kind, sizeof(t->kind), "%s", kind ? kind : "judge");
    t->task = json_dumps(body, JSON_COMPACT);
    if (!t->task) {
        free(t);
        return NULL;
    }
    return t;
}

/* Where its archive is: a path of the controller that we are connected to, never another's. */
static void read_data(struct tr_ws_task *t, const json_t *data)
{
    const char *sha256 = json_string_value(json_object_get(data, "sha256"));
    const char *url = json_string_value(json_object_get(data, "url"));

    if (!sha256 || tr_sha256_parse(sha256, t->sha256, NULL) < 0)
        return;
    if (url && url[0] == '/')
        (void)snprintf(t->path, sizeof(t->path), "%s", url);
    else
        (void)snprintf(t->path, sizeof(t->path), "/judge/v1/data/%s", t->sha256);
    t->size = (uint64_t)json_integer_value(json_object_get(data, "size"));
}

void tr_ws_take_task_(struct tr_ws_source *s, const json_t *frame)
{
    struct tr_ws_task *t = task_new(s, frame);

    if (!t)
        return; /* not a task; missing in the next two heartbeats, it counts as given back */
    struct tr_ws_task **at = &s->tasks;
    while (*at)
        at = &(*at)->next;
    *at = t;
    s->ntasks++;
    read_data(t, json_object_get(frame, "data"));
    if (s->leaving) {
        tr_ws_return_(t, "draining");
    } else if (s->ntasks > WS_TASKS_MAX) {
        tr_ws_return_(t, "no room");
    } else if (t->sha256[0] && s->work.fetch) {
        t->state = WS_T_DATA;
        tr_ws_fetch_(t);
    } else {
        t->state = WS_T_WAITS;
        tr_ws_pump_(s);
    }
}

/* --- told by the work ---------------------------------------------------------------------- */

void tr_ws_progress(struct tr_ws_task *t, const char *stage, size_t done, size_t total, json_t *one)
{
    if (t->dropped || t->state != WS_T_JUDGING) {
        json_decref(one);
        return;
    }
    t->stage = stage;
    t->done = done;
    t->total = total;
    t->progress_waits = true;
    if (one && !t->cases)
        t->cases = json_array();
    if (one)
        (void)json_array_append_new(t->cases, one);
    tr_ws_say_progress_(t->s, tr_clock_mono_us());
    tr_ws_arm_(t->s);
}

/* The work let go of it. False: nobody wants to hear how it ended, and it is gone. */
static bool let_go(struct tr_ws_task *t)
{
    if (t->state == WS_T_JUDGING)
        t->s->busy--;
    free(TR_TAKE(t->task));
    if (!t->dropped)
        return true;
    tr_ws_free_task_(t);
    return false;
}

static void ended(struct tr_ws_task *t, json_t *frame)
{
    struct tr_ws_source *s = t->s;

    if (let_go(t))
        finish(t, frame);
    else
        json_decref(frame);
    tr_ws_pump_(s);
    tr_ws_check_left_(s);
}

void tr_ws_ended_result(struct tr_ws_task *t, json_t *result)
{
    (void)json_object_set_new(result, "type", json_string("result"));
    ended(t, result);
}

void tr_ws_ended_fault(struct tr_ws_task *t, bool again, bool crashed, const char *message)
{
    ended(t, fault_frame(again, crashed, message));
}

void tr_ws_ended_stopped(struct tr_ws_task *t)
{
    ended(t, json_pack("{s:s, s:s}", "type", "returned", "reason",
                       t->cancelled ? "cancelled" : "stopping"));
}

int64_t tr_ws_task_lease(const struct tr_ws_task *t)
{
    return t->dropped ? 0 : t->run_lease;
}
