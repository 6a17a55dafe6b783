/* SPDX-License-Identifier: MIT
 *
 * pool/spool.h - the logs of one judging, written beside it as files (seed 001 §7):
 * compile.log, case_N.stdout, case_N.stderr, case_N_resource.json, result.json.
 *
 * Logs never spoil a judging: a failure is remembered, and the rest is left out.
 */
#ifndef POOL_SPOOL_H
#define POOL_SPOOL_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "model/case.h"

struct tr_spool {
    int dirfd;      /* -1: no logs are wanted */
    uint64_t bytes; /* kept of each output */
    struct tr_err failed;
};

/* Make the folder; "" or NULL: none. */
void tr_spool_open(struct tr_spool *s, const char *folder, uint64_t bytes);
void tr_spool_close(struct tr_spool *s);

void tr_spool_text(struct tr_spool *s, const char *name, const char *text, size_t len);
/* test counts from 0, its files from 1. Reads by pread: positions do not move. */
void tr_spool_output(struct tr_spool *s, size_t test, int stdout_fd, int stderr_fd);
void tr_spool_case(struct tr_spool *s, size_t test, const struct tr_case *c);

#endif
