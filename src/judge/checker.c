/* SPDX-License-Identifier: MIT
 *
 * checker.c - a checker in its own box: files in, words out.
 *
 * The answer is only ever inside this box, never in the program's. The checker's feedback folder is
 * its work folder itself ("/w/"), from which the box fetches files by name after the run, following
 * nothing. What it said becomes a verdict in codec/checker_says.c.
 *
 *   testlib   checker input output answer
 *   kattis    checker input answer feedback/ [flags] < output
 *   qduoj     checker input output
 *   hustoj    checker input answer output
 *   lemon     checker input output answer full_score score_file message_file
 *   syzoj     checker, with files named input, user_out, answer
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "codec/checker_says.h"
#include "judge/judge_private.h"

enum {
    CHECKER_CPU_S = 10,
    WORDS_MAX = 64 * 1024
};

const char **checker_argv(const struct check *c, struct tr_arena *arena)
{
    const struct helper *h = c->helper;

    static const char *const usual[][8] = {
        [TR_CHECKER_NONE] = {NULL},
        [TR_CHECKER_TESTLIB] = {"input", "user_out", "answer", NULL},
        [TR_CHECKER_KATTIS] = {"input", "answer", "/w/", NULL},
        [TR_CHECKER_QDUOJ] = {"input", "user_out", NULL},
        [TR_CHECKER_HUSTOJ] = {"input", "answer", "user_out", NULL},
        [TR_CHECKER_LEMON] = {"input", "user_out", "answer", "", "score.txt", "message.txt", NULL},
        [TR_CHECKER_SYZOJ] = {NULL},
    };
    /* The language's own words with the memory that a checker has. */
    const char **run = tr_lang_words(&h->lang.run, 1024 * 1024, 256 * 1024, arena);
    size_t nargs = 0, n = 0;

    while (c->args && c->args[nargs])
        nargs++;
    const char **argv = tr_arena_array(arena, h->lang.run.count + 8 + nargs + 1, sizeof(*argv));
    if (!run || !argv)
        return NULL;
    for (size_t i = 0; i < h->lang.run.count; i++)
        argv[n++] = run[i];
    for (const char *const *w = usual[h->kind]; *w; w++)
        argv[n++] =
            **w ? *w : tr_arena_printf(arena, "%lld", (long long)(c->full_points / TR_POINT));
    for (size_t i = 0; i < nargs; i++)
        argv[n++] = c->args[i];
    return argv;
}

/* Input and answer, and the output unless it comes on standard input. */
static int put_files(struct check *c, struct tr_err *err)
{
    int r = tbox_put(c->box, c->input, "input", 0444, err);

    if (r == 0 && c->answer >= 0)
        r = tbox_put(c->box, c->answer, "answer", 0444, err);
    if (r == 0 && c->output >= 0 && c->helper->kind != TR_CHECKER_KATTIS)
        r = tbox_put(c->box, c->output, "user_out", 0444, err);
    return r;
}

static int empty(int fd, struct tr_err *err)
{
    if (ftruncate(fd, 0) < 0 || lseek(fd, 0, SEEK_SET) < 0)
        return tr_fail(err, TR_E_IO, 0, "empty a memory file");
    return 0;
}

int checker_start(struct check *c, struct tr_arena *arena, struct tr_err *err)
{
    struct tbox_spec spec = {
        .size = sizeof(spec),
        .env = c->helper->lang.env.count ? c->helper->lang.env.words : NULL,
        .fd = {-1, c->out_fd, c->err_fd},
        .cpu = -1,
        .flags = TBOX_KEEP_FILES,
    };
    int r = put_files(c, err);

    if (r == 0)
        r = empty(c->out_fd, err);
    if (r == 0)
        r = empty(c->err_fd, err);
    if (r < 0)
        return r;
    spec.argv = checker_argv(c, arena);
    if (!spec.argv)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory for the checker's arguments");
    if (c->helper->kind == TR_CHECKER_KATTIS) {
        spec.fd[0] = c->output;
        if (lseek(c->output, 0, SEEK_SET) < 0)
            return tr_fail(err, TR_E_IO, 0, "rewind the output");
    }
    tbox_limits_default(TBOX_CHECKER, &spec.limits);
    spec.limits.cpu_us = INT64_C(1000000) * CHECKER_CPU_S;
    spec.limits.wall_us = spec.limits.cpu_us + 1000000;
    spec.limits.output_bytes = 16 << 20;
    return tbox_start(c->box, &spec, err);
}

/* A file that it may have left; *ret stays NULL when there is none. */
static int fetch(tbox *box, const char *name, char *into, size_t size, const char **ret,
                 size_t *ret_len, struct tr_err *err)
{
    struct tr_err why = TR_ERR_INIT;
    tr_autoclose int fd = -1;
    uint64_t whole = 0;
    int r = tbox_get(box, name, UINT64_C(16) << 20, &fd, &whole, &why);

    if (r == TR_E_NOTFOUND || r == TR_E_LIMIT)
        return 0;
    if (r < 0) {
        *err = why;
        return r;
    }
    ssize_t n = pread(fd, into, size, 0);
    *ret = into;
    *ret_len = n > 0 ? (size_t)n : 0;
    return 0;
}

int checker_words(struct check *c, const struct tbox_report *r, struct tr_case *ret,
                  struct tr_err *err)
{
    char said[TR_CASE_MESSAGE_MAX], score[128], factor[128];
    struct tr_checker_words w = {
        .exited = r->cause == TBOX_EXIT,
        .exit_code = r->exit_code,
        .full_points = c->full_points,
    };
    int rc = 0;

    if (c->helper->kind == TR_CHECKER_KATTIS) {
        rc = fetch(c->box, "judgemessage.txt", said, sizeof(said), &w.err, &w.err_len, err);
        if (rc == 0)
            rc = fetch(c->box, "score.txt", score, sizeof(score), &w.score, &w.score_len, err);
        if (rc == 0)
            rc = fetch(c->box, "score_multiplier.txt", factor, sizeof(factor), &w.factor,
                       &w.factor_len, err);
    } else if (c->helper->kind == TR_CHECKER_LEMON) {
        rc = fetch(c->box, "score.txt", score, sizeof(score), &w.score, &w.score_len, err);
        if (rc == 0)
            rc = fetch(c->box, "message.txt", said, sizeof(said), &w.err, &w.err_len, err);
    } else {
        ssize_t n = pread(c->err_fd, said, sizeof(said), 0);

        w.err = said;
        w.err_len = n > 0 ? (size_t)n : 0;
        n = pread(c->out_fd, score, sizeof(score), 0);
        w.score = c->helper->kind == TR_CHECKER_SYZOJ && n >= 0 ? score : NULL;
        w.score_len = n > 0 ? (size_t)n : 0;
    }
    if (rc < 0)
        return rc;
    tr_checker_says(c->helper->kind, &w, ret);
    if (ret->verdict == TR_V_JE && !w.exited)
        (void)snprintf(ret->note, sizeof(ret->note), "the checker failed: %.200s", r->note);
    return 0;
}

int checker_finish(struct check *c, const struct tbox_report *r, struct tr_case *ret,
                   struct tr_err *err)
{
    return checker_words(c, r, ret, err);
}
