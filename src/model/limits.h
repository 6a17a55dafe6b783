/* SPDX-License-Identifier: MIT
 *
 * model/limits.h - what one run may use: units, defaults and ceilings of DESIGN §6 in one place.
 */
#ifndef MODEL_LIMITS_H
#define MODEL_LIMITS_H

#include <stdint.h>

#include "base/err.h"

struct tr_limits {
    int64_t time_us;      /* CPU: user and system of all its processes */
    int64_t wall_us;      /* 0 before tr_limits_finish(): 2 x time + 1 s */
    int64_t memory_kib;   /* all its processes together */
    int64_t stack_kib;    /* 0 before tr_limits_finish(): as much as the memory */
    int64_t output_bytes; /* standard output, and any file it writes */
    int64_t pids;         /* processes and threads */
};

/* Floors are as real as ceilings: a limit of 0 must never mean "for ever". */
#define TR_TIME_US_MIN INT64_C(1000)
#define TR_TIME_US_MAX INT64_C(60000000)
#define TR_WALL_US_MAX (2 * TR_TIME_US_MAX + INT64_C(61000000))
#define TR_MEMORY_KIB_MIN INT64_C(1024)
#define TR_MEMORY_KIB_MAX (INT64_C(16) * 1024 * 1024)
#define TR_OUTPUT_BYTES_MIN INT64_C(1)
#define TR_OUTPUT_BYTES_MAX (INT64_C(1024) * 1024 * 1024)
#define TR_PIDS_MAX INT64_C(1024)
#define TR_FACTOR_MILLI_MIN INT64_C(100)
#define TR_FACTOR_MILLI_MAX INT64_C(100000)

enum {
    TR_TESTS_MAX = 1000,
    TR_GROUPS_MAX = 256,
    TR_STDERR_MAX = 64 * 1024,      /* captured of a program's standard error */
    TR_COMPILE_LOG_MAX = 64 * 1024, /* kept of a compiler's words */
    TR_SOURCE_MAX = 1000000         /* bytes of source */
};

/* 1 s of CPU, 256 MiB, 64 MiB of output, 64 pids; wall and stack follow from those. */
void tr_limits_default(struct tr_limits *l);

/* Multiply time and memory by a language's factors (thousandths). The product may pass the ceiling
 * of a problem: a 60 s problem in a language of factor 3 runs 180 s. A stack or wall limit that was
 * not set stays not set. */
void tr_limits_scale(struct tr_limits *l, int64_t time_milli, int64_t memory_milli);

/* Fill in what follows from the others. */
void tr_limits_finish(struct tr_limits *l);

/* TR_E_LIMIT with a sentence that names the value and its range; 0 when all are inside. Not for
 * limits that were scaled. */
int tr_limits_check(const struct tr_limits *l, struct tr_err *err);

#endif
