/* SPDX-License-Identifier: MIT
 *
 * task.c - a task's words over a package's.
 */
#include "judge/task.h"

#include <unistd.h>

#include "base/cleanup.h"
#include "judge/problem.h"

static void apply_limits(const struct tr_task *t, struct tr_limits *l)
{
    const struct tr_limits *said = &t->problem.limits;

    if (t->problem.has_time)
        l->time_us = said->time_us;
    if (t->problem.has_wall)
        l->wall_us = said->wall_us;
    if (t->problem.has_memory)
        l->memory_kib = said->memory_kib;
    if (t->problem.has_stack)
        l->stack_kib = said->stack_kib;
    if (t->problem.has_output)
        l->output_bytes = said->output_bytes;
}

int tr_task_problem(const struct tr_task *t, int package_dirfd, struct tr_arena *arena,
                    struct tr_problem *ret, int *ret_dirfd, struct tr_err *err)
{
    tr_autoclose int dirfd = -1;
    int r;

    if (t->problem.ntests > 0) {
        r = tr_problem_inline(t->problem.tests, t->problem.ntests, t->problem.has_scores, arena,
                              ret, err);
        if (r == 0 && t->problem.is_spj)
            r = tr_fail(err, TR_E_PARSE, 0,
                        "a special judge needs a package: inline tests have no checker");
    } else if (package_dirfd >= 0) {
        r = tr_problem_read(package_dirfd, arena, ret, &dirfd, NULL, err);
        if (r == 0 && t->problem.is_spj)
            r = tr_problem_find_spj(dirfd, arena, ret, err);
    } else {
        r = tr_fail(err, TR_E_PARSE, 0, "the task has neither test_cases nor test_data_zip");
    }
    if (r < 0)
        return r;
    if (t->problem.has_scoring)
        ret->scoring = t->problem.scoring;
    apply_limits(t, &ret->limits);
    *ret_dirfd = tr_take_fd(&dirfd);
    return 0;
}

int tr_task_lang(const struct tr_task *t, const struct tr_langs *langs, struct tr_lang *ret,
                 struct tr_err *err)
{
    const struct tr_lang *known = tr_langs_find(langs, t->lang_slug);

    if (!known && !t->has_lang)
        return tr_fail(err, TR_E_NOTFOUND, 0,
                       "this judge does not know the language '%.64s', and the task brings no "
                       "commands for it",
                       t->lang_slug);
    tr_lang_merge(known, &t->lang, t->has_lang, ret);
    return 0;
}
