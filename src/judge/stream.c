/* SPDX-License-Identifier: MIT
 *
 * stream.c - blocks from a file or from memory.
 */
#include "judge/stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int tr_stream_open(struct tr_stream *s, struct tr_bytes from, struct tr_err *err)
{
    *s = (struct tr_stream){.from = from};
    if (from.fd < 0)
        return 0;
    s->block = malloc(TR_STREAM_BLOCK);
    if (!s->block)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory to compare");
    return 0;
}

void tr_stream_done(struct tr_stream *s)
{
    free(s->block);
    s->block = NULL;
}

size_t tr_bytes_at(struct tr_bytes from, uint64_t offset, void *out, size_t len)
{
    if (from.fd < 0) {
        if (offset >= from.len)
            return 0;
        size_t n = from.len - (size_t)offset;

        n = n < len ? n : len;
        memcpy(out, (const unsigned char *)from.mem + offset, n);
        return n;
    }
    size_t have = 0;
    while (have < len) {
        ssize_t n = pread(from.fd, (char *)out + have, len - have, (off_t)(offset + have));

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        have += (size_t)n;
    }
    return have;
}

bool tr_stream_fill(struct tr_stream *s)
{
    if (s->from.fd < 0) {
        if (s->next != 0 || s->from.len == 0)
            return false;
        s->at = s->from.mem;
        s->end = s->at + s->from.len;
        s->next = s->from.len;
        return true;
    }
    for (;;) {
        ssize_t n = pread(s->from.fd, s->block, TR_STREAM_BLOCK, (off_t)s->next);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            s->sys = errno;
        if (n <= 0)
            return false;
        s->at = s->block;
        s->end = s->block + n;
        s->next += (uint64_t)n;
        return true;
    }
}
