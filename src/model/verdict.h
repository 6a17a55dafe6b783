/* SPDX-License-Identifier: MIT
 *
 * model/verdict.h - what can be said about a run, a test and a submission.
 *
 * The words are the CLICS judgement ids, so that every contest tool understands them. A subcode
 * says more where one of them is too coarse; a sentence is for people.
 */
#ifndef MODEL_VERDICT_H
#define MODEL_VERDICT_H

#include <stdbool.h>
#include <stdint.h>

#include "model/limits.h"

enum tr_verdict {
    TR_V_NONE, /* not known yet */
    TR_V_AC,
    TR_V_WA,
    TR_V_TLE,
    TR_V_MLE,
    TR_V_OLE,
    TR_V_RTE,
    TR_V_CE,
    TR_V_JE, /* the judge's own fault; never counts against a contestant */
    TR_V_SK  /* a test that was not run; never the verdict of a submission */
};

enum tr_subcode {
    TR_SUB_NONE,
    TR_SUB_WTL, /* wall clock, not CPU */
    TR_SUB_ILE, /* it waited, for nothing or for an interactor that waited too */
    TR_SUB_NO,  /* no output at all */
    TR_SUB_PE,  /* only white space differs */
    TR_SUB_SV,  /* a forbidden system call */
    TR_SUB_PC,  /* part of the points */
    TR_SUB_CTL  /* the compiler ran out of time, memory or output */
};

/* "AC", "WA" … and "SK"; "" for NONE. */
const char *tr_verdict_id(enum tr_verdict v);
const char *tr_subcode_id(enum tr_subcode s);
/* "accepted", "wrong answer: no output" … */
const char *tr_verdict_text(enum tr_verdict v, enum tr_subcode s);
/* The verdict with this id, or TR_V_NONE. */
enum tr_verdict tr_verdict_parse(const char *id);

/* Why a boxed run ended, as the box says it: its own record, never a guess from a signal. */
enum tr_cause {
    TR_CAUSE_EXIT,
    TR_CAUSE_SIGNAL,
    TR_CAUSE_CPU,
    TR_CAUSE_WALL,
    TR_CAUSE_IDLE,
    TR_CAUSE_MEMORY,
    TR_CAUSE_OUTPUT,
    TR_CAUSE_FILES,
    TR_CAUSE_SYSCALL
};

struct tr_run_facts {
    enum tr_cause cause;
    int exit_code; /* cause EXIT */
    int signal;    /* cause SIGNAL and SYSCALL, else 0 */
    int64_t cpu_us;
    int64_t wall_us;
    int64_t idle_us;
    int64_t memory_kib;
    int64_t output_bytes;
};

/* The verdict that the run alone decides, in the order of DESIGN §5 (memory, output, CPU, wall,
 * forbidden call, crash), or TR_V_AC when the output has to decide. Time is compared in
 * microseconds: a run of exactly the limit is in time, one microsecond more is not. */
enum tr_verdict tr_verdict_of_run(const struct tr_run_facts *f, const struct tr_limits *limits,
                                  enum tr_subcode *ret_sub);

/* Milliseconds for people: rounded up, so that a run over 1000 ms never reads "1000 ms, TLE". */
int64_t tr_ms_up(int64_t us);

#endif
