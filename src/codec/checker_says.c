/* SPDX-License-Identifier: MIT
 *
 * checker_says.c - exit codes and words into a verdict and a share of the points.
 *
 * The words come from a program that reads hostile output, and may repeat it: bounded, and nothing
 * but numbers in the documented places is believed.
 */
#include "codec/checker_says.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

static const char *const kind_names[] = {
    [TR_CHECKER_NONE] = "none",   [TR_CHECKER_TESTLIB] = "testlib", [TR_CHECKER_KATTIS] = "kattis",
    [TR_CHECKER_QDUOJ] = "qduoj", [TR_CHECKER_HUSTOJ] = "hustoj",   [TR_CHECKER_LEMON] = "lemon",
    [TR_CHECKER_SYZOJ] = "syzoj",
};

const char *tr_checker_kind_name(enum tr_checker_kind kind)
{
    return kind_names[kind];
}

bool tr_checker_kind_parse(const char *word, enum tr_checker_kind *ret)
{
    for (size_t i = 0; i < TR_ARRAY_LEN(kind_names); i++) {
        if (strcmp(word, kind_names[i]) == 0) {
            *ret = (enum tr_checker_kind)i;
            return true;
        }
    }
    return false;
}

static void say(struct tr_case *c, enum tr_verdict v, enum tr_subcode sub, int64_t share)
{
    c->verdict = v;
    c->sub = sub;
    c->share = share;
}

static void judge_error(struct tr_case *c, const char *why)
{
    say(c, TR_V_JE, TR_SUB_NONE, 0);
    (void)snprintf(c->note, sizeof(c->note), "the checker failed: %s", why);
}

/* The first number in a text, which is a decimal and nothing fancier; false when there is none. */
static bool number_at(const char *s, size_t len, double *ret)
{
    char text[64];
    size_t n = 0, i = 0;
    char *end = NULL;

    while (i < len && (s[i] == ' ' || s[i] == '\t' || s[i] == '\n' || s[i] == '\r'))
        i++;
    while (i < len && n < sizeof(text) - 1 && s[i] && strchr("0123456789.+-eE", s[i]))
        text[n++] = s[i++];
    text[n] = 0;
    if (n == 0 || (i < len && s[i] && !strchr(" \t\r\n%)", s[i])))
        return false;
    double v = strtod(text, &end);
    if (end == text || *end || !isfinite(v))
        return false;
    *ret = v;
    return true;
}

static int64_t clamp_share(double fraction)
{
    if (!(fraction > 0))
        return 0;
    return fraction >= 1 ? TR_SHARE_FULL : (int64_t)llround(fraction * (double)TR_SHARE_FULL);
}

/* Partly right is not accepted, but worth something. */
static void say_share(struct tr_case *c, int64_t share)
{
    if (share >= TR_SHARE_FULL)
        say(c, TR_V_AC, TR_SUB_NONE, TR_SHARE_FULL);
    else
        say(c, TR_V_WA, share > 0 ? TR_SUB_PC : TR_SUB_NONE, share);
}

static double full_points(const struct tr_checker_words *w)
{
    return (double)w->full_points / (double)TR_POINT;
}

/* The number after a phrase that begins the text. */
static bool phrase_number(const struct tr_checker_words *w, const char *phrase, double *ret)
{
    size_t n = strlen(phrase);

    return w->err && w->err_len >= n && memcmp(w->err, phrase, n) == 0 &&
           number_at(w->err + n, w->err_len - n, ret);
}

static void testlib(const struct tr_checker_words *w, struct tr_case *c)
{
    double v = 0;

    switch (w->exit_code) {
    case 0:
        say(c, TR_V_AC, TR_SUB_NONE, TR_SHARE_FULL);
        return;
    case 1:
        say(c, TR_V_WA, TR_SUB_NONE, 0);
        return;
    case 2:
    case 4:
    case 8:
        say(c, TR_V_WA, TR_SUB_PE, 0);
        return;
    case 3:
        judge_error(c, "it says FAIL");
        return;
    case 7:
        if (!phrase_number(w, "points ", &v))
            judge_error(c, "exit code 7 without \"points X\"");
        else if (w->full_points > 0)
            say_share(c, clamp_share(v / full_points(w)));
        else
            say_share(c, clamp_share(v));
        return;
    default:
        break;
    }
    if (w->exit_code >= 16 && phrase_number(w, "partially correct (", &v)) {
        say_share(c, clamp_share(v / 100));
        return;
    }
    judge_error(c, "an exit code that testlib does not have");
}

static void kattis(const struct tr_checker_words *w, struct tr_case *c)
{
    double v = 0;

    if (w->exit_code == 43) {
        say(c, TR_V_WA, TR_SUB_NONE, 0);
        return;
    }
    if (w->exit_code != 42) {
        judge_error(c, "an exit code that is neither 42 nor 43");
        return;
    }
    int64_t share = TR_SHARE_FULL;
    if (w->score && w->factor) {
        judge_error(c, "both score.txt and score_multiplier.txt");
        return;
    }
    if (w->score) {
        if (!number_at(w->score, w->score_len, &v) || v < 0) {
            judge_error(c, "score.txt holds no number");
            return;
        }
        share = w->full_points > 0 ? clamp_share(v / full_points(w)) : clamp_share(v);
    } else if (w->factor) {
        if (!number_at(w->factor, w->factor_len, &v) || v < 0 || v > 1) {
            judge_error(c, "score_multiplier.txt holds no number from 0 to 1");
            return;
        }
        share = clamp_share(v);
    }
    say(c, TR_V_AC, share < TR_SHARE_FULL ? TR_SUB_PC : TR_SUB_NONE, share);
}

static void zero_or_one(const struct tr_checker_words *w, struct tr_case *c)
{
    if (w->exit_code == 0)
        say(c, TR_V_AC, TR_SUB_NONE, TR_SHARE_FULL);
    else if (w->exit_code == 1)
        say(c, TR_V_WA, TR_SUB_NONE, 0);
    else
        judge_error(c, "an exit code that is neither 0 nor 1");
}

static void score_of(const struct tr_checker_words *w, double full, struct tr_case *c)
{
    double v = 0;

    if (w->exit_code != 0)
        judge_error(c, "its exit code is not 0");
    else if (!w->score || !number_at(w->score, w->score_len, &v) || v < 0 || v > full)
        judge_error(c, "it gave no score in range");
    else
        say_share(c, clamp_share(v / full));
}

void tr_checker_says(enum tr_checker_kind kind, const struct tr_checker_words *w, struct tr_case *c)
{
    size_t n = w->err ? w->err_len : 0;

    n = n < sizeof(c->message) ? n : sizeof(c->message);
    while (n > 0 && (w->err[n - 1] == '\n' || w->err[n - 1] == '\r'))
        n--;
    if (n > 0)
        memcpy(c->message, w->err, n);
    c->message_len = n;
    if (!w->exited) {
        judge_error(c, "it did not end by itself");
        return;
    }
    switch (kind) {
    case TR_CHECKER_TESTLIB:
        testlib(w, c);
        break;
    case TR_CHECKER_KATTIS:
        kattis(w, c);
        break;
    case TR_CHECKER_QDUOJ:
    case TR_CHECKER_HUSTOJ:
        zero_or_one(w, c);
        break;
    case TR_CHECKER_LEMON:
        score_of(w, w->full_points > 0 ? full_points(w) : 100, c);
        break;
    case TR_CHECKER_SYZOJ:
        score_of(w, 100, c);
        break;
    case TR_CHECKER_NONE:
        judge_error(c, "there is none");
        break;
    }
}
