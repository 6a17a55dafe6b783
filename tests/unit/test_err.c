/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "unit.h"

static void failing_fills_code_and_sentence(void **state)
{
    struct tr_err err = TR_ERR_INIT;

    assert_int_equal(tr_fail(&err, TR_E_IO, ENOENT, "open '%s'", "x"), TR_E_IO);
    assert_int_equal(err.code, TR_E_IO);
    assert_int_equal(err.sys, ENOENT);
    assert_string_equal(err.msg, "open 'x': No such file or directory");
}

static void a_missing_error_object_is_fine(void **state)
{
    assert_int_equal(tr_fail(NULL, TR_E_LOST, 0, "x"), TR_E_LOST);
}

static void a_long_sentence_is_cut_not_overrun(void **state)
{
    struct tr_err err = TR_ERR_INIT;
    char text[2 * TR_ERR_MSG_MAX];

    memset(text, 'a', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    tr_fail(&err, TR_E_IO, ENOENT, "%s", text);
    assert_int_equal(strlen(err.msg), TR_ERR_MSG_MAX - 1);
    tr_fail_wrap(&err, "%s", text);
    assert_int_equal(strlen(err.msg), TR_ERR_MSG_MAX - 1);
}

static void wrapping_puts_the_context_first(void **state)
{
    struct tr_err err = TR_ERR_INIT;

    tr_fail(&err, TR_E_PARSE, 0, "not a number");
    assert_int_equal(tr_fail_wrap(&err, "%s:%d", "conf.yaml", 3), TR_E_PARSE);
    assert_string_equal(err.msg, "conf.yaml:3: not a number");
}

static void every_code_has_the_class_that_says_what_to_do(void **state)
{
    static const struct {
        const char *label;
        int code;
        const char *class_name;
    } rows[] = {
        {"success", 0, "ok"},
        {"a count", 7, "ok"},
        {"retry", TR_E_RETRY, "retry"},
        {"busy", TR_E_BUSY, "retry"},
        {"out of memory", TR_E_NOMEM, "retry"},
        {"timeout", TR_E_TIMEOUT, "retry"},
        {"abort", TR_E_ABORT, "abort"},
        {"lost", TR_E_LOST, "lost"},
        {"unsure", TR_E_UNSURE, "unsure"},
        {"parse", TR_E_PARSE, "usage"},
        {"limit", TR_E_LIMIT, "usage"},
        {"not found", TR_E_NOTFOUND, "usage"},
        {"exists", TR_E_EXISTS, "usage"},
        {"io", TR_E_IO, "fatal"},
        {"denied", TR_E_DENIED, "fatal"},
        {"unsupported", TR_E_UNSUPPORTED, "fatal"},
        {"a code nobody knows", -12345, "fatal"},
    };

    for (size_t i = 0; i < TR_ARRAY_LEN(rows); i++) {
        ROW(rows[i].label);
        assert_string_equal(tr_err_class_name(rows[i].code), rows[i].class_name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(failing_fills_code_and_sentence),
        cmocka_unit_test(a_missing_error_object_is_fine),
        cmocka_unit_test(a_long_sentence_is_cut_not_overrun),
        cmocka_unit_test(wrapping_puts_the_context_first),
        cmocka_unit_test(every_code_has_the_class_that_says_what_to_do),
    };
    return RUN(tests);
}
