/* SPDX-License-Identifier: MIT
 *
 * run.c - one run of a compiled program: what the box is told, and what its report means.
 *
 * Time and memory come from the box's record, never from the program or its signal.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "judge/judge_private.h"

enum {
    LAST_WORDS = 16 * 1024 /* of standard error; a stack trace of a hundred lines fits */
};

void program_spec(const struct program *p, struct tbox_spec *ret)
{
    const struct tr_limits *l = &p->limits;

    *ret = (struct tbox_spec){
        .size = sizeof(*ret),
        .argv = p->argv,
        .env = p->lang->env.count ? p->lang->env.words : NULL,
        .fd = {-1, -1, -1},
        .cpu = -1,
    };
    tbox_limits_default(TBOX_RUN, &ret->limits);
    ret->limits.cpu_us = l->time_us;
    ret->limits.wall_us = l->wall_us;
    ret->limits.memory_bytes = (uint64_t)l->memory_kib * 1024;
    ret->limits.stack_bytes =
        l->stack_kib == l->memory_kib ? TBOX_STACK_AUTO : (uint64_t)l->stack_kib * 1024;
    ret->limits.output_bytes = (uint64_t)l->output_bytes;
    ret->limits.file_bytes = (uint64_t)l->output_bytes;
    ret->limits.pids = (uint32_t)l->pids;
}

static void read_facts(const struct tbox_report *r, bool idle, struct tr_run_facts *ret)
{
    static const enum tr_cause causes[] = {
        [TBOX_EXIT] = TR_CAUSE_EXIT,       [TBOX_SIGNAL] = TR_CAUSE_SIGNAL,
        [TBOX_SYSCALL] = TR_CAUSE_SYSCALL, [TBOX_FILES] = TR_CAUSE_FILES,
        [TBOX_WALL] = TR_CAUSE_WALL,       [TBOX_CPU] = TR_CAUSE_CPU,
        [TBOX_OUTPUT] = TR_CAUSE_OUTPUT,   [TBOX_MEMORY] = TR_CAUSE_MEMORY,
        [TBOX_CANCEL] = TR_CAUSE_SIGNAL,
    };

    *ret = (struct tr_run_facts){
        .cause = causes[r->cause],
        .exit_code = r->exit_code,
        .signal = r->signal,
        .cpu_us = r->cpu_us,
        .wall_us = r->wall_us,
        .idle_us = r->idle_us,
        .memory_kib = (int64_t)(r->memory_bytes / 1024),
    };
    if (idle && r->cause == TBOX_CANCEL) {
        ret->cause = TR_CAUSE_IDLE;
        ret->signal = 0; /* it was ours */
    }
}

/* Seen from outside: was somebody else on its core, and long enough to matter? */
static bool disturbed(const struct tbox_report *r)
{
    int64_t lost = r->steal_us + r->throttled_us + r->pressure_us;

    /* Ten milliseconds are a scheduler's tick or two: less is no disturbance anybody could see. */
    return lost > 10000 && lost * 10 > r->wall_us;
}

/* Words for people about how it ended. */
static void say_how(const struct tr_run_facts *f, char *out, size_t size)
{
    switch (f->cause) {
    case TR_CAUSE_SIGNAL:
        (void)snprintf(out, size, "ended by signal %d (%s)", f->signal,
                       tbox_signal_name(f->signal));
        break;
    case TR_CAUSE_SYSCALL:
        (void)snprintf(out, size, "a forbidden system call");
        break;
    case TR_CAUSE_FILES:
        (void)snprintf(out, size, "a file grew over its limit");
        break;
    case TR_CAUSE_EXIT:
        if (f->exit_code != 0)
            (void)snprintf(out, size, "ended with exit code %d", f->exit_code);
        break;
    case TR_CAUSE_CPU:
    case TR_CAUSE_WALL:
    case TR_CAUSE_IDLE:
    case TR_CAUSE_MEMORY:
    case TR_CAUSE_OUTPUT:
        break;
    }
}

/* A runtime that keeps its own heap limit ends by itself before the box's limit is reached, with an
 * exit code that a program may choose as well; its last words tell. A program that forges them
 * turns its own failure into another one. */
static int said_no_memory(const struct tr_lang *lang, int errfd, bool *ret, struct tr_err *err)
{
    char text[LAST_WORDS];
    struct stat st;

    *ret = false;
    if (lang->memory_words.count == 0)
        return 0;
    if (fstat(errfd, &st) < 0)
        return tr_fail(err, TR_E_IO, errno, "look at standard error");
    off_t from = st.st_size > LAST_WORDS ? st.st_size - LAST_WORDS : 0;
    ssize_t n = pread(errfd, text, sizeof(text), from);
    if (n < 0)
        return tr_fail(err, TR_E_IO, errno, "read standard error");
    for (size_t i = 0; i < lang->memory_words.count && !*ret; i++) {
        const char *word = lang->memory_words.words[i];

        *ret = memmem(text, (size_t)n, word, strlen(word)) != NULL;
    }
    return 0;
}

int run_verdict(const struct program *p, const struct tr_limits *limits,
                const struct tbox_report *report, bool idle, int errfd, struct tr_case *ret,
                struct tr_err *err)
{
    bool no_memory = false;

    read_facts(report, idle, &ret->facts);
    ret->disturbed = disturbed(report);
    ret->verdict = tr_verdict_of_run(&ret->facts, limits, &ret->sub);
    say_how(&ret->facts, ret->note, sizeof(ret->note));
    if (ret->verdict != TR_V_RTE)
        return 0;
    int r = said_no_memory(p->lang, errfd, &no_memory, err);
    if (no_memory) {
        ret->verdict = TR_V_MLE;
        ret->sub = TR_SUB_NONE;
        (void)snprintf(ret->note, sizeof(ret->note), "its runtime had no memory left");
    }
    return r;
}
