/* SPDX-License-Identifier: MIT
 *
 * again.c - is one run of a test enough?
 *
 * A test whose verdict hangs on time by a hair, or that was measured while the machine was visibly
 * busy elsewhere, is run again, alone, at most twice; the fastest run counts, because a program
 * that can do it in time can do it (decision 0302).
 */
#include <stdio.h>
#include <string.h>

#include "judge/judge_private.h"

enum {
    RUNS_MAX = 3
};

static bool hangs_on_time(const struct tr_limits *l, const struct tr_case *c)
{
    /* It slept: no other machine would have been faster. */
    if (c->verdict == TR_V_TLE && c->sub != TR_SUB_NONE && c->facts.cpu_us * 4 < l->time_us)
        return false;
    return c->verdict == TR_V_TLE ||
           (c->facts.cpu_us * 10 >= l->time_us * 9 && c->facts.cpu_us > 0);
}

bool again_wanted(const struct tr_limits *limits, const struct tr_case *now,
                  const struct tr_case *best, bool believe_tle)
{
    bool near = hangs_on_time(limits, now);
    /* Disturbance matters where time does: half the limit and more, or a limit broken; and a
     * program that got no CPU looks like one that wanted none. */
    bool disturbed = now->disturbed &&
                     (near || now->sub == TR_SUB_ILE || now->facts.cpu_us * 2 >= limits->time_us);

    if (best->runs >= RUNS_MAX || now->verdict == TR_V_JE)
        return false;
    if (disturbed)
        return true;
    if (!near)
        return false;
    if (now->verdict == TR_V_TLE && believe_tle)
        return false;
    /* Two runs that agree are enough. */
    return best->runs == 1 || best->verdict != now->verdict;
}

/* In time before not, the CPU's word before the clock's, then the faster. */
void again_keep(const struct tr_case *now, struct tr_case *best)
{
    unsigned runs = best->runs + 1;
    bool late = best->verdict == TR_V_TLE, now_late = now->verdict == TR_V_TLE;
    bool surer = late && now_late && best->sub != TR_SUB_NONE && now->sub == TR_SUB_NONE;
    bool faster = late == now_late && now->facts.cpu_us < best->facts.cpu_us &&
                  (now->sub == TR_SUB_NONE || best->sub != TR_SUB_NONE);

    if (runs == 1 || (late && !now_late) || surer || faster)
        *best = *now;
    best->runs = runs;
}

void again_note(struct tr_case *c)
{
    size_t n = strlen(c->note);

    if (c->runs > 1)
        (void)snprintf(c->note + n, sizeof(c->note) - n, "%srun %u times, the fastest counts%s",
                       n ? "; " : "", c->runs, c->disturbed ? " (the machine was busy)" : "");
}
