/* SPDX-License-Identifier: MIT
 *
 * cmd_nats_check.c - `tribunal nats check`: what differs from the plan, and what that costs.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/nats_opts.h"
#include "nats/api.h"
#include "nats/names.h"
#include "nats/provision.h"
#include "store/store.h"

struct options {
    struct tr_nats_opts nats;
    int64_t replicas;
    int64_t farm_slots;
    const char *db;
    bool json;
};

static const struct tr_conf_item items[] = {
    FARM_ITEMS(struct options, replicas, farm_slots),
    {.name = "db",
     .type = TR_CONF_STRING,
     .at = offsetof(struct options, db),
     .unit = "URL",
     .doc = "the database that the workers share: look at its tables too"},
    JSON_ITEM(struct options, json),
    NATS_ITEMS(struct options, nats),
};

static const struct cli_doc doc = {
    .name = "tribunal nats check",
    .usage = "[options]",
    .summary =
        "Compares a server's streams and consumers with what 'tribunal nats provision' would\n"
        "make. One line for each difference says what it costs. Exit 1 when something "
        "differs.",
    .examples = "  tribunal nats check -s nats://nats:4222 --json | jq .differences\n",
    .items = items,
    .count = TR_ARRAY_LEN(items),
};

/* What was found so far. */
struct report {
    bool json;
    const char *name; /* of the object at hand */
    json_t *differences;
    int found;
};

static void add(struct report *r, const char *field, const json_t *is, const json_t *want,
                const char *cost)
{
    r->found++;
    if (r->json) {
        (void)json_array_append_new(
            r->differences, json_pack("{s:s, s:s?, s:O?, s:O?, s:s}", "object", r->name, "field",
                                      field, "is", is, "want", want, "cost", cost));
        return;
    }
    tr_autofree char *is_text = is ? json_dumps(is, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
    bool unset = !want || json_is_null(want);
    tr_autofree char *want_text = unset ? NULL : json_dumps(want, JSON_ENCODE_ANY | JSON_COMPACT);
    if (field)
        (void)printf("%s: %s is %s, planned is %s: %s\n", r->name, field,
                     is_text ? is_text : "not set", want_text ? want_text : "not set", cost);
    else
        (void)printf("%s: %s\n", r->name, cost);
}

static void on_diff(void *arg, const struct tr_plan_diff *d)
{
    add(arg, d->field, d->is, d->want, d->cost);
}

static int check_item(struct tr_nats *n, const struct tr_plan_item *item, struct report *report,
                      struct tr_err *err)
{
    TR_CLEANUP(tr_js_unrefp) json_t *info = NULL;
    const json_t *live = NULL;
    int r = tr_nats_live(n, item, &info, &live, err);

    report->name = tr_plan_name(item);
    if (r < 0)
        return r;
    if (r == 0) {
        add(report, NULL, NULL, NULL,
            item->consumer ? "missing: its messages wait for ever; run 'tribunal nats provision'"
                           : "missing: what is published to it is lost; run 'tribunal nats "
                             "provision'");
        return 0;
    }
    if (tr_plan_compare(item, live, on_diff, report) == 0 && !report->json)
        (void)printf("%s: as planned\n", report->name);
    return 0;
}

/* What the plan cannot say: the server's own limits. */
static int check_server(struct tr_nats *n, struct report *report, struct tr_err *err)
{
    TR_CLEANUP(tr_js_unrefp) json_t *info = NULL;
    char cost[160];
    int r = tr_js_ask(n, "INFO", NULL, &info, NULL, err);

    if (r < 0)
        return r;
    report->name = "server";
    int64_t payload = tr_nats_max_payload(n);
    if (payload < TR_NATS_MESSAGE_MAX) {
        (void)snprintf(cost, sizeof(cost),
                       "max_payload is %lld, wanted at least %d: larger tasks are refused",
                       (long long)payload, TR_NATS_MESSAGE_MAX);
        add(report, NULL, NULL, NULL, cost);
    }
    const json_t *limits = json_object_get(info, "limits");
    json_int_t storage = json_integer_value(json_object_get(limits, "max_storage"));
    if (storage > 0 && storage < 250 * INT64_C(1048576)) {
        char size[TR_HUMAN_MAX];

        (void)snprintf(cost, sizeof(cost),
                       "this account may store %s; the three streams want 250M, so one of them is "
                       "full early",
                       tr_format_size((uint64_t)storage, size));
        add(report, NULL, NULL, NULL, cost);
    }
    return 0;
}

static int check_plan(struct tr_nats *n, const struct tr_plan_conf *conf, struct report *report,
                      struct tr_err *err)
{
    struct tr_plan_item plan[TR_PLAN_ITEMS];
    int r = tr_plan_make(conf, plan, err);

    if (r < 0)
        return r;
    for (size_t i = 0; i < TR_PLAN_ITEMS && r == 0; i++)
        r = check_item(n, &plan[i], report, err);
    tr_plan_done(plan);
    return r;
}

/* Not NATS's, but without it the promise of one verdict ends at each machine's edge. */
static int check_database(const struct options *opt, struct report *report, struct tr_err *err)
{
    TR_CLEANUP(tr_store_closep) struct tr_store *st = NULL;
    const struct tr_store_conf conf = {.url = opt->db};

    report->name = "database";
    if (!opt->db) {
        if (!report->json)
            (void)printf("database: none is named (--db, TRIBUNAL_DB). Workers without one keep "
                         "submissions on their own machine: one verdict is promised only among "
                         "workers that share a database\n");
        return 0;
    }
    int r = tr_store_open(&conf, &st, err);
    if (r >= 0)
        r = tr_store_schema_version(st, err);
    if (r < 0)
        return r;
    if (r != tr_store_schema_newest())
        add(report, NULL, NULL, NULL,
            r < tr_store_schema_newest()
                ? "the tables of submissions are missing or old: the next worker makes them"
                : "its tables belong to a newer tribunal: workers of this version do not start");
    else if (!report->json)
        (void)printf("database: as planned\n");
    return 0;
}

static int check(const struct options *opt, struct report *report, struct tr_err *err)
{
    TR_CLEANUP(tr_nats_closep) struct tr_nats *n = NULL;
    struct tr_plan_conf conf = {.replicas = (int)opt->replicas, .farm_slots = opt->farm_slots};
    int r = tr_nats_opts_open(&opt->nats, NULL, &n, err);

    if (r < 0)
        return r;
    conf.more_replicas_ok = conf.replicas == 0;
    if (conf.replicas == 0)
        conf.replicas = tr_nats_usual_replicas(n);
    r = check_server(n, report, err);
    if (r >= 0)
        r = check_plan(n, &conf, report, err);
    return r < 0 ? r : check_database(opt, report, err);
}

int cmd_nats_check(int argc, char **argv)
{
    TR_CLEANUP(cli_end) struct cli_run run;
    struct tr_err err = TR_ERR_INIT;
    struct options opt = {.json = false};
    int code = CLI_OK;

    if (!cli_begin(&run, &doc, &opt, argc, argv, &code))
        return code;
    struct report report = {.json = opt.json, .differences = json_array()};
    int r = check(&opt, &report, &err);
    if (r < 0) {
        json_decref(report.differences);
        return cli_fail(&run, &err);
    }
    if (opt.json) {
        json_t *all =
            json_pack("{s:b, s:o}", "ok", report.found == 0, "differences", report.differences);

        (void)json_dumpf(all, stdout, JSON_INDENT(2));
        (void)putchar('\n');
        json_decref(all);
    } else {
        json_decref(report.differences);
    }
    return report.found ? CLI_NOT_OK : CLI_OK;
}
