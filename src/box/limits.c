/* SPDX-License-Identifier: MIT
 *
 * limits.c - every limit has a default, a floor and a ceiling.
 *
 * A limit of 0 meant "for ever" in another judge; here it is refused, and so is a value that no
 * kernel would honour. The same check runs in the library and again on the privileged side.
 */
#include <inttypes.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/parse.h"
#include "tribunal/box.h"

#define MS INT64_C(1000)
#define SEC INT64_C(1000000)
#define KIB (UINT64_C(1) << 10)
#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

void tbox_limits_default(enum tbox_profile profile, struct tbox_limits *ret)
{
    *ret = (struct tbox_limits){
        .cpu_us = SEC,
        .wall_us = 3 * SEC, /* twice the CPU time and a second */
        .memory_bytes = 256 * MIB,
        .stack_bytes = TBOX_STACK_AUTO, /* deep recursion within the memory is no error */
        .output_bytes = 64 * MIB,
        .file_bytes = 64 * MIB,
        .pids = 64,
        .open_files = 256,
    };
    if (profile == TBOX_COMPILE || profile == TBOX_CHECKER) {
        ret->cpu_us = 10 * SEC;
        ret->wall_us = 30 * SEC;
        ret->memory_bytes = GIB;
        ret->stack_bytes = 256 * MIB;
    }
    if (profile == TBOX_COMPILE) {
        ret->file_bytes = 256 * MIB;
        ret->pids = 256; /* go and javac start a thread for each core and more */
        ret->open_files = 1024;
    }
}

static int check_time(const char *what, int64_t value, int64_t min, int64_t max, struct tr_err *err)
{
    char low[TR_HUMAN_MAX];
    char high[TR_HUMAN_MAX];

    if (value >= min && value <= max)
        return 0;
    return tr_fail(err, TR_E_LIMIT, 0, "%s of %" PRId64 " us is not between %s and %s", what, value,
                   tr_format_duration_us(min, low), tr_format_duration_us(max, high));
}

static int check_size(const char *what, uint64_t value, uint64_t min, uint64_t max,
                      struct tr_err *err)
{
    char low[TR_HUMAN_MAX];
    char high[TR_HUMAN_MAX];

    if (value >= min && value <= max)
        return 0;
    return tr_fail(err, TR_E_LIMIT, 0, "%s of %" PRIu64 " is not between %s and %s", what, value,
                   tr_format_size(min, low), tr_format_size(max, high));
}

int tbox_limits_check(const struct tbox_limits *l, struct tr_err *err)
{
    int r = check_time("CPU time limit", l->cpu_us, MS, 3600 * SEC, err);

    if (r == 0)
        r = check_time("wall time limit", l->wall_us, MS, 24 * 3600 * SEC, err);
    /* Below 1 MiB not even a static program starts: it would be the box's fault, not its own. */
    if (r == 0)
        r = check_size("memory limit", l->memory_bytes, MIB, 1024 * GIB, err);
    /* The kernel puts arguments and environment on the stack and wants a few pages beside. */
    if (r == 0 && l->stack_bytes != TBOX_STACK_AUTO)
        r = check_size("stack limit", l->stack_bytes, 64 * KIB, 1024 * GIB, err);
    if (r == 0)
        r = check_size("output limit", l->output_bytes, 1, 16 * GIB, err);
    if (r == 0)
        r = check_size("file size limit", l->file_bytes, 1, 1024 * GIB, err);
    if (r == 0)
        r = check_size("process limit", l->pids, 1, 32768, err);
    if (r == 0)
        r = check_size("open file limit", l->open_files, 4, 20000, err);
    return r;
}
