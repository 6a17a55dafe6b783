/* SPDX-License-Identifier: MIT
 *
 * judges.c - the list of judges, their runs, their loss.
 */
#include "controller/judges.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/parse.h"
#include "base/rand.h"
#include "codec/brief.h"
#include "controller/ctl.h"
#include "controller/dispatch.h"
#include "controller/judge_ws.h"
#include "controller/marks.h"
#include "controller/settle.h"

enum {
    AUTH_US = 10000000,
    SHOWN_LOST_US = 60000000, /* a lost judge stays visible for a minute */
    PROGRESS_MAX = 50,        /* messages a second of one task: five times what is allowed */
    LOGS_FOLLOW_US = 60000000 /* the logs of a run that has ended may still come */
};

struct judges {
    struct judge *first;
    size_t count;
};

struct judges *judges_new(struct ctl *ctl)
{
    (void)ctl;
    return calloc(1, sizeof(struct judges));
}

struct judge *judges_first(struct judges *j)
{
    return j->first;
}

struct judge *judges_find(struct judges *j, const char *judge_id)
{
    struct judge *lost = NULL;

    for (struct judge *g = j->first; g; g = g->next) {
        if (g->state == JUDGE_NEW || strcmp(g->judge_id, judge_id) != 0)
            continue;
        if (g->state != JUDGE_LOST)
            return g;
        lost = g;
    }
    return lost;
}

size_t judges_ready(struct judges *j)
{
    size_t n = 0;

    for (struct judge *g = j->first; g; g = g->next)
        n += g->state == JUDGE_READY;
    return n;
}

struct judge *judge_add(struct ctl *ctl, struct conn *c)
{
    struct judge *g = ctl->judges->count < JUDGES_MAX ? calloc(1, sizeof(*g)) : NULL;

    if (!g)
        return NULL;
    g->ctl = ctl;
    g->conn = c;
    g->connected_us = tr_clock_real_us();
    g->beat_us = tr_clock_mono_us();
    g->deadline_us = g->beat_us + AUTH_US;
    (void)snprintf(g->address, sizeof(g->address), "%s", c->peer);
    tr_nonce_new(g->challenge);
    g->next = ctl->judges->first;
    ctl->judges->first = g;
    ctl->judges->count++;
    return g;
}

void run_free(struct run *r)
{
    if (!r)
        return;
    free(r->submit_id);
    free(r->problem);
    free(r->lang);
    free(r->strip);
    free(r);
}

static void free_judge(struct judge *g)
{
    for (size_t i = 0; i < g->nlangs; i++)
        free(g->langs[i]);
    free((void *)g->langs);
    free(g->data);
    json_decref(g->params);
    json_decref(g->beat);
    while (g->runs) {
        struct run *next = g->runs->next;

        run_free(g->runs);
        g->runs = next;
    }
    free(g);
}

void judge_remove(struct judge *g)
{
    struct judge **at = &g->ctl->judges->first;

    while (*at && *at != g)
        at = &(*at)->next;
    if (*at) {
        *at = g->next;
        g->ctl->judges->count--;
    }
    free_judge(g);
}

void judges_free(struct judges *j)
{
    if (!j)
        return;
    while (j->first) {
        struct judge *next = j->first->next;

        free_judge(j->first);
        j->first = next;
    }
    free(j);
}

/* ---------------------------------------------------------------- facts */

int64_t judge_free_tokens(const struct judge *g)
{
    if (g->state != JUDGE_READY || g->leaving || g->draining || g->ctl->stopping)
        return 0;
    int64_t n = g->tokens - g->nruns - g->reserved;
    return n > 0 ? n : 0;
}

bool judge_has_lang(const struct judge *g, const char *slug)
{
    for (size_t i = 0; i < g->nlangs; i++)
        if (strcmp(g->langs[i], slug) == 0)
            return true;
    return false;
}

bool judge_has_data(const struct judge *g, const char *sha256)
{
    for (size_t i = 0; i < g->ndata; i++)
        if (strcmp(g->data[i], sha256) == 0)
            return true;
    return false;
}

void judge_note_data(struct judge *g, const char *sha256)
{
    if (strlen(sha256) != 64 || judge_has_data(g, sha256))
        return;
    if (!g->data)
        g->data = calloc(JUDGE_DATA_MAX, sizeof(*g->data));
    if (!g->data)
        return;
    memcpy(g->data[g->data_at], sha256, 65);
    g->data_at = (g->data_at + 1) % JUDGE_DATA_MAX;
    if (g->ndata < JUDGE_DATA_MAX)
        g->ndata++;
}

/* ---------------------------------------------------------------- runs */

struct run *run_new(const char *submit_id, const char *problem, const char *lang)
{
    struct run *r = calloc(1, sizeof(*r));

    if (!r)
        return NULL;
    r->submit_id = strdup(submit_id);
    r->problem = strdup(problem);
    r->lang = strdup(lang);
    r->since_us = r->created_us = tr_clock_real_us();
    if (!r->submit_id || !r->problem || !r->lang) {
        run_free(r);
        return NULL;
    }
    return r;
}

void judge_add_run(struct judge *g, struct run *r)
{
    r->next = g->runs;
    g->runs = r;
    g->nruns++;
}

struct run *judge_run(struct judge *g, const char *submit_id)
{
    for (struct run *r = g->runs; r; r = r->next)
        if (strcmp(r->submit_id, submit_id) == 0)
            return r;
    return NULL;
}

void run_progress(struct run *r, const json_t *m)
{
    const char *stage = json_string_value(json_object_get(m, "stage"));
    const json_t *cases = json_object_get(m, "cases");

    r->done = json_integer_value(json_object_get(m, "done"));
    r->total = json_integer_value(json_object_get(m, "total"));
    if (stage && (strcmp(stage, "preparing") == 0 || strcmp(stage, "compiling") == 0 ||
                  strcmp(stage, "running") == 0))
        (void)snprintf(r->stage, sizeof(r->stage), "%s", stage);
    if (!r->strip && json_array_size(cases) > 0)
        r->strip = calloc(1, TR_STRIP_MAX + 1);
    if (r->strip)
        tr_strip_cases(r->strip, cases);
}

bool run_may_tell(struct run *r)
{
    int64_t now = tr_clock_mono_us();

    if (now - r->told_us > 1000000) {
        r->told_us = now;
        r->told = 0;
    }
    return ++r->told <= PROGRESS_MAX;
}

static void note_ended(struct judge *g, const struct run *r)
{
    unsigned at = g->ended_at++ % JUDGE_ENDED;

    (void)snprintf(g->ended[at].submit_id, sizeof(g->ended[at].submit_id), "%s", r->submit_id);
    g->ended[at].run_lease = r->run_lease;
    g->ended[at].until_us = tr_clock_mono_us() + LOGS_FOLLOW_US;
}

struct run *judge_take_run(struct judge *g, const char *submit_id)
{
    for (struct run **at = &g->runs; *at; at = &(*at)->next) {
        struct run *r = *at;

        if (strcmp(r->submit_id, submit_id) != 0)
            continue;
        *at = r->next;
        r->next = NULL;
        g->nruns--;
        note_ended(g, r);
        return r;
    }
    return NULL;
}

bool judge_may_log(struct judge *g, const char *submit_id, const char *run_lease)
{
    const struct run *r = judge_run(g, submit_id);
    int64_t lease = 0, now = tr_clock_mono_us();

    if (tr_parse_i64(run_lease, 0, INT64_MAX, &lease, NULL) < 0)
        return false;
    if (r && r->run_lease == lease)
        return true;
    for (size_t i = 0; i < JUDGE_ENDED; i++)
        if (g->ended[i].run_lease == lease && g->ended[i].until_us > now &&
            strcmp(g->ended[i].submit_id, submit_id) == 0)
            return true;
    return false;
}

struct judge *judges_of_run(struct judges *j, const char *submit_id)
{
    for (struct judge *g = j->first; g; g = g->next)
        if (judge_run(g, submit_id))
            return g;
    return NULL;
}

struct judge *judges_credential(struct ctl *ctl, const char *authorization)
{
    if (!authorization || strncasecmp(authorization, "Bearer ts_", 10) != 0)
        return NULL;
    for (struct judge *g = ctl->judges->first; g; g = g->next)
        if ((g->state == JUDGE_READY || g->state == JUDGE_WELCOME) &&
            tr_same_secret(g->credential, authorization + 7))
            return g;
    return NULL;
}

/* ---------------------------------------------------------------- loss */

static void tell_state(struct judge *g, const char *state)
{
    events_live(g->ctl->events, json_pack("{s:s, s:s, s:s}", "type", "judge", "judge_id",
                                          g->judge_id, "state", state));
}

void judge_lost(struct judge *g)
{
    struct tr_log_field f = {.key = "judge", .value = g->judge_id};

    g->conn = NULL;
    if (g->state == JUDGE_NEW || g->state == JUDGE_WELCOME) {
        judge_remove(g);
        return;
    }
    bool left = g->leaving && !g->runs;
    tr_log(left ? TR_LOG_INFO : TR_LOG_WARN, &f, left ? "left" : "lost with %lld tasks",
           (long long)g->nruns);
    tell_state(g, left ? "left" : "lost");
    g->credential[0] = '\0';
    g->tokens = 0;
    g->state = JUDGE_LOST;
    g->beat_us = tr_clock_mono_us();
    g->deadline_us = g->beat_us + g->ctl->conf.grace_us;
    if (left)
        judge_remove(g);
}

/* The grace is over: what it had goes back. */
static void give_back(struct judge *g)
{
    while (g->runs) {
        struct run *r = judge_take_run(g, g->runs->submit_id);

        settle_crash(g->ctl, g->judge_id, r, "the judge was lost");
    }
}

static void tick_lost(struct judge *g, int64_t now)
{
    if (now >= g->deadline_us && g->runs)
        give_back(g);
    if (now >= g->beat_us + SHOWN_LOST_US)
        judge_remove(g);
}

static void tick_alive(struct judge *g, int64_t now)
{
    if (g->state != JUDGE_READY) {
        if (now >= g->deadline_us)
            judge_ws_refuse(g, "auth_timeout", 4001, "no answer in time");
        return;
    }
    if (!keys_valid(g->ctl->keys, g->key_id))
        judge_ws_bye(g, "revoked", "the key of this judge was revoked", 4001);
    else if (now - g->beat_us > 3 * g->ctl->conf.heartbeat_us)
        judge_ws_bye(g, "slow", "three heartbeats missed", 4000);
}

void judges_tick(struct ctl *ctl)
{
    int64_t now = tr_clock_mono_us();
    struct judge *next;

    for (struct judge *g = ctl->judges->first; g; g = next) {
        next = g->next;
        if (g->state == JUDGE_LOST)
            tick_lost(g, now);
        else
            tick_alive(g, now);
    }
}

/* ---------------------------------------------------------------- people */

static void set_draining(struct judge *g, bool draining)
{
    if (g->draining == draining)
        return;
    g->draining = draining;
    tell_state(g, draining ? "draining" : "connected");
    if (g->conn)
        judge_ws_send(
            g, draining ? json_pack("{s:s, s:s}", "type", "drain", "reason", "asked by an operator")
                        : json_pack("{s:s}", "type", "resume"));
    if (!draining)
        dispatch_kick(g->ctl);
}

void judges_drain_as_marked(struct ctl *ctl)
{
    for (struct judge *g = ctl->judges->first; g; g = g->next)
        if (g->state == JUDGE_READY || g->state == JUDGE_LOST)
            set_draining(g, marks_has(ctl->marks, MARK_DRAIN, g->judge_id));
}

void judges_bye(struct ctl *ctl, const char *code, const char *message)
{
    for (struct judge *g = ctl->judges->first; g; g = g->next)
        if (g->conn)
            judge_ws_bye(g, code, message, 1001);
}

static json_t *runs_json(const struct judge *g)
{
    json_t *list = json_array();
    char when[TR_TIME_TEXT];

    for (const struct run *r = g->runs; r; r = r->next)
        (void)json_array_append_new(
            list, json_pack("{s:s, s:I, s:s, s:s, s:s, s:I, s:I}", "submit_id", r->submit_id,
                            "run_lease", (json_int_t)r->run_lease, "problem", r->problem,
                            "language", r->lang, "since", tr_clock_text(r->since_us, when), "done",
                            (json_int_t)r->done, "total", (json_int_t)r->total));
    return list;
}

static void copy_members(json_t *to, const json_t *from, const char *const *names)
{
    for (; *names; names++) {
        json_t *v = json_object_get(from, *names);

        if (v)
            (void)json_object_set(to, *names, v);
    }
}

json_t *judge_json(const struct judge *g)
{
    static const char *const params[] = {"cores",       "languages", "box",
                                         "calibration", "classes",   NULL};
    static const char *const beat[] = {"load", "slots", "busy", "memory_free_mib", "cache", NULL};
    char when[TR_TIME_TEXT], then[TR_TIME_TEXT];
    const char *state = g->state == JUDGE_LOST ? "lost" : g->draining ? "draining" : "connected";
    json_t *o =
        json_pack("{s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:o, s:s}", "judge_id",
                  g->judge_id, "state", state, "address", g->address, "version", g->version,
                  "connected_at", tr_clock_text(g->connected_us, when), "tokens",
                  (json_int_t)g->tokens, "running", (json_int_t)g->nruns, "memory_mib",
                  (json_int_t)g->memory_mib, "judged", (json_int_t)g->judged, "faults",
                  (json_int_t)g->faults, "tasks", runs_json(g), "key_id", g->key_id);

    if (!o)
        return NULL;
    if (g->beat_real_us)
        (void)json_object_set_new(o, "last_heartbeat_at",
                                  json_string(tr_clock_text(g->beat_real_us, then)));
    if (g->params)
        copy_members(o, g->params, params);
    if (g->beat)
        copy_members(o, g->beat, beat);
    return o;
}
