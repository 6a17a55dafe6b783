/* SPDX-License-Identifier: MIT
 *
 * cmd_problem.c - `tribunal problem check`: is the package right, and does it judge as its author
 * thinks?
 *
 * Everything below submissions/ is judged; what is expected of it, expect.c knows.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fs.h"
#include "cli/commands.h"
#include "cli/escape.h"
#include "cli/expect.h"
#include "cli/slot.h"
#include "codec/json.h"

struct options {
    struct slot_options slot; /* first: see cli_doc */
    bool lint;
    int64_t times;
    struct tr_conf_list langs;
};

static const struct tr_conf_item items[] = {
    CLI_FLAG("lint", lint, "read the package only, judge nothing"),
    CLI_NUMBER("times", times, "1", 1, 1000, "judge every submission that often"),
    {.name = "lang",
     .letter = 'l',
     .type = TR_CONF_LIST,
     .at = offsetof(struct options, langs),
     .unit = "SLUG",
     .doc = "only submissions in these languages",
     .flags = TR_CONF_CLI_ONLY},
};

static const struct cli_doc doc = {
    .name = "tribunal problem check",
    .usage = "DIR [options]",
    .summary =
        "Reads the package, judges everything below submissions/ and says where the verdict\n"
        "is not the expected one, and how much room the time limit leaves.\n"
        "Exit code: 0 all as expected, 1 not, 2 usage, 3 fault.",
    .examples = "  tribunal problem check examples/problems/a-plus-b\n",
    .items = items,
    .count = TR_ARRAY_LEN(items),
    .slot = true,
    .args_min = 1,
    .args_max = 1,
};

struct check {
    const struct cli_run *run;
    const struct options *o;
    struct slot slot;
    struct problem_arg p;
    struct expect_rules rules;
    json_t *rows;
    size_t judged, wrong, skipped;
    bool run_all;             /* as the package says */
    int64_t slowest_permille; /* of accepted ones: thousandths of their limit */
    FILE *out;
};

struct one {
    const char *folder;
    const char *file;
    struct expect want;
};

static void note_margin(struct check *c, const struct tr_outcome *o)
{
    int64_t permille = o->limits.time_us ? o->score.time_us * 1000 / o->limits.time_us : 0;

    if (o->score.verdict == TR_V_AC && permille > c->slowest_permille)
        c->slowest_permille = permille;
}

static void report_row(struct check *c, const struct one *one, const char *lang,
                       const struct tr_outcome *o, bool good)
{
    const char *want = one->want.words;

    if (c->o->slot.json) {
        json_t *row = json_pack("{s:s, s:s, s:s, s:s, s:s, s:f, s:I, s:b}", "folder", one->folder,
                                "file", one->file, "language", lang, "expected", want, "verdict",
                                tr_verdict_id(o->score.verdict), "score",
                                (double)o->score.points / (double)TR_POINT, "time_ms",
                                (json_int_t)tr_ms_up(o->score.time_us), "as_expected", good);

        (void)json_array_append_new(c->rows, row);
        return;
    }
    (void)fprintf(c->out, "%-5s %-6s %6lld ms %7.1f MiB  %s/", good ? "good" : "BAD",
                  tr_verdict_id(o->score.verdict), (long long)tr_ms_up(o->score.time_us),
                  (double)o->score.memory_kib / 1024, one->folder);
    print_escaped(c->out, one->file, strlen(one->file), 60);
    if (!good) {
        (void)fprintf(c->out, "  expected %s", want);
        if (one->want.points_min >= 0)
            (void)fprintf(c->out, " with %g points",
                          (double)one->want.points_min / (double)TR_POINT);
        (void)fprintf(c->out, ", got %s with %g points",
                      tr_verdict_text(o->score.verdict, o->score.sub),
                      (double)o->score.points / (double)TR_POINT);
        if (o->fault)
            (void)fprintf(c->out, " (%s)", o->fault);
    }
    (void)fputc('\n', c->out);
    (void)fflush(c->out);
}

static bool wanted_lang(const struct check *c, const char *slug)
{
    for (size_t i = 0; i < c->o->langs.count; i++) {
        if (strcmp(c->o->langs.items[i], slug) == 0)
            return true;
    }
    return c->o->langs.count == 0;
}

static int read_submission(struct check *c, const struct one *one, struct tr_buf *b,
                           struct tr_err *err)
{
    char path[1024];
    uint64_t size = 0;

    (void)snprintf(path, sizeof(path), "submissions/%s/%s", one->folder, one->file);
    tr_autoclose int fd = tr_fs_open_regular(c->p.dirfd, path, TR_SOURCE_MAX, &size, err);
    if (fd < 0)
        return fd;
    tr_buf_init(b, TR_SOURCE_MAX);
    return tr_fs_read_all(fd, b, path, err);
}

static int judge_one(struct check *c, const struct one *one, struct tr_err *err)
{
    const struct tr_lang *lang = tr_langs_by_name(tr_judge_langs(c->slot.judge), one->file);
    TR_CLEANUP(tr_buf_done) struct tr_buf code = {0};
    char version[128];

    if (!lang || !wanted_lang(c, lang->slug)) {
        c->skipped++;
        return 0;
    }
    int r = tr_judge_version(c->slot.judge, lang, version, sizeof(version), err);
    if (r == TR_E_NOTFOUND || r == TR_E_UNSUPPORTED || r == TR_E_DENIED) {
        c->skipped++;
        if (!c->o->slot.json)
            (void)fprintf(c->out, "skip  %s/%s: %s is not usable here\n", one->folder, one->file,
                          lang->name);
        return 0;
    }
    if (r == 0)
        r = read_submission(c, one, &code, err);
    c->p.problem.run_all = c->run_all || one->want.all_tests;
    for (int64_t i = 0; r == 0 && i < c->o->times; i++) {
        struct tr_arena arena;
        struct tr_outcome o;
        struct tr_job job = {.code = code.data ? code.data : "",
                             .code_len = code.len,
                             .lang = lang,
                             .problem = &c->p.problem,
                             .problem_dirfd = c->p.dirfd};

        tr_arena_init(&arena, 256 << 20);
        r = tr_judge_run(c->slot.judge, &job, &arena, &o, err);
        if (r == 0) {
            bool good = expect_met(&one->want, &c->p.problem, &o);

            note_margin(c, &o);
            report_row(c, one, lang->slug, &o, good);
            c->judged++;
            c->wrong += !good;
        }
        tr_arena_done(&arena);
    }
    return r;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int not_hidden(const struct dirent *e)
{
    return e->d_name[0] != '.';
}

static int judge_folder(struct check *c, const char *folder, struct tr_err *err)
{
    char path[512];
    struct dirent **list = NULL;
    size_t unknown = 0;
    int r = 0;

    (void)snprintf(path, sizeof(path), "submissions/%s", folder);
    tr_autoclose int fd = tr_fs_open_beneath(c->p.dirfd, path, O_RDONLY | O_DIRECTORY, 0, NULL);
    if (fd < 0)
        return 0;
    int n = scandirat(fd, ".", &list, not_hidden, by_name);
    for (int i = 0; i < n; i++) {
        struct one one = {.folder = folder, .file = list[i]->d_name};

        if (!expect_for(&c->rules, folder, one.file, &one.want))
            unknown++;
        else if (r == 0)
            r = judge_one(c, &one, err);
        free(list[i]);
    }
    free(list);
    if (unknown > 0)
        tr_buf_addf(&c->p.notes,
                    "%s: %zu not judged: neither the folder's name nor submissions.yaml says what "
                    "is expected\n",
                    path, unknown);
    return r;
}

/* In the order of their names. */
static int judge_folders(struct check *c, struct tr_err *err)
{
    struct dirent **list = NULL;
    int r = 0;
    tr_autoclose int fd =
        tr_fs_open_beneath(c->p.dirfd, "submissions", O_RDONLY | O_DIRECTORY, 0, NULL);

    if (fd < 0)
        return 0;
    int n = scandirat(fd, ".", &list, not_hidden, by_name);
    for (int i = 0; i < n; i++) {
        if (r == 0)
            r = judge_folder(c, list[i]->d_name, err);
        free(list[i]);
    }
    free(list);
    return r;
}

/* Everything odd that was found, a line each. */
static json_t *notes_json(const struct check *c)
{
    json_t *list = json_array();
    const char *at = c->p.notes.data ? c->p.notes.data : "";

    while (*at) {
        size_t n = strcspn(at, "\n");

        (void)json_array_append_new(list, tr_json_clean(at, n, 1024));
        at += n + (at[n] == '\n');
    }
    return list;
}

static void print_head(struct check *c)
{
    const struct tr_problem *p = &c->p.problem;

    if (c->o->slot.json)
        return;
    (void)fprintf(c->out, "%s (%s): %zu tests in %zu groups, %lld ms, %lld MiB\n",
                  *p->name ? p->name : "problem", p->format, p->ntests, p->ngroups,
                  (long long)(p->limits.time_us / 1000), (long long)(p->limits.memory_kib / 1024));
}

static void print_end(struct check *c)
{
    if (c->o->slot.json) {
        TR_CLEANUP(tr_json_unrefp)
        json_t *j = json_pack(
            "{s:s, s:s, s:I, s:I, s:I, s:I, s:o, s:O}", "problem", c->p.problem.name, "format",
            c->p.problem.format, "judged", (json_int_t)c->judged, "unexpected",
            (json_int_t)c->wrong, "skipped", (json_int_t)c->skipped, "slowest_accepted_percent",
            (json_int_t)(c->slowest_permille / 10), "notes", notes_json(c), "submissions", c->rows);

        if (j)
            (void)json_dumpf(j, stdout, JSON_INDENT(2));
        (void)putchar('\n');
        return;
    }
    if (c->p.notes.len > 0)
        (void)fprintf(c->out, "%s", c->p.notes.data);
    (void)fprintf(c->out, "%zu judged, %zu not as expected, %zu skipped\n", c->judged, c->wrong,
                  c->skipped);
    if (c->slowest_permille > 0)
        (void)fprintf(c->out, "time limit: the slowest accepted one takes %.1f %% of it%s\n",
                      (double)c->slowest_permille / 10,
                      c->slowest_permille > 500 ? "; less than twice the room is tight" : "");
}

static int check_all(struct check *c, const char *path, struct tr_err *err)
{
    int r = problem_arg_open(&c->p, path, err);

    if (r < 0)
        return r;
    c->run_all = c->p.problem.run_all;
    r = expect_read(c->p.dirfd, &c->p.arena, &c->p.notes, &c->rules, err);
    if (r < 0)
        return tr_fail_wrap(err, "%s", path);
    print_head(c);
    if (!c->o->lint)
        r = judge_folders(c, err);
    if (r < 0)
        return r;
    print_end(c);
    return c->wrong > 0 ? CLI_NOT_OK : CLI_OK;
}

static void check_done(struct check *c)
{
    json_decref(c->rows);
    problem_arg_done(&c->p);
    slot_close(&c->slot);
}

static int cmd_check(int argc, char **argv)
{
    TR_CLEANUP(cli_end) struct cli_run run;
    struct options o = {0};
    struct tr_err err = TR_ERR_INIT;
    int code = CLI_OK;

    if (!cli_begin(&run, &doc, &o, argc, argv, &code))
        return code;
    TR_CLEANUP(check_done)
    struct check c = {
        .run = &run, .o = &o, .p = {.dirfd = -1}, .rows = json_array(), .out = stdout};
    int r = slot_open(&c.slot, &o.slot, &err);
    if (r == 0)
        r = check_all(&c, run.conf.args[0], &err);
    return r < 0 ? cli_fail(&run, &err) : r;
}

int cmd_problem(int argc, char **argv)
{
    static const struct cli_command commands[] = {
        {"check", "read a package and judge its submissions", cmd_check},
        {"import", "hand a package to a controller", cmd_problem_import},
    };
    static const struct cli_group group = {
        .name = "tribunal problem",
        .summary = "Problem packages: plain folders, Kattis and ICPC packages, zip files of these.",
        .commands = commands,
        .count = TR_ARRAY_LEN(commands),
    };

    return cli_dispatch(&group, argc, argv);
}
