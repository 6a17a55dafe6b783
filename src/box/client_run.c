/* SPDX-License-Identifier: MIT
 *
 * client_run.c - start a run, wait for its report, and renew the container when it has to be.
 *
 * The watching is done inside (watch.c). Here is only a last guard against a first process that
 * does not answer: some seconds after the wall limit its container is thrown away.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "box/client.h"

enum {
    /* Killing and cleaning take at most ten seconds inside (watch.c), then it gives up itself. */
    GUARD_US = 20000000,
    /* A run that lasts this long is worth asking for stolen time. */
    STEAL_FROM_US = 20000
};

static int send_spec(tbox *box, const struct tbox_spec *spec, int64_t len, const int out[2],
                     struct tr_err *err)
{
    tr_autoclose int copy = -1;
    int r = box_input_check(box, spec->fd[0], &copy, err);
    int fds[3] = {copy >= 0 ? copy : spec->fd[0] >= 0 ? spec->fd[0] : box->null, out[0], out[1]};

    if (r < 0)
        return r;
    for (int i = 1; i < 3; i++) {
        if (fds[i] < 0)
            fds[i] = spec->fd[i] >= 0 ? spec->fd[i] : box->null;
    }
    return box_wire_send(box->sock, &box->msg, (size_t)len, fds, 3, err);
}

static int begin(tbox *box, const struct tbox_spec *spec, struct tr_err *err)
{
    int out[2] = {-1, -1};

    if (box->running)
        return tr_fail(err, TR_E_USAGE, 0, "a program is running in this box");
    if (box->sock < 0)
        return tr_fail(err, TR_E_FATAL, 0, "the container is gone: renew or close the box");
    int64_t len = box_spec_write(spec, &box->msg, err);
    if (len < 0)
        return (int)len;
    int r = box_client_clean(box, err);
    if (r < 0)
        return r;
    box->limits = spec->limits;
    box->seen = (struct box_seen){0};
    box->pump_error = (struct tr_err)TR_ERR_INIT;
    box->kill_sent = false;
    box->steal_before_us = -1;
    box->idle_since_us = 0;
    box->started_us = tr_clock_mono_us();
    r = box_pump_open(box, spec, out, err);
    if (r == 0)
        r = send_spec(box, spec, len, out, err);
    if (r < 0 && (err ? err->sys : 0) == EBADF)
        r = tr_fail(err, TR_E_USAGE, 0, "a descriptor of the spec is not open");
    tr_close(&out[0]);
    tr_close(&out[1]);
    if (r < 0) {
        box_pump_close(box);
        return r;
    }
    box->running = true;
    box->kept = (spec->flags & TBOX_KEEP_FILES) != 0;
    return 0;
}

/* The first process is gone or silent. Of memory: the kernel killed it together with the program,
 * whose group it shares on v1. Otherwise it is our fault and no verdict. */
static int lost(tbox *box, struct tbox_report *ret, struct tr_err *err)
{
    const uint64_t known = box->oom_seen;
    uint64_t oom = 0;
    int64_t wall = tr_clock_mono_us() - box->started_us;

    box->running = false;
    box_pump_drain(box);
    box_pump_close(box);
    int r = box_client_renew(box, &oom, err);
    if (r < 0)
        return r;
    if (oom <= known)
        return tr_fail(err, TR_E_RETRY, 0,
                       "the container's first process ended or fell silent; it was replaced");
    *ret = (struct tbox_report){.cause = TBOX_MEMORY,
                                .signal = 9,
                                .wall_us = wall,
                                .ended_us = tr_clock_mono_us(),
                                .memory_bytes = box->limits.memory_bytes,
                                .written_bytes = box->seen.written_bytes,
                                .pids_peak = 1,
                                .renewed = true,
                                .userns = box->userns,
                                .cgroup = box->cgroup};
    (void)snprintf(ret->note, sizeof(ret->note),
                   "over the memory limit; the container died of it and was renewed");
    return 1;
}

/* Word of waiting, which is no report yet. A time of the future is a lie, and no use to anybody. */
static void note_idle(tbox *box, uint64_t since_us)
{
    bool sane = since_us >= (uint64_t)box->started_us && since_us <= (uint64_t)tr_clock_mono_us();

    box->idle_since_us = sane ? (int64_t)since_us : 0;
}

/* The report, or the error that was sent in its place; 0 for a word in between. */
static int receive(tbox *box, struct tbox_report *ret, struct tr_err *err)
{
    union {
        struct box_wire_head head;
        struct box_wire_report report;
        struct box_wire_done done;
    } msg;
    int fds[BOX_WIRE_FDS];
    int64_t n = box_wire_recv(box->sock, &msg, sizeof(msg), fds, 0, err);

    if (n < 0)
        return lost(box, ret, err);
    for (int i = 0; i < BOX_WIRE_FDS; i++)
        tr_close(&fds[i]);
    if (box_wire_check(&msg, (size_t)n, BOX_IDLE, sizeof(msg.head), NULL) == 0) {
        note_idle(box, msg.head.arg);
        return 0;
    }
    box->running = false;
    box_pump_drain(box);
    while (box->eager && !box->seen.over_output)
        box_pump_drain(box); /* all writers are dead: it ends */
    box_pump_close(box);
    if ((size_t)n >= sizeof(msg.head) && msg.head.kind == BOX_DONE) {
        int r = box_wire_result(&msg.done, (size_t)n, err);

        return r < 0 ? r : tr_fail(err, TR_E_FATAL, 0, "the box answered without a report");
    }
    int r = box_report_read(&msg.report, (size_t)n, err);
    if (r < 0)
        return r;
    if (box->pump_error.code != 0) {
        if (err)
            *err = box->pump_error;
        return tr_fail_wrap(err, "copy the program's output");
    }
    if (box->steal_before_us >= 0)
        box->seen.steal_us = box_steal_us() - box->steal_before_us;
    box_report_make(&msg.report, &box->seen, &box->limits, ret);
    ret->userns = box->userns;
    ret->cgroup = box->cgroup;
    ret->renewed = !msg.report.container_ok || box->renewed_early;
    box->renewed_early = false;
    box->oom_seen += msg.report.oom_kills;
    if (!msg.report.container_ok) {
        r = box_client_renew(box, NULL, err);
        if (r < 0)
            return r;
    }
    return 1;
}

/* Sleep until there is something to do; then drain. 1: the socket can be read. */
static int wait_once(tbox *box, struct tr_err *err)
{
    struct pollfd fds[3] = {{.fd = box->sock, .events = POLLIN},
                            {.fd = box->eager ? box->pipe[0].from : -1, .events = POLLIN},
                            {.fd = box->eager ? box->pipe[1].from : -1, .events = POLLIN}};
    struct timespec t = {.tv_nsec = box->wait_us * 1000};
    bool pumped = box->pipe[0].from >= 0;

    if (!pumped)
        t = (struct timespec){.tv_sec = 1};
    int n = ppoll(fds, 3, &t, NULL);
    if (n < 0 && errno != EINTR)
        return tr_fail(err, TR_E_IO, errno, "poll");
    if (n > 0 && fds[0].revents)
        return 1;
    box_pump_drain(box);
    return 0;
}

/* Once in a while: stolen time from when the run is long enough, and the guard. */
static int look_at_clock(tbox *box, struct tr_err *err)
{
    int64_t passed = tr_clock_mono_us() - box->started_us;

    if (box->steal_before_us < 0 && passed > STEAL_FROM_US)
        box->steal_before_us = box_steal_us();
    if (passed > box->limits.wall_us + GUARD_US) {
        tr_close(&box->sock); /* lost() renews */
        return 1;
    }
    return 0;
}

int tbox_wait(tbox *box, struct tbox_report *ret, struct tr_err *err)
{
    if (!box->running)
        return tr_fail(err, TR_E_USAGE, 0, "no program is running in this box");
    for (;;) {
        int r = wait_once(box, err);

        if (r < 0)
            return r;
        if (r == 0 && look_at_clock(box, err) == 0)
            continue;
        r = box->sock < 0 ? lost(box, ret, err) : receive(box, ret, err);
        if (r != 0)
            return r < 0 ? r : 0;
    }
}

int tbox_run(tbox *box, const struct tbox_spec *spec, struct tbox_report *ret, struct tr_err *err)
{
    int r = begin(box, spec, err);

    box->async = false;
    return r < 0 ? r : tbox_wait(box, ret, err);
}

/* What tbox_fd() waits for besides the socket. */
static int arm(tbox *box, bool was_eager, struct tr_err *err)
{
    struct itimerspec t = {.it_value = {.tv_nsec = box->wait_us * 1000}};
    struct epoll_event ev = {.events = EPOLLIN};

    if (box->pipe[0].from < 0)
        t.it_value = (struct timespec){.tv_sec = 1};
    if (timerfd_settime(box->timer, 0, &t, NULL) < 0)
        return tr_fail(err, TR_E_IO, errno, "timerfd_settime");
    for (int i = 0; i < 2 && box->eager != was_eager; i++) {
        if (epoll_ctl(box->epoll, box->eager ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, box->pipe[i].from,
                      &ev) < 0)
            return tr_fail(err, TR_E_IO, errno, "epoll_ctl");
    }
    return 0;
}

int tbox_start(tbox *box, const struct tbox_spec *spec, struct tr_err *err)
{
    int r = begin(box, spec, err);

    box->async = true;
    return r < 0 ? r : arm(box, false, err);
}

int tbox_fd(const tbox *box)
{
    return box->epoll;
}

int tbox_step(tbox *box, struct tbox_report *ret, struct tr_err *err)
{
    struct pollfd fd = {.fd = box->sock, .events = POLLIN};
    uint64_t ticks;
    bool was_eager = box->eager;

    if (!box->running)
        return tr_fail(err, TR_E_USAGE, 0, "no program is running in this box");
    (void)!read(box->timer, &ticks, sizeof(ticks)); /* not blocking; only to silence it */
    int r = poll(&fd, 1, 0) > 0 ? receive(box, ret, err) : 0;
    if (r != 0)
        return r;
    box_pump_drain(box);
    if (look_at_clock(box, err) != 0)
        return lost(box, ret, err);
    return arm(box, was_eager, err);
}

int tbox_kill(tbox *box, struct tr_err *err)
{
    struct box_wire_head msg;

    if (!box->running)
        return tr_fail(err, TR_E_USAGE, 0, "no program is running in this box");
    box->kill_sent = true;
    box_wire_head(&msg, BOX_KILL, sizeof(msg), TBOX_CANCEL);
    return box_wire_send(box->sock, &msg, sizeof(msg), NULL, 0, err);
}

int64_t tbox_idle_us(const tbox *box)
{
    return box->running && box->idle_since_us > 0 ? tr_clock_mono_us() - box->idle_since_us : 0;
}
