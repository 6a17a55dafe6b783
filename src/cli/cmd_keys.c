/* SPDX-License-Identifier: MIT
 *
 * cmd_keys.c - `tribunal keys new|list|revoke`: who may talk to the controller.
 */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/keys_cli.h"

struct options {
    const char *db, *data, *name, *out;
    int role;
    bool json;
};

static const char *const roles[] = {"submit", "read", "admin", "judge", NULL};

#define DB_ITEMS                                                                                   \
    {.name = "db",                                                                                 \
     .type = TR_CONF_STRING,                                                                       \
     .at = offsetof(struct options, db),                                                           \
     .unit = "URL",                                                                                \
     .doc = "database of the controller: sqlite:PATH, postgres://… or mysql://…"},                 \
        {.name = "data",                                                                           \
         .type = TR_CONF_STRING,                                                                   \
         .at = offsetof(struct options, data),                                                     \
         .fallback = "tribunal-data",                                                              \
         .unit = "DIR",                                                                            \
         .doc = "data folder of the controller, when it uses its own SQLite"},                     \
    {                                                                                              \
        .name = "json", .type = TR_CONF_BOOL, .at = offsetof(struct options, json),                \
        .doc = "print one JSON document", .flags = TR_CONF_CLI_ONLY                                \
    }

static const struct tr_conf_item new_items[] = {
    DB_ITEMS,
    {.name = "role",
     .type = TR_CONF_CHOICE,
     .at = offsetof(struct options, role),
     .fallback = "submit",
     .choices = roles,
     .doc = "what it may: submit; read (also everybody's); admin (also change); judge (a judge's)"},
    {.name = "name",
     .type = TR_CONF_STRING,
     .at = offsetof(struct options, name),
     .fallback = "",
     .unit = "TEXT",
     .doc = "whose it is, for people"},
    {.name = "out",
     .type = TR_CONF_STRING,
     .at = offsetof(struct options, out),
     .unit = "FILE",
     .doc = "write the key to this file (mode 0600) instead of showing it"},
};

static const struct tr_conf_item list_items[] = {DB_ITEMS};

static int open_store(const struct options *o, struct tr_store **ret, struct tr_err *err)
{
    char url[4096];

    (void)snprintf(url, sizeof(url), "sqlite:%s/tribunal.db", o->data);
    const struct tr_store_conf conf = {.url = o->db ? o->db : url};
    int r = tr_store_open(&conf, ret, err);
    return r < 0 ? r : tr_store_migrate(*ret, -1, err);
}

/* ---------------------------------------------------------------- new */

static int show_new(const struct options *o, const char *id, const char *text, struct tr_err *err)
{
    int r = o->out ? keys_write(o->out, text, err) : 0;

    if (r < 0)
        return r;
    if (o->json) {
        json_t *j = json_pack("{s:s, s:s, s:s, s:s*}", "key_id", id, "role", roles[o->role], "name",
                              o->name, "key", o->out ? NULL : text);
        (void)json_dumpf(j, stdout, JSON_INDENT(2));
        (void)printf("\n");
        json_decref(j);
    } else if (o->out) {
        (void)printf("key %s (%s) is in %s\n", id, roles[o->role], o->out);
    } else {
        (void)printf("%s\n", text);
        (void)fprintf(stderr, "key %s (%s). It is shown once: only its hash is kept.\n", id,
                      roles[o->role]);
    }
    return 0;
}

static int cmd_keys_new(int argc, char **argv)
{
    static const struct cli_doc doc = {
        .name = "tribunal keys new",
        .usage = "[--role ROLE] [--name TEXT] [--db URL | --data DIR]",
        .summary = "Makes a key. A client sends it as 'Authorization: Bearer KEY'; a judge is "
                   "given it with --key-file and never sends it.",
        .examples = "  tribunal keys new --role submit --name website\n"
                    "  tribunal keys new --role judge --name rack-7 --out judge.key\n",
        .items = new_items,
        .count = TR_ARRAY_LEN(new_items),
    };
    TR_CLEANUP(cli_end) struct cli_run run;
    TR_CLEANUP(tr_store_closep) struct tr_store *st = NULL;
    struct options o = {0};
    struct tr_err err = TR_ERR_INIT;
    char id[TR_KEY_ID], text[TR_KEY_TEXT];
    int code = CLI_OK;

    if (!cli_begin(&run, &doc, &o, argc, argv, &code))
        return code;
    int r = open_store(&o, &st, &err);
    if (r >= 0)
        r = keys_make(st, roles[o.role], o.name, id, text, &err);
    if (r >= 0)
        r = show_new(&o, id, text, &err);
    return r < 0 ? cli_fail(&run, &err) : CLI_OK;
}

/* ---------------------------------------------------------------- list */

static const char *when(int64_t us, char out[static TR_TIME_TEXT])
{
    if (!us)
        return "-";
    (void)tr_clock_text(us, out);
    out[19] = '\0'; /* seconds are enough here */
    return out;
}

static void print_rows(const struct tr_key_row *rows, size_t n)
{
    char made[TR_TIME_TEXT], used[TR_TIME_TEXT], gone[TR_TIME_TEXT];

    (void)printf("%-12s  %-6s  %-24s  %-19s  %-19s  %s\n", "KEY", "ROLE", "NAME", "MADE (UTC)",
                 "LAST USE", "REVOKED");
    for (size_t i = 0; i < n; i++)
        (void)printf("%-12s  %-6s  %-24s  %-19s  %-19s  %s\n", rows[i].key_id, rows[i].role,
                     rows[i].name, when(rows[i].created_us, made), when(rows[i].used_us, used),
                     when(rows[i].revoked_us, gone));
}

static void print_json(const struct tr_key_row *rows, size_t n)
{
    json_t *list = json_array();
    char made[TR_TIME_TEXT], used[TR_TIME_TEXT], gone[TR_TIME_TEXT];

    for (size_t i = 0; i < n; i++) {
        const struct tr_key_row *k = &rows[i];

        (void)json_array_append_new(
            list,
            json_pack("{s:s, s:s, s:s, s:s, s:s*, s:s*}", "key_id", k->key_id, "role", k->role,
                      "name", k->name, "created_at", tr_clock_text(k->created_us, made), "used_at",
                      k->used_us ? tr_clock_text(k->used_us, used) : NULL, "revoked_at",
                      k->revoked_us ? tr_clock_text(k->revoked_us, gone) : NULL));
    }
    json_t *doc = json_pack("{s:o}", "keys", list);
    (void)json_dumpf(doc, stdout, JSON_INDENT(2));
    (void)printf("\n");
    json_decref(doc);
}

static int cmd_keys_list(int argc, char **argv)
{
    static const struct cli_doc doc = {
        .name = "tribunal keys list",
        .usage = "[--db URL | --data DIR] [--json]",
        .summary = "Shows all keys with their roles and when each was used last (to the minute).",
        .items = list_items,
        .count = TR_ARRAY_LEN(list_items),
    };
    TR_CLEANUP(cli_end) struct cli_run run;
    TR_CLEANUP(tr_store_closep) struct tr_store *st = NULL;
    struct options o = {0};
    struct tr_err err = TR_ERR_INIT;
    struct tr_arena arena;
    struct tr_key_row *rows = NULL;
    size_t n = 0;
    int code = CLI_OK;

    if (!cli_begin(&run, &doc, &o, argc, argv, &code))
        return code;
    tr_arena_init(&arena, 64 * 1024 * 1024);
    int r = open_store(&o, &st, &err);
    if (r >= 0)
        r = tr_store_key_list(st, &arena, &rows, &n, &err);
    if (r >= 0 && o.json)
        print_json(rows, n);
    else if (r >= 0)
        print_rows(rows, n);
    tr_arena_done(&arena);
    return r < 0 ? cli_fail(&run, &err) : CLI_OK;
}

/* ---------------------------------------------------------------- revoke */

static int cmd_keys_revoke(int argc, char **argv)
{
    static const struct cli_doc doc = {
        .name = "tribunal keys revoke",
        .usage = "KEY… [--db URL | --data DIR]",
        .summary = "Makes keys useless, by their ids (the first 12 characters after the prefix). A "
                   "controller notices within a second; a judge with it is disconnected.",
        .examples = "  tribunal keys revoke k3v9x0a1b2c3\n",
        .items = list_items,
        .count = TR_ARRAY_LEN(list_items),
        .args_min = 1,
        .args_max = 100,
    };
    TR_CLEANUP(cli_end) struct cli_run run;
    TR_CLEANUP(tr_store_closep) struct tr_store *st = NULL;
    struct options o = {0};
    struct tr_err err = TR_ERR_INIT;
    int code = CLI_OK;

    if (!cli_begin(&run, &doc, &o, argc, argv, &code))
        return code;
    int r = open_store(&o, &st, &err);
    for (size_t i = 0; r >= 0 && i < run.conf.nargs; i++) {
        r = tr_store_key_revoke(st, run.conf.args[i], &err);
        if (r < 0)
            (void)tr_fail_wrap(&err, "%.32s", run.conf.args[i]);
        else if (!o.json)
            (void)printf("%s is revoked\n", run.conf.args[i]);
    }
    if (r >= 0 && o.json)
        (void)printf("{\"revoked\": %zu}\n", run.conf.nargs);
    return r < 0 ? cli_fail(&run, &err) : CLI_OK;
}

int cmd_keys(int argc, char **argv)
{
    static const struct cli_command commands[] = {
        {"new", "make a key for a client or a judge", cmd_keys_new},
        {"list", "show all keys and their last use", cmd_keys_list},
        {"revoke", "make keys useless", cmd_keys_revoke},
    };
    static const struct cli_group group = {
        .name = "tribunal keys",
        .summary = "Keys of clients and judges, in the database of the controller.",
        .commands = commands,
        .count = TR_ARRAY_LEN(commands),
    };

    return cli_dispatch(&group, argc, argv);
}
