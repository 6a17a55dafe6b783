/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "queue/internal.h"
#include "unit.h"

/* The text that MySQL would get. */
static void expands_to(const char *sql, const struct tq_set *set, const char *want)
{
    TR_CLEANUP(tr_buf_done) struct tr_buf out;

    tr_buf_init(&out, 1000);
    tqi_expand(&out, sql, set);
    assert_int_equal(tr_buf_check(&out, "text", NULL), 0);
    assert_string_equal(out.data, want);
}

static void values_are_written_so_that_none_can_end_a_literal(void **state)
{
    const struct tq_val p[] = {tqi_int(INT64_MIN), tqi_text("a'; DROP TABLE x; -- \\"),
                               tqi_bytes("\0\xff", 2), tqi_bytes("", 0), tqi_text(NULL)};
    const struct tq_set set = {.extra = p, .nextra = 5};

    expands_to("VALUES (?1, ?2, ?3, ?4, ?5)", &set,
               "VALUES (-9223372036854775808, x'61273b2044524f50205441424c4520783b202d2d205c', "
               "x'00ff', '', NULL)");
}

static void a_value_that_looks_like_a_parameter_stays_a_value(void **state)
{
    const struct tq_val p[] = {tqi_text("?2"), tqi_text("/*each ,*/")};
    const struct tq_set set = {.extra = p, .nextra = 2};

    expands_to("?1 ?2", &set, "x'3f32' x'2f2a65616368202c2a2f'");
}

static void each_row_of_a_set_has_its_own_values(void **state)
{
    const struct tq_val cells[] = {tqi_int(1), tqi_text("a"), tqi_int(2), tqi_text(NULL)};
    const struct tq_val extra = tqi_int(9);
    const struct tq_set set = {
        .types = "it", .cells = cells, .nrows = 2, .extra = &extra, .nextra = 1};

    expands_to("V /*each , */(?1, ?2, ?3)/*end*/ W ?3", &set, "V (1, x'61', 9), (2, NULL, 9) W 9");
    expands_to("IN (/*each ,*/?1/*end*/) OR (/*each  OR */?2/*end*/)", &set,
               "IN (1,2) OR (x'61' OR NULL)");
}

static void what_is_no_parameter_stays_as_it_is(void **state)
{
    const struct tq_val one = tqi_int(1);
    const struct tq_set set = {.extra = &one, .nextra = 1};

    expands_to("a ? b ?0 c ?2 d ?99999999999999999999", &set,
               "a ? b ?0 c ?2 d ?99999999999999999999");
    expands_to("'what ?1' ?1 'it''s ?1'", &set, "'what ?1' 1 'it''s ?1'");
    expands_to("/*each ,*/no end ?1", &set, "/*each ,*/no end 1");
}

static void an_array_is_the_servers_binary_form(void **state)
{
    TR_CLEANUP(tr_buf_done) struct tr_buf out;
    const struct tq_val cells[] = {tqi_int(-2), tqi_text("ab"), tqi_int(3), tqi_text(NULL)};
    const struct tq_set set = {.types = "it", .cells = cells, .nrows = 2};
    static const char ints[] = "\0\0\0\1\0\0\0\1\0\0\0\24\0\0\0\2\0\0\0\1"
                               "\0\0\0\10\xff\xff\xff\xff\xff\xff\xff\xfe"
                               "\0\0\0\10\0\0\0\0\0\0\0\3";
    static const char texts[] = "\0\0\0\1\0\0\0\1\0\0\0\31\0\0\0\2\0\0\0\1"
                                "\0\0\0\2"
                                "ab\xff\xff\xff\xff";
    unsigned oid = 0;

    tr_buf_init(&out, 1000);
    tqi_pg_array(&out, &set, 0, &oid);
    assert_int_equal(oid, 1016);
    assert_int_equal(out.len, sizeof(ints) - 1);
    assert_memory_equal(out.data, ints, out.len);
    tr_buf_clear(&out);
    tqi_pg_array(&out, &set, 1, &oid);
    assert_int_equal(oid, 1009);
    assert_int_equal(out.len, sizeof(texts) - 1);
    assert_memory_equal(out.data, texts, out.len);
}

static void parameters_are_renumbered_but_not_inside_literals(void **state)
{
    TR_CLEANUP(tr_buf_done) struct tr_buf out;

    tr_buf_init(&out, 1000);
    tqi_renumber(&out, "a = ?1 AND b = '?2 it''s ?3' AND c ?? ?10");
    assert_string_equal(out.data, "a = $1 AND b = '?2 it''s ?3' AND c ?? $10");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_written_so_that_none_can_end_a_literal),
        cmocka_unit_test(a_value_that_looks_like_a_parameter_stays_a_value),
        cmocka_unit_test(each_row_of_a_set_has_its_own_values),
        cmocka_unit_test(what_is_no_parameter_stays_as_it_is),
        cmocka_unit_test(an_array_is_the_servers_binary_form),
        cmocka_unit_test(parameters_are_renumbered_but_not_inside_literals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
