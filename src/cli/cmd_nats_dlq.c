/* SPDX-License-Identifier: MIT
 *
 * cmd_nats_dlq.c - `tribunal nats dlq`: what could not be judged, and what becomes of it.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/parse.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/escape.h"
#include "cli/nats_opts.h"
#include "codec/json.h"
#include "nats/dlq.h"
#include "nats/letter.h"

enum {
    ERROR_SHOWN = 100, /* of a sentence, in a table */
    TEXT_MAX = 64 * 1024
};

struct options {
    struct tr_nats_opts nats;
    const char *submit;
    bool all;
    bool json;
};

#define COMMON                                                                                     \
    {.name = "submit",                                                                             \
     .type = TR_CONF_STRING,                                                                       \
     .at = offsetof(struct options, submit),                                                       \
     .unit = "ID",                                                                                 \
     .doc = "the letters of this submission",                                                      \
     .flags = TR_CONF_CLI_ONLY},                                                                   \
        JSON_ITEM(struct options, json), NATS_ITEMS(struct options, nats)

static const struct tr_conf_item show_items[] = {COMMON};

static const struct tr_conf_item work_items[] = {
    CLI_FLAG("all", all, "every letter there is now"),
    COMMON,
};

static const struct cli_doc list_doc = {
    .name = "tribunal nats dlq list",
    .usage = "[options]",
    .summary = "Lists the dead letters, oldest first: sequence, time, submission, retries, error.",
    .items = show_items,
    .count = TR_ARRAY_LEN(show_items),
};

static const struct cli_doc show_doc = {
    .name = "tribunal nats dlq show",
    .usage = "SEQ… | --submit ID",
    .summary = "Prints dead letters whole, as JSON: reason, tries and the task itself.",
    .items = show_items,
    .count = TR_ARRAY_LEN(show_items),
    .args_max = 1000,
};

static const struct cli_doc retry_doc = {
    .name = "tribunal nats dlq retry",
    .usage = "SEQ… | --submit ID | --all",
    .summary =
        "Publishes the tasks of dead letters again, with their tries back at 0, and removes\n"
        "the letters. For when the cause is gone.",
    .examples = "  tribunal nats dlq retry 17 18\n  tribunal nats dlq retry --all\n",
    .items = work_items,
    .count = TR_ARRAY_LEN(work_items),
    .args_max = 1000,
};

static const struct cli_doc drop_doc = {
    .name = "tribunal nats dlq drop",
    .usage = "SEQ… | --submit ID | --all",
    .summary = "Removes dead letters for good. Their submissions keep the state DLQ.",
    .items = work_items,
    .count = TR_ARRAY_LEN(work_items),
    .args_max = 1000,
};

/* One command at work. */
struct work {
    const struct options *opt;
    struct tr_nats *n;
    json_t *out;   /* list of what --json prints */
    uint64_t only; /* a sequence, 0: by the options */
    size_t hits;
    struct tr_err *err;
    int (*act)(struct work *w, const struct tr_dead *dead);
};

static json_t *dead_json(const struct tr_dead *d, bool whole)
{
    char time[TR_TIME_TEXT];
    json_t *j = d->letter ? json_copy(d->letter) : json_object();

    if (d->letter && !whole)
        (void)json_object_del(j, "payload");
    if (!d->letter) {
        (void)json_object_set_new(j, "not_a_letter",
                                  tr_json_clean(d->why, strlen(d->why), TEXT_MAX));
        (void)json_object_set_new(j, "text", tr_json_clean(d->data, d->len, TEXT_MAX));
    }
    (void)json_object_set_new(j, "seq", json_integer((json_int_t)d->seq));
    (void)json_object_set_new(j, "subject", json_string(d->subject));
    (void)json_object_set_new(j, "stored_at", json_string(tr_clock_text(d->time_us, time)));
    return j;
}

/* ---- what each command does with a letter ---- */

static int act_list(struct work *w, const struct tr_dead *d)
{
    char time[TR_TIME_TEXT];

    if (w->opt->json) {
        (void)json_array_append_new(w->out, dead_json(d, false));
        return 0;
    }
    (void)printf("%6llu  %.19sZ  ", (unsigned long long)d->seq, tr_clock_text(d->time_us, time));
    if (!d->letter) {
        print_escaped_text(stdout, "(", d->why, TEXT_MAX);
        (void)puts(")");
        return 0;
    }
    print_escaped_text(stdout, "", tr_letter_text(d->letter, "submit_id"), 64);
    (void)printf("  retries=%lld  ",
                 (long long)json_integer_value(json_object_get(d->letter, "retry_count")));
    print_escaped_text(stdout, "", tr_letter_text(d->letter, "error"), ERROR_SHOWN);
    (void)putchar('\n');
    return 0;
}

static int act_show(struct work *w, const struct tr_dead *d)
{
    (void)json_array_append_new(w->out, dead_json(d, true));
    return 0;
}

static void say(struct work *w, const struct tr_dead *d, const char *done)
{
    if (w->opt->json)
        (void)json_array_append_new(
            w->out,
            json_pack("{s:I, s:s, s:s}", "seq", (json_int_t)d->seq, "submit_id",
                      d->letter ? tr_letter_text(d->letter, "submit_id") : "", "done", done));
    else
        (void)printf("%llu: %s\n", (unsigned long long)d->seq, done);
}

static int act_retry(struct work *w, const struct tr_dead *d)
{
    struct tr_js_ack ack;
    int r = tr_dlq_retry(w->n, d, &ack, w->err);

    if (r == 0)
        say(w, d, "published again");
    return r;
}

static int act_drop(struct work *w, const struct tr_dead *d)
{
    int r = tr_dlq_drop(w->n, d->seq, w->err);

    if (r == 0)
        say(w, d, "dropped");
    return r;
}

/* ---- which letters ---- */

static int on_dead(void *arg, const struct tr_dead *d)
{
    struct work *w = arg;
    const char *id = d->letter ? tr_letter_text(d->letter, "submit_id") : "";

    if (w->only && d->seq != w->only)
        return 1; /* the walk began there: it is not there */
    if (!w->only && w->opt->submit && strcmp(w->opt->submit, id) != 0)
        return 0;
    w->hits++;
    int r = w->act(w, d);
    return r < 0 ? r : w->only != 0;
}

static int one_letter(struct work *w, const char *text)
{
    int r = tr_parse_u64(text, 1, UINT64_MAX, &w->only, w->err);

    if (r < 0)
        return tr_fail_wrap(w->err, "a letter's sequence (--submit takes a submission)");
    size_t before = w->hits;
    r = tr_dlq_walk(w->n, w->only, on_dead, w, w->err);
    if (r >= 0 && w->hits == before)
        return tr_fail(w->err, TR_E_NOTFOUND, 0, "there is no dead letter %s", text);
    return r < 0 ? r : 0;
}

static int all_letters(struct work *w, const struct tr_conf *conf)
{
    const struct options *opt = w->opt;
    int r = 0;

    for (size_t i = 0; i < conf->nargs && r == 0; i++)
        r = one_letter(w, conf->args[i]);
    if (conf->nargs > 0 || r < 0)
        return r;
    r = tr_dlq_walk(w->n, 0, on_dead, w, w->err);
    if (r == 0 && opt->submit && w->hits == 0)
        return tr_fail(w->err, TR_E_NOTFOUND, 0, "submission '%.64s' has no dead letter",
                       opt->submit);
    return r;
}

static int check_choice(const struct cli_run *run, const struct options *opt, bool listing,
                        struct tr_err *err)
{
    int ways = (run->conf.nargs > 0) + (opt->submit != NULL) + (opt->all ? 1 : 0);

    if (listing || ways == 1)
        return 0;
    return tr_fail(err, TR_E_USAGE, 0, "name letters in one way: %s", run->doc->usage);
}

static void print_out(const struct work *w, bool whole_letters)
{
    if (whole_letters && !w->opt->json && json_array_size(w->out) == 1) {
        (void)json_dumpf(json_array_get(w->out, 0), stdout, JSON_INDENT(2));
    } else {
        json_t *all = json_pack("{s:O}", "letters", w->out);

        (void)json_dumpf(all, stdout, JSON_INDENT(2));
        json_decref(all);
    }
    (void)putchar('\n');
}

static int run_command(const struct cli_doc *doc, int argc, char **argv,
                       int (*act)(struct work *w, const struct tr_dead *dead))
{
    TR_CLEANUP(cli_end) struct cli_run run;
    TR_CLEANUP(tr_nats_closep) struct tr_nats *n = NULL;
    TR_CLEANUP(tr_json_unrefp) json_t *out = json_array();
    struct tr_err err = TR_ERR_INIT;
    struct options opt = {.json = false};
    int code = CLI_OK;

    if (!cli_begin(&run, doc, &opt, argc, argv, &code))
        return code;
    int r = check_choice(&run, &opt, act == act_list, &err);
    if (r == 0)
        r = tr_nats_opts_open(&opt.nats, NULL, &n, &err);
    struct work w = {.opt = &opt, .n = n, .out = out, .err = &err, .act = act};
    if (r == 0)
        r = all_letters(&w, &run.conf);
    if (r == 0 && (opt.json || act == act_show))
        print_out(&w, act == act_show);
    else if (r == 0 && w.hits == 0)
        (void)printf("no dead letters\n");
    return r < 0 ? cli_fail(&run, &err) : CLI_OK;
}

static int cmd_list(int argc, char **argv)
{
    return run_command(&list_doc, argc, argv, act_list);
}

static int cmd_show(int argc, char **argv)
{
    return run_command(&show_doc, argc, argv, act_show);
}

static int cmd_retry(int argc, char **argv)
{
    return run_command(&retry_doc, argc, argv, act_retry);
}

static int cmd_drop(int argc, char **argv)
{
    return run_command(&drop_doc, argc, argv, act_drop);
}

static const struct cli_command commands[] = {
    {"list", "what is there", cmd_list},
    {"show", "one letter whole, with its task", cmd_show},
    {"retry", "judge again", cmd_retry},
    {"drop", "remove for good", cmd_drop},
};

int cmd_nats_dlq(int argc, char **argv)
{
    static const struct cli_group group = {
        .name = "tribunal nats dlq",
        .summary = "The dead letters of JUDGE_DLQ: tasks that could not be judged, and why.",
        .commands = commands,
        .count = TR_ARRAY_LEN(commands),
    };

    return cli_dispatch(&group, argc, argv);
}
