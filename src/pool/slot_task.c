/* SPDX-License-Identifier: MIT
 *
 * slot_task.c - one task: data, problem, language, judging, logs, answer.
 *
 * Out: a result (the program's doing), or a fault (ours). A fault is final when trying again cannot
 * help: the task makes no sense, or its archive is bad.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "codec/task.h"
#include "data/package.h"
#include "judge/task.h"
#include "pool/slot.h"
#include "pool/spool.h"

enum {
    ARENA_MAX = 256 << 20,
    FETCH_MAX = 1 << 30
};
#define LIMIT_MIN_US (INT64_C(5) * 60 * 1000000)
#define LIMIT_MAX_US (INT64_C(60) * 60 * 1000000)

struct work {
    struct tr_slot *s;
    struct tr_arena arena;
    int64_t token;
    struct tr_spool spool;
    struct tr_task task;
    struct tr_problem problem;
    struct tr_lang lang;
    int package_dirfd, dirfd;
    int64_t deadline_us; /* monotonic */
    bool judging;        /* the task and its data make sense: what fails now is ours */
    bool late;
};

/* ---------------------------------------------------------------- answers */

static int answer(struct work *w, enum tr_frame_type type, json_t *head, const char *body,
                  struct tr_err *err)
{
    struct tr_slot *s = w->s;
    tr_autofree char *line = head ? json_dumps(head, JSON_COMPACT) : NULL;

    json_decref(head);
    if (!line)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory for an answer");
    size_t n = strlen(line);
    if (body)
        line[n++] = '\n'; /* over the closing 0: the frame has its own length */
    tr_frame_add(&s->out, type, line, n, body, body ? strlen(body) : 0);
    return tr_frame_flush(s->fd, &s->out, err);
}

static int say_fault(struct work *w, const struct tr_err *why, struct tr_err *err)
{
    /* What is not there may come; what is malformed stays so. */
    bool final = !w->judging && (why->code == TR_E_PARSE || why->code == TR_E_LIMIT);

    return answer(w, TR_FRAME_FAULT,
                  json_pack("{s:I, s:o?, s:b}", "token", (json_int_t)w->token, "error",
                            tr_json_clean(why->msg, strlen(why->msg), 1024), "final", (int) final),
                  NULL, err);
}

static int say_result(struct work *w, const struct tr_outcome *o, struct tr_err *err)
{
    struct tr_result_view v = tr_outcome_view(o, w->task.submit_id, &w->problem, &w->lang);
    TR_CLEANUP(tr_json_unrefp) json_t *j = tr_result_json(&v);
    tr_autofree char *text = j ? json_dumps(j, JSON_COMPACT) : NULL;

    if (!text)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory for the result");
    tr_spool_text(&w->spool, "result.json", text, strlen(text));
    return answer(
        w, TR_FRAME_RESULT,
        json_pack("{s:I, s:s, s:I, s:I, s:I, s:I, s:I, s:s, s:b, s:o?, s:o?}", "token",
                  (json_int_t)w->token, "verdict", tr_verdict_id(o->score.verdict), "score",
                  (json_int_t)o->score.points, "time_ms", (json_int_t)tr_ms_up(o->score.time_us),
                  "memory_kb", (json_int_t)o->score.memory_kib, "compile_us",
                  (json_int_t)o->compile.time_us, "judged_us", (json_int_t)o->judged_us, "lang",
                  w->lang.slug, "late", (int)w->late, "fault",
                  o->fault ? tr_json_clean(o->fault, strlen(o->fault), 1024) : json_null(),
                  "log_error",
                  w->spool.failed.code ? json_string(w->spool.failed.msg) : json_null()),
        text, err);
}

/* ---------------------------------------------------------------- test data */

static int fetch(struct work *w, const char *url, const char *hash, struct tr_err *err)
{
    struct tr_slot *s = w->s;
    uint64_t size = 0, max = s->setup.fetch_bytes ? s->setup.fetch_bytes : FETCH_MAX;
    tr_autofree char *path = NULL;
    tr_autoclose int folder = -1;
    int r = tr_fs_temp_dir("fetch", &path, &folder, err);

    if (r < 0)
        return r;
    tr_autoclose int fd = openat(folder, "zip", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    (void)tr_fs_remove_tree(AT_FDCWD, path, NULL); /* the open file stays */
    if (fd < 0)
        return tr_fail(err, TR_E_IO, errno, "a file for test data");
    r = tr_fetch(&s->fetch, url, fd, max, hash, &size, err);
    if (r < 0)
        return r;
    return tr_package_add(s->data, fd, hash, &w->package_dirfd, err);
}

static int get_data(struct work *w, struct tr_err *err)
{
    const char *url = w->task.problem.test_data_zip;
    const char *hash = w->task.problem.test_data_hash;

    if (!url || w->task.problem.ntests > 0)
        return 0;
    if (!hash)
        return fetch(w, url, NULL, err);
    int r = tr_package_find(w->s->data, hash, &w->package_dirfd, NULL);
    if (r != TR_E_NOTFOUND)
        return r < 0 ? tr_package_find(w->s->data, hash, &w->package_dirfd, err) : 0;
    return fetch(w, url, hash, err);
}

/* ---------------------------------------------------------------- judging */

static void on_compiled(void *arg, enum tr_verdict v, const struct tr_compile_report *c)
{
    struct work *w = arg;
    const char *log = c->log ? c->log : "";

    tr_spool_text(&w->spool, "compile.log", log, strlen(log));
    if (w->s->setup.progress)
        (void)answer(w, TR_FRAME_PROGRESS,
                     json_pack("{s:I, s:s, s:s}", "token", (json_int_t)w->token, "stage",
                               "compiled", "verdict", tr_verdict_id(v)),
                     NULL, NULL);
}

static void on_ended(void *arg, size_t test, const struct tr_case *c)
{
    struct work *w = arg;

    tr_spool_case(&w->spool, test, c);
    if (w->s->setup.progress)
        (void)answer(w, TR_FRAME_PROGRESS,
                     json_pack("{s:I, s:I, s:I, s:s, s:I, s:I}", "token", (json_int_t)w->token,
                               "test", (json_int_t)test + 1, "total", (json_int_t)w->problem.ntests,
                               "verdict", tr_verdict_id(c->verdict), "time_ms",
                               (json_int_t)tr_ms_up(c->facts.cpu_us), "memory_kb",
                               (json_int_t)c->facts.memory_kib),
                     NULL, NULL);
}

static void on_output(void *arg, size_t test, int stdout_fd, int stderr_fd)
{
    struct work *w = arg;

    tr_spool_output(&w->spool, test, stdout_fd, stderr_fd);
}

static bool on_stop(void *arg)
{
    struct work *w = arg;
    struct tr_slot *s = w->s;
    struct tr_frame f;

    if (tr_clock_mono_us() > w->deadline_us)
        w->late = true;
    if (tr_frame_poll(s->fd, &s->in, NULL) < 0)
        s->orphan = true;
    else if (tr_frame_peek(&s->in, &f, NULL) == 1 && f.type == TR_FRAME_CANCEL) {
        tr_frame_drop(&s->in, &f);
        s->cancelled = true;
    }
    return w->late || s->orphan || s->cancelled;
}

/* The larger of five minutes and what compiling and all tests may take, at most an hour. */
static void set_deadline(struct work *w)
{
    struct tr_limits l = w->problem.limits;
    int64_t jobs = w->s->setup.judge.jobs ? w->s->setup.judge.jobs : 1;

    tr_limits_scale(&l, w->lang.time_milli ? w->lang.time_milli : 1000, 1000);
    tr_limits_finish(&l);
    int64_t all = w->lang.compile_time_us + l.wall_us * (int64_t)w->problem.ntests / jobs;
    all = all < LIMIT_MIN_US ? LIMIT_MIN_US : all;
    all = all > LIMIT_MAX_US ? LIMIT_MAX_US : all;
    w->deadline_us = tr_clock_mono_us() + all;
}

/* The judging took longer than all its limits together allow: that is the judge's error, and
 * trying again would take as long. */
static void judge_error(struct work *w, struct tr_outcome *o)
{
    *o = (struct tr_outcome){
        .limits = w->problem.limits,
        .compile = {.verdict = TR_V_AC},
        .score = {.verdict = TR_V_JE, .first_failing = w->problem.ntests},
        .fault = "judging took longer than all limits of the task together",
    };
}

static int judge(struct work *w, struct tr_outcome *o, struct tr_err *err)
{
    struct tr_job job = {
        .code = w->task.code,
        .code_len = w->task.code_len,
        .lang = &w->lang,
        .problem = &w->problem,
        .problem_dirfd = w->dirfd,
        .events = {.arg = w,
                   .compiled = on_compiled,
                   .ended = on_ended,
                   .output = w->spool.dirfd >= 0 ? on_output : NULL,
                   .stop = on_stop},
    };
    int r = tr_judge_run(w->s->judge, &job, &w->arena, o, err);

    if (r == TR_E_LOST && w->late) {
        judge_error(w, o);
        return 0;
    }
    if (r == TR_E_LOST && w->s->cancelled)
        return tr_fail(err, TR_E_LOST, 0, "judging was cancelled");
    return r;
}

/* With setup.noop: what a judge would say that has nothing to do. */
static void accept_it(struct work *w, struct tr_outcome *o)
{
    w->lang = (struct tr_lang){.slug = w->task.lang_slug};
    w->problem = (struct tr_problem){.name = ""};
    *o = (struct tr_outcome){.score = {.verdict = TR_V_AC, .points = 100 * TR_POINT},
                             .compile = {.verdict = TR_V_AC}};
}

static int do_task(struct work *w, const char *bytes, size_t len, struct tr_outcome *o,
                   struct tr_err *err)
{
    int r = tr_task_parse(bytes, len, &w->arena, &w->task, err);

    if (r >= 0 && w->s->setup.noop) {
        accept_it(w, o);
        return 0;
    }
    if (r >= 0)
        r = tr_task_lang(&w->task, tr_judge_langs(w->s->judge), &w->lang, err);
    if (r >= 0)
        r = get_data(w, err);
    if (r >= 0)
        r = tr_task_problem(&w->task, w->package_dirfd, &w->arena, &w->problem, &w->dirfd, err);
    if (r < 0)
        return r;
    w->judging = true;
    set_deadline(w);
    return judge(w, o, err);
}

static int read_head(struct work *w, const char *head, size_t len, const char **ret_spool,
                     struct tr_err *err)
{
    TR_CLEANUP(tr_json_unrefp) json_t *o = NULL;
    int r = tr_json_parse(head, len, 1 << 16, &o, err);

    if (r >= 0)
        r = tr_json_int(o, "", "token", INT64_MIN, INT64_MAX, &w->token, err);
    if (r >= 0)
        r = tr_json_text(o, "", "spool", &w->arena, ret_spool, err);
    return r < 0 ? r : 0;
}

static void work_done(struct work *w)
{
    if (w->dirfd != w->package_dirfd)
        tr_close(&w->dirfd);
    tr_close(&w->package_dirfd);
    tr_spool_close(&w->spool);
    tr_arena_done(&w->arena);
}

int tr_slot_task(struct tr_slot *s, const struct tr_frame *f, struct tr_err *err)
{
    TR_CLEANUP(work_done)
    struct work w = {.s = s, .package_dirfd = -1, .dirfd = -1, .spool = {.dirfd = -1}};
    struct tr_err why = TR_ERR_INIT;
    struct tr_outcome o;
    const char *spool = NULL, *bytes = NULL;
    size_t head_len = 0, len = 0;

    s->cancelled = false;
    tr_arena_init(&w.arena, ARENA_MAX);
    int r = tr_frame_split(f, &head_len, &bytes, &len, &why);
    if (r >= 0)
        r = read_head(&w, f->body, head_len, &spool, &why);
    if (r >= 0) {
        tr_spool_open(&w.spool, spool, s->setup.log_bytes);
        r = do_task(&w, bytes, len, &o, &why);
    }
    if (s->orphan)
        return tr_fail(err, TR_E_LOST, 0, "the supervisor is gone");
    return r < 0 ? say_fault(&w, &why, err) : say_result(&w, &o, err);
}
