/* SPDX-License-Identifier: MIT
 *
 * cli.c - find the subcommand, read its options, report its failure.
 */
#include "cli/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "cli/nats_opts.h"
#include "cli/slot.h"

static const char *const colors[] = {"auto", "always", "never", NULL};

static const struct tr_conf_item common_items[] = {
    TR_CONFIG_ITEM(struct cli_common, base),
    TR_LOG_ITEMS(struct cli_common, base),
    {.name = "color",
     .type = TR_CONF_CHOICE,
     .at = offsetof(struct cli_common, color),
     .fallback = "auto",
     .choices = colors,
     .doc = "colours on a terminal"},
};

/* Settings of single commands that may stand in the file all of them read. */
struct shared {
    struct tr_nats_opts nats;
    int64_t replicas;
    int64_t farm_slots;
    const char *heavy;
};

static const struct tr_conf_item shared_items[] = {
    NATS_ITEMS(struct shared, nats),
    FARM_ITEMS(struct shared, replicas, farm_slots),
    HEAVY_ITEM(struct shared, heavy),
};

static void print_list(const struct cli_group *g, FILE *out)
{
    int width = 8;

    for (size_t i = 0; i < g->count; i++) {
        int n = (int)strlen(g->commands[i].name);

        width = n > width ? n : width;
    }
    (void)fprintf(out, "Usage: %s COMMAND [options]\n\n%s\n\nCommands:\n", g->name, g->summary);
    for (size_t i = 0; i < g->count; i++)
        (void)fprintf(out, "  %-*s  %s\n", width, g->commands[i].name, g->commands[i].summary);
    (void)fprintf(out, "\n'%s COMMAND --help' says more about each.\n", g->name);
}

static int unknown_command(const struct cli_group *g, const char *word)
{
    const char *words[64];
    size_t n = 0;

    for (; n < g->count && n < TR_ARRAY_LEN(words) - 1; n++)
        words[n] = g->commands[n].name;
    words[n] = NULL;
    const char *near = tr_conf_closest(word, words);
    if (near)
        (void)fprintf(stderr, "%s: unknown command '%.64s'; did you mean '%s'?\n", g->name, word,
                      near);
    else
        (void)fprintf(stderr, "%s: unknown command '%.64s'; '%s --help' lists them\n", g->name,
                      word, g->name);
    return CLI_USAGE;
}

int cli_dispatch(const struct cli_group *group, int argc, char **argv)
{
    if (argc < 2) {
        print_list(group, stderr);
        return CLI_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0) {
        print_list(group, stdout);
        return CLI_OK;
    }
    for (size_t i = 0; i < group->count; i++) {
        if (strcmp(group->commands[i].name, argv[1]) == 0)
            return group->commands[i].run(argc - 1, argv + 1);
    }
    return unknown_command(group, argv[1]);
}

bool cli_begin(struct cli_run *run, const struct cli_doc *doc, void *into, int argc, char **argv,
               int *ret_exit)
{
    struct tr_err err = TR_ERR_INIT;

    struct shared unread = {.farm_slots = 0};
    struct slot_options unread_slot = {0};

    *run = (struct cli_run){.doc = doc};
    const struct tr_conf_table tables[] = {
        {.items = common_items, .count = TR_ARRAY_LEN(common_items), .into = &run->common},
        {.items = slot_items,
         .count = slot_items_count,
         .into = doc->slot ? into : &unread_slot,
         .foreign = !doc->slot},
        {.items = doc->items, .count = doc->count, .into = into},
        {.items = shared_items,
         .count = TR_ARRAY_LEN(shared_items),
         .into = &unread,
         .foreign = true},
    };
    const struct tr_conf_program p = {
        .name = doc->name,
        .usage = doc->usage,
        .summary = doc->summary,
        .examples = doc->examples,
        .tables = tables,
        .ntables = TR_ARRAY_LEN(tables),
        .args_min = doc->args_min,
        .args_max = doc->args_max,
    };
    int r = tr_conf_load(&p, argc, argv, &run->conf, &err);
    if (r < 0) {
        *ret_exit = cli_fail(run, &err);
        return false;
    }
    if (run->conf.help) {
        tr_conf_print_help(&p, &run->conf, stdout);
        *ret_exit = CLI_OK;
        return false;
    }
    tr_common_log(&run->common.base);
    return true;
}

void cli_end(struct cli_run *run)
{
    tr_conf_done(&run->conf);
}

int cli_fail(const struct cli_run *run, const struct tr_err *err)
{
    (void)fprintf(stderr, "%s: %s\n", run->doc->name, err->msg);
    /* What the configuration names and is not there is the user's to mend, as a wrong flag is. */
    return tr_err_class(err->code) == TR_E_USAGE ? CLI_USAGE : CLI_FAULT;
}

bool cli_color(const struct cli_run *run, int fd)
{
    const char *no = secure_getenv("NO_COLOR");
    const char *term = secure_getenv("TERM");

    if (run->common.color != 0)
        return run->common.color == 1;
    return isatty(fd) && !(no && *no) && !(term && strcmp(term, "dumb") == 0);
}
