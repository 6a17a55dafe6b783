/* SPDX-License-Identifier: MIT
 *
 * ws_judge.c - the judge's side of the protocol with nothing behind it, for tests.
 *
 *     ws_judge NAME KEY SLOTS DELAY_MS CONTROLLER…
 *
 * Prints one line for each thing that happens to it; leaves on SIGTERM.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "source/ws_noop.h"

struct judge {
    struct tr_loop *loop;
    struct tr_ws_source *source;
    int result;
};

static void on_connected(void *arg, const char *controller)
{
    (void)arg;
    (void)printf("connected %s\n", controller);
}

static void on_lost(void *arg, const char *controller, const char *why, int64_t again_us)
{
    (void)arg;
    (void)printf("lost %s: %s; again in %ld ms\n", controller, why, (long)(again_us / 1000));
}

static void on_ended(void *arg, int r, const struct tr_err *err)
{
    struct judge *j = arg;

    (void)printf("ended %s\n", r < 0 ? err->msg : "in order");
    j->result = r;
    tr_loop_stop(j->loop);
}

static void on_signal(void *arg, unsigned times)
{
    struct judge *j = arg;

    tr_ws_source_leave(j->source, times > 1);
}

static json_t *parameters(void)
{
    return json_pack("{s:i, s:i, s:[{s:s, s:s}, {s:s, s:s}, {s:s, s:s}]}", "memory_mib", 16384,
                     "cores", 2, "languages", "slug", "cpp17", "version", "none", "slug", "python3",
                     "version", "none", "slug", "c17", "version", "none");
}

static int run(struct judge *j, struct tr_ws_source_conf *conf, unsigned slots, int64_t delay_ms,
               struct tr_err *err)
{
    struct tr_ws_judge_events events = {j, on_connected, on_lost, on_ended};
    struct tr_ws_net *net = NULL;
    struct tr_ws_noop *noop = NULL;
    int r = tr_loop_new(&j->loop, err);

    if (r == 0)
        r = tr_ws_net_new(j->loop, NULL, &net, err);
    if (r == 0)
        r = tr_ws_noop_new(j->loop, slots, delay_ms * 1000, &noop, err);
    if (r == 0) {
        struct tr_ws_work work = tr_ws_noop_work(noop);
        r = tr_ws_source_new(j->loop, net, conf, &work, &events, &j->source, err);
    }
    if (r == 0)
        r = tr_loop_on_stop_signal(j->loop, on_signal, j, err);
    if (r == 0)
        tr_loop_run(j->loop);
    tr_ws_source_free(j->source);
    tr_ws_noop_free(noop);
    tr_ws_net_free(net);
    tr_loop_free(j->loop);
    return r < 0 ? r : j->result;
}

int main(int argc, char **argv)
{
    struct tr_err err = TR_ERR_INIT;
    struct judge j = {0};
    int64_t slots, delay_ms;

    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc < 6 || tr_parse_i64(argv[3], 1, 1024, &slots, NULL) < 0 ||
        tr_parse_i64(argv[4], 0, 600000, &delay_ms, NULL) < 0)
        return 2;
    struct tr_ws_source_conf conf = {.controllers = (const char *const *)&argv[5],
                                     .ncontrollers = (size_t)argc - 5,
                                     .judge_id = argv[1],
                                     .version = "test",
                                     .tokens = (unsigned)slots,
                                     .parameters = parameters()};
    int r = tr_judge_key_parse(argv[2], &conf.key, &err);
    if (r == 0)
        r = run(&j, &conf, (unsigned)slots, delay_ms, &err);
    json_decref(conf.parameters);
    if (r < 0 && err.msg[0])
        (void)fprintf(stderr, "ws_judge: %s\n", err.msg);
    return r < 0 ? 3 : 0;
}
