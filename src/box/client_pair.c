/* SPDX-License-Identifier: MIT
 *
 * client_pair.c - two boxes that talk to each other.
 *
 * Direct pipes, no proxy between: a relay costs a factor of nine per message. So no output ceiling
 * holds here; a pipe holds 64 KiB and who does not read stops the other.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "box/client.h"

static int start_both(tbox *const boxes[2], const struct tbox_spec specs[2], struct tr_err *err)
{
    int ab[2];
    int ba[2];

    if (pipe2(ab, O_CLOEXEC) < 0)
        return tr_fail(err, TR_E_IO, errno, "make a pipe");
    tr_autoclose int ab_out = ab[0];
    tr_autoclose int ab_in = ab[1];
    if (pipe2(ba, O_CLOEXEC) < 0)
        return tr_fail(err, TR_E_IO, errno, "make a pipe");
    tr_autoclose int ba_out = ba[0];
    tr_autoclose int ba_in = ba[1];
    struct tbox_spec a = specs[0];
    struct tbox_spec b = specs[1];
    a.fd[0] = ba_out;
    a.fd[1] = ab_in;
    b.fd[0] = ab_out;
    b.fd[1] = ba_in;
    a.flags |= TBOX_DIRECT_OUTPUT;
    b.flags |= TBOX_DIRECT_OUTPUT;
    int r = tbox_start(boxes[0], &a, err);
    if (r < 0)
        return r;
    r = tbox_start(boxes[1], &b, err);
    if (r < 0) {
        struct tbox_report dropped;

        (void)tbox_kill(boxes[0], NULL);
        (void)tbox_wait(boxes[0], &dropped, NULL);
    }
    return r; /* our ends close here, so that each side sees the other's end */
}

struct pair {
    tbox *const *boxes;
    struct tbox_report *reports;
    bool done[2];
    int failed;
};

/* One of them moved on. */
static void step(struct pair *p, int i, struct tr_err *err)
{
    int r = tbox_step(p->boxes[i], &p->reports[i], p->failed < 0 ? NULL : err);

    if (r == 0)
        return;
    p->done[i] = true;
    if (r > 0 || p->failed < 0)
        return;
    p->failed = r; /* a fault in one ends the other */
    if (!p->done[1 - i])
        (void)tbox_kill(p->boxes[1 - i], NULL);
}

int tbox_run_pair(tbox *const boxes[2], const struct tbox_spec specs[2], struct tbox_report ret[2],
                  int *ret_first, struct tr_err *err)
{
    struct pair p = {.boxes = boxes, .reports = ret};
    int r = start_both(boxes, specs, err);

    if (r < 0)
        return r;
    while (!p.done[0] || !p.done[1]) {
        struct pollfd fds[2];

        for (int i = 0; i < 2; i++)
            fds[i] = (struct pollfd){.fd = p.done[i] ? -1 : tbox_fd(boxes[i]), .events = POLLIN};
        if (poll(fds, 2, -1) < 0 && errno != EINTR)
            return tr_fail(err, TR_E_IO, errno, "poll");
        for (int i = 0; i < 2; i++) {
            if (fds[i].revents)
                step(&p, i, err);
        }
    }
    if (p.failed == 0 && ret_first)
        *ret_first = ret[1].ended_us < ret[0].ended_us;
    return p.failed;
}
