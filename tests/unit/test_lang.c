/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "judge/lang.h"
#include "unit.h"

static int parse(const char *text, struct tr_arena *a, struct tr_lang *l, struct tr_err *err)
{
    const struct tr_yaml *root = NULL;
    int r = tr_yaml_parse(text, strlen(text), "x.yaml", a, &root, err);

    return r < 0 ? r : tr_lang_parse(root, "x", "x.yaml", a, l, err);
}

#define MIN "name: X\nsource: main.x\nrun: [./main]\nversion: [x]\n"

static void a_language_file_is_read_strictly(void **state)
{
    static const struct {
        const char *text;
        const char *says; /* NULL: good */
    } rows[] = {
        {MIN, NULL},
        {MIN "compile: [x, -o, main]\nartifact: main\n", NULL},
        {MIN "compile: [[x, a], [y, b]]\n", "compile"},
        {MIN "memory_extra: 192M\ntime_factor: 2.5\npids: 128\n", NULL},
        {MIN "colour: red\n", "has no 'colour'"},
        {MIN "time_factor: 0\n", "time_factor"},
        {MIN "pids: 100000\n", "pids"},
        {MIN "compile: x\n", "compile"},
        {"name: X\nsource: ../main\nrun: [x]\nversion: [x]\n", "source"},
        {"name: X\n", "needs name"},
    };

    for (size_t i = 0; i < TR_ARRAY_LEN(rows); i++) {
        struct tr_err err = TR_ERR_INIT;
        struct tr_arena a;
        struct tr_lang l;

        ROW(rows[i].text);
        tr_arena_init(&a, 1 << 22);
        int r = parse(rows[i].text, &a, &l, &err);
        assert_int_equal(r == 0, rows[i].says == NULL);
        if (rows[i].says)
            assert_non_null(strstr(err.msg, rows[i].says));
        tr_arena_done(&a);
    }
}

static void our_own_files_are_good(void **state)
{
    static const char *const expected[] = {"c11",        "cpp17",  "cpp20",   "go",  "java17",
                                           "javascript", "pascal", "python3", "rust"};
    const char *folder = getenv("TRIBUNAL_LANGUAGES");
    struct tr_err err = TR_ERR_INIT;
    struct tr_arena a;
    struct tr_langs l;

    assert_non_null(folder);
    tr_arena_init(&a, 1 << 24);
    if (tr_langs_load(folder, &a, &l, &err) < 0)
        fail_msg("%s", err.msg);
    for (size_t i = 0; i < TR_ARRAY_LEN(expected); i++) {
        const struct tr_lang *lang = tr_langs_find(&l, expected[i]);

        ROW(expected[i]);
        assert_non_null(lang);
        assert_non_null(lang->selftest);
    }
    assert_string_equal(tr_langs_by_name(&l, "a/b.cpp")->slug, "cpp17");
    assert_string_equal(tr_langs_by_name(&l, "x.py")->slug, "python3");
    assert_null(tr_langs_by_name(&l, "a.d/b"));
    assert_null(tr_langs_by_name(&l, "x.unknown"));
    tr_arena_done(&a);
}

static void holes_in_commands_are_filled(void **state)
{
    const char *words[] = {"java", "-Xmx{memory_mib}m", "{other}", NULL};
    struct tr_argv argv = {.words = words, .count = 3};
    struct tr_arena a;

    tr_arena_init(&a, 1 << 16);
    const char **got = tr_lang_words(&argv, 256 * 1024, 64 * 1024, &a);
    assert_string_equal(got[1], "-Xmx256m");
    assert_string_equal(got[2], "{other}");
    assert_null(got[3]);
    tr_arena_done(&a);
}

static void a_tasks_commands_replace_ours(void **state)
{
    const char *run[] = {"./prog", NULL}, *compile[] = {"cc", "x.c", NULL};
    struct tr_lang known = {.slug = "c11",
                            .source = "main.c",
                            .artifact = "main",
                            .time_milli = 1000,
                            .memory_milli = 1000,
                            .pids = 64,
                            .pch = "h"};
    struct tr_lang task = {.slug = "c11",
                           .source = "x.c",
                           .run = {run, 1},
                           .compile = {compile, 2},
                           .time_milli = 2000};
    struct tr_lang l;

    tr_lang_merge(&known, &task, true, &l);
    assert_string_equal(l.artifact, "prog");
    assert_string_equal(l.source, "x.c");
    assert_int_equal(l.time_milli, 2000);
    assert_int_equal(l.pids, 64);
    assert_null(l.pch);
    tr_lang_merge(&known, &(struct tr_lang){.slug = "c11", .time_milli = 3000}, false, &l);
    assert_string_equal(l.artifact, "main");
    assert_int_equal(l.time_milli, 3000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_language_file_is_read_strictly),
        cmocka_unit_test(our_own_files_are_good),
        cmocka_unit_test(holes_in_commands_are_filled),
        cmocka_unit_test(a_tasks_commands_replace_ours),
    };

    return RUN(tests);
}
