/* SPDX-License-Identifier: MIT
 *
 * pool/setup.h - what a slot is told when it starts: where its languages, caches and data are.
 *
 * Goes through the socket and not through the command line: secrets are in it.
 */
#ifndef POOL_SETUP_H
#define POOL_SETUP_H

#include "base/arena.h"
#include "judge/judge.h"
#include "net/s3.h"

enum {
    TR_SETUP_ROOTS_MAX = 64
};

/* Zero what is not set. Texts belong to the caller. */
struct tr_slot_setup {
    struct tr_judge_options judge; /* languages, cache, cache_bytes, jobs, include, roots, no_*,
                                    * launcher: inherited under the same number */
    const char *data_dir;          /* unpacked test data by hash; NULL: beside the compile cache */
    uint64_t data_bytes;           /* of that folder; 0: 8 GiB */
    uint64_t fetch_bytes;          /* of one archive; 0: 1 GiB */
    const char *file_dir;          /* file:// data must lie below it; NULL: refused */
    const char *ca_file;           /* for https; NULL: the system's */
    struct tr_s3_conf s3;          /* endpoint NULL: none */
    uint64_t log_bytes;            /* kept of each output for the logs; 0: 64 KiB */
    bool progress;                 /* say when each test ended */
    bool noop;                     /* judge nothing, accept everything: to measure the rest */
};

/* A heap text; NULL when memory is out. */
char *tr_slot_setup_write(const struct tr_slot_setup *setup);
/* Texts in the arena. It comes from our own supervisor: no limits are checked. */
int tr_slot_setup_read(const char *json, size_t len, struct tr_arena *arena,
                       struct tr_slot_setup *ret, struct tr_err *err);

#endif
