/* SPDX-License-Identifier: MIT
 *
 * score.c - skipping, adding up, and which test speaks for the submission.
 */
#include "model/score.h"

#include <assert.h>
#include <string.h>

static bool ran(const struct tr_case *c)
{
    return c->verdict != TR_V_NONE && c->verdict != TR_V_SK;
}

static bool failed(const struct tr_case *c)
{
    return ran(c) && c->verdict != TR_V_AC;
}

/* A known result that gives nothing: within a "min" group the rest cannot change the score. */
static bool worthless(const struct tr_case *c)
{
    return c->verdict == TR_V_SK || (ran(c) && c->share == 0);
}

/* A group that others need: every test known and with its whole share. Unknown counts as passed. */
static bool group_fell(const struct tr_problem *p, const struct tr_case *cases, size_t group,
                       size_t below)
{
    for (size_t i = 0; i < below; i++) {
        const struct tr_case *c = &cases[i];

        if (p->tests[i].group != group || c->verdict == TR_V_NONE)
            continue;
        if (c->verdict != TR_V_AC || c->share < TR_SHARE_FULL)
            return true;
    }
    return false;
}

static bool skips_acm(const struct tr_problem *p, const struct tr_case *cases, size_t i)
{
    if (p->run_all)
        return false;
    for (size_t j = 0; j < i; j++) {
        if (failed(&cases[j]))
            return true;
    }
    return false;
}

bool tr_score_skips(const struct tr_problem *p, const struct tr_case *cases, size_t i)
{
    if (p->scoring == TR_SCORING_ACM)
        return skips_acm(p, cases, i);

    const struct tr_group *g = &p->groups[p->tests[i].group];
    for (size_t k = 0; k < g->nneeds; k++) {
        if (group_fell(p, cases, g->needs[k], i))
            return true;
    }
    if (!g->stop)
        return false;
    for (size_t j = 0; j < i; j++) {
        if (p->tests[j].group == p->tests[i].group && worthless(&cases[j]))
            return true;
    }
    return false;
}

void tr_score_settle(const struct tr_problem *p, struct tr_case *cases)
{
    for (size_t i = 0; i < p->ntests; i++) {
        if (cases[i].verdict == TR_V_NONE || tr_score_skips(p, cases, i))
            cases[i] = (struct tr_case){.verdict = TR_V_SK};
    }
}

/* The worst test decides: the whole share of the group is shown on its last test. */
static void show_on_last(const struct tr_problem *p, struct tr_case *cases, size_t g, size_t last,
                         int64_t points)
{
    for (size_t i = 0; i < p->ntests; i++) {
        if (p->tests[i].group == g)
            cases[i].points = i == last ? points : 0;
    }
}

static struct tr_group_score sum_group(const struct tr_problem *p, struct tr_case *cases, size_t g)
{
    struct tr_group_score s = {.full = true, .skipped = true};
    int64_t least = TR_SHARE_FULL;
    size_t last = p->ntests;

    for (size_t i = 0; i < p->ntests; i++) {
        struct tr_case *c = &cases[i];

        if (p->tests[i].group != g)
            continue;
        s.skipped = s.skipped && !ran(c);
        s.full = s.full && c->verdict == TR_V_AC && c->share == TR_SHARE_FULL;
        least = c->share < least ? c->share : least;
        c->points = p->tests[i].points * c->share / TR_SHARE_FULL;
        s.points += c->points;
        last = i;
    }
    if (p->groups[g].rule == TR_GROUP_MIN && last < p->ntests) {
        s.points = p->groups[g].points * least / TR_SHARE_FULL;
        show_on_last(p, cases, g, last, s.points);
    }
    return s;
}

static void sum_groups(const struct tr_problem *p, struct tr_case *cases,
                       struct tr_group_score *groups, struct tr_score *ret)
{
    for (size_t g = 0; g < p->ngroups; g++) {
        struct tr_group_score s = sum_group(p, cases, g);

        ret->points += s.points;
        if (groups)
            groups[g] = s;
    }
}

void tr_score_sum(const struct tr_problem *p, struct tr_case *cases, struct tr_group_score *groups,
                  struct tr_score *ret)
{
    bool all_full = true, judge_error = false;

    *ret = (struct tr_score){
        .verdict = TR_V_AC, .first_failing = p->ntests, .slowest = p->ntests, .time_us = -1};
    sum_groups(p, cases, groups, ret);
    for (size_t i = 0; i < p->ntests; i++) {
        const struct tr_case *c = &cases[i];

        if (!ran(c))
            continue;
        ret->accepted += c->verdict == TR_V_AC;
        all_full = all_full && c->share == TR_SHARE_FULL;
        if (failed(c) &&
            (ret->first_failing == p->ntests || (c->verdict == TR_V_JE && !judge_error))) {
            ret->first_failing = i;
            ret->verdict = c->verdict;
            ret->sub = c->sub;
            judge_error = c->verdict == TR_V_JE;
        }
        if (c->facts.cpu_us > ret->time_us) {
            ret->time_us = c->facts.cpu_us;
            ret->slowest = i;
        }
        if (c->facts.memory_kib > ret->memory_kib)
            ret->memory_kib = c->facts.memory_kib;
    }
    if (ret->time_us < 0)
        ret->time_us = 0;
    if (p->scoring == TR_SCORING_ACM)
        ret->points = ret->verdict == TR_V_AC ? 100 * TR_POINT : 0;
    else if ((ret->verdict == TR_V_AC && !all_full) || (ret->verdict == TR_V_WA && ret->points > 0))
        ret->sub = TR_SUB_PC;
}

int64_t tr_score_share(int64_t points, size_t n, size_t i)
{
    assert(n > 0 && i < n);
    int64_t whole = points / TR_POINT / (int64_t)n * TR_POINT;
    int64_t rest = points - whole * (int64_t)n;
    int64_t extra = rest / TR_POINT;

    if (whole == 0 && extra == 0)
        return points / (int64_t)n;
    /* A fraction of a point that is left goes to the very last one. */
    int64_t share = whole + ((int64_t)(n - i) <= extra ? TR_POINT : 0);
    return i == n - 1 ? share + rest % TR_POINT : share;
}
