/* SPDX-License-Identifier: MIT
 *
 * judge/compare_private.h - what the comparison's files share.
 */
#ifndef JUDGE_COMPARE_PRIVATE_H
#define JUDGE_COMPARE_PRIVATE_H

#include "judge/compare.h"

struct pair {
    const struct tr_compare *how;
    struct tr_stream got, want;
    /* Where the first difference is, when a mode returns false. */
    uint64_t got_at, want_at;
    const char *why;
};

/* The six bytes that the Kattis format calls white space. */
static inline bool is_space(int c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static inline int fold(int c)
{
    return c >= 'A' && c <= 'Z' ? c + 32 : c;
}

/* Each returns true when the texts agree. */
bool compare_exact(struct pair *p);
bool compare_lines(struct pair *p);
bool compare_tokens(struct pair *p);
bool compare_token_lines(struct pair *p);
bool compare_float(struct pair *p);
bool compare_unordered(struct pair *p, bool by_lines);

/* Remember where the streams stand and why they differ; always false. */
static inline bool differ(struct pair *p, const char *why)
{
    p->got_at = tr_stream_offset(&p->got);
    p->want_at = tr_stream_offset(&p->want);
    p->why = why;
    return false;
}

/* Both texts are at their end, or one is and that is the difference: *ret_same tells which. */
static inline bool at_end(struct pair *p, bool *ret_same)
{
    int a = tr_stream_peek(&p->got), b = tr_stream_peek(&p->want);

    if (a >= 0 && b >= 0)
        return false;
    *ret_same = a < 0 && b < 0;
    if (!*ret_same)
        (void)differ(p,
                     a < 0 ? "the output ends too early" : "the output goes on after the answer");
    return true;
}

#endif
