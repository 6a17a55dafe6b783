/* SPDX-License-Identifier: MIT
 *
 * controller/storage.h - the database, away from the loop: one thread writes, one reads.
 *
 * An operation is a struct that begins with struct op. The loop's thread fills it and hands it
 * over; run() happens on the storage thread, inside a transaction for writes; done() happens on the
 * loop's thread again, for writes after COMMIT, and frees it. Nobody else touches it in between.
 *
 * Writes that queue up while a transaction runs share the next one (at most STORAGE_BATCH). run()
 * may therefore be called more than once: it sets its outputs anew each time. A negative return
 * undoes the whole transaction, whose members are then run one by one; so an operation that finds
 * its fence stale before it changed anything returns 0 and says so in a field of its own.
 */
#ifndef CONTROLLER_STORAGE_H
#define CONTROLLER_STORAGE_H

#include <stdbool.h>

#include "base/err.h"
#include "base/log.h"
#include "store/store.h"

struct ctl;
struct storage;

enum {
    STORAGE_BATCH = 256
};

enum op_lane {
    OP_URGENT, /* renewals, results: what somebody would lose by waiting */
    OP_NORMAL,
    OP_READ /* on the second connection, without a transaction of ours */
};

struct op {
    struct op *next;
    struct ctl *ctl;
    int (*run)(struct op *op, struct tr_store *st, struct tr_err *err);
    /* run() for several, or NULL: sets the result of each; a negative return undoes all. Those that
     * have one may change places with each other, none passes one that has not. */
    int (*many)(struct op **ops, size_t n, struct tr_store *st, struct tr_err *err);
    void (*done)(struct op *op); /* op->result tells; frees op */
    enum op_lane lane;
    bool must;  /* tried again until it succeeds or the controller stops */
    bool alone; /* makes its own transactions */
    int result;
    bool away; /* the reason: the database does not answer */
    struct tr_err err;
};

int storage_start(struct ctl *ctl, struct storage **ret, struct tr_err *err);
/* Does what was handed over, and what their done() hand over, then ends the threads. Turns the loop
 * for it; timers that would begin something new have to be stopped before. Ends the process when
 * the database does not answer. */
void storage_stop(struct storage *s);

void storage_do(struct storage *s, struct op *op);

/* A failure of what happens again by itself, for the log; that the database is away stands there.
 */
static inline void storage_warn(const struct op *op)
{
    if (!op->away)
        tr_log_err(TR_LOG_WARN, NULL, &op->err);
}

/* How many wait: for /metrics and for saying no in time. */
size_t storage_waiting(struct storage *s);
/* When the database last answered, and does it now? */
bool storage_alive(struct storage *s);

#endif
