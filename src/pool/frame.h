/* SPDX-License-Identifier: MIT
 *
 * pool/frame.h - what a supervisor and its slots say to each other over a socket pair.
 *
 * A frame is a length (4 bytes, little endian, of what follows), a letter, and a body. Bodies are
 * JSON of our own; a task and a result carry the foreign bytes behind a first line of JSON.
 */
#ifndef POOL_FRAME_H
#define POOL_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

enum {
    TR_FRAME_MAX = 48 * 1024 * 1024, /* a task of 16 MiB; a result with a thousand differences */
    TR_FRAME_HEAD = 5
};

enum tr_frame_type {
    TR_FRAME_SETUP = 'S',    /* → slot, once: pool/setup.h */
    TR_FRAME_READY = 'Y',    /* ← slot, once: the judge is open */
    TR_FRAME_BROKEN = 'E',   /* ← slot, instead: {"error"}; it ends */
    TR_FRAME_TASK = 'T',     /* → slot: {"token", "spool"} \n the task as it came */
    TR_FRAME_CANCEL = 'C',   /* → slot: stop what you do; it answers with a fault */
    TR_FRAME_PROGRESS = 'P', /* ← slot: {"token", "stage" | "test", …} */
    TR_FRAME_RESULT = 'R',   /* ← slot: {"token", "verdict", …} \n the result event */
    TR_FRAME_FAULT = 'F'     /* ← slot: {"token", "error", "final"} */
};

struct tr_frame {
    enum tr_frame_type type;
    const char *body; /* body[len] is readable and belongs to the next frame */
    size_t len;
};

/* Append a frame of one or two pieces to b, whose failure sticks. */
void tr_frame_add(struct tr_buf *b, enum tr_frame_type type, const void *head, size_t head_len,
                  const void *body, size_t body_len);

/* The first frame in b: 1, or 0 when it is not whole yet, or TR_E_PARSE. Drop it afterwards with
 * tr_frame_drop(). */
int tr_frame_peek(const struct tr_buf *b, struct tr_frame *ret, struct tr_err *err);
void tr_frame_drop(struct tr_buf *b, const struct tr_frame *f);

/* Split "{json}\nrest" of a frame. TR_E_PARSE without a line end. */
int tr_frame_split(const struct tr_frame *f, size_t *ret_head_len, const char **ret_rest,
                   size_t *ret_rest_len, struct tr_err *err);

/* For the slot, which does one thing at a time: write all of b and empty it; read until a frame is
 * there (1), or the other side is gone (0). */
int tr_frame_flush(int fd, struct tr_buf *b, struct tr_err *err);
int tr_frame_wait(int fd, struct tr_buf *b, struct tr_frame *ret, struct tr_err *err);
/* What has arrived, without waiting: 0, or TR_E_LOST when the other side is gone. */
int tr_frame_poll(int fd, struct tr_buf *b, struct tr_err *err);

#endif
