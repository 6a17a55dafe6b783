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

enum {
    FILES_MAX = 100000
};

struct options {
    struct tr_nats_opts nats;
    const char *heavy;
    bool dry_run;
    bool json;
};

static const struct tr_conf_item items[] = {
    HEAVY_ITEM(struct options, heavy),
    {.name = "dry-run",
     .type = TR_CONF_BOOL,
     .at = offsetof(struct options, dry_run),
     .doc = "check the tasks and say where they would go; no server is needed",
     .flags = TR_CONF_CLI_ONLY},
    JSON_ITEM(struct options, json),
    NATS_ITEMS(struct options, nats),
};

static const struct cli_doc doc = {
    .name = "tribunal nats publish",
    .usage = "TASK.json… | -",
    .summary = "Checks each task, routes it to judge.tasks.light or judge.tasks.heavy by its\n"
               "language (or its own \"type\"), and waits until it is stored. The message id is\n"
               "submit_id:generation:retry_count:crashes, so a repeat within two minutes is\n"
               "swallowed. All tasks are checked before the first is published.",
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

static int check_task(const struct options *opt, const char *path, struct tr_buf *b,
                      struct tr_envelope *e, struct tr_err *err)
{
    int r = read_task(path, b, err);

    if (r < 0)
        return r;
    r = tr_envelope_read(b->data, b->len, opt->heavy, e, err);
    return r < 0 ? tr_fail_wrap(err, "%s", path) : 0;
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

static int publish_one(const struct options *opt, struct tr_nats *n, const char *path, json_t *all,
                       struct tr_err *err)
{
    TR_CLEANUP(tr_buf_done) struct tr_buf b = {0};
    struct tr_envelope e;
    struct tr_js_ack ack = {.seq = 0};
    char id[TR_MSG_ID_MAX];
    int r = check_task(opt, path, &b, &e, err);

    if (r == 0 && n) {
        r = tr_js_publish(n, tr_envelope_subject(&e), tr_envelope_id(&e, id), b.data, b.len, &ack,
                          err);
        if (r < 0)
            (void)tr_fail_wrap(err, "%s", path);
    }
    if (r == 0 && all)
        report(opt, &e, &ack, all);
    return r;
}

/* With n NULL the tasks are only checked; with `all` NULL nothing is said about them. */
static int each_file(const struct options *opt, struct tr_nats *n, const struct tr_conf *conf,
                     json_t *all, struct tr_err *err)
{
    int r = 0;

    for (size_t i = 0; i < conf->nargs && r == 0; i++)
        r = publish_one(opt, n, conf->args[i], all, err);
    return r;
}

static int publish(const struct options *opt, const struct tr_conf *conf, json_t *all,
                   struct tr_err *err)
{
    TR_CLEANUP(tr_nats_closep) struct tr_nats *n = NULL;
    bool reads_stdin = false;
    int r = 0;

    for (size_t i = 0; i < conf->nargs; i++)
        reads_stdin = reads_stdin || strcmp(conf->args[i], "-") == 0;
    if (reads_stdin && conf->nargs > 1)
        return tr_fail(err, TR_E_USAGE, 0, "'-' stands alone: standard input holds one task");
    if (opt->dry_run)
        return each_file(opt, NULL, conf, all, err);
    if (!reads_stdin)
        r = each_file(opt, NULL, conf, NULL, err);
    if (r == 0)
        r = tr_nats_opts_open(&opt->nats, NULL, &n, err);
    return r < 0 ? r : each_file(opt, n, conf, all, err);
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
