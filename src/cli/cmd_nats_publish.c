/* SPDX-License-Identifier: MIT
 *
 * cmd_nats_publish.c - `tribunal nats publish`: check a task, route it, store it in JUDGE_TASKS.
 */
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fs.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/nats_opts.h"
#include "nats/api.h"
#include "nats/envelope.h"
#include "nats/names.h"
#include "nats/row.h"

enum {
    FILES_MAX = 100000,
    ARENA_MAX = 16 * 1024 * 1024 /* a message of 1 MB, decoded */
};

struct options {
    struct tr_nats_opts nats;
    const char *heavy;
    const char *db;
    bool dry_run;
    bool json;
};

static const struct tr_conf_item items[] = {
    HEAVY_ITEM(struct options, heavy),
    {.name = "db",
     .type = TR_CONF_STRING,
     .at = offsetof(struct options, db),
     .unit = "URL",
     .doc = "write the submission's row first, PENDING, into this database"},
    CLI_FLAG("dry-run", dry_run,
             "check the tasks and say where they would go; no server is needed"),
    JSON_ITEM(struct options, json),
    NATS_ITEMS(struct options, nats),
};

static const struct cli_doc doc = {
    .name = "tribunal nats publish",
    .usage = "TASK.json… | -",
    .summary =
        "Checks each task, routes it to judge.tasks.light or judge.tasks.heavy by its\n"
        "language (or its own \"type\"), and waits until it is stored. The message id is\n"
        "submit_id:generation:retry_count:crashes, so a repeat within two minutes is\n"
        "swallowed. All tasks are checked before the first is published. With --db a task that\n"
        "was not stored for any reason is published again by the workers' watchdog.",
    .examples = "  tribunal nats publish task.json\n"
                "  make-task 42 | tribunal nats publish --json -\n",
    .items = items,
    .count = TR_ARRAY_LEN(items),
    .args_min = 1,
    .args_max = FILES_MAX,
};

/* One byte more than is allowed, so that "too large" is said by the one who knows why. */
static int read_task(const char *path, struct tr_buf *b, struct tr_err *err)
{
    tr_buf_init(b, 2 * TR_NATS_TASK_MAX);
    if (strcmp(path, "-") == 0)
        return tr_fs_read_all(STDIN_FILENO, b, "standard input", err);
    return tr_fs_read_file(path, b, err);
}

/* Where tasks go: neither is there when they are only checked. */
struct target {
    struct tr_nats *n;
    struct tr_store *store;
};

/* Row, message, and where the message is. */
static int store_and_publish(const struct target *to, const struct tr_nats_row *t,
                             struct tr_js_ack *ack, struct tr_err *err)
{
    const char *subject = tr_envelope_subject(&t->env);
    char id[TR_MSG_ID_MAX];
    int r = to->store ? tr_store_insert(to->store, &t->row, NULL, err) : 0;

    if (r >= 0)
        r = tr_js_publish(to->n, subject, tr_envelope_id(&t->env, id), t->row.task, t->row.task_len,
                          ack, err);
    if (r >= 0 && to->store)
        r = tr_store_carried(to->store, t->env.submit_id, subject, (int64_t)ack->seq, err);
    return r < 0 ? r : 0;
}

static void report(const struct options *opt, const struct tr_envelope *e,
                   const struct tr_js_ack *ack, json_t *all)
{
    char id[TR_MSG_ID_MAX];

    (void)tr_envelope_id(e, id);
    if (opt->json)
        (void)json_array_append_new(
            all, json_pack("{s:s, s:s, s:s, s:s, s:I, s:b}", "submit_id", e->submit_id, "subject",
                           tr_envelope_subject(e), "msg_id", id, "stream", ack->stream, "seq",
                           (json_int_t)ack->seq, "duplicate", (int)ack->duplicate));
    else if (opt->dry_run)
        (void)printf("%s: would go to %s as %s\n", e->submit_id, tr_envelope_subject(e), id);
    else
        (void)printf("%s: %s, %s %llu%s\n", e->submit_id, tr_envelope_subject(e), ack->stream,
                     (unsigned long long)ack->seq,
                     ack->duplicate ? " (it was there already; nothing new is stored)" : "");
}

static int publish_one(const struct options *opt, const struct target *to, const char *path,
                       json_t *all, struct tr_err *err)
{
    TR_CLEANUP(tr_buf_done) struct tr_buf b = {0};
    TR_CLEANUP(tr_arena_done) struct tr_arena arena;
    struct tr_nats_row task;
    struct tr_js_ack ack = {.seq = 0};

    tr_arena_init(&arena, ARENA_MAX);
    int r = read_task(path, &b, err);
    if (r < 0)
        return r;
    r = tr_nats_row(b.data ? b.data : "", b.len, NULL, opt->heavy, &arena, &task, err);
    if (r == 0 && to->n)
        r = store_and_publish(to, &task, &ack, err);
    if (r < 0)
        return tr_fail_wrap(err, "%s", path);
    if (all)
        report(opt, &task.env, &ack, all);
    return 0;
}

/* With `all` NULL nothing is said about the tasks. */
static int each_file(const struct options *opt, const struct target *to, const struct tr_conf *conf,
                     json_t *all, struct tr_err *err)
{
    int r = 0;

    for (size_t i = 0; i < conf->nargs && r == 0; i++)
        r = publish_one(opt, to, conf->args[i], all, err);
    return r;
}

static int open_target(const struct options *opt, struct target *to, struct tr_err *err)
{
    const struct tr_store_conf conf = {.url = opt->db};
    int r = tr_nats_opts_open(&opt->nats, NULL, &to->n, err);

    if (r >= 0 && opt->db)
        r = tr_store_open(&conf, &to->store, err);
    if (r >= 0 && opt->db)
        r = tr_store_migrate(to->store, -1, err);
    return r < 0 ? r : 0;
}

static void close_target(struct target *to)
{
    tr_nats_close(to->n);
    tr_store_close(to->store);
}

static int publish(const struct options *opt, const struct tr_conf *conf, json_t *all,
                   struct tr_err *err)
{
    TR_CLEANUP(close_target) struct target to = {0};
    const struct target nowhere = {0};
    bool reads_stdin = false;
    int r = 0;

    for (size_t i = 0; i < conf->nargs; i++)
        reads_stdin = reads_stdin || strcmp(conf->args[i], "-") == 0;
    if (reads_stdin && conf->nargs > 1)
        return tr_fail(err, TR_E_USAGE, 0, "'-' stands alone: standard input holds one task");
    if (opt->dry_run)
        return each_file(opt, &nowhere, conf, all, err);
    if (!reads_stdin)
        r = each_file(opt, &nowhere, conf, NULL, err);
    if (r == 0)
        r = open_target(opt, &to, err);
    return r < 0 ? r : each_file(opt, &to, conf, all, err);
}

int cmd_nats_publish(int argc, char **argv)
{
    TR_CLEANUP(cli_end) struct cli_run run;
    struct tr_err err = TR_ERR_INIT;
    struct options opt = {.json = false};
    int code = CLI_OK;

    if (!cli_begin(&run, &doc, &opt, argc, argv, &code))
        return code;
    json_t *all = json_array();
    int r = publish(&opt, &run.conf, all, &err);
    if (r == 0 && opt.json) {
        json_t *whole = json_pack("{s:O}", "published", all);

        (void)json_dumpf(whole, stdout, JSON_INDENT(2));
        (void)putchar('\n');
        json_decref(whole);
    }
    json_decref(all);
    return r < 0 ? cli_fail(&run, &err) : CLI_OK;
}
