/* SPDX-License-Identifier: MIT
 *
 * controller/row_json.h - a submission as the API shows it (openapi.json: Summary, Submission).
 */
#ifndef CONTROLLER_ROW_JSON_H
#define CONTROLLER_ROW_JSON_H

#include <jansson.h>
#include <stdbool.h>

#include "store/events.h"
#include "store/store.h"

struct ctl;

/* On the loop: where a judge of this controller runs it, with its progress. */
json_t *row_summary(struct ctl *ctl, const struct tr_submission *s);

struct row_whole {
    struct tr_submission s;
    const char *task, *result;
    size_t task_len, result_len;
    struct tr_generation *history;
    size_t nhistory;
    struct tr_event_list events;
    int64_t ahead; /* PENDING: how many wait before it */
};
/* All of it, read on the storage thread into the arena. */
int row_read(struct tr_store *st, const char *submit_id, struct tr_arena *arena,
             struct row_whole *ret, struct tr_err *err);
json_t *row_json(struct ctl *ctl, const struct row_whole *w, bool source);

#endif
