/* SPDX-License-Identifier: MIT
 *
 * frame.c - frames on a stream socket.
 */
#include "pool/frame.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fs.h"

enum {
    READ_AT_ONCE = 64 * 1024
};

void tr_frame_add(struct tr_buf *b, enum tr_frame_type type, const void *head, size_t head_len,
                  const void *body, size_t body_len)
{
    size_t n = 1 + head_len + body_len;
    const unsigned char first[TR_FRAME_HEAD] = {
        (unsigned char)(n & 255), (unsigned char)(n >> 8 & 255), (unsigned char)(n >> 16 & 255),
        (unsigned char)(n >> 24 & 255), (unsigned char)type};

    if (n > TR_FRAME_MAX) {
        b->failed = TR_E_LIMIT;
        return;
    }
    tr_buf_add(b, first, sizeof(first));
    if (head_len)
        tr_buf_add(b, head, head_len);
    if (body_len)
        tr_buf_add(b, body, body_len);
}

int tr_frame_peek(const struct tr_buf *b, struct tr_frame *ret, struct tr_err *err)
{
    const unsigned char *p = (const unsigned char *)b->data;

    if (b->len < TR_FRAME_HEAD)
        return 0;
    size_t n = (size_t)p[0] | (size_t)p[1] << 8 | (size_t)p[2] << 16 | (size_t)p[3] << 24;
    if (n < 1 || n > TR_FRAME_MAX)
        return tr_fail(err, TR_E_PARSE, 0, "a frame of %zu bytes", n);
    if (b->len < 4 + n)
        return 0;
    *ret = (struct tr_frame){
        .type = (enum tr_frame_type)p[4], .body = b->data + TR_FRAME_HEAD, .len = n - 1};
    return 1;
}

void tr_frame_drop(struct tr_buf *b, const struct tr_frame *f)
{
    tr_buf_eat(b, TR_FRAME_HEAD + f->len);
}

int tr_frame_split(const struct tr_frame *f, size_t *ret_head_len, const char **ret_rest,
                   size_t *ret_rest_len, struct tr_err *err)
{
    const char *end = memchr(f->body, '\n', f->len);

    if (!end)
        return tr_fail(err, TR_E_PARSE, 0, "a frame '%c' without its first line", (char)f->type);
    *ret_head_len = (size_t)(end - f->body);
    *ret_rest = end + 1;
    *ret_rest_len = f->len - *ret_head_len - 1;
    return 0;
}

int tr_frame_flush(int fd, struct tr_buf *b, struct tr_err *err)
{
    int r = tr_buf_check(b, "frame", err);

    for (size_t done = 0; r == 0 && done < b->len;) {
        ssize_t n = send(fd, b->data + done, b->len - done, MSG_NOSIGNAL);

        if (n < 0 && errno != EINTR)
            r = tr_fail(err, TR_E_LOST, errno, "the supervisor is gone");
        done += n > 0 ? (size_t)n : 0;
    }
    tr_buf_clear(b);
    return r;
}

/* 1: something came; 0: nothing now; TR_E_LOST: the end. */
static int read_some(int fd, struct tr_buf *b, int flags, struct tr_err *err)
{
    char *room = tr_buf_room(b, READ_AT_ONCE);

    if (!room)
        return tr_buf_check(b, "frame", err);
    for (;;) {
        ssize_t n = recv(fd, room, READ_AT_ONCE, flags);

        if (n > 0) {
            tr_buf_grow(b, (size_t)n);
            return 1;
        }
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return 0;
        return tr_fail(err, TR_E_LOST, n < 0 ? errno : 0, "the supervisor is gone");
    }
}

int tr_frame_wait(int fd, struct tr_buf *b, struct tr_frame *ret, struct tr_err *err)
{
    for (;;) {
        int r = tr_frame_peek(b, ret, err);

        if (r != 0)
            return r;
        r = read_some(fd, b, 0, err);
        if (r < 0)
            return r == TR_E_LOST ? 0 : r;
    }
}

int tr_frame_poll(int fd, struct tr_buf *b, struct tr_err *err)
{
    int r;

    do {
        r = read_some(fd, b, MSG_DONTWAIT, err);
    } while (r > 0);
    return r;
}
