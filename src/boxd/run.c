/* SPDX-License-Identifier: MIT
 *
 * run.c - `tribunal-box run`: one command in a box, from the shell.
 *
 * Uses the box like a stranger, through tribunal/box.h: its helper is this same program.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/parse.h"
#include "boxd/boxd.h"
#include "tribunal/box.h"

enum {
    LIST_MAX = 64,
    WORDS_MAX = 256,
    REPEAT_MAX = 10000000
};

struct list {
    char *at[LIST_MAX + 1];
    size_t n;
};

struct job {
    struct tbox_options box;
    struct tbox_limits limits;
    bool have_wall;
    const char *in;
    const char *out;
    const char *err;
    struct list put;
    struct list get;
    struct list env;
    struct list dirs;
    struct list then;
    int64_t cpu;
    uint64_t repeat;
    bool json;
};

static const struct option options[] = {{"time", required_argument, NULL, 't'},
                                        {"wall", required_argument, NULL, 'w'},
                                        {"memory", required_argument, NULL, 'm'},
                                        {"stack", required_argument, NULL, 'k'},
                                        {"pids", required_argument, NULL, 'p'},
                                        {"output", required_argument, NULL, 'o'},
                                        {"file-size", required_argument, NULL, 'F'},
                                        {"files", required_argument, NULL, 'f'},
                                        {"open-files", required_argument, NULL, 'O'},
                                        {"work-size", required_argument, NULL, 'W'},
                                        {"profile", required_argument, NULL, 'P'},
                                        {"stdin", required_argument, NULL, '0'},
                                        {"stdout", required_argument, NULL, '1'},
                                        {"stderr", required_argument, NULL, '2'},
                                        {"put", required_argument, NULL, 'u'},
                                        {"get", required_argument, NULL, 'g'},
                                        {"env", required_argument, NULL, 'e'},
                                        {"root", required_argument, NULL, 'r'},
                                        {"dir", required_argument, NULL, 'd'},
                                        {"cpu", required_argument, NULL, 'c'},
                                        {"userns", required_argument, NULL, 'U'},
                                        {"cgroup", required_argument, NULL, 'G'},
                                        {"strict", no_argument, NULL, 's'},
                                        {"repeat", required_argument, NULL, 'n'},
                                        {"then", required_argument, NULL, 'T'},
                                        {"json", no_argument, NULL, 'j'},
                                        {"spare", no_argument, NULL, 'S'},
                                        {"help", no_argument, NULL, 'h'},
                                        {0}};

static const char help[] =
    "Usage: %s run [options] -- COMMAND [ARGUMENT...]\n"
    "\n"
    "Runs one command in the sandbox and reports what it used and how it ended.\n"
    "\n"
    "limits   --time 1s --wall 3s --memory 256M --stack SIZE --pids 64 --output 64M\n"
    "         --file-size 64M --open-files 256 --files 4096 --work-size 256M --cpu N\n"
    "files    --stdin F --stdout F --stderr F --put SRC[:NAME] --get NAME:DST --env K=V\n"
    "         --root DIR --dir DIR[:INSIDE]\n"
    "box      --profile run|compile|checker --userns auto|always|never\n"
    "         --cgroup auto|v2|v1|hybrid|none --strict\n"
    "more     --repeat N --then 'COMMAND ARGUMENT...' --json\n"
    "\n"
    "The command runs in /w, where --put places files; a name without a slash is searched in "
    "PATH.\n"
    "Exit code: 0 it ended with 0; 1 it did not (see the report); 2 usage; 3 fault of the box.\n"
    "\n"
    "Examples:\n"
    "  %s run --time 1s --memory 64M --put ./a.out --stdin 1.in -- ./a.out\n"
    "  %s run --json -- python3 -c 'print(6 * 7)'\n";

/* `tribunal run` becomes this program and keeps its own name in argv[0]. */
static const char *my_name(void)
{
    return strcmp(program_invocation_short_name, "tribunal") == 0 ? "tribunal" : "tribunal-box";
}

static int add(struct list *l, char *value, struct tr_err *err)
{
    if (l->n == LIST_MAX)
        return tr_fail(err, TR_E_LIMIT, 0, "more than %d of them", LIST_MAX);
    l->at[l->n++] = value;
    return 0;
}

static int pick(const char *text, const char *const *words, int n, int *ret, struct tr_err *err)
{
    for (int i = 0; i < n; i++) {
        if (strcmp(text, words[i]) == 0) {
            *ret = i;
            return 0;
        }
    }
    return tr_fail(err, TR_E_USAGE, 0, "no such word: '%s'", text);
}

/* The ranges are those of tbox_limits_check(), which says the sentence; here only "a number". */
static int parse_limit(struct job *j, int o, const char *v, struct tr_err *err)
{
    struct tbox_limits *l = &j->limits;
    uint64_t n = 0;
    int r;

    switch (o) {
    case 't':
        return tr_parse_duration_us(v, 0, INT64_MAX, &l->cpu_us, err);
    case 'w':
        j->have_wall = true;
        return tr_parse_duration_us(v, 0, INT64_MAX, &l->wall_us, err);
    case 'm':
        return tr_parse_size(v, 0, UINT64_MAX, &l->memory_bytes, err);
    case 'k':
        return tr_parse_size(v, 0, UINT64_MAX, &l->stack_bytes, err);
    case 'o':
        return tr_parse_size(v, 0, UINT64_MAX, &l->output_bytes, err);
    case 'F':
        return tr_parse_size(v, 0, UINT64_MAX, &l->file_bytes, err);
    case 'p':
        r = tr_parse_u64(v, 0, UINT32_MAX, &n, err);
        l->pids = (uint32_t)n;
        return r;
    case 'O':
        r = tr_parse_u64(v, 0, UINT32_MAX, &n, err);
        l->open_files = (uint32_t)n;
        return r;
    case 'f':
        r = tr_parse_u64(v, 1, 100000000, &n, err);
        j->box.work_files = (uint32_t)n;
        return r;
    case 'W':
        return tr_parse_size(v, 65536, UINT64_C(1) << 40, &j->box.work_bytes, err);
    case 'c':
        return tr_parse_i64(v, 0, 8191, &j->cpu, err);
    case 'n':
        return tr_parse_u64(v, 1, REPEAT_MAX, &j->repeat, err);
    default:
        return 1;
    }
}

static int parse_option(struct job *j, int o, char *v, struct tr_err *err)
{
    static const char *const groups[] = {"auto", "v2", "v1", "hybrid", "none"};
    static const char *const spaces[] = {"auto", "always", "never"};
    int n = 0;
    int r = parse_limit(j, o, v, err);

    if (r <= 0)
        return r;
    switch (o) {
    case '0':
        j->in = v;
        return 0;
    case '1':
        j->out = v;
        return 0;
    case '2':
        j->err = v;
        return 0;
    case 'u':
        return add(&j->put, v, err);
    case 'g':
        return add(&j->get, v, err);
    case 'e':
        return add(&j->env, v, err);
    case 'd':
        return add(&j->dirs, v, err);
    case 'T':
        return add(&j->then, v, err);
    case 'r':
        j->box.root = v;
        return 0;
    case 'U':
        r = pick(v, spaces, 3, &n, err);
        j->box.userns = (enum tbox_userns)n;
        return r;
    case 'G':
        r = pick(v, groups, 5, &n, err);
        j->box.cgroup = (enum tbox_cgroup)n;
        return r;
    case 's':
        j->box.strict = true;
        return 0;
    case 'S':
        j->box.spare = true;
        return 0;
    case 'j':
        j->json = true;
        return 0;
    default:
        return 0; /* --profile, seen in the first round */
    }
}

static int complain(const struct tr_err *err)
{
    bool ours = tr_err_class(err->code) == TR_E_USAGE || err->code == TR_E_DENIED;

    (void)fprintf(stderr, "%s: %s\n", my_name(), err->msg);
    return ours ? BOXD_USAGE : BOXD_FAULT;
}

/* The profile first: it decides what the defaults are that other options change. */
static int first_round(int argc, char **argv, struct job *j, struct tr_err *err)
{
    static const char *const profiles[] = {"run", "compile", "checker"};
    int n = 0;
    int r = 0;

    opterr = 0;
    optind = 1;
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread */
    for (int o; r == 0 && (o = getopt_long(argc, argv, "+", options, NULL)) != -1;) {
        if (o == 'P')
            r = pick(optarg, profiles, 3, &n, err);
    }
    j->box.profile = (enum tbox_profile)n;
    tbox_limits_default(j->box.profile, &j->limits);
    opterr = 1;
    optind = 1;
    return r;
}

static int parse(int argc, char **argv, struct job *j, struct tr_err *err)
{
    int r = first_round(argc, argv, j, err);

    /* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread */
    for (int o; r == 0 && (o = getopt_long(argc, argv, "+", options, NULL)) != -1;) {
        if (o == 'h') {
            (void)printf(help, my_name(), my_name(), my_name());
            return 1;
        }
        if (o == '?')
            return tr_fail(err, TR_E_USAGE, 0, "see `%s run --help`", my_name());
        r = parse_option(j, o, optarg, err);
    }
    if (r == 0 && optind >= argc)
        r = tr_fail(err, TR_E_USAGE, 0, "no command given");
    if (r < 0)
        return r;
    if (!j->have_wall && j->limits.cpu_us < INT64_MAX / 4)
        j->limits.wall_us = 2 * j->limits.cpu_us + 1000000;
    return tbox_limits_check(&j->limits, err);
}

static int put_one(tbox *box, char *what, struct tr_err *err)
{
    char *colon = strrchr(what, ':');
    const char *name = colon ? colon + 1 : NULL;
    struct stat st = {0};

    if (colon)
        *colon = 0;
    if (!name) {
        const char *slash = strrchr(what, '/');

        name = slash ? slash + 1 : what;
    }
    tr_autoclose int fd = open(what, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    int r =
        fd < 0 || fstat(fd, &st) < 0 ? tr_fail(err, TR_E_NOTFOUND, errno, "open '%s'", what) : 0;
    if (r == 0)
        r = tbox_put(box, fd, name, st.st_mode & 0777U, err);
    if (colon)
        *colon = ':';
    return r;
}

/* Copy a file of the work folder out. Missing is not an error of ours: it is said, and that's it.
 */
static int get_one(tbox *box, const struct job *j, const char *what, struct tr_err *err)
{
    const char *colon = strchr(what, ':');
    char name[256];
    static char chunk[16384]; /* not on the stack: one thread */
    int source = -1;

    if (!colon || colon == what || !colon[1] || (size_t)(colon - what) >= sizeof(name))
        return tr_fail(err, TR_E_USAGE, 0, "--get wants NAME:DST, not '%s'", what);
    memcpy(name, what, (size_t)(colon - what));
    name[colon - what] = 0;
    int r = tbox_get(box, name, j->limits.file_bytes, &source, NULL, err);
    if (r < 0) {
        (void)fprintf(stderr, "tribunal-box: %s: %s\n", name, err ? err->msg : "");
        return tr_err_class(r) == TR_E_USAGE || r == TR_E_DENIED ? 0 : r;
    }
    tr_autoclose int from = source;
    tr_autoclose int to = open(colon + 1, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (to < 0)
        return tr_fail(err, TR_E_USAGE, errno, "open '%s'", colon + 1);
    for (ssize_t n; (n = read(from, chunk, sizeof(chunk))) > 0;) {
        r = tr_fs_write_all(to, chunk, (size_t)n, err);
        if (r < 0)
            return r;
    }
    return 0;
}

static int open_streams(const struct job *j, int fd[3], struct tr_err *err)
{
    fd[0] = j->in ? open(j->in, O_RDONLY | O_CLOEXEC) : -1;
    if (j->in && fd[0] < 0)
        return tr_fail(err, TR_E_USAGE, errno, "open '%s'", j->in);
    /* --json promises one document on standard output and nothing else. */
    fd[1] = j->out    ? open(j->out, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)
            : j->json ? -1
                      : fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    if (j->out && fd[1] < 0)
        return tr_fail(err, TR_E_USAGE, errno, "open '%s'", j->out);
    fd[2] = j->err ? open(j->err, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)
                   : fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    if (j->err && fd[2] < 0)
        return tr_fail(err, TR_E_USAGE, errno, "open '%s'", j->err);
    return 0;
}

static int run_once(tbox *box, struct job *j, char **argv, struct tbox_report *ret,
                    struct tr_err *err)
{
    struct tbox_spec spec = {.size = sizeof(spec),
                             .fd = {-1, -1, -1},
                             .limits = j->limits,
                             .cpu = (int)j->cpu,
                             .flags = j->get.n > 0 ? TBOX_KEEP_FILES : 0};
    int r;

    memcpy(&spec.argv, &(char **){argv}, sizeof(argv)); /* only const is added */
    memcpy(&spec.env, &(char **){j->env.at}, sizeof(spec.env));
    r = open_streams(j, spec.fd, err);
    if (r == 0)
        r = tbox_run(box, &spec, ret, err);
    for (int i = 0; i < 3; i++)
        tr_close(&spec.fd[i]);
    for (size_t i = 0; r == 0 && i < j->get.n; i++)
        r = get_one(box, j, j->get.at[i], err);
    return r;
}

static void show(const struct tbox_report *r)
{
    char a[TR_HUMAN_MAX];
    char b[TR_HUMAN_MAX];

    (void)fprintf(stderr,
                  "%-8s %s\n%-8s %s (user %" PRId64 " us, system %" PRId64 " us)\n%-8s %s, idle "
                  "%" PRId64 " us\n%-8s %" PRIu64 " KiB\n%-8s %" PRIu32 " at most, %" PRIu32
                  " killed at the end\n%-8s %" PRIu64
                  " bytes\n%-8s cgroup %s, user namespace %s%s\n",
                  tbox_cause_name(r->cause), r->note, "cpu", tr_format_duration_us(r->cpu_us, a),
                  r->user_us, r->system_us, "wall", tr_format_duration_us(r->wall_us, b),
                  r->idle_us, "memory", (r->memory_bytes + 1023) / 1024, "pids", r->pids_peak,
                  r->killed, "output", r->written_bytes, "box", tbox_cgroup_name(r->cgroup),
                  r->userns ? "on" : "off", r->renewed ? ", container renewed" : "");
    if (r->steal_us + r->throttled_us + r->pressure_us > 0)
        (void)fprintf(stderr,
                      "%-8s steal %" PRId64 " us, throttled %" PRId64 " us, waited for a "
                      "CPU %" PRId64 " us\n",
                      "disturb", r->steal_us, r->throttled_us, r->pressure_us);
    if (r->cgroup == TBOX_CGROUP_NONE)
        (void)fputs("WARNING  no cgroup: memory and CPU time of several processes are not limited "
                    "together; see `tribunal doctor`\n",
                    stderr);
}

static void emit(const struct job *j, const struct tbox_report *r, bool many, bool first)
{
    char text[2048];

    if (!j->json) {
        show(r);
        return;
    }
    (void)tbox_report_json(r, text, sizeof(text));
    (void)printf("%s%s%s", many ? (first ? "{\"runs\":[" : ",") : "", text, many ? "" : "\n");
}

/* "CMD ARG ARG": words at blanks, no quoting; a script belongs into a file. */
static int split(char *line, char *words[static WORDS_MAX], struct tr_err *err)
{
    int n = 0;
    char *save = NULL;

    for (char *w = strtok_r(line, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
        if (n == WORDS_MAX - 1)
            return tr_fail(err, TR_E_LIMIT, 0, "--then has too many words");
        words[n++] = w;
    }
    words[n] = NULL;
    return n > 0 ? 0 : tr_fail(err, TR_E_USAGE, 0, "--then names no command");
}

static int run_all(tbox *box, struct job *j, char **argv, bool *ret_good, struct tr_err *err)
{
    bool many = j->repeat > 1 || j->then.n > 0;
    uint64_t total = j->repeat + j->then.n;
    struct tbox_report report = {0};

    *ret_good = true;
    for (uint64_t i = 0; i < total; i++) {
        char *words[WORDS_MAX];
        int r = i < j->repeat ? 0 : split(j->then.at[i - j->repeat], words, err);

        if (r == 0)
            r = run_once(box, j, i < j->repeat ? argv : words, &report, err);
        if (r < 0)
            return r;
        emit(j, &report, many, i == 0);
        if (report.cause != TBOX_EXIT || report.exit_code != 0)
            *ret_good = false;
    }
    if (many && j->json)
        (void)printf("]}\n");
    return 0;
}

int boxd_run(int argc, char **argv)
{
    struct job j = {.box = {.size = sizeof(j.box)}, .repeat = 1, .cpu = -1};
    struct tr_err err = TR_ERR_INIT;
    tbox *box = NULL;
    bool good = false;

    int r = parse(argc, argv, &j, &err);
    if (r != 0)
        return r > 0 ? BOXD_DONE : complain(&err);
    memcpy(&j.box.dirs, &(char **){j.dirs.at}, sizeof(j.box.dirs));
    r = tbox_open(&j.box, &box, &err);
    for (size_t i = 0; r == 0 && i < j.put.n; i++)
        r = put_one(box, j.put.at[i], &err);
    if (r == 0)
        r = run_all(box, &j, argv + optind, &good, &err);
    tbox_close(box);
    if (r < 0)
        return complain(&err);
    if (fflush(stdout) != 0)
        return BOXD_FAULT;
    return good ? BOXD_DONE : BOXD_NOT_OK;
}
