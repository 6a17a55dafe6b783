/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "codec/task.h"
#include "unit.h"

#define SEED                                                                                       \
    "{\"submit_id\":\"uuid-1\",\"idempotency_key\":\"k\",\"problem\":{\"id\":1,\"title\":\"A+B\"," \
    "\"time_limit\":1000,\"memory_limit\":256,\"stack_limit\":64,\"is_spj\":false,"                \
    "\"test_data_zip\":\"minio://bucket/testdata/1.zip\"},\"language\":{\"id\":1,\"slug\":"        \
    "\"cpp17\",\"source_filename\":\"main.cpp\",\"compile_cmd\":[\"g++\",\"-o\",\"main\","         \
    "\"main.cpp\"],\"run_cmd\":[\"./main\"],\"docker_image\":\"oj-runner-cpp17\","                 \
    "\"time_factor\":1.5,\"memory_factor\":1.0,\"output_limit\":65536,\"pids_limit\":64},"         \
    "\"code\":\"int main\",\"contest\":{\"id\":1,\"type\":\"ACM\"},\"user\":{\"id\":1},"           \
    "\"retry_count\":0,\"created_at\":\"2024-01-01T10:00:00Z\"}"

static int parse(const char *text, struct tr_arena *a, struct tr_task *t, struct tr_err *err)
{
    tr_arena_init(a, 1 << 20);
    return tr_task_parse(text, strlen(text), a, t, err);
}

static void the_seeds_message_is_understood(void **state)
{
    struct tr_err err = TR_ERR_INIT;
    struct tr_arena a;
    struct tr_task t;

    assert_int_equal(parse(SEED, &a, &t, &err), 0);
    assert_string_equal(t.submit_id, "uuid-1");
    assert_int_equal(t.problem.limits.time_us, 1000000);
    assert_int_equal(t.problem.limits.memory_kib, 256 * 1024);
    assert_int_equal(t.problem.limits.stack_kib, 64 * 1024);
    assert_true(t.has_lang);
    assert_int_equal(t.lang.compile.count, 4);
    assert_string_equal(t.lang.run.words[0], "./main");
    assert_int_equal(t.lang.time_milli, 1500);
    assert_int_equal(t.lang.output_bytes, 65536 * 1024);
    assert_string_equal(t.contest, "{\"id\":1,\"type\":\"ACM\"}");
    tr_arena_done(&a);
}

/* The seed's message with one piece replaced. */
static int with(const char *from, const char *to, struct tr_arena *a, struct tr_task *t,
                struct tr_err *err)
{
    char text[4096];
    const char *at = strstr(SEED, from);

    assert_non_null(at);
    (void)snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - SEED), SEED, to, at + strlen(from));
    return parse(text, a, t, err);
}

static void bad_values_are_refused_with_their_name(void **state)
{
    static const struct {
        const char *from, *to, *says;
    } rows[] = {
        {"\"time_limit\":1000", "\"time_limit\":0", "problem.time_limit"},
        {"\"time_limit\":1000", "\"time_limit\":60001", "problem.time_limit"},
        {"\"time_limit\":1000", "\"time_limit\":\"1000\"", "problem.time_limit"},
        {"\"time_limit\":1000", "\"time_limit\":1000.5", "problem.time_limit"},
        {"\"memory_limit\":256", "\"memory_limit\":16385", "problem.memory_limit"},
        {"\"submit_id\":\"uuid-1\",", "", "submit_id"},
        {"\"submit_id\":\"uuid-1\"", "\"submit_id\":\"../x\"", "submit_id"},
        {"\"code\":\"int main\"", "\"code\":7", "code"},
        {"\"run_cmd\":[\"./main\"]", "\"run_cmd\":[]", "run_cmd"},
        {"\"run_cmd\":[\"./main\"]", "\"run_cmd\":[1]", "run_cmd"},
        {"\"source_filename\":\"main.cpp\"", "\"source_filename\":\"../main.cpp\"",
         "source_filename"},
        {"\"source_filename\":\"main.cpp\"", "\"source_filename\":\"-o\"", "source_filename"},
        {"\"slug\":\"cpp17\"", "\"slug\":null", "slug"},
        {"\"time_factor\":1.5", "\"time_factor\":0", "time_factor"},
        {"\"retry_count\":0", "\"retry_count\":0,\"retry_count\":1", "duplicate"},
        {"\"is_spj\":false", "\"is_spj\":0", "is_spj"},
        {"\"test_data_zip\"", "\"test_data_hash\":\"abc\",\"test_data_zip\"", "test_data_hash"},
        {"}}", "}} x", NULL},
    };

    for (size_t i = 0; i < TR_ARRAY_LEN(rows); i++) {
        struct tr_err err = TR_ERR_INIT;
        struct tr_arena a;
        struct tr_task t;

        if (!rows[i].says)
            continue;
        ROW(rows[i].to);
        assert_true(with(rows[i].from, rows[i].to, &a, &t, &err) < 0);
        if (!strstr(err.msg, rows[i].says))
            fail_msg("'%s' does not name %s", err.msg, rows[i].says);
        tr_arena_done(&a);
    }
}

static void a_name_with_its_unit_wins(void **state)
{
    struct tr_err err = TR_ERR_INIT;
    struct tr_arena a;
    struct tr_task t;

    assert_int_equal(
        with("\"time_limit\":1000", "\"time_limit\":1000,\"time_limit_ms\":1500", &a, &t, &err), 0);
    assert_int_equal(t.problem.limits.time_us, 1500000);
    tr_arena_done(&a);
    assert_int_equal(with("\"memory_limit\":256", "\"memory_limit\":256,\"memory_limit_kib\":4096",
                          &a, &t, &err),
                     0);
    assert_int_equal(t.problem.limits.memory_kib, 4096);
    tr_arena_done(&a);
}

static void tests_may_come_inside(void **state)
{
    struct tr_err err = TR_ERR_INIT;
    struct tr_arena a;
    struct tr_task t;

    assert_int_equal(with("\"is_spj\":false",
                          "\"test_cases\":[{\"input\":\"1 2\\n\",\"expected_output\":\"3\\n\","
                          "\"score\":40},{\"expected_output\":\"\",\"score\":60}]",
                          &a, &t, &err),
                     0);
    assert_int_equal(t.problem.ntests, 2);
    assert_int_equal(t.problem.tests[0].input_len, 4);
    assert_int_equal(t.problem.tests[1].points, 60 * TR_POINT);
    assert_true(t.problem.has_scores);
    tr_arena_done(&a);
    assert_true(with("\"is_spj\":false", "\"test_cases\":[{\"input\":\"1\"}]", &a, &t, &err) < 0);
    tr_arena_done(&a);
}

static void a_deep_message_is_refused(void **state)
{
    struct tr_err err = TR_ERR_INIT;
    struct tr_arena a;
    struct tr_task t;
    char deep[10000];

    memset(deep, '[', sizeof(deep));
    deep[sizeof(deep) - 1] = 0;
    assert_int_equal(parse(deep, &a, &t, &err), TR_E_PARSE);
    tr_arena_done(&a);
}

static void the_result_has_the_seeds_names(void **state)
{
    static const struct tr_lang lang = {.slug = "cpp17"};
    static struct tr_test tests[] = {{.name = "1"}, {.name = "2"}};
    static struct tr_group groups[] = {{.name = "all"}};
    static const struct tr_problem p = {
        .tests = tests, .ntests = 2, .groups = groups, .ngroups = 1, .scoring = TR_SCORING_ACM};
    static struct tr_case cases[2] = {
        {.verdict = TR_V_AC,
         .share = TR_SHARE_FULL,
         .facts = {.cpu_us = 124001, .memory_kib = 35840}},
        {.verdict = TR_V_WA, .message = "bad \xff byte", .message_len = 10}};
    struct tr_group_score gs[1];
    struct tr_score s;
    struct tr_limits l = {.time_us = 1000000};
    struct tr_compile_report c = {.ran = true, .log = "warning"};

    tr_score_sum(&p, cases, gs, &s);
    struct tr_result_view v = {.submit_id = "u",
                               .problem = &p,
                               .lang = &lang,
                               .limits = &l,
                               .cases = cases,
                               .groups = gs,
                               .score = &s,
                               .compile = &c};
    json_t *j = tr_result_json(&v);
    tr_autofree char *text = json_dumps(j, JSON_COMPACT | JSON_SORT_KEYS);
    static const char *const want[] = {
        "\"type\":\"result\"", "\"submit_id\":\"u\"",  "\"status\":\"FINISHED\"",
        "\"score\":0",         "\"accepted_test\":1",  "\"total_test\":2",
        "\"time_ms\":125",     "\"memory_kb\":35840",  "\"status\":\"AC\"",
        "\"status\":\"WA\"",   "\"timestamp\":\"1970", "bad \xef\xbf\xbd byte"};

    for (size_t i = 0; i < TR_ARRAY_LEN(want); i++) {
        ROW(want[i]);
        assert_non_null(strstr(text, want[i]));
    }
    json_decref(j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_seeds_message_is_understood),
        cmocka_unit_test(bad_values_are_refused_with_their_name),
        cmocka_unit_test(a_name_with_its_unit_wins),
        cmocka_unit_test(tests_may_come_inside),
        cmocka_unit_test(a_deep_message_is_refused),
        cmocka_unit_test(the_result_has_the_seeds_names),
    };

    return RUN(tests);
}
