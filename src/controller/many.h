/* SPDX-License-Identifier: MIT
 *
 * controller/many.h - one request that changes many submissions: which ones, by filter or by name,
 * and then each of them, a few at a time.
 */
#ifndef CONTROLLER_MANY_H
#define CONTROLLER_MANY_H

#include "controller/http.h"
#include "controller/submit.h"

enum {
    MANY_MAX = 10000
};

struct many_kind {
    enum tr_move move;  /* those whose state does not allow it are left out */
    const char *status; /* only those in this state, and "all": true is understood; NULL: any */
    bool wait;          /* answer 200 when all are changed, and how many; else 202 at once */
    /* Change one; `then` is called once, also for failures. */
    void (*change)(struct ctl *ctl, const char *submit_id, void (*then)(struct submit_op *o),
                   void *arg);
};

/* Answers the request: {count, dry_run}. */
void many_start(struct http_req *req, const struct many_kind *kind);

#endif
