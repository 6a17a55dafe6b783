/* SPDX-License-Identifier: MIT
 *
 * base/parse.h - text to numbers, strictly.
 *
 * Every number that comes from outside goes through here. The whole string must be the number: no
 * white space, no sign unless the range allows it, no trailing anything, no wrap. On failure the
 * output is untouched and the sentence says what was expected; it never names the key or the file,
 * the caller knows those and adds them with tr_fail_wrap().
 */
#ifndef BASE_PARSE_H
#define BASE_PARSE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

int tr_parse_i64(const char *s, int64_t min, int64_t max, int64_t *ret, struct tr_err *err);
int tr_parse_u64(const char *s, uint64_t min, uint64_t max, uint64_t *ret, struct tr_err *err);

/* "256M", "64K", "1.5G", "512" (bytes), also "256MiB", "256MB". Units are powers of 1024, as people
 * mean them when they speak of memory. */
int tr_parse_size(const char *s, uint64_t min, uint64_t max, uint64_t *ret, struct tr_err *err);

/* "1.5s", "250ms", "10us", "2m", "1h", "1d"; "0" too. A bare number other than 0 is refused:
 * seconds taken for milliseconds is the classic mistake of a judge. Microseconds. */
int tr_parse_duration_us(const char *s, int64_t min, int64_t max, int64_t *ret, struct tr_err *err);

/* A decimal such as "2", "0.5" or "1.25" as thousandths, exactly (2000, 500, 1250). */
int tr_parse_milli(const char *s, int64_t min, int64_t max, int64_t *ret, struct tr_err *err);

/* true/false, yes/no, on/off, 1/0. */
int tr_parse_bool(const char *s, bool *ret, struct tr_err *err);

/* The way back, for messages and tables: "256M", "1.5s". `out` has at least TR_HUMAN_MAX bytes. The
 * text, parsed again, gives the same value. */
enum {
    TR_HUMAN_MAX = 32
};
const char *tr_format_size(uint64_t bytes, char out[static TR_HUMAN_MAX]);
const char *tr_format_duration_us(int64_t us, char out[static TR_HUMAN_MAX]);

#endif
