/* SPDX-License-Identifier: MIT
 *
 * model/case.h - what happened with one test.
 */
#ifndef MODEL_CASE_H
#define MODEL_CASE_H

#include "model/verdict.h"

/* Where an output first leaves the answer. Lines and columns count from 1, bytes from 0. The
 * snippets are raw bytes around that place, to be escaped by whoever shows them. */
enum {
    TR_SNIPPET_MAX = 64
};
struct tr_snippet {
    unsigned char bytes[TR_SNIPPET_MAX];
    unsigned len;
    bool end; /* the text ends here */
};
struct tr_diff {
    bool found;
    uint64_t line, column, byte; /* in the output */
    uint64_t answer_line;
    struct tr_snippet got, want;
    const char *why; /* a fixed phrase, "number too far off", or NULL */
};

enum {
    TR_CASE_MESSAGE_MAX = 1024
};

/* A share of a test's points in millionths: 1000000 is all of it. */
#define TR_SHARE_FULL INT64_C(1000000)

struct tr_case {
    enum tr_verdict verdict;
    enum tr_subcode sub;
    struct tr_run_facts facts;
    int64_t share;  /* millionths of the test's points */
    int64_t points; /* millionths of a point; filled by tr_score_sum() */
    unsigned runs;  /* how often it was run */
    bool disturbed; /* measured while the host was busy elsewhere */
    struct tr_diff diff;
    char message[TR_CASE_MESSAGE_MAX]; /* the checker's words: raw bytes, may be hostile */
    size_t message_len;
    char note[256]; /* ours */
};

#endif
