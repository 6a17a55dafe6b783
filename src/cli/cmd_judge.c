/* SPDX-License-Identifier: MIT
 *
 * cmd_judge.c - `tribunal judge`: a verdict here and now, without daemon or database.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fs.h"
#include "cli/commands.h"
#include "cli/escape.h"
#include "cli/judge_view.h"
#include "cli/slot.h"
#include "codec/task.h"
#include "judge/task.h"

struct options {
    struct slot_options slot; /* first: see cli_doc */
    const char *problem;
    const char *lang;
    const char *transcript;
    bool all;
    bool task;
};

static const struct tr_conf_item items[] = {
    {.name = "problem",
     .letter = 'p',
     .type = TR_CONF_STRING,
     .at = offsetof(struct options, problem),
     .unit = "DIR",
     .doc = "problem folder, or a zip file of one",
     .flags = TR_CONF_CLI_ONLY},
    {.name = "lang",
     .letter = 'l',
     .type = TR_CONF_STRING,
     .at = offsetof(struct options, lang),
     .unit = "SLUG",
     .doc = "language; by the file's extension when not given",
     .flags = TR_CONF_CLI_ONLY},
    CLI_TEXT("transcript", transcript, NULL, "FILE",
             "write down there what program and interactor said to each other"),
    CLI_FLAG("all", all, "do not stop at the first failing test"),
    CLI_FLAG("task", task, "FILE is a task message: language, limits and tests are its own"),
};

static const struct cli_doc doc = {
    .name = "tribunal judge",
    .usage = "FILE -p PROBLEM [options]",
    .summary = "Compiles FILE, runs it in the sandbox against the tests of PROBLEM and says the\n"
               "verdict. Exit code: 0 accepted, 1 not accepted, 2 usage, 3 fault.",
    .examples = "  tribunal judge sum.cpp -p examples/problems/a-plus-b\n"
                "  tribunal judge sum.py -p a-plus-b.zip --jobs 2 --json\n"
                "  tribunal judge --task task.json -p testdata.zip\n"
                "  tribunal judge guess.py -p examples/problems/guess --transcript talk.txt\n",
    .items = items,
    .count = TR_ARRAY_LEN(items),
    .slot = true,
    .args_min = 1,
    .args_max = 1,
};

/* Everything that judging one file needs. */
struct session {
    const struct cli_run *run;
    const struct options *o;
    struct slot slot;
    struct problem_arg package; /* folder or task's archive */
    struct tr_problem problem;
    int dirfd; /* of the tests, or -1 */
    struct tr_arena arena;
    struct tr_buf text; /* the source, or the task */
    struct tr_task task;
    struct tr_lang lang;
    const char *code;
    size_t code_len;
};

static void session_done(struct session *s)
{
    if (s->dirfd != s->package.dirfd)
        tr_close(&s->dirfd);
    problem_arg_done(&s->package);
    slot_close(&s->slot);
    tr_buf_done(&s->text);
    tr_arena_done(&s->arena);
}

static int load_file(struct session *s, const char *file, struct tr_err *err)
{
    const struct tr_langs *langs = tr_judge_langs(s->slot.judge);
    const char *slug = s->o->lang;

    if (!s->o->problem)
        return tr_fail(err, TR_E_USAGE, 0, "which problem? give its folder with -p");
    const struct tr_lang *lang = slug ? tr_langs_find(langs, slug) : tr_langs_by_name(langs, file);
    if (!lang && slug)
        return tr_fail(err, TR_E_USAGE, 0,
                       "there is no language '%.64s'; 'tribunal lang list' shows them", slug);
    if (!lang)
        return tr_fail(err, TR_E_USAGE, 0,
                       "'%s' has no extension of a known language; say which with --lang", file);
    s->lang = *lang;
    int r = source_read(file, &s->text, err);
    if (r == 0)
        r = problem_arg_open(&s->package, s->o->problem, err);
    if (r < 0)
        return r;
    s->problem = s->package.problem;
    s->dirfd = s->package.dirfd;
    s->code = s->text.data ? s->text.data : "";
    s->code_len = s->text.len;
    return 0;
}

static int load_task(struct session *s, const char *file, struct tr_err *err)
{
    int dirfd = -1;

    tr_buf_init(&s->text, TR_TASK_BYTES_MAX);
    int r = tr_fs_read_file(file, &s->text, err);
    if (r == 0)
        r = tr_task_parse(s->text.data ? s->text.data : "", s->text.len, &s->arena, &s->task, err);
    if (r == 0)
        r = tr_task_lang(&s->task, tr_judge_langs(s->slot.judge), &s->lang, err);
    if (r == 0 && s->o->problem)
        r = package_open(s->o->problem, &s->package.temp, &dirfd, err);
    if (r == 0)
        r = tr_task_problem(&s->task, dirfd, &s->arena, &s->problem, &s->dirfd, err);
    tr_close(&dirfd);
    s->code = s->task.code;
    s->code_len = s->task.code_len;
    return r;
}

/* Ctrl-C and a polite kill: what was unpacked is removed and the boxes are emptied first. */
static volatile sig_atomic_t interrupted;

static void on_signal(int signal)
{
    interrupted = signal;
}

static bool on_stop(void *arg)
{
    (void)arg;
    return interrupted != 0;
}

static void catch_signals(void)
{
    const struct sigaction act = {.sa_handler = on_signal};

    (void)sigaction(SIGINT, &act, NULL);
    (void)sigaction(SIGTERM, &act, NULL);
}

/* Who looks on while it is judged. */
struct watcher {
    const struct tr_problem *problem;
    struct judge_view *view; /* NULL with --json */
    FILE *talk;              /* of --transcript, or NULL */
};

static void on_compiled(void *arg, enum tr_verdict v, const struct tr_compile_report *c)
{
    const struct watcher *w = arg;

    if (w->view)
        judge_view_compiled(w->view, v, c);
}

static void on_ended(void *arg, size_t test, const struct tr_case *c)
{
    const struct watcher *w = arg;

    if (w->view)
        judge_view_ended(w->view, test, c);
}

static void on_transcript(void *arg, size_t test, const char *text, size_t len)
{
    const struct watcher *w = arg;
    const char *name = w->problem->tests[test].name;

    (void)fputs("test ", w->talk);
    print_escaped(w->talk, name, strlen(name), 80);
    (void)fprintf(w->talk, "\n%.*s", (int)len, text);
}

static void closep(FILE **f)
{
    if (*f)
        (void)fclose(*f);
}

static int print_json(const struct session *s, const struct tr_outcome *o)
{
    struct tr_result_view v = tr_outcome_view(o, s->task.submit_id, &s->problem, &s->lang);
    TR_CLEANUP(tr_json_unrefp) json_t *j = tr_result_json(&v);

    if (!j || json_dumpf(j, stdout, JSON_INDENT(2)) < 0)
        return CLI_FAULT;
    (void)putchar('\n');
    return CLI_OK;
}

static int judge_it(struct session *s, struct tr_err *err)
{
    TR_CLEANUP(judge_view_done) struct judge_view view = {0};
    TR_CLEANUP(closep) FILE *talk = s->o->transcript ? fopen(s->o->transcript, "we") : NULL;
    struct tr_outcome o;
    struct tr_job job = {
        .code = s->code,
        .code_len = s->code_len,
        .lang = &s->lang,
        .problem = &s->problem,
        .problem_dirfd = s->dirfd,
    };

    s->problem.run_all = s->problem.run_all || s->o->all;
    int r = judge_view_init(&view, stdout, cli_color(s->run, STDOUT_FILENO), &s->problem, &s->lang,
                            err);
    if (r < 0)
        return r;
    if (s->o->transcript && !talk)
        return tr_fail(err, TR_E_IO, errno, "open '%s' for the transcript", s->o->transcript);
    struct watcher w = {
        .problem = &s->problem, .view = s->o->slot.json ? NULL : &view, .talk = talk};
    job.events = (struct tr_judge_events){.arg = &w,
                                          .compiled = on_compiled,
                                          .ended = on_ended,
                                          .stop = on_stop,
                                          .transcript = talk ? on_transcript : NULL};
    r = tr_judge_run(s->slot.judge, &job, &s->arena, &o, err);
    if (r < 0)
        return r;
    if (talk && (fflush(talk) != 0 || ferror(talk)))
        return tr_fail(err, TR_E_IO, errno, "write the transcript '%s'", s->o->transcript);
    if (s->o->slot.json && print_json(s, &o) != CLI_OK)
        return tr_fail(err, TR_E_IO, 0, "cannot print the result");
    if (!s->o->slot.json)
        judge_view_end(&view, &o);
    return o.score.verdict == TR_V_AC   ? CLI_OK
           : o.score.verdict == TR_V_JE ? CLI_FAULT
                                        : CLI_NOT_OK;
}

/* With --json a fault is a document too. */
static int fail(const struct cli_run *run, const struct options *o, const struct tr_err *err)
{
    if (o->slot.json) {
        TR_CLEANUP(tr_json_unrefp) json_t *text = tr_json_clean(err->msg, strlen(err->msg), 1024);
        TR_CLEANUP(tr_json_unrefp)
        json_t *j = json_pack("{s:s, s:O}", "type", "error", "error", text);

        if (j && json_dumpf(j, stdout, JSON_COMPACT) == 0)
            (void)putchar('\n');
    }
    return cli_fail(run, err);
}

int cmd_judge(int argc, char **argv)
{
    TR_CLEANUP(cli_end) struct cli_run run;
    struct options o = {0};
    struct tr_err err = TR_ERR_INIT;
    int code = CLI_OK;

    if (!cli_begin(&run, &doc, &o, argc, argv, &code))
        return code;
    TR_CLEANUP(session_done)
    struct session s = {.run = &run, .o = &o, .dirfd = -1, .package = {.dirfd = -1}};
    tr_arena_init(&s.arena, 256 << 20);
    catch_signals();
    int r = slot_open(&s.slot, &o.slot, &err);
    if (r == 0)
        r = o.task ? load_task(&s, run.conf.args[0], &err) : load_file(&s, run.conf.args[0], &err);
    if (r == 0)
        r = judge_it(&s, &err);
    return r < 0 ? fail(&run, &o, &err) : r;
}
