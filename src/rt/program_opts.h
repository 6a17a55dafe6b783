/* SPDX-License-Identifier: MIT
 *
 * rt/program_opts.h - the settings that every program has: its file, and how it logs.
 */
#ifndef RT_PROGRAM_OPTS_H
#define RT_PROGRAM_OPTS_H

#include "rt/conf.h"

extern const char *const tr_log_levels[];  /* in the order of enum tr_log_level */
extern const char *const tr_log_formats[]; /* in the order of enum tr_log_format */

/* NOLINTBEGIN(bugprone-macro-parentheses): names of types and members cannot be in parentheses */

/* Rows for a table whose struct `owner` has a text `config` and numbers `log_level`, `log_format`.
 */
#define PROGRAM_ITEMS(owner)                                                                       \
    {.name = "config",                                                                             \
     .type = TR_CONF_STRING,                                                                       \
     .at = offsetof(owner, config),                                                                \
     .unit = "FILE",                                                                               \
     .doc = "read settings from this file",                                                        \
     .flags = TR_CONF_CLI_ONLY},                                                                   \
        {.name = "log-level",                                                                      \
         .type = TR_CONF_CHOICE,                                                                   \
         .at = offsetof(owner, log_level),                                                         \
         .fallback = "info",                                                                       \
         .choices = tr_log_levels,                                                                 \
         .doc = "how much to log"},                                                                \
    {                                                                                              \
        .name = "log-format", .type = TR_CONF_CHOICE, .at = offsetof(owner, log_format),           \
        .fallback = "text", .choices = tr_log_formats,                                             \
        .doc = "log lines for people or for machines"                                              \
    }

/* NOLINTEND(bugprone-macro-parentheses) */

#endif
