/* SPDX-License-Identifier: MIT
 *
 * cli/escape.h - print what a submission, a checker or a message wrote.
 */
#ifndef CLI_ESCAPE_H
#define CLI_ESCAPE_H

#include <stddef.h>
#include <stdio.h>

/* Any bytes, so that they can neither drive a terminal nor break a line; at most `max` shown. */
void print_escaped(FILE *out, const char *bytes, size_t len, size_t max);
/* A text of several lines, each indented. */
void print_escaped_lines(FILE *out, const char *text);
/* `before` and the text; nothing when it is empty. */
void print_escaped_text(FILE *out, const char *before, const char *text, size_t max);

#endif
