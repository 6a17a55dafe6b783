/* SPDX-License-Identifier: MIT
 *
 * model/problem.h - a problem as the judge needs it, whatever package it came from.
 */
#ifndef MODEL_PROBLEM_H
#define MODEL_PROBLEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/limits.h"

/* Points are kept in millionths, so that thirds add up and no float decides. */
#define TR_POINT INT64_C(1000000)

enum tr_compare_mode {
    TR_COMPARE_LINES, /* right-trimmed lines, trailing blank lines dropped: the default */
    TR_COMPARE_EXACT,
    TR_COMPARE_TOKENS,
    TR_COMPARE_TOKEN_LINES,
    TR_COMPARE_FLOAT,
    TR_COMPARE_UNORDERED_LINES,
    TR_COMPARE_UNORDERED_TOKENS,
    TR_COMPARE_YESNO
};

struct tr_compare {
    enum tr_compare_mode mode;
    bool ignore_case;     /* tokens, float: ASCII only */
    bool space_sensitive; /* tokens, float: white space must agree byte for byte */
    double abs, rel;      /* float: |s - a| <= abs or |s - a| <= rel * |a|; negative: not given */
    bool pe_verdict;      /* a difference in white space only is said so (WA with subcode PE) */
};

enum tr_checker_kind {
    TR_CHECKER_NONE, /* comparison in process */
    TR_CHECKER_TESTLIB,
    TR_CHECKER_KATTIS,
    TR_CHECKER_QDUOJ,
    TR_CHECKER_HUSTOJ,
    TR_CHECKER_LEMON,
    TR_CHECKER_SYZOJ
};

/* A checker, validator or interactor: a program of the problem's author. */
struct tr_helper {
    enum tr_checker_kind kind;
    const char *source; /* file below the problem's root; a folder for Kattis validators */
    const char *lang;   /* slug, or NULL: by the extension */
    const char **args;  /* NULL-terminated, or NULL */
};

struct tr_test {
    const char *name;       /* "sample/1", "3", "2-1": how people know it */
    const char *input;      /* paths below the problem's root */
    const char *answer;     /* NULL only for interactive problems */
    const char *input_text; /* inline tests: the bytes instead of paths */
    const char *answer_text;
    size_t input_len, answer_len;
    size_t group;
    int64_t points;    /* millionths; its share in a sum, 0 in a group that takes the minimum */
    const char **args; /* of the checker, instead of its own; NULL-ended or NULL */
    const struct tr_compare *compare; /* instead of the problem's, or NULL */
};

enum tr_group_rule {
    TR_GROUP_SUM, /* its tests' points added up */
    TR_GROUP_MIN  /* the worst test's share of the group's points */
};

struct tr_group {
    const char *name;
    enum tr_group_rule rule;
    int64_t points; /* millionths; what a full pass is worth */
    bool stop;      /* the rest is skipped after the first test without any share */
    size_t *needs;  /* groups that must have full marks, all before this one */
    size_t nneeds;
};

enum tr_scoring {
    TR_SCORING_ACM, /* all or nothing; stops at the first failing test */
    TR_SCORING_OI   /* points of groups added up */
};

struct tr_problem {
    const char *name;
    const char *format; /* "folder", "kattis legacy", "kattis legacy-icpc", "kattis 2025-09" */
    struct tr_limits limits;
    bool has_time_limit; /* the package says one; otherwise it is the default */
    enum tr_scoring scoring;
    bool run_all; /* ACM: do not stop at the first failing test */
    struct tr_compare compare;
    struct tr_helper checker;
    struct tr_helper interactor;
    bool interactive;
    struct tr_test *tests;
    size_t ntests;
    struct tr_group *groups;
    size_t ngroups;
    int64_t full_points; /* millionths */
    int64_t code_max;    /* bytes of source it accepts */
};

#endif
