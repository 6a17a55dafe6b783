/* SPDX-License-Identifier: MIT
 *
 * queue/enqueue.h - between enqueue.c (bulk) and unique.c (one at a time, with a key).
 */
#ifndef QUEUE_ENQUEUE_H
#define QUEUE_ENQUEUE_H

#include "queue/internal.h"

/* An item as checked, with what the row needs beside. */
struct tqi_new {
    struct tq_item item;
    char blob[TQ_BLOB_NAME]; /* name in the blob store, or "" */
    int64_t rank;
    bool with_slot;   /* the unique key is held by the row itself */
    int64_t after_id; /* 0: none */
    struct tq_enqueued out;
};

enum {
    TQI_INSERT_COLS = 15
};
void tqi_new_cells(const struct tqi_new *n, struct tq_val c[TQI_INSERT_COLS]);
extern const char tqi_insert_types[];

/* Insert one; 1 and n->out.id, or 0 when a unique key is in the way. */
int tqi_insert_one(struct tqi_link *l, struct tqi_new *n, struct tr_err *err);
int tqi_enqueue_unique(struct tqi_link *l, struct tqi_new *n, struct tr_err *err);

#endif
