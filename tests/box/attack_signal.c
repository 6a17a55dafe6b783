/* SPDX-License-Identifier: MIT
 *
 * attack_signal.c - signals to the judge and to itself, tracing, limits and prctl.
 */
#include "attacker.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

/* Everything that is not one of us: pid 1, the parent, the pids around ours. */
static void each_neighbour(void (*fn)(pid_t))
{
    fn(1);
    if (getppid() > 1)
        fn(getppid());
    for (pid_t pid = 2; pid < 12; pid++)
        if (pid != getpid() && pid != getppid())
            fn(pid);
}

static void signal_it(pid_t pid)
{
    static const int signals[] = {SIGKILL, SIGSTOP, SIGTERM, SIGCONT,
                                  SIGSEGV, SIGUSR1, SIGCHLD, 33};
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        union sigval v = {.sival_int = 1};
        kill(pid, signals[i]);
        sigqueue(pid, signals[i], v);
        syscall(SYS_tgkill, pid, pid, signals[i]);
        long fd = syscall(SYS_pidfd_open, pid, 0);
        if (fd >= 0) {
            syscall(SYS_pidfd_send_signal, fd, signals[i], NULL, 0);
            close((int)fd);
        }
    }
}

/* If the supervisor was stopped or killed, no report comes. */
static int kill_judge(char **args)
{
    (void)args;
    each_neighbour(signal_it);
    kill(-1, SIGKILL);
    kill(-1, SIGSTOP);
    kill(-1, SIGSTOP);
    say("42");
    return 0;
}

static int kill_own_group(char **args)
{
    (void)args;
    kill(0, SIGKILL);
    sleep_ms(50);
    return 0;
}

static int stop_everything(char **args)
{
    (void)args;
    if (fork() == 0) {
        setsid();
        for (;;)
            kill(-1, SIGSTOP);
    }
    sleep_forever();
}

static int stop_self(char **args)
{
    (void)args;
    raise(SIGSTOP);
    raise(SIGSTOP);
    sleep_forever();
}

static int ignore_and_spin(char **args)
{
    for (int s = 1; s < 65; s++)
        signal(s, SIG_IGN);
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    alarm(0);
    struct itimerval off = {0};
    setitimer(ITIMER_REAL, &off, NULL);
    setitimer(ITIMER_VIRTUAL, &off, NULL);
    setitimer(ITIMER_PROF, &off, NULL);
    if (args[0])
        sleep_forever();
    spin_forever();
}

static int raise_signal(char **args)
{
    int n = (int)number_arg(args, 0, SIGKILL);
    signal(n, SIG_DFL);
    raise(n);
    return 0;
}

static int exit_with(char **args)
{
    say("42");
    _exit((int)number_arg(args, 0, 1));
}

static sigjmp_buf back;

static void on_fault(int sig)
{
    siglongjmp(back, sig);
}

static int survive_fault(char **args)
{
    (void)args;
    signal(SIGSEGV, on_fault);
    volatile int *volatile nowhere = NULL;
    if (sigsetjmp(back, 1) == 0)
        *nowhere = 1;
    say("42");
    return 0;
}

static void trace_it(pid_t pid)
{
    char name[64], buf[64];
    struct iovec here = {buf, sizeof buf}, there = {(void *)0x400000, sizeof buf};
    snprintf(name, sizeof name, "ptrace(ATTACH, %d)", pid);
    must_not_work(name, ptrace(PTRACE_ATTACH, pid, 0, 0));
    must_not_work("ptrace(SEIZE)", ptrace(PTRACE_SEIZE, pid, 0, 0));
    must_not_work("process_vm_readv", process_vm_readv(pid, &here, 1, &there, 1, 0));
    must_not_work("process_vm_writev", process_vm_writev(pid, &here, 1, &there, 1, 0));
    must_not_work("kcmp", syscall(SYS_kcmp, getpid(), pid, 0, 0, 0));
    must_not_work("get_robust_list", syscall(SYS_get_robust_list, pid, &here.iov_base, buf));
    must_not_work("migrate_pages", syscall(SYS_migrate_pages, pid, 0, NULL, NULL));
    must_not_work("move_pages", syscall(SYS_move_pages, pid, 0, NULL, NULL, NULL, 0));
    long fd = syscall(SYS_pidfd_open, pid, 0);
    if (fd >= 0) {
        for (int target = 0; target < 16; target++)
            must_not_work("pidfd_getfd", syscall(SYS_pidfd_getfd, fd, target, 0));
        must_not_work("process_madvise", syscall(SYS_process_madvise, fd, &there, 1, 4, 0));
        must_not_work("process_mrelease", syscall(448, fd, 0));
        must_not_work("setns(pidfd)", syscall(SYS_setns, fd, CLONE_NEWNS));
    }
    snprintf(name, sizeof name, "/proc/%d/mem", pid);
    must_not_work(name, open(name, O_RDWR));
    snprintf(name, sizeof name, "/proc/%d/fd/0", pid);
    must_not_work(name, open(name, O_RDONLY));
    struct rlimit64 {
        uint64_t cur, max;
    } one = {1, 1};
    must_not_work("prlimit(CPU)", syscall(SYS_prlimit64, pid, RLIMIT_CPU, &one, NULL));
    must_not_work("prlimit(NOFILE)", syscall(SYS_prlimit64, pid, RLIMIT_NOFILE, NULL, &one));
    must_not_work("setpriority", setpriority(PRIO_PROCESS, (id_t)pid, 19));
    struct sched_param idle = {0};
    must_not_work("sched_setscheduler(other)", sched_setscheduler(pid, SCHED_IDLE, &idle));
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(0, &set);
    must_not_work("sched_setaffinity(other)", sched_setaffinity(pid, sizeof set, &set));
    must_not_work("ioprio_set(other)", syscall(SYS_ioprio_set, 1, pid, 3 << 13));
    must_not_work("setpgid(other)", setpgid(pid, 0));
}

static int trace_others(char **args)
{
    (void)args;
    each_neighbour(trace_it);
    return 0;
}

static int trace_me(char **args)
{
    (void)args;
    if (ptrace(PTRACE_TRACEME, 0, 0, 0) == 0) {
        /* Stopped under a tracer that never expected to be one: only a wall clock ends this. */
        say("PTRACE_TRACEME worked");
        raise(SIGSTOP);
        raise(SIGTRAP);
    }
    say("42");
    return 0;
}

static bool became_fs_root(void)
{
    setfsuid(0);
    return setfsuid((uid_t)-1) == 0;
}

static int prctl_games(char **args)
{
    (void)args;
    prctl(PR_SET_PDEATHSIG, SIGUSR1);
    prctl(PR_SET_DUMPABLE, 1);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prctl(PR_SET_PTRACER, 1);
    prctl(PR_SET_TIMERSLACK, 1);
    prctl(PR_SET_THP_DISABLE, 1);
    must_not_work("drop no_new_privs", prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0));
    must_not_work("raise an ambient capability",
                  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, 21 /* SYS_ADMIN */, 0, 0));
    must_not_work("drop from the bounding set", prctl(PR_CAPBSET_DROP, 21, 0, 0, 0));
    must_not_work("set securebits", prctl(PR_SET_SECUREBITS, 0x2f, 0, 0, 0));
    must_not_work("PR_SET_MM", prctl(PR_SET_MM, PR_SET_MM_BRK, 4096, 0, 0));
    must_not_work("setuid(0)", setuid(0));
    must_not_work("setresgid(0)", setresgid(0, 0, 0));
    must_not_work("setgroups", syscall(SYS_setgroups, 0, NULL));
    if (became_fs_root())
        escaped("setfsuid(0)");
    personality(ADDR_NO_RANDOMIZE | READ_IMPLIES_EXEC | MMAP_PAGE_ZERO);
    say("42");
    return 0;
}

static int raise_limits(char **args)
{
    for (int i = 0; i < RLIM_NLIMITS; i++) {
        struct rlimit r, up;
        if (getrlimit((__rlimit_resource_t)i, &r) < 0)
            continue;
        up.rlim_cur = up.rlim_max = r.rlim_max == RLIM_INFINITY ? r.rlim_max : r.rlim_max + 1;
        if (setrlimit((__rlimit_resource_t)i, &up) == 0 && r.rlim_max != RLIM_INFINITY)
            escaped("hard limit %d went from %llu to %llu", i, (unsigned long long)r.rlim_max,
                    (unsigned long long)up.rlim_max);
        up.rlim_cur = up.rlim_max = RLIM_INFINITY;
        if (setrlimit((__rlimit_resource_t)i, &up) == 0 && r.rlim_max != RLIM_INFINITY)
            escaped("hard limit %d went from %llu to infinity", i, (unsigned long long)r.rlim_max);
        r.rlim_cur = r.rlim_max;
        setrlimit((__rlimit_resource_t)i, &r);
    }
    signal(SIGXCPU, SIG_IGN);
    if (args[0])
        spin_forever();
    return 0;
}

/* A thousand queued signals for ourselves, and as many as the supervisor takes. */
static int signal_flood(char **args)
{
    (void)args;
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    union sigval v = {.sival_int = 7};
    long queued = 0;
    while (queued < 200000 && sigqueue(getpid(), SIGRTMIN + 1, v) == 0)
        queued++;
    for (int i = 0; i < 100; i++)
        sigqueue(getppid(), SIGRTMIN + 1, v);
    say("queued %ld", queued);
    if (queued >= 200000)
        escaped("200000 signals queued");
    return 0;
}

const struct attack attacks_signal[] = {
    {"kill_judge", kill_judge, "signals pid 1, the parent and all"},
    {"kill_own_group", kill_own_group, "kills its process group"},
    {"stop_everything", stop_everything, "stops whatever it can, for ever"},
    {"stop_self", stop_self, "SIGSTOP to itself"},
    {"ignore_and_spin", ignore_and_spin, "ignores and blocks everything, cancels timers"},
    {"raise_signal", raise_signal, "dies of a signal of its choice"},
    {"exit_with", exit_with, "right answer, exit code of its choice"},
    {"survive_fault", survive_fault, "catches its own SIGSEGV"},
    {"trace_others", trace_others, "ptrace and friends on the neighbours"},
    {"trace_me", trace_me, "asks its parent to trace it"},
    {"prctl_games", prctl_games, "prctl, personality, credentials"},
    {"raise_limits", raise_limits, "setrlimit upward"},
    {"signal_flood", signal_flood, "queues signals without end"},
    {NULL, NULL, NULL},
};
