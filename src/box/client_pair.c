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

int tbox_run_pair(tbox *const boxes[2], const struct tbox_spec specs[2], struct tbox_report ret[2],
                  int *ret_first, struct tr_err *err)
{
    bool done[2] = {false, false};
    int first = -1;
    int failed = start_both(boxes, specs, err);

    if (failed < 0)
        return failed;
    while (!done[0] || !done[1]) {
        struct pollfd fds[2];

        for (int i = 0; i < 2; i++)
            fds[i] = (struct pollfd){.fd = done[i] ? -1 : tbox_fd(boxes[i]), .events = POLLIN};
        if (poll(fds, 2, -1) < 0 && errno != EINTR)
            return tr_fail(err, TR_E_IO, errno, "poll");
        for (int i = 0; i < 2; i++) {
            int r = fds[i].revents ? tbox_step(boxes[i], &ret[i], failed ? NULL : err) : 0;

            if (r == 0)
                continue;
            done[i] = true;
            if (first < 0)
                first = i;
            if (r < 0 && failed == 0) { /* a fault in one ends the other */
                failed = r;
                if (!done[1 - i])
                    (void)tbox_kill(boxes[1 - i], NULL);
            }
        }
    }
    if (failed == 0 && ret_first)
        *ret_first = first;
    return failed;
}
