/* SPDX-License-Identifier: MIT
 *
 * judge/judge_private.h - the stages of judging, as pipeline.c sees them.
 *
 * A stage knows nothing of its neighbours: what one needs of another is an argument.
 */
#ifndef JUDGE_JUDGE_PRIVATE_H
#define JUDGE_JUDGE_PRIVATE_H

#include "base/cleanup.h"
#include "data/cache.h"
#include "judge/judge.h"
#include "judge/relay.h"
#include "tribunal/box.h"

/* ---- boxes.c: opened when first needed, made new between submissions */

struct boxes;
int boxes_new(const struct tr_judge *j, struct boxes **ret, struct tr_err *err);
void boxes_free(struct boxes *b);
int boxes_launcher(const struct tr_judge *j, int *ret, struct tr_err *err);
/* The i-th box of a profile over a root (a folder, or NULL for the host's), clean: nothing of the
 * submission before is in it. */
int boxes_get(struct boxes *b, enum tbox_profile profile, const char *root, unsigned i, tbox **ret,
              struct tr_err *err);
void boxes_next_submission(struct boxes *b); /* what was used is renewed at its next use */
void boxes_drop(struct boxes *b, tbox *box); /* after a fault: a new one takes its place */

struct tr_judge {
    struct tr_judge_options o;
    struct tr_arena arena;
    struct tr_langs langs;
    const char *cache_path;
    const char *pch_path;    /* precompiled headers on the host */
    const char *pch_dir;     /* "…:" PCH_INSIDE, for tbox_options.dirs */
    const char *include_dir; /* the same for o.include */
    struct tr_cache *cache;  /* NULL with no_cache */
    struct boxes *boxes;
};

/* Root folder of a language: NULL for the host's. TR_E_NOTFOUND when the configuration has none. */
int judge_root(const struct tr_judge *j, const struct tr_lang *lang, const char **ret,
               struct tr_err *err);

/* ---- compile.c */

struct source {
    const char *name; /* plain */
    const char *bytes;
    size_t len;
};
struct compile_job {
    const struct tr_lang *lang;
    const struct source *sources; /* the first is the main one, named as the language wants it */
    size_t nsources;
    uint64_t artifact_max;
    bool helper;                          /* a checker: may use the include folder */
    bool keep;                            /* in the cache */
    const struct tr_judge_events *events; /* for its stop; or NULL */
};
struct compiled {
    enum tr_verdict verdict; /* AC or CE */
    enum tr_subcode sub;
    int artifact; /* fd; the caller closes it; -1 with CE */
    struct tr_compile_report report;
};
int stage_compile(struct tr_judge *j, const struct compile_job *job, struct tr_arena *arena,
                  struct compiled *ret, struct tr_err *err);

/* Bytes in a sealed memory file; the caller closes it. */
int memory_file(const char *name, const void *bytes, size_t len, int *ret_fd, struct tr_err *err);
int empty_memory_file(const char *name, int *ret_fd, struct tr_err *err);
/* Up to `max` bytes of a file into the arena. */
int file_text(int fd, size_t max, struct tr_arena *arena, const char **ret, size_t *ret_len,
              struct tr_err *err);

/* ---- pch.c */

/* Where the compiler's box shows our folders, whatever they are called on the host. */
#define PCH_INSIDE "/judge/headers"
#define INCLUDE_INSIDE "/judge/include"

/* The folder, as seen inside, to put before all others with -I, or NULL when there is no
 * precompiled header. */
const char *pch_folder(const struct tr_judge *j, const struct tr_lang *lang,
                       struct tr_arena *arena);

/* ---- helper.c: a problem's checker or interactor, ready to run */

struct helper {
    enum tr_checker_kind kind;
    struct tr_lang lang;
    const char *root;
    int artifact;
    const char *const *args;
};
static inline void helper_done(struct helper *h)
{
    tr_close(&h->artifact);
}
int stage_helper(struct tr_judge *j, const struct tr_helper *what, int dirfd,
                 const struct tr_judge_events *events, struct tr_arena *arena, struct helper *ret,
                 struct tr_err *err);

/* ---- wait.c: boxes at work, and somebody who may want them to stop */

enum {
    LOOK_MS = 100 /* how often somebody is asked */
};
static inline bool stop_asked(const struct tr_judge_events *e)
{
    return e && e->stop && e->stop(e->arg);
}
int stopped(struct tr_err *err); /* TR_E_LOST with its sentence */
/* tbox_run() that can be stopped. A box whose run was stopped is as good as before. */
int boxed_run(tbox *box, const struct tbox_spec *spec, const struct tr_judge_events *events,
              struct tbox_report *ret, struct tr_err *err);

/* ---- again.c: is one run of a test enough? Pure. */

bool again_wanted(const struct tr_limits *limits, const struct tr_case *now,
                  const struct tr_case *best, bool believe_tle);
/* Keep the better of two runs in *best and count it. */
void again_keep(const struct tr_case *now, struct tr_case *best);
void again_note(struct tr_case *c);

/* ---- run.c: one boxed run of a compiled program */

struct program {
    const struct tr_lang *lang;
    const char *root;
    int artifact;
    struct tr_limits limits;
    const char **argv;
};
void program_spec(const struct program *p, struct tbox_spec *ret);
/* What its report means, but for its output: facts, verdict (AC: the output decides) and note of
 * *ret. `idle`: we ended it because it waited. `errfd` has its standard error. */
int run_verdict(const struct program *p, const struct tr_limits *limits,
                const struct tbox_report *report, bool idle, int errfd, struct tr_case *ret,
                struct tr_err *err);

/* ---- checker.c */

struct check {
    const struct helper *helper;
    tbox *box;
    int input, output, answer; /* fds; answer may be -1 */
    int64_t full_points;
    const char *const *args; /* behind those of the convention; NULL-ended or NULL */
    int out_fd, err_fd;      /* memory files of ours, emptied before */
    const char **argv;
};
/* Put the files and start; tbox_step() of the box tells when it ended. */
int checker_start(struct check *c, struct tr_arena *arena, struct tr_err *err);
/* What it said. */
int checker_finish(struct check *c, const struct tbox_report *r, struct tr_case *ret,
                   struct tr_err *err);
/* Arguments of each convention; NULL when memory is out. */
const char **checker_argv(const struct check *c, struct tr_arena *arena);
/* The words that a boxed checker left behind, as a case. */
int checker_words(struct check *c, const struct tbox_report *r, struct tr_case *ret,
                  struct tr_err *err);

/* ---- interact.c: both at once, to the end */

struct talk {
    const struct program *program;
    tbox *box; /* the program's */
    int errfd; /* the program's standard error, emptied before */
    int cpu;   /* of both */
    int64_t idle_us;
    struct relay *relay;                  /* not open: it is closed by the caller; or NULL */
    const struct tr_judge_events *events; /* for its stop */
};
int stage_interact(struct check *c, const struct talk *t, struct tr_case *ret, struct tr_err *err);

/* ---- tests.c */

struct tests_job {
    const struct program *program;
    const struct helper *checker;    /* or NULL */
    const struct helper *interactor; /* or NULL */
    const struct tr_problem *problem;
    int dirfd;
    const struct tr_judge_events *events;
};
int stage_tests(struct tr_judge *j, const struct tests_job *job, struct tr_arena *arena,
                struct tr_case *cases, struct tr_err *err);

#endif
