/* SPDX-License-Identifier: MIT */
#include "base/cleanup.h"
#include "model/verdict.h"
#include "unit.h"

static void one_test_has_the_precedence_of_the_design(void **state)
{
    static const struct tr_limits l = {
        .time_us = 1000000, .wall_us = 3000000, .memory_kib = 1024, .output_bytes = 100, .pids = 1};
    static const struct {
        const char *label;
        struct tr_run_facts f;
        enum tr_verdict v;
        enum tr_subcode s;
    } rows[] = {
        {"clean exit", {.cause = TR_CAUSE_EXIT}, TR_V_AC, TR_SUB_NONE},
        {"exit code 1", {.cause = TR_CAUSE_EXIT, .exit_code = 1}, TR_V_RTE, TR_SUB_NONE},
        {"signal", {.cause = TR_CAUSE_SIGNAL, .signal = 11}, TR_V_RTE, TR_SUB_NONE},
        {"its own SIGKILL", {.cause = TR_CAUSE_SIGNAL, .signal = 9}, TR_V_RTE, TR_SUB_NONE},
        {"forbidden call", {.cause = TR_CAUSE_SYSCALL, .signal = 31}, TR_V_RTE, TR_SUB_SV},
        {"CPU deadline", {.cause = TR_CAUSE_CPU, .cpu_us = 1000001}, TR_V_TLE, TR_SUB_NONE},
        {"exactly the limit", {.cause = TR_CAUSE_EXIT, .cpu_us = 1000000}, TR_V_AC, TR_SUB_NONE},
        {"one microsecond more", {.cause = TR_CAUSE_EXIT, .cpu_us = 1000001}, TR_V_TLE, 0},
        {"wall", {.cause = TR_CAUSE_WALL, .wall_us = 3000001}, TR_V_TLE, TR_SUB_WTL},
        {"both wait", {.cause = TR_CAUSE_IDLE}, TR_V_TLE, TR_SUB_ILE},
        {"killed for memory", {.cause = TR_CAUSE_MEMORY}, TR_V_MLE, TR_SUB_NONE},
        {"peak over the limit", {.cause = TR_CAUSE_EXIT, .memory_kib = 1025}, TR_V_MLE, 0},
        {"memory before output", {.cause = TR_CAUSE_OUTPUT, .memory_kib = 1025}, TR_V_MLE, 0},
        {"output before CPU", {.cause = TR_CAUSE_OUTPUT, .cpu_us = 1000001}, TR_V_OLE, 0},
        {"CPU before wall", {.cause = TR_CAUSE_WALL, .cpu_us = 1000001}, TR_V_TLE, TR_SUB_NONE},
        {"file ceiling", {.cause = TR_CAUSE_FILES, .signal = 25}, TR_V_RTE, TR_SUB_NONE},
    };

    for (size_t i = 0; i < TR_ARRAY_LEN(rows); i++) {
        enum tr_subcode s = TR_SUB_PC;

        ROW(rows[i].label);
        assert_int_equal(tr_verdict_of_run(&rows[i].f, &l, &s), rows[i].v);
        assert_int_equal(s, rows[i].s);
    }
}

static void every_verdict_has_its_id_and_a_sentence(void **state)
{
    for (int v = TR_V_AC; v <= TR_V_SK; v++) {
        assert_int_equal(tr_verdict_parse(tr_verdict_id((enum tr_verdict)v)), v);
        assert_true(tr_verdict_text((enum tr_verdict)v, TR_SUB_NONE)[0]);
        assert_true(tr_verdict_text((enum tr_verdict)v, TR_SUB_CTL)[0]);
    }
    assert_int_equal(tr_verdict_parse("XX"), TR_V_NONE);
}

static void time_over_the_limit_never_reads_as_the_limit(void **state)
{
    assert_int_equal(tr_ms_up(0), 0);
    assert_int_equal(tr_ms_up(1), 1);
    assert_int_equal(tr_ms_up(1000), 1);
    assert_int_equal(tr_ms_up(1000001), 1001);
}

static void a_limit_outside_its_range_is_refused(void **state)
{
    struct tr_err err = TR_ERR_INIT;
    struct tr_limits l;

    tr_limits_default(&l);
    assert_int_equal(tr_limits_check(&l, &err), 0);
    l.time_us = 0;
    assert_int_equal(tr_limits_check(&l, &err), TR_E_LIMIT);
    tr_limits_default(&l);
    l.time_us = 60000001;
    assert_int_equal(tr_limits_check(&l, &err), TR_E_LIMIT);
    tr_limits_default(&l);
    l.memory_kib = 16 * 1024 * 1024 + 1;
    assert_int_equal(tr_limits_check(&l, &err), TR_E_LIMIT);
    tr_limits_default(&l);
    l.output_bytes = 0;
    assert_int_equal(tr_limits_check(&l, &err), TR_E_LIMIT);
}

static void wall_and_stack_follow_from_time_and_memory(void **state)
{
    struct tr_limits l;

    tr_limits_default(&l);
    tr_limits_scale(&l, 2500, 1500);
    tr_limits_finish(&l);
    assert_int_equal(l.time_us, 2500000);
    assert_int_equal(l.wall_us, 6000000);
    assert_int_equal(l.memory_kib, 384 * 1024);
    assert_int_equal(l.stack_kib, 384 * 1024);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_test_has_the_precedence_of_the_design),
        cmocka_unit_test(every_verdict_has_its_id_and_a_sentence),
        cmocka_unit_test(time_over_the_limit_never_reads_as_the_limit),
        cmocka_unit_test(a_limit_outside_its_range_is_refused),
        cmocka_unit_test(wall_and_stack_follow_from_time_and_memory),
    };

    return RUN(tests);
}
