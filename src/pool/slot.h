/* SPDX-License-Identifier: MIT
 *
 * pool/slot.h - the inside of a slot process: one task after the other, straight-line code.
 *
 * A slot talks to its supervisor over `fd` and to nobody else but the places its test data come
 * from. It knows no queue, no database and no transport: whatever gives it tasks, it answers with
 * progress, and then with a result or a fault.
 */
#ifndef POOL_SLOT_H
#define POOL_SLOT_H

#include "base/arena.h"
#include "data/cache.h"
#include "judge/judge.h"
#include "net/fetch.h"
#include "pool/frame.h"
#include "pool/setup.h"

enum {
    TR_SLOT_FD = 3 /* where a slot process finds its socket */
};

/* The main function of a slot process; its exit code. */
int tr_slot_main(int fd);

/* ---- for slot_task.c ---- */

struct tr_slot {
    int fd;
    struct tr_buf in, out;
    struct tr_arena arena; /* the setup's texts */
    struct tr_slot_setup setup;
    struct tr_judge *judge; /* NULL with setup.noop */
    struct tr_http *http;
    struct tr_s3 *s3;
    struct tr_cache *data;
    struct tr_fetch fetch;
    /* the task at hand */
    bool cancelled, orphan;
};

/* Judge one task frame and answer it. Negative only when the supervisor is gone. */
int tr_slot_task(struct tr_slot *s, const struct tr_frame *f, struct tr_err *err);

#endif
