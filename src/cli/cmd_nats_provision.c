/* SPDX-License-Identifier: MIT
 *
 * cmd_nats_provision.c - `tribunal nats provision`: create what is missing, change what differs.
 */
#include <jansson.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/nats_opts.h"
#include "nats/conn.h"
#include "nats/provision.h"

struct options {
    struct tr_nats_opts nats;
    int64_t replicas;
    int64_t farm_slots;
    bool dry_run;
    bool recreate;
    bool json;
};

static const struct tr_conf_item items[] = {
    FARM_ITEMS(struct options, replicas, farm_slots),
    CLI_FLAG("dry-run", dry_run, "print the plan as JSON and change nothing; no server is needed"),
    CLI_FLAG("recreate", recreate,
             "make anew what cannot be changed in place: consumers, and streams that are empty"),
    JSON_ITEM(struct options, json),
    NATS_ITEMS(struct options, nats),
};

static const struct cli_doc doc = {
    .name = "tribunal nats provision",
    .usage = "[options]",
    .summary = "Makes the streams JUDGE_TASKS, JUDGE_EVENTS and JUDGE_DLQ and the consumers\n"
               "judge-light, judge-heavy and judge-dlq-monitor, or brings them up to date, and\n"
               "says what it did. Repeating it is harmless; other settings of theirs stay.",
    .examples = "  tribunal nats provision --dry-run\n"
                "  tribunal nats provision -s nats://a:4222,nats://b:4222,nats://c:4222 "
                "--farm-slots 64\n",
    .items = items,
    .count = TR_ARRAY_LEN(items),
};

static const char *const done_words[] = {"unchanged", "created", "updated", "recreated"};

static int print_plan(const struct tr_plan_item *plan)
{
    json_t *streams = json_array();
    json_t *consumers = json_array();
    json_t *all = json_pack("{s:o, s:o}", "streams", streams, "consumers", consumers);

    for (size_t i = 0; i < TR_PLAN_ITEMS; i++) {
        json_t *config = tr_plan_merge(&plan[i], NULL);

        if (plan[i].consumer)
            (void)json_array_append_new(consumers, json_pack("{s:s, s:o}", "stream_name",
                                                             plan[i].stream, "config", config));
        else
            (void)json_array_append_new(streams, config);
    }
    int r = all ? json_dumpf(all, stdout, JSON_INDENT(2)) : -1;
    (void)putchar('\n');
    json_decref(all);
    return r < 0 ? CLI_FAULT : CLI_OK;
}

static int apply(const struct options *opt, struct tr_nats *n, const struct tr_plan_item *plan,
                 json_t *report, struct tr_err *err)
{
    for (size_t i = 0; i < TR_PLAN_ITEMS; i++) {
        enum tr_provisioned done = TR_UNCHANGED;
        int r = tr_nats_provision(n, &plan[i], opt->recreate, &done, err);

        if (r < 0)
            return r;
        if (opt->json)
            (void)json_object_set_new(report, tr_plan_name(&plan[i]),
                                      json_string(done_words[done]));
        else
            (void)printf("%s: %s\n", tr_plan_name(&plan[i]), done_words[done]);
    }
    return 0;
}

static int run_plan(const struct options *opt, struct tr_nats *n, const struct tr_plan_conf *conf,
                    struct tr_err *err)
{
    struct tr_plan_item plan[TR_PLAN_ITEMS];
    json_t *report = json_object();
    int r = tr_plan_make(conf, plan, err);

    if (r == 0) {
        r = apply(opt, n, plan, report, err);
        tr_plan_done(plan);
    }
    if (r == 0 && opt->json) {
        (void)json_dumpf(report, stdout, JSON_INDENT(2));
        (void)putchar('\n');
    } else if (r == 0) {
        (void)printf(
            "%s%d cop%s of each stream; max_ack_pending is %lld for the whole farm: %d for "
            "each of %lld slots (--farm-slots)\n",
            conf->more_replicas_ok ? "at least " : "", conf->replicas,
            conf->replicas == 1 ? "y" : "ies",
            (long long)conf->farm_slots * TR_PLAN_PENDING_PER_SLOT, TR_PLAN_PENDING_PER_SLOT,
            (long long)conf->farm_slots);
    }
    json_decref(report);
    return r;
}

static int provision(const struct options *opt, struct tr_err *err)
{
    TR_CLEANUP(tr_nats_closep) struct tr_nats *n = NULL;
    struct tr_plan_conf conf = {.replicas = (int)opt->replicas, .farm_slots = opt->farm_slots};
    int r = tr_nats_opts_open(&opt->nats, NULL, &n, err);

    if (r < 0)
        return r;
    conf.more_replicas_ok = conf.replicas == 0;
    if (conf.replicas == 0)
        conf.replicas = tr_nats_usual_replicas(n);
    return run_plan(opt, n, &conf, err);
}

static int dry_run(const struct options *opt, struct tr_err *err)
{
    const struct tr_plan_conf conf = {.replicas = opt->replicas ? (int)opt->replicas : 1,
                                      .farm_slots = opt->farm_slots};
    struct tr_plan_item plan[TR_PLAN_ITEMS];
    int r = tr_plan_make(&conf, plan, err);

    if (r < 0)
        return CLI_FAULT;
    r = print_plan(plan);
    tr_plan_done(plan);
    return r;
}

int cmd_nats_provision(int argc, char **argv)
{
    TR_CLEANUP(cli_end) struct cli_run run;
    struct tr_err err = TR_ERR_INIT;
    struct options opt = {.json = false};
    int code = CLI_OK;

    if (!cli_begin(&run, &doc, &opt, argc, argv, &code))
        return code;
    if (opt.replicas == 2 || opt.replicas == 4) {
        (void)tr_fail(&err, TR_E_USAGE, 0,
                      "--replicas: 1, 3 or 5; an even number has no majority "
                      "that a smaller one has not");
        return cli_fail(&run, &err);
    }
    if (opt.dry_run)
        return dry_run(&opt, &err);
    return provision(&opt, &err) < 0 ? cli_fail(&run, &err) : CLI_OK;
}
