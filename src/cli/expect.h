/* SPDX-License-Identifier: MIT
 *
 * cli/expect.h - what a package's author expects of a submission.
 *
 * The folder's name says it ("wrong_answer"), a file name that begins with a number and '_' the
 * score as well ("20_brute_force.py"); entries of submissions/submissions.yaml (2025-09) that match
 * the path take the folder's place: `permitted` (every test's verdict is one of these), `required`
 * (some test's is), `score` (a number, or the lowest and the highest).
 */
#ifndef CLI_EXPECT_H
#define CLI_EXPECT_H

#include "base/buf.h"
#include "judge/judge.h"

enum {
    EXPECT_REQUIRED_MAX = 8 /* entries that match one submission */
};

/* Sets of verdicts are bits: 1 << TR_V_AC … */
struct expect {
    bool all_tests;        /* the rules are about tests: none may be left out */
    enum tr_verdict final; /* of the whole submission; NONE: not said */
    bool rejected;         /* anything but accepted */
    bool partial;          /* some of the points, not all */
    unsigned permitted;    /* 0: any */
    unsigned required[EXPECT_REQUIRED_MAX];
    size_t nrequired;
    int64_t points_min, points_max; /* millionths; negative: not said */
    char words[96];                 /* for people: "WA", "not AC" … */
};

struct expect_rules {
    const struct tr_yaml *root; /* of submissions.yaml, or NULL */
};

/* Reads submissions/submissions.yaml below the package's folder, if there is one; what it says
 * beside is noted. The rules live in the arena. */
int expect_read(int dirfd, struct tr_arena *arena, struct tr_buf *notes, struct expect_rules *ret,
                struct tr_err *err);

/* False when nobody says anything about submissions/FOLDER/FILE. */
bool expect_for(const struct expect_rules *rules, const char *folder, const char *file,
                struct expect *ret);

bool expect_met(const struct expect *e, const struct tr_problem *p, const struct tr_outcome *o);

#endif
