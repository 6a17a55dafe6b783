/* SPDX-License-Identifier: MIT
 *
 * cli/cli.h - what all subcommands of `tribunal` share.
 *
 * A subcommand is one file with one row in commands.c. It describes its options in a table, calls
 * cli_begin(), works, calls cli_end() and returns its exit code.
 */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "rt/conf_common.h"

/* Exit codes of every program (DESIGN: "the command line"). */
enum {
    CLI_OK = 0,     /* accepted, or done */
    CLI_NOT_OK = 1, /* judged and not accepted; looked and found something wanting */
    CLI_USAGE = 2,
    CLI_FAULT = 3
};

struct cli_command {
    const char *name;
    const char *summary; /* one phrase for the list */
    int (*run)(int argc, char **argv);
};

/* `tribunal NAME` or `tribunal GROUP NAME`: argv[0] is the word before the one to look up. Prints
 * the list for --help and when the word is missing or unknown. */
struct cli_group {
    const char *name;    /* "tribunal", "tribunal queue" */
    const char *summary; /* a line or two above the list */
    const struct cli_command *commands;
    size_t count;
};
int cli_dispatch(const struct cli_group *group, int argc, char **argv);

struct cli_doc {
    const char *name; /* "tribunal run" */
    const char *usage;
    const char *summary;
    const char *examples;
    const struct tr_conf_item *items; /* fills `into` of cli_begin() */
    size_t count;
    bool slot; /* it judges: `into` begins with a struct slot_options, see cli/slot.h */
    size_t args_min, args_max;
};

/* Rows for the `struct options` of the file they stand in; of the command line only. */
#define CLI_FLAG(name_, field_, doc_)                                                              \
    {                                                                                              \
        .name = (name_), .type = TR_CONF_BOOL, .at = offsetof(struct options, field_),             \
        .doc = (doc_), .flags = TR_CONF_CLI_ONLY                                                   \
    }
#define CLI_TEXT(name_, field_, fallback_, unit_, doc_)                                            \
    {                                                                                              \
        .name = (name_), .type = TR_CONF_STRING, .at = offsetof(struct options, field_),           \
        .fallback = (fallback_), .unit = (unit_), .doc = (doc_), .flags = TR_CONF_CLI_ONLY         \
    }
#define CLI_NUMBER(name_, field_, fallback_, min_, max_, doc_)                                     \
    {                                                                                              \
        .name = (name_), .type = TR_CONF_INT, .at = offsetof(struct options, field_),              \
        .fallback = (fallback_), .min = (min_), .max = (max_), .unit = "N", .doc = (doc_),         \
        .flags = TR_CONF_CLI_ONLY                                                                  \
    }
#define CLI_TIME(name_, field_, fallback_, doc_)                                                   \
    {                                                                                              \
        .name = (name_), .type = TR_CONF_DURATION, .at = offsetof(struct options, field_),         \
        .fallback = (fallback_), .unit = "TIME", .doc = (doc_), .flags = TR_CONF_CLI_ONLY          \
    }
#define CLI_CHOICE(name_, field_, fallback_, choices_, doc_)                                       \
    {                                                                                              \
        .name = (name_), .type = TR_CONF_CHOICE, .at = offsetof(struct options, field_),           \
        .fallback = (fallback_), .choices = (choices_), .doc = (doc_), .flags = TR_CONF_CLI_ONLY   \
    }

/* Options that every subcommand has. */
struct cli_common {
    struct tr_common base;
    int color; /* 0 auto, 1 always, 2 never */
};

struct cli_run {
    const struct cli_doc *doc;
    struct tr_conf conf;
    struct cli_common common;
};

/* Read options into `into` (may be NULL without items) and set up logging. True: go on. False:
 * --help was printed or the usage was wrong, leave with *ret_exit. cli_end() in both cases. */
bool cli_begin(struct cli_run *run, const struct cli_doc *doc, void *into, int argc, char **argv,
               int *ret_exit);
void cli_end(struct cli_run *run); /* for TR_CLEANUP as well */

/* Print "NAME: sentence" on standard error; returns the exit code that fits its class. */
int cli_fail(const struct cli_run *run, const struct tr_err *err);

/* Colours and redrawing: only on a terminal, never with NO_COLOR, unless --color says otherwise. */
bool cli_color(const struct cli_run *run, int fd);

#endif
