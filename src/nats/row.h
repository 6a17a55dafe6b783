/* SPDX-License-Identifier: MIT
 *
 * nats/row.h - a task message as a row of submissions.
 */
#ifndef NATS_ROW_H
#define NATS_ROW_H

#include "base/arena.h"
#include "nats/envelope.h"
#include "store/store.h"

struct tr_nats_row {
    struct tr_envelope env;
    struct tr_submission_new row; /* texts in the arena; submit_id in env; task in the message */
    const char *contest, *user;   /* JSON texts in the arena, or NULL */
};

/* Read and check a whole message. `subject` is where it is published; NULL: where it belongs by
 * `heavy_languages`. Keep *ret where it is: row points into it. TR_E_PARSE, TR_E_LIMIT. */
int tr_nats_row(const char *bytes, size_t len, const char *subject, const char *heavy_languages,
                struct tr_arena *arena, struct tr_nats_row *ret, struct tr_err *err);

#endif
