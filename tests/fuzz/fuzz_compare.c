/* SPDX-License-Identifier: MIT
 *
 * Property: every streaming comparison agrees with a naive one that holds both texts in memory, and
 * the first difference lies inside the texts. First byte: mode and options; a 0xfe byte splits the
 * rest into output and answer.
 */
#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "judge/compare.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    MOST = 512
};

struct items {
    struct {
        const unsigned char *at;
        size_t len;
        bool new_line; /* a newline stands before it */
    } list[MOST];
    size_t count;
};

static bool space(int c)
{
    return c == ' ' || (c >= 9 && c <= 13);
}

static void words(const unsigned char *s, size_t n, struct items *out)
{
    bool nl = false;

    out->count = 0;
    for (size_t i = 0; i < n && out->count < MOST;) {
        if (space(s[i])) {
            nl = nl || s[i] == '\n';
            i++;
            continue;
        }
        size_t start = i;
        while (i < n && !space(s[i]))
            i++;
        out->list[out->count].at = s + start;
        out->list[out->count].len = i - start;
        out->list[out->count++].new_line = nl;
        nl = false;
    }
}

/* Lines without blanks at their ends; blank lines at the end (or all of them) dropped. */
static void lines(const unsigned char *s, size_t n, bool drop_all, struct items *out)
{
    size_t solid = 0;

    out->count = 0;
    for (size_t i = 0; i <= n && out->count < MOST;) {
        size_t end = i;
        while (end < n && s[end] != '\n')
            end++;
        size_t len = end - i;
        while (len > 0 &&
               (s[i + len - 1] == ' ' || s[i + len - 1] == '\t' || s[i + len - 1] == '\r'))
            len--;
        if (len > 0 || !drop_all) {
            out->list[out->count].at = s + i;
            out->list[out->count++].len = len;
        }
        if (len > 0)
            solid = out->count;
        i = end + 1;
    }
    out->count = solid;
}

static int fold(int c)
{
    return c >= 'A' && c <= 'Z' ? c + 32 : c;
}

static bool same_text(const unsigned char *a, size_t n, const unsigned char *b, size_t m,
                      bool nocase)
{
    if (n != m)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (a[i] != b[i] && !(nocase && fold(a[i]) == fold(b[i])))
            return false;
    }
    return true;
}

static bool number(const unsigned char *s, size_t n, long double *ret)
{
    char text[4096];
    size_t i = 0, digits = 0;

    if (n >= sizeof(text))
        return false;
    memcpy(text, s, n);
    text[n] = 0;
    if (i < n && (text[i] == '+' || text[i] == '-'))
        i++;
    size_t whole = strspn(text + i, "0123456789");
    i += whole;
    digits = whole;
    if (text[i] == '.') {
        size_t f = strspn(text + i + 1, "0123456789");
        digits += f;
        i += 1 + f;
    }
    if (digits == 0)
        return false;
    if (text[i] == 'e' || text[i] == 'E') {
        i++;
        if (text[i] == '+' || text[i] == '-')
            i++;
        size_t e = strspn(text + i, "0123456789");
        if (e == 0)
            return false;
        i += e;
    }
    if (i != n)
        return false;
    *ret = strtold(text, NULL);
    return true;
}

static bool near_enough(const struct tr_compare *h, const struct items *a, const struct items *b,
                        size_t i)
{
    long double x, y;

    if (same_text(a->list[i].at, a->list[i].len, b->list[i].at, b->list[i].len, h->ignore_case))
        return true;
    if (!number(b->list[i].at, b->list[i].len, &y) || !number(a->list[i].at, a->list[i].len, &x))
        return false;
    if (!isfinite(x) || !isfinite(y))
        return false;
    return fabsl(x - y) <= (long double)h->abs || fabsl(x - y) <= (long double)h->rel * fabsl(y);
}

static bool same_multiset(struct items *a, struct items *b)
{
    static bool used[MOST];

    if (a->count != b->count)
        return false;
    memset(used, 0, sizeof(used));
    for (size_t i = 0; i < a->count; i++) {
        size_t k = 0;
        while (k < b->count && (used[k] || !same_text(a->list[i].at, a->list[i].len, b->list[k].at,
                                                      b->list[k].len, false)))
            k++;
        if (k == b->count)
            return false;
        used[k] = true;
    }
    return true;
}

static bool oracle(const struct tr_compare *h, const unsigned char *g, size_t n,
                   const unsigned char *w, size_t m)
{
    static struct items a, b;
    bool by_lines = h->mode == TR_COMPARE_LINES || h->mode == TR_COMPARE_UNORDERED_LINES;

    if (h->mode == TR_COMPARE_EXACT)
        return same_text(g, n, w, m, false);
    if (by_lines) {
        lines(g, n, h->mode == TR_COMPARE_UNORDERED_LINES, &a);
        lines(w, m, h->mode == TR_COMPARE_UNORDERED_LINES, &b);
    } else {
        words(g, n, &a);
        words(w, m, &b);
    }
    if (h->mode == TR_COMPARE_UNORDERED_LINES || h->mode == TR_COMPARE_UNORDERED_TOKENS)
        return same_multiset(&a, &b);
    if (a.count != b.count)
        return false;
    for (size_t i = 0; i < a.count; i++) {
        bool nocase = h->ignore_case || h->mode == TR_COMPARE_YESNO;

        if (h->mode == TR_COMPARE_FLOAT) {
            if (!near_enough(h, &a, &b, i))
                return false;
            continue;
        }
        if (!same_text(a.list[i].at, a.list[i].len, b.list[i].at, b.list[i].len,
                       !by_lines && nocase))
            return false;
        if (h->mode == TR_COMPARE_TOKEN_LINES && i > 0 && a.list[i].new_line != b.list[i].new_line)
            return false;
    }
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tr_err err = TR_ERR_INIT;
    enum tr_verdict v = TR_V_NONE;
    enum tr_subcode s = TR_SUB_NONE;
    struct tr_diff d;

    if (size < 2 || size > MOST)
        return 0;
    struct tr_compare h = {.mode = (enum tr_compare_mode)(data[0] % 8),
                           .ignore_case = data[0] & 64,
                           .abs = 1e-3,
                           .rel = 1e-3};
    const uint8_t *split = memchr(data + 1, 0xfe, size - 1);
    if (!split)
        return 0;
    size_t n = (size_t)(split - data) - 1, m = size - n - 2;
    struct tr_bytes got = {-1, data + 1, n}, want = {-1, split + 1, m};
    if (h.mode == TR_COMPARE_UNORDERED_LINES || h.mode == TR_COMPARE_UNORDERED_TOKENS)
        h.ignore_case = false;

    assert(tr_compare_run(&h, got, want, &v, &s, &d, &err) == 0);
    assert((v == TR_V_AC) == oracle(&h, data + 1, n, split + 1, m));
    assert(d.found == (v == TR_V_WA));
    assert(!d.found || (d.byte <= n && d.line >= 1 && d.column >= 1));
    assert(d.got.len <= TR_SNIPPET_MAX && d.want.len <= TR_SNIPPET_MAX);
    return 0;
}
