/* SPDX-License-Identifier: MIT
 *
 * judge_ws.c - the judge's half of the protocol, message by message.
 *
 * Everything that comes in is hostile until `auth` is proven and may be wrong after it: a judge
 * that breaks the rules hurts itself alone.
 */
#include "controller/judge_ws.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "codec/json.h"
#include "controller/ctl.h"
#include "controller/dispatch.h"
#include "controller/judge_login.h"
#include "controller/judge_says.h"
#include "controller/lease.h"
#include "controller/marks.h"
#include "controller/problems.h"
#include "controller/settle.h"

enum {
    AUTH_FRAME_MAX = 4096
};

/* ---------------------------------------------------------------- sending */

void judge_ws_send(struct judge *g, json_t *doc)
{
    tr_autofree char *text = doc ? json_dumps(doc, JSON_COMPACT) : NULL;

    json_decref(doc);
    if (text && g->conn)
        conn_send(g->conn, note_new(text, strlen(text)));
}

void judge_ws_refuse(struct judge *g, const char *code, unsigned close, const char *message)
{
    struct tr_log_field f = {.key = "address", .value = g->address};

    if (g->conn->close_code)
        return;
    tr_log(TR_LOG_WARN, &f, "refused a judge: %s", message);
    judge_ws_send(g,
                  json_pack("{s:s, s:s, s:s}", "type", "error", "code", code, "message", message));
    conn_close(g->conn, close, code);
}

void judge_ws_bye(struct judge *g, const char *code, const char *message, unsigned close)
{
    if (!g->conn || g->conn->close_code)
        return;
    judge_ws_send(g, json_pack("{s:s, s:s, s:s}", "type", "bye", "code", code, "message", message));
    conn_close(g->conn, close, code);
}

/* A message that cannot be obeyed; too many of them end the session. */
void judge_ws_complain(struct judge *g, const char *code, const char *field, const char *message)
{
    judge_ws_send(g, json_pack("{s:s, s:s, s:s, s:s*}", "type", "error", "code", code, "message",
                               message, "field", field));
    if (g->state == JUDGE_NEW || g->state == JUDGE_WELCOME)
        conn_close(g->conn, 4002, code);
    else if (++g->errors >= JUDGE_ERRORS_MAX)
        judge_ws_bye(g, "protocol", "too many messages that break the protocol", 4002);
}

struct judge *judge_ws_session(struct ctl *ctl, const char *session)
{
    for (struct judge *g = judges_first(ctl->judges); g; g = g->next)
        if (g->conn && g->session[0] && strcmp(g->session, session) == 0)
            return g;
    return NULL;
}

/* The task's text is in the database as it goes out: it is put in whole, not parsed again. */
void judge_ws_task(struct judge *g, struct claimed *c)
{
    TR_CLEANUP(tr_buf_done) struct tr_buf b;
    struct run *r = c->run;
    uint64_t size = 0;

    tr_buf_init(&b, 2 * (size_t)TR_STORE_TASK_MAX);
    tr_buf_addf(&b,
                "{\"type\":\"task\",\"submit_id\":\"%s\",\"run_lease\":%" PRId64
                ",\"ticket\":\"%" PRId64 ".%" PRId64 "\",\"kind\":\"%s\",\"attempt\":%" PRId64
                ",\"generation\":%" PRId64 ",",
                r->submit_id, r->run_lease, r->job.id, r->job.run_lease,
                c->custom_run ? "run" : "judge", r->retry_count + 1, r->generation);
    if (*c->data) {
        int fd = problems_open_data(g->ctl, c->data, &size, NULL);

        tr_close(&fd); /* only its size was wanted */
        tr_buf_addf(&b,
                    "\"data\":{\"sha256\":\"%s\",\"url\":\"/judge/v1/data/%s\",\"size\":%" PRIu64
                    ",\"problem\":\"%s\",\"version\":\"%s\"},",
                    c->data, c->data, size, r->problem, c->version);
        judge_note_data(g, c->data);
    }
    if (*c->code)
        judge_note_data(g, c->code);
    tr_buf_adds(&b, "\"task\":");
    tr_buf_add(&b, c->task, c->task_len);
    tr_buf_addc(&b, '}');
    judge_add_run(g, r);
    conn_send(g->conn, b.failed ? NULL : note_new(b.data, b.len));
}

void judge_ws_settled(struct ctl *ctl, const char *session, const struct run *r,
                      const char *outcome)
{
    struct judge *g = judge_ws_session(ctl, session);

    if (g)
        judge_ws_send(g, json_pack("{s:s, s:s, s:I, s:s}", "type", "settled", "submit_id",
                                   r->submit_id, "run_lease", (json_int_t)r->run_lease, "outcome",
                                   outcome));
    if (g)
        dispatch_kick(ctl);
}

void judge_ws_cancel(struct ctl *ctl, const char *submit_id, const char *reason)
{
    struct judge *g = judges_of_run(ctl->judges, submit_id);
    struct run *r = g ? judge_run(g, submit_id) : NULL;

    if (!r)
        return;
    r->cancelled = true;
    judge_ws_send(g, json_pack("{s:s, s:s, s:I, s:s}", "type", "cancel", "submit_id", submit_id,
                               "run_lease", (json_int_t)r->run_lease, "reason", reason));
}

/* ---------------------------------------------------------------- ready */

static bool set_languages(struct judge *g, const json_t *list)
{
    size_t i, n = json_array_size(list);
    const json_t *v;
    char **langs = n && n <= JUDGE_LANGS_MAX ? calloc(n, sizeof(char *)) : NULL;
    size_t count = 0;

    if (!langs)
        return false;
    json_array_foreach(list, i, v)
    {
        const char *slug = json_string_value(json_object_get(v, "slug"));

        if (slug && strlen(slug) <= 64 && (langs[count] = strdup(slug)))
            count++;
    }
    for (i = 0; i < g->nlangs; i++)
        free(g->langs[i]);
    free((void *)g->langs);
    g->langs = langs;
    g->nlangs = count;
    return true;
}

static void set_classes(struct judge *g, const json_t *list)
{
    size_t i;
    const json_t *v;

    g->light = g->heavy = !json_is_array(list);
    json_array_foreach(list, i, v)
    {
        const char *word = json_string_value(v);

        g->light = g->light || (word && strcmp(word, "light") == 0);
        g->heavy = g->heavy || (word && strcmp(word, "heavy") == 0);
    }
}

void judge_ws_begin(struct judge *g)
{
    struct tr_log_field f = {.key = "judge", .value = g->judge_id};

    if (g->state == JUDGE_READY)
        return;
    g->state = JUDGE_READY;
    g->beat_us = tr_clock_mono_us();
    g->draining = marks_has(g->ctl->marks, MARK_DRAIN, g->judge_id);
    tr_log(TR_LOG_INFO, &f, "connected from %s: %lld tokens, %zu languages, %lld tasks", g->address,
           (long long)g->tokens, g->nlangs, (long long)g->nruns);
    events_live(g->ctl->events, json_pack("{s:s, s:s, s:s}", "type", "judge", "judge_id",
                                          g->judge_id, "state", "connected"));
    dispatch_poll(g->ctl); /* something may have waited for its languages */
    dispatch_kick(g->ctl);
}

static void on_ready(struct judge *g, const json_t *m)
{
    const char *bad = judge_says_bad_ready(m);
    size_t i;
    const json_t *v;

    if (bad) {
        judge_ws_complain(g, "bad_field", bad, "ready: this field is missing or out of range");
        return;
    }
    bool first = g->state == JUDGE_WELCOME && !g->params;
    (void)set_languages(g, json_object_get(m, "languages"));
    set_classes(g, json_object_get(m, "classes"));
    g->tokens = json_integer_value(json_object_get(m, "tokens"));
    g->memory_mib = json_integer_value(json_object_get(m, "memory_mib"));
    json_array_foreach(json_object_get(m, "data"), i, v)
    {
        if (i < JUDGE_DATA_MAX && json_is_string(v))
            judge_note_data(g, json_string_value(v));
    }
    json_decref(g->params);
    g->params = judge_says_facts(m);
    if (first)
        lease_adopt(g, json_object_get(m, "running"));
    else
        dispatch_kick(g->ctl);
}

static void on_tokens(struct judge *g, const json_t *m)
{
    const json_t *v = json_object_get(m, "tokens");

    if (!json_is_integer(v) || json_integer_value(v) < 0 ||
        json_integer_value(v) > JUDGE_TOKENS_MAX) {
        judge_ws_complain(g, "bad_field", "tokens", "tokens: expected a number from 0 to 1024");
        return;
    }
    g->tokens = json_integer_value(v);
    dispatch_kick(g->ctl);
}

/* ---------------------------------------------------------------- while it works */

/* The run that a message is about, with the right fence; NULL: stale. */
static struct run *run_of(struct judge *g, const json_t *m, bool ticket)
{
    const char *id = json_string_value(json_object_get(m, "submit_id"));
    struct run *r = id ? judge_run(g, id) : NULL;
    char want[64];

    if (!r || json_integer_value(json_object_get(m, "run_lease")) != r->run_lease)
        return NULL;
    const char *said = json_string_value(json_object_get(m, "ticket"));
    (void)snprintf(want, sizeof(want), "%lld.%lld", (long long)r->job.id,
                   (long long)r->job.run_lease);
    return !ticket || (said && strcmp(said, want) == 0) ? r : NULL;
}

static void say_stale(struct judge *g, const json_t *m)
{
    json_t *id = json_object_get(m, "submit_id"), *lease = json_object_get(m, "run_lease");

    judge_ws_send(g, json_pack("{s:s, s:O*, s:O*, s:s}", "type", "settled", "submit_id", id,
                               "run_lease", lease, "outcome", "stale"));
}

/* Take the run out of the list: its token is free again. NULL: answered "stale". */
static struct run *end_run(struct judge *g, const json_t *m)
{
    const struct run *r = run_of(g, m, true);

    if (!r) {
        say_stale(g, m);
        return NULL;
    }
    return judge_take_run(g, r->submit_id);
}

static void on_result(struct judge *g, const json_t *m)
{
    const char *bad = judge_says_bad_result(m);

    if (bad) {
        judge_ws_complain(g, "bad_field", bad,
                          strcmp(bad, "result.verdict") == 0
                              ? "expected AC WA TLE MLE OLE RTE or CE"
                              : "result: this field is out of range");
        return;
    }
    struct run *r = end_run(g, m);
    if (r)
        settle_result(g, r, m);
}

static void on_fault(struct judge *g, const json_t *m)
{
    const char *class = json_string_value(json_object_get(m, "class"));
    const char *why = json_string_value(json_object_get(m, "message"));

    if (!class || (strcmp(class, "retry") != 0 && strcmp(class, "fatal") != 0)) {
        judge_ws_complain(g, "bad_field", "class", "class: expected \"retry\" or \"fatal\"");
        return;
    }
    struct run *r = end_run(g, m);
    if (r)
        settle_fault(g, r, why ? why : "the judge gave no reason", strcmp(class, "fatal") == 0,
                     json_is_true(json_object_get(m, "crashed")));
}

static void on_returned(struct judge *g, const json_t *m)
{
    struct run *r = end_run(g, m);

    if (r)
        settle_returned(g, r);
}

static void on_progress(struct judge *g, const json_t *m)
{
    struct run *r = run_of(g, m, false);

    if (!r)
        return;
    if (!run_may_tell(r)) {
        judge_ws_complain(g, "too_many_requests", "type", "progress: 10 a second are enough");
        return;
    }
    run_progress(r, m);
    if (events_heard(g->ctl->events))
        events_live(g->ctl->events, judge_says_progress(r->submit_id, m));
}

static bool names_run(const json_t *running, const struct run *r)
{
    size_t i;
    const json_t *v;

    json_array_foreach(running, i, v)
    {
        const char *id = json_string_value(json_object_get(v, "submit_id"));

        if (id && strcmp(id, r->submit_id) == 0)
            return true;
    }
    return false;
}

/* What we think it has and it does not name, twice: it never got it, or dropped it. */
static void check_missing(struct judge *g, const json_t *running)
{
    struct run *next;

    for (struct run *r = g->runs; r; r = next) {
        next = r->next;
        r->missed = names_run(running, r) ? 0 : r->missed + 1;
        if (r->missed >= 3)
            settle_crash(g->ctl, g->judge_id, judge_take_run(g, r->submit_id),
                         "the judge does not know of it");
    }
}

static void on_heartbeat(struct judge *g, const json_t *m)
{
    const json_t *running = json_object_get(m, "running"), *v;
    json_t *lost = json_array();
    size_t i;

    if (!lost ||
        (running && (!json_is_array(running) || json_array_size(running) > JUDGE_TOKENS_MAX))) {
        json_decref(lost);
        judge_ws_complain(g, "bad_field", "running", "running: expected a list of at most 1024");
        return;
    }
    g->beat_us = tr_clock_mono_us();
    g->beat_real_us = tr_clock_real_us();
    json_decref(g->beat);
    g->beat = judge_says_vitals(m);
    check_missing(g, running);
    json_array_foreach(running, i, v)
    {
        if (!run_of(g, v, false) && json_is_object(v))
            (void)json_array_append(lost, json_array_get(running, i));
    }
    lease_renew(g, json_integer_value(json_object_get(m, "seq")), running, lost);
}

static void on_leaving(struct judge *g, const json_t *m)
{
    (void)m;
    g->leaving = true;
}

/* ---------------------------------------------------------------- dispatch */

static const struct {
    const char *type;
    enum judge_state from, to; /* states in which it may come */
    void (*handle)(struct judge *g, const json_t *m);
} messages[] = {
    {"auth", JUDGE_NEW, JUDGE_NEW, judge_login},
    {"ready", JUDGE_WELCOME, JUDGE_READY, on_ready},
    {"tokens", JUDGE_READY, JUDGE_READY, on_tokens},
    {"progress", JUDGE_READY, JUDGE_READY, on_progress},
    {"result", JUDGE_READY, JUDGE_READY, on_result},
    {"fault", JUDGE_READY, JUDGE_READY, on_fault},
    {"returned", JUDGE_READY, JUDGE_READY, on_returned},
    {"heartbeat", JUDGE_WELCOME, JUDGE_READY, on_heartbeat},
    {"leaving", JUDGE_WELCOME, JUDGE_READY, on_leaving},
};

static void on_message(struct conn *c, const char *text, size_t len)
{
    TR_CLEANUP(tr_json_unrefp) json_t *m = NULL;
    struct tr_err err = TR_ERR_INIT;
    struct judge *g = c->session;

    if (!g || c->close_code)
        return;
    if (tr_json_parse(text, len, c->in.max, &m, &err) < 0) {
        judge_ws_complain(g, "bad_json", NULL, err.msg);
        return;
    }
    const char *type = json_string_value(json_object_get(m, "type"));
    for (size_t i = 0; type && i < TR_ARRAY_LEN(messages); i++) {
        if (strcmp(messages[i].type, type) != 0)
            continue;
        if (g->state < messages[i].from || g->state > messages[i].to)
            judge_ws_complain(g, "out_of_order", "type", "this message does not belong here");
        else
            messages[i].handle(g, m);
        return;
    }
    judge_ws_complain(g, "unknown_type", "type", "there is no such message");
}

static void on_gone(struct conn *c)
{
    struct judge *g = c->session;

    c->session = NULL;
    if (g)
        judge_lost(g);
}

int judge_ws_open(struct conn *c)
{
    struct judge *g = judge_add(c->ctl, c);

    if (!g)
        return -1;
    c->session = g;
    c->in.max = AUTH_FRAME_MAX;
    c->message = on_message;
    c->gone = on_gone;
    judge_ws_send(g, json_pack("{s:s, s:i, s:s, s:s, s:s}", "type", "challenge", "protocol", 1,
                               "controller_id", c->ctl->conf.controller_id, "version",
                               TRIBUNAL_VERSION, "nonce", g->challenge));
    return 0;
}
