/* SPDX-License-Identifier: MIT
 *
 * base/utf8.h - what is valid UTF-8, and how to show what is not.
 */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* Length (1 to 4) of the valid character at the start of s, or 0. Overlong forms, surrogates and
 * values above U+10FFFF are not valid. */
size_t tr_utf8_len(const char *s, size_t avail);

bool tr_utf8_valid(const char *s, size_t len);

/* The largest n <= max that does not cut a character of s in two. */
size_t tr_utf8_cut(const char *s, size_t len, size_t max);

#endif
