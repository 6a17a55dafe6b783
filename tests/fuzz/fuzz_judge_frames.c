/* SPDX-License-Identifier: MIT
 *
 * Property: whatever frames a judge sends, whole or in pieces, before or after it has proven
 * itself, the controller's half of the protocol keeps its books: counts and lists agree, runs and
 * tokens stay within their ceiling, what waits to be sent is bounded, and after the end nothing is
 * left.
 *
 * The first byte chooses how it begins; then a frame per line. The database, libwebsockets and the
 * rest of the controller are stood in for by judge_frames_rest.c.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "controller/ctl.h"
#include "controller/judge_ws.h"
#include "controller/judges.h"
#include "judge_frames_rest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    PROVEN = 1,  /* as after auth and ready, with two runs */
    PIECES = 2,  /* each frame in two pieces */
    FAILING = 4, /* every second operation of the database fails */
    BINARY = 8
};

static void give(struct judge *g, const char *submit_id, int64_t lease)
{
    struct run *r = run_new(submit_id, "p", "cpp17");

    assert(r);
    r->run_lease = lease;
    judge_add_run(g, r);
}

static void check(struct ctl *ctl, const struct conn *c)
{
    assert(c->backlog <= c->backlog_max || c->close_code);
    for (const struct judge *g = judges_first(ctl->judges); g; g = g->next) {
        int64_t n = 0;

        for (const struct run *r = g->runs; r; r = r->next)
            n++;
        assert(n == g->nruns && n <= JUDGE_TOKENS_MAX && g->tokens >= 0 &&
               g->tokens <= JUDGE_TOKENS_MAX);
        assert(judge_free_tokens(g) >= 0 && g->nlangs <= JUDGE_LANGS_MAX);
        json_t *shown = judge_json(g);
        assert(shown || g->state == JUDGE_NEW);
        json_decref(shown);
    }
}

static void feed(struct ctl *ctl, struct conn *c, const char *frame, size_t len, uint8_t how)
{
    size_t half = how & PIECES ? len / 2 : 0;

    if (half)
        (void)conn_receive(c, frame, half, false, false);
    (void)conn_receive(c, frame + half, len - half, (how & BINARY) && len % 7 == 3, true);
    check(ctl, c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ctl ctl = {.conf = {.heartbeat_us = 5000000, .grace_us = 1000000}};
    uint8_t how = size ? data[0] : 0;
    const char *at = (const char *)data + (size ? 1 : 0), *end = (const char *)data + size;

    tr_log_setup(-1, TR_LOG_TEXT, TR_LOG_ERROR);
    rest_begin(&ctl, how & FAILING);
    struct conn *c = conn_new(&ctl, NULL);
    c->kind = CONN_JUDGE;
    assert(judge_ws_open(c) == 0);
    struct judge *g = c->session;
    if (how & PROVEN) {
        g->state = JUDGE_READY;
        (void)snprintf(g->judge_id, sizeof(g->judge_id), "j1");
        (void)snprintf(g->session, sizeof(g->session), "session");
        g->tokens = 4;
        c->in.max = 1 << 20;
        give(g, "s1", 1);
        give(g, "s2", 7);
    }
    while (at < end) {
        const char *line = memchr(at, '\n', (size_t)(end - at));
        size_t len = (size_t)((line ? line : end) - at);

        feed(&ctl, c, at, len, how);
        at += len + (line ? 1 : 0);
    }
    if (c->session)
        c->gone(c);
    conn_free(c);
    judges_free(ctl.judges);
    rest_end(&ctl);
    return 0;
}
