/* SPDX-License-Identifier: MIT
 *
 * controller/submit.h - a new submission, or an old one again: rows and jobs in one transaction.
 */
#ifndef CONTROLLER_SUBMIT_H
#define CONTROLLER_SUBMIT_H

#include <stdbool.h>

#include "controller/spec.h"
#include "controller/storage.h"

enum submit_outcome {
    SUBMIT_NEW,
    SUBMIT_EXISTED, /* by its id or key: `submit_id` is the one that is there */
    SUBMIT_CHANGED, /* cancel, rejudge, retry: done */
    SUBMIT_NOT_NOW  /* its state does not allow that */
};

struct submit_op {
    struct op op;
    struct spec spec; /* of a new one */
    char submit_id[132], worker[72];
    enum submit_outcome outcome;
    char status[16]; /* what it is now */
    int64_t generation;
    bool running; /* cancel: a judge has to be told */
    void *arg;    /* the caller's */
    void (*then)(struct submit_op *o);
};

/* Each takes over `spec` where there is one and calls then(op) on the loop's thread; op is freed
 * afterwards. op->op.result < 0: nothing happened, op->op.err says why. */
void submit_new(struct ctl *ctl, struct spec *spec, void (*then)(struct submit_op *o), void *arg);
void submit_cancel(struct ctl *ctl, const char *submit_id, const char *why,
                   void (*then)(struct submit_op *o), void *arg);
/* DLQ → CANCELLED. */
void submit_discard(struct ctl *ctl, const char *submit_id, void (*then)(struct submit_op *o),
                    void *arg);
/* The next generation, at low priority; `spec` is the old task pinned to the data of today. */
void submit_rejudge(struct ctl *ctl, struct spec *spec, void (*then)(struct submit_op *o),
                    void *arg);
/* DLQ → PENDING with new tries. */
void submit_retry(struct ctl *ctl, const char *submit_id, void (*then)(struct submit_op *o),
                  void *arg);

#endif
