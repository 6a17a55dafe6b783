/* SPDX-License-Identifier: MIT
 *
 * pipeline.c - the order of judging, and nothing but the order:
 *
 *     prepare -> compile -> the problem's helpers -> tests -> aggregate
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "judge/judge_private.h"

enum {
    PROGRAM_MAX = 128 << 20 /* a compiled submission */
};

/* prepare: limits with the language's factors, and the command to run. */
static int prepare(const struct tr_judge *j, const struct tr_job *job, struct tr_arena *arena,
                   struct program *p, struct tr_err *err)
{
    const struct tr_lang *lang = job->lang;
    struct tr_limits *l = &p->limits;

    *p = (struct program){.lang = lang, .artifact = -1, .limits = job->problem->limits};
    int r = tr_limits_check(l, err);
    if (r == 0)
        r = judge_root(j, lang, &p->root, err);
    if (r < 0)
        return r;
    if (lang->pids)
        l->pids = lang->pids;
    if (lang->output_bytes && lang->output_bytes < l->output_bytes)
        l->output_bytes = lang->output_bytes;
    if (lang->stack_kib)
        l->stack_kib = lang->stack_kib;
    tr_limits_scale(l, lang->time_milli, lang->memory_milli);
    /* Commands see what the problem grants; the runtime's own need comes on top. */
    int64_t granted = l->memory_kib;
    l->memory_kib += lang->memory_extra_kib;
    tr_limits_finish(l);
    p->argv = tr_lang_words(&lang->run, granted, l->stack_kib, arena);
    return p->argv ? 0 : tr_fail(err, TR_E_NOMEM, 0, "no memory for a command");
}

static int compile(struct tr_judge *j, const struct tr_job *job, struct tr_arena *arena,
                   struct compiled *ret, struct tr_err *err)
{
    struct source s = {.name = job->lang->source, .bytes = job->code, .len = job->code_len};
    struct compile_job c = {.lang = job->lang,
                            .sources = &s,
                            .nsources = 1,
                            .artifact_max = PROGRAM_MAX,
                            .keep = true,
                            .events = &job->events};

    return stage_compile(j, &c, arena, ret, err);
}

static int run_tests(struct tr_judge *j, const struct tr_job *job, const struct program *p,
                     struct tr_arena *arena, struct tr_outcome *o, struct tr_err *err)
{
    TR_CLEANUP(helper_done) struct helper checker = {.artifact = -1};
    TR_CLEANUP(helper_done) struct helper interactor = {.artifact = -1};
    const struct tr_problem *problem = job->problem;
    struct tests_job t = {
        .program = p, .problem = problem, .dirfd = job->problem_dirfd, .events = &job->events};
    int r = 0;

    if (problem->interactive) {
        r = stage_helper(j, &problem->interactor, job->problem_dirfd, &job->events, arena,
                         &interactor, err);
        t.interactor = &interactor;
    } else if (problem->checker.kind != TR_CHECKER_NONE) {
        r = stage_helper(j, &problem->checker, job->problem_dirfd, &job->events, arena, &checker,
                         err);
        t.checker = &checker;
    }
    return r < 0 ? r : stage_tests(j, &t, arena, o->cases, err);
}

static int aggregate(const struct tr_problem *p, struct tr_outcome *o)
{
    tr_score_settle(p, o->cases);
    tr_score_sum(p, o->cases, o->groups, &o->score);
    if (o->score.verdict == TR_V_JE)
        o->fault = o->cases[o->score.first_failing].note;
    return 0;
}

static void compile_error(const struct compiled *c, struct tr_outcome *o)
{
    o->cases = NULL;
    o->score = (struct tr_score){.verdict = TR_V_CE, .sub = c->sub};
}

/* The problem takes less than the judge does: a verdict, since another source would have passed. */
static bool too_long(const struct tr_job *job, struct tr_arena *arena, struct compiled *c)
{
    if ((int64_t)job->code_len <= job->problem->code_max)
        return false;
    *c = (struct compiled){.verdict = TR_V_CE, .artifact = -1, .report = {.ran = true}};
    c->report.log = tr_arena_printf(arena, "[the source has %zu bytes; this problem takes %lld]\n",
                                    job->code_len, (long long)job->problem->code_max);
    return true;
}

static int judge_it(struct tr_judge *j, const struct tr_job *job, struct tr_arena *arena,
                    struct tr_outcome *o, struct tr_err *err)
{
    struct compiled c = {.artifact = -1};
    struct program p;
    int r = prepare(j, job, arena, &p, err);

    if (r == 0 && job->code_len > TR_SOURCE_MAX)
        r = tr_fail(err, TR_E_LIMIT, 0, "the source has %zu bytes; at most %d are taken",
                    job->code_len, TR_SOURCE_MAX);
    if (r == 0 && !too_long(job, arena, &c))
        r = compile(j, job, arena, &c, err);
    if (r < 0)
        return r;
    tr_autoclose int artifact = c.artifact;
    o->limits = p.limits;
    o->compile = c.report;
    if (job->events.compiled)
        job->events.compiled(job->events.arg, c.verdict, &o->compile);
    if (c.verdict != TR_V_AC) {
        compile_error(&c, o);
        return 0;
    }
    p.artifact = artifact;
    r = run_tests(j, job, &p, arena, o, err);
    return r < 0 ? r : aggregate(job->problem, o);
}

int tr_judge_run(struct tr_judge *j, const struct tr_job *job, struct tr_arena *arena,
                 struct tr_outcome *ret, struct tr_err *err)
{
    int64_t began = tr_clock_mono_us();
    struct tr_outcome o = {0};

    o.cases = tr_arena_array(arena, job->problem->ntests, sizeof(*o.cases));
    o.groups = tr_arena_array(arena, job->problem->ngroups, sizeof(*o.groups));
    if (!o.cases || !o.groups)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory for the results");
    boxes_next_submission(j->boxes);
    int r = judge_it(j, job, arena, &o, err);
    if (r < 0)
        return r;
    o.judged_us = tr_clock_mono_us() - began;
    *ret = o;
    return 0;
}

struct tr_result_view tr_outcome_view(const struct tr_outcome *o, const char *submit_id,
                                      const struct tr_problem *problem, const struct tr_lang *lang)
{
    return (struct tr_result_view){
        .submit_id = submit_id,
        .problem = problem,
        .lang = lang,
        .limits = &o->limits,
        .cases = o->cases,
        .groups = o->cases ? o->groups : NULL,
        .score = &o->score,
        .compile = &o->compile,
        .fault = o->fault,
        .finished_us = tr_clock_real_us(),
        .judged_us = o->judged_us,
    };
}
