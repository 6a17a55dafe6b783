/* SPDX-License-Identifier: MIT
 *
 * controller/settle.h - a run comes to its end: verdict, fault, given back, lost.
 *
 * Each is one transaction of the submission's move, the job's settlement and the event. Whoever's
 * fence is not current changes nothing and is told "stale".
 */
#ifndef CONTROLLER_SETTLE_H
#define CONTROLLER_SETTLE_H

#include <jansson.h>
#include <stdbool.h>

struct ctl;
struct judge;
struct run;

/* All take the run over (it is in no list any more). `message` is the judge's, already checked. */
void settle_result(struct judge *g, struct run *r, const json_t *message);
void settle_fault(struct judge *g, struct run *r, const char *why, bool fatal, bool crashed);
/* Unworked, or cancelled on the way. */
void settle_returned(struct judge *g, struct run *r);
/* Given back by us: nobody is there to be told. */
void settle_release(struct ctl *ctl, struct run *r);
void settle_crash(struct ctl *ctl, const char *judge_id, struct run *r, const char *why);

#endif
