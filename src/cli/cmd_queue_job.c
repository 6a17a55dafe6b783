/* SPDX-License-Identifier: MIT
 *
 * cmd_queue_job.c - `tribunal queue retry`, `discard`, `cancel`, `reclaim`: things done to jobs.
 */
#include "base/cleanup.h"
#include "cli/commands.h"
#include "cli/queue_cli.h"

struct options {
    struct queue_common common;
    bool force;
    int64_t max;
};

static const struct tr_conf_item plain_items[] = {QUEUE_ITEM_DB(struct options)};
static const struct tr_conf_item cancel_items[] = {
    QUEUE_ITEM_DB(struct options),
    CLI_FLAG("force", force, "take running jobs from their workers at once"),
};
static const struct tr_conf_item reclaim_items[] = {
    QUEUE_ITEM_DB(struct options),
    CLI_NUMBER("max", max, "1000", 1, TQ_BATCH_MAX, "how many at most"),
};

static const struct cli_doc retry_doc = {
    .name = "tribunal queue retry",
    .usage = "ID… --db URL",
    .summary =
        "Runs dead, discarded or cancelled jobs again under their old numbers, and scheduled\n"
        "jobs at once.",
    .items = plain_items,
    .count = TR_ARRAY_LEN(plain_items),
    .args_min = 1,
    .args_max = 1000,
};
static const struct cli_doc discard_doc = {
    .name = "tribunal queue discard",
    .usage = "ID… --db URL",
    .summary = "Moves queued jobs to history as discarded and forgets dead letters.",
    .items = plain_items,
    .count = TR_ARRAY_LEN(plain_items),
    .args_min = 1,
    .args_max = 1000,
};
static const struct cli_doc cancel_doc = {
    .name = "tribunal queue cancel",
    .usage = "ID… --db URL [--force]",
    .summary = "Cancels jobs. A running one is asked to stop at its next heartbeat.",
    .items = cancel_items,
    .count = TR_ARRAY_LEN(cancel_items),
    .args_min = 1,
    .args_max = 1000,
};
static const struct cli_doc reclaim_doc = {
    .name = "tribunal queue reclaim",
    .usage = "--db URL [--max N]",
    .summary =
        "Takes back jobs whose lease has expired, as every worker does by itself. Prints how\n"
        "many.",
    .items = reclaim_items,
    .count = TR_ARRAY_LEN(reclaim_items),
};

static int do_retry(tq *q, int64_t id, const struct options *o, struct tr_err *err)
{
    return tq_retry(q, id, err);
}

static int do_discard(tq *q, int64_t id, const struct options *o, struct tr_err *err)
{
    return tq_drop(q, id, err);
}

static int do_cancel(tq *q, int64_t id, const struct options *o, struct tr_err *err)
{
    return tq_cancel(q, id, o->force, err);
}

/* Every job is tried; the first failure decides the exit code. */
static int each(const struct cli_doc *d, int argc, char **argv,
                int (*fn)(tq *q, int64_t id, const struct options *o, struct tr_err *err))
{
    TR_CLEANUP(cli_end) struct cli_run run;
    TR_CLEANUP(queue_closep) tq *q = NULL;
    struct tr_err err = TR_ERR_INIT;
    struct options o = {0};
    int code = CLI_OK;

    if (!cli_begin(&run, d, &o, argc, argv, &code))
        return code;
    int r = queue_open(o.common.db, &q, &err);
    if (r < 0)
        return cli_fail(&run, &err);
    for (size_t i = 0; i < run.conf.nargs; i++) {
        int64_t id = 0;

        r = queue_parse_id(run.conf.args[i], &id, &err);
        if (r >= 0)
            r = fn(q, id, &o, &err);
        if (r < 0) {
            int failed = cli_fail(&run, &err);
            code = code == CLI_OK ? failed : code;
        } else if (r == TQ_RUNNING) {
            (void)printf("job %lld is running: asked to stop\n", (long long)id);
        }
    }
    return code;
}

int cmd_queue_retry(int argc, char **argv)
{
    return each(&retry_doc, argc, argv, do_retry);
}

int cmd_queue_discard(int argc, char **argv)
{
    return each(&discard_doc, argc, argv, do_discard);
}

int cmd_queue_cancel(int argc, char **argv)
{
    return each(&cancel_doc, argc, argv, do_cancel);
}

int cmd_queue_reclaim(int argc, char **argv)
{
    TR_CLEANUP(cli_end) struct cli_run run;
    TR_CLEANUP(queue_closep) tq *q = NULL;
    struct tr_err err = TR_ERR_INIT;
    struct options o = {0};
    int code = CLI_OK;

    if (!cli_begin(&run, &reclaim_doc, &o, argc, argv, &code))
        return code;
    int r = queue_open(o.common.db, &q, &err);
    if (r >= 0)
        r = tq_reclaim(q, (int)o.max, &err);
    if (r < 0)
        return cli_fail(&run, &err);
    (void)printf("%d\n", r);
    return CLI_OK;
}
