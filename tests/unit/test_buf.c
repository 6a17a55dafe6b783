/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "unit.h"

static void bytes_arrive_in_order_and_end_in_a_zero(void **state)
{
    struct tr_buf b;

    tr_buf_init(&b, 1000);
    tr_buf_adds(&b, "one ");
    tr_buf_addc(&b, '2');
    tr_buf_addf(&b, " %s %d", "three", 4);
    tr_buf_add(&b, "\0x", 2);
    assert_int_equal(b.len, 15);
    assert_memory_equal(b.data, "one 2 three 4\0x", 16);
    assert_int_equal(tr_buf_check(&b, "text", NULL), 0);
    tr_buf_eat(&b, 4);
    assert_memory_equal(b.data, "2 three 4\0x", 12);
    tr_buf_done(&b);
}

static void exactly_the_ceiling_fits_and_one_more_does_not(void **state)
{
    struct tr_err err = TR_ERR_INIT;
    struct tr_buf b;

    tr_buf_init(&b, 300);
    for (int i = 0; i < 300; i++)
        tr_buf_addc(&b, 'x');
    assert_int_equal(tr_buf_check(&b, "text", &err), 0);
    tr_buf_addc(&b, 'y');
    assert_int_equal(tr_buf_check(&b, "the answer", &err), TR_E_LIMIT);
    assert_string_equal(err.msg, "the answer is larger than 300 bytes");
    assert_int_equal(b.len, 300);
    tr_buf_done(&b);
}

static void a_failure_sticks_until_cleared(void **state)
{
    struct tr_buf b;

    tr_buf_init(&b, 4);
    tr_buf_adds(&b, "12345");
    tr_buf_adds(&b, "1");
    assert_int_equal(b.len, 0);
    assert_null(tr_buf_take(&b));
    tr_buf_clear(&b);
    tr_buf_adds(&b, "1");
    assert_int_equal(tr_buf_check(&b, "text", NULL), 0);
    tr_buf_done(&b);
}

static void taking_an_empty_buffer_gives_an_empty_text(void **state)
{
    struct tr_buf b;

    tr_buf_init(&b, 0);
    char *s = tr_buf_take(&b);
    assert_string_equal(s, "");
    free(s);
    tr_buf_done(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_arrive_in_order_and_end_in_a_zero),
        cmocka_unit_test(exactly_the_ceiling_fits_and_one_more_does_not),
        cmocka_unit_test(a_failure_sticks_until_cleared),
        cmocka_unit_test(taking_an_empty_buffer_gives_an_empty_text),
    };
    return RUN(tests);
}
