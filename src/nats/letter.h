/* SPDX-License-Identifier: MIT
 *
 * nats/letter.h - a dead letter (seed 001 §6.2), written and read.
 */
#ifndef NATS_LETTER_H
#define NATS_LETTER_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct tr_letter {
    const char *original_subject;
    const char *submit_id; /* "" when the message was no task */
    const char *error;
    int64_t retry_count;
    int64_t failed_at_us; /* since 1970 */
    const void *payload;  /* the message as it came */
    size_t payload_len;
};

/* The JSON of a letter, a heap text that the caller frees. A payload that is a JSON object stands
 * in it as such; any other is kept as text in "payload_text", made valid and cut at half of what a
 * message may have, since nobody can judge it any more. TR_E_NOMEM, TR_E_LIMIT. */
int tr_letter_write(const struct tr_letter *letter, char **ret, struct tr_err *err);

/* judge.tasks.heavy -> judge.dlq.heavy; what is no task's subject goes to judge.dlq.other. */
const char *tr_letter_subject(const char *original_subject);

/* Read one; the caller json_decref()s *ret. TR_E_PARSE when it is none. Never trusts a field: look
 * each up with the functions below. */
int tr_letter_read(const void *bytes, size_t len, json_t **ret, struct tr_err *err);
const char *tr_letter_text(const json_t *letter, const char *field); /* "" when it is not a text */

/* The task to publish again: the payload with retry_count and crashes back at 0, as a heap text,
 * and the subject that it came from. TR_E_PARSE when the letter holds no task. */
int tr_letter_task(const json_t *letter, char **ret_task, const char **ret_subject,
                   struct tr_err *err);

#endif
