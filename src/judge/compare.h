/* SPDX-License-Identifier: MIT
 *
 * judge/compare.h - is this output right?
 *
 * In process, in one pass, in constant memory. The output is hostile: any bytes, any length, one
 * endless line or word. Bytes are bytes: NUL and invalid UTF-8 differ from everything else, and CR
 * is white space only where the mode says so.
 *
 *   exact          byte for byte
 *   lines          blanks (space, tab, CR) at the end of lines and blank lines at the end of the
 *                  text do not count
 *   tokens         words between white space; any white space equals any other
 *   token-lines    tokens, and a new line is not a blank; empty lines do not count
 *   float          tokens, where a number in the answer may be off by abs or rel
 *   unordered      the same lines or tokens in any order
 *   yesno          tokens without regard to case
 *
 * A number is, as the Kattis 2025-09 format has it, [+-]? (d+ | d+. | d*.d+) ([eE][+-]?d+)?; so
 * "inf", "nan" and "0x10" are words and equal only themselves. Numbers beyond a long double's range
 * equal only their own spelling.
 */
#ifndef JUDGE_COMPARE_H
#define JUDGE_COMPARE_H

#include "judge/stream.h"
#include "model/case.h"
#include "model/problem.h"

/* 0 and the verdict (AC, or WA with NO or PE where it applies) with the first difference, or
 * TR_E_IO when one of them could not be read. */
int tr_compare_run(const struct tr_compare *how, struct tr_bytes got, struct tr_bytes want,
                   enum tr_verdict *ret_verdict, enum tr_subcode *ret_sub, struct tr_diff *ret_diff,
                   struct tr_err *err);

/* "lines", "float" … both ways; parse returns false for an unknown word. */
const char *tr_compare_mode_name(enum tr_compare_mode mode);
bool tr_compare_mode_parse(const char *word, enum tr_compare_mode *ret);

/* The Kattis default validator's flags: "case_sensitive float_tolerance 1e-6" as words. Leaves *how
 * a token comparison that ignores case unless told otherwise. */
int tr_compare_kattis_flags(const char *const *words, size_t count, struct tr_compare *how,
                            struct tr_err *err);

#endif
