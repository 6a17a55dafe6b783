/* SPDX-License-Identifier: MIT
 *
 * wire.c - one message over a SOCK_SEQPACKET socket, with descriptors.
 *
 * A sequenced packet arrives whole or not at all, so there is no short read that could leave the
 * tail of a spec zero (a judge once ran submissions as uid 0 that way); MSG_TRUNC and MSG_CTRUNC
 * are errors all the same.
 */
#include "box/wire.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"

void box_wire_head(struct box_wire_head *h, enum box_kind kind, size_t size, uint64_t arg)
{
    *h = (struct box_wire_head){.magic = BOX_WIRE_MAGIC,
                                .version = BOX_WIRE_VERSION,
                                .kind = (uint16_t)kind,
                                .size = (uint32_t)size,
                                .arg = arg};
}

int box_wire_check(const void *msg, size_t len, enum box_kind kind, size_t least,
                   struct tr_err *err)
{
    struct box_wire_head h;

    if (len < sizeof(h) || len < least)
        return tr_fail(err, TR_E_PARSE, 0, "message of %zu bytes is too short", len);
    memcpy(&h, msg, sizeof(h));
    if (h.magic != BOX_WIRE_MAGIC)
        return tr_fail(err, TR_E_PARSE, 0, "message does not start with the box's mark");
    if (h.version != BOX_WIRE_VERSION)
        return tr_fail(err, TR_E_PARSE, 0,
                       "message of version %u, this is version %d: library and "
                       "helper are of different releases",
                       h.version, BOX_WIRE_VERSION);
    if (h.size != len || h.zero != 0)
        return tr_fail(err, TR_E_PARSE, 0, "message says %u bytes and has %zu", h.size, len);
    if (h.kind != kind)
        return tr_fail(err, TR_E_PARSE, 0, "message of kind %u where %d was expected", h.kind,
                       (int)kind);
    return 0;
}

int box_wire_send(int sock, const void *msg, size_t len, const int *fds, size_t nfds,
                  struct tr_err *err)
{
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(int) * BOX_WIRE_FDS)];
    } control = {0};
    struct iovec part = {.iov_len = len};
    struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};
    ssize_t n;

    memcpy(&part.iov_base, &(const void *){msg}, sizeof(part.iov_base)); /* sendmsg only reads */
    if (nfds > 0) {
        m.msg_control = control.room;
        m.msg_controllen = CMSG_SPACE(sizeof(int) * nfds);
        struct cmsghdr *c = CMSG_FIRSTHDR(&m);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof(int) * nfds);
        memcpy(CMSG_DATA(c), fds, sizeof(int) * nfds);
    }
    do
        n = sendmsg(sock, &m, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    if (n < 0 && (errno == EPIPE || errno == ECONNRESET || errno == ENOTCONN))
        return tr_fail(err, TR_E_LOST, 0, "the other side of the box is gone");
    if (n < 0 && errno == EMSGSIZE)
        return tr_fail(err, TR_E_LIMIT, 0, "message of %zu bytes is too long", len);
    if (n < 0)
        return tr_fail(err, TR_E_IO, errno, "send to the box");
    return 0;
}

/* Take the descriptors out of the control data. More than we have room for is a protocol error;
 * every one that arrived is closed then, or the sender could fill our table. */
static int take_fds(struct msghdr *m, int fds[static BOX_WIRE_FDS])
{
    size_t have = 0;
    int bad = 0;

    for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

        for (size_t i = 0; i < n; i++) {
            int fd = -1;

            memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
            if (have < BOX_WIRE_FDS) {
                fds[have++] = fd;
            } else {
                (void)close(fd);
                bad = 1;
            }
        }
    }
    return bad;
}

int64_t box_wire_recv(int sock, void *msg, size_t size, int fds[static BOX_WIRE_FDS], int flags,
                      struct tr_err *err)
{
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(int) * BOX_WIRE_FDS)];
    } control;
    struct iovec part = {.iov_base = msg, .iov_len = size};
    struct msghdr m = {.msg_iov = &part,
                       .msg_iovlen = 1,
                       .msg_control = control.room,
                       .msg_controllen = sizeof(control)};
    ssize_t n;

    for (int i = 0; i < BOX_WIRE_FDS; i++)
        fds[i] = -1;
    do
        n = recvmsg(sock, &m, MSG_CMSG_CLOEXEC | flags);
    while (n < 0 && errno == EINTR);
    if (n < 0 && errno == EAGAIN)
        return tr_fail(err, TR_E_RETRY, 0, "no message yet");
    if (n == 0 || (n < 0 && errno == ECONNRESET))
        return tr_fail(err, TR_E_LOST, 0, "the other side of the box is gone");
    if (n < 0)
        return tr_fail(err, TR_E_IO, errno, "receive from the box");
    if (take_fds(&m, fds) != 0 || (m.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) {
        for (int i = 0; i < BOX_WIRE_FDS; i++)
            tr_close(&fds[i]);
        return tr_fail(err, TR_E_PARSE, 0, "message was cut");
    }
    return n;
}

int box_wire_reply(int sock, const struct tr_err *result, uint64_t value, int fd)
{
    struct box_wire_done done = {.code = result->code, .sys = result->sys, .value = value};

    box_wire_head(&done.head, BOX_DONE, sizeof(done), 0);
    memcpy(done.msg, result->msg, sizeof(done.msg));
    return box_wire_send(sock, &done, sizeof(done), &fd, fd >= 0 ? 1 : 0, NULL);
}

int box_wire_result(const struct box_wire_done *done, size_t len, struct tr_err *err)
{
    int r = box_wire_check(done, len, BOX_DONE, sizeof(*done), err);

    if (r < 0)
        return r;
    if (len != sizeof(*done) || done->code > 0 || memchr(done->msg, 0, sizeof(done->msg)) == NULL)
        return tr_fail(err, TR_E_PARSE, 0, "answer of the box is malformed");
    if (done->code == 0)
        return 0;
    if (err) {
        err->code = done->code;
        err->sys = done->sys;
        memcpy(err->msg, done->msg, sizeof(err->msg));
    }
    return done->code;
}
