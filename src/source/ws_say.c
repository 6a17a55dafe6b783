/* SPDX-License-Identifier: MIT
 *
 * ws_say.c - what a judge says to its controller (doc/protocol.md §2).
 *
 * A frame that cannot be sent ends the connection: every outcome is kept until it is settled, and
 * the next session begins by saying what is still here.
 */
#include <string.h>

#include "base/clock.h"
#include "source/ws_private.h"

void tr_ws_say_(struct tr_ws_source *s, json_t *frame)
{
    char *text = frame ? json_dumps(frame, JSON_COMPACT) : NULL;

    json_decref(frame);
    if (!text || !s->ws || tr_ws_send(s->ws, text, strlen(text), NULL) < 0)
        tr_ws_give_up_(s, 1011);
    free(text);
}

void tr_ws_say_auth_(struct tr_ws_source *s)
{
    char proof[TR_SHA256_HEX];

    tr_nonce_new(s->nonce);
    struct tr_judge_talk talk = {.challenge = s->challenge,
                                 .nonce = s->nonce,
                                 .key_id = s->conf.key.key_id,
                                 .judge_id = s->conf.judge_id};
    tr_judge_prove(&s->conf.key, &talk, proof);
    tr_ws_say_(s, json_pack("{s:s, s:i, s:s, s:s, s:s, s:s, s:s}", "type", "auth", "protocol",
                            WS_PROTOCOL, "key_id", s->conf.key.key_id, "judge_id", s->conf.judge_id,
                            "version", s->conf.version, "nonce", s->nonce, "proof", proof));
}

/* Everything that is ours, with its fence; what was dropped is not. */
static json_t *running(const struct tr_ws_source *s, bool tickets)
{
    json_t *list = json_array();

    for (const struct tr_ws_task *t = s->tasks; t; t = t->next) {
        if (t->dropped)
            continue;
        json_t *o = json_pack("{s:s, s:I}", "submit_id", t->submit_id, "run_lease",
                              (json_int_t)t->run_lease);
        if (tickets)
            (void)json_object_set_new(o, "ticket", json_string(t->ticket));
        (void)json_array_append_new(list, o);
    }
    return list;
}

void tr_ws_say_ready_(struct tr_ws_source *s)
{
    json_t *frame =
        json_pack("{s:s, s:i}", "type", "ready", "tokens", s->leaving ? 0 : (int)s->conf.tokens);
    json_t *list = running(s, true);

    if (s->conf.parameters)
        (void)json_object_update(frame, s->conf.parameters);
    if (s->work.data)
        (void)json_object_set_new(frame, "data", s->work.data(s->work.arg));
    s->adopt_by = json_array_size(list) > 0 ? tr_clock_mono_us() + WS_ADOPT_US : 0;
    (void)json_object_set_new(frame, "running", list);
    tr_ws_say_(s, frame);
}

void tr_ws_say_beat_(struct tr_ws_source *s)
{
    json_t *frame =
        json_pack("{s:s, s:I, s:i, s:i, s:o}", "type", "heartbeat", "seq", (json_int_t)++s->beats,
                  "slots", (int)s->work.slots, "busy", (int)s->busy, "running", running(s, false));
    json_t *more = s->work.beat ? s->work.beat(s->work.arg) : NULL;

    if (more)
        (void)json_object_update(frame, more);
    json_decref(more);
    tr_ws_say_(s, frame);
}

void tr_ws_say_outcome_(struct tr_ws_task *t)
{
    struct tr_ws_source *s = t->s;

    /* An old fence would only be answered "stale": after `adopted` it is said with the new one. */
    if (s->state != WS_LIVE || t->session != s->session)
        return;
    json_t *frame = json_copy(t->outcome);
    (void)json_object_set_new(frame, "submit_id", json_string(t->submit_id));
    (void)json_object_set_new(frame, "run_lease", json_integer(t->run_lease));
    (void)json_object_set_new(frame, "ticket", json_string(t->ticket));
    tr_ws_say_(s, frame);
}

static void say_progress_of(struct tr_ws_task *t)
{
    json_t *frame = json_pack("{s:s, s:s, s:I, s:s, s:I, s:I}", "type", "progress", "submit_id",
                              t->submit_id, "run_lease", (json_int_t)t->run_lease, "stage",
                              t->stage, "done", (json_int_t)t->done, "total", (json_int_t)t->total);

    if (t->cases)
        (void)json_object_set_new(frame, "cases", t->cases);
    t->cases = NULL;
    t->progress_waits = false;
    tr_ws_say_(t->s, frame);
}

void tr_ws_say_progress_(struct tr_ws_source *s, int64_t now_us)
{
    s->flush_at = 0;
    for (struct tr_ws_task *t = s->tasks; t && s->state == WS_LIVE; t = t->next) {
        if (!t->progress_waits || t->dropped || t->session != s->session)
            continue;
        if (t->progress_us <= now_us) {
            t->progress_us = now_us + WS_PROGRESS_US;
            say_progress_of(t);
        } else if (!s->flush_at || t->progress_us < s->flush_at) {
            s->flush_at = t->progress_us;
        }
    }
}
