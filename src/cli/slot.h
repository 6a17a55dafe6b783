/* SPDX-License-Identifier: MIT
 *
 * cli/slot.h - what `judge`, `problem check`, `lang` and `bench` share: options of a judge on this
 * machine, and a problem named on the command line.
 */
#ifndef CLI_SLOT_H
#define CLI_SLOT_H

#include "cli/cli.h"
#include "judge/judge.h"
#include "judge/problem.h"

struct slot_options {
    const char *languages;
    const char *cache;
    uint64_t cache_size;
    const char *include;
    struct tr_conf_list roots; /* "NAME=FOLDER" */
    int64_t jobs;
    int64_t idle_us;
    bool no_cache;
    bool no_pch;
};

/* Rows for a subcommand's table; `opts` is its options struct and `member` a struct slot_options in
 * it. */
/* NOLINTBEGIN(bugprone-macro-parentheses): a type and a member cannot have any */
#define SLOT_ITEMS(opts, member)                                                                   \
    {.name = "languages",                                                                          \
     .type = TR_CONF_STRING,                                                                       \
     .at = offsetof(opts, member.languages),                                                       \
     .unit = "DIR",                                                                                \
     .doc = "folder of language files"},                                                           \
        {.name = "cache",                                                                          \
         .type = TR_CONF_STRING,                                                                   \
         .at = offsetof(opts, member.cache),                                                       \
         .unit = "DIR",                                                                            \
         .doc = "folder for compiled programs and precompiled headers"},                           \
        {.name = "cache-size",                                                                     \
         .type = TR_CONF_SIZE,                                                                     \
         .at = offsetof(opts, member.cache_size),                                                  \
         .fallback = "2G",                                                                         \
         .min = 1 << 20,                                                                           \
         .max = INT64_MAX,                                                                         \
         .unit = "SIZE",                                                                           \
         .doc = "most that compiled programs may take"},                                           \
        {.name = "include",                                                                        \
         .type = TR_CONF_STRING,                                                                   \
         .at = offsetof(opts, member.include),                                                     \
         .unit = "DIR",                                                                            \
         .doc = "folder with headers for checkers, such as testlib.h"},                            \
        {.name = "root",                                                                           \
         .type = TR_CONF_LIST,                                                                     \
         .at = offsetof(opts, member.roots),                                                       \
         .unit = "NAME=DIR",                                                                       \
         .doc = "unpacked file system for a language's docker_image"},                             \
        {.name = "idle",                                                                           \
         .type = TR_CONF_DURATION,                                                                 \
         .at = offsetof(opts, member.idle_us),                                                     \
         .fallback = "1s",                                                                         \
         .min = 10000,                                                                             \
         .max = INT64_C(600000000),                                                                \
         .unit = "TIME",                                                                           \
         .doc = "a program that waits this long without using a CPU is stopped (ILE)"},            \
        {.name = "no-cache",                                                                       \
         .type = TR_CONF_BOOL,                                                                     \
         .at = offsetof(opts, member.no_cache),                                                    \
         .doc = "compile anew and keep nothing"},                                                  \
    {                                                                                              \
        .name = "jobs", .letter = 'j', .type = TR_CONF_INT, .at = offsetof(opts, member.jobs),     \
        .fallback = "1", .min = 1, .max = TR_JUDGE_JOBS_MAX, .unit = "N",                          \
        .doc = "tests at once, each on a core of its own"                                          \
    }

/* NOLINTEND(bugprone-macro-parentheses) */

struct slot {
    struct tr_judge *judge;
    int cpus[TR_JUDGE_JOBS_MAX];
    struct tr_judge_root roots[32];
    struct tr_arena arena; /* for the names in roots */
};
int slot_open(struct slot *s, const struct slot_options *o, struct tr_err *err);
void slot_close(struct slot *s); /* for TR_CLEANUP as well; fine on a zeroed struct */

/* A problem folder, or a zip file of one, which is unpacked into a folder that goes away with
 * problem_arg_done(). */
struct problem_arg {
    struct tr_arena arena;
    struct tr_problem problem;
    int dirfd;
    char *temp; /* folder to remove, or NULL */
    struct tr_buf notes;
};
int problem_arg_open(struct problem_arg *p, const char *path, struct tr_err *err);
void problem_arg_done(struct problem_arg *p);
/* Unpack only: an fd of the folder in *ret_dirfd. */
int package_open(const char *path, char **ret_temp, int *ret_dirfd, struct tr_err *err);

/* Source of at most TR_SOURCE_MAX bytes. */
int source_read(const char *path, struct tr_buf *b, struct tr_err *err);

#endif
