/* SPDX-License-Identifier: MIT
 *
 * limits.c - defaults, factors, ranges. A value outside is refused, never clipped: a contest that
 * believes in a limit that is not enforced is worse than one that does not start.
 */
#include "model/limits.h"

#include <inttypes.h>

void tr_limits_default(struct tr_limits *l)
{
    *l = (struct tr_limits){
        .time_us = 1000000,
        .memory_kib = 256 * 1024,
        .output_bytes = 64 * 1024 * 1024,
        .pids = 64,
    };
}

void tr_limits_scale(struct tr_limits *l, int64_t time_milli, int64_t memory_milli)
{
    l->time_us = l->time_us * time_milli / 1000;
    l->wall_us = l->wall_us * time_milli / 1000;
    l->memory_kib = l->memory_kib * memory_milli / 1000;
}

void tr_limits_finish(struct tr_limits *l)
{
    if (l->wall_us == 0)
        l->wall_us = 2 * l->time_us + 1000000;
    if (l->stack_kib == 0 || l->stack_kib > l->memory_kib)
        l->stack_kib = l->memory_kib;
}

static int check(const char *what, const char *unit, int64_t v, int64_t min, int64_t max,
                 struct tr_err *err)
{
    if (v >= min && v <= max)
        return 0;
    return tr_fail(err, TR_E_LIMIT, 0,
                   "%s is %" PRId64 " %s; it must be from %" PRId64 " to %" PRId64, what, v, unit,
                   min, max);
}

int tr_limits_check(const struct tr_limits *l, struct tr_err *err)
{
    int r = check("the time limit", "us", l->time_us, TR_TIME_US_MIN, TR_TIME_US_MAX, err);

    if (r == 0 && l->wall_us != 0)
        r = check("the wall limit", "us", l->wall_us, TR_TIME_US_MIN, TR_WALL_US_MAX, err);
    if (r == 0)
        r = check("the memory limit", "KiB", l->memory_kib, TR_MEMORY_KIB_MIN, TR_MEMORY_KIB_MAX,
                  err);
    if (r == 0 && l->stack_kib != 0)
        r = check("the stack limit", "KiB", l->stack_kib, 64, TR_MEMORY_KIB_MAX, err);
    if (r == 0)
        r = check("the output limit", "bytes", l->output_bytes, TR_OUTPUT_BYTES_MIN,
                  TR_OUTPUT_BYTES_MAX, err);
    if (r == 0)
        r = check("the process limit", "processes", l->pids, 1, TR_PIDS_MAX, err);
    return r;
}
