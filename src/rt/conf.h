/* SPDX-License-Identifier: MIT
 *
 * rt/conf.h - one table says all there is to know about a program's settings.
 *
 * A row names a setting, its type, default, range and meaning. From the rows come the command line
 * (--log-level), the environment (TRIBUNAL_LOG_LEVEL), the file (log_level: …), --help, the sample
 * file and the manual page, so none of them can drift from the others. The command line wins over
 * the environment, the environment over the file, the file over the default.
 *
 *     struct opts { const char *db; int64_t jobs; };
 *     static const struct tr_conf_item items[] = {
 *         {.name = "db", .type = TR_CONF_STRING, .at = offsetof(struct opts, db), .unit = "URL",
 *          .doc = "database to work on"},
 *         {.name = "jobs", .type = TR_CONF_INT, .at = offsetof(struct opts, jobs),
 *          .fallback = "2", .min = 1, .max = 256, .doc = "how many at once"},
 *     };
 */
#ifndef RT_CONF_H
#define RT_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/err.h"

enum tr_conf_type {
    TR_CONF_BOOL,     /* bool; on the command line --name or --no-name */
    TR_CONF_INT,      /* int64_t */
    TR_CONF_SIZE,     /* uint64_t bytes, "256M" */
    TR_CONF_DURATION, /* int64_t microseconds, "1.5s" */
    TR_CONF_STRING,   /* const char *; NULL when not set and without default */
    TR_CONF_CHOICE,   /* int: the index into .choices */
    TR_CONF_LIST      /* struct tr_conf_list; --name may be repeated, a YAML list in the file */
};

struct tr_conf_list {
    const char **items;
    size_t count;
};

enum {
    TR_CONF_SECRET = 1,   /* also --name-file, name_file, TRIBUNAL_NAME_FILE; never printed */
    TR_CONF_CLI_ONLY = 2, /* makes no sense in a file or the environment */
    TR_CONF_REQUIRED = 4,
    TR_CONF_HIDDEN = 8,  /* not in --help */
    TR_CONF_IN_FILE = 16 /* of a command, and may stand in the file too: see `foreign` */
};

struct tr_conf_item {
    const char *name; /* "log-level" */
    char letter;      /* 'p' for -p, or 0 */
    enum tr_conf_type type;
    size_t at;            /* offsetof in the struct that is filled */
    const char *fallback; /* as a person would write it; NULL: 0, false, NULL */
    int64_t min, max;     /* INT as is, SIZE in bytes, DURATION in microseconds; 0,0: no range */
    const char *const *choices; /* CHOICE: NULL-terminated */
    const char *unit;           /* the word after --name in --help: SIZE, URL, N … */
    const char *doc;            /* one phrase without a full stop */
    unsigned flags;
};

/* One table and the struct that it fills. */
struct tr_conf_table {
    const struct tr_conf_item *items;
    size_t count;
    void *into;
    /* Settings of other commands that may stand in the file we share with them: a value is checked
     * and goes into `into`, which nobody reads; there is no option and no variable for it here. */
    bool foreign;
};

struct tr_conf_program {
    const char *name;                   /* "tribunal run": for messages */
    const char *usage;                  /* what follows the name: "[options] -- CMD…" */
    const char *summary;                /* one paragraph for --help */
    const char *examples;               /* lines for --help, or NULL */
    const struct tr_conf_table *tables; /* the first's settings may stand in the file */
    size_t ntables;
    size_t args_min, args_max; /* how many plain arguments are allowed */
};

struct tr_conf {
    struct tr_arena arena; /* every text in the filled structs lives here */
    char **args;           /* the plain arguments, options taken out, NULL-terminated */
    size_t nargs;
    bool help;             /* --help was there: nothing was checked, print and leave */
    const char *help_kind; /* "man" or "sample" after --help=…, else NULL */
};

/* argv[0] is skipped. Options may stand before, between and behind arguments; "--" ends them. With
 * --config F or TRIBUNAL_CONFIG=F the file is read. Returns 0 or TR_E_* with a sentence that names
 * where the setting was found and what was expected. tr_conf_done() also after a failure. */
int tr_conf_load(const struct tr_conf_program *p, int argc, char **argv, struct tr_conf *conf,
                 struct tr_err *err);
void tr_conf_done(struct tr_conf *conf);

/* --help for people; the options part of a manual page in scdoc; a commented sample file. */
void tr_conf_help(const struct tr_conf_program *p, FILE *out);
void tr_conf_man(const struct tr_conf_program *p, FILE *out);
void tr_conf_sample(const struct tr_conf_program *p, FILE *out);

/* Print what conf->help asks for. */
void tr_conf_print_help(const struct tr_conf_program *p, const struct tr_conf *conf, FILE *out);

/* The closest of `words` (NULL-terminated) to a mistyped one, or NULL when none is close. */
const char *tr_conf_closest(const char *word, const char *const *words);

#endif
