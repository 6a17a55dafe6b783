/* SPDX-License-Identifier: MIT
 *
 * controller/judge_says.h - what a judge says, held to what can be true.
 *
 * A judge with a key may be broken or taken over. Its numbers reach the database, and its words
 * the lists and pages of everybody.
 */
#ifndef CONTROLLER_JUDGE_SAYS_H
#define CONTROLLER_JUDGE_SAYS_H

#include <jansson.h>

/* The first member that is missing or out of range; NULL: all is well. */
const char *judge_says_bad_ready(const json_t *m);
const char *judge_says_bad_result(const json_t *m);

/* What people are shown of its messages: known members of the right type, texts cut.
 * A new document, or NULL when memory is out. */
json_t *judge_says_facts(const json_t *ready);
json_t *judge_says_vitals(const json_t *beat);
/* The event that a `progress` becomes. */
json_t *judge_says_progress(const char *submit_id, const json_t *m);

#endif
