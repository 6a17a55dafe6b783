/* SPDX-License-Identifier: MIT
 *
 * cmd_queue_stats.c - `tribunal queue stats`.
 */
#include <string.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "cli/commands.h"
#include "cli/queue_cli.h"

struct options {
    struct queue_common common;
};

static const struct tr_conf_item items[] = {
    QUEUE_ITEM_DB(struct options),
    QUEUE_ITEM_JSON(struct options),
};

static const struct cli_doc doc = {
    .name = "tribunal queue stats",
    .usage = "--db URL [--json]",
    .summary = "Counts jobs by queue and state. The age is that of the oldest ready job.",
    .examples = "  tribunal queue stats --db sqlite:jobs.db\n",
    .items = items,
    .count = TR_ARRAY_LEN(items),
};

static int print_row(void *arg, const struct tq_stat *s)
{
    char age[TR_HUMAN_MAX];

    (void)arg;
    (void)printf("%9lld %9lld %9lld %9lld %9lld %9lld  %-10s %s%s\n", (long long)s->ready,
                 (long long)s->running, (long long)s->scheduled, (long long)s->waiting,
                 (long long)s->dead, (long long)s->completed,
                 s->ready ? tr_format_duration_us(s->oldest_ready_us, age) : "-", s->queue,
                 s->paused ? " (paused)" : "");
    return 0;
}

static int print_json(void *arg, const struct tq_stat *s)
{
    bool *more = arg;

    (void)printf("%s{\"queue_name\": ", *more ? ", " : "");
    queue_json_text(stdout, s->queue, strlen(s->queue));
    (void)printf(", \"ready\": %lld, \"running\": %lld, \"scheduled\": %lld, \"waiting\": %lld, "
                 "\"dead\": %lld, \"completed\": %lld, \"oldest_ready_us\": %lld, \"paused\": %s}",
                 (long long)s->ready, (long long)s->running, (long long)s->scheduled,
                 (long long)s->waiting, (long long)s->dead, (long long)s->completed,
                 (long long)s->oldest_ready_us, s->paused ? "true" : "false");
    *more = true;
    return 0;
}

int cmd_queue_stats(int argc, char **argv)
{
    TR_CLEANUP(cli_end) struct cli_run run;
    TR_CLEANUP(queue_closep) tq *q = NULL;
    struct tr_err err = TR_ERR_INIT;
    struct options o = {0};
    bool more = false;
    int code = CLI_OK;

    if (!cli_begin(&run, &doc, &o, argc, argv, &code))
        return code;
    int r = queue_open(o.common.db, &q, &err);
    if (r >= 0)
        (void)printf("%s", o.common.json ? "{\"queues\": ["
                                         : "    ready   running scheduled   waiting      dead "
                                           "completed  oldest     queue\n");
    if (r >= 0)
        r = tq_stats(q, o.common.json ? print_json : print_row, &more, &err);
    if (r < 0)
        return cli_fail(&run, &err);
    if (o.common.json)
        (void)printf("]}\n");
    return CLI_OK;
}
