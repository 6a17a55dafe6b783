/* SPDX-License-Identifier: MIT
 *
 * cmd_lang.c - `tribunal lang`: which languages work here, and warming what they share.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "cli/commands.h"
#include "cli/slot.h"
#include "codec/json.h"

struct options {
    struct slot_options slot; /* first: see cli_doc */
    bool test;
};

static const struct tr_conf_item items[] = {
    CLI_FLAG("test", test, "judge each language's own small program as well"),
};

static const struct cli_doc list_doc = {
    .name = "tribunal lang list",
    .usage = "[--test] [--json]",
    .summary =
        "Says which languages are usable here, with version. A compiler must be in the\n"
        "system folders (/usr …) to be seen inside the sandbox; one in a home folder is not.",
    .items = items,
    .count = TR_ARRAY_LEN(items),
    .slot = true,
};

static const struct cli_doc warm_doc = {
    .name = "tribunal lang warm",
    .usage = "",
    .summary =
        "Precompiles the standard headers of the languages that have them, so that the first\n"
        "contestant does not wait for it. Quick when it was done before.",
    .items = items,
    .count = TR_ARRAY_LEN(items),
    .slot = true,
};

/* "1 2" in, "3" out. */
static int self_test(struct tr_judge *judge, const struct tr_lang *lang, struct tr_err *err)
{
    static struct tr_test test = {
        .name = "1", .input_text = "1 2\n", .input_len = 4, .answer_text = "3\n", .answer_len = 2};
    static struct tr_group group = {.name = "all"};
    struct tr_problem p = {.name = "self-test",
                           .tests = &test,
                           .ntests = 1,
                           .groups = &group,
                           .ngroups = 1,
                           .code_max = TR_SOURCE_MAX};
    struct tr_job job = {.code = lang->selftest,
                         .code_len = strlen(lang->selftest),
                         .lang = lang,
                         .problem = &p,
                         .problem_dirfd = -1};
    struct tr_outcome o;
    struct tr_arena arena;

    tr_limits_default(&p.limits);
    p.limits.time_us = 5000000;
    tr_arena_init(&arena, 64 << 20);
    int r = tr_judge_run(judge, &job, &arena, &o, err);
    if (r == 0 && o.score.verdict != TR_V_AC)
        r = tr_fail(err, TR_E_UNSUPPORTED, 0, "its self-test gives %s: %.200s",
                    tr_verdict_id(o.score.verdict),
                    o.cases         ? o.cases[0].note
                    : o.compile.log ? o.compile.log
                                    : "");
    tr_arena_done(&arena);
    return r;
}

struct row {
    const struct tr_lang *lang;
    bool usable;
    char version[160];
    struct tr_err why;
};

static void look(struct slot *s, const struct options *o, const struct tr_lang *lang,
                 struct row *ret)
{
    *ret = (struct row){.lang = lang};
    int r = tr_judge_version(s->judge, lang, ret->version, sizeof(ret->version), &ret->why);
    if (r == TR_E_NOTFOUND)
        (void)tr_fail(&ret->why, r, 0, "no '%s' in the system folders", lang->version.words[0]);
    if (r == 0 && o->test && lang->selftest)
        r = self_test(s->judge, lang, &ret->why);
    ret->usable = r == 0;
}

static json_t *row_json(const struct row *w)
{
    return json_pack("{s:s, s:s, s:b, s:s, s:f, s:f, s:s}", "slug", w->lang->slug, "name",
                     w->lang->name, "usable", w->usable, "version", w->version, "time_factor",
                     (double)w->lang->time_milli / 1000, "memory_factor",
                     (double)w->lang->memory_milli / 1000, "problem", w->usable ? "" : w->why.msg);
}

static int cmd_list(int argc, char **argv)
{
    TR_CLEANUP(cli_end) struct cli_run run;
    TR_CLEANUP(slot_close) struct slot s = {0};
    struct options o = {0};
    struct tr_err err = TR_ERR_INIT;
    int code = CLI_OK;

    if (!cli_begin(&run, &list_doc, &o, argc, argv, &code))
        return code;
    if (slot_open(&s, &o.slot, &err) < 0)
        return cli_fail(&run, &err);
    const struct tr_langs *langs = tr_judge_langs(s.judge);
    TR_CLEANUP(tr_json_unrefp) json_t *list = json_array();
    size_t usable = 0;

    for (size_t i = 0; i < langs->count; i++) {
        struct row w;

        look(&s, &o, &langs->list[i], &w);
        usable += w.usable;
        if (o.slot.json)
            (void)json_array_append_new(list, row_json(&w));
        else
            (void)printf("%-11s %-8s %-24s %s\n", w.lang->slug, w.usable ? "usable" : "missing",
                         w.lang->name, w.usable ? w.version : w.why.msg);
    }
    if (o.slot.json) {
        (void)json_dumpf(list, stdout, JSON_INDENT(2));
        (void)putchar('\n');
    }
    return usable > 0 ? CLI_OK : CLI_NOT_OK;
}

static int cmd_warm(int argc, char **argv)
{
    TR_CLEANUP(cli_end) struct cli_run run;
    TR_CLEANUP(slot_close) struct slot s = {0};
    struct options o = {0};
    struct tr_err err = TR_ERR_INIT;
    int code = CLI_OK;

    if (!cli_begin(&run, &warm_doc, &o, argc, argv, &code))
        return code;
    if (slot_open(&s, &o.slot, &err) < 0)
        return cli_fail(&run, &err);
    const struct tr_langs *langs = tr_judge_langs(s.judge);
    for (size_t i = 0; i < langs->count; i++) {
        const struct tr_lang *lang = &langs->list[i];
        int64_t began = tr_clock_mono_us();

        if (!lang->pch)
            continue;
        int r = tr_judge_warm(s.judge, lang, &err);
        if (r == TR_E_UNSUPPORTED)
            (void)printf("%-8s %s\n", lang->slug, err.msg);
        else if (r < 0)
            return cli_fail(&run, &err);
        else
            (void)printf("%-8s <%s> %s (%lld ms)\n", lang->slug, lang->pch,
                         r ? "precompiled" : "was there",
                         (long long)((tr_clock_mono_us() - began) / 1000));
    }
    return CLI_OK;
}

int cmd_lang(int argc, char **argv)
{
    static const struct cli_command commands[] = {
        {"list", "languages usable here, with versions", cmd_list},
        {"warm", "precompile standard headers", cmd_warm},
    };
    static const struct cli_group group = {
        .name = "tribunal lang",
        .summary = "Languages: one small file each in the folder that --languages names.",
        .commands = commands,
        .count = TR_ARRAY_LEN(commands),
    };

    return cli_dispatch(&group, argc, argv);
}
