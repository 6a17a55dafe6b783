/* SPDX-License-Identifier: MIT
 *
 * judge/task.h - what a task message asks for, as a problem and a language that can be judged.
 */
#ifndef JUDGE_TASK_H
#define JUDGE_TASK_H

#include "judge/lang.h"
#include "model/task.h"

/* The task's problem: its inline tests, or the package in `package_dirfd` (-1: none), with the
 * limits that the task says over those of the package. *ret_dirfd as tr_problem_read() gives it, or
 * -1 for inline tests. */
int tr_task_problem(const struct tr_task *t, int package_dirfd, struct tr_arena *arena,
                    struct tr_problem *ret, int *ret_dirfd, struct tr_err *err);

/* The task's language over what this judge knows. TR_E_NOTFOUND when it brings no commands and the
 * judge does not know the slug. */
int tr_task_lang(const struct tr_task *t, const struct tr_langs *langs, struct tr_lang *ret,
                 struct tr_err *err);

#endif
