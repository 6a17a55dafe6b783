/* SPDX-License-Identifier: MIT
 *
 * exec.c - the child between clone and exec.
 *
 * It is born with CLONE_VM | CLONE_VFORK: it runs in the first process's memory on a stack of its
 * own while the first process sleeps, which is what makes a run cheap (a fork costs a third more).
 * So it may only make system calls and write to its struct box_exec. It is born straight into the
 * run's cgroup; moving a process there afterwards takes up to 12 ms.
 *
 * No other process of the container is alive now (init.c sees to it): one with the program's uid
 * could stop the child between the change of uid and exec, and the first process with it.
 */
#include <errno.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "box/container.h"
#include "box/urgent.h"

enum {
    STACK_BYTES = 64 * 1024
};

static _Alignas(16) char child_stack[STACK_BYTES];

/* clone3 with a new stack, and the key in the registers behind its arguments: the filter lets
 * clone3 pass with the key alone, since its flags lie in memory where no filter can look. The
 * kernel ignores the registers. Cannot be a libc call: libc has no clone3, and syscall() would
 * return in the child on a stack that the parent still needs. */
static long clone3_call(struct clone_args *args, const uint64_t key[2], int (*fn)(void *),
                        void *arg)
{
#if defined(__x86_64__)
    register long r10 __asm__("r10") = 0;
    register uint64_t r8 __asm__("r8") = key[0];
    register uint64_t r9 __asm__("r9") = key[1];
    register int (*call)(void *) __asm__("r12") = fn;
    register void *with __asm__("r13") = arg;
    long ret = SYS_clone3;

    __asm__ volatile("syscall\n\t"
                     "test %%rax, %%rax\n\t"
                     "jnz 1f\n\t"
                     "xor %%ebp, %%ebp\n\t"
                     "mov %%r13, %%rdi\n\t"
                     "call *%%r12\n\t"
                     "mov %%eax, %%edi\n\t"
                     "mov $60, %%eax\n\t"
                     "syscall\n\t"
                     "hlt\n"
                     "1:"
                     : "+a"(ret)
                     : "D"(args), "S"(sizeof(*args)), "d"(0L), "r"(r10), "r"(r8), "r"(r9),
                       "r"(call), "r"(with)
                     : "rcx", "r11", "memory", "cc");
    return ret;
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = SYS_clone3;
    register uint64_t x0 __asm__("x0") = (uint64_t)(uintptr_t)args;
    register uint64_t x1 __asm__("x1") = sizeof(*args);
    register uint64_t x2 __asm__("x2") = 0;
    register uint64_t x3 __asm__("x3") = 0;
    register uint64_t x4 __asm__("x4") = key[0];
    register uint64_t x5 __asm__("x5") = key[1];
    register int (*call)(void *) __asm__("x19") = fn;
    register void *with __asm__("x20") = arg;

    __asm__ volatile("svc #0\n\t"
                     "cbnz x0, 1f\n\t"
                     "mov x0, x20\n\t"
                     "blr x19\n\t"
                     "mov x8, #93\n\t"
                     "svc #0\n\t"
                     "1:"
                     : "+r"(x0)
                     : "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5), "r"(x8), "r"(call), "r"(with)
                     : "memory", "cc", "x30");
    return (long)x0;
#else
    _Static_assert(sizeof(args) == 0, "the clone3 stub is written for x86-64 and arm64");
#endif
}

static int place_fds(const int fds[3])
{
    for (int i = 0; i < 3; i++) {
        if (dup2(fds[i], i) < 0)
            return errno;
    }
    return syscall(SYS_close_range, 3U, ~0U, 0U) < 0 ? errno : 0;
}

/* PATH of the program's environment, without libc: one name after the other. Returns an errno. */
static int exec_search(const char *file, char *const *argv, char *const *env)
{
    const char *path = "/usr/local/bin:/usr/bin:/bin";
    size_t len = strlen(file);
    int result = ENOENT;

    for (char *const *e = env; *e; e++) {
        if (strncmp(*e, "PATH=", 5) == 0)
            path = *e + 5;
    }
    while (*path) {
        const char *end = strchrnul(path, ':');
        size_t dir = (size_t)(end - path);
        char full[4096];

        if (dir > 0 && *path == '/' && dir + len + 2 <= sizeof(full)) {
            memcpy(full, path, dir);
            full[dir] = '/';
            memcpy(full + dir + 1, file, len + 1);
            (void)execve(full, argv, env);
            if (errno != ENOENT && errno != ENOTDIR)
                result = errno;
        }
        path = *end ? end + 1 : end;
    }
    return result;
}

static int fail(struct box_exec *x, const char *step, int error)
{
    x->step = step;
    x->error = error;
    return 127;
}

/* The order matters: what needs rights first, then the rights go, then the last descriptors. */
static int child(void *arg)
{
    struct box_exec *x = arg;
    sigset_t none;
    int r;

    (void)sigemptyset(&none);
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread. Dispositions are default: CLEAR_SIGHAND */
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)syscall(SYS_setsid);
    (void)setpriority(PRIO_PROCESS, 0, 0); /* the first process may be favoured */
    if (x->run->cpu >= 0 && (r = box_urgent_go(0, x->run->cpu, x->filter->key)) != 0)
        return fail(x, "CPU affinity", r);
    r = place_fds(x->fds);
    if (r != 0)
        return fail(x, "descriptors", r);
    r = box_rlimits_run(&x->run->limits, x->no_cgroup);
    if (r != 0)
        return fail(x, "resource limits", r);
    r = box_ids_become_program(x->ids);
    if (r != 0)
        return fail(x, "credentials", r);
    char *const *argv = x->run->argv;
    if (!strchr(argv[0], '/'))
        return fail(x, NULL, exec_search(argv[0], argv, x->run->env));
    (void)execve(argv[0], argv, x->run->env);
    return fail(x, NULL, errno);
}

pid_t box_exec_start(struct box_exec *x)
{
    struct clone_args args = {
        .flags = (uint64_t)CLONE_VM | CLONE_VFORK | CLONE_CLEAR_SIGHAND,
        .exit_signal = SIGCHLD,
        .stack = (uint64_t)(uintptr_t)child_stack,
        .stack_size = STACK_BYTES,
    };

    if (x->cgroup >= 0) {
        args.flags |= CLONE_INTO_CGROUP;
        args.cgroup = (unsigned)x->cgroup;
    }
    x->error = 0;
    x->step = NULL;
    long pid = clone3_call(&args, x->filter->key, child, x);
    return (pid_t)pid;
}
