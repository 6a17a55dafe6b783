/* SPDX-License-Identifier: MIT
 *
 * seccomp.c - the filter that knows which system calls exist inside. Their lists: syscalls.c.
 *
 * An allow-list: what a later kernel adds is not there until somebody thought about it. Unknown
 * calls give ENOSYS, which runtimes take for an older kernel; a few known ones give EPERM, since
 * their callers can say something sensible then. A call of another architecture (32-bit, x32) ends
 * the process.
 *
 * The first process installs the filter on itself and every program inherits it: a filter per run
 * would cost 95 us and more. Three calls that the first process needs and a program must not have
 * (clone3, sched_setaffinity, sched_setscheduler) pass only with a random key in argument registers
 * that the kernel ignores. The program cannot read the key: it is in the memory of a process it may
 * not look into.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/rand.h"
#include "box/container.h"
#include "box/syscalls.h"

static int add_names(scmp_filter_ctx f, const struct box_call_names *calls, uint32_t action)
{
    for (size_t i = 0; i < calls->n; i++) {
        int nr = seccomp_syscall_resolve_name(calls->names[i]);

        if (nr < 0)
            continue; /* unknown here: stays ENOSYS */
        int r = seccomp_rule_add(f, action, nr, 0);
        if (r < 0)
            return r;
    }
    return 0;
}

/* Commands are 32 bits wide to the kernel: the upper half of the register must not hide one. */
static int add_values(scmp_filter_ctx f, int nr, unsigned arg, const struct box_call_values *with)
{
    for (size_t i = 0; i < with->n; i++) {
        int r = seccomp_rule_add(f, SCMP_ACT_ALLOW, nr, 1,
                                 SCMP_CMP(arg, SCMP_CMP_MASKED_EQ, 0xffffffffU, with->values[i]));
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

    for (size_t i = 0; r == 0 && i < box_own_rlimits.n; i++)
        r = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(prlimit64), 2, self,
                             SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffffU, box_own_rlimits.values[i]));
    if (r == 0) /* PRIO_PROCESS is 0 as well */
        r = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(setpriority), 2, self,
                             SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffffU, 0));
    return r;
}

/* For who has the key; to others there is no such call. */
static int add_keyed(scmp_filter_ctx f, int nr, const uint64_t key[2])
{
    return seccomp_rule_add(f, SCMP_ACT_ALLOW, nr, 2, SCMP_A4(SCMP_CMP_EQ, key[0]),
                            SCMP_A5(SCMP_CMP_EQ, key[1]));
}

static int add_special(scmp_filter_ctx f, const uint64_t key[2])
{
    const uint64_t new_spaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |
                                CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;
    static const unsigned numbers[] = {0, 0xffffffffU, 0x0040000 /* ADDR_NO_RANDOMIZE */};
    const struct box_call_values personalities = {numbers, TR_ARRAY_LEN(numbers)};
    int r = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
                             SCMP_A0(SCMP_CMP_MASKED_EQ, new_spaces, 0));

    if (r == 0)
        r = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(socketpair), 1,
                             SCMP_A0(SCMP_CMP_MASKED_EQ, 0xffffffffU, AF_UNIX));
    if (r == 0)
        r = add_keyed(f, SCMP_SYS(clone3), key);
    if (r == 0)
        r = add_keyed(f, SCMP_SYS(sched_setaffinity), key);
    if (r == 0)
        r = add_keyed(f, SCMP_SYS(sched_setscheduler), key);
    if (r == 0)
        r = add_values(f, SCMP_SYS(setrlimit), 0, &box_own_rlimits);
    if (r == 0)
        r = add_self_only(f);
    if (r == 0)
        r = add_values(f, SCMP_SYS(personality), 0, &personalities);
    return r;
}

static int add_rules(scmp_filter_ctx f, enum tbox_profile profile, bool no_cgroup,
                     const uint64_t key[2])
{
    int r = add_names(f, &box_calls_allowed, SCMP_ACT_ALLOW);

    if (r == 0)
        r = add_names(f, &box_calls_refused, SCMP_ACT_ERRNO(EPERM));
    if (r == 0)
        r = add_names(f, &box_calls_pretended, SCMP_ACT_ERRNO(0));
    if (r == 0)
        r = add_special(f, key);
    if (r == 0)
        r = add_values(f, SCMP_SYS(fcntl), 1, &box_fcntl_commands);
    if (r == 0)
        r = add_values(f, SCMP_SYS(ioctl), 1, &box_ioctl_commands);
    if (r == 0)
        r = add_values(f, SCMP_SYS(prctl), 0, &box_prctl_options);
    /* Files in memory that no cgroup counts and no folder bounds: 64 MiB for each descriptor. */
    if (r == 0 && !no_cgroup)
        r = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(memfd_create), 0);
    /* Build caches (go, cargo) lock their files; a compiler gets them, a program does not. */
    if (r == 0 && profile == TBOX_COMPILE)
        r = add_values(f, SCMP_SYS(fcntl), 1, &box_fcntl_locks);
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
