/* SPDX-License-Identifier: MIT */
#include "base/cleanup.h"
#include "base/parse.h"
#include "unit.h"

#define BAD INT64_MIN /* the row must be refused */

static void whole_numbers_are_read_strictly(void **state)
{
    static const struct {
        const char *text;
        int64_t want;
    } rows[] = {
        {"0", 0},
        {"-0", 0},
        {"42", 42},
        {"-7", -7},
        {"007", 7},
        {"9223372036854775807", INT64_MAX},
        {"9223372036854775808", BAD},
        {"99999999999999999999999", BAD},
        {"", BAD},
        {"-", BAD},
        {"+1", BAD},
        {" 1", BAD},
        {"1 ", BAD},
        {"1.0", BAD},
        {"0x10", BAD},
        {"1e3", BAD},
        {"--1", BAD},
    };

    for (size_t i = 0; i < TR_ARRAY_LEN(rows); i++) {
        int64_t got = 4711;
        int r = tr_parse_i64(rows[i].text, INT64_MIN, INT64_MAX, &got, NULL);

        ROW(rows[i].text);
        assert_int_equal(r, rows[i].want == BAD ? TR_E_PARSE : 0);
        assert_int_equal(got, rows[i].want == BAD ? 4711 : rows[i].want);
    }
}

static void a_number_outside_its_range_is_refused_with_the_range(void **state)
{
    struct tr_err err = TR_ERR_INIT;
    int64_t v = 0;
    uint64_t u = 0;

    assert_int_equal(tr_parse_i64("11", 1, 10, &v, &err), TR_E_PARSE);
    assert_string_equal(err.msg, "11 is not between 1 and 10");
    assert_int_equal(tr_parse_u64("-1", 0, 10, &u, &err), TR_E_PARSE);
    assert_string_equal(err.msg, "'-1' is not a whole number from 0 to 10");
    assert_int_equal(tr_parse_u64("18446744073709551615", 0, UINT64_MAX, &u, &err), 0);
    assert_true(u == UINT64_MAX);
    assert_int_equal(tr_parse_u64("18446744073709551616", 0, UINT64_MAX, &u, &err), TR_E_PARSE);
}

static void sizes_are_powers_of_1024(void **state)
{
    static const struct {
        const char *text;
        int64_t want;
    } rows[] = {
        {"0", 0},
        {"512", 512},
        {"64K", 65536},
        {"256M", 268435456},
        {"256MB", 268435456},
        {"256MiB", 268435456},
        {"1.5G", 1610612736},
        {"0.5K", 512},
        {"1T", INT64_C(1) << 40},
        {"7B", 7},
        {"0.3", BAD},
        {"0.3K", BAD},
        {"256m", BAD},
        {"256 M", BAD},
        {"M", BAD},
        {"1.", BAD},
        {".5M", BAD},
        {"-1M", BAD},
        {"99999999T", BAD},
        {"1MM", BAD},
    };

    for (size_t i = 0; i < TR_ARRAY_LEN(rows); i++) {
        uint64_t got = 4711;
        int r = tr_parse_size(rows[i].text, 0, UINT64_MAX, &got, NULL);

        ROW(rows[i].text);
        assert_int_equal(r, rows[i].want == BAD ? TR_E_PARSE : 0);
        assert_int_equal(got, rows[i].want == BAD ? 4711 : rows[i].want);
    }
}

static void durations_need_a_unit(void **state)
{
    static const struct {
        const char *text;
        int64_t want;
    } rows[] = {
        {"0", 0},
        {"0.0", 0},
        {"10us", 10},
        {"250ms", 250000},
        {"1.5s", 1500000},
        {"2m", 120000000},
        {"1h", INT64_C(3600000000)},
        {"1d", INT64_C(86400000000)},
        {"0.000001s", 1},
        {"0.0000001s", BAD},
        {"5", BAD},
        {"5 s", BAD},
        {"5sec", BAD},
        {"-1s", BAD},
        {"1e3s", BAD},
        {"s", BAD},
        {"9999999999999d", BAD},
    };

    for (size_t i = 0; i < TR_ARRAY_LEN(rows); i++) {
        int64_t got = 4711;
        int r = tr_parse_duration_us(rows[i].text, 0, INT64_MAX, &got, NULL);

        ROW(rows[i].text);
        assert_int_equal(r, rows[i].want == BAD ? TR_E_PARSE : 0);
        assert_int_equal(got, rows[i].want == BAD ? 4711 : rows[i].want);
    }
}

static void factors_are_exact_thousandths(void **state)
{
    static const struct {
        const char *text;
        int64_t want;
    } rows[] = {
        {"1", 1000},     {"0.5", 500}, {"1.25", 1250}, {"2.500", 2500},
        {"0.0001", BAD}, {"x", BAD},   {"1,5", BAD},   {"-1", BAD},
    };

    for (size_t i = 0; i < TR_ARRAY_LEN(rows); i++) {
        int64_t got = 4711;
        int r = tr_parse_milli(rows[i].text, 0, 100000, &got, NULL);

        ROW(rows[i].text);
        assert_int_equal(r, rows[i].want == BAD ? TR_E_PARSE : 0);
        assert_int_equal(got, rows[i].want == BAD ? 4711 : rows[i].want);
    }
}

static void truth_has_eight_words(void **state)
{
    bool v = false;

    assert_int_equal(tr_parse_bool("yes", &v, NULL), 0);
    assert_true(v);
    assert_int_equal(tr_parse_bool("off", &v, NULL), 0);
    assert_false(v);
    assert_int_equal(tr_parse_bool("TRUE", &v, NULL), TR_E_PARSE);
    assert_int_equal(tr_parse_bool("", &v, NULL), TR_E_PARSE);
}

static void what_is_shown_parses_back_to_the_same(void **state)
{
    static const int64_t values[] = {0,           1,       999,      1000,       1500,
                                     1000000,     1234567, 90000000, 3600000000, 5400000000,
                                     86400000000, 1,       61000000, 1048576,    268435456};

    for (size_t i = 0; i < TR_ARRAY_LEN(values); i++) {
        char text[TR_HUMAN_MAX];
        int64_t us = -1;
        uint64_t bytes = 0;

        ROW(tr_format_duration_us(values[i], text));
        assert_int_equal(tr_parse_duration_us(text, 0, INT64_MAX, &us, NULL), 0);
        assert_int_equal(us, values[i]);
        tr_format_size((uint64_t)values[i], text);
        assert_int_equal(tr_parse_size(text, 0, UINT64_MAX, &bytes, NULL), 0);
        assert_int_equal(bytes, values[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_numbers_are_read_strictly),
        cmocka_unit_test(a_number_outside_its_range_is_refused_with_the_range),
        cmocka_unit_test(sizes_are_powers_of_1024),
        cmocka_unit_test(durations_need_a_unit),
        cmocka_unit_test(factors_are_exact_thousandths),
        cmocka_unit_test(truth_has_eight_words),
        cmocka_unit_test(what_is_shown_parses_back_to_the_same),
    };
    return RUN(tests);
}
