/* SPDX-License-Identifier: MIT
 *
 * ws.c - the life of a judge's connection: connect, prove, live, lose it, try again, leave.
 *
 * Losing the connection ends nothing but the connection. Tasks go on, outcomes are kept, and the
 * next session offers all of them under their fences. Only what a person has to mend (a wrong key,
 * a name twice) ends the judge.
 */
#include "source/ws.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/rand.h"
#include "source/ws_private.h"

enum {
    LEAVE_US = 60 * 1000 * 1000, /* for outcomes that no controller takes; then they are given up */
    GOODBYE_US = 2 * 1000 * 1000 /* for the closing handshake of a judge that has nothing left */
};

static void lost(struct tr_ws_source *s, const char *why);

/* --- moments --------------------------------------------------------------------------------- */

static void on_timer(uv_timer_t *timer);

void tr_ws_arm_(struct tr_ws_source *s)
{
    const int64_t moments[] = {s->connect_at, s->auth_by,  s->adopt_by,
                               s->beat_at,    s->flush_at, s->leave_by};
    int64_t next = 0;

    for (size_t i = 0; i < TR_ARRAY_LEN(moments); i++) {
        if (moments[i] && (!next || moments[i] < next))
            next = moments[i];
    }
    if (s->over || !next) {
        (void)uv_timer_stop(&s->timer);
        return;
    }
    int64_t left_ms = (next - tr_clock_mono_us() + 999) / 1000;
    (void)uv_timer_start(&s->timer, on_timer, left_ms > 0 ? (uint64_t)left_ms : 0, 0);
}

static void end(struct tr_ws_source *s)
{
    if (s->over)
        return;
    s->over = true;
    (void)uv_timer_stop(&s->timer);
    s->events.ended(s->events.arg, s->fatal, &s->why);
}

void tr_ws_fatal_(struct tr_ws_source *s, int r, const char *sentence)
{
    if (s->fatal)
        return;
    s->fatal = tr_fail(&s->why, r, 0, "%s", sentence);
    tr_ws_give_up_(s, 1000);
}

void tr_ws_give_up_(struct tr_ws_source *s, int code)
{
    if (s->ws)
        tr_ws_close(s->ws, code);
    s->auth_by =
        s->auth_by ? s->auth_by : tr_clock_mono_us() + WS_AUTH_US; /* if it will not close */
}

/* --- connecting ------------------------------------------------------------------------------ */

static void on_opened(void *arg)
{
    struct tr_ws_source *s = arg;

    s->state = WS_GREETED;
}

static void on_text(void *arg, char *bytes, size_t len)
{
    tr_ws_hear_(arg, bytes, len);
}

static void on_closed(void *arg, int code, const char *why)
{
    (void)code;
    lost(arg, why);
}

static void connect_now(struct tr_ws_source *s)
{
    const struct tr_ws_events events = {s, on_opened, on_text, on_closed};
    struct tr_ws_target target = {.url = s->conf.controllers[s->controller],
                                  .path = "/ws/judge",
                                  .subprotocol = "tribunal.judge.v1",
                                  .max_message = WS_FRAME_IN_MAX,
                                  .max_waiting = WS_WAITING_MAX};
    struct tr_err err = TR_ERR_INIT;

    s->connect_at = 0;
    s->challenge[0] = '\0';
    s->state = WS_OPENING;
    s->auth_by = tr_clock_mono_us() + WS_AUTH_US;
    (void)tr_ws_http_base(target.url, s->base, NULL); /* checked when the source was made */
    if (tr_ws_connect(s->net, &target, &events, &s->ws, &err) < 0)
        lost(s, err.msg);
}

/* Half of the wait is by chance, so that a farm does not come back in one instant. */
static int64_t next_wait(struct tr_ws_source *s)
{
    int64_t wait = s->retry_us ? s->retry_us : WS_RETRY_MIN_US;

    s->retry_us = wait * 2 < WS_RETRY_MAX_US ? wait * 2 : WS_RETRY_MAX_US;
    return wait / 2 + (int64_t)tr_random_below((uint64_t)wait);
}

static void lost(struct tr_ws_source *s, const char *why)
{
    const char *controller = s->conf.controllers[s->controller];
    char said[TR_ERR_MSG_MAX]; /* the connection's own words go with it */

    (void)snprintf(said, sizeof(said), "%s", s->why.code ? s->why.msg : why);
    tr_ws_free(TR_TAKE(s->ws));
    s->state = WS_OFF;
    s->credential[0] = '\0';
    s->auth_by = s->adopt_by = s->beat_at = s->flush_at = 0;
    if (s->fatal || (s->leaving && s->ntasks == 0)) {
        end(s);
        return;
    }
    int64_t wait = next_wait(s);
    s->connect_at = tr_clock_mono_us() + wait;
    s->controller = (s->controller + 1) % s->conf.ncontrollers;
    if (s->events.lost)
        s->events.lost(s->events.arg, controller, said, wait);
    s->why = (struct tr_err)TR_ERR_INIT;
    tr_ws_arm_(s);
}

static void beat(struct tr_ws_source *s, int64_t now)
{
    if (s->beats - s->answered >= WS_MISSED_BEATS) {
        lost(s, "three heartbeats were not answered");
        return;
    }
    s->beat_at = now + s->heartbeat_us;
    tr_ws_say_beat_(s);
}

static void on_timer(uv_timer_t *timer)
{
    struct tr_ws_source *s = timer->data;
    int64_t now = tr_clock_mono_us();

    if (s->leave_by && s->leave_by <= now)
        end(s);
    else if (s->auth_by && s->auth_by <= now)
        lost(s, "the controller did not answer in 15 s");
    else if (s->adopt_by && s->adopt_by <= now)
        lost(s, "the controller did not say in 30 s which tasks are still ours");
    else if (s->connect_at && s->connect_at <= now)
        connect_now(s);
    else if (s->beat_at && s->beat_at <= now)
        beat(s, now);
    else if (s->flush_at && s->flush_at <= now)
        tr_ws_say_progress_(s, now);
    tr_ws_arm_(s);
}

/* --- leaving --------------------------------------------------------------------------------- */

void tr_ws_check_left_(struct tr_ws_source *s)
{
    if (!s->leaving || s->over)
        return;
    if (s->state == WS_LIVE && !s->told_leaving) {
        s->told_leaving = true;
        tr_ws_say_(s, json_pack("{s:s}", "type", "leaving"));
    }
    if (s->ntasks > 0)
        return;
    if (!s->ws) { /* nobody there to say good-bye to */
        end(s);
        return;
    }
    tr_ws_close(s->ws, 1000); /* also before a greeting; closed() ends it, or the time is up */
    int64_t by = tr_clock_mono_us() + GOODBYE_US;
    s->leave_by = s->leave_by && s->leave_by < by ? s->leave_by : by;
    tr_ws_arm_(s);
}

void tr_ws_source_leave(struct tr_ws_source *s, bool now)
{
    struct tr_ws_task *next;

    s->leaving = true;
    for (struct tr_ws_task *t = s->tasks; t; t = next) {
        next = t->next;
        if (t->state == WS_T_DATA || t->state == WS_T_WAITS || now)
            tr_ws_cancel_(t, "stopping");
    }
    /* Judging may take its time; outcomes that nobody takes may not. A second request is in haste.
     */
    if (now)
        s->leave_by = tr_clock_mono_us() + WS_AUTH_US / 3;
    else if (s->state != WS_LIVE)
        s->leave_by = tr_clock_mono_us() + LEAVE_US;
    tr_ws_check_left_(s);
    tr_ws_arm_(s);
}

/* --- made and freed -------------------------------------------------------------------------- */

void tr_ws_source_tokens(struct tr_ws_source *s, unsigned tokens)
{
    s->conf.tokens = tokens;
    if (s->state == WS_LIVE)
        tr_ws_say_(s, json_pack("{s:s, s:i}", "type", "tokens", "tokens", (int)tokens));
}

const char *tr_ws_source_credential(const struct tr_ws_source *s)
{
    return s->credential;
}

const char *tr_ws_source_base(const struct tr_ws_source *s)
{
    return s->base;
}

static int check(const struct tr_ws_source_conf *conf, struct tr_err *err)
{
    char base[TR_WS_BASE];

    if (conf->ncontrollers == 0)
        return tr_fail(err, TR_E_USAGE, 0, "no controller to connect to");
    for (size_t i = 0; i < conf->ncontrollers; i++) {
        int r = tr_ws_http_base(conf->controllers[i], base, err);
        if (r < 0)
            return r;
    }
    if (!tr_judge_id_ok(conf->judge_id))
        return tr_fail(err, TR_E_PARSE, 0,
                       "'%.80s' is no name for a judge: 1 to 64 letters, digits, '.', '_' or '-'",
                       conf->judge_id);
    if (conf->tokens > WS_TASKS_MAX)
        return tr_fail(err, TR_E_LIMIT, 0, "at most %d tasks at once", (int)WS_TASKS_MAX);
    return 0;
}

int tr_ws_source_new(struct tr_loop *loop, struct tr_ws_net *net,
                     const struct tr_ws_source_conf *conf, const struct tr_ws_work *work,
                     const struct tr_ws_judge_events *events, struct tr_ws_source **ret,
                     struct tr_err *err)
{
    int r = check(conf, err);

    if (r < 0)
        return r;
    struct tr_ws_source *s = calloc(1, sizeof(*s));
    if (!s)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory for a judge");
    *s = (struct tr_ws_source){
        .loop = loop, .net = net, .conf = *conf, .work = *work, .events = *events};
    json_incref(s->conf.parameters);
    r = uv_timer_init(tr_loop_uv(loop), &s->timer);
    assert(r == 0); /* libuv: it cannot fail */
    s->timer.data = s;
    s->connect_at = tr_clock_mono_us();
    tr_ws_arm_(s);
    *ret = s;
    return 0;
}

static void freed(uv_handle_t *timer)
{
    free(timer->data);
}

void tr_ws_source_free(struct tr_ws_source *s)
{
    if (!s)
        return;
    s->over = true;
    tr_ws_free(TR_TAKE(s->ws));
    while (s->tasks)
        tr_ws_free_task_(s->tasks);
    json_decref(s->conf.parameters);
    explicit_bzero(&s->conf.key, sizeof(s->conf.key));
    uv_close((uv_handle_t *)&s->timer, freed);
}
