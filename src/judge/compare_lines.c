/* SPDX-License-Identifier: MIT
 *
 * compare_lines.c - exact, and lines without regard to blanks at their ends.
 *
 * Blocks that are equal are passed with memcmp; only where bytes differ does the slow look begin.
 */
#include <string.h>

#include "judge/compare_private.h"

/* Pass what is equal. True when both ended. */
static bool pass_equal(struct pair *p)
{
    for (;;) {
        int a = tr_stream_peek(&p->got), b = tr_stream_peek(&p->want);

        if (a != b)
            return false;
        if (a < 0)
            return true;
        size_t na = (size_t)(p->got.end - p->got.at), nb = (size_t)(p->want.end - p->want.at);
        size_t n = na < nb ? na : nb;

        if (memcmp(p->got.at, p->want.at, n) == 0) {
            p->got.at += n;
            p->want.at += n;
            continue;
        }
        while (*p->got.at == *p->want.at) {
            tr_stream_skip(&p->got);
            tr_stream_skip(&p->want);
        }
        return false;
    }
}

bool compare_exact(struct pair *p)
{
    return pass_equal(p) || differ(p, NULL);
}

static bool is_blank(int c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static void skip_blanks(struct tr_stream *s)
{
    while (is_blank(tr_stream_peek(s)))
        tr_stream_skip(s);
}

static bool only_blank_lines_left(struct tr_stream *s)
{
    for (;;) {
        skip_blanks(s);
        if (tr_stream_peek(s) != '\n')
            return tr_stream_peek(s) < 0;
        tr_stream_skip(s);
    }
}

/* The texts differ here, and all before is equal, the blanks before included. They still agree when
 * what differs is blanks up to the end of the line on both sides; anything else is a difference,
 * also when the blanks stand between words. */
bool compare_lines(struct pair *p)
{
    while (!pass_equal(p)) {
        uint64_t got_at = tr_stream_offset(&p->got), want_at = tr_stream_offset(&p->want);

        skip_blanks(&p->got);
        skip_blanks(&p->want);
        int a = tr_stream_peek(&p->got), b = tr_stream_peek(&p->want);
        bool a_ends = a < 0 || a == '\n', b_ends = b < 0 || b == '\n';

        if (a_ends && b_ends && a == b)
            continue; /* both at a new line, or both at the end */
        if (a_ends && b_ends) {
            struct tr_stream *longer = a < 0 ? &p->want : &p->got;

            if (only_blank_lines_left(longer))
                return true;
        }
        p->got_at = got_at;
        p->want_at = want_at;
        return false;
    }
    return true;
}
