/* SPDX-License-Identifier: MIT
 *
 * judge_frames_rest.h - what stands in for the rest of the controller in fuzz_judge_frames.c.
 */
#ifndef JUDGE_FRAMES_REST_H
#define JUDGE_FRAMES_REST_H

#include <stdbool.h>

struct ctl;

/* failing: every second operation of the database comes back with an error. */
void rest_begin(struct ctl *ctl, bool failing);
void rest_end(struct ctl *ctl);

#endif
