/* SPDX-License-Identifier: MIT
 *
 * judge/problem_kattis.h - what the two halves of the Kattis reader share.
 */
#ifndef JUDGE_PROBLEM_KATTIS_H
#define JUDGE_PROBLEM_KATTIS_H

#include "judge/problem_private.h"

struct kattis_version {
    const char *name;
    const char *format;
    const char *validator;  /* folder of the output validator */
    const char *group_file; /* settings of a folder of tests */
    bool modern;            /* 2025-09 */
};

struct kattis {
    const struct kattis_version *version;
    bool custom;        /* legacy: validation: custom */
    const char **flags; /* arguments of the validator */
    size_t nflags;
};

/* Tests and groups below data/; group files may set x->flags. */
int kattis_read_tests(struct pkg *k, struct tr_problem *p, struct kattis *x);

#endif
