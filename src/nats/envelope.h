/* SPDX-License-Identifier: MIT
 *
 * nats/envelope.h - what the transport needs to know of a task: where it goes and what it is
 * called.
 */
#ifndef NATS_ENVELOPE_H
#define NATS_ENVELOPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "model/language.h"

enum {
    TR_SUBMIT_ID_MAX = 128,
    TR_MSG_ID_MAX = 256
};

struct tr_envelope {
    char submit_id[TR_SUBMIT_ID_MAX + 1];
    int64_t generation;  /* of the submission: a rejudge has the next */
    int64_t retry_count; /* faults so far */
    int64_t crashes;     /* deaths of workers so far */
    int64_t revivals;    /* how often a person gave it new tries after its death */
    bool heavy;
};

/* Read a task message of at most TR_NATS_TASK_MAX bytes and check all of it. `heavy_languages` is a
 * list of slugs with commas; a task may say "type": "light" or "heavy" itself and wins. TR_E_PARSE,
 * TR_E_LIMIT with a sentence that names the field. */
int tr_envelope_read(const char *bytes, size_t len, const char *heavy_languages,
                     struct tr_envelope *ret, struct tr_err *err);

/* "judge.tasks.light" or "judge.tasks.heavy". */
const char *tr_envelope_subject(const struct tr_envelope *e);

/* submit_id:generation:retry_count:crashes. The server swallows an id that it has seen within two
 * minutes, so a repeated publish is harmless and a requeue has an id of its own. */
const char *tr_envelope_id(const struct tr_envelope *e, char out[static TR_MSG_ID_MAX]);

/* Is `slug` one of `list` ("a,b,c"; blanks around names do not matter)? */
bool tr_slug_in(const char *slug, const char *list);

#endif
