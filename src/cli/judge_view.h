/* SPDX-License-Identifier: MIT
 *
 * cli/judge_view.h - what a person sees while and after a submission is judged.
 */
#ifndef CLI_JUDGE_VIEW_H
#define CLI_JUDGE_VIEW_H

#include <stdio.h>

#include "judge/judge.h"

struct judge_view {
    FILE *out;
    bool color;
    const struct tr_problem *problem;
    struct tr_limits limits; /* as enforced; known before the first test ends */
    struct tr_case *cases;   /* problem->ntests of them: what has ended */
    size_t shown;
};

int judge_view_init(struct judge_view *v, FILE *out, bool color, const struct tr_problem *p,
                    const struct tr_lang *lang, struct tr_err *err);
void judge_view_done(struct judge_view *v);

/* A test ended: shows it as soon as all before it are known, so that rows come in order. */
void judge_view_ended(struct judge_view *v, size_t test, const struct tr_case *c);
void judge_view_compiled(struct judge_view *v, enum tr_verdict verdict,
                         const struct tr_compile_report *c);
void judge_view_end(struct judge_view *v, const struct tr_outcome *o);

#endif
