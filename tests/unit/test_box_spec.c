/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "box/spec.h"
#include "unit.h"

/* Both are too large for the stack. */
static union box_wire_any msg;
static struct box_run run;

static struct tbox_spec good_spec(const char *const *argv, const char *const *env)
{
    struct tbox_spec s = {.size = sizeof(s), .argv = argv, .env = env, .cpu = -1};

    tbox_limits_default(TBOX_RUN, &s.limits);
    return s;
}

static void what_is_written_is_read_back(void **state)
{
    const char *argv[] = {"./prog", "", "a b", NULL};
    const char *env[] = {"X=1", "PATH=/opt/bin", NULL};
    struct tbox_spec s = good_spec(argv, env);

    s.cpu = 3;
    s.flags = TBOX_KEEP_FILES;
    int64_t len = box_spec_write(&s, &msg, NULL);
    assert_true(len > 0);
    assert_int_equal(box_spec_read(&msg, (size_t)len, &run, NULL), 0);
    assert_int_equal(run.argc, 3);
    assert_string_equal(run.argv[0], "./prog");
    assert_string_equal(run.argv[1], "");
    assert_string_equal(run.argv[2], "a b");
    assert_null(run.argv[3]);
    assert_int_equal(run.cpu, 3);
    assert_int_equal(run.flags, TBOX_KEEP_FILES);
    assert_memory_equal(&run.limits, &s.limits, sizeof(s.limits));
    int paths = 0;
    int homes = 0;
    for (char **e = run.env; *e; e++) {
        paths += strcmp(*e, "PATH=/opt/bin") == 0;
        assert_string_not_equal(*e, "PATH=/usr/local/bin:/usr/bin:/bin");
        homes += strcmp(*e, "HOME=/w") == 0;
    }
    assert_int_equal(paths, 1);
    assert_int_equal(homes, 1);
}

static void ten_thousand_arguments_fit_and_more_are_refused(void **state)
{
    tr_autofree const char **argv = calloc(BOX_ARGS_MAX + 2, sizeof(*argv));
    struct tr_err err = TR_ERR_INIT;

    assert_non_null(argv);
    for (int i = 0; i < 10000; i++)
        argv[i] = "argument";
    struct tbox_spec s = good_spec(argv, NULL);
    int64_t len = box_spec_write(&s, &msg, NULL);
    assert_true(len > 0);
    assert_int_equal(box_spec_read(&msg, (size_t)len, &run, NULL), 0);
    assert_int_equal(run.argc, 10000);
    for (int i = 0; i < BOX_ARGS_MAX + 1; i++)
        argv[i] = "";
    argv[0] = "x";
    assert_int_equal(box_spec_write(&s, &msg, &err), TR_E_LIMIT);
    for (int i = 0; i < 16000; i++)
        argv[i] = "a longer argument";
    assert_int_equal(box_spec_write(&s, &msg, &err), TR_E_LIMIT);
}

static void a_spec_without_a_program_is_refused(void **state)
{
    const char *none[] = {NULL};
    const char *empty[] = {"", NULL};
    const char *good[] = {"x", NULL};
    const char *env[] = {"no-equals", NULL};
    struct tbox_spec s = good_spec(none, NULL);

    assert_int_equal(box_spec_write(&s, &msg, NULL), TR_E_USAGE);
    s.argv = empty;
    assert_int_equal(box_spec_write(&s, &msg, NULL), TR_E_USAGE);
    s.argv = NULL;
    assert_int_equal(box_spec_write(&s, &msg, NULL), TR_E_USAGE);
    s.argv = good;
    s.env = env;
    assert_int_equal(box_spec_write(&s, &msg, NULL), TR_E_USAGE);
    s.env = NULL;
    s.size = 1;
    assert_int_equal(box_spec_write(&s, &msg, NULL), TR_E_USAGE);
}

/* Each row breaks one field of a good message; every one must be refused. */
static void a_forged_spec_is_refused(void **state)
{
    static const struct {
        const char *label;
        size_t at;
        size_t size;
        uint64_t value;
    } rows[] = {
#define FIELD(f, v) {#f " = " #v, offsetof(struct box_wire_spec, f), sizeof(msg.spec.f), v}
        FIELD(head.magic, 0),
        FIELD(head.version, BOX_WIRE_VERSION + 1),
        FIELD(head.kind, BOX_PUT),
        FIELD(head.size, 1),
        FIELD(head.zero, 1),
        FIELD(cpu_us, 0),
        FIELD(cpu_us, UINT64_MAX),
        FIELD(wall_us, 0),
        FIELD(memory_bytes, 0),
        FIELD(memory_bytes, UINT64_MAX),
        FIELD(stack_bytes, 0),
        FIELD(output_bytes, 0),
        FIELD(file_bytes, 0),
        FIELD(pids, 0),
        FIELD(pids, UINT32_MAX),
        FIELD(open_files, 0),
        FIELD(idle_us, 1),
        FIELD(idle_us, UINT64_MAX),
        FIELD(cpu, 8192),
        FIELD(flags, 4),
        FIELD(flags, UINT32_MAX),
        FIELD(argc, 0),
        FIELD(argc, 99),
        FIELD(argc, UINT32_MAX),
        FIELD(envc, UINT32_MAX),
        FIELD(envc, 0),
        FIELD(strings_len, 0),
        FIELD(strings_len, UINT32_MAX),
        FIELD(zero, 1),
#undef FIELD
    };
    const char *argv[] = {"./prog", "arg", NULL};
    struct tbox_spec s = good_spec(argv, NULL);

    for (size_t i = 0; i < TR_ARRAY_LEN(rows); i++) {
        struct tr_err err = TR_ERR_INIT;
        int64_t len = box_spec_write(&s, &msg, NULL);

        ROW(rows[i].label);
        assert_int_equal(box_spec_read(&msg, (size_t)len, &run, &err), 0);
        memcpy(msg.bytes + rows[i].at, &rows[i].value, rows[i].size);
        assert_true(box_spec_read(&msg, (size_t)len, &run, &err) < 0);
        assert_int_equal(tr_err_class(err.code), TR_E_USAGE);
        assert_true(err.msg[0] != 0);
    }
}

static void a_cut_spec_is_refused_at_every_length(void **state)
{
    const char *argv[] = {"./prog", "arg", NULL};
    struct tbox_spec s = good_spec(argv, NULL);
    int64_t len = box_spec_write(&s, &msg, NULL);

    for (int64_t n = 0; n < len; n++)
        assert_true(box_spec_read(&msg, (size_t)n, &run, NULL) < 0);
}

static void names_stay_in_the_work_folder(void **state)
{
    static const struct {
        const char *name;
        int want;
    } rows[] = {{"prog", 0},        {"a b\n;-x", 0},      {"", TR_E_USAGE},
                {".", TR_E_USAGE},  {"..", TR_E_USAGE},   {"a/b", TR_E_USAGE},
                {"/x", TR_E_USAGE}, {"../x", TR_E_USAGE}, {"...", 0}};
    char longest[BOX_NAME_MAX + 1];

    for (size_t i = 0; i < TR_ARRAY_LEN(rows); i++) {
        ROW(rows[i].name);
        assert_int_equal(box_name_check(rows[i].name, NULL), rows[i].want);
    }
    memset(longest, 'x', sizeof(longest));
    longest[BOX_NAME_MAX] = 0;
    assert_int_equal(box_name_check(longest, NULL), TR_E_USAGE);
    longest[BOX_NAME_MAX - 1] = 0;
    assert_int_equal(box_name_check(longest, NULL), 0);
}

static void every_limit_has_a_floor_and_a_ceiling(void **state)
{
    struct tbox_limits good = {0};
    struct tr_err err = TR_ERR_INIT;

    for (int p = TBOX_RUN; p <= TBOX_CHECKER; p++) {
        tbox_limits_default((enum tbox_profile)p, &good);
        assert_int_equal(tbox_limits_check(&good, &err), 0);
    }
#define BREAKS(field, value)                                                                       \
    do {                                                                                           \
        struct tbox_limits bad = good;                                                             \
        bad.field = (value);                                                                       \
        ROW(#field " = " #value);                                                                  \
        assert_int_equal(tbox_limits_check(&bad, &err), TR_E_LIMIT);                               \
    } while (0)
    BREAKS(cpu_us, 0);
    BREAKS(cpu_us, -1);
    BREAKS(cpu_us, INT64_MAX);
    BREAKS(wall_us, 0);
    BREAKS(wall_us, INT64_MAX);
    BREAKS(memory_bytes, 0);
    BREAKS(memory_bytes, UINT64_MAX);
    BREAKS(stack_bytes, 4096);
    BREAKS(output_bytes, 0);
    BREAKS(file_bytes, 0);
    BREAKS(pids, 0);
    BREAKS(pids, 100000);
    BREAKS(open_files, 0);
    BREAKS(open_files, 100000);
#undef BREAKS
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read_back),
        cmocka_unit_test(ten_thousand_arguments_fit_and_more_are_refused),
        cmocka_unit_test(a_spec_without_a_program_is_refused),
        cmocka_unit_test(a_forged_spec_is_refused),
        cmocka_unit_test(a_cut_spec_is_refused_at_every_length),
        cmocka_unit_test(names_stay_in_the_work_folder),
        cmocka_unit_test(every_limit_has_a_floor_and_a_ceiling),
    };

    return RUN(tests);
}
