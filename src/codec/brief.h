/* SPDX-License-Identifier: MIT
 *
 * codec/brief.h - a result in a line, so that lists need not read whole results.
 *
 *     {"accepted_test":2,"total_test":4,"time_limit_ms":1000,"memory_limit_kb":262144,"strip":"AAWS"}
 */
#ifndef CODEC_BRIEF_H
#define CODEC_BRIEF_H

#include <jansson.h>
#include <stddef.h>

enum {
    TR_STRIP_MAX = 512, /* letters; tests beyond are not drawn */
    TR_BRIEF_MAX = 800
};

/* A letter per verdict: A W T M O R C J, S for a test that was skipped, '.' for no word of ours. */
char tr_strip_letter(const char *verdict);

/* Enter `cases` ({id, status} each, ids from 1) into the strip, which grows with dots up to the
 * last of them. */
void tr_strip_cases(char strip[static TR_STRIP_MAX + 1], const json_t *cases);

/* What an event says of a result: without cases, groups, output and the compiler's words, but with
 * the strip. A new reference; NULL when memory is out. */
json_t *tr_result_slim(json_t *result);

/* "" when it is no result, and when the numbers in it would not fit. */
void tr_result_brief(const json_t *result, char ret[static TR_BRIEF_MAX]);

#endif
