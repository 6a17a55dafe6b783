/* SPDX-License-Identifier: MIT
 *
 * judge/stream.h - bytes of a file or of memory, a block at a time.
 *
 * For comparison: never holds more than one block, however long the file, the line or the word is.
 * A file is read with pread(), so its position stays and it can be read again.
 */
#ifndef JUDGE_STREAM_H
#define JUDGE_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Where bytes come from: an open regular file, or memory when fd is -1. */
struct tr_bytes {
    int fd;
    const void *mem;
    size_t len;
};

enum {
    TR_STREAM_BLOCK = 64 * 1024
};

struct tr_stream {
    struct tr_bytes from;
    const unsigned char *at, *end; /* what is left of the block */
    uint64_t next;                 /* offset of the block after this one */
    int sys;                       /* errno of a failed read; the stream then ends */
    unsigned char *block;
};

/* tr_stream_done() also after a failure; it is fine on a zeroed struct. */
int tr_stream_open(struct tr_stream *s, struct tr_bytes from, struct tr_err *err);
void tr_stream_done(struct tr_stream *s);

bool tr_stream_fill(struct tr_stream *s); /* false at the end */

/* From the start again. */
static inline void tr_stream_rewind(struct tr_stream *s)
{
    s->at = s->end = NULL;
    s->next = 0;
}

/* The byte here without taking it, or -1 at the end. */
static inline int tr_stream_peek(struct tr_stream *s)
{
    if (s->at == s->end && !tr_stream_fill(s))
        return -1;
    return *s->at;
}

static inline void tr_stream_skip(struct tr_stream *s)
{
    s->at++;
}

/* Offset of the byte that peek shows. */
static inline uint64_t tr_stream_offset(const struct tr_stream *s)
{
    return s->next - (uint64_t)(s->end - s->at);
}

/* Up to `len` bytes at `offset`; returns how many (0 at the end or on a failed read). */
size_t tr_bytes_at(struct tr_bytes from, uint64_t offset, void *out, size_t len);

#endif
