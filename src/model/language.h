/* SPDX-License-Identifier: MIT
 *
 * model/language.h - how source in one language becomes a running program.
 */
#ifndef MODEL_LANGUAGE_H
#define MODEL_LANGUAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Languages whose compilers or runtimes are heavy: seed 000 §2.1's three (cpp17, c11, java17) and
 * their other editions, and other compiled languages of such weight. Go is light there. */
#define TR_HEAVY_LANGUAGES                                                                         \
    "c11, c17, c23, cpp11, cpp14, cpp17, cpp20, cpp23, java8, java11, java17, java21, kotlin, "    \
    "rust, csharp, haskell, scala, swift"

enum {
    TR_LANG_ARGS_MAX = 64,   /* words of one command */
    TR_LANG_ENV_MAX = 32,    /* variables */
    TR_LANG_WORD_MAX = 1024, /* bytes of one word */
    TR_LANG_SLUG_MAX = 64,
    TR_LANG_NAME_MAX = 255 /* of the source file */
};

struct tr_argv {
    const char **words; /* NULL-terminated */
    size_t count;
};

/* Words of commands may hold {memory_mib} and {stack_mib}: the limits of the run they are for. */
struct tr_lang {
    const char *slug; /* "cpp17" */
    const char *name; /* "C++17 (g++)" */
    struct tr_argv extensions;
    const char *source;     /* file name of the source in the box */
    struct tr_argv compile; /* no words: nothing to compile */
    const char *artifact; /* the one file that compiling leaves; the source when nothing compiles */
    struct tr_argv run;
    struct tr_argv env;     /* "NAME=value", beside PATH, HOME and LANG, which are always there */
    struct tr_argv version; /* prints the version; also the test whether it is usable here */
    const char *pch;        /* header to precompile, "bits/stdc++.h", or NULL */
    const char *root;       /* docker_image or root folder name; NULL: the host's system folders */
    int64_t time_milli;     /* factors in thousandths */
    int64_t memory_milli;
    int64_t memory_extra_kib; /* a runtime's own need, beside the factor (a JVM's code cache) */
    int64_t pids;             /* 0: the default */
    int64_t stack_kib;        /* 0: as much as the memory */
    int64_t output_bytes;     /* 0: the default */
    int64_t compile_time_us;
    int64_t compile_memory_kib;
    struct tr_argv
        memory_words;     /* on standard error of a failed run: its runtime had no memory left */
    const char *package;  /* what a person would install to have it, or NULL */
    const char *selftest; /* source that prints "3" for "1 2" */
    bool from_task;       /* it came with the task and is not one of ours */
};

#endif
