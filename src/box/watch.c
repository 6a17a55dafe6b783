/* SPDX-License-Identifier: MIT
 *
 * watch.c - deadlines that live outside the program.
 *
 * No polling at a fixed beat: the next look at the clock is when the program could reach its limit
 * at the earliest, if it used every CPU it may use. So a long run is looked at some ten times, and
 * is over its limit by a scheduling delay, not by a tenth of a second.
 */
#include "box/watch.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/parse.h"
#include "box/tasks.h"

enum {
    /* Closer looks cost more than they tell: a wake-up is about this late anyway. And a program
     * that rests just below its limit must not keep us busy. */
    LOOK_MIN_US = 300,
    LOOK_REST_US = 1000,
    /* So close to the limit, for each CPU, we want to be on time: ordinary wake-ups are rarely
     * later than this. And from here on a tick of the slowest kernels (100 Hz) could hide the end.
     */
    URGENT_US = 20000,
    TICK_US = 10000,
    /* To visit more would disturb everybody: who has more ties each box to one of them. */
    URGENT_CPUS = 4,
    /* From here on pressure and throttling are worth two reads. */
    MARK_US = 10000,
    /* In the time that makes a program idle. */
    IDLE_LOOKS = 4,
    /* What is killed and gets a CPU is gone by then, but for the largest of address spaces. */
    DIE_MS = 100,
    /* Killed processes that take longer hang in the kernel: the container is lost. */
    KILL_MAX_US = 10000000
};

static void note_end(struct box_watch *w, pid_t pid, int status, const struct rusage *ru)
{
    uint64_t rss = (uint64_t)ru->ru_maxrss * 1024;

    if (rss > w->maxrss_bytes)
        w->maxrss_bytes = rss;
    if (pid != w->pid)
        return;
    w->status = status;
    w->usage = *ru;
    w->wall_us = tr_clock_mono_us() - w->started_us;
    w->pid = 0;
}

/* Reap what has ended; orphans come to us, we are pid 1. Returns false when no child is left. */
static bool reap(struct box_watch *w, uint32_t *count)
{
    for (;;) {
        struct rusage ru;
        int status = 0;
        pid_t pid = wait4(-1, &status, WNOHANG | __WALL, &ru);

        if (pid < 0 && errno == EINTR)
            continue;
        if (pid < 0)
            return false;
        if (pid == 0)
            return true;
        note_end(w, pid, status, &ru);
        (*count)++;
    }
}

static void drain_signals(int fd)
{
    struct signalfd_siginfo info[4];

    while (read(fd, info, sizeof(info)) == (ssize_t)sizeof(info))
        continue;
}

/* The kernel books the time of a running thread at ticks only (4 ms apart); asking for the clock of
 * its process makes it book now. */
static int64_t process_cpu_us(pid_t pid)
{
    struct timespec t;
    clockid_t clock = (clockid_t)((~(unsigned)pid << 3) | 2U);

    if (clock_gettime(clock, &t) < 0)
        return 0;
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static int listen_to_peer(struct box_watch *w)
{
    union {
        struct box_wire_head head;
        char bytes[sizeof(struct box_wire_spec)];
    } msg;
    int fds[BOX_WIRE_FDS];
    int64_t n = box_wire_recv(w->sock, &msg, sizeof(msg), fds, MSG_DONTWAIT, NULL);

    for (int i = 0; i < BOX_WIRE_FDS; i++)
        tr_close(&fds[i]);
    if (n == TR_E_LOST) {
        w->peer_gone = true;
        w->ended_by = TBOX_CANCEL;
        return 1;
    }
    if (n < 0 || box_wire_check(&msg, (size_t)n, BOX_KILL, sizeof(msg.head), NULL) < 0)
        return 0;
    w->ended_by = msg.head.arg == TBOX_OUTPUT ? TBOX_OUTPUT : TBOX_CANCEL;
    return 1;
}

/* Quiet is less than a hundredth of a CPU, not none: our own looks are charged to the run on v1. A
 * program that wants a CPU and gets none is not quiet, it is robbed: nobody may be awake. Several
 * looks have to find it so: one look after a second in which the whole machine stood still says
 * nothing about the program. A message that finds no room is tried again at the next look; a
 * watcher never waits for a reader. */
static void tell_idle(struct box_watch *w, int64_t used)
{
    int64_t now = tr_clock_mono_us();
    bool busy = used - w->quiet.cpu_us > w->idle_us / 100 || w->quiet.since_us == 0 ||
                box_tasks_awake(w->proc);
    bool idle = !busy && ++w->quiet.looks >= IDLE_LOOKS && now - w->quiet.since_us >= w->idle_us;
    bool tell = w->quiet.told ? busy : idle;
    struct box_wire_head msg;
    struct iovec part = {.iov_base = &msg, .iov_len = sizeof(msg)};
    struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};

    if (busy) {
        w->quiet.cpu_us = used;
        w->quiet.since_us = now;
        w->quiet.looks = 0;
    }
    if (!tell)
        return;
    box_wire_head(&msg, BOX_IDLE, sizeof(msg), busy ? 0 : (uint64_t)w->quiet.since_us);
    if (sendmsg(w->sock, &m, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)sizeof(msg))
        w->quiet.told = !busy;
}

/* What has been used, as far as it is booked. */
static int64_t used_us(struct box_watch *w, struct box_usage *now)
{
    int64_t direct = process_cpu_us(w->pid);

    (void)w->cg->driver->sample(w->cg, now, NULL);
    int64_t used = now->cpu_us > direct ? now->cpu_us : direct;
    if (used > w->seen_us)
        w->seen_us = used;
    return used;
}

static int64_t near_us(const struct box_watch *w)
{
    return URGENT_US * (int64_t)(w->cpus < URGENT_CPUS ? w->cpus : URGENT_CPUS);
}

/* Look at the counters; true when a limit is reached. */
static bool look(struct box_watch *w, const struct tbox_limits *l, int64_t *ret_cpu_left_us)
{
    struct box_usage now = {0};
    int64_t used = used_us(w, &now);
    int64_t left = l->cpu_us - used;

    if (left > 0 && left < near_us(w))
        box_urgent_begin(w->urgent);
    if (w->urgent->on && w->cpus <= URGENT_CPUS && left > 0 && left < TICK_US * (int64_t)w->cpus) {
        box_urgent_visit(w->urgent, w->cpu);
        used = used_us(w, &now);
        left = l->cpu_us - used;
    }
    w->resting = left == *ret_cpu_left_us;
    *ret_cpu_left_us = left;
    if (w->idle_us > 0)
        tell_idle(w, used);
    if (now.oom_kills > 0)
        w->ended_by = TBOX_MEMORY;
    else if (used > l->cpu_us)
        w->ended_by = TBOX_CPU;
    else if (tr_clock_mono_us() - w->started_us > l->wall_us)
        w->ended_by = TBOX_WALL;
    return w->ended_by != TBOX_EXIT;
}

static int64_t next_look_us(const struct box_watch *w, const struct tbox_limits *l,
                            int64_t cpu_left_us, bool marked)
{
    int64_t passed = tr_clock_mono_us() - w->started_us;
    /* In time to be urgent; from then on to the limit itself. */
    int64_t apart = cpu_left_us > near_us(w) ? near_us(w) / 2 : 0;
    int64_t wait = (cpu_left_us - apart) / w->cpus + 1;
    int64_t least = w->resting ? LOOK_REST_US : LOOK_MIN_US;

    if (wait < least)
        wait = least;
    if (wait > l->wall_us - passed + 1)
        wait = l->wall_us - passed + 1;
    if (!marked && wait > MARK_US)
        wait = MARK_US;
    if (w->cg->driver->look_us > 0 && wait > w->cg->driver->look_us)
        wait = w->cg->driver->look_us;
    if (w->idle_us > 0 && wait > w->idle_us / IDLE_LOOKS)
        wait = w->idle_us / IDLE_LOOKS;
    return wait > 0 ? wait : 0;
}

static int watch(struct box_watch *w, const struct tbox_limits *limits, struct tr_err *err)
{
    struct pollfd fds[2] = {{.fd = w->signals, .events = POLLIN},
                            {.fd = w->sock, .events = POLLIN}};
    int64_t cpu_left = limits->cpu_us;
    bool marked = false;
    uint32_t reaped = 0;

    for (;;) {
        int64_t wait = next_look_us(w, limits, cpu_left, marked);
        struct timespec t = {.tv_sec = wait / 1000000, .tv_nsec = wait % 1000000 * 1000};
        int n = ppoll(fds, 2, &t, NULL);

        if (n < 0 && errno != EINTR)
            return tr_fail(err, TR_E_IO, errno, "poll");
        if (n > 0 && (fds[0].revents & POLLIN)) {
            drain_signals(w->signals);
            (void)reap(w, &reaped);
            if (w->pid == 0)
                return 0;
        }
        if (n > 0 && fds[1].revents && listen_to_peer(w))
            return 0;
        if (!marked && tr_clock_mono_us() - w->started_us >= MARK_US) {
            w->cg->driver->mark(w->cg);
            marked = true;
        }
        if (look(w, limits, &cpu_left))
            return 0;
    }
}

int box_watch_run(struct box_watch *w, const struct tbox_limits *limits, struct tr_err *err)
{
    int r = watch(w, limits, err);

    /* The first blow while nobody can delay it, and before we wait for the helper. What takes long,
     * reaping and cleaning, is not urgent. */
    if (w->pid != 0)
        (void)kill(-1, SIGKILL);
    box_urgent_end(w->urgent);
    return r;
}

/* Killed, a thread still needs a CPU to die on. Where it is tied to one that others fill it would
 * have none for as long as they like, and with it the slot: so it comes to the CPU that we got. */
static bool bring_here(const struct box_tasks *threads, const char *tid, const void *arg)
{
    const struct box_watch *w = arg;
    uint64_t id = 0;
    int here = sched_getcpu();

    if (here >= 0 && tr_parse_u64(tid, 2, INT32_MAX, &id, NULL) == 0)
        (void)box_urgent_go((pid_t)id, here, w->urgent->key);
    return false;
}

int box_watch_kill_all(struct box_watch *w, struct tr_err *err)
{
    int64_t deadline = tr_clock_mono_us() + KILL_MAX_US;
    bool own_end = w->pid != 0; /* the program's process is not "left over" */
    uint32_t count = 0;

    /* Without a child there is no process: everything inside descends from us. */
    while (reap(w, &count)) {
        struct pollfd fd = {.fd = w->signals, .events = POLLIN};

        /* In each round again: cheap, and no trust in one sweep against a fork bomb. */
        (void)kill(-1, SIGKILL);
        if (tr_clock_mono_us() > deadline)
            return tr_fail(err, TR_E_FATAL, 0, "processes do not die");
        if (poll(&fd, 1, DIE_MS) > 0)
            drain_signals(w->signals);
        else
            (void)box_tasks_any(w->proc, bring_here, w);
    }
    w->killed = own_end && count > 0 ? count - 1 : count;
    return 0;
}
