/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/clock.h"
#include "base/rand.h"
#include "unit.h"

static int64_t fake_real(void *arg)
{
    return *(int64_t *)arg;
}

static int64_t fake_mono(void *arg)
{
    return *(int64_t *)arg + 5;
}

static void a_test_can_put_its_own_clock_in_place(void **state)
{
    int64_t now = 1000;
    struct tr_clock fake = {.real_us = fake_real, .mono_us = fake_mono, .arg = &now};

    tr_clock_replace(&fake);
    assert_int_equal(tr_clock_real_us(), 1000);
    now = 2000;
    assert_int_equal(tr_clock_mono_us(), 2005);
    tr_clock_replace(NULL);
    assert_true(tr_clock_real_us() > INT64_C(1700000000000000));
    int64_t a = tr_clock_mono_us();
    assert_true(tr_clock_mono_us() >= a);
}

static void times_are_shown_in_utc_with_microseconds(void **state)
{
    char out[TR_TIME_TEXT];

    assert_string_equal(tr_clock_text(0, out), "1970-01-01T00:00:00.000000Z");
    assert_string_equal(tr_clock_text(INT64_C(2147483648) * 1000000 + 7, out),
                        "2038-01-19T03:14:08.000007Z");
    assert_string_equal(tr_clock_text(-1, out), "1969-12-31T23:59:59.999999Z");
    assert_string_equal(tr_clock_text(INT64_MAX, out), "9999-12-31T23:59:59.999999Z");
    assert_string_equal(tr_clock_text(INT64_MIN, out), "0000-01-01T00:00:00.000000Z");
}

static void a_seed_repeats_and_the_kernel_does_not(void **state)
{
    unsigned char a[24];
    unsigned char b[24];

    tr_random_seed_for_tests(7);
    tr_random_bytes(a, sizeof(a));
    tr_random_seed_for_tests(7);
    tr_random_bytes(b, sizeof(b));
    assert_memory_equal(a, b, sizeof(a));
    tr_random_restore();
    tr_random_bytes(a, sizeof(a));
    tr_random_bytes(b, sizeof(b));
    assert_memory_not_equal(a, b, sizeof(a));
}

static void below_stays_below_and_reaches_every_value(void **state)
{
    unsigned seen[10] = {0};

    for (int i = 0; i < 10000; i++) {
        uint64_t v = tr_random_below(10);

        assert_in_range(v, 0, 9);
        seen[v]++;
    }
    for (int i = 0; i < 10; i++)
        assert_in_range(seen[i], 700, 1300); /* 1000 expected; ten standard deviations away */
    assert_int_equal(tr_random_below(1), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_test_can_put_its_own_clock_in_place),
        cmocka_unit_test(times_are_shown_in_utc_with_microseconds),
        cmocka_unit_test(a_seed_repeats_and_the_kernel_does_not),
        cmocka_unit_test(below_stays_below_and_reaches_every_value),
    };
    return RUN(tests);
}
