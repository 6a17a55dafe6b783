/* SPDX-License-Identifier: MIT
 *
 * cmd_queue_config.c - `tribunal queue config`, `pause`, `resume`.
 */
#include <string.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "cli/commands.h"
#include "cli/queue_cli.h"

/* A setting that was not given stays as it is. */
struct options {
    struct queue_common common;
    const char *queue;
    int64_t concurrency, jitter, burst;
    const char *rate, *max_lease, *base_backoff, *max_backoff, *retention;
};

static const struct tr_conf_item items[] = {
    QUEUE_ITEM_DB(struct options),
    QUEUE_ITEM_JSON(struct options),
    CLI_NUMBER("concurrency", concurrency, "-1", -1, TQ_BATCH_MAX,
               "running jobs over all processes; 0: no limit"),
    CLI_TEXT("rate", rate, NULL, "X", "starts per second over all processes; 0: no limit"),
    CLI_NUMBER("burst", burst, "-1", -1, 1000000, "starts at once after a quiet time"),
    CLI_TEXT("max-lease", max_lease, NULL, "TIME", "longest lease; 0: none"),
    CLI_TEXT("base-backoff", base_backoff, NULL, "TIME", "delay after the first failure"),
    CLI_TEXT("max-backoff", max_backoff, NULL, "TIME", "longest delay"),
    CLI_NUMBER("jitter", jitter, "-1", -1, 100, "percent around a delay"),
    CLI_TEXT("retention", retention, NULL, "TIME", "keep history this long; 0: for ever"),
};
static const struct tr_conf_item pause_items[] = {QUEUE_ITEM_DB(struct options)};

static const struct cli_doc doc = {
    .name = "tribunal queue config",
    .usage = "QUEUE --db URL [settings]",
    .summary = "Shows a queue's settings, after changing those that are given.",
    .examples = "  tribunal queue config mail --db sqlite:jobs.db --concurrency 4 --rate 10\n",
    .items = items,
    .count = TR_ARRAY_LEN(items),
    .args_min = 1,
    .args_max = 1,
};
static const struct cli_doc pause_doc = {
    .name = "tribunal queue pause",
    .usage = "QUEUE --db URL",
    .summary = "Lets no job of the queue start. Running ones go on; new ones may be enqueued.",
    .items = pause_items,
    .count = TR_ARRAY_LEN(pause_items),
    .args_min = 1,
    .args_max = 1,
};
static const struct cli_doc resume_doc = {
    .name = "tribunal queue resume",
    .usage = "QUEUE --db URL",
    .summary = "Lets jobs of the queue start again.",
    .items = pause_items,
    .count = TR_ARRAY_LEN(pause_items),
    .args_min = 1,
    .args_max = 1,
};

static int set_time(const char *name, const char *text, int64_t *to, struct tr_err *err)
{
    if (!text)
        return 0;
    int r = tr_parse_duration_us(text, 0, INT64_MAX / 1000, to, err);
    return r < 0 ? tr_fail_wrap(err, "--%s", name) : 1;
}

/* 1 when something changed. */
static int change(const struct options *o, struct tq_config *c, struct tr_err *err)
{
    int changed = 0, r;
    int64_t milli = 0;

    if (o->concurrency >= 0 && ++changed)
        c->concurrency_limit = (int)o->concurrency;
    if (o->burst >= 0 && ++changed)
        c->rate_burst = (int)o->burst;
    if (o->jitter >= 0 && ++changed)
        c->jitter_percent = (int)o->jitter;
    if (o->rate) {
        r = tr_parse_milli(o->rate, 0, 1000000000, &milli, err);
        if (r < 0)
            return tr_fail_wrap(err, "--rate");
        c->rate_per_sec = (double)milli / 1000.0;
        changed++;
    }
    const struct {
        const char *name, *text;
        int64_t *to;
    } times[] = {{"max-lease", o->max_lease, &c->max_lease_us},
                 {"base-backoff", o->base_backoff, &c->base_backoff_us},
                 {"max-backoff", o->max_backoff, &c->max_backoff_us},
                 {"retention", o->retention, &c->retention_us}};
    for (size_t i = 0; i < TR_ARRAY_LEN(times); i++) {
        r = set_time(times[i].name, times[i].text, times[i].to, err);
        if (r < 0)
            return r;
        changed += r;
    }
    return changed > 0;
}

static void print(const char *queue, const struct tq_config *c, bool json)
{
    if (json) {
        (void)printf("{\"queue_name\": ");
        queue_json_text(stdout, queue, strlen(queue));
        (void)printf(", \"paused\": %s, \"concurrency_limit\": %d, \"rate_per_sec\": %g, "
                     "\"rate_burst\": %d, \"max_lease_us\": %lld, \"base_backoff_us\": %lld, "
                     "\"max_backoff_us\": %lld, \"jitter_percent\": %d, \"retention_us\": %lld}\n",
                     c->paused ? "true" : "false", c->concurrency_limit, c->rate_per_sec,
                     c->rate_burst, (long long)c->max_lease_us, (long long)c->base_backoff_us,
                     (long long)c->max_backoff_us, c->jitter_percent, (long long)c->retention_us);
        return;
    }
    char text[4][TR_HUMAN_MAX];
    (void)printf(
        "paused        %s\nconcurrency   %d\nrate          %g/s, burst %d\nmax-lease     %s\n"
        "base-backoff  %s\nmax-backoff   %s\njitter        %d %%\nretention     %s\n",
        c->paused ? "yes" : "no", c->concurrency_limit, c->rate_per_sec, c->rate_burst,
        tr_format_duration_us(c->max_lease_us, text[0]),
        tr_format_duration_us(c->base_backoff_us ? c->base_backoff_us : 2000000, text[1]),
        tr_format_duration_us(c->max_backoff_us ? c->max_backoff_us : 3600000000, text[2]),
        c->jitter_percent < 0 ? 20 : c->jitter_percent,
        tr_format_duration_us(c->retention_us, text[3]));
}

int cmd_queue_config(int argc, char **argv)
{
    TR_CLEANUP(cli_end) struct cli_run run;
    TR_CLEANUP(queue_closep) tq *q = NULL;
    struct tr_err err = TR_ERR_INIT;
    struct options o = {0};
    struct tq_config c = TQ_CONFIG_INIT;
    int code = CLI_OK;

    if (!cli_begin(&run, &doc, &o, argc, argv, &code))
        return code;
    const char *queue = run.conf.args[0];
    int r = queue_open(o.common.db, &q, &err);
    if (r >= 0)
        r = tq_config_get(q, queue, &c, &err);
    if (r >= 0)
        r = change(&o, &c, &err);
    if (r > 0)
        r = tq_config_set(q, queue, &c, &err);
    if (r < 0)
        return cli_fail(&run, &err);
    print(queue, &c, o.common.json);
    return CLI_OK;
}

static int pause_or_resume(const struct cli_doc *d, int paused, int argc, char **argv)
{
    TR_CLEANUP(cli_end) struct cli_run run;
    TR_CLEANUP(queue_closep) tq *q = NULL;
    struct tr_err err = TR_ERR_INIT;
    struct options o = {0};
    int code = CLI_OK;

    if (!cli_begin(&run, d, &o, argc, argv, &code))
        return code;
    int r = queue_open(o.common.db, &q, &err);
    if (r >= 0)
        r = tq_pause(q, run.conf.args[0], paused, &err);
    return r < 0 ? cli_fail(&run, &err) : CLI_OK;
}

int cmd_queue_pause(int argc, char **argv)
{
    return pause_or_resume(&pause_doc, 1, argc, argv);
}

int cmd_queue_resume(int argc, char **argv)
{
    return pause_or_resume(&resume_doc, 0, argc, argv);
}
