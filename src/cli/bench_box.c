/* SPDX-License-Identifier: MIT
 *
 * bench_box.c - `tribunal bench box`: what a run in the box costs beside a bare one.
 *
 * Bare is posix_spawn + wait4 of the very same file with the same input. Contenders take turns in
 * small blocks, so a machine that slows down slows them all; the ratio is the median over the
 * rounds of (median of the box's block / median of the bare block). Isolate and go-judge take part
 * where they are installed (bench_isolate.c, bench_gojudge.c).
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/spawn.h"
#include "cli/bench.h"
#include "cli/bench_rivals.h"
#include "cli/cli.h"
#include "tribunal/box.h"

enum {
    BLOCK = 16,
    ROUNDS_MAX = 1000,
    WARM = 8
};

enum who {
    BARE,
    BOX,
    ISOLATE,
    GO_JUDGE,
    WHO
};

static const char *const who_names[WHO] = {"bare", "box", "isolate", "go-judge"};
static const char *const who_keys[WHO] = {"bare", "box", "isolate", "go_judge"};

struct options {
    bool json;
    int64_t rounds;
    int cgroup;
    int userns;
};

static const char *const cgroups[] = {"auto", "v2", "v1", "hybrid", "none", NULL};
static const char *const userns[] = {"auto", "always", "never", NULL};

static const struct tr_conf_item items[] = {
    CLI_FLAG("json", json, "one JSON document instead of a table"),
    CLI_NUMBER("rounds", rounds, "20", 1, ROUNDS_MAX, "rounds of 16 runs for each contender"),
    CLI_CHOICE("cgroup", cgroup, "auto", cgroups, "which cgroups the box uses"),
    CLI_CHOICE("userns", userns, "auto", userns, "whether the box has a user namespace"),
};

static const struct cli_doc doc = {
    .name = "tribunal bench box",
    .usage = "[--rounds N] [--json]",
    .summary = "Runs a static hello and a dynamic C++ A+B, bare and in the box, in turns, and\n"
               "prints medians and their ratio. Needs cc and c++. isolate (in PATH) and go-judge\n"
               "(in PATH, or the file that TRIBUNAL_GO_JUDGE names) take their turns too where\n"
               "they are installed; their answers are checked like ours.",
    .items = items,
    .count = TR_ARRAY_LEN(items),
};

/* A program to run, and what it must print. */
struct load {
    const char *name;
    const char *source;
    const char *suffix;
    char *compiler[8];
    const char *input;
    const char *output;
    char path[256];
};

struct result {
    double us[WHO][ROUNDS_MAX * BLOCK]; /* every run */
    size_t n[WHO];
    double round_median[WHO][ROUNDS_MAX];
    double per_s[3]; /* with 1 and 2 boxes at once */
};

struct bench {
    const struct options *opt;
    char *dir;
    int dirfd;
    tbox *box;
    struct bench_isolate *isolate;  /* NULL: not installed */
    struct bench_gojudge *go_judge; /* the same */
    int null;
};

static int compile(struct bench *b, struct load *l, struct tr_err *err)
{
    TR_CLEANUP(tr_buf_done) struct tr_buf out;
    char source[256];
    char *argv[12];
    size_t n = 0;

    tr_buf_init(&out, 4096);
    (void)snprintf(source, sizeof(source), "%s/%s.%s", b->dir, l->name, l->suffix);
    (void)snprintf(l->path, sizeof(l->path), "%s/%s", b->dir, l->name);
    for (; l->compiler[n]; n++)
        argv[n] = l->compiler[n];
    char o[] = "-o";
    argv[n++] = o;
    argv[n++] = l->path;
    argv[n++] = source;
    argv[n] = NULL;
    int fd = open(source, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0)
        return tr_fail(err, TR_E_IO, errno, "write '%s'", source);
    int r = tr_fs_write_all(fd, l->source, strlen(l->source), err);
    tr_close(&fd);
    if (r == 0)
        r = tr_spawn_capture(argv, 60000000, &out, err);
    if (r > 0)
        return tr_fail(err, TR_E_FATAL, 0, "%s failed: %.200s", argv[0], out.data ? out.data : "");
    return r;
}

static int open_input(const struct load *l, int null)
{
    char path[300];

    if (!l->input)
        return fcntl(null, F_DUPFD_CLOEXEC, 3);
    (void)snprintf(path, sizeof(path), "%s.in", l->path);
    return open(path, O_RDONLY | O_CLOEXEC);
}

static int write_input(const struct load *l, struct tr_err *err)
{
    char path[300];

    if (!l->input)
        return 0;
    (void)snprintf(path, sizeof(path), "%s.in", l->path);
    tr_autoclose int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0)
        return tr_fail(err, TR_E_IO, errno, "write '%s'", path);
    return tr_fs_write_all(fd, l->input, strlen(l->input), err);
}

/* posix_spawn + wait4 and nothing else: the floor. */
static int spawn_once(const struct bench *b, char *const *argv, int in, struct tr_err *err)
{
    posix_spawn_file_actions_t fa;
    struct rusage ru;
    int status = 0;
    pid_t pid = 0;

    (void)posix_spawn_file_actions_init(&fa);
    (void)posix_spawn_file_actions_adddup2(&fa, in, 0);
    (void)posix_spawn_file_actions_adddup2(&fa, b->null, 1);
    int e = posix_spawnp(&pid, argv[0], &fa, NULL, argv, environ);
    (void)posix_spawn_file_actions_destroy(&fa);
    if (e != 0)
        return tr_fail(err, TR_E_IO, e, "start '%s'", argv[0]);
    while (wait4(pid, &status, 0, &ru) < 0 && errno == EINTR)
        continue;
    return status == 0 ? 0 : tr_fail(err, TR_E_FATAL, 0, "'%s' failed", argv[0]);
}

static int box_once(tbox *box, const struct load *l, int in, struct tr_err *err)
{
    const char *argv[] = {"./prog", NULL};
    struct tbox_report report;
    struct tbox_spec spec = {.size = sizeof(spec), .argv = argv, .fd = {in, -1, -1}, .cpu = -1};

    tbox_limits_default(TBOX_RUN, &spec.limits);
    int r = tbox_run(box, &spec, &report, err);
    if (r < 0)
        return r;
    if (report.cause != TBOX_EXIT || report.exit_code != 0 ||
        report.written_bytes != strlen(l->output))
        return tr_fail(err, TR_E_FATAL, 0, "'%s' went wrong in the box: %s", l->name, report.note);
    return 0;
}

static int once(struct bench *b, enum who who, struct load *l, struct tr_err *err)
{
    char *argv[] = {l->path, NULL};
    tr_autoclose int in = open_input(l, b->null);

    if (in < 0)
        return tr_fail(err, TR_E_IO, errno, "open input of '%s'", l->name);
    if (who == BARE)
        return spawn_once(b, argv, in, err);
    if (who == BOX)
        return box_once(b->box, l, in, err);
    if (who == ISOLATE)
        return bench_isolate_run(b->isolate, in, err);
    return bench_gojudge_run(b->go_judge, err);
}

static int put_program(tbox *box, const struct load *l, struct tr_err *err)
{
    tr_autoclose int fd = open(l->path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return tr_fail(err, TR_E_IO, errno, "open '%s'", l->path);
    return tbox_put(box, fd, "prog", 0555, err);
}

static int block(struct bench *b, enum who who, struct load *l, struct result *res, int64_t round,
                 struct tr_err *err)
{
    double us[BLOCK];

    for (int i = 0; i < BLOCK; i++) {
        int64_t before = tr_clock_mono_us();
        int r = once(b, who, l, err);

        if (r < 0)
            return r;
        us[i] = (double)(tr_clock_mono_us() - before);
        if (round >= 0)
            res->us[who][res->n[who]++] = us[i];
    }
    if (round >= 0)
        res->round_median[who][round] = bench_quantile(us, BLOCK, 0.5);
    return 0;
}

static int open_box(const struct options *o, tbox **ret, struct tr_err *err)
{
    struct tbox_options options = {.size = sizeof(options),
                                   .cgroup = (enum tbox_cgroup)o->cgroup,
                                   .userns = (enum tbox_userns)o->userns};

    return tbox_open(&options, ret, err);
}

/* `n` processes, each with a box of its own, as many runs as in the blocks together. */
static int throughput(struct bench *b, struct load *l, int n, double *ret, struct tr_err *err)
{
    const int64_t runs = b->opt->rounds * BLOCK / 2 + 1;
    int64_t longest = 0;
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0)
        return tr_fail(err, TR_E_IO, errno, "pipe");
    for (int i = 0; i < n; i++) {
        pid_t pid = fork();

        if (pid < 0)
            return tr_fail(err, TR_E_IO, errno, "fork");
        if (pid > 0)
            continue;
        struct bench mine = *b;
        struct tr_err why = TR_ERR_INIT;
        int64_t took = -1;
        int r = open_box(b->opt, &mine.box, &why);
        if (r == 0)
            r = put_program(mine.box, l, &why);
        int64_t before = tr_clock_mono_us();
        for (int64_t k = 0; r == 0 && k < runs; k++)
            r = once(&mine, BOX, l, &why);
        if (r == 0)
            took = tr_clock_mono_us() - before;
        (void)!write(ends[1], &took, sizeof(took));
        tbox_close(mine.box);
        _exit(0);
    }
    tr_close(&ends[1]);
    for (int i = 0; i < n; i++) {
        int64_t took = -1;

        if (read(ends[0], &took, sizeof(took)) != (ssize_t)sizeof(took) || took < 0)
            longest = -1;
        if (longest >= 0 && took > longest)
            longest = took;
        (void)wait(NULL);
    }
    tr_close(&ends[0]);
    if (longest <= 0)
        return tr_fail(err, TR_E_FATAL, 0, "a box failed while several ran");
    *ret = (double)runs * n * 1e6 / (double)longest;
    return 0;
}

static bool takes_part(const struct bench *b, enum who who)
{
    return who == ISOLATE ? b->isolate != NULL : who == GO_JUDGE ? b->go_judge != NULL : true;
}

static int rounds(struct bench *b, struct load *l, struct result *res, struct tr_err *err)
{
    const struct bench_program program = {
        .path = l->path, .input = l->input, .output = l->output, .dir = b->dirfd};
    int r = bench_isolate_open(&program, &b->isolate, err);

    if (r == 0)
        r = bench_gojudge_open(&program, &b->go_judge, err);
    for (int64_t round = -1; r == 0 && round < b->opt->rounds; round++) { /* -1: warm up */
        for (int w = 0; r == 0 && w < WHO; w++) {
            if (takes_part(b, (enum who)w))
                r = block(b, (enum who)w, l, res, round, err);
        }
    }
    bench_isolate_close(b->isolate);
    bench_gojudge_close(b->go_judge);
    b->isolate = NULL;
    b->go_judge = NULL;
    return r;
}

static int measure(struct bench *b, struct load *l, struct result *res, struct tr_err *err)
{
    int r = compile(b, l, err);

    if (r == 0)
        r = write_input(l, err);
    if (r == 0)
        r = put_program(b->box, l, err);
    if (r == 0)
        r = rounds(b, l, res, err);
    for (int n = 1; r == 0 && n <= 2; n++)
        r = throughput(b, l, n, &res->per_s[n], err);
    return r;
}

static double ratio(const struct result *res, enum who a, enum who b, size_t rounds)
{
    static double each[ROUNDS_MAX];

    for (size_t i = 0; i < rounds; i++)
        each[i] = res->round_median[a][i] / res->round_median[b][i];
    return bench_quantile(each, rounds, 0.5);
}

static void print_json(const struct bench *b, const struct load *l, struct result *res, bool last)
{
    size_t n = (size_t)b->opt->rounds;
    double p99 = bench_quantile(res->us[BOX], res->n[BOX], 0.99);
    double bare99 = bench_quantile(res->us[BARE], res->n[BARE], 0.99);

    (void)printf("\"%s\":{\"bare_us\":%.1f,\"box_us\":%.1f,\"ratio\":%.3f,\"p99_ratio\":%.3f,"
                 "\"bare_p99_us\":%.1f,\"box_p99_us\":%.1f,\"runs_per_s_1\":%.0f,"
                 "\"runs_per_s_2\":%.0f",
                 l->name, bench_quantile(res->us[BARE], res->n[BARE], 0.5),
                 bench_quantile(res->us[BOX], res->n[BOX], 0.5), ratio(res, BOX, BARE, n),
                 p99 / bare99, bare99, p99, res->per_s[1], res->per_s[2]);
    for (int w = ISOLATE; w < WHO; w++) {
        const char *key = who_keys[w];

        if (res->n[w] > 0)
            (void)printf(",\"%s_us\":%.1f,\"%s_ratio\":%.3f,\"%s_over_box\":%.2f", key,
                         bench_quantile(res->us[w], res->n[w], 0.5), key,
                         ratio(res, (enum who)w, BARE, n), key, ratio(res, (enum who)w, BOX, n));
    }
    (void)printf("}%s", last ? "" : ",");
}

static void print_table(const struct bench *b, const struct load *l, struct result *res)
{
    (void)printf("%s\n", l->name);
    for (int w = 0; w < WHO; w++) {
        if (res->n[w] == 0)
            continue;
        (void)printf("  %-8s median %8.0f us   p99 %8.0f us   x bare %.2f\n", who_names[w],
                     bench_quantile(res->us[w], res->n[w], 0.5),
                     bench_quantile(res->us[w], res->n[w], 0.99),
                     ratio(res, (enum who)w, BARE, (size_t)b->opt->rounds));
    }
    (void)printf("  runs per second: %.0f in one box, %.0f in two\n", res->per_s[1], res->per_s[2]);
}

static int run_loads(struct bench *b, struct tr_err *err)
{
    static char cc[] = "cc";
    static char cxx[] = "c++";
    static char o2[] = "-O2";
    static char stat[] = "-static";
    struct load loads[] = {
        {.name = "hello_static",
         .suffix = "c",
         .source = "#include <stdio.h>\nint main(void) { return puts(\"hello\") < 0; }\n",
         .compiler = {cc, o2, stat},
         .output = "hello\n"},
        {.name = "ab_dynamic",
         .suffix = "cc",
         .source = "#include <iostream>\nint main() { long a, b; std::cin >> a >> b; std::cout << "
                   "a + b << '\\n'; }\n",
         .compiler = {cxx, o2},
         .input = "12 30\n",
         .output = "42\n"},
    };
    int r = 0;

    if (b->opt->json)
        (void)printf("{");
    for (size_t i = 0; r == 0 && i < TR_ARRAY_LEN(loads); i++) {
        static struct result res; /* large; one at a time */

        memset(&res, 0, sizeof(res));
        r = measure(b, &loads[i], &res, err);
        if (r == 0 && b->opt->json)
            print_json(b, &loads[i], &res, i + 1 == TR_ARRAY_LEN(loads));
        else if (r == 0)
            print_table(b, &loads[i], &res);
    }
    if (b->opt->json)
        (void)printf("}\n");
    return r;
}

int bench_box(int argc, char **argv)
{
    TR_CLEANUP(cli_end) struct cli_run run;
    struct options opt = {0};
    struct bench b = {.opt = &opt, .dirfd = -1, .null = -1};
    struct tr_err err = TR_ERR_INIT;
    int code = CLI_OK;

    if (!cli_begin(&run, &doc, &opt, argc, argv, &code))
        return code;
    b.null = open("/dev/null", O_RDWR | O_CLOEXEC);
    int r = tr_fs_temp_dir("bench", &b.dir, &b.dirfd, &err);
    if (r == 0)
        r = open_box(&opt, &b.box, &err);
    if (r == 0)
        r = run_loads(&b, &err);
    tbox_close(b.box);
    if (b.dirfd >= 0) {
        (void)tr_fs_empty_dir(b.dirfd, NULL);
        (void)rmdir(b.dir);
    }
    tr_close(&b.dirfd);
    tr_close(&b.null);
    free(b.dir);
    return r < 0 ? cli_fail(&run, &err) : CLI_OK;
}
