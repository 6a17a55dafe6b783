/* SPDX-License-Identifier: MIT
 *
 * nats/dlq.h - the dead letters in JUDGE_DLQ: walk, publish again, drop.
 */
#ifndef NATS_DLQ_H
#define NATS_DLQ_H

#include <jansson.h>
#include <stdint.h>

#include "base/err.h"
#include "nats/api.h"
#include "nats/conn.h"

struct tr_dead {
    uint64_t seq;
    const char *subject;
    int64_t time_us;
    json_t *letter;   /* NULL: the message is no letter, and … */
    const char *why;  /* … this is what is wrong with it */
    const char *data; /* as it came */
    size_t len;
};

/* Call each() for every letter from sequence `from` on (0: all) until it returns other than 0,
 * which is returned; 0 at the end. What it is given lives only during the call. */
int tr_dlq_walk(struct tr_nats *n, uint64_t from,
                int (*each)(void *arg, const struct tr_dead *dead), void *arg, struct tr_err *err);

/* Remove one letter. TR_E_NOTFOUND. */
int tr_dlq_drop(struct tr_nats *n, uint64_t seq, struct tr_err *err);

/* Publish the letter's task again where it came from, with its tries back at 0, then remove the
 * letter. The message id ends in the letter's sequence: a retry that is repeated because the
 * removal failed is swallowed by the server, and the task's own earlier ids do not stand in the
 * way. TR_E_PARSE when it holds no task. */
int tr_dlq_retry(struct tr_nats *n, const struct tr_dead *dead, struct tr_js_ack *ret,
                 struct tr_err *err);

#endif
