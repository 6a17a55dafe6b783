/* SPDX-License-Identifier: MIT
 *
 * model/score.h - from the results of tests to the verdict of a submission.
 *
 * Pure functions of (problem, results in order), so that a parallel run, a serial run and a rejudge
 * cannot disagree.
 */
#ifndef MODEL_SCORE_H
#define MODEL_SCORE_H

#include "model/case.h"
#include "model/problem.h"

/* Would a serial run skip test `i`, given the results of tests 0 … i-1? Results with TR_V_NONE are
 * not known yet and are taken for passed, so a parallel run may ask early: the answer can only turn
 * from "run" to "skip" as results arrive. */
bool tr_score_skips(const struct tr_problem *p, const struct tr_case *cases, size_t i);

/* Put TR_V_SK in place of what a serial run would not have run. */
void tr_score_settle(const struct tr_problem *p, struct tr_case *cases);

struct tr_group_score {
    int64_t points; /* millionths */
    bool full;      /* every test passed with its whole share */
    bool skipped;   /* none of its tests was run */
};

struct tr_score {
    enum tr_verdict verdict; /* AC, or the first failing test's */
    enum tr_subcode sub;
    int64_t points; /* millionths: ACM 0 or 100, OI the sum of groups */
    size_t accepted;
    size_t first_failing; /* index, or ntests */
    size_t slowest;       /* index of the test with the most CPU, or ntests when none ran */
    int64_t time_us;      /* of the slowest */
    int64_t memory_kib;   /* of the greediest */
};

/* `groups` has p->ngroups places, or is NULL. Call tr_score_settle() before. */
void tr_score_sum(const struct tr_problem *p, struct tr_case *cases, struct tr_group_score *groups,
                  struct tr_score *ret);

/* Spread `points` over `n` tests in whole points, the remainder on the last ones. */
int64_t tr_score_share(int64_t points, size_t n, size_t i);

#endif
