/* SPDX-License-Identifier: MIT
 *
 * seccomp.c - which system calls exist inside.
 *
 * An allow-list: what a later kernel adds is not there until somebody thought about it. Unknown
 * calls give ENOSYS, which runtimes take for an older kernel; a few known ones give EPERM, since
 * their callers can say something sensible then. A call of another architecture (32-bit, x32) ends
 * the process.
 *
 * The first process installs the filter on itself and every program inherits it: a filter per run
 * would cost 95 us and more. Two calls that the first process needs and a program must not have
 * (clone3, sched_setaffinity) pass only with a random key in argument registers that the kernel
 * ignores. The program cannot read the key: it is in the memory of a process it may not look into.
 *
 * Left out on purpose, by class: sockets (AF_VSOCK knows no namespace; socketpair stays, Java needs
 * it), SysV and POSIX message IPC (nothing to clean between runs), locks and leases (a channel
 * between boxes over files of /usr), inotify, fanotify and cachestat (the same), extended
 * attributes (state that emptying a folder does not remove), io_uring, bpf, keys, ptrace and its
 * kin, namespaces and mounts, clocks, modules, and everything for administrators.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/rand.h"
#include "box/container.h"

/* By name: what this libseccomp or this architecture does not know is skipped. */
static const char *const allowed[] = {
    /* files */
    "read",
    "write",
    "readv",
    "writev",
    "pread64",
    "pwrite64",
    "preadv",
    "pwritev",
    "preadv2",
    "pwritev2",
    "open",
    "openat",
    "openat2",
    "creat",
    "close",
    "close_range",
    "stat",
    "fstat",
    "lstat",
    "newfstatat",
    "statx",
    "statfs",
    "fstatfs",
    "lseek",
    "access",
    "faccessat",
    "faccessat2",
    "getdents",
    "getdents64",
    "readlink",
    "readlinkat",
    "mkdir",
    "mkdirat",
    "rmdir",
    "unlink",
    "unlinkat",
    "rename",
    "renameat",
    "renameat2",
    "link",
    "linkat",
    "symlink",
    "symlinkat",
    "mknod",
    "mknodat",
    "chmod",
    "fchmod",
    "fchmodat",
    "fchmodat2",
    "chown",
    "fchown",
    "lchown",
    "fchownat",
    "umask",
    "truncate",
    "ftruncate",
    "fallocate",
    "copy_file_range",
    "sendfile",
    "splice",
    "tee",
    "vmsplice",
    "utime",
    "utimes",
    "utimensat",
    "futimesat",
    "chdir",
    "fchdir",
    "getcwd",
    "dup",
    "dup2",
    "dup3",
    "pipe",
    "pipe2",
    "fsync",
    "fdatasync",
    "sync_file_range",
    "getxattr",
    "lgetxattr",
    "fgetxattr",
    "listxattr",
    "llistxattr",
    "flistxattr",
    /* waiting */
    "poll",
    "ppoll",
    "select",
    "pselect6",
    "epoll_create",
    "epoll_create1",
    "epoll_ctl",
    "epoll_wait",
    "epoll_pwait",
    "epoll_pwait2",
    "eventfd",
    "eventfd2",
    "timerfd_create",
    "timerfd_settime",
    "timerfd_gettime",
    "signalfd",
    "signalfd4",
    "futex",
    "futex_waitv",
    "futex_wake",
    "futex_wait",
    "futex_requeue",
    "set_robust_list",
    "get_robust_list",
    "restart_syscall",
    "pause",
    /* memory */
    "mmap",
    "munmap",
    "mprotect",
    "mremap",
    "msync",
    "madvise",
    "brk",
    "mincore",
    "mlock",
    "mlock2",
    "munlock",
    "mlockall",
    "munlockall",
    "membarrier",
    "pkey_alloc",
    "pkey_free",
    "pkey_mprotect",
    "get_mempolicy",
    "rseq",
    "process_mrelease",
    /* processes and signals */
    "fork",
    "vfork",
    "execve",
    "execveat",
    "exit",
    "exit_group",
    "wait4",
    "waitid",
    "kill",
    "tkill",
    "tgkill",
    "rt_sigaction",
    "rt_sigprocmask",
    "rt_sigreturn",
    "rt_sigpending",
    "rt_sigtimedwait",
    "rt_sigsuspend",
    "rt_sigqueueinfo",
    "rt_tgsigqueueinfo",
    "sigaltstack",
    "pidfd_open",
    "pidfd_send_signal",
    "getpid",
    "getppid",
    "gettid",
    "getpgid",
    "getpgrp",
    "setpgid",
    "getsid",
    "setsid",
    "set_tid_address",
    "arch_prctl",
    "getrlimit",
    "getrusage",
    "times",
    "getpriority",
    "sched_yield",
    "sched_getaffinity",
    "sched_getparam",
    "sched_getscheduler",
    "sched_getattr",
    "sched_get_priority_max",
    "sched_get_priority_min",
    "sched_rr_get_interval",
    "ioprio_get",
    "getcpu",
    "capget",
    "capset",
    /* identity; nothing to gain without capabilities, and the child needs them to lose its own */
    "getuid",
    "geteuid",
    "getgid",
    "getegid",
    "getresuid",
    "getresgid",
    "getgroups",
    "setuid",
    "setgid",
    "setreuid",
    "setregid",
    "setresuid",
    "setresgid",
    "setgroups",
    "setfsuid",
    "setfsgid",
    "uname",
    "sysinfo",
    /* time */
    "clock_gettime",
    "clock_getres",
    "clock_nanosleep",
    "nanosleep",
    "gettimeofday",
    "time",
    "timer_create",
    "timer_settime",
    "timer_gettime",
    "timer_getoverrun",
    "timer_delete",
    "getitimer",
    "setitimer",
    "alarm",
    "getrandom",
    /* the two ends of a socketpair; sendmsg and recvmsg also carry the box's own messages */
    "sendmsg",
    "recvmsg",
    "sendto",
    "recvfrom",
    "sendmmsg",
    "recvmmsg",
    "shutdown",
    "getsockname",
    "getpeername",
    "getsockopt",
};

static const char *const refused[] = {
    "socket",
    "bind",
    "connect",
    "listen",
    "accept",
    "accept4",
    "setsockopt",
    "ptrace",
    "process_vm_readv",
    "process_vm_writev",
    "unshare",
    "setns",
    "mount",
    "umount2",
    "chroot",
    "pivot_root",
    "sched_setscheduler",
    "sched_setparam",
    "sched_setattr",
    "ioprio_set",
    "setxattr",
    "lsetxattr",
    "fsetxattr",
    "removexattr",
    "lremovexattr",
    "fremovexattr",
    "mbind",
    "set_mempolicy",
    "keyctl",
    "add_key",
    "request_key",
    "bpf",
    "perf_event_open",
    "syslog",
    "reboot",
    "swapon",
    "swapoff",
    "settimeofday",
    "clock_settime",
    "adjtimex",
};

/* Harmless wishes that would cost others: granted in words. */
static const char *const pretended[] = {"sync", "syncfs", "fadvise64", "readahead"};

static const unsigned fcntl_commands[] = {
    F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD,      F_SETFD,     F_GETFL,
    F_SETFL, F_GETOWN,        F_GETPIPE_SZ, F_ADD_SEALS, F_GET_SEALS,
};
static const unsigned fcntl_locks[] = {F_GETLK,     F_SETLK,     F_SETLKW,
                                       F_OFD_GETLK, F_OFD_SETLK, F_OFD_SETLKW};

/* What libcs and runtimes ask of terminals and pipes. No TIOCSTI, no TIOCLINUX. */
static const unsigned ioctl_commands[] = {TCGETS,  TIOCGWINSZ, FIONREAD, FIONBIO,
                                          FIOCLEX, FIONCLEX,   TIOCGPGRP};

static const unsigned prctl_options[] = {
    PR_SET_NAME,
    PR_GET_NAME,
    PR_SET_PDEATHSIG,
    PR_GET_PDEATHSIG,
    PR_SET_DUMPABLE,
    PR_GET_DUMPABLE,
    PR_CAPBSET_READ,
    PR_SET_NO_NEW_PRIVS,
    PR_GET_NO_NEW_PRIVS,
    PR_SET_TIMERSLACK,
    PR_GET_TIMERSLACK,
    PR_SET_THP_DISABLE,
    PR_GET_THP_DISABLE,
    PR_GET_SECCOMP,
    PR_SET_KEEPCAPS,
    PR_GET_KEEPCAPS,
    PR_SET_CHILD_SUBREAPER,
    PR_GET_CHILD_SUBREAPER,
    PR_CAP_AMBIENT,
    PR_GET_TID_ADDRESS,
    PR_MCE_KILL_GET,
    PR_GET_SPECULATION_CTRL,
    0x53564d41 /* PR_SET_VMA: names of mappings */,
};

/* All but RLIMIT_CORE: see rlimit.c. */
static const unsigned rlimits[] = {0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

static int add_names(scmp_filter_ctx f, const char *const *names, size_t n, uint32_t action)
{
    for (size_t i = 0; i < n; i++) {
        int nr = seccomp_syscall_resolve_name(names[i]);

        if (nr < 0)
            continue; /* unknown here: stays ENOSYS */
        int r = seccomp_rule_add(f, action, nr, 0);
        if (r < 0)
            return r;
    }
    return 0;
}

/* Commands are 32 bits wide to the kernel: the upper half of the register must not hide one. */
static int add_values(scmp_filter_ctx f, int nr, unsigned arg, const unsigned *values, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int r = seccomp_rule_add(f, SCMP_ACT_ALLOW, nr, 1,
                                 SCMP_CMP(arg, SCMP_CMP_MASKED_EQ, 0xffffffffU, values[i]));
        if (r < 0)
            return r;
    }
    return 0;
}

/* Calls that take a pid, for oneself only: where first process and program have one uid, the kernel
 * would let the program set the limits and the priority of the first process. */
static int add_self_only(scmp_filter_ctx f)
{
    const struct scmp_arg_cmp self = SCMP_A0(SCMP_CMP_MASKED_EQ, 0xffffffffU, 0);
    int r = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(prlimit64), 2, self,
                             SCMP_A2(SCMP_CMP_EQ, 0)); /* asking is free */

    for (size_t i = 0; r == 0 && i < TR_ARRAY_LEN(rlimits); i++)
        r = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(prlimit64), 2, self,
                             SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffffU, rlimits[i]));
    if (r == 0) /* PRIO_PROCESS is 0 as well */
        r = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(setpriority), 2, self,
                             SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffffU, 0));
    return r;
}

static int add_special(scmp_filter_ctx f, const uint64_t key[2])
{
    const uint64_t new_spaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |
                                CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;
    static const unsigned personalities[] = {0, 0xffffffffU, 0x0040000 /* ADDR_NO_RANDOMIZE */};
    int r = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
                             SCMP_A0(SCMP_CMP_MASKED_EQ, new_spaces, 0));

    if (r == 0)
        r = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(socketpair), 1,
                             SCMP_A0(SCMP_CMP_MASKED_EQ, 0xffffffffU, AF_UNIX));
    if (r == 0)
        r = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(clone3), 2, SCMP_A4(SCMP_CMP_EQ, key[0]),
                             SCMP_A5(SCMP_CMP_EQ, key[1]));
    if (r == 0)
        r = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(sched_setaffinity), 2,
                             SCMP_A4(SCMP_CMP_EQ, key[0]), SCMP_A5(SCMP_CMP_EQ, key[1]));
    if (r == 0)
        r = add_values(f, SCMP_SYS(setrlimit), 0, rlimits, TR_ARRAY_LEN(rlimits));
    if (r == 0)
        r = add_self_only(f);
    if (r == 0)
        r = add_values(f, SCMP_SYS(personality), 0, personalities, TR_ARRAY_LEN(personalities));
    return r;
}

static int add_rules(scmp_filter_ctx f, enum tbox_profile profile, bool no_cgroup,
                     const uint64_t key[2])
{
    int r = add_names(f, allowed, TR_ARRAY_LEN(allowed), SCMP_ACT_ALLOW);

    if (r == 0)
        r = add_names(f, refused, TR_ARRAY_LEN(refused), SCMP_ACT_ERRNO(EPERM));
    if (r == 0)
        r = add_names(f, pretended, TR_ARRAY_LEN(pretended), SCMP_ACT_ERRNO(0));
    if (r == 0)
        r = add_special(f, key);
    if (r == 0)
        r = add_values(f, SCMP_SYS(fcntl), 1, fcntl_commands, TR_ARRAY_LEN(fcntl_commands));
    if (r == 0)
        r = add_values(f, SCMP_SYS(ioctl), 1, ioctl_commands, TR_ARRAY_LEN(ioctl_commands));
    if (r == 0)
        r = add_values(f, SCMP_SYS(prctl), 0, prctl_options, TR_ARRAY_LEN(prctl_options));
    /* Files in memory that no cgroup counts and no folder bounds: 64 MiB for each descriptor. */
    if (r == 0 && !no_cgroup)
        r = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(memfd_create), 0);
    /* Build caches (go, cargo) lock their files; a compiler gets them, a program does not. */
    if (r == 0 && profile == TBOX_COMPILE)
        r = add_values(f, SCMP_SYS(fcntl), 1, fcntl_locks, TR_ARRAY_LEN(fcntl_locks));
    if (r == 0 && profile == TBOX_COMPILE)
        r = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(flock), 0);
    return r;
}

/* libseccomp 2.5 writes its program only to a descriptor. */
static int export(scmp_filter_ctx f, struct box_filter *ret, struct tr_err *err)
{
    tr_autoclose int fd = memfd_create("filter", MFD_CLOEXEC);
    struct stat st;

    if (fd < 0)
        return tr_fail(err, TR_E_IO, errno, "memfd_create");
    int r = seccomp_export_bpf(f, fd);
    if (r < 0)
        return tr_fail(err, TR_E_IO, -r, "write the seccomp filter");
    if (fstat(fd, &st) < 0)
        return tr_fail(err, TR_E_IO, errno, "fstat");
    size_t n = (size_t)st.st_size / sizeof(struct sock_filter);
    if (n == 0 || n > BPF_MAXINSNS)
        return tr_fail(err, TR_E_FATAL, 0, "seccomp filter has %zu instructions", n);
    tr_autofree void *program = malloc((size_t)st.st_size);
    if (!program)
        return tr_fail(err, TR_E_NOMEM, 0, "out of memory");
    if (pread(fd, program, (size_t)st.st_size, 0) != st.st_size)
        return tr_fail(err, TR_E_IO, errno, "read the seccomp filter");
    ret->program = TR_TAKE(program);
    ret->len = (unsigned short)n;
    return 0;
}

int box_filter_make(enum tbox_profile profile, bool no_cgroup, struct box_filter *ret,
                    struct tr_err *err)
{
    scmp_filter_ctx f = seccomp_init(SCMP_ACT_ERRNO(ENOSYS));

    if (!f)
        return tr_fail(err, TR_E_NOMEM, 0, "out of memory");
    tr_random_bytes(ret->key, sizeof(ret->key));
    int r = seccomp_attr_set(f, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
    /* A binary tree instead of a list: the kernel walks it once per call number on installing. */
    if (r == 0)
        r = seccomp_attr_set(f, SCMP_FLTATR_CTL_OPTIMIZE, 2);
    if (r == 0)
        r = add_rules(f, profile, no_cgroup, ret->key);
    if (r < 0)
        r = tr_fail(err, TR_E_IO, -r, "make the seccomp filter");
    else
        r = export(f, ret, err);
    seccomp_release(f);
    return r;
}

int box_filter_install(const struct box_filter *f, struct tr_err *err)
{
    struct sock_fprog prog = {.len = f->len, .filter = f->program};

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return tr_fail(err, TR_E_IO, errno, "no_new_privs");
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &prog) < 0)
        return tr_fail(err, TR_E_IO, errno, "install the seccomp filter");
    return 0;
}
