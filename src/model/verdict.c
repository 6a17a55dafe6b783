/* SPDX-License-Identifier: MIT
 *
 * verdict.c - the words, and which of them a run deserves.
 *
 * Pure functions: no I/O, no clock, no allocation.
 */
#include "model/verdict.h"

#include <stddef.h>
#include <string.h>

static const char *const verdict_ids[] = {
    [TR_V_NONE] = "",   [TR_V_AC] = "AC",   [TR_V_WA] = "WA",   [TR_V_TLE] = "TLE",
    [TR_V_MLE] = "MLE", [TR_V_OLE] = "OLE", [TR_V_RTE] = "RTE", [TR_V_CE] = "CE",
    [TR_V_JE] = "JE",   [TR_V_SK] = "SK",
};

static const char *const subcode_ids[] = {
    [TR_SUB_NONE] = "", [TR_SUB_WTL] = "WTL", [TR_SUB_ILE] = "ILE", [TR_SUB_NO] = "NO",
    [TR_SUB_PE] = "PE", [TR_SUB_SV] = "SV",   [TR_SUB_PC] = "PC",   [TR_SUB_CTL] = "CTL",
};

const char *tr_verdict_id(enum tr_verdict v)
{
    return verdict_ids[v];
}

const char *tr_subcode_id(enum tr_subcode s)
{
    return subcode_ids[s];
}

enum tr_verdict tr_verdict_parse(const char *id)
{
    for (size_t i = 1; i < sizeof(verdict_ids) / sizeof(verdict_ids[0]); i++) {
        if (strcmp(id, verdict_ids[i]) == 0)
            return (enum tr_verdict)i;
    }
    return TR_V_NONE;
}

static const struct {
    enum tr_verdict v;
    enum tr_subcode s;
    const char *text;
} texts[] = {
    {TR_V_AC, TR_SUB_NONE, "accepted"},
    {TR_V_AC, TR_SUB_PC, "accepted with part of the points"},
    {TR_V_WA, TR_SUB_NONE, "wrong answer"},
    {TR_V_WA, TR_SUB_NO, "wrong answer: no output"},
    {TR_V_WA, TR_SUB_PE, "wrong answer: only white space differs"},
    {TR_V_WA, TR_SUB_PC, "partly right"},
    {TR_V_TLE, TR_SUB_NONE, "time limit exceeded"},
    {TR_V_TLE, TR_SUB_WTL, "time limit exceeded: too long on the clock while using little CPU"},
    {TR_V_TLE, TR_SUB_ILE, "time limit exceeded: it waited and used no CPU"},
    {TR_V_MLE, TR_SUB_NONE, "memory limit exceeded"},
    {TR_V_OLE, TR_SUB_NONE, "output limit exceeded"},
    {TR_V_RTE, TR_SUB_NONE, "run-time error"},
    {TR_V_RTE, TR_SUB_SV, "run-time error: forbidden system call"},
    {TR_V_CE, TR_SUB_NONE, "compile error"},
    {TR_V_CE, TR_SUB_CTL, "compile error: the compiler ran out of time, memory or disk"},
    {TR_V_JE, TR_SUB_NONE, "judge error: not the submission's fault"},
    {TR_V_SK, TR_SUB_NONE, "not run"},
};

const char *tr_verdict_text(enum tr_verdict v, enum tr_subcode s)
{
    const char *plain = "";

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (texts[i].v != v)
            continue;
        if (texts[i].s == s)
            return texts[i].text;
        if (texts[i].s == TR_SUB_NONE)
            plain = texts[i].text;
    }
    return plain;
}

enum tr_verdict tr_verdict_of_run(const struct tr_run_facts *f, const struct tr_limits *limits,
                                  enum tr_subcode *ret_sub)
{
    *ret_sub = TR_SUB_NONE;
    if (f->cause == TR_CAUSE_MEMORY || f->memory_kib > limits->memory_kib)
        return TR_V_MLE;
    if (f->cause == TR_CAUSE_OUTPUT || f->output_bytes > limits->output_bytes)
        return TR_V_OLE;
    if (f->cause == TR_CAUSE_CPU || f->cpu_us > limits->time_us)
        return TR_V_TLE;
    if (f->cause == TR_CAUSE_WALL || f->cause == TR_CAUSE_IDLE || f->wall_us > limits->wall_us) {
        *ret_sub = f->cause == TR_CAUSE_IDLE ? TR_SUB_ILE : TR_SUB_WTL;
        return TR_V_TLE;
    }
    if (f->cause == TR_CAUSE_SYSCALL) {
        *ret_sub = TR_SUB_SV;
        return TR_V_RTE;
    }
    if (f->cause != TR_CAUSE_EXIT || f->exit_code != 0)
        return TR_V_RTE;
    return TR_V_AC;
}

int64_t tr_ms_up(int64_t us)
{
    return us <= 0 ? 0 : (us - 1) / 1000 + 1;
}
