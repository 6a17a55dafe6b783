/* SPDX-License-Identifier: MIT
 *
 * cmd_nats_events.c - `tribunal nats events`: follow JUDGE_EVENTS.
 */
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/parse.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/escape.h"
#include "cli/nats_opts.h"
#include "codec/json.h"
#include "nats/names.h"
#include "nats/reader.h"

enum {
    LOOK_MS = 200,       /* how soon a signal is noticed */
    TEXT_MAX = 64 * 1024 /* of an event that is not JSON */
};

struct options {
    struct tr_nats_opts nats;
    bool all;
    bool follow;
    int64_t count;
    const char *submit;
    const char *kind;
    bool json;
};

static const struct tr_conf_item items[] = {
    CLI_FLAG("all", all, "begin with the oldest that is kept, not with the next"),
    {.name = "follow",
     .type = TR_CONF_BOOL,
     .at = offsetof(struct options, follow),
     .fallback = "true",
     .doc = "wait for more; --no-follow shows what is kept and ends",
     .flags = TR_CONF_CLI_ONLY},
    {.name = "count",
     .letter = 'n',
     .type = TR_CONF_INT,
     .at = offsetof(struct options, count),
     .min = 0,
     .max = INT64_MAX,
     .doc = "end after so many",
     .flags = TR_CONF_CLI_ONLY},
    CLI_TEXT("submit", submit, NULL, "ID", "only those of this submission"),
    CLI_TEXT("kind", kind, NULL, "WORD", "only judge.events.WORD: status, contest or system"),
    JSON_ITEM(struct options, json),
    NATS_ITEMS(struct options, nats),
};

static const struct cli_doc doc = {
    .name = "tribunal nats events",
    .usage = "[options]",
    .summary = "Shows the events of JUDGE_EVENTS as they come, one line each; with --json one\n"
               "object each, with seq, subject, time and event. Reading takes nothing away. It\n"
               "finds its place again when the server restarts. Ctrl-C ends it.",
    .examples = "  tribunal nats events --submit 42\n"
                "  tribunal nats events --all --no-follow --json | jq .event.status\n",
    .items = items,
    .count = TR_ARRAY_LEN(items),
};

static volatile sig_atomic_t asked_to_stop;

static void on_signal(int number)
{
    asked_to_stop = 1;
}

static void catch_signals(void)
{
    const struct sigaction act = {.sa_handler = on_signal};

    (void)sigaction(SIGINT, &act, NULL);
    (void)sigaction(SIGTERM, &act, NULL);
}

static void print_line(const struct tr_read *m, const json_t *event, const char *time)
{
    const char *subject = m->subject;
    const json_t *score = json_object_get(event, "score");

    (void)printf("%.19sZ", time);
    print_escaped_text(stdout, " ", strlen(subject) > 13 ? subject + 13 : subject,
                       TEXT_MAX); /* without "judge.events." */
    if (!event)
        (void)fputs(" (not JSON)", stdout);
    print_escaped_text(stdout, " ", tr_json_word(event, "type"), TEXT_MAX);
    print_escaped_text(stdout, " submit=", tr_json_word(event, "submit_id"), TEXT_MAX);
    print_escaped_text(stdout, " ", tr_json_word(event, "status"), TEXT_MAX);
    if (json_is_integer(score))
        (void)printf(" score=%lld", (long long)json_integer_value(score));
    print_escaped_text(stdout, " worker=", tr_json_word(event, "worker_id"), TEXT_MAX);
    (void)putchar('\n');
}

static void print_json(const struct tr_read *m, json_t *event, const char *time)
{
    json_t *text = event ? NULL : tr_json_clean(m->data, m->len, TEXT_MAX);
    json_t *line = json_pack("{s:I, s:s, s:s, s:O?, s:o*}", "seq", (json_int_t)m->seq, "subject",
                             m->subject, "time", time, "event", event, "text", text);

    if (line)
        (void)json_dumpf(line, stdout, JSON_COMPACT);
    (void)putchar('\n');
    json_decref(line);
}

/* True when it was shown. */
static bool show(const struct options *opt, const struct tr_read *m)
{
    TR_CLEANUP(tr_json_unrefp) json_t *event = NULL;
    char time[TR_TIME_TEXT];

    (void)tr_json_parse(m->data, m->len, 2 * (size_t)TR_NATS_MESSAGE_MAX, &event, NULL);
    if (opt->submit && strcmp(opt->submit, tr_json_word(event, "submit_id")) != 0)
        return false;
    (void)tr_clock_text(m->time_us, time);
    if (opt->json)
        print_json(m, event, time);
    else
        print_line(m, event, time);
    (void)fflush(stdout); /* a reader of a pipe wants it now */
    return true;
}

static int follow(const struct options *opt, struct tr_reader *reader, struct tr_err *err)
{
    bool end = !opt->follow && tr_reader_waiting(reader) == 0;

    for (int64_t shown = 0; !end && !asked_to_stop;) {
        struct tr_read m;
        int r = tr_reader_next(reader, LOOK_MS, &m, err);

        if (r < 0)
            return r;
        if (r == 0)
            continue;
        shown += show(opt, &m);
        end = (!opt->follow && m.pending == 0) || (opt->count && shown == opt->count);
        tr_read_done(&m);
    }
    return 0;
}

static int events(const struct options *opt, struct tr_err *err)
{
    TR_CLEANUP(tr_nats_closep) struct tr_nats *n = NULL;
    TR_CLEANUP(tr_reader_closep) struct tr_reader *reader = NULL;
    char filter[128];

    const char *kind = opt->kind ? opt->kind : "*";

    if (strpbrk(kind, ".> \t\r\n") || !*kind || strlen(kind) > 64)
        return tr_fail(err, TR_E_USAGE, 0, "--kind: '%.64s' is not status, contest or system",
                       kind);
    (void)snprintf(filter, sizeof(filter), TR_SUBJECT_EVENTS ".%.64s", kind);
    int r = tr_nats_opts_open(&opt->nats, NULL, &n, err);
    if (r == 0)
        r = tr_reader_open(n, TR_STREAM_EVENTS, filter,
                           opt->all || !opt->follow ? TR_READ_ALL : TR_READ_NEW, &reader, err);
    return r < 0 ? r : follow(opt, reader, err);
}

int cmd_nats_events(int argc, char **argv)
{
    TR_CLEANUP(cli_end) struct cli_run run;
    struct tr_err err = TR_ERR_INIT;
    struct options opt = {.json = false};
    int code = CLI_OK;

    if (!cli_begin(&run, &doc, &opt, argc, argv, &code))
        return code;
    catch_signals();
    return events(&opt, &err) < 0 ? cli_fail(&run, &err) : CLI_OK;
}
