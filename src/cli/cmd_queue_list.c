/* SPDX-License-Identifier: MIT
 *
 * cmd_queue_list.c - `tribunal queue list`, `dead` and `show`.
 */
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "cli/commands.h"
#include "cli/queue_cli.h"

struct options {
    struct queue_common common;
    const char *queue;
    int state;
    int64_t limit, after;
};

static const char *const states[] = {"live",      "scheduled", "ready",       "running",
                                     "waiting",   "completed", "dead_letter", "discarded",
                                     "cancelled", NULL};

#define ITEM_QUEUE CLI_TEXT("queue", queue, NULL, "Q", "only this queue")
#define ITEM_LIMIT CLI_NUMBER("limit", limit, "100", 1, TQ_BATCH_MAX, "how many at most")
#define ITEM_AFTER CLI_NUMBER("after", after, "0", 0, INT64_MAX, "page on from this job")

static const struct tr_conf_item list_items[] = {
    QUEUE_ITEM_DB(struct options),
    QUEUE_ITEM_JSON(struct options),
    ITEM_QUEUE,
    CLI_CHOICE("state", state, "live", states, "only jobs in this state"),
    ITEM_LIMIT,
    ITEM_AFTER,
};
static const struct tr_conf_item dead_items[] = {QUEUE_ITEM_DB(struct options),
                                                 QUEUE_ITEM_JSON(struct options), ITEM_QUEUE,
                                                 ITEM_LIMIT, ITEM_AFTER};
static const struct tr_conf_item show_items[] = {QUEUE_ITEM_DB(struct options),
                                                 QUEUE_ITEM_JSON(struct options)};

static const struct cli_doc list_doc = {
    .name = "tribunal queue list",
    .usage = "--db URL [--queue Q] [--state S] [--limit N] [--after ID]",
    .summary = "Lists jobs in the order of their numbers.",
    .examples = "  tribunal queue list --db sqlite:jobs.db --state running\n",
    .items = list_items,
    .count = TR_ARRAY_LEN(list_items),
};
static const struct cli_doc dead_doc = {
    .name = "tribunal queue dead",
    .usage = "--db URL [--queue Q] [--limit N]",
    .summary = "Lists the dead letters. `retry` runs them again, `discard` forgets them.",
    .examples = "  tribunal queue dead --db sqlite:jobs.db\n",
    .items = dead_items,
    .count = TR_ARRAY_LEN(dead_items),
};
static const struct cli_doc show_doc = {
    .name = "tribunal queue show",
    .usage = "ID --db URL [--json]",
    .summary = "Shows one job, live or in history, with its payload and its result or last error.",
    .examples = "  tribunal queue show 42 --db sqlite:jobs.db\n",
    .items = show_items,
    .count = TR_ARRAY_LEN(show_items),
    .args_min = 1,
    .args_max = 1,
};

static void print_batch(const tq_batch *b, bool json)
{
    if (!json)
        (void)printf(
            "        id  state        prio  tries    time                         queue\n");
    else
        (void)printf("{\"jobs\": [");
    for (int i = 0; i < tq_batch_count(b); i++) {
        if (json && i)
            (void)printf(", ");
        if (json)
            queue_json_job(stdout, tq_batch_job(b, i), false);
        else
            queue_print_job(stdout, tq_batch_job(b, i));
    }
    if (json)
        (void)printf("]}\n");
}

static int list(const struct cli_doc *d, int state, int argc, char **argv)
{
    TR_CLEANUP(cli_end) struct cli_run run;
    TR_CLEANUP(queue_closep) tq *q = NULL;
    TR_CLEANUP(queue_batch_freep) tq_batch *b = NULL;
    struct tr_err err = TR_ERR_INIT;
    struct options o = {0};
    struct tq_filter f = TQ_FILTER_INIT;
    int code = CLI_OK;

    if (!cli_begin(&run, d, &o, argc, argv, &code))
        return code;
    f.queue = o.queue;
    f.state = state >= 0 ? state : o.state - 1;
    f.limit = (int)o.limit;
    f.after_id = o.after;
    int r = queue_open(o.common.db, &q, &err);
    if (r >= 0)
        r = tq_list(q, &f, &b, &err);
    if (r < 0)
        return cli_fail(&run, &err);
    print_batch(b, o.common.json);
    return CLI_OK;
}

int cmd_queue_list(int argc, char **argv)
{
    return list(&list_doc, -1, argc, argv);
}

int cmd_queue_dead(int argc, char **argv)
{
    return list(&dead_doc, TQ_DEAD, argc, argv);
}

static void print_bytes(const char *name, const void *p, size_t len)
{
    (void)printf("%s (%zu bytes): ", name, len);
    queue_json_text(stdout, p, len);
    (void)printf("\n");
}

int cmd_queue_show(int argc, char **argv)
{
    TR_CLEANUP(cli_end) struct cli_run run;
    TR_CLEANUP(queue_closep) tq *q = NULL;
    TR_CLEANUP(queue_batch_freep) tq_batch *b = NULL;
    struct tr_err err = TR_ERR_INIT;
    struct options o = {0};
    int64_t id = 0;
    int code = CLI_OK;

    if (!cli_begin(&run, &show_doc, &o, argc, argv, &code))
        return code;
    int r = queue_parse_id(run.conf.args[0], &id, &err);
    if (r >= 0)
        r = queue_open(o.common.db, &q, &err);
    if (r >= 0)
        r = tq_show(q, id, &b, &err);
    if (r < 0)
        return cli_fail(&run, &err);
    const struct tq_job *j = tq_batch_job(b, 0);
    if (o.common.json) {
        queue_json_job(stdout, j, true);
        (void)printf("\n");
        return CLI_OK;
    }
    print_batch(b, false);
    print_bytes("payload", j->payload, j->payload_len);
    if (j->result)
        print_bytes(j->state == TQ_COMPLETED ? "result" : "last error", j->result, j->result_len);
    return CLI_OK;
}
