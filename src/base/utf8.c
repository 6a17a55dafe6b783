/* SPDX-License-Identifier: MIT
 *
 * utf8.c - the table of Unicode 15, 3-7 "Well-Formed UTF-8 Byte Sequences".
 */
#include "base/utf8.h"

static bool is_tail(unsigned char c)
{
    return (c & 0xc0) == 0x80;
}

/* The second byte's range depends on the first: that is what keeps overlong forms, surrogates and
 * values past U+10FFFF out. */
static bool second_fits(unsigned char first, unsigned char second)
{
    switch (first) {
    case 0xe0:
        return second >= 0xa0 && second <= 0xbf;
    case 0xed:
        return second >= 0x80 && second <= 0x9f;
    case 0xf0:
        return second >= 0x90 && second <= 0xbf;
    case 0xf4:
        return second >= 0x80 && second <= 0x8f;
    default:
        return is_tail(second);
    }
}

size_t tr_utf8_len(const char *s, size_t avail)
{
    const unsigned char *p = (const unsigned char *)s;
    size_t n = 0;

    if (avail == 0)
        return 0;
    if (p[0] < 0x80)
        return 1;
    if (p[0] >= 0xc2 && p[0] <= 0xdf)
        n = 2;
    else if (p[0] >= 0xe0 && p[0] <= 0xef)
        n = 3;
    else if (p[0] >= 0xf0 && p[0] <= 0xf4)
        n = 4;
    if (n == 0 || n > avail || !second_fits(p[0], p[1]))
        return 0;
    for (size_t i = 2; i < n; i++) {
        if (!is_tail(p[i]))
            return 0;
    }
    return n;
}

bool tr_utf8_valid(const char *s, size_t len)
{
    for (size_t i = 0; i < len;) {
        size_t n = tr_utf8_len(s + i, len - i);

        if (n == 0)
            return false;
        i += n;
    }
    return true;
}

size_t tr_utf8_cut(const char *s, size_t len, size_t max)
{
    if (len <= max)
        return len;
    size_t n = max;

    /* At most three bytes back to the start of the character that the cut would split. */
    for (size_t back = 0; back < 3 && n > 0 && is_tail((unsigned char)s[n]); back++)
        n--;
    return n;
}
