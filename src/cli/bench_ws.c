/* SPDX-License-Identifier: MIT
 *
 * bench_ws.c - `tribunal bench ws`: what the controller and its wire cost, with judges that judge
 * nothing.
 *
 * A controller of its own on SQLite (synchronous=FULL) is started on a free port. Judges are real
 * connections of this process; submissions go in by HTTP; a result counts when its event arrives
 * over /ws/backend. One at a time gives the latency, 256 at a time the rate.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "cli/bench.h"
#include "cli/bench_ws.h"
#include "cli/cli.h"
#include "codec/json.h"
#include "source/ws_noop.h"

enum {
    JUDGES_MAX = 1000,
    SLOTS = 4,
    AHEAD = 256,  /* unanswered submissions while the rate is measured */
    THREADS = 64, /* posting */
    TICK_MS = 10,
    STEP_S = 120, /* most that one step may take */
    WAVE = 200    /* judges that connect at once: a listening socket keeps so many waiting */
};

struct options {
    const char *program, *db;
    int64_t latency_n, rate_n, judges, idle;
    bool json;
};

static const struct tr_conf_item items[] = {
    CLI_FLAG("json", json, "print one JSON document"),
    {.name = "program",
     .type = TR_CONF_STRING,
     .at = offsetof(struct options, program),
     .unit = "FILE",
     .doc = "the controller to measure [tribunald beside this program]"},
    {.name = "db",
     .type = TR_CONF_STRING,
     .at = offsetof(struct options, db),
     .unit = "URL",
     .doc = "its database, where what it writes stays [SQLite, removed afterwards]"},
    {.name = "one-by-one",
     .type = TR_CONF_INT,
     .at = offsetof(struct options, latency_n),
     .fallback = "500",
     .min = 1,
     .max = 1000000,
     .unit = "N",
     .doc = "submissions for the latency"},
    {.name = "submissions",
     .type = TR_CONF_INT,
     .at = offsetof(struct options, rate_n),
     .fallback = "5000",
     .min = 1,
     .max = 1000000,
     .unit = "N",
     .doc = "submissions for the rate"},
    {.name = "judges",
     .type = TR_CONF_INT,
     .at = offsetof(struct options, judges),
     .fallback = "100",
     .min = 1,
     .max = JUDGES_MAX,
     .unit = "N",
     .doc = "judges of the second half"},
    {.name = "idle",
     .type = TR_CONF_INT,
     .at = offsetof(struct options, idle),
     .fallback = "5000",
     .max = 7000,
     .unit = "N",
     .doc = "more judges in the last part, that have nothing to do"},
};

static const struct cli_doc doc = {
    .name = "tribunal bench ws",
    .usage = "[--db URL] [--judges N] [--submissions N] [--json]",
    .summary =
        "Measures the controller with judges that judge nothing: submissions a second from\n"
        "POST to result event, latency, memory for each judge, with thousands of idle judges.",
    .examples = "  tribunal bench ws --json\n",
    .items = items,
    .count = TR_ARRAY_LEN(items),
};

struct bench {
    struct options o;
    struct ws_controller c;
    struct tr_loop *loop;
    struct tr_ws_net *net;
    struct tr_ws_noop *noop;
    struct tr_ws_source *judges[JUDGES_MAX];
    char names[JUDGES_MAX][16];
    int64_t njudges, connected, ended;
    const char *controllers[1]; /* the judges keep it */
    struct tr_ws *listener;
    bool listening, deaf;
    struct tr_ws_source **idle;
    char (*idle_names)[16];
    int64_t nidle;
    json_t *parameters, *idle_parameters;
    int64_t number; /* of the next submission */
    /* the step at hand */
    bool (*done)(struct bench *b);
    int64_t deadline_us;
    struct ws_posts posts;
    double *took_us;
    int64_t first_us, last_us;
};

struct numbers {
    double per_s, p50_ms, p99_ms;
};

/* --- turning the loop until a condition holds ---------------------------------------------------
 */

static void on_tick(uv_timer_t *t)
{
    struct bench *b = t->data;

    if (b->done(b) || tr_clock_mono_us() > b->deadline_us)
        tr_loop_stop(b->loop);
}

static int turn_until(struct bench *b, bool (*done)(struct bench *b), const char *what,
                      struct tr_err *err)
{
    uv_timer_t tick;

    b->done = done;
    b->deadline_us = tr_clock_mono_us() + (int64_t)STEP_S * 1000000;
    (void)uv_timer_init(tr_loop_uv(b->loop), &tick);
    tick.data = b;
    (void)uv_timer_start(&tick, on_tick, 0, TICK_MS);
    tr_loop_run(b->loop);
    uv_close((uv_handle_t *)&tick, NULL);
    (void)uv_run(tr_loop_uv(b->loop), UV_RUN_NOWAIT); /* the handle is on this stack */
    return done(b) ? 0 : tr_fail(err, TR_E_TIMEOUT, 0, "waited %d s for %s", (int)STEP_S, what);
}

/* --- connections ---------------------------------------------------------------------------------
 */

static void on_connected(void *arg, const char *controller)
{
    struct bench *b = arg;

    (void)controller;
    b->connected++;
}

static void on_ended(void *arg, int r, const struct tr_err *err)
{
    struct bench *b = arg;

    b->ended++;
    if (r < 0)
        (void)fprintf(stderr, "tribunal bench ws: a judge ended: %s\n", err->msg);
}

static bool all_connected(struct bench *b)
{
    return b->connected >= b->njudges + b->nidle;
}

static int add_judge(struct bench *b, const char *name, json_t *parameters,
                     struct tr_ws_source **ret, struct tr_err *err)
{
    struct tr_ws_work work = tr_ws_noop_work(b->noop);
    struct tr_ws_judge_events events = {b, on_connected, NULL, on_ended};
    struct tr_ws_source_conf conf = {.controllers = b->controllers,
                                     .ncontrollers = 1,
                                     .judge_id = name,
                                     .version = "bench",
                                     .key = b->c.key,
                                     .tokens = SLOTS,
                                     .parameters = parameters};

    return tr_ws_source_new(b->loop, b->net, &conf, &work, &events, ret, err);
}

static int add_judges(struct bench *b, int64_t upto, struct tr_err *err)
{
    for (; b->njudges < upto; b->njudges++) {
        char *name = b->names[b->njudges];

        (void)snprintf(name, sizeof(b->names[0]), "bench-%d", (int)b->njudges);
        int r = add_judge(b, name, b->parameters, &b->judges[b->njudges], err);
        if (r < 0)
            return r;
    }
    return turn_until(b, all_connected, "the judges", err);
}

/* Judges with free slots for a language that nobody submits in: they beat, and that is all. */
static int add_idle(struct bench *b, struct tr_err *err)
{
    b->idle = calloc((size_t)b->o.idle + 1, sizeof(struct tr_ws_source *));
    b->idle_names = calloc((size_t)b->o.idle + 1, sizeof(*b->idle_names));
    if (!b->idle || !b->idle_names)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory for %lld judges", (long long)b->o.idle);
    while (b->nidle < b->o.idle) {
        int64_t upto = b->nidle + WAVE < b->o.idle ? b->nidle + WAVE : b->o.idle;

        for (; b->nidle < upto; b->nidle++) {
            char *name = b->idle_names[b->nidle];

            (void)snprintf(name, sizeof(b->idle_names[0]), "idle-%d", (int)b->nidle);
            int r = add_judge(b, name, b->idle_parameters, &b->idle[b->nidle], err);
            if (r < 0)
                return r;
        }
        int r = turn_until(b, all_connected, "idle judges", err);
        if (r < 0)
            return r;
    }
    return 0;
}

static void listener_opened(void *arg)
{
    static const char say[] = "{\"type\":\"subscribe\",\"id\":1}";
    struct bench *b = arg;

    b->listening = true;
    (void)tr_ws_send(b->listener, say, sizeof(say) - 1, NULL);
}

static void listener_text(void *arg, char *bytes, size_t len)
{
    struct bench *b = arg;
    const char *id = strstr(bytes, "\"submit_id\":\"b-");
    int64_t number = 0, now = tr_clock_mono_us();

    (void)len;
    if (!id || !strstr(bytes, "\"type\":\"result\""))
        return;
    for (id += 15; *id >= '0' && *id <= '9'; id++)
        number = number * 10 + (*id - '0');
    int64_t i = number - b->posts.first;
    if (i < 0 || i >= b->posts.count)
        return;
    b->took_us[i] = (double)(now - b->posts.posted_us[i]);
    b->last_us = now;
    ws_posts_result(&b->posts);
}

static void listener_closed(void *arg, int code, const char *why)
{
    struct bench *b = arg;

    b->deaf = true;
    (void)fprintf(stderr, "tribunal bench ws: the listener was closed (%d): %s\n", code, why);
}

static bool listens(struct bench *b)
{
    return b->listening || b->deaf;
}

static int add_listener(struct bench *b, struct tr_err *err)
{
    struct tr_ws_events events = {b, listener_opened, listener_text, listener_closed};
    struct tr_ws_target target = {.url = b->c.url,
                                  .path = "/ws/backend",
                                  .subprotocol = "tribunal.backend.v1",
                                  .max_message = 1 << 20,
                                  .max_waiting = 1 << 16};
    int r = tr_ws_connect(b->net, &target, &events, &b->listener, err);

    if (r >= 0)
        r = turn_until(b, listens, "the listener", err);
    return r >= 0 && b->deaf ? tr_fail(err, TR_E_FATAL, 0, "the listener was not let in") : r;
}

/* --- measuring -----------------------------------------------------------------------------------
 */

static bool all_results(struct bench *b)
{
    return b->posts.results >= b->posts.count || b->posts.failed || b->deaf;
}

static int measure(struct bench *b, int64_t count, int64_t ahead, unsigned threads,
                   struct numbers *ret, struct tr_err *err)
{
    tr_autofree int64_t *posted = calloc((size_t)count, sizeof(*posted));
    tr_autofree double *took = calloc((size_t)count, sizeof(*took));

    if (!posted || !took)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory for %lld submissions", (long long)count);
    b->posts = (struct ws_posts){.port = b->c.port,
                                 .threads = threads,
                                 .first = b->number,
                                 .count = count,
                                 .ahead = ahead,
                                 .posted_us = posted};
    b->took_us = took;
    b->number += count;
    b->first_us = tr_clock_mono_us();
    int r = ws_posts_start(&b->posts, err);
    if (r == 0)
        r = turn_until(b, all_results, "results", err);
    if (r >= 0 && b->deaf)
        r = tr_fail(err, TR_E_LOST, 0, "the listener's connection broke");
    if (r < 0 && !b->posts.failed)
        b->posts.failed = -2; /* the threads stop */
    ws_posts_join(&b->posts);
    if (r == 0 && b->posts.failed)
        r = tr_fail(err, TR_E_FATAL, 0, "a POST was answered with %d; see %s/log",
                    (int)b->posts.failed, b->c.folder);
    b->posts.count = 0; /* late events belong to nobody */
    if (r < 0)
        return r;
    ret->per_s = (double)count * 1e6 / (double)(b->last_us - b->first_us);
    ret->p50_ms = bench_quantile(took, (size_t)count, 0.5) / 1000;
    ret->p99_ms = bench_quantile(took, (size_t)count, 0.99) / 1000;
    return 0;
}

static int row(struct bench *b, const char *name, json_t *out, struct tr_err *err)
{
    struct numbers one = {0}, many = {0};
    int r = measure(b, b->o.latency_n, 1, 1, &one, err);

    if (r == 0)
        r = measure(b, b->o.rate_n, AHEAD, THREADS, &many, err);
    if (r < 0)
        return r;
    (void)json_object_set_new(out, name,
                              json_pack("{s:f, s:f, s:f, s:f, s:f}", "submissions_per_s",
                                        many.per_s, "p50_ms", one.p50_ms, "p99_ms", one.p99_ms,
                                        "loaded_p50_ms", many.p50_ms, "loaded_p99_ms",
                                        many.p99_ms));
    if (!b->o.json)
        (void)printf("%-24s %9.0f/s   one by one p50 %6.2f ms p99 %6.2f ms   loaded p50 %7.1f ms "
                     "p99 %7.1f ms\n",
                     name, many.per_s, one.p50_ms, one.p99_ms, many.p50_ms, many.p99_ms);
    return 0;
}

static int start(struct bench *b, struct tr_err *err)
{
    struct tr_ws_conf conf = {.most = (unsigned)(b->o.idle + b->o.judges + 16)};
    int r = ws_controller_start(&b->c, b->o.program, b->o.db, err);

    if (r >= 0)
        r = tr_loop_new(&b->loop, err);
    if (r >= 0)
        r = tr_ws_net_new(b->loop, &conf, &b->net, err);
    if (r >= 0)
        r = tr_ws_noop_new(b->loop, SLOTS * JUDGES_MAX, 0, &b->noop, err);
    if (r < 0)
        return r;
    b->controllers[0] = b->c.url;
    b->parameters = json_pack("{s:i, s:[{s:s, s:s}]}", "memory_mib", 65536, "languages", "slug",
                              "python3", "version", "none");
    b->idle_parameters = json_pack("{s:i, s:[{s:s, s:s}]}", "memory_mib", 65536, "languages",
                                   "slug", "idle", "version", "none");
    r = add_judges(b, 1, err); /* comes back until the controller listens */
    return r < 0 ? r : add_listener(b, err);
}

static int run_all(struct bench *b, json_t *out, struct tr_err *err)
{
    int r = start(b, err);

    if (r >= 0)
        r = row(b, "judges_1", out, err);
    int64_t before = ws_controller_kib(&b->c);
    char name[32];
    (void)snprintf(name, sizeof(name), "judges_%d", (int)b->o.judges);
    if (r >= 0)
        r = add_judges(b, b->o.judges, err);
    double kib = (double)(ws_controller_kib(&b->c) - before) /
                 (double)(b->o.judges > 1 ? b->o.judges - 1 : 1);
    if (r >= 0)
        r = row(b, name, out, err);
    if (r < 0)
        return r;
    int64_t busy = ws_controller_kib(&b->c);
    r = add_idle(b, err);
    double idle_kib = b->o.idle ? (double)(ws_controller_kib(&b->c) - busy) / (double)b->o.idle : 0;
    (void)snprintf(name, sizeof(name), "idle_%d", (int)b->o.idle);
    if (r >= 0)
        r = row(b, name, out, err);
    (void)json_object_set_new(out, "kib_per_judge", json_real(kib));
    (void)json_object_set_new(out, "kib_per_idle_judge", json_real(idle_kib));
    (void)json_object_set_new(out, "controller_rss_kib", json_integer(ws_controller_kib(&b->c)));
    if (!b->o.json && r >= 0)
        (void)printf("memory: %.1f KiB for a judge, %.1f KiB for an idle one, %lld KiB in all\n",
                     kib, idle_kib, (long long)ws_controller_kib(&b->c));
    return r;
}

static void stop(struct bench *b)
{
    for (int64_t i = 0; i < b->njudges; i++)
        tr_ws_source_free(b->judges[i]);
    for (int64_t i = 0; i < b->nidle; i++)
        tr_ws_source_free(b->idle[i]);
    tr_ws_free(b->listener);
    tr_ws_noop_free(b->noop);
    tr_ws_net_free(b->net);
    if (b->loop)
        tr_loop_free(b->loop);
    ws_controller_stop(&b->c);
    free((void *)b->idle);
    free(b->idle_names);
    json_decref(b->parameters);
    json_decref(b->idle_parameters);
}

int bench_ws(int argc, char **argv)
{
    TR_CLEANUP(cli_end) struct cli_run run = {0};
    TR_CLEANUP(tr_json_unrefp) json_t *out = json_object();
    struct bench *b = calloc(1, sizeof(*b));
    struct tr_err err = TR_ERR_INIT;
    struct rlimit files;
    int code;

    if (!b)
        return CLI_FAULT;
    if (!cli_begin(&run, &doc, &b->o, argc, argv, &code)) {
        free(b);
        return code;
    }
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < files.rlim_max) {
        files.rlim_cur = files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &files);
    }
    code = run_all(b, out, &err) < 0 ? cli_fail(&run, &err) : CLI_OK;
    if (code == CLI_OK && b->o.json) {
        tr_autofree char *text = json_dumps(out, JSON_INDENT(2));
        (void)puts(text ? text : "{}");
    }
    stop(b);
    free(b);
    return code;
}
