/* SPDX-License-Identifier: MIT
 *
 * worker/parameters.h - what this machine can judge, as a judge announces it (doc/protocol.md
 * §2.2).
 */
#ifndef WORKER_PARAMETERS_H
#define WORKER_PARAMETERS_H

#include <jansson.h>

#include "judge/judge.h"

/* Languages whose compiler or interpreter works in the box, with versions; cores, memory, what the
 * box lacks, and how fast a core is. Opens a judge for a moment, and takes about a second. TR_E_*
 * when there is no box or no language at all. */
int worker_parameters(const struct tr_judge_options *options, json_t *weak, json_t **ret,
                      struct tr_err *err);

/* What `tribunal doctor` would call weaker, by name: a list. worker_parameters() asks by itself
 * unless it is given one. */
json_t *worker_box_weak(const char *helper);

#endif
