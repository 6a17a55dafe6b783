/* SPDX-License-Identifier: MIT
 *
 * model/task.h - one submission to judge, as the seed's task message has it.
 */
#ifndef MODEL_TASK_H
#define MODEL_TASK_H

#include "model/language.h"
#include "model/problem.h"
#include "model/verdict.h"

struct tr_task {
    const char *submit_id;
    const char *idempotency_key; /* or NULL */
    struct {
        int64_t id;
        const char *title;
        struct tr_limits limits;
        bool has_time, has_memory, has_stack, has_output, has_wall; /* said by the task */
        bool is_spj;
        const char *test_data_zip;  /* URL or path, or NULL */
        const char *test_data_hash; /* 64 hex digits, or NULL */
        struct tr_test *tests;      /* inline test_cases[]; their bytes are in the arena */
        size_t ntests;
        bool has_scores; /* at least one of them says a score */
        bool has_scoring;
        enum tr_scoring scoring;
    } problem;
    const char *lang_slug;
    bool has_lang; /* the task brings commands of its own */
    struct tr_lang lang;
    const char *code;
    size_t code_len;
    const char *contest; /* the block as JSON text, carried through untouched; or NULL */
    const char *user;    /* likewise */
    int64_t retry_count;
    const char *created_at;
};

/* What judging a task gave: beside the cases, which the score was made of. */
struct tr_compile_report {
    enum tr_verdict verdict; /* AC or CE */
    bool ran;                /* false for languages that do not compile */
    bool cached;             /* nothing was compiled, it had been before */
    int64_t time_us;
    int64_t memory_kib;
    const char *log;     /* valid UTF-8, at most TR_COMPILE_LOG_MAX bytes; "" when silent */
    const char *log_url; /* or NULL */
};

#endif
