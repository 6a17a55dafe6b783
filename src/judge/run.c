/* SPDX-License-Identifier: MIT
 *
 * run.c - one run of a compiled program: what the box is told, and what its report means.
 *
 * Time and memory come from the box's record, never from the program or its signal.
 */
#include <stdio.h>
#include <string.h>

#include "judge/judge_private.h"

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

void run_facts(const struct tbox_report *r, struct tr_run_facts *ret)
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
}

bool run_disturbed(const struct tbox_report *r)
{
    int64_t lost = r->steal_us + r->throttled_us + r->pressure_us;

    /* Ten milliseconds are a scheduler's tick or two: less is no disturbance anybody could see. */
    return lost > 10000 && lost * 10 > r->wall_us;
}

void run_note(const struct tr_run_facts *f, const struct tbox_report *r, char *out, size_t size)
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
    (void)r;
}
