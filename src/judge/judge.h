/* SPDX-License-Identifier: MIT
 *
 * judge/judge.h - from source code to a verdict.
 *
 * A judge is one slot: its languages, its caches and its boxes. It belongs to one thread and judges
 * one submission at a time, its tests in parallel up to `jobs`. The same code runs in `tribunal
 * judge`, in every worker and in `tribunal problem check`.
 *
 * A program that fails is an outcome; only what is our own fault (no box, no disk, no compiler) is
 * an error. An outcome may also be TR_V_JE: the problem's checker failed.
 */
#ifndef JUDGE_JUDGE_H
#define JUDGE_JUDGE_H

#include "base/arena.h"
#include "codec/task.h"
#include "judge/lang.h"
#include "model/problem.h"
#include "model/score.h"
#include "model/task.h"

struct tr_judge;

/* A docker_image or root name of a language, and the folder of its unpacked file system. */
struct tr_judge_root {
    const char *name;
    const char *folder;
};

enum {
    TR_JUDGE_JOBS_MAX = 64
};

/* Zero what is not set. Texts must outlive the judge. */
struct tr_judge_options {
    const char *languages; /* folder of language files; NULL: beside the program */
    const char *cache;     /* folder for compiled programs; NULL: the user's cache */
    uint64_t cache_bytes;  /* 0: 2 GiB */
    unsigned jobs;         /* tests at once; 0: 1 */
    const int *cpus;       /* cores to use, one for each job; NULL: any */
    const char *helper;    /* tribunal-box; NULL: looked for */
    int launcher;          /* boxes come from there (tr_judge_launcher()); 0: from helper */
    const char *include;   /* folder with testlib.h, for checkers; or NULL */
    const struct tr_judge_root *roots;
    size_t nroots;
    int64_t idle_us; /* a program that waits this long without using a CPU is stopped; 0: 1 s */
    bool no_cache;   /* compile everything anew and keep nothing */
    bool no_pch;
};

int tr_judge_open(const struct tr_judge_options *options, struct tr_judge **ret,
                  struct tr_err *err);
void tr_judge_close(struct tr_judge *j);
/* Before rights are given up: a launcher for all boxes that judges with these options will want.
 * The folder of the cache is named in *ret_cache, in the arena. Nothing is made or opened. */
int tr_judge_launcher(const struct tr_judge_options *options, struct tr_arena *arena,
                      const char **ret_cache, int *ret, struct tr_err *err);
static inline void tr_judge_closep(struct tr_judge **j)
{
    tr_judge_close(*j);
}

const struct tr_langs *tr_judge_langs(const struct tr_judge *j);

/* What a caller may want to see while it happens. Every member may be NULL. */
struct tr_judge_events {
    void *arg;
    void (*compiled)(void *arg, enum tr_verdict v, const struct tr_compile_report *c);
    /* A test begins; said once, however often it is run. */
    void (*started)(void *arg, size_t test);
    /* A test ended; tests may end out of order, and a later settlement may turn it into skipped. */
    void (*ended)(void *arg, size_t test, const struct tr_case *c);
    /* What the program left, just before `ended` of the same test (whose case has the resources);
     * both fds are files that belong to the judge. Of an interactive test standard output is empty.
     * For logs. */
    void (*output)(void *arg, size_t test, int stdout_fd, int stderr_fd);
    /* Looked at ten times a second, whatever runs: true kills it and ends judging with TR_E_LOST.
     */
    bool (*stop)(void *arg);
    /* Of an interactive test, before `output`: who said what, in order, as plain text of at most 64
     * KiB. Asking for it makes each message slower: it has to pass through our hands. */
    void (*transcript)(void *arg, size_t test, const char *text, size_t len);
};

struct tr_job {
    const char *code;
    size_t code_len;
    const struct tr_lang *lang;
    const struct tr_problem *problem;
    int problem_dirfd; /* -1 when all tests are inline */
    struct tr_judge_events events;
};

struct tr_outcome {
    struct tr_limits limits; /* as enforced */
    struct tr_compile_report compile;
    struct tr_case *cases; /* problem->ntests of them; NULL when it did not compile */
    struct tr_group_score *groups;
    struct tr_score score;
    const char *fault; /* with TR_V_JE: why; or NULL */
    int64_t judged_us;
};

/* Everything in *ret lives in the arena. */
int tr_judge_run(struct tr_judge *j, const struct tr_job *job, struct tr_arena *arena,
                 struct tr_outcome *ret, struct tr_err *err);

/* What the codec needs to tell it, as of now. */
struct tr_result_view tr_outcome_view(const struct tr_outcome *o, const char *submit_id,
                                      const struct tr_problem *problem, const struct tr_lang *lang);

/* Precompile the standard headers of a language that has them; 1 when made now, 0 when there was
 * nothing to do. */
int tr_judge_warm(struct tr_judge *j, const struct tr_lang *lang, struct tr_err *err);

/* Is the language usable here? Its version's first line is in `version`. TR_E_NOTFOUND when its
 * compiler or interpreter is not in the box's root. */
int tr_judge_version(struct tr_judge *j, const struct tr_lang *lang, char *version, size_t size,
                     struct tr_err *err);

/* Compile only: the cost of it for benchmarks, and warming the cache. */
int tr_judge_compile(struct tr_judge *j, const struct tr_lang *lang, const char *code, size_t len,
                     struct tr_arena *arena, struct tr_compile_report *ret, struct tr_err *err);

#endif
