/* SPDX-License-Identifier: MIT
 *
 * codec/task.h - the task message and the result, as the seeds spell them.
 */
#ifndef CODEC_TASK_H
#define CODEC_TASK_H

#include "codec/json.h"
#include "model/score.h"
#include "model/task.h"

enum {
    TR_TASK_BYTES_MAX = 16 * 1024 * 1024 /* inline tests included; NATS itself allows 1,000,000 */
};

/* Parse a task. Everything in *ret lives in the arena. Unknown names are ignored, so that the site
 * may add its own; known ones must have the right type and a value in range. Limits are the task's
 * own, the language's factors not applied. */
int tr_task_parse(const char *bytes, size_t len, struct tr_arena *arena, struct tr_task *ret,
                  struct tr_err *err);

struct tr_result_view {
    const char *submit_id; /* or NULL */
    const struct tr_problem *problem;
    const struct tr_lang *lang;
    const struct tr_limits *limits; /* as enforced, factors applied */
    const struct tr_case *cases;    /* problem->ntests of them; NULL when it did not compile */
    const struct tr_group_score *groups;
    const struct tr_score *score;
    const struct tr_compile_report *compile;
    const char *fault; /* with verdict JE: why, for people; or NULL */
    int64_t finished_us;
    int64_t judged_us; /* how long all of it took */
};

/* The seed's result event with more fields beside. NULL when memory is out. */
json_t *tr_result_json(const struct tr_result_view *v);
/* Its "result" member alone: what a row of submissions keeps. */
json_t *tr_result_body_json(const struct tr_result_view *v);

#endif
