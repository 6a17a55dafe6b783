/* SPDX-License-Identifier: MIT
 *
 * urgent.c - real-time priority and exact counters for the last milliseconds before a CPU limit.
 *
 * Two things make a deadline late. The watcher waits for a CPU that others fill: with the lowest
 * real-time priority it does not. And the kernel books the time of a running thread at ticks (4 or
 * 10 ms apart) or when its CPU switches to somebody else, so that each CPU can hide a tick: going
 * to a CPU makes it switch. Decision 0212 has the measurements.
 *
 * Only who is root outside can give that priority, so the helper does; we give it back before
 * anything that takes long. The calls pass the filter with the key only; see seccomp.c.
 */
#include "box/urgent.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "box/wire.h"

static int set_cpus(pid_t who, const union box_cpus *set, const uint64_t key[2])
{
    return syscall(SYS_sched_setaffinity, who, sizeof(*set), set, 0L, key[0], key[1]) < 0 ? errno
                                                                                          : 0;
}

unsigned box_urgent_init(struct box_urgent *u, int ctl, const uint64_t key[2])
{
    *u = (struct box_urgent){.key = key, .ctl = ctl};
    if (sched_getaffinity(0, sizeof(u->cpus), &u->cpus.first) < 0)
        CPU_ZERO_S(sizeof(u->cpus), &u->cpus.first);
    int n = CPU_COUNT_S(sizeof(u->cpus), &u->cpus.first);
    return n > 0 ? (unsigned)n : 1;
}

static void ask(struct box_urgent *u)
{
    struct box_wire_head msg;

    box_wire_head(&msg, BOX_URGENT, sizeof(msg), 0);
    u->asked = send(u->ctl, &msg, sizeof(msg), MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof(msg);
    u->refused = !u->asked;
}

/* `flags` MSG_DONTWAIT: the answer if it is there. */
static void hear(struct box_urgent *u, int flags)
{
    struct box_wire_done done;
    int fds[BOX_WIRE_FDS];
    int64_t n = box_wire_recv(u->ctl, &done, sizeof(done), fds, flags, NULL);

    if (n == TR_E_RETRY)
        return;
    u->asked = false;
    u->on = n > 0 && box_wire_result(&done, (size_t)n, NULL) == 0;
    u->refused = !u->on;
}

void box_urgent_begin(struct box_urgent *u)
{
    if (u->on || u->refused)
        return;
    if (!u->asked)
        ask(u);
    else
        hear(u, MSG_DONTWAIT);
}

void box_urgent_end(struct box_urgent *u)
{
    const struct sched_param none = {0};

    if (u->asked)
        hear(u, 0);
    if (u->on)
        (void)syscall(SYS_sched_setscheduler, 0, SCHED_OTHER, &none, 0L, u->key[0], u->key[1]);
    u->on = false;
}

int box_urgent_go(pid_t who, int cpu, const uint64_t key[2])
{
    union box_cpus one;

    CPU_ZERO_S(sizeof(one), &one.first);
    CPU_SET_S((unsigned)cpu, sizeof(one), &one.first);
    return set_cpus(who, &one, key);
}

void box_urgent_visit(const struct box_urgent *u, int cpu)
{
    if (!u->on)
        return;
    for (int i = cpu < 0 ? 0 : cpu; i < (cpu < 0 ? BOX_CPUS_MAX : cpu + 1); i++) {
        if (CPU_ISSET_S((unsigned)i, sizeof(u->cpus), &u->cpus.first))
            (void)box_urgent_go(0, i, u->key);
    }
    (void)set_cpus(0, &u->cpus, u->key);
}
