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

/* Arguments of the validator: a folder of tests has those of its own file, else those of the folder
 * above. */
struct kattis_flags {
    const char **words; /* NULL-ended, or NULL */
    size_t count;
};

struct kattis {
    const struct kattis_version *version;
    bool custom;               /* legacy: validation: custom */
    struct kattis_flags flags; /* of the whole problem */
};

/* Tests and groups below data/. Each test's args are set where a folder's file says some. */
int kattis_read_tests(struct pkg *k, struct tr_problem *p, struct kattis *x);

#endif
