/* SPDX-License-Identifier: MIT
 *
 * cpus.c - on which CPUs a process runs, past the filter.
 *
 * sched_setaffinity is closed to programs; the first process and its child before exec open it with
 * the key of their filter, in two registers that the kernel ignores (seccomp.c).
 */
#include <errno.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "box/container.h"

static int set_cpus(const void *set, size_t size, const uint64_t key[2])
{
    return syscall(SYS_sched_setaffinity, 0, size, set, 0L, key[0], key[1]) < 0 ? errno : 0;
}

int box_cpus_pin(int cpu, const uint64_t key[2])
{
    unsigned long one[8192 / (8 * sizeof(unsigned long))] = {0}; /* as many as a spec can name */
    const unsigned bits = 8 * sizeof(unsigned long);

    one[(unsigned)cpu / bits] |= 1UL << ((unsigned)cpu % bits);
    return set_cpus(one, sizeof(one), key);
}

unsigned box_cpus_usable(cpu_set_t *ret)
{
    CPU_ZERO(ret);
    if (sched_getaffinity(0, sizeof(*ret), ret) < 0)
        return 1;
    int n = CPU_COUNT(ret);
    return n > 0 ? (unsigned)n : 1;
}

void box_cpus_visit(const cpu_set_t *where, const cpu_set_t *home, const uint64_t key[2])
{
    for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, where))
            (void)box_cpus_pin((int)cpu, key);
    }
    (void)set_cpus(home, sizeof(*home), key);
}
