/* SPDX-License-Identifier: MIT
 *
 * store/tell.h - the event of a move, in the words that every listener knows (doc/protocol.md).
 */
#ifndef STORE_TELL_H
#define STORE_TELL_H

#include <jansson.h>

#include "store/store.h"

struct tr_tell { /* NULL: left out of the event */
    const char *submit_id, *status;
    int64_t generation;
    const char *worker_id, *problem, *language, *user, *message;
    json_t *result; /* slim (codec/brief.h), or NULL; with it the type is "result", else
                       "status_change" */
    int64_t score;  /* of a result, millionths */
};
/* In the caller's transaction, beside the move it tells of. */
int tr_store_tell(struct tr_store *st, const struct tr_tell *t, struct tr_err *err);

/* How long a submission waits after a fault: 5, 10, 30 s; heavy 10, 30, 60 s (DESIGN §1). */
int64_t tr_store_fault_delay_us(bool heavy, int64_t retry_count);

#endif
