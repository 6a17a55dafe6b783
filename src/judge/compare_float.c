/* SPDX-License-Identifier: MIT
 *
 * compare_float.c - tokens, where numbers of the answer may be off by a tolerance.
 *
 * A number may have a million digits. It is read by a state machine that keeps the first forty
 * significant ones (a long double holds nineteen) and counts the rest, so memory stays constant and
 * the value exact enough. The value is then made by strtold() from a short text of our own writing.
 */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "judge/compare_private.h"

enum {
    DIGITS = 40,
    EXPONENT_MAX = 1000000 /* far beyond any long double: where it stops counting */
};

enum state {
    START,
    SIGN,     /* after + or - */
    WHOLE,    /* d+ */
    DOT,      /* "." without a digit before it: one must follow */
    FRACTION, /* d+. or with digits behind */
    E,        /* after e or E */
    E_SIGN,
    E_DIGITS,
    NOT_A_NUMBER
};

struct number {
    enum state state;
    bool negative, e_negative;
    char digits[DIGITS]; /* significant ones, leading zeros left out */
    int ndigits;
    int64_t scale; /* power of ten that the digits are to be multiplied with */
    int64_t exponent;
};

static void take_digit(struct number *n, int c, bool fraction)
{
    bool kept = false;

    if (n->ndigits > 0 || c != '0') {
        if (n->ndigits < DIGITS) {
            n->digits[n->ndigits++] = (char)c;
            kept = true;
        }
    } else {
        kept = true; /* a leading zero: as good as kept */
    }
    if (kept && fraction)
        n->scale--;
    else if (!kept && !fraction)
        n->scale++;
}

static void take_exponent(struct number *n, int c)
{
    if (n->exponent < EXPONENT_MAX)
        n->exponent = n->exponent * 10 + (c - '0');
}

static bool is_digit(int c)
{
    return c >= '0' && c <= '9';
}

static bool is_sign(int c)
{
    return c == '+' || c == '-';
}

static enum state at_start(struct number *n, int c)
{
    if (n->state == START && is_sign(c)) {
        n->negative = c == '-';
        return SIGN;
    }
    if (is_digit(c)) {
        take_digit(n, c, false);
        return WHOLE;
    }
    return c == '.' ? DOT : NOT_A_NUMBER;
}

static enum state in_digits(struct number *n, int c)
{
    bool fraction = n->state != WHOLE;

    if (is_digit(c)) {
        take_digit(n, c, fraction);
        return fraction ? FRACTION : WHOLE;
    }
    if (c == '.' && !fraction)
        return FRACTION;
    return (c == 'e' || c == 'E') && n->state != DOT ? E : NOT_A_NUMBER;
}

static enum state in_exponent(struct number *n, int c)
{
    if (n->state == E && is_sign(c)) {
        n->e_negative = c == '-';
        return E_SIGN;
    }
    if (!is_digit(c))
        return NOT_A_NUMBER;
    take_exponent(n, c);
    return E_DIGITS;
}

static void feed(struct number *n, int c)
{
    switch (n->state) {
    case START:
    case SIGN:
        n->state = at_start(n, c);
        break;
    case WHOLE:
    case DOT:
    case FRACTION:
        n->state = in_digits(n, c);
        break;
    case E:
    case E_SIGN:
    case E_DIGITS:
        n->state = in_exponent(n, c);
        break;
    case NOT_A_NUMBER:
        break;
    }
}

static bool is_number(const struct number *n)
{
    return n->state == WHOLE || n->state == FRACTION || n->state == E_DIGITS;
}

static long double value(const struct number *n)
{
    char text[DIGITS + 32];
    int64_t exponent = n->scale + (n->e_negative ? -n->exponent : n->exponent);

    if (n->ndigits == 0)
        return 0;
    exponent = exponent > EXPONENT_MAX ? EXPONENT_MAX : exponent;
    exponent = exponent < -EXPONENT_MAX ? -EXPONENT_MAX : exponent;
    (void)snprintf(text, sizeof(text), "%s%.*se%d", n->negative ? "-" : "", n->ndigits, n->digits,
                   (int)exponent);
    return strtold(text, NULL);
}

static bool near(const struct tr_compare *how, const struct number *got, const struct number *want)
{
    long double s = value(got), a = value(want);
    bool none = how->abs < 0 && how->rel < 0;
    long double abs = none ? 1e-6L : (long double)how->abs;
    long double rel = none ? 1e-6L : (long double)how->rel;

    if (!isfinite(s) || !isfinite(a))
        return false; /* beyond range: only the same spelling is equal, and that was looked at */
    long double off = fabsl(s - a);
    return (abs >= 0 && off <= abs) || (rel >= 0 && off <= rel * fabsl(a));
}

/* Both words at once, a byte of each per step: the same spelling is found without keeping either.
 */
static bool same_word(struct pair *p)
{
    struct number got = {0}, want = {0};
    bool same = true;
    uint64_t got_at = tr_stream_offset(&p->got), want_at = tr_stream_offset(&p->want);

    for (;;) {
        int a = tr_stream_peek(&p->got), b = tr_stream_peek(&p->want);
        bool a_ends = a < 0 || is_space(a), b_ends = b < 0 || is_space(b);

        if (a_ends && b_ends)
            break;
        same =
            same && !a_ends && !b_ends && (a == b || (p->how->ignore_case && fold(a) == fold(b)));
        if (!a_ends) {
            feed(&got, a);
            tr_stream_skip(&p->got);
        }
        if (!b_ends) {
            feed(&want, b);
            tr_stream_skip(&p->want);
        }
    }
    if (same || (is_number(&want) && is_number(&got) && near(p->how, &got, &want)))
        return true;
    p->got_at = got_at;
    p->want_at = want_at;
    p->why = !is_number(&want) ? NULL
             : is_number(&got) ? "the number is too far off"
                               : "expected a number";
    return false;
}

/* With space_sensitive the runs of white space must be the same bytes. */
static bool same_space(struct pair *p)
{
    for (;;) {
        int a = tr_stream_peek(&p->got), b = tr_stream_peek(&p->want);
        bool a_space = is_space(a), b_space = is_space(b);

        if (!a_space && !b_space)
            return true;
        if (p->how->space_sensitive && a != b)
            return differ(p, "white space differs");
        if (a_space)
            tr_stream_skip(&p->got);
        if (b_space)
            tr_stream_skip(&p->want);
    }
}

bool compare_float(struct pair *p)
{
    for (;;) {
        if (!same_space(p))
            return false;
        bool same;

        if (at_end(p, &same))
            return same;
        if (!same_word(p))
            return false;
    }
}
