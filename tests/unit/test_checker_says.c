/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/cleanup.h"
#include "codec/checker_says.h"
#include "unit.h"

static void exit_codes_and_words_mean_what_each_convention_says(void **state)
{
    static const struct {
        const char *label;
        enum tr_checker_kind kind;
        bool exited;
        int code;
        const char *err, *score;
        enum tr_verdict v;
        enum tr_subcode s;
        int64_t share;
    } rows[] = {
#define TL TR_CHECKER_TESTLIB
        {"ok", TL, true, 0, "ok 5 numbers", NULL, TR_V_AC, 0, 1000000},
        {"wrong", TL, true, 1, "wrong answer 1st", NULL, TR_V_WA, 0, 0},
        {"presentation", TL, true, 2, "wrong output format", NULL, TR_V_WA, TR_SUB_PE, 0},
        {"fail", TL, true, 3, "FAIL no answer", NULL, TR_V_JE, 0, 0},
        {"dirt", TL, true, 4, "", NULL, TR_V_WA, TR_SUB_PE, 0},
        {"unexpected end", TL, true, 8, "unexpected eof", NULL, TR_V_WA, TR_SUB_PE, 0},
        {"points of 10", TL, true, 7, "points 2.5 nice", NULL, TR_V_WA, TR_SUB_PC, 250000},
        {"all points", TL, true, 7, "points 10", NULL, TR_V_AC, 0, 1000000},
        {"no points", TL, true, 7, "points 0", NULL, TR_V_WA, 0, 0},
        {"points without a number", TL, true, 7, "points nan", NULL, TR_V_JE, 0, 0},
        {"points not first", TL, true, 7, "well, points 5", NULL, TR_V_JE, 0, 0},
        {"partly", TL, true, 66, "partially correct (50) hm", NULL, TR_V_WA, TR_SUB_PC, 500000},
        {"strange code", TL, true, 66, "what", NULL, TR_V_JE, 0, 0},
        {"code 5", TL, true, 5, "", NULL, TR_V_JE, 0, 0},
        {"signal", TL, false, 0, "ok", NULL, TR_V_JE, 0, 0},
#define KA TR_CHECKER_KATTIS
        {"42", KA, true, 42, "", NULL, TR_V_AC, 0, 1000000},
        {"43", KA, true, 43, "why", NULL, TR_V_WA, 0, 0},
        {"0 is no answer", KA, true, 0, "", NULL, TR_V_JE, 0, 0},
        {"1 is no answer", KA, true, 1, "", NULL, TR_V_JE, 0, 0},
        {"score", KA, true, 42, "", "5\n", TR_V_AC, TR_SUB_PC, 500000},
        {"score is nonsense", KA, true, 42, "", "lots", TR_V_JE, 0, 0},
        {"score is empty", KA, true, 42, "", "", TR_V_JE, 0, 0},
        {"score is negative", KA, true, 42, "", "-1", TR_V_JE, 0, 0},
        {"43 with a score", KA, true, 43, "", "5", TR_V_WA, 0, 0},
#define QD TR_CHECKER_QDUOJ
        {"qduoj 0", QD, true, 0, "", NULL, TR_V_AC, 0, 1000000},
        {"qduoj 1", QD, true, 1, "", NULL, TR_V_WA, 0, 0},
        {"qduoj -1", QD, true, 255, "", NULL, TR_V_JE, 0, 0},
        {"hustoj 0", TR_CHECKER_HUSTOJ, true, 0, "", NULL, TR_V_AC, 0, 1000000},
        {"hustoj 1", TR_CHECKER_HUSTOJ, true, 1, "", NULL, TR_V_WA, 0, 0},
        {"hustoj 2", TR_CHECKER_HUSTOJ, true, 2, "", NULL, TR_V_JE, 0, 0},
        {"lemon full", TR_CHECKER_LEMON, true, 0, "", "10", TR_V_AC, 0, 1000000},
        {"lemon half", TR_CHECKER_LEMON, true, 0, "", "5", TR_V_WA, TR_SUB_PC, 500000},
        {"lemon none", TR_CHECKER_LEMON, true, 0, "", "0", TR_V_WA, 0, 0},
        {"lemon without a file", TR_CHECKER_LEMON, true, 0, "", NULL, TR_V_JE, 0, 0},
        {"lemon over full", TR_CHECKER_LEMON, true, 0, "", "11", TR_V_JE, 0, 0},
        {"lemon exit 1", TR_CHECKER_LEMON, true, 1, "", "10", TR_V_JE, 0, 0},
        {"syzoj 100", TR_CHECKER_SYZOJ, true, 0, "", "100\n", TR_V_AC, 0, 1000000},
        {"syzoj 30", TR_CHECKER_SYZOJ, true, 0, "hm", "30", TR_V_WA, TR_SUB_PC, 300000},
        {"syzoj words", TR_CHECKER_SYZOJ, true, 0, "", "good", TR_V_JE, 0, 0},
    };

    for (size_t i = 0; i < TR_ARRAY_LEN(rows); i++) {
        struct tr_checker_words w = {
            .exited = rows[i].exited,
            .exit_code = rows[i].code,
            .err = rows[i].err,
            .err_len = strlen(rows[i].err),
            .score = rows[i].score,
            .score_len = rows[i].score ? strlen(rows[i].score) : 0,
            .full_points = 10 * TR_POINT,
        };
        struct tr_case c = {0};

        ROW(rows[i].label);
        tr_checker_says(rows[i].kind, &w, &c);
        assert_int_equal(c.verdict, rows[i].v);
        assert_int_equal(c.sub, rows[i].s);
        assert_int_equal(c.share, rows[i].share);
        assert_true(c.verdict != TR_V_JE || c.note[0]);
    }
}

static void long_words_are_cut(void **state)
{
    static char words[5000];
    struct tr_checker_words w = {.exited = true, .err = words, .err_len = sizeof(words)};
    struct tr_case c = {0};

    memset(words, 'x', sizeof(words));
    tr_checker_says(TR_CHECKER_TESTLIB, &w, &c);
    assert_int_equal(c.verdict, TR_V_AC);
    assert_int_equal(c.message_len, TR_CASE_MESSAGE_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exit_codes_and_words_mean_what_each_convention_says),
        cmocka_unit_test(long_words_are_cut),
    };

    return RUN(tests);
}
