/* SPDX-License-Identifier: MIT
 *
 * wait.c - a box at work, and somebody who may want it to stop.
 *
 * A worker's lease can run out, a submission can be cancelled, in the middle of a compilation of
 * half a minute. Asking ten times a second costs nothing that could be measured.
 */
#include <errno.h>
#include <poll.h>

#include "judge/judge_private.h"

int stopped(struct tr_err *err)
{
    return tr_fail(err, TR_E_LOST, 0, "judging was stopped");
}

int boxed_run(tbox *box, const struct tbox_spec *spec, const struct tr_judge_events *events,
              struct tbox_report *ret, struct tr_err *err)
{
    if (!events || !events->stop)
        return tbox_run(box, spec, ret, err);
    if (stop_asked(events))
        return stopped(err);
    int r = tbox_start(box, spec, err);
    while (r == 0) {
        struct pollfd fd = {.fd = tbox_fd(box), .events = POLLIN};
        int n = poll(&fd, 1, LOOK_MS);

        if (n < 0 && errno != EINTR)
            return tr_fail(err, TR_E_IO, errno, "wait for the box");
        if (n > 0)
            r = tbox_step(box, ret, err);
        if (r == 0 && stop_asked(events)) {
            r = tbox_kill(box, err);
            if (r == 0)
                r = tbox_wait(box, ret, err);
            return r < 0 ? r : stopped(err);
        }
    }
    return r < 0 ? r : 0;
}
