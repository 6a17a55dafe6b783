/* SPDX-License-Identifier: MIT
 *
 * ws_session.c - what the controller says, one function for each message (doc/protocol.md §2).
 *
 * Until `welcome` has proved that the controller knows the key, nothing it says is acted upon but
 * the challenge and an error. Unknown messages are ignored: a newer controller may have more.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "codec/json.h"
#include "source/ws_private.h"

static void on_challenge(struct tr_ws_source *s, const json_t *m)
{
    const char *nonce = tr_json_word(m, "nonce");

    if (json_integer_value(json_object_get(m, "protocol")) != WS_PROTOCOL) {
        tr_ws_fatal_(s, TR_E_UNSUPPORTED, "the controller speaks another version of the protocol");
        return;
    }
    if (strlen(nonce) != TR_NONCE_HEX - 1 || s->challenge[0]) {
        tr_ws_give_up_(s, 1002);
        return;
    }
    (void)snprintf(s->challenge, sizeof(s->challenge), "%s", nonce);
    tr_ws_say_auth_(s);
}

static void on_welcome(struct tr_ws_source *s, const json_t *m)
{
    struct tr_judge_talk talk = {.challenge = s->challenge,
                                 .nonce = s->nonce,
                                 .key_id = s->conf.key.key_id,
                                 .judge_id = s->conf.judge_id};
    json_int_t beat_ms = json_integer_value(json_object_get(m, "heartbeat_ms"));

    if (!s->challenge[0] ||
        !tr_judge_check_controller(&s->conf.key, &talk, tr_json_word(m, "proof"))) {
        tr_ws_fatal_(s, TR_E_DENIED,
                     "the controller could not prove that it knows this judge's key: "
                     "is somebody else at its address?");
        return;
    }
    s->state = WS_LIVE;
    s->session++;
    s->was_live = true;
    s->told_leaving = false;
    s->auth_by = 0;
    s->retry_us = 0;
    s->answered = s->beats;
    s->heartbeat_us = beat_ms > 0 && beat_ms < 3600 * 1000 ? beat_ms * 1000 : 5 * 1000 * 1000;
    s->beat_at = tr_clock_mono_us() + s->heartbeat_us;
    (void)snprintf(s->credential, sizeof(s->credential), "%s", tr_json_word(m, "credential"));
    tr_ws_say_ready_(s);
    if (s->events.connected)
        s->events.connected(s->events.arg, s->conf.controllers[s->controller]);
    tr_ws_check_left_(s);
}

static void adopt(struct tr_ws_source *s, const json_t *o)
{
    const char *id;
    int64_t lease;
    const json_t *next = json_object_get(o, "new_run_lease");
    struct tr_ws_task *t =
        tr_ws_fence_of_(o, &id, &lease) && json_is_integer(next) ? tr_ws_find_(s, id, lease) : NULL;

    if (!t || t->session == s->session)
        return;
    t->run_lease = json_integer_value(next);
    (void)snprintf(t->ticket, sizeof(t->ticket), "%s", tr_json_word(o, "ticket"));
    t->session = s->session;
    if (t->state == WS_T_DONE)
        tr_ws_say_outcome_(t);
    else if (t->state == WS_T_DATA)
        tr_ws_fetch_(t);
}

static void on_adopted(struct tr_ws_source *s, const json_t *m)
{
    struct tr_ws_task *next;
    json_t *o;
    size_t i;

    s->adopt_by = 0;
    json_array_foreach(json_object_get(m, "tasks"), i, o)
    {
        adopt(s, o);
    }
    /* What was not adopted is lost, whether it is in the other list or in none. */
    for (struct tr_ws_task *t = s->tasks; t; t = next) {
        next = t->next;
        if (!t->dropped && t->session != s->session)
            tr_ws_drop_(t);
    }
    tr_ws_pump_(s);
    tr_ws_check_left_(s);
}

static void on_task(struct tr_ws_source *s, const json_t *m)
{
    tr_ws_take_task_(s, m);
}

static struct tr_ws_task *task_of(struct tr_ws_source *s, const json_t *m)
{
    const char *id;
    int64_t lease;

    return tr_ws_fence_of_(m, &id, &lease) ? tr_ws_find_(s, id, lease) : NULL;
}

static void on_settled(struct tr_ws_source *s, const json_t *m)
{
    struct tr_ws_task *t = task_of(s, m);

    if (t && t->state == WS_T_DONE)
        tr_ws_free_task_(t);
    tr_ws_check_left_(s);
}

static void on_beat(struct tr_ws_source *s, const json_t *m)
{
    json_t *o;
    size_t i;

    s->answered = s->beats;
    json_array_foreach(json_object_get(m, "lost"), i, o)
    {
        struct tr_ws_task *t = task_of(s, o);

        if (t && t->session == s->session)
            tr_ws_drop_(t);
    }
    tr_ws_pump_(s);
    tr_ws_check_left_(s);
}

static void on_cancel(struct tr_ws_source *s, const json_t *m)
{
    struct tr_ws_task *t = task_of(s, m);

    if (t)
        tr_ws_cancel_(t, "cancelled");
}

/* These two end the judge; after the others it comes back. */
static void on_bye(struct tr_ws_source *s, const json_t *m)
{
    const char *code = tr_json_word(m, "code");
    char why[300];

    (void)snprintf(why, sizeof(why), "%s", tr_json_word(m, "message"));
    if (strcmp(code, "replaced") == 0) {
        (void)snprintf(why, sizeof(why),
                       "another judge connected as '%s': give one of them another --worker-id",
                       s->conf.judge_id);
        tr_ws_fatal_(s, TR_E_EXISTS, why);
    } else if (strcmp(code, "revoked") == 0) {
        tr_ws_fatal_(s, TR_E_DENIED,
                     "this judge's key was revoked: ask for a new one "
                     "(tribunal keys new --role judge)");
    }
}

/* A refusal before the first welcome is a wrong setting, and a person is watching. Later it may be
 * a controller that is not whole yet; then we keep asking, slowly. */
static void on_error(struct tr_ws_source *s, const json_t *m)
{
    char why[400];

    (void)snprintf(why, sizeof(why), "the controller says %s: %s", tr_json_word(m, "code"),
                   tr_json_word(m, "message"));
    if (s->state == WS_LIVE)
        return; /* about one message; its connection stays */
    if (!s->was_live && strcmp(tr_json_word(m, "code"), "auth_timeout") != 0 &&
        strcmp(tr_json_word(m, "code"), "not_ready") != 0) {
        tr_ws_fatal_(s, TR_E_DENIED, why);
        return;
    }
    s->retry_us = WS_REFUSED_RETRY_US;
    (void)tr_fail(&s->why, TR_E_RETRY, 0, "%s", why);
}

/* drain and resume change nothing here: the controller sends no tasks, we stay. */
static const struct {
    const char *type;
    bool early; /* before welcome too */
    void (*run)(struct tr_ws_source *s, const json_t *m);
} MESSAGES[] = {
    {"challenge", true, on_challenge},
    {"welcome", true, on_welcome},
    {"error", true, on_error},
    {"adopted", false, on_adopted},
    {"task", false, on_task},
    {"settled", false, on_settled},
    {"beat", false, on_beat},
    {"cancel", false, on_cancel},
    {"bye", false, on_bye},
};

void tr_ws_hear_(struct tr_ws_source *s, const char *bytes, size_t len)
{
    TR_CLEANUP(tr_json_unrefp) json_t *m = NULL;

    if (tr_json_parse(bytes, len, WS_FRAME_IN_MAX, &m, NULL) < 0) {
        tr_ws_give_up_(s, 1007);
        return;
    }
    const char *type = tr_json_word(m, "type");
    for (size_t i = 0; i < TR_ARRAY_LEN(MESSAGES); i++) {
        bool early = s->state != WS_LIVE;

        if (strcmp(type, MESSAGES[i].type) == 0 &&
            (MESSAGES[i].early == early || MESSAGES[i].run == on_error)) {
            MESSAGES[i].run(s, m);
            break;
        }
    }
    tr_ws_arm_(s);
}
