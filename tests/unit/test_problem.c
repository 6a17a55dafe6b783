/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fs.h"
#include "judge/problem.h"
#include "unit.h"

/* A package as "path=content" lines; what problem_read makes of it as one line of text. */
struct pack {
    char *path;
    int fd;
};

static struct pack make(const char *const *files)
{
    struct pack p = {.fd = -1};

    assert_int_equal(tr_fs_temp_dir("problem", &p.path, &p.fd, NULL), 0);
    for (; *files; files++) {
        const char *eq = strchr(*files, '=');
        char name[256];

        (void)snprintf(name, sizeof(name), "%.*s", (int)(eq - *files), *files);
        char *slash = strrchr(name, '/');
        if (slash) {
            *slash = 0;
            assert_int_equal(tr_fs_mkdirs(p.fd, name, 0755, NULL), 0);
            *slash = '/';
        }
        tr_autoclose int f = openat(p.fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
        assert_int_equal(tr_fs_write_all(f, eq + 1, strlen(eq + 1), NULL), 0);
    }
    return p;
}

static void drop(struct pack *p)
{
    (void)tr_fs_remove_tree(AT_FDCWD, p->path, NULL);
    (void)close(p->fd);
    free(p->path);
}

/* "format; scoring; group(points,rule): test test; …" */
static void tell(const struct tr_problem *p, char *out, size_t size)
{
    size_t n = (size_t)snprintf(out, size, "%s; %s", p->format,
                                p->scoring == TR_SCORING_OI ? "oi" : "acm");

    for (size_t g = 0; g < p->ngroups; g++) {
        const struct tr_group *group = &p->groups[g];

        n += (size_t)snprintf(
            out + n, size - n, "; %s(%lld %s%s", group->name, (long long)(group->points / TR_POINT),
            group->rule == TR_GROUP_MIN ? "min" : "sum", group->stop ? " stop" : "");
        for (size_t k = 0; k < group->nneeds; k++)
            n += (size_t)snprintf(out + n, size - n, " <%s", p->groups[group->needs[k]].name);
        n += (size_t)snprintf(out + n, size - n, "):");
        for (size_t t = 0; t < p->ntests; t++) {
            if (p->tests[t].group == g)
                n += (size_t)snprintf(out + n, size - n, " %s", p->tests[t].name);
        }
    }
}

static const struct {
    const char *label;
    const char *files[12];
    const char *want; /* what is told, or a piece of the refusal after "!" */
} rows[] = {
    {"plain",
     {"1.in=", "1.out=", "2.in=", "2.ans=", "10.in=", "10.out="},
     "folder; acm; all(100 sum): 1 2 10"},
    {"input1.txt",
     {"input1.txt=", "output1.txt=", "input2.txt=", "output2.txt="},
     "folder; acm; all(100 sum): 1 2"},
    {"sum.in3",
     {"sum.in1=", "sum.out1=", "sum.in2=", "sum.ou2="},
     "folder; acm; all(100 sum): sum1 sum2"},
    {"subtasks by name",
     {"1-1.in=", "1-1.out=", "1-2.in=", "1-2.out=", "2-1.in=", "2-1.out="},
     "folder; oi; 1(50 min stop): 1-1 1-2; 2(50 min stop): 2-1"},
    {"sample subtask 0",
     {"0-1.in=", "0-1.out=", "1-1.in=", "1-1.out="},
     "folder; oi; 0(0 min stop): 0-1; 1(100 min stop): 1-1"},
    {"in a single folder", {"ab/1.in=", "ab/1.out="}, "folder; acm; all(100 sum): 1"},
    {"in testdata",
     {"testdata/1.in=", "testdata/1.out=", "README=x"},
     "folder; acm; all(100 sum): 1"},
    {"groups of problem.yaml",
     {"1-1.in=", "1-1.out=", "2-1.in=", "2-1.out=",
      "problem.yaml=groups:\n- {name: 1, points: 30, rule: sum}\n- {name: 2, points: 70, needs: "
      "[1]}\n"},
     "folder; oi; 1(30 sum): 1-1; 2(70 min stop <1): 2-1"},
    {"no tests", {"README=x"}, "!no tests"},
    {"no answer", {"1.in=", "1.out=", "2.in="}, "!has no answer"},
    {"unknown key", {"1.in=", "1.out=", "problem.yaml=time_limt: 5\n"}, "!has no 'time_limt'"},
    {"bad limit", {"1.in=", "1.out=", "problem.yaml=time_limit: 0\n"}, "!time_limit"},
    {"circle of needs",
     {"1-1.in=", "1-1.out=", "problem.yaml=groups: [{name: 1, needs: [1]}]\n"},
     "!come before"},
    {"checker missing",
     {"1.in=", "1.out=", "problem.yaml=checker: {type: testlib, source: c.cpp}\n"},
     "!there is no 'c.cpp'"},
    {"kattis legacy",
     {"problem.yaml=name: x\n", "data/sample/1.in=", "data/sample/1.ans=", "data/secret/b.in=",
      "data/secret/b.ans=", "data/secret/a/z.in=", "data/secret/a/z.ans="},
     "kattis legacy; acm; sample(0 sum): sample/1; secret(0 sum): secret/a/z secret/b"},
    {"kattis legacy scoring",
     {"problem.yaml=type: scoring\n", "data/secret/g1/1.in=", "data/secret/g1/1.ans=",
      "data/secret/g1/testdata.yaml=grader_flags: min\naccept_score: 40\n", "data/secret/g2/1.in=",
      "data/secret/g2/1.ans=", "data/secret/g2/testdata.yaml=accept_score: 60\n"},
     "kattis legacy; oi; g1(40 min stop): secret/g1/1; g2(60 sum): secret/g2/1"},
    {"kattis icpc",
     {"problem.yaml=problem_format_version: legacy-icpc\n",
      "data/secret/1.in=", "data/secret/1.ans="},
     "kattis legacy-icpc; acm; secret(0 sum): secret/1"},
    {"kattis 2025-09 scoring",
     {"problem.yaml=problem_format_version: 2025-09\ntype: scoring\nname: x\nuuid: y\n",
      "data/sample/1.in=", "data/sample/1.ans=", "data/secret/g1/1.in=", "data/secret/g1/1.ans=",
      "data/secret/g1/test_group.yaml=max_score: 30\n",
      "data/secret/g2/1.in=", "data/secret/g2/1.ans=",
      "data/secret/g2/test_group.yaml=max_score: 70\nrequire_pass: [sample, "
      "g1]\nscore_aggregation: sum\n"},
     "kattis 2025-09; oi; sample(0 sum): sample/1; g1(30 min stop): secret/g1/1; g2(70 sum <sample "
     "<g1): secret/g2/1"},
    {"2025-09 unknown key",
     {"problem.yaml=problem_format_version: 2025-09\nvalidation: custom\n",
      "data/secret/1.in=", "data/secret/1.ans="},
     "!has no 'validation'"},
    {"unknown version",
     {"problem.yaml=problem_format_version: 2030-01\n", "data/secret/1.in=", "data/secret/1.ans="},
     "!expected legacy"},
    {"kattis without answer", {"problem.yaml=name: x\n", "data/secret/1.in="}, "!has no answer"},
    {"validator missing",
     {"problem.yaml=validation: custom\n", "data/secret/1.in=", "data/secret/1.ans="},
     "!output_validators/"},
    {"multi-pass",
     {"problem.yaml=problem_format_version: 2025-09\ntype: multi-pass\n",
      "data/secret/1.in=", "data/secret/1.ans="},
     "!not supported"},
};

static void packages_are_read_as_people_mean_them(void **state)
{
    for (size_t i = 0; i < TR_ARRAY_LEN(rows); i++) {
        struct tr_err err = TR_ERR_INIT;
        struct pack pk = make(rows[i].files);
        tr_autoclose int in = -1;
        struct tr_problem p;
        struct tr_arena a;
        char told[1024] = "";

        ROW(rows[i].label);
        tr_arena_init(&a, TR_PROBLEM_ARENA_MAX);
        int r = tr_problem_read(pk.fd, &a, &p, &in, NULL, &err);
        if (rows[i].want[0] == '!') {
            assert_true(r < 0);
            if (!strstr(err.msg, rows[i].want + 1))
                fail_msg("'%s' does not say '%s'", err.msg, rows[i].want + 1);
        } else {
            if (r < 0)
                fail_msg("%s", err.msg);
            tell(&p, told, sizeof(told));
            assert_string_equal(told, rows[i].want);
        }
        tr_arena_done(&a);
        drop(&pk);
    }
}

static void a_link_is_not_followed(void **state)
{
    static const char *const files[] = {"1.in=", "1.out=", NULL};
    struct tr_err err = TR_ERR_INIT;
    struct pack pk = make(files);
    tr_autoclose int in = -1;
    struct tr_problem p;
    struct tr_arena a;

    assert_int_equal(symlinkat("/etc", pk.fd, "data"), 0);
    assert_int_equal(symlinkat("/etc/passwd", pk.fd, "problem.yaml"), 0);
    tr_arena_init(&a, TR_PROBLEM_ARENA_MAX);
    assert_int_equal(tr_problem_read(pk.fd, &a, &p, &in, NULL, &err), 0);
    assert_string_equal(p.format, "folder");
    assert_string_equal(p.name, "");
    tr_arena_done(&a);
    drop(&pk);
}

static void limits_have_the_units_of_their_format(void **state)
{
    static const char *const plain[] = {
        "1.in=", "1.out=", "problem.yaml=time_limit: 1500\nmemory_limit: 64\noutput_limit: 128\n",
        NULL};
    static const char *const kattis[] = {
        "problem.yaml=problem_format_version: 2025-09\nname: x\nuuid: y\nlimits: {time_limit: 2.5, "
        "memory: 128, output: 1}\n",
        "data/secret/1.in=", "data/secret/1.ans=", NULL};
    struct tr_err err = TR_ERR_INIT;
    struct tr_problem p;

    for (int k = 0; k < 2; k++) {
        struct pack pk = make(k ? kattis : plain);
        tr_autoclose int in = -1;
        struct tr_arena a;

        tr_arena_init(&a, TR_PROBLEM_ARENA_MAX);
        assert_int_equal(tr_problem_read(pk.fd, &a, &p, &in, NULL, &err), 0);
        assert_int_equal(p.limits.time_us, k ? 2500000 : 1500000);
        assert_int_equal(p.limits.memory_kib, (k ? 128 : 64) * 1024);
        assert_int_equal(p.limits.output_bytes, k ? 1024 * 1024 : 128 * 1024);
        tr_arena_done(&a);
        drop(&pk);
    }
}

static void the_special_judge_is_found_by_its_name(void **state)
{
    static const char *const files[] = {"1.in=", "1.out=", "spj.c=x", NULL};
    static const char *const none[] = {"1.in=", "1.out=", NULL};
    struct tr_err err = TR_ERR_INIT;
    struct pack pk = make(files), bare = make(none);
    struct tr_problem p = {0};
    struct tr_arena a;

    tr_arena_init(&a, TR_PROBLEM_ARENA_MAX);
    assert_int_equal(tr_problem_find_spj(pk.fd, &a, &p, &err), 0);
    assert_int_equal(p.checker.kind, TR_CHECKER_QDUOJ);
    assert_string_equal(p.checker.source, "spj.c");
    p = (struct tr_problem){0};
    assert_int_equal(tr_problem_find_spj(bare.fd, &a, &p, &err), TR_E_NOTFOUND);
    tr_arena_done(&a);
    drop(&pk);
    drop(&bare);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packages_are_read_as_people_mean_them),
        cmocka_unit_test(a_link_is_not_followed),
        cmocka_unit_test(limits_have_the_units_of_their_format),
        cmocka_unit_test(the_special_judge_is_found_by_its_name),
    };

    return RUN(tests);
}
