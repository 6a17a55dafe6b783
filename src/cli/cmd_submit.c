/* SPDX-License-Identifier: MIT
 *
 * cmd_submit.c - `tribunal submit FILE -p PROBLEM`: hand a program to a controller, show its
 * verdict.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "cli/api_client.h"
#include "cli/commands.h"
#include "cli/escape.h"
#include "codec/json.h"
#include "judge/lang.h"
#include "model/limits.h"

struct options {
    struct api_options api;
    const char *problem, *lang, *languages, *user;
    bool wait, json;
};

static const struct tr_conf_item items[] = {
    {.name = "problem",
     .letter = 'p',
     .type = TR_CONF_STRING,
     .at = offsetof(struct options, problem),
     .unit = "ID",
     .doc = "the problem's id on the server",
     .flags = TR_CONF_CLI_ONLY | TR_CONF_REQUIRED},
    API_ITEM_SERVER,
    API_ITEM_KEY(""),
    API_ITEM_CA,
    {.name = "lang",
     .letter = 'l',
     .type = TR_CONF_STRING,
     .at = offsetof(struct options, lang),
     .unit = "SLUG",
     .doc = "language; default: by the file's extension",
     .flags = TR_CONF_CLI_ONLY},
    CLI_TEXT("user", user, NULL, "NAME", "on whose behalf"),
    {.name = "languages",
     .type = TR_CONF_STRING,
     .at = offsetof(struct options, languages),
     .unit = "DIR",
     .doc = "folder of language files, to know extensions by"},
    {.name = "wait",
     .type = TR_CONF_BOOL,
     .at = offsetof(struct options, wait),
     .fallback = "true",
     .doc = "wait for the verdict; --no-wait prints the submission's id and leaves",
     .flags = TR_CONF_CLI_ONLY},
    CLI_FLAG("json", json, "print one JSON document"),
};

static const struct cli_doc doc = {
    .name = "tribunal submit",
    .usage = "FILE -p PROBLEM [--server URL] [--lang SLUG] [--no-wait]",
    .summary = "Hands a program to a controller and shows its verdict as it arrives.",
    .examples = "  tribunal submit sum.cpp -p a-plus-b\n"
                "  tribunal submit sum.py -p a-plus-b --server https://judge.example "
                "--key-file my.key --json\n",
    .items = items,
    .count = TR_ARRAY_LEN(items),
    .args_min = 1,
    .args_max = 1,
};

/* The slug for a file, from the language files that are installed here. */
static int guess_lang(const struct options *o, const char *file, struct tr_arena *arena,
                      const char **ret, struct tr_err *err)
{
    struct tr_langs langs;
    const char *folder = tr_langs_folder(o->languages, arena);

    if (o->lang) {
        *ret = o->lang;
        return 0;
    }
    int r = folder ? tr_langs_load(folder, arena, &langs, err)
                   : tr_fail(err, TR_E_NOMEM, 0, "out of memory");
    if (r < 0)
        return r;
    const struct tr_lang *l = tr_langs_by_name(&langs, file);
    if (!l)
        return tr_fail(err, TR_E_USAGE, 0, "no language has the extension of '%.128s'; say --lang",
                       file);
    *ret = l->slug;
    return 0;
}

static json_t *body_of(const struct options *o, const char *lang, const struct tr_buf *code)
{
    json_t *body = json_pack("{s:s, s:s, s:s#}", "problem", o->problem, "language", lang, "code",
                             code->data ? code->data : "", (int)code->len);

    if (body && o->user)
        (void)json_object_set_new(body, "user", json_string(o->user));
    return body;
}

/* Ask until it has ended, saying on a terminal what it does meanwhile. */
static int follow(struct api *a, const char *submit_id, bool quiet, json_t **row,
                  struct tr_err *err)
{
    char path[256];
    bool tty = !quiet && isatty(STDERR_FILENO);

    (void)snprintf(path, sizeof(path), "/api/v1/submissions/%s?wait=20", submit_id);
    for (;;) {
        const char *status = json_string_value(json_object_get(*row, "status"));

        if (status && (strcmp(status, "FINISHED") == 0 || strcmp(status, "DLQ") == 0 ||
                       strcmp(status, "CANCELLED") == 0))
            return 0;
        if (tty)
            (void)fprintf(stderr, "%s: %s\n", submit_id, status ? status : "?");
        json_decref(*row);
        *row = NULL;
        int r = api_ask(a, "GET", path, NULL, row, err);
        if (r < 0)
            return r;
    }
}

static void show_side(const char *name, const char *text)
{
    (void)printf("    %-8s ", name);
    print_escaped(stdout, text, strlen(text), 70);
    (void)putchar('\n');
}

/* The texts are of the program, its compiler or the problem: none may drive the terminal. */
static void show_difference(const json_t *result)
{
    size_t at = (size_t)json_integer_value(json_object_get(result, "first_failing_test"));
    const json_t *c = at ? json_array_get(json_object_get(result, "cases"), at - 1) : NULL;
    const json_t *d = json_object_get(c, "difference");

    if (!c)
        return;
    (void)printf("  test %zu (", at);
    print_escaped_text(stdout, "", tr_json_word(c, "name"), 40);
    (void)printf("): %s\n", tr_json_word(c, "status"));
    if (!d)
        return;
    (void)printf("  line %lld, column %lld\n",
                 (long long)json_integer_value(json_object_get(d, "line")),
                 (long long)json_integer_value(json_object_get(d, "column")));
    show_side("got", tr_json_word(d, "got"));
    show_side("expected", tr_json_word(d, "expected"));
}

static int show(const json_t *row)
{
    const json_t *result = json_object_get(row, "result");
    const char *status = tr_json_word(row, "status"), *verdict = tr_json_word(row, "verdict");

    if (strcmp(status, "FINISHED") != 0) {
        (void)printf("%s  %s", tr_json_word(row, "submit_id"), status);
        print_escaped_text(stdout, "  ", tr_json_word(row, "error"), 300);
        (void)putchar('\n');
        return strcmp(status, "CANCELLED") == 0 ? CLI_NOT_OK : CLI_FAULT;
    }
    (void)printf("%-3s ", verdict);
    print_escaped_text(stdout, "", tr_json_word(result, "text"), 160);
    (void)printf("  %lld/%lld tests  %lld ms  %lld KiB  (judge ",
                 (long long)json_integer_value(json_object_get(result, "accepted_test")),
                 (long long)json_integer_value(json_object_get(result, "total_test")),
                 (long long)json_integer_value(json_object_get(row, "time_ms")),
                 (long long)json_integer_value(json_object_get(row, "memory_kb")));
    print_escaped_text(stdout, "", tr_json_word(row, "worker_id"), 80);
    (void)printf(")\n");
    if (strcmp(verdict, "CE") == 0)
        print_escaped_lines(stdout, tr_json_word(json_object_get(result, "compile"), "log"));
    else if (strcmp(verdict, "AC") != 0)
        show_difference(result);
    return strcmp(verdict, "AC") == 0 ? CLI_OK : CLI_NOT_OK;
}

static int submit(const struct options *o, const char *file, struct api *a, int *ret_exit,
                  struct tr_err *err)
{
    TR_CLEANUP(tr_buf_done) struct tr_buf code;
    TR_CLEANUP(tr_json_unrefp) json_t *row = NULL, *body = NULL;
    struct tr_arena arena;
    const char *lang = NULL;

    tr_buf_init(&code, TR_SOURCE_MAX);
    tr_arena_init(&arena, 16 * 1024 * 1024);
    int r = tr_fs_read_file(file, &code, err);
    if (r >= 0)
        r = guess_lang(o, file, &arena, &lang, err);
    if (r >= 0 && !(body = body_of(o, lang, &code)))
        r = tr_fail(err, TR_E_USAGE, 0, "'%.128s' is not UTF-8 text", file);
    tr_arena_done(&arena);
    if (r >= 0)
        r = api_ask(a, "POST", "/api/v1/submissions", body, &row, err);
    tr_autofree char *id = r < 0 ? NULL : strdup(tr_json_word(row, "submit_id"));
    if (r >= 0 && o->wait && id)
        r = follow(a, id, o->json, &row, err);
    if (r < 0)
        return r;
    if (o->json) {
        (void)json_dumpf(row, stdout, JSON_INDENT(2));
        (void)printf("\n");
        *ret_exit =
            !o->wait || strcmp(tr_json_word(row, "verdict"), "AC") == 0 ? CLI_OK : CLI_NOT_OK;
    } else if (o->wait) {
        *ret_exit = show(row);
    } else {
        (void)printf("%s\n", id);
    }
    return 0;
}

int cmd_submit(int argc, char **argv)
{
    TR_CLEANUP(cli_end) struct cli_run run;
    TR_CLEANUP(api_close) struct api api = {0};
    struct options o = {0};
    struct tr_err err = TR_ERR_INIT;
    int code = CLI_OK;

    if (!cli_begin(&run, &doc, &o, argc, argv, &code))
        return code;
    int r = api_open_by(&api, &o.api, &err);
    if (r >= 0)
        r = submit(&o, run.conf.args[0], &api, &code, &err);
    return r < 0 ? cli_fail(&run, &err) : code;
}
