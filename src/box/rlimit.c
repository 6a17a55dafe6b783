/* SPDX-License-Identifier: MIT
 *
 * rlimit.c - resource limits: a second line behind the cgroup, and the only one for files and
 * stack.
 *
 * What is the same for every run is set once in the first process and inherited for nothing; what a
 * spec chooses is set in the child, about a microsecond each.
 */
#include <errno.h>
#include <sys/resource.h>

#include "base/cleanup.h"
#include "box/container.h"

#define THREAD_STACK (UINT64_C(8) << 20) /* what Linux gives by default */

enum {
    THREADS = 16 /* so many find room for their stacks, however small the memory is */
};

int box_rlimits_init(struct tr_err *err)
{
    static const struct {
        __rlimit_resource_t what;
        rlim_t value;
    } fixed[] = {
        /* A handler in core_pattern ("|/usr/lib/...") is started outside, as root, whatever the
         * limit is, but for 1, which the kernel keeps for those who want neither file nor handler.
         * The filter takes care that no program sets it to anything else. */
        {RLIMIT_CORE, 1},         {RLIMIT_MEMLOCK, 65536}, /* locked memory is charged; 64 KiB for
                                                              those who insist */
        {RLIMIT_MSGQUEUE, 0},     {RLIMIT_NICE, 0},        {RLIMIT_RTPRIO, 0},
        {RLIMIT_SIGPENDING, 256}, /* queued signals are kernel memory */
    };

    for (size_t i = 0; i < TR_ARRAY_LEN(fixed); i++) {
        struct rlimit now;
        struct rlimit want = {fixed[i].value, fixed[i].value};

        if (setrlimit(fixed[i].what, &want) == 0)
            continue;
        if (getrlimit(fixed[i].what, &now) < 0)
            return tr_fail(err, TR_E_IO, errno, "read resource limit %d", (int)fixed[i].what);
        rlim_t value = fixed[i].value < now.rlim_max ? fixed[i].value : now.rlim_max;
        want = (struct rlimit){value, value};
        if (setrlimit(fixed[i].what, &want) < 0)
            return tr_fail(err, TR_E_IO, errno, "set resource limit %d", (int)fixed[i].what);
    }
    return 0;
}

static int set(__rlimit_resource_t what, uint64_t value)
{
    struct rlimit l = {(rlim_t)value, (rlim_t)value};

    return setrlimit(what, &l) < 0 ? errno : 0;
}

/* Without a cgroup RLIMIT_DATA counts whole mappings, and a thread's stack is one of RLIMIT_STACK:
 * with all of the memory for it not one thread could be started. */
static uint64_t stack_of(const struct tbox_limits *l, bool no_cgroup)
{
    if (l->stack_bytes != TBOX_STACK_AUTO)
        return l->stack_bytes;
    if (!no_cgroup)
        return l->memory_bytes;
    uint64_t share = l->memory_bytes / THREADS;
    return share < THREAD_STACK ? share : THREAD_STACK;
}

int box_rlimits_run(const struct tbox_limits *l, bool no_cgroup)
{
    /* Only a backstop: the watcher kills at the microsecond, this at the second, and the program
     * must never see SIGXCPU before its time. */
    uint64_t cpu_s = (uint64_t)l->cpu_us / 1000000 + 2;
    struct rlimit cpu = {cpu_s, cpu_s + 1};

    if (setrlimit(RLIMIT_CPU, &cpu) < 0)
        return errno;
    int r = set(RLIMIT_STACK, stack_of(l, no_cgroup));
    if (r == 0)
        r = set(RLIMIT_FSIZE, l->file_bytes);
    if (r == 0)
        r = set(RLIMIT_NOFILE, l->open_files);
    if (r == 0 && no_cgroup)
        r = set(RLIMIT_DATA, l->memory_bytes);
    if (r == 0 && no_cgroup)
        r = set(RLIMIT_NPROC, l->pids);
    return r;
}
