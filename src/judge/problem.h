/* SPDX-License-Identifier: MIT
 *
 * judge/problem.h - read a problem folder, whatever format it has.
 *
 * Two families are told apart by their shape: a folder with data/sample or data/secret is a Kattis
 * package (legacy, legacy-icpc, 2025-09), anything else with tests in it is a plain folder. A
 * folder that holds exactly one folder and nothing else (an archive's top) is entered first.
 *
 * Packages come from strangers too: every path is opened below the folder's fd, nothing is
 * followed, and everything is counted.
 */
#ifndef JUDGE_PROBLEM_H
#define JUDGE_PROBLEM_H

#include "base/arena.h"
#include "base/buf.h"
#include "model/problem.h"

enum {
    TR_PROBLEM_ARENA_MAX = 64 * 1024 * 1024,
    TR_PROBLEM_FILES_MAX = 8192, /* entries of one folder */
    TR_PROBLEM_NOTES_MAX = 64 * 1024
};

/* *ret and all it points to live in the arena. `notes` (NULL is fine) collects what is odd but not
 * wrong, a line each. *ret_dirfd is the folder that the paths in *ret are below: the caller closes
 * it (it differs from dirfd when a single top folder was entered). */
int tr_problem_read(int dirfd, struct tr_arena *arena, struct tr_problem *ret, int *ret_dirfd,
                    struct tr_buf *notes, struct tr_err *err);

/* What the seed's is_spj means: the problem's checker is in the package at checker.<ext> (testlib),
 * spj.<ext> (exit codes 0 and 1, arguments "input output"), or in a folder of one of those names.
 * TR_E_NOTFOUND when none is there. A checker that problem.yaml names already stays. */
int tr_problem_find_spj(int dirfd, struct tr_arena *arena, struct tr_problem *p,
                        struct tr_err *err);

/* Tests that came inside a task instead: one group, points as given. */
int tr_problem_inline(const struct tr_test *tests, size_t ntests, bool scored,
                      struct tr_arena *arena, struct tr_problem *ret, struct tr_err *err);

#endif
