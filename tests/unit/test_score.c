/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/cleanup.h"
#include "model/score.h"
#include "unit.h"

/* Groups a (tests 0,1; sum, 20 points), b (2,3; min, 30), c (4,5; min, 50, needs b). */
static struct tr_test tests[6] = {{.group = 0, .points = 10 * TR_POINT},
                                  {.group = 0, .points = 10 * TR_POINT},
                                  {.group = 1},
                                  {.group = 1},
                                  {.group = 2},
                                  {.group = 2}};
static size_t needs_b[] = {1};
static struct tr_group groups[3] = {
    {.name = "a", .rule = TR_GROUP_SUM, .points = 20 * TR_POINT},
    {.name = "b", .rule = TR_GROUP_MIN, .points = 30 * TR_POINT, .stop = true},
    {.name = "c",
     .rule = TR_GROUP_MIN,
     .points = 50 * TR_POINT,
     .stop = true,
     .needs = needs_b,
     .nneeds = 1}};
static const struct tr_problem oi = {.scoring = TR_SCORING_OI,
                                     .tests = tests,
                                     .ntests = 6,
                                     .groups = groups,
                                     .ngroups = 3,
                                     .full_points = 100 * TR_POINT};

/* A letter per test: a accepted, w wrong, h half the points, t time limit, j judge error, . unknown
 */
static void fill(const char *letters, struct tr_case *c)
{
    for (size_t i = 0; letters[i]; i++) {
        c[i] = (struct tr_case){.facts.cpu_us = (int64_t)(1000 * (i + 1))};
        switch (letters[i]) {
        case 'a':
            c[i].verdict = TR_V_AC;
            c[i].share = TR_SHARE_FULL;
            break;
        case 'h':
            c[i].verdict = TR_V_WA;
            c[i].sub = TR_SUB_PC;
            c[i].share = TR_SHARE_FULL / 2;
            break;
        case 'w':
            c[i].verdict = TR_V_WA;
            break;
        case 't':
            c[i].verdict = TR_V_TLE;
            break;
        case 'j':
            c[i].verdict = TR_V_JE;
            break;
        default:
            c[i].verdict = TR_V_NONE;
            break;
        }
    }
}

static void results_add_up_as_in_a_serial_run(void **state)
{
    static const struct {
        const char *got, *settled;
        enum tr_scoring scoring;
        int64_t points;
        enum tr_verdict v;
        enum tr_subcode s;
        size_t accepted;
    } rows[] = {
        {"aaaaaa", "aaaaaa", TR_SCORING_ACM, 100, TR_V_AC, TR_SUB_NONE, 6},
        {"aawaaa", "aaw---", TR_SCORING_ACM, 0, TR_V_WA, TR_SUB_NONE, 2},
        {"aat.wa", "aat---", TR_SCORING_ACM, 0, TR_V_TLE, TR_SUB_NONE, 2},
        {"waaaaa", "w-----", TR_SCORING_ACM, 0, TR_V_WA, TR_SUB_NONE, 0},
        {"aaaaaa", "aaaaaa", TR_SCORING_OI, 100, TR_V_AC, TR_SUB_NONE, 6},
        {"waaaaa", "waaaaa", TR_SCORING_OI, 90, TR_V_WA, TR_SUB_PC, 5},
        {"aawaaa", "aaw---", TR_SCORING_OI, 20, TR_V_WA, TR_SUB_PC, 2},
        {"aahaaa", "aaha--", TR_SCORING_OI, 35, TR_V_WA, TR_SUB_PC, 3},
        {"aaaaat", "aaaaat", TR_SCORING_OI, 50, TR_V_TLE, TR_SUB_NONE, 5},
        {"haaaaa", "haaaaa", TR_SCORING_OI, 95, TR_V_WA, TR_SUB_PC, 5},
        {"wwwwww", "www---", TR_SCORING_OI, 0, TR_V_WA, TR_SUB_NONE, 0},
        {"waaaja", "waaaj-", TR_SCORING_OI, 40, TR_V_JE, TR_SUB_NONE, 3},
    };

    for (size_t i = 0; i < TR_ARRAY_LEN(rows); i++) {
        struct tr_problem p = oi;
        struct tr_case c[6];
        struct tr_group_score g[3];
        struct tr_score s;

        ROW(rows[i].got);
        p.scoring = rows[i].scoring;
        fill(rows[i].got, c);
        tr_score_settle(&p, c);
        for (size_t t = 0; t < 6; t++)
            assert_int_equal(c[t].verdict == TR_V_SK, rows[i].settled[t] == '-');
        tr_score_sum(&p, c, g, &s);
        assert_int_equal(s.points, rows[i].points * TR_POINT);
        assert_int_equal(s.verdict, rows[i].v);
        assert_int_equal(s.sub, rows[i].s);
        assert_int_equal(s.accepted, rows[i].accepted);
    }
}

/* Every order of arrival settles to the same: what was run too much is thrown away. */
static void a_parallel_run_reports_what_a_serial_run_reports(void **state)
{
    static const char letters[] = "awh";

    for (unsigned n = 0; n < 729; n++) {
        static struct tr_case serial[6], parallel[6], full[6];
        char all[7] = {0};
        unsigned v = n;

        for (size_t i = 0; i < 6; i++, v /= 3)
            all[i] = letters[v % 3];
        fill(all, parallel);
        fill("......", serial);
        for (size_t i = 0; i < 6; i++) {
            if (!tr_score_skips(&oi, serial, i)) {
                fill(all, full);
                serial[i] = full[i];
            }
        }
        tr_score_settle(&oi, serial);
        tr_score_settle(&oi, parallel);
        for (size_t i = 0; i < 6; i++)
            assert_int_equal(serial[i].verdict, parallel[i].verdict);
    }
}

static void shares_add_up_to_the_whole(void **state)
{
    for (size_t n = 1; n <= 40; n++) {
        int64_t sum = 0;

        for (size_t i = 0; i < n; i++) {
            int64_t share = tr_score_share(100 * TR_POINT, n, i);

            assert_true(i == 0 || share >= tr_score_share(100 * TR_POINT, n, i - 1));
            sum += share;
        }
        assert_int_equal(sum, 100 * TR_POINT);
    }
}

static void the_slowest_test_is_named(void **state)
{
    struct tr_case c[6];
    struct tr_score s;

    fill("aaaaaa", c);
    tr_score_sum(&oi, c, NULL, &s);
    assert_int_equal(s.slowest, 5);
    assert_int_equal(s.time_us, 6000);
}

int main(void)
{
    const struct CMUnitTest all[] = {
        cmocka_unit_test(results_add_up_as_in_a_serial_run),
        cmocka_unit_test(a_parallel_run_reports_what_a_serial_run_reports),
        cmocka_unit_test(shares_add_up_to_the_whole),
        cmocka_unit_test(the_slowest_test_is_named),
    };

    return RUN(all);
}
