/* SPDX-License-Identifier: MIT
 *
 * report.c - from what was seen to what is said.
 *
 * The order of precedence stands here and nowhere else: memory, output, CPU, wall, then what the
 * program did by itself. The signal that ended it decides nothing: a program may raise SIGKILL,
 * SIGXCPU or SIGXFSZ on its own, and other judges took that for a limit.
 */
#include "box/report.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/parse.h"

int box_report_read(const struct box_wire_report *msg, size_t len, struct tr_err *err)
{
    int r = box_wire_check(msg, len, BOX_REPORT, sizeof(*msg), err);

    if (r < 0)
        return r;
    if (len != sizeof(*msg) || msg->zero != 0 || !memchr(msg->note, 0, sizeof(msg->note)))
        return tr_fail(err, TR_E_PARSE, 0, "report is malformed");
    if (msg->cpu_us < 0 || msg->user_us < 0 || msg->system_us < 0 || msg->wall_us < 0 ||
        msg->throttled_us < 0 || msg->pressure_us < 0 || msg->ended_us < 0)
        return tr_fail(err, TR_E_PARSE, 0, "report has a negative time");
    if (msg->ended_by > TBOX_CANCEL || !(WIFEXITED(msg->status) || WIFSIGNALED(msg->status)))
        return tr_fail(err, TR_E_PARSE, 0, "report has an unknown end");
    return 0;
}

static enum tbox_cause decide(const struct box_wire_report *in, const struct box_seen *seen,
                              const struct tbox_limits *limits)
{
    if (in->ended_by == TBOX_CANCEL)
        return TBOX_CANCEL;
    if (in->oom_kills > 0 || in->ended_by == TBOX_MEMORY || in->memory_bytes > limits->memory_bytes)
        return TBOX_MEMORY;
    if (seen->over_output || in->ended_by == TBOX_OUTPUT)
        return TBOX_OUTPUT;
    if (in->ended_by == TBOX_CPU || in->cpu_us > limits->cpu_us)
        return TBOX_CPU;
    if (in->ended_by == TBOX_WALL || in->wall_us > limits->wall_us)
        return TBOX_WALL;
    if (!WIFSIGNALED(in->status))
        return TBOX_EXIT;
    if (WTERMSIG(in->status) == SIGSYS)
        return TBOX_SYSCALL;
    if (WTERMSIG(in->status) == SIGXFSZ && in->files_full)
        return TBOX_FILES;
    return TBOX_SIGNAL;
}

static void sentence(const struct tbox_limits *l, struct tbox_report *r)
{
    char limit[TR_HUMAN_MAX];
    char *out = r->note;
    size_t size = sizeof(r->note);

    switch (r->cause) {
    case TBOX_EXIT:
        (void)snprintf(out, size, "exited with code %d", r->exit_code);
        break;
    case TBOX_SIGNAL:
        (void)snprintf(out, size, "ended by signal %d (%s)", r->signal,
                       tbox_signal_name(r->signal));
        break;
    case TBOX_SYSCALL:
        (void)snprintf(
            out, size,
            "ended by signal %d (SIGSYS): a system call that is not allowed, unless it sent "
            "the signal itself",
            r->signal);
        break;
    case TBOX_FILES:
        (void)snprintf(out, size, "a file grew beyond %s", tr_format_size(l->file_bytes, limit));
        break;
    case TBOX_WALL:
        (void)snprintf(out, size, "over the wall time limit of %s",
                       tr_format_duration_us(l->wall_us, limit));
        break;
    case TBOX_CPU:
        (void)snprintf(out, size, "over the CPU time limit of %s",
                       tr_format_duration_us(l->cpu_us, limit));
        break;
    case TBOX_OUTPUT:
        (void)snprintf(out, size, "wrote more than %s", tr_format_size(l->output_bytes, limit));
        break;
    case TBOX_MEMORY:
        (void)snprintf(out, size, "over the memory limit of %s",
                       tr_format_size(l->memory_bytes, limit));
        break;
    case TBOX_CANCEL:
        (void)snprintf(out, size, "cancelled");
        break;
    }
}

void box_report_make(const struct box_wire_report *in, const struct box_seen *seen,
                     const struct tbox_limits *limits, struct tbox_report *ret)
{
    *ret = (struct tbox_report){
        .cause = decide(in, seen, limits),
        .exit_code = WIFEXITED(in->status) ? WEXITSTATUS(in->status) : 0,
        .signal = WIFSIGNALED(in->status) ? WTERMSIG(in->status) : 0,
        .cpu_us = in->cpu_us,
        .user_us = in->user_us,
        .system_us = in->system_us,
        .wall_us = in->wall_us,
        .idle_us = in->wall_us > in->cpu_us ? in->wall_us - in->cpu_us : 0,
        .memory_bytes = in->memory_bytes,
        .pids_peak = in->pids_peak,
        .killed = in->killed,
        .written_bytes = seen->written_bytes,
        .steal_us = seen->steal_us,
        .throttled_us = in->throttled_us,
        .pressure_us = in->pressure_us,
        .ended_us = in->ended_us,
    };
    sentence(limits, ret);
    size_t used = strlen(ret->note);
    if (in->note[0])
        (void)snprintf(ret->note + used, sizeof(ret->note) - used, "; %s", in->note);
}
