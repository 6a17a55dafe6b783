/* SPDX-License-Identifier: MIT
 *
 * bench_judge.c - `tribunal bench judge` and `tribunal bench compile`.
 *
 * judge: a C++ A+B with 20 tests. How many submissions and tests a second when it is compiled
 * already, at one lane and at two; how long until the first verdict when nobody has seen it and
 * when somebody has; what one test costs beside a bare spawn of the same program.
 *
 * compile: plain, with precompiled headers, and kept, for each language that is usable here.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/rand.h"
#include "base/spawn.h"
#include "cli/bench.h"
#include "cli/slot.h"
#include "codec/json.h"

enum {
    TESTS = 20,
    SPAWNS = 100
};

struct options {
    struct slot_options slot; /* first: see cli_doc */
    int64_t rounds;
};

static const struct tr_conf_item items[] = {
    CLI_NUMBER("rounds", rounds, "5", 1, 1000, "how often to measure; medians are shown"),
};

static const struct cli_doc judge_doc = {
    .name = "tribunal bench judge",
    .usage = "[options]",
    .summary = "Judges a C++ A+B with 20 tests, compiled before and not.",
    .items = items,
    .count = TR_ARRAY_LEN(items),
    .slot = true,
};

static const struct cli_doc compile_doc = {
    .name = "tribunal bench compile",
    .usage = "[options]",
    .summary =
        "Compiles each language's small program plainly, with precompiled headers, and kept.",
    .items = items,
    .count = TR_ARRAY_LEN(items),
    .slot = true,
};

static const char a_plus_b[] = "#include <bits/stdc++.h>\n"
                               "int main()\n{\n    long long a, b;\n    std::cin >> a >> b;\n"
                               "    std::cout << a + b << std::endl;\n}\n";

struct bench {
    struct slot slot;
    const struct tr_lang *lang;
    struct tr_problem problem;
    struct tr_test tests[TESTS];
    struct tr_group group;
};

static void make_problem(struct bench *b)
{
    b->group = (struct tr_group){.name = "all"};
    for (size_t i = 0; i < TESTS; i++)
        b->tests[i] = (struct tr_test){.name = "t",
                                       .input_text = "20 22\n",
                                       .input_len = 6,
                                       .answer_text = "42\n",
                                       .answer_len = 3};
    b->problem = (struct tr_problem){.name = "A+B",
                                     .tests = b->tests,
                                     .ntests = TESTS,
                                     .groups = &b->group,
                                     .ngroups = 1,
                                     .code_max = TR_SOURCE_MAX};
    tr_limits_default(&b->problem.limits);
}

/* One submission; `unseen` puts a comment with a random number in front. */
static int judge_once(struct bench *b, bool unseen, struct tr_err *err)
{
    char code[512];
    struct tr_arena arena;
    struct tr_outcome o;

    (void)snprintf(code, sizeof(code), "// %016llx\n%s",
                   unseen ? (unsigned long long)tr_random_u64() : 0ULL, a_plus_b);
    struct tr_job job = {.code = code,
                         .code_len = strlen(code),
                         .lang = b->lang,
                         .problem = &b->problem,
                         .problem_dirfd = -1};
    tr_arena_init(&arena, 64 << 20);
    int r = tr_judge_run(b->slot.judge, &job, &arena, &o, err);
    if (r == 0 && o.score.verdict != TR_V_AC)
        r = tr_fail(err, TR_E_FATAL, 0, "the benchmark's own program is %s",
                    tr_verdict_id(o.score.verdict));
    tr_arena_done(&arena);
    return r;
}

static int open_bench(struct bench *b, const struct options *o, int64_t jobs, struct tr_err *err)
{
    struct slot_options so = o->slot;

    so.jobs = jobs;
    int r = slot_open(&b->slot, &so, err);
    if (r < 0)
        return r;
    make_problem(b);
    b->lang = tr_langs_find(tr_judge_langs(b->slot.judge), "cpp17");
    return b->lang ? 0 : tr_fail(err, TR_E_NOTFOUND, 0, "there is no language cpp17");
}

/* Submissions a second with `jobs` lanes, everything compiled before. */
static int throughput(const struct options *o, int64_t jobs, double *ret, struct tr_err *err)
{
    struct bench b = {0};
    double values[1000];
    int r = open_bench(&b, o, jobs, err);

    if (r == 0)
        r = judge_once(&b, false, err);
    for (int64_t i = 0; r == 0 && i < o->rounds; i++) {
        int64_t began = tr_clock_mono_us();

        r = judge_once(&b, false, err);
        values[i] = (double)(tr_clock_mono_us() - began) / 1000;
    }
    slot_close(&b.slot);
    if (r == 0)
        *ret = bench_quantile(values, (size_t)o->rounds, 0.5);
    return r;
}

/* One slot of several: its rate over all its rounds goes into the pipe. */
static int one_of_several(const struct options *o, int to, struct tr_err *err)
{
    struct bench b = {0};
    double rate = 0;
    int r = open_bench(&b, o, 1, err);

    if (r == 0)
        r = judge_once(&b, false, err);
    int64_t began = tr_clock_mono_us();
    for (int64_t i = 0; r == 0 && i < 2 * o->rounds; i++)
        r = judge_once(&b, false, err);
    if (r == 0)
        rate = (double)(2 * o->rounds) * 1e6 / (double)(tr_clock_mono_us() - began);
    slot_close(&b.slot);
    if (write(to, &rate, sizeof(rate)) != (ssize_t)sizeof(rate))
        return TR_E_IO;
    return r;
}

/* Submissions a second of `n` slots, each a process of its own as in a worker. */
static int slots_rate(const struct options *o, unsigned n, double *ret, struct tr_err *err)
{
    int ends[2];
    double sum = 0;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return tr_fail(err, TR_E_IO, errno, "make a pipe");
    tr_autoclose int from = ends[0], to = ends[1];
    for (unsigned i = 0; i < n; i++) {
        pid_t pid = fork();

        if (pid == 0)
            _exit(one_of_several(o, to, err) < 0 ? 1 : 0);
        if (pid < 0)
            return tr_fail(err, TR_E_IO, errno, "start a slot");
    }
    tr_close(&to);
    for (unsigned i = 0; i < n; i++) {
        double rate = 0;

        if (read(from, &rate, sizeof(rate)) != (ssize_t)sizeof(rate) || rate <= 0)
            return tr_fail(err, TR_E_FATAL, 0, "a slot failed");
        sum += rate;
        (void)wait(NULL);
    }
    *ret = sum;
    return 0;
}

/* From nothing (no box is open) to the verdict. */
static int first_verdict(const struct options *o, bool unseen, double *ret, struct tr_err *err)
{
    double values[1000];
    int r = 0;

    for (int64_t i = 0; r == 0 && i < o->rounds; i++) {
        struct bench b = {0};
        int64_t began = tr_clock_mono_us();

        r = open_bench(&b, o, 1, err);
        if (r == 0)
            r = judge_once(&b, unseen, err);
        values[i] = (double)(tr_clock_mono_us() - began) / 1000;
        slot_close(&b.slot);
    }
    if (r == 0)
        *ret = bench_quantile(values, (size_t)o->rounds, 0.5);
    return r;
}

/* Run a command to its end in `dir`; 0 when it ended well. */
static int spawn_wait(const char *const *argv, int dir, int in, struct tr_err *err)
{
    tr_autoclose int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    struct tr_spawn_fd fds[] = {{in >= 0 ? in : null, 0}, {null, 1}, {null, 2}};
    char *const *words = NULL;

    memcpy(&words, &argv, sizeof(words)); /* exec's old promise not to write, made good */
    struct tr_spawn what = {
        .path = argv[0], .argv = words, .fds = fds, .nfds = TR_ARRAY_LEN(fds), .cwd = dir};
    pid_t pid = 0;
    int status = 0;
    int r = tr_spawn(&what, &pid, NULL, err);

    if (r == 0)
        r = tr_spawn_wait(pid, &status, err);
    if (r == 0 && (!WIFEXITED(status) || WEXITSTATUS(status) != 0))
        r = tr_fail(err, TR_E_FATAL, 0, "'%s' failed", argv[0]);
    return r;
}

/* What plain g++ -O2 takes to compile it, and what a bare spawn of the result takes. */
static int bare(const struct options *o, double *ret_compile, double *ret_spawn, struct tr_err *err)
{
    static const char *const compile[] = {"/usr/bin/g++", "-O2", "-o", "main", "main.cpp", NULL};
    static const char *const fixed[] = {"/usr/bin/g++", "-O2",      "-static", "-o",
                                        "main",         "main.cpp", NULL};
    static const char *const run[] = {"./main", NULL};
    tr_autofree char *path = NULL;
    tr_autoclose int dir = -1;
    double values[1000];
    int r = tr_fs_temp_dir("bench", &path, &dir, err);

    if (r < 0)
        return r;
    r = tr_fs_replace(dir, "main.cpp", a_plus_b, strlen(a_plus_b), 0644, err);
    if (r == 0)
        r = tr_fs_replace(dir, "in", "20 22\n", 6, 0644, err);
    int64_t rounds = o->rounds < 3 ? o->rounds : 3;
    for (int64_t i = 0; r == 0 && i < rounds; i++) {
        int64_t began = tr_clock_mono_us();

        r = spawn_wait(compile, dir, -1, err);
        values[i] = (double)(tr_clock_mono_us() - began) / 1000;
    }
    *ret_compile = bench_quantile(values, (size_t)rounds, 0.5);
    if (r == 0)
        r = spawn_wait(fixed, dir, -1, err); /* linked as the judge links it */
    for (int64_t i = 0; r == 0 && i < SPAWNS; i++) {
        tr_autoclose int in = openat(dir, "in", O_RDONLY | O_CLOEXEC);
        int64_t began = tr_clock_mono_us();

        r = spawn_wait(run, dir, in, err);
        values[i] = (double)(tr_clock_mono_us() - began) / 1000;
    }
    *ret_spawn = bench_quantile(values, SPAWNS, 0.5);
    (void)tr_fs_remove_tree(AT_FDCWD, path, NULL);
    return r;
}

struct numbers {
    double one, lanes; /* ms of a submission with one and two lanes */
    double slots[2];   /* submissions a second of one and two slots */
    double unseen, seen, plain, spawn;
};

static int measure(const struct options *o, struct numbers *n, struct tr_err *err)
{
    struct bench b = {0};
    int r = open_bench(&b, o, 1, err);

    if (r == 0)
        r = tr_judge_warm(b.slot.judge, b.lang, err);
    slot_close(&b.slot);
    if (r >= 0)
        r = bare(o, &n->plain, &n->spawn, err);
    if (r == 0)
        r = throughput(o, 1, &n->one, err);
    if (r == 0)
        r = throughput(o, 2, &n->lanes, err);
    for (unsigned i = 0; r == 0 && i < 2; i++)
        r = slots_rate(o, i + 1, &n->slots[i], err);
    if (r == 0)
        r = first_verdict(o, true, &n->unseen, err);
    if (r == 0)
        r = first_verdict(o, false, &n->seen, err);
    return r;
}

static json_t *slots_json(double rate)
{
    return json_pack("{s:f, s:f}", "submissions_per_s", rate, "tests_per_s", TESTS * rate);
}

static void show_json(const struct numbers *n)
{
    TR_CLEANUP(tr_json_unrefp)
    json_t *j = json_pack(
        "{s:s, s:i, s:o, s:o, s:f, s:f, s:{s:f, s:f, s:f, s:f}, s:f, s:f, s:f}", "bench", "judge",
        "tests", TESTS, "one_slot", slots_json(n->slots[0]), "two_slots", slots_json(n->slots[1]),
        "submission_ms", n->one, "submission_two_lanes_ms", n->lanes, "first_verdict", "unseen_ms",
        n->unseen, "seen_ms", n->seen, "plain_compile_ms", n->plain, "unseen_over_plain_compile",
        n->unseen / n->plain, "test_ms", n->one / TESTS, "bare_spawn_ms", n->spawn,
        "test_over_bare_spawn", n->one / TESTS / n->spawn);

    if (j)
        (void)json_dumpf(j, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(5));
    (void)putchar('\n');
}

static void show(const struct numbers *n)
{
    (void)printf("A+B, %d tests, compiled before\n"
                 "  1 slot   %6.1f submissions/s  %7.0f tests/s\n"
                 "  2 slots  %6.1f submissions/s  %7.0f tests/s\n"
                 "  one submission %.1f ms, with two lanes %.1f ms\n"
                 "first verdict\n"
                 "  unseen   %7.1f ms, plain g++ -O2 alone %.1f ms: %.2f of it\n"
                 "  seen     %7.1f ms\n"
                 "one test   %7.2f ms, bare spawn of the same program %.2f ms: %.2f of it\n",
                 TESTS, n->slots[0], TESTS * n->slots[0], n->slots[1], TESTS * n->slots[1], n->one,
                 n->lanes, n->unseen, n->plain, n->unseen / n->plain, n->seen, n->one / TESTS,
                 n->spawn, n->one / TESTS / n->spawn);
}

int bench_judge(int argc, char **argv)
{
    TR_CLEANUP(cli_end) struct cli_run run;
    struct options o = {0};
    struct tr_err err = TR_ERR_INIT;
    struct numbers n = {0};
    int code = CLI_OK;

    if (!cli_begin(&run, &judge_doc, &o, argc, argv, &code))
        return code;
    if (measure(&o, &n, &err) < 0)
        return cli_fail(&run, &err);
    if (o.slot.json)
        show_json(&n);
    else
        show(&n);
    return CLI_OK;
}

/* ---- compile */

enum how {
    PLAIN,
    HEADERS,
    KEPT
};

/* Median wall milliseconds of compiling the language's own program in the box. */
static int compile_ms(const struct options *o, const char *slug, enum how how, double *ret,
                      struct tr_err *err)
{
    TR_CLEANUP(slot_close) struct slot s = {0};
    struct slot_options so = o->slot;
    double values[1000];

    so.no_pch = how == PLAIN;
    so.no_cache = how != KEPT;
    so.jobs = 1;
    int r = slot_open(&s, &so, err);
    if (r < 0)
        return r;
    const struct tr_lang *lang = tr_langs_find(tr_judge_langs(s.judge), slug);
    for (int64_t i = -1; r == 0 && i < o->rounds; i++) {
        struct tr_compile_report report;
        struct tr_arena arena;
        int64_t began = tr_clock_mono_us();

        tr_arena_init(&arena, 8 << 20);
        r = tr_judge_compile(s.judge, lang, lang->selftest, strlen(lang->selftest), &arena, &report,
                             err);
        tr_arena_done(&arena);
        if (i >= 0) /* the first one opens the box and warms the page cache */
            values[i] = (double)(tr_clock_mono_us() - began) / 1000;
    }
    if (r == 0)
        *ret = bench_quantile(values, (size_t)o->rounds, 0.5);
    return r;
}

static int bench_language(const struct options *o, const struct tr_lang *lang, json_t *list,
                          struct tr_err *err)
{
    double ms[3] = {0, 0, 0};
    int r = compile_ms(o, lang->slug, PLAIN, &ms[PLAIN], err);

    if (r == 0 && lang->pch)
        r = compile_ms(o, lang->slug, HEADERS, &ms[HEADERS], err);
    if (r == 0)
        r = compile_ms(o, lang->slug, KEPT, &ms[KEPT], err);
    if (r < 0)
        return r;
    if (!o->slot.json) {
        (void)printf("%-11s plain %8.1f ms", lang->slug, ms[PLAIN]);
        if (lang->pch)
            (void)printf("  precompiled headers %8.1f ms", ms[HEADERS]);
        (void)printf("  kept %6.2f ms\n", ms[KEPT]);
        (void)fflush(stdout);
        return 0;
    }
    json_t *row = json_pack("{s:s, s:f, s:o, s:f}", "language", lang->slug, "plain_ms", ms[PLAIN],
                            "precompiled_ms", lang->pch ? json_real(ms[HEADERS]) : json_null(),
                            "cached_ms", ms[KEPT]);
    (void)json_array_append_new(list, row);
    return 0;
}

int bench_compile(int argc, char **argv)
{
    TR_CLEANUP(cli_end) struct cli_run run;
    TR_CLEANUP(slot_close) struct slot s = {0};
    TR_CLEANUP(tr_json_unrefp) json_t *list = json_array();
    struct options o = {0};
    struct tr_err err = TR_ERR_INIT;
    int code = CLI_OK;

    if (!cli_begin(&run, &compile_doc, &o, argc, argv, &code))
        return code;
    if (slot_open(&s, &o.slot, &err) < 0)
        return cli_fail(&run, &err);
    const struct tr_langs *langs = tr_judge_langs(s.judge);
    for (size_t i = 0; i < langs->count; i++) {
        const struct tr_lang *lang = &langs->list[i];
        char version[128];

        if (lang->compile.count == 0 ||
            tr_judge_version(s.judge, lang, version, sizeof(version), &err) < 0)
            continue;
        if (tr_judge_warm(s.judge, lang, &err) < 0 || bench_language(&o, lang, list, &err) < 0)
            return cli_fail(&run, &err);
    }
    if (o.slot.json) {
        TR_CLEANUP(tr_json_unrefp)
        json_t *j = json_pack("{s:s, s:O}", "bench", "compile", "languages", list);

        (void)json_dumpf(j, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(5));
        (void)putchar('\n');
    }
    return CLI_OK;
}
