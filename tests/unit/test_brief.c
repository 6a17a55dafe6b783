/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "codec/brief.h"
#include "codec/json.h"
#include "unit.h"

static json_t *parse(const char *text)
{
    json_t *j = NULL;

    assert_int_equal(tr_json_parse(text, strlen(text), 1 << 20, &j, NULL), 0);
    return j;
}

static void a_result_in_a_line(void **state)
{
    static const struct {
        const char *label, *result, *brief;
    } rows[] = {
        {"whole",
         "{\"accepted_test\":1,\"total_test\":3,\"limits\":{\"time_ms\":1000,\"memory_kb\":64},"
         "\"cases\":[{\"id\":1,\"status\":\"AC\"},{\"id\":2,\"status\":\"TLE\"},"
         "{\"id\":3,\"status\":\"SK\"}]}",
         "{\"accepted_test\":1,\"total_test\":3,\"time_limit_ms\":1000,\"memory_limit_kb\":64,"
         "\"strip\":\"ATS\"}"},
        {"no tests", "{\"verdict\":\"CE\"}",
         "{\"accepted_test\":0,\"total_test\":0,\"time_limit_ms\":0,\"memory_limit_kb\":0,"
         "\"strip\":\"\"}"},
        {"lies",
         "{\"accepted_test\":-5,\"total_test\":\"x\",\"limits\":7,\"cases\":[{\"id\":0},{\"id\":-1}"
         ","
         "{\"id\":99999999},7,{\"id\":2,\"status\":\"\\\"\"}]}",
         "{\"accepted_test\":0,\"total_test\":0,\"time_limit_ms\":0,\"memory_limit_kb\":0,"
         "\"strip\":\"..\"}"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char brief[TR_BRIEF_MAX];
        json_t *j = parse(rows[i].result);

        tr_result_brief(j, brief);
        assert_string_equal(brief, rows[i].brief);
        json_decref(j);
    }
}

static void a_strip_grows_to_its_ceiling_and_no_further(void **state)
{
    char strip[TR_STRIP_MAX + 1] = "";

    (void)state;
    for (int i = 1; i <= TR_STRIP_MAX + 10; i++) {
        json_t *cases = json_pack("[{s:i, s:s}]", "id", i, "status", "WA");

        tr_strip_cases(strip, cases);
        json_decref(cases);
    }
    assert_int_equal(strlen(strip), TR_STRIP_MAX);
    assert_int_equal(strspn(strip, "W"), TR_STRIP_MAX);
}

static void an_event_leaves_out_what_is_large(void **state)
{
    json_t *whole = parse("{\"cases\":[{\"id\":1,\"status\":\"AC\"}],\"groups\":[],\"run\":{},"
                          "\"compile\":{\"log\":\"x\",\"cached\":true},\"time_ms\":3}");
    json_t *slim = tr_result_slim(whole);
    json_t *want = parse("{\"strip\":\"A\",\"compile\":{\"cached\":true},\"time_ms\":3}");

    (void)state;
    assert_true(json_equal(slim, want));
    assert_non_null(json_object_get(json_object_get(whole, "compile"), "log"));
    json_decref(whole);
    json_decref(slim);
    json_decref(want);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_result_in_a_line),
        cmocka_unit_test(a_strip_grows_to_its_ceiling_and_no_further),
        cmocka_unit_test(an_event_leaves_out_what_is_large),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
