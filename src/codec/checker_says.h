/* SPDX-License-Identifier: MIT
 *
 * codec/checker_says.h - what a checker's exit code and words mean, in each convention.
 *
 *   testlib  exit 0 ok, 1 wrong answer, 2 presentation, 3 checker fault, 4 dirt, 7 "points X" on
 *            standard error, 8 unexpected end, 16 and more only with "partially correct (N)"
 *   kattis   exit 42 accepted, 43 wrong; feedback folder: judgemessage.txt, teammessage.txt,
 *            score.txt, score_multiplier.txt
 *   qduoj    exit 0 accepted, 1 wrong; all else is its own fault
 *   hustoj   the same codes, other arguments
 *   lemon    exit 0 and a number from 0 to the full score in the score file
 *   syzoj    exit 0 and a number from 0 to 100 on standard output, words on standard error
 *
 * Everything else (a signal, a limit, nonsense) is a judge error: a checker that fails never makes
 * a contestant's answer wrong.
 */
#ifndef CODEC_CHECKER_SAYS_H
#define CODEC_CHECKER_SAYS_H

#include "model/case.h"
#include "model/problem.h"

struct tr_checker_words {
    bool exited; /* false: a signal or a limit ended it */
    int exit_code;
    const char *err; /* standard error, or Kattis' judgemessage.txt */
    size_t err_len;
    const char *score; /* score.txt, Lemon's score file, SYZOJ's standard output; NULL: none */
    size_t score_len;
    const char *factor; /* Kattis' score_multiplier.txt; NULL: none */
    size_t factor_len;
    int64_t full_points; /* millionths: what the test is worth, for absolute scores */
};

/* Fills verdict, sub, share and message of *c; nothing else. `kind` is not NONE. */
void tr_checker_says(enum tr_checker_kind kind, const struct tr_checker_words *w,
                     struct tr_case *c);

/* "testlib", "kattis" … both ways; parse returns false for an unknown word. */
const char *tr_checker_kind_name(enum tr_checker_kind kind);
bool tr_checker_kind_parse(const char *word, enum tr_checker_kind *ret);

#endif
