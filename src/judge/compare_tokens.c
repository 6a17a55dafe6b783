/* SPDX-License-Identifier: MIT
 *
 * compare_tokens.c - words between white space, byte by byte: a word may be longer than memory.
 */
#include "judge/compare_private.h"

/* Skip white space; says whether a new line was among it. */
static bool skip_space(struct tr_stream *s)
{
    bool newline = false;

    for (int c = tr_stream_peek(s); is_space(c); c = tr_stream_peek(s)) {
        newline = newline || c == '\n';
        tr_stream_skip(s);
    }
    return newline;
}

static bool same_byte(const struct pair *p, int a, int b)
{
    bool ignore_case = p->how->ignore_case || p->how->mode == TR_COMPARE_YESNO;

    return a == b || (ignore_case && fold(a) == fold(b));
}

/* One word of each side. */
static bool same_word(struct pair *p)
{
    for (;;) {
        int a = tr_stream_peek(&p->got), b = tr_stream_peek(&p->want);
        bool a_ends = a < 0 || is_space(a), b_ends = b < 0 || is_space(b);

        if (a_ends && b_ends)
            return true;
        if (a_ends != b_ends || !same_byte(p, a, b))
            return differ(p, p->how->mode == TR_COMPARE_YESNO ? "expected YES or NO" : NULL);
        tr_stream_skip(&p->got);
        tr_stream_skip(&p->want);
    }
}

/* White space counts as well: every byte does, but for case. */
static bool same_bytes(struct pair *p)
{
    for (;;) {
        int a = tr_stream_peek(&p->got), b = tr_stream_peek(&p->want);

        if (a < 0 && b < 0)
            return true;
        if (a < 0 || b < 0 || !same_byte(p, a, b))
            return differ(p, NULL);
        tr_stream_skip(&p->got);
        tr_stream_skip(&p->want);
    }
}

bool compare_tokens(struct pair *p)
{
    if (p->how->space_sensitive)
        return same_bytes(p);
    for (;;) {
        (void)skip_space(&p->got);
        (void)skip_space(&p->want);
        bool same;

        if (at_end(p, &same))
            return same;
        if (!same_word(p))
            return false;
    }
}

bool compare_token_lines(struct pair *p)
{
    bool first = true;

    for (;;) {
        bool a_new = skip_space(&p->got), b_new = skip_space(&p->want);
        bool same;

        if (at_end(p, &same))
            return same;
        if (!first && a_new != b_new)
            return differ(p, a_new ? "a new line instead of a blank"
                                   : "a blank instead of a new line");
        if (!same_word(p))
            return false;
        first = false;
    }
}
