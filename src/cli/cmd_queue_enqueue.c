/* SPDX-License-Identifier: MIT
 *
 * cmd_queue_enqueue.c - `tribunal queue enqueue --queue Q --payload FILE|-`.
 */
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "cli/commands.h"
#include "cli/queue_cli.h"

struct options {
    struct queue_common common;
    const char *queue, *payload, *kind, *unique_key, *group;
    int64_t priority, delay_us, max_attempts;
    bool is_json;
    int on_conflict;
};

static const char *const conflicts[] = {"keep", "replace", "after-running", NULL};

static const struct tr_conf_item items[] = {
    QUEUE_ITEM_DB(struct options),
    QUEUE_ITEM_JSON(struct options),
    CLI_TEXT("queue", queue, "default", "Q", "queue"),
    CLI_TEXT("payload", payload, NULL, "FILE", "file with the payload, or - for standard input"),
    CLI_TEXT("kind", kind, NULL, "WORD", "kind, for handlers to choose by"),
    CLI_TEXT("unique-key", unique_key, NULL, "KEY",
             "at most one queued or running job has this key"),
    CLI_TEXT("group", group, NULL, "KEY", "fair share: groups take turns"),
    CLI_CHOICE("on-conflict", on_conflict, "keep", conflicts, "when the unique key is taken"),
    CLI_NUMBER("priority", priority, "0", -TQ_PRIORITY_MAX, TQ_PRIORITY_MAX, "higher first"),
    CLI_TIME("delay", delay_us, "0", "not before this time has passed"),
    CLI_NUMBER("max-attempts", max_attempts, "5", 1, TQ_ATTEMPTS_MAX, "runs before it is buried"),
    CLI_FLAG("json-payload", is_json, "mark the payload as JSON"),
};

static const struct cli_doc doc = {
    .name = "tribunal queue enqueue",
    .usage = "--db URL --queue Q --payload FILE|-",
    .summary = "Adds one job and prints its number.",
    .examples =
        "  echo hello | tribunal queue enqueue --db sqlite:jobs.db --queue mail --payload -\n",
    .items = items,
    .count = TR_ARRAY_LEN(items),
};

static int read_payload(const char *from, struct tr_buf *b, struct tr_err *err)
{
    if (!from)
        return 0;
    return strcmp(from, "-") ? tr_fs_read_file(from, b, err)
                             : tr_fs_read_all(0, b, "standard input", err);
}

static int add(tq *q, const struct options *o, const struct tr_buf *b, struct tq_enqueued *ret,
               struct tr_err *err)
{
    struct tq_item it = TQ_ITEM_INIT;

    it.queue = o->queue;
    it.kind = o->kind;
    it.payload = b->data;
    it.payload_len = b->len;
    it.json = o->is_json;
    it.priority = (int)o->priority;
    it.max_attempts = (int)o->max_attempts;
    it.delay_us = o->delay_us;
    it.group_key = o->group;
    it.on_conflict = o->on_conflict;
    if (o->unique_key) {
        it.unique_key = o->unique_key;
        it.unique_len = strlen(o->unique_key);
    }
    return tq_enqueue(q, &it, ret, err);
}

int cmd_queue_enqueue(int argc, char **argv)
{
    static const char *const words[] = {"new", "existed", "replaced", "follows"};
    TR_CLEANUP(cli_end) struct cli_run run;
    TR_CLEANUP(queue_closep) tq *q = NULL;
    TR_CLEANUP(tr_buf_done) struct tr_buf b;
    struct tr_err err = TR_ERR_INIT;
    struct options o = {0};
    struct tq_enqueued out = {0, 0};
    int code = CLI_OK;

    tr_buf_init(&b, (size_t)4 << 20);
    if (!cli_begin(&run, &doc, &o, argc, argv, &code))
        return code;
    int r = read_payload(o.payload, &b, &err);
    if (r >= 0)
        r = queue_open(o.common.db, &q, &err);
    if (r >= 0)
        r = add(q, &o, &b, &out, &err);
    if (r < 0)
        return cli_fail(&run, &err);
    if (o.common.json)
        (void)printf("{\"id\": %lld, \"outcome\": \"%s\"}\n", (long long)out.id,
                     words[out.existed]);
    else
        (void)printf("%lld\n", (long long)out.id);
    return CLI_OK;
}
