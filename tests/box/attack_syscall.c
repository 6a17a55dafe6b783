/* SPDX-License-Identifier: MIT
 *
 * attack_syscall.c - system calls that no contestant needs, foreign architectures, sockets.
 *
 * Every call is made in a child of its own, with arguments as valid as can be: a refusal by the
 * filter then looks different (EPERM, ENOSYS or death by SIGSYS) from a call that reached the
 * kernel and failed there, and a filter that kills does not hide the calls after it.
 */
#include "attacker.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/keyctl.h>
#include <linux/mount.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SYS_cachestat
#define SYS_cachestat 451
#endif

static char scratch[4096];
#define S ((long)scratch)
#define STR(s) ((long)(s))

struct call {
    const char *name;
    long nr, a[6];
};

/* io_uring first of all: it is a second system call table without a filter. */
static const struct call forbidden[] = {
    {"io_uring_setup", SYS_io_uring_setup, {8, S}},
    {"io_uring_enter", SYS_io_uring_enter, {-1}},
    {"io_uring_register", SYS_io_uring_register, {-1}},
    {"bpf", SYS_bpf, {BPF_MAP_CREATE, S, 72}},
    {"userfaultfd", SYS_userfaultfd, {1 /* UFFD_USER_MODE_ONLY */}},
    {"perf_event_open", SYS_perf_event_open, {S, 0, -1, -1, 0}},
    {"keyctl", SYS_keyctl, {KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 1}},
    {"add_key", SYS_add_key, {STR("user"), STR("x"), STR("y"), 1, KEY_SPEC_PROCESS_KEYRING}},
    {"request_key", SYS_request_key, {STR("user"), STR("x"), 0, 0}},
    {"mount", SYS_mount, {STR("none"), STR("/w"), STR("tmpfs"), 0, 0}},
    {"umount2", SYS_umount2, {STR("/w"), 2}},
    {"pivot_root", SYS_pivot_root, {STR("/"), STR("/")}},
    {"chroot", SYS_chroot, {STR("/w")}},
    {"fsopen", SYS_fsopen, {STR("tmpfs"), 0}},
    {"fspick", SYS_fspick, {AT_FDCWD, STR("/w"), 0}},
    {"fsmount", SYS_fsmount, {-1, 0, 0}},
    {"fsconfig", SYS_fsconfig, {-1, 0, 0, 0, 0}},
    {"open_tree", SYS_open_tree, {AT_FDCWD, STR("/w"), OPEN_TREE_CLONE}},
    {"move_mount", SYS_move_mount, {-1, STR(""), AT_FDCWD, STR("/w"), 4}},
    {"mount_setattr", SYS_mount_setattr, {AT_FDCWD, STR("/usr"), 0, S, 32}},
    {"unshare(NEWUSER)", SYS_unshare, {CLONE_NEWUSER}},
    {"unshare(NEWNS)", SYS_unshare, {CLONE_NEWNS}},
    {"unshare(NEWPID)", SYS_unshare, {CLONE_NEWPID}},
    {"unshare(NEWNET)", SYS_unshare, {CLONE_NEWUSER | CLONE_NEWNET}},
    {"setns", SYS_setns, {-1, CLONE_NEWNS}},
    {"clone3", SYS_clone3, {S, 64}},
    {"clone(NEWUSER)", SYS_clone, {CLONE_NEWUSER | SIGCHLD}},
    {"clone(NEWNS)", SYS_clone, {CLONE_NEWNS | SIGCHLD}},
    {"clone(NEWPID)", SYS_clone, {CLONE_NEWUSER | CLONE_NEWPID | SIGCHLD}},
    {"clone(NEWNET)", SYS_clone, {CLONE_NEWUSER | CLONE_NEWNET | SIGCHLD}},
    {"clone(NEWIPC)", SYS_clone, {CLONE_NEWUSER | CLONE_NEWIPC | SIGCHLD}},
    {"clone(NEWUTS)", SYS_clone, {CLONE_NEWUSER | CLONE_NEWUTS | SIGCHLD}},
    {"clone(NEWCGROUP)", SYS_clone, {CLONE_NEWUSER | CLONE_NEWCGROUP | SIGCHLD}},
    {"reboot", SYS_reboot, {(int)0xfee1dead, 672274793, RB_DISABLE_CAD, 0}},
    {"kexec_load", SYS_kexec_load, {0, 0, 0, 0}},
    {"kexec_file_load", SYS_kexec_file_load, {-1, -1, 0, 0, 0}},
    {"init_module", SYS_init_module, {S, 0, STR("")}},
    {"finit_module", SYS_finit_module, {-1, STR(""), 0}},
    {"delete_module", SYS_delete_module, {STR("no-such-module"), 2048}},
    {"settimeofday", SYS_settimeofday, {S, 0}},
    {"clock_settime", SYS_clock_settime, {0, S}},
    {"adjtimex", SYS_adjtimex, {S + 8}},
    {"clock_adjtime", SYS_clock_adjtime, {0, S + 8}},
    {"swapon", SYS_swapon, {STR("/w/a"), 0}},
    {"swapoff", SYS_swapoff, {STR("/w/a")}},
    {"acct", SYS_acct, {STR("/w/a")}},
    {"quotactl", SYS_quotactl, {0x80000000 + 1, STR("/dev/vda"), 0, S}},
    {"quotactl_fd", SYS_quotactl_fd, {1, 0, 0, S}},
    {"syslog", SYS_syslog, {3, S, 64}},
    {"sethostname", SYS_sethostname, {STR("evil"), 4}},
    {"setdomainname", SYS_setdomainname, {STR("evil"), 4}},
    {"iopl", SYS_iopl, {3}},
    {"ioperm", SYS_ioperm, {0x70, 2, 1}},
    {"modify_ldt", SYS_modify_ldt, {1, S, 16}},
    {"vhangup", SYS_vhangup, {0}},
    {"ptrace", SYS_ptrace, {16, 1, 0, 0}},
    {"process_vm_readv", SYS_process_vm_readv, {1, S, 1, S, 1, 0}},
    {"process_vm_writev", SYS_process_vm_writev, {1, S, 1, S, 1, 0}},
    {"process_madvise", SYS_process_madvise, {-1, S, 1, 4, 0}},
    {"kcmp", SYS_kcmp, {1, 1, 0, 0, 0}},
    {"pidfd_getfd", SYS_pidfd_getfd, {-1, 0, 0}},
    {"name_to_handle_at", SYS_name_to_handle_at, {AT_FDCWD, STR("/usr"), S, S + 512, 0}},
    {"open_by_handle_at", SYS_open_by_handle_at, {AT_FDCWD, S, 0}},
    {"fanotify_init", SYS_fanotify_init, {0x200, 0}},
    {"fanotify_mark", SYS_fanotify_mark, {-1, 1, 1, AT_FDCWD, STR("/usr")}},
    {"lookup_dcookie", SYS_lookup_dcookie, {0, S, 64}},
    {"nfsservctl", SYS_nfsservctl, {0}},
    {"uselib", SYS_uselib, {STR("/w/a")}},
    {"ustat", SYS_ustat, {0, S}},
    {"sysfs", SYS_sysfs, {3}},
    {"_sysctl", SYS__sysctl, {S}},
    {"migrate_pages", SYS_migrate_pages, {0, 0, 0, 0}},
    {"move_pages", SYS_move_pages, {1, 0, 0, 0, 0, 0}},
    {"memfd_secret", SYS_memfd_secret, {0}},
};

static const struct call *chosen;

static int make_call(char **args)
{
    (void)args;
    const long *a = chosen->a;
    /* What the call needs to be a good one. */
    memset(scratch, 0, sizeof scratch);
    if (chosen->nr == SYS_perf_event_open) {
        struct perf_event_attr p = {.type = PERF_TYPE_SOFTWARE,
                                    .size = sizeof p,
                                    .config = PERF_COUNT_SW_TASK_CLOCK,
                                    .exclude_kernel = 1};
        memcpy(scratch, &p, sizeof p);
    }
    if (chosen->nr == SYS_bpf)
        memcpy(scratch, (uint32_t[]){2, 4, 4, 1}, 16);
    if (chosen->nr == SYS_name_to_handle_at)
        memcpy(scratch, (uint32_t[]){128, 0}, 8);
    if (chosen->nr == SYS_clone3)
        memcpy(scratch + 32, (uint64_t[]){SIGCHLD}, 8);
    long r = syscall(chosen->nr, a[0], a[1], a[2], a[3], a[4], a[5]);
    if (r == 0 && (chosen->nr == SYS_clone || chosen->nr == SYS_clone3))
        _exit(0);
    must_fail(chosen->name, r);
    return 0;
}

static int forbidden_calls(char **args)
{
    for (size_t i = 0; i < sizeof forbidden / sizeof forbidden[0]; i++) {
        chosen = &forbidden[i];
        if (args[0] && strcmp(args[0], chosen->name) != 0)
            continue;
        int status = in_child(make_call, args);
        if (status < 0 || (WIFEXITED(status) && WEXITSTATUS(status) != 0))
            say("BROKEN: %s was not tried", chosen->name);
        else if (WIFSIGNALED(status))
            held("%s: killed by signal %d", chosen->name, WTERMSIG(status));
    }
    return 0;
}

/* Numbers nobody knows yet: new calls must not be open by being new. */
static int unknown_calls(char **args)
{
    (void)args;
    for (long nr = 449; nr < 560; nr++) {
        if (nr == 449 || nr == 452 || (nr >= 454 && nr <= 456) || nr == SYS_cachestat)
            continue; /* futex_waitv, fchmodat2, futex_*: of use to honest programs */
        errno = 0;
        long r = syscall(nr, -1L, -1L, -1L, -1L, -1L, -1L);
        if (r >= 0)
            escaped("system call %ld gave %ld", nr, r);
        else if (errno != ENOSYS && errno != EPERM && errno != EACCES)
            say("REACHED: system call %ld: %s", nr, strerror(errno));
    }
    return 0;
}

static int sockets(char **args)
{
    (void)args;
    static const int types[] = {SOCK_STREAM, SOCK_DGRAM, SOCK_RAW, SOCK_SEQPACKET};
    for (int family = 0; family < 46; family++)
        for (size_t t = 0; t < 4; t++) {
            char what[64];
            snprintf(what, sizeof what, "socket(%d, %d)", family, types[t]);
            int fd = socket(family, types[t], 0);
            if (fd >= 0)
                escaped("%s", what);
            else if (errno == EPERM || errno == ENOSYS || errno == EACCES || errno == EAFNOSUPPORT)
                continue;
            else
                say("REACHED: %s: %s", what, strerror(errno));
        }
    int s[2];
    /* Java needs this one. */
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, s) < 0)
        say("LACKS: socketpair(AF_UNIX): %s", strerror(errno));
    for (int family = 2; family < 46; family++)
        if (socketpair(family, SOCK_STREAM, 0, s) == 0)
            escaped("socketpair(%d)", family);
    return 0;
}

/* A connected pair must not become a door: no bind, no connect, no abstract names. */
static int pair_as_socket(char **args)
{
    (void)args;
    int s[2];
    if (socketpair(AF_UNIX, SOCK_DGRAM, 0, s) < 0)
        return 0;
    struct {
        sa_family_t family;
        char name[108];
    } addr = {AF_UNIX, "\0tribunal-mark"};
    must_not_work("bind to an abstract name", bind(s[0], (struct sockaddr *)&addr, 16));
    must_not_work("connect to an abstract name", connect(s[0], (struct sockaddr *)&addr, 16));
    memcpy(addr.name, "/w/door", 8);
    must_not_work("bind to a path", bind(s[0], (struct sockaddr *)&addr, sizeof addr));
    return 0;
}

static int foreign_int80(char **args)
{
    (void)args;
    long r;
    __asm__ volatile("int $0x80" : "=a"(r) : "a"(20l /* getpid of i386 */) : "memory", "r8", "r9");
    if ((int)r == getpid() || r > 0)
        escaped("int 0x80 works: getpid gave %ld", r);
    else
        held("int 0x80: %ld", r);
    return 0;
}

static int foreign_x32(char **args)
{
    (void)args;
    long r = syscall(0x40000000 + SYS_getpid);
    if (r >= 0)
        escaped("x32 getpid gave %ld", r);
    else
        held("x32: %s", strerror(errno));
    r = syscall(0x40000000 + SYS_socket, AF_INET, SOCK_STREAM, 0);
    if (r >= 0)
        escaped("x32 socket gave %ld", r);
    return 0;
}

/* 32-bit code proper: a far return into the compatibility segment. */
static int foreign_far(char **args)
{
    (void)args;
    unsigned char *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    if (code == MAP_FAILED)
        return 0;
    /* mov eax, 1 (exit of i386); mov ebx, 77; int 0x80; then a fault */
    static const unsigned char program[] = {0xb8, 1, 0, 0,    0,    0xbb, 77,
                                            0,    0, 0, 0xcd, 0x80, 0x0f, 0x0b};
    memcpy(code, program, sizeof program);
    __asm__ volatile("pushq $0x23\n\tpushq %0\n\tlretq"
                     :
                     : "r"((uint64_t)(uintptr_t)code)
                     : "memory");
    return 0;
}

static int vsyscall_page(char **args)
{
    (void)args;
    long (*volatile old_time)(long *) = (long (*)(long *))0xffffffffff600400ul;
    old_time(NULL);
    return 0;
}

static int foreign_calls(char **args)
{
    int status = in_child(foreign_int80, args);
    if (WIFSIGNALED(status))
        held("int 0x80: killed by signal %d", WTERMSIG(status));
    status = in_child(foreign_x32, args);
    if (WIFSIGNALED(status))
        held("x32: killed by signal %d", WTERMSIG(status));
    status = in_child(foreign_far, args);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        escaped("32-bit code made a system call");
    in_child(vsyscall_page, args);
    return 0;
}

const struct attack attacks_syscall[] = {
    {"forbidden_calls", forbidden_calls, "calls that no contestant needs"},
    {"unknown_calls", unknown_calls, "calls newer than the filter"},
    {"sockets", sockets, "sockets of every family"},
    {"pair_as_socket", pair_as_socket, "bind and connect of a socketpair"},
    {"foreign_calls", foreign_calls, "int 0x80, x32, 32-bit code, vsyscall"},
    {NULL, NULL, NULL},
};
