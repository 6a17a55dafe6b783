/* SPDX-License-Identifier: MIT
 *
 * judge/opts.h - the options of every program that judges, once.
 */
#ifndef JUDGE_OPTS_H
#define JUDGE_OPTS_H

#include "judge/judge.h"
#include "rt/conf.h"

enum {
    TR_JUDGE_ROOTS_MAX = 32
};

struct slot_options {
    const char *languages;
    const char *cache;
    uint64_t cache_size;
    const char *include;
    struct tr_conf_list roots; /* "NAME=FOLDER" */
    int64_t jobs;
    int64_t idle_us;
    bool no_cache;
    bool no_pch; /* no option: bench compares with it */
    bool json;   /* of commands alone: no row here */
};

/* Rows for an option table; `opts` is its options struct and `member` a struct slot_options in
 * it. */
/* NOLINTBEGIN(bugprone-macro-parentheses): a type and a member cannot have any */
#define SLOT_ITEMS(opts, member)                                                                   \
    {.name = "languages",                                                                          \
     .type = TR_CONF_STRING,                                                                       \
     .at = offsetof(opts, member.languages),                                                       \
     .unit = "DIR",                                                                                \
     .doc = "folder of language files",                                                            \
     .flags = TR_CONF_IN_FILE},                                                                    \
        {.name = "cache",                                                                          \
         .type = TR_CONF_STRING,                                                                   \
         .at = offsetof(opts, member.cache),                                                       \
         .unit = "DIR",                                                                            \
         .doc = "folder for compiled programs and precompiled headers",                            \
         .flags = TR_CONF_IN_FILE},                                                                \
        {.name = "cache-size",                                                                     \
         .type = TR_CONF_SIZE,                                                                     \
         .at = offsetof(opts, member.cache_size),                                                  \
         .fallback = "2G",                                                                         \
         .min = 1 << 20,                                                                           \
         .max = INT64_MAX,                                                                         \
         .unit = "SIZE",                                                                           \
         .doc = "most that compiled programs may take",                                            \
         .flags = TR_CONF_IN_FILE},                                                                \
        {.name = "include",                                                                        \
         .type = TR_CONF_STRING,                                                                   \
         .at = offsetof(opts, member.include),                                                     \
         .unit = "DIR",                                                                            \
         .doc = "folder with headers for checkers, such as testlib.h",                             \
         .flags = TR_CONF_IN_FILE},                                                                \
        {.name = "root",                                                                           \
         .type = TR_CONF_LIST,                                                                     \
         .at = offsetof(opts, member.roots),                                                       \
         .unit = "NAME=DIR",                                                                       \
         .doc = "unpacked file system for a language's docker_image",                              \
         .flags = TR_CONF_IN_FILE},                                                                \
        {.name = "idle",                                                                           \
         .type = TR_CONF_DURATION,                                                                 \
         .at = offsetof(opts, member.idle_us),                                                     \
         .fallback = "1s",                                                                         \
         .min = 10000,                                                                             \
         .max = INT64_C(600000000),                                                                \
         .unit = "TIME",                                                                           \
         .doc = "a program that waits this long without using a CPU is stopped (ILE)",             \
         .flags = TR_CONF_IN_FILE},                                                                \
        {.name = "no-cache",                                                                       \
         .type = TR_CONF_BOOL,                                                                     \
         .at = offsetof(opts, member.no_cache),                                                    \
         .doc = "compile anew and keep nothing",                                                   \
         .flags = TR_CONF_IN_FILE},                                                                \
    {                                                                                              \
        .name = "jobs", .letter = 'j', .type = TR_CONF_INT, .at = offsetof(opts, member.jobs),     \
        .fallback = "1", .min = 1, .max = TR_JUDGE_JOBS_MAX, .unit = "N",                          \
        .doc = "tests at once, each on a core of its own", .flags = TR_CONF_IN_FILE                \
    }

/* NOLINTEND(bugprone-macro-parentheses) */

/* As the judge takes them. The names in `roots`, which has TR_JUDGE_ROOTS_MAX places, live in the
 * arena; everything else stays where the options are. */
int slot_judge_options(const struct slot_options *o, struct tr_judge_root *roots,
                       struct tr_arena *arena, struct tr_judge_options *ret, struct tr_err *err);

#endif
