/* SPDX-License-Identifier: MIT
 *
 * Property: whatever frames a controller sends, before or after it has proven itself, the judge
 * keeps its books: tasks are counted rightly and bounded, each was begun at most once, every frame
 * of the judge's is a JSON object with a type, and after the end nothing is left.
 *
 * The first byte chooses how it begins; then a frame per line. A line "!…" is what happens on the
 * judge's side: see act(). The wire is stood in for: what is heard and said passes through here.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "codec/json.h"
#include "source/ws_private.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    PROVEN = 1,   /* as after welcome, with two tasks */
    ARCHIVES = 2, /* archives have to be fetched */
    FAILING = 4   /* every second task or archive is refused by the work */
};

/* ---------------------------------------------------------------- the wire */

struct tr_ws {
    struct tr_ws_events events;
    bool closed;
};

int tr_ws_connect(struct tr_ws_net *n, const struct tr_ws_target *target,
                  const struct tr_ws_events *events, struct tr_ws **ret, struct tr_err *err)
{
    (void)n;
    (void)target;
    (void)err;
    *ret = calloc(1, sizeof(**ret));
    assert(*ret);
    (*ret)->events = *events;
    return 0;
}

int tr_ws_send(struct tr_ws *w, const char *bytes, size_t len, struct tr_err *err)
{
    json_t *m = NULL;

    if (w->closed)
        return tr_fail(err, TR_E_LOST, 0, "closing");
    assert(tr_json_parse(bytes, len, WS_FRAME_OUT_MAX, &m, NULL) == 0 && *tr_json_word(m, "type"));
    json_decref(m);
    return 0;
}

void tr_ws_close(struct tr_ws *w, int code)
{
    assert(code >= 1000 && code < 5000);
    w->closed = true;
}

void tr_ws_free(struct tr_ws *w)
{
    free(w);
}

int tr_ws_http_base(const char *url, char out[static TR_WS_BASE], struct tr_err *err)
{
    (void)url;
    (void)err;
    (void)snprintf(out, TR_WS_BASE, "http://c:1");
    return 0;
}

/* ---------------------------------------------------------------- the work */

enum {
    SLOTS = 2
};

static struct {
    struct tr_ws_source *source;
    struct tr_ws_task *begun[SLOTS];
    char wanted[TR_SHA256_HEX]; /* the archive that was asked for last */
    bool failing, ended;
    unsigned asked;
} work;

static int begin(void *arg, struct tr_ws_task *t, const struct tr_ws_job *job, struct tr_err *err)
{
    size_t i = 0;

    (void)arg;
    assert(job->submit_id[0] && job->task_len == strlen(job->task));
    if (work.failing && ++work.asked % 2 == 0)
        return tr_fail(err, TR_E_IO, 0, "no slot");
    while (i < SLOTS && work.begun[i]) {
        assert(work.begun[i] != t);
        i++;
    }
    assert(i < SLOTS);
    work.begun[i] = t;
    return 0;
}

static struct tr_ws_task *let_go(size_t i)
{
    return i < SLOTS ? TR_TAKE(work.begun[i]) : NULL;
}

static void cancel(void *arg, struct tr_ws_task *t)
{
    (void)arg;
    for (size_t i = 0; i < SLOTS; i++)
        if (work.begun[i] == t)
            tr_ws_ended_stopped(let_go(i));
}

static int fetch(void *arg, const char *sha256, const char *url, uint64_t size, struct tr_err *err)
{
    (void)arg;
    (void)size;
    assert(strncmp(url, "http://c:1/", 11) == 0);
    if (work.failing && ++work.asked % 2 == 0)
        return tr_fail(err, TR_E_IO, 0, "no disk");
    (void)snprintf(work.wanted, sizeof(work.wanted), "%s", sha256);
    return 0;
}

static void on_ended(void *arg, int r, const struct tr_err *err)
{
    (void)arg;
    assert(!work.ended && (r == 0 || err->msg[0]));
    work.ended = true;
}

/* ---------------------------------------------------------------- one input */

static void check(const struct tr_ws_source *s)
{
    unsigned n = 0;

    for (const struct tr_ws_task *t = s->tasks; t; t = t->next)
        n++;
    assert(n == s->ntasks && s->busy <= SLOTS && n <= WS_TASKS_MAX + SLOTS);
    assert(strlen(s->credential) < sizeof(s->credential));
}

static void reconnect(struct tr_ws_source *s)
{
    if (s->ws)
        s->ws->events.closed(s->ws->events.arg, 1006, "cut");
    if (work.ended)
        return;
    s->connect_at = 1;
    s->auth_by = s->adopt_by = s->beat_at = s->flush_at = s->leave_by = 0;
    s->timer.timer_cb(&s->timer);
    assert(s->ws);
    s->ws->events.opened(s->ws->events.arg);
}

/* As if the welcome had been a right one. */
static void prove(struct tr_ws_source *s)
{
    if (!s->ws || s->state == WS_LIVE)
        return;
    s->state = WS_LIVE;
    s->session++;
    s->was_live = true;
    s->told_leaving = false;
    s->auth_by = 0;
    s->heartbeat_us = 5000000;
}

static void act(struct tr_ws_source *s, const char *what, size_t len)
{
    struct tr_ws_task *t;

    switch (len ? what[0] : 0) {
    case 'r': /* a result */
        if ((t = let_go(0)))
            tr_ws_ended_result(t, json_pack("{s:s}", "verdict", "AC"));
        break;
    case 'f': /* a fault */
        if ((t = let_go(1)))
            tr_ws_ended_fault(t, true, len > 1, "broken");
        break;
    case 'p':
        if (work.begun[0])
            tr_ws_progress(work.begun[0], "running", 1, 2, json_pack("{s:i}", "id", 1));
        break;
    case 'd': /* the archive is there, or not */
        if (*work.wanted)
            tr_ws_data_ready(s, work.wanted, len > 1 ? TR_E_IO : 0,
                             &(struct tr_err){.code = TR_E_IO, .msg = "no"});
        break;
    case 'c':
        reconnect(s);
        break;
    case 'w':
        prove(s);
        break;
    case 'l':
        tr_ws_source_leave(s, len > 1);
        break;
    case 't':
        tr_ws_source_tokens(s, 4);
        break;
    default:
        break;
    }
}

static struct tr_ws_source *start(struct tr_loop *loop, uint8_t how)
{
    static const char *const urls[] = {"ws://c:1"};
    const struct tr_ws_source_conf conf = {.controllers = urls,
                                           .ncontrollers = 1,
                                           .judge_id = "j1",
                                           .version = "1",
                                           .key = {.key_id = "k00000000001"},
                                           .tokens = 4};
    const struct tr_ws_work w = {
        .slots = SLOTS, .begin = begin, .cancel = cancel, .fetch = how & ARCHIVES ? fetch : NULL};
    struct tr_ws_source *s = NULL;

    memset(&work, 0, sizeof(work));
    work.failing = how & FAILING;
    int r = tr_ws_source_new(loop, NULL, &conf, &w, &(struct tr_ws_judge_events){.ended = on_ended},
                             &s, NULL);
    assert(r == 0);
    work.source = s;
    reconnect(s);
    return s;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t how = size ? data[0] : 0;
    const char *at = (const char *)data + (size ? 1 : 0), *end = (const char *)data + size;
    struct tr_loop *loop = NULL;
    int r = tr_loop_new(&loop, NULL);

    assert(r == 0);
    struct tr_ws_source *s = start(loop, how);
    if (how & PROVEN)
        prove(s);
    while (at < end && !work.ended) {
        const char *line = memchr(at, '\n', (size_t)(end - at));
        size_t len = (size_t)((line ? line : end) - at);

        if (len && *at == '!') {
            act(s, at + 1, len - 1);
        } else if (s->ws && !s->ws->closed) {
            char *copy = strndup(at, len); /* bytes[len] is 0, as the wire promises */

            assert(copy);
            s->ws->events.text(s->ws->events.arg, copy, len);
            free(copy);
        }
        check(s);
        at += len + (line ? 1 : 0);
    }
    tr_ws_source_free(s);
    tr_loop_free(loop);
    return 0;
}
