/* SPDX-License-Identifier: MIT
 *
 * compare.c - choose the mode; after a difference, say where and of what kind it is.
 *
 * The modes only find the offset of the first difference: that keeps them fast. Line, column and
 * snippets are worked out afterwards by reading the output once more, which only wrong ones pay.
 */
#include "judge/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "judge/compare_private.h"

static const char *const mode_names[] = {
    [TR_COMPARE_LINES] = "lines",
    [TR_COMPARE_EXACT] = "exact",
    [TR_COMPARE_TOKENS] = "tokens",
    [TR_COMPARE_TOKEN_LINES] = "token-lines",
    [TR_COMPARE_FLOAT] = "float",
    [TR_COMPARE_UNORDERED_LINES] = "unordered",
    [TR_COMPARE_UNORDERED_TOKENS] = "unordered-tokens",
    [TR_COMPARE_YESNO] = "yesno",
};

const char *tr_compare_mode_name(enum tr_compare_mode mode)
{
    return mode_names[mode];
}

bool tr_compare_mode_parse(const char *word, enum tr_compare_mode *ret)
{
    for (size_t i = 0; i < TR_ARRAY_LEN(mode_names); i++) {
        if (strcmp(word, mode_names[i]) == 0) {
            *ret = (enum tr_compare_mode)i;
            return true;
        }
    }
    return false;
}

static bool run_mode(struct pair *p)
{
    switch (p->how->mode) {
    case TR_COMPARE_EXACT:
        return compare_exact(p);
    case TR_COMPARE_LINES:
        return compare_lines(p);
    case TR_COMPARE_TOKENS:
    case TR_COMPARE_YESNO:
        return compare_tokens(p);
    case TR_COMPARE_TOKEN_LINES:
        return compare_token_lines(p);
    case TR_COMPARE_FLOAT:
        return compare_float(p);
    case TR_COMPARE_UNORDERED_LINES:
        return compare_unordered(p, true);
    case TR_COMPARE_UNORDERED_TOKENS:
        return compare_unordered(p, false);
    }
    return false;
}

static void pair_done(struct pair *p)
{
    tr_stream_done(&p->got);
    tr_stream_done(&p->want);
}

/* Open both, run the mode, and turn a failed read into an error. */
static int run_pair(struct pair *p, struct tr_bytes got, struct tr_bytes want, bool *ret_same,
                    struct tr_err *err)
{
    int r = tr_stream_open(&p->got, got, err);

    if (r < 0)
        return r;
    r = tr_stream_open(&p->want, want, err);
    if (r < 0)
        return r;
    *ret_same = run_mode(p);
    if (p->got.sys || p->want.sys)
        return tr_fail(err, TR_E_IO, p->got.sys ? p->got.sys : p->want.sys, "read the %s",
                       p->got.sys ? "output" : "answer");
    return 0;
}

static int blank(struct tr_bytes from, bool *ret, struct tr_err *err)
{
    TR_CLEANUP(tr_stream_done) struct tr_stream s = {0};
    int r = tr_stream_open(&s, from, err);

    if (r < 0)
        return r;
    while (is_space(tr_stream_peek(&s)))
        tr_stream_skip(&s);
    *ret = tr_stream_peek(&s) < 0;
    return 0;
}

/* Line and column of an offset, and where its line begins. */
static int locate(struct tr_bytes from, uint64_t offset, uint64_t *ret_line, uint64_t *ret_start,
                  struct tr_err *err)
{
    TR_CLEANUP(tr_stream_done) struct tr_stream s = {0};
    int r = tr_stream_open(&s, from, err);

    if (r < 0)
        return r;
    *ret_line = 1;
    *ret_start = 0;
    while (tr_stream_offset(&s) < offset && tr_stream_peek(&s) >= 0) {
        uint64_t left = offset - tr_stream_offset(&s);
        size_t n = (size_t)(s.end - s.at);

        n = n < left ? n : (size_t)left;
        const unsigned char *nl = memchr(s.at, '\n', n);
        if (!nl) {
            s.at += n;
            continue;
        }
        s.at = nl + 1;
        ++*ret_line;
        *ret_start = tr_stream_offset(&s);
    }
    return 0;
}

static void snippet(struct tr_bytes from, uint64_t line_start, uint64_t at, struct tr_snippet *out)
{
    /* A third before the difference, for the eye to find it, and the rest from there on. */
    uint64_t begin = at > line_start + TR_SNIPPET_MAX / 3 ? at - TR_SNIPPET_MAX / 3 : line_start;
    size_t n = tr_bytes_at(from, begin, out->bytes, sizeof(out->bytes));
    size_t line = n;
    size_t skip = (size_t)(at - begin) < n ? (size_t)(at - begin) : n;
    const unsigned char *nl = memchr(out->bytes + skip, '\n', n - skip);

    if (nl)
        line = (size_t)(nl - out->bytes);
    out->len = (unsigned)line;
    out->end = n < sizeof(out->bytes) && line == n;
}

static int describe(const struct pair *p, struct tr_bytes got, struct tr_bytes want,
                    struct tr_diff *d, struct tr_err *err)
{
    uint64_t start = 0;

    *d = (struct tr_diff){.found = true, .byte = p->got_at, .why = p->why};
    int r = locate(got, p->got_at, &d->line, &start, err);
    if (r < 0)
        return r;
    d->column = p->got_at - start + 1;
    snippet(got, start, p->got_at, &d->got);
    r = locate(want, p->want_at, &d->answer_line, &start, err);
    if (r < 0)
        return r;
    snippet(want, start, p->want_at, &d->want);
    return 0;
}

/* Nothing printed, or nothing but white space wrong? */
static int kind_of_wrong(const struct tr_compare *how, struct tr_bytes got, struct tr_bytes want,
                         enum tr_subcode *ret_sub, struct tr_err *err)
{
    bool got_blank = false, want_blank = false, same = false;
    int r = blank(got, &got_blank, err);

    if (r == 0)
        r = blank(want, &want_blank, err);
    if (r < 0)
        return r;
    if (got_blank && !want_blank) {
        *ret_sub = TR_SUB_NO;
        return 0;
    }
    struct tr_compare loose = *how;
    if (how->mode == TR_COMPARE_EXACT || how->mode == TR_COMPARE_LINES ||
        how->mode == TR_COMPARE_TOKEN_LINES)
        loose.mode = TR_COMPARE_TOKENS;
    else if (!how->space_sensitive)
        return 0;
    loose.space_sensitive = false;
    TR_CLEANUP(pair_done) struct pair again = {.how = &loose};
    r = run_pair(&again, got, want, &same, err);
    if (r == 0 && same)
        *ret_sub = TR_SUB_PE;
    return r;
}

int tr_compare_run(const struct tr_compare *how, struct tr_bytes got, struct tr_bytes want,
                   enum tr_verdict *ret_verdict, enum tr_subcode *ret_sub, struct tr_diff *ret_diff,
                   struct tr_err *err)
{
    TR_CLEANUP(pair_done) struct pair p = {.how = how};
    struct tr_diff diff = {0};
    enum tr_subcode sub = TR_SUB_NONE;
    bool same = false;
    int r = run_pair(&p, got, want, &same, err);

    if (r == 0 && !same)
        r = describe(&p, got, want, &diff, err);
    if (r == 0 && !same)
        r = kind_of_wrong(how, got, want, &sub, err);
    if (r < 0)
        return r;
    *ret_verdict = same ? TR_V_AC : TR_V_WA;
    *ret_sub = sub;
    *ret_diff = diff;
    return 0;
}

static int tolerance(const char *name, const char *word, double *ret, struct tr_err *err)
{
    char *end = NULL;
    double v = word && *word ? strtod(word, &end) : -1;

    if (!word || !end || *end || !(v >= 0) || !isfinite(v))
        return tr_fail(err, TR_E_PARSE, 0, "%s needs a number that is not negative, not '%.32s'",
                       name, word ? word : "");
    *ret = v;
    return 0;
}

int tr_compare_kattis_flags(const char *const *words, size_t count, struct tr_compare *how,
                            struct tr_err *err)
{
    struct tr_compare c = {.mode = TR_COMPARE_TOKENS, .ignore_case = true, .abs = -1, .rel = -1};

    for (size_t i = 0; i < count; i++) {
        const char *w = words[i], *next = i + 1 < count ? words[i + 1] : NULL;
        bool both = strcmp(w, "float_tolerance") == 0;
        bool abs = both || strcmp(w, "float_absolute_tolerance") == 0;
        bool rel = both || strcmp(w, "float_relative_tolerance") == 0;
        int r = 0;

        if (strcmp(w, "case_sensitive") == 0) {
            c.ignore_case = false;
        } else if (strcmp(w, "space_change_sensitive") == 0) {
            c.space_sensitive = true;
        } else if (abs || rel) {
            r = abs ? tolerance(w, next, &c.abs, err) : 0;
            if (r == 0 && rel)
                r = tolerance(w, next, &c.rel, err);
            i++;
        } else {
            r = tr_fail(err, TR_E_PARSE, 0, "the default validator has no flag '%.64s'", w);
        }
        if (r < 0)
            return r;
    }
    if (c.abs >= 0 || c.rel >= 0)
        c.mode = TR_COMPARE_FLOAT;
    *how = c;
    return 0;
}
