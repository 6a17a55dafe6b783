/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/cleanup.h"
#include "base/utf8.h"
#include "unit.h"

static void only_well_formed_text_is_valid(void **state)
{
    static const struct {
        const char *label;
        const char *text;
        bool valid;
    } rows[] = {
        {"empty", "", true},
        {"ascii", "abc", true},
        {"two to four bytes", "\xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80", true},
        {"last code point", "\xf4\x8f\xbf\xbf", true},
        {"past the last", "\xf4\x90\x80\x80", false},
        {"overlong slash", "\xc0\xaf", false},
        {"overlong, three bytes", "\xe0\x80\xaf", false},
        {"overlong, four bytes", "\xf0\x80\x80\xaf", false},
        {"surrogate", "\xed\xa0\x80", false},
        {"lone tail", "\x80", false},
        {"cut short", "\xe4\xb8", false},
        {"latin-1", "caf\xe9", false},
        {"five bytes", "\xf8\x88\x80\x80\x80", false},
    };

    for (size_t i = 0; i < TR_ARRAY_LEN(rows); i++) {
        ROW(rows[i].label);
        assert_int_equal(tr_utf8_valid(rows[i].text, strlen(rows[i].text)), rows[i].valid);
    }
}

static void a_cut_never_splits_a_character(void **state)
{
    const char *s = "a\xe4\xb8\xad\xf0\x9f\x98\x80";

    assert_int_equal(tr_utf8_cut(s, 8, 100), 8);
    assert_int_equal(tr_utf8_cut(s, 8, 8), 8);
    assert_int_equal(tr_utf8_cut(s, 8, 7), 4);
    assert_int_equal(tr_utf8_cut(s, 8, 4), 4);
    assert_int_equal(tr_utf8_cut(s, 8, 3), 1);
    assert_int_equal(tr_utf8_cut(s, 8, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_well_formed_text_is_valid),
        cmocka_unit_test(a_cut_never_splits_a_character),
    };
    return RUN(tests);
}
