/* SPDX-License-Identifier: MIT
 *
 * rt/conf_common.h - the settings that every program has.
 */
#ifndef RT_CONF_COMMON_H
#define RT_CONF_COMMON_H

#include "rt/conf.h"

struct tr_common {
    const char *config;
    int log_level;  /* enum tr_log_level */
    int log_format; /* enum tr_log_format */
};

extern const char *const tr_log_levels[], *const tr_log_formats[];

/* NOLINTBEGIN(bugprone-macro-parentheses): names of types and members cannot be in parentheses */

#define TR_CONFIG_ITEM(owner, member)                                                              \
    {                                                                                              \
        .name = "config", .type = TR_CONF_STRING, .at = offsetof(owner, member.config),            \
        .unit = "FILE", .doc = "read settings from this file", .flags = TR_CONF_CLI_ONLY           \
    }
#define TR_LOG_ITEMS(owner, member)                                                                \
    {.name = "log-level",                                                                          \
     .type = TR_CONF_CHOICE,                                                                       \
     .at = offsetof(owner, member.log_level),                                                      \
     .fallback = "info",                                                                           \
     .choices = tr_log_levels,                                                                     \
     .doc = "how much to log"},                                                                    \
    {                                                                                              \
        .name = "log-format", .type = TR_CONF_CHOICE, .at = offsetof(owner, member.log_format),    \
        .fallback = "text", .choices = tr_log_formats,                                             \
        .doc = "log lines for people or for machines"                                              \
    }

/* NOLINTEND(bugprone-macro-parentheses) */

/* Log to standard error as the settings say. */
void tr_common_log(const struct tr_common *c);

#endif
