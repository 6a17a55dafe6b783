/* SPDX-License-Identifier: MIT
 *
 * cmd_doctor.c - `tribunal doctor`: what this host gives, what is weaker, how to fix it.
 *
 * Each source of rows is a function in the table below; other parts of the system (languages,
 * servers) add theirs there. A row was tried, never guessed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/doctor.h"
#include "tribunal/box.h"

enum {
    ROWS_MAX = 128
};

struct options {
    bool json;
};

static const struct tr_conf_item items[] = {
    CLI_FLAG("json", json, "one JSON document instead of a table"),
};

static const struct cli_doc doc = {
    .name = "tribunal doctor",
    .usage = "[--json]",
    .summary = "Tries on this host what the sandbox is made of, and says what is weaker than it\n"
               "could be and which command would mend it. Exit code 1 when something needed is\n"
               "missing.",
    .items = items,
    .count = TR_ARRAY_LEN(items),
};

/* A source fills at most `max` rows and returns how many, or TR_E_*. */
typedef int (*row_source)(struct tbox_probe_row *rows, size_t max, struct tr_err *err);

static int box_rows(struct tbox_probe_row *rows, size_t max, struct tr_err *err)
{
    return tbox_probe(NULL, rows, max, err);
}

static const struct {
    const char *title;
    row_source rows;
} sources[] = {
    {"box", box_rows},
    {"language", doctor_langs},
};

static const char *status_word(int status)
{
    return status == TBOX_PROBE_OK ? "ok" : status == TBOX_PROBE_WEAKER ? "weaker" : "MISSING";
}

static void print_text(const char *s)
{
    (void)putchar('"');
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;

        if (c == '"' || c == '\\')
            (void)printf("\\%c", c);
        else if (c < 0x20 || c == 0x7f)
            (void)printf("\\u%04x", c);
        else
            (void)putchar(c);
    }
    (void)putchar('"');
}

static void print_json(const char *part, const struct tbox_probe_row *r, bool first)
{
    static const char *const words[] = {"ok", "weaker", "missing"};

    (void)printf("%s{\"part\":\"%s\",\"name\":", first ? "" : ",", part);
    print_text(r->name);
    (void)printf(",\"status\":\"%s\",\"found\":", words[r->status <= 2 ? r->status : 2]);
    print_text(r->found);
    (void)printf(",\"weaker\":");
    print_text(r->weaker);
    (void)printf(",\"fix\":");
    print_text(r->fix);
    (void)putchar('}');
}

static void print_row(const struct tbox_probe_row *r)
{
    (void)printf("%-20s %-8s %s\n", r->name, status_word(r->status), r->found);
    if (r->weaker[0])
        (void)printf("%-29s without it: %s\n", "", r->weaker);
    if (r->fix[0])
        (void)printf("%-29s fix: %s\n", "", r->fix);
}

int cmd_doctor(int argc, char **argv)
{
    TR_CLEANUP(cli_end) struct cli_run run;
    struct tr_err err = TR_ERR_INIT;
    struct options opt = {0};
    int code = CLI_OK;
    bool first = true;

    if (!cli_begin(&run, &doc, &opt, argc, argv, &code))
        return code;
    tr_autofree struct tbox_probe_row *rows = calloc(ROWS_MAX, sizeof(*rows));
    if (!rows)
        return CLI_FAULT;
    if (opt.json)
        (void)printf("{\"rows\":[");
    for (size_t i = 0; i < TR_ARRAY_LEN(sources); i++) {
        int n = sources[i].rows(rows, ROWS_MAX, &err);

        if (n < 0) {
            if (opt.json)
                (void)printf("]}\n");
            return cli_fail(&run, &err);
        }
        for (int k = 0; k < n; k++) {
            if (opt.json)
                print_json(sources[i].title, &rows[k], first);
            else
                print_row(&rows[k]);
            first = false;
            if (rows[k].status == TBOX_PROBE_MISSING)
                code = CLI_NOT_OK;
        }
    }
    if (opt.json)
        (void)printf("],\"ok\":%s}\n", code == CLI_OK ? "true" : "false");
    return code;
}
