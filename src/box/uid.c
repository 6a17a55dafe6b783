/* SPDX-License-Identifier: MIT
 *
 * uid.c - who the first process is, who the program is, and proof that there is no way back.
 *
 * Three shapes:
 *   root, user namespace     inside 0 -> base, 1000 -> base+1: nobody inside is anybody outside
 *   root, none               0 and base+1
 *   one uid, user namespace  inside 1000 -> the caller; the first process differs from the program
 *                            by capabilities and by not being dumpable
 *
 * glibc's set*id would signal all threads; the child shares the first process's memory, so raw
 * system calls only.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fs.h"
#include "box/container.h"

enum {
    INSIDE_PROGRAM = 1000,
    PER_SLOT = 4, /* first process, program, two spare */
    /* Where the caller is itself in a user namespace with fewer ids (a container). */
    NESTED_BASE = 40000,
    NESTED_SLOTS = 5000
};

/* Above every range that systemd, shadow or a directory service hands out, below 2^31. */
#define UID_BASE 1900000000U

/* Which ids we may hand out: those mapped in our own user namespace. */
static uid_t slot_base(unsigned slot)
{
    char text[128] = "";
    tr_autoclose int fd = open("/proc/self/uid_map", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    char *at = text;

    if (n <= 0)
        return UID_BASE + slot * PER_SLOT;
    unsigned long inside = strtoul(at, &at, 10);
    (void)strtoul(at, &at, 10);
    unsigned long count = strtoul(at, &at, 10);
    if (inside == 0 && count >= UID_BASE + 1000000U)
        return UID_BASE + slot * PER_SLOT;
    if (inside == 0 && count >= 65536 && slot < NESTED_SLOTS)
        return NESTED_BASE + slot * PER_SLOT;
    return 0;
}

int box_ids_choose(const struct box_slot *slot, bool userns, struct box_ids *ret,
                   struct tr_err *err)
{
    uid_t base = geteuid() == 0 ? slot_base(slot->number) : 0;

    if (base != 0) {
        *ret = (struct box_ids){.userns = userns,
                                .two = true,
                                .host_init = userns ? base : 0,
                                .host_program = base + 1,
                                .init = 0,
                                .program = userns ? INSIDE_PROGRAM : base + 1};
        return 0;
    }
    if (!userns)
        return tr_fail(err, TR_E_DENIED, 0,
                       "without a user namespace the box needs root and free uids");
    *ret = (struct box_ids){.userns = true,
                            .two = false,
                            .host_init = geteuid(),
                            .host_program = geteuid(),
                            .init = INSIDE_PROGRAM,
                            .program = INSIDE_PROGRAM};
    return 0;
}

static int write_proc(pid_t pid, const char *file, const char *text, struct tr_err *err)
{
    char path[64];

    (void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
    tr_autoclose int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, text, strlen(text)) < 0)
        return tr_fail(err, TR_E_IO, errno, "write '%s'", path);
    return 0;
}

static int write_map(pid_t pid, const char *file, const struct box_ids *ids, bool gid,
                     struct tr_err *err)
{
    char text[128];

    if (ids->two)
        (void)snprintf(text, sizeof(text), "%u %u 1\n%u %u 1\n", ids->init, ids->host_init,
                       ids->program, ids->host_program);
    else
        (void)snprintf(text, sizeof(text), "%u %u 1\n", ids->program, gid ? getegid() : geteuid());
    return write_proc(pid, file, text, err);
}

int box_ids_write_maps(pid_t pid, const struct box_ids *ids, struct tr_err *err)
{
    int r = 0;

    if (!ids->userns)
        return 0;
    if (!ids->two) /* the kernel's price for mapping one's own gid without privilege */
        r = write_proc(pid, "setgroups", "deny", err);
    if (r == 0)
        r = write_map(pid, "uid_map", ids, false, err);
    if (r == 0)
        r = write_map(pid, "gid_map", ids, true, err);
    return r;
}

int box_ids_become_init(const struct box_ids *ids, struct tr_err *err)
{
    if (ids->two && syscall(SYS_setgroups, 0, NULL) < 0)
        return tr_fail(err, TR_E_IO, errno, "setgroups");
    if (syscall(SYS_setresgid, ids->init, ids->init, ids->init) < 0 ||
        syscall(SYS_setresuid, ids->init, ids->init, ids->init) < 0)
        return tr_fail(err, TR_E_IO, errno, "become uid %u", ids->init);
    return 0;
}

static int set_caps(uint64_t mask)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2] = {
        {.effective = (uint32_t)mask, .permitted = (uint32_t)mask},
        {.effective = (uint32_t)(mask >> 32), .permitted = (uint32_t)(mask >> 32)}};

    return (int)syscall(SYS_capset, &head, data);
}

/* CHECKPOINT_RESTORE, which sets the last pid of a namespace, where we have it. */
static uint64_t cap_for_pids(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2] = {{0}};
    const uint32_t bit = 1U << (CAP_CHECKPOINT_RESTORE - 32);

    if (syscall(SYS_capget, &head, data) < 0 || !(data[1].permitted & bit))
        return 0;
    return (uint64_t)bit << 32;
}

int box_caps_reduce(const struct box_ids *ids, struct tr_err *err)
{
    /* Files of another uid in the work folders are made, opened and removed with DAC_OVERRIDE,
     * FOWNER and CHOWN; the rest starts and ends programs (SYS_NICE: see bring_here()). */
    const uint64_t keep = 1ULL << CAP_SETUID | 1ULL << CAP_SETGID | 1ULL << CAP_KILL |
                          1ULL << CAP_DAC_OVERRIDE | 1ULL << CAP_FOWNER | 1ULL << CAP_CHOWN |
                          1ULL << CAP_SYS_NICE | cap_for_pids();
    const unsigned long bits = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE |
                               SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;

    /* uid 0 means nothing to exec from here on. Keep the setuid fix-up: it is what drops the
     * capabilities of a child that leaves uid 0. */
    if (prctl(PR_SET_SECUREBITS, bits) < 0)
        return tr_fail(err, TR_E_IO, errno, "securebits");
    for (unsigned cap = 0; prctl(PR_CAPBSET_READ, cap) >= 0; cap++) {
        if (prctl(PR_CAPBSET_DROP, cap) < 0)
            return tr_fail(err, TR_E_IO, errno, "drop capability %u", cap);
    }
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 && errno != EINVAL)
        return tr_fail(err, TR_E_IO, errno, "clear ambient capabilities");
    if (set_caps(keep) < 0)
        return tr_fail(err, TR_E_IO, errno, "reduce capabilities");
    return 0;
}

/* "uid is not 0" is checked, not assumed: another judge once ran programs as root because the tail
 * of its options was zero. */
static int verify_nobody(const struct box_ids *ids)
{
    uid_t want = ids->program;
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2];
    uid_t u[3];
    gid_t g[3];

    if (syscall(SYS_getresuid, &u[0], &u[1], &u[2]) < 0 ||
        syscall(SYS_getresgid, &g[0], &g[1], &g[2]) < 0 || syscall(SYS_capget, &head, data) < 0)
        return errno;
    for (int i = 0; i < 3; i++) {
        if (u[i] != want || g[i] != want || u[i] == 0)
            return EPERM;
    }
    /* With one uid the kernel does not let us drop the caller's groups; they are not mapped inside.
     */
    if (ids->two && syscall(SYS_getgroups, 0, NULL) != 0)
        return EPERM;
    if ((data[0].permitted | data[1].permitted | data[0].effective | data[1].effective |
         data[0].inheritable | data[1].inheritable) != 0)
        return EPERM;
    return 0;
}

int box_ids_become_program(const struct box_ids *ids)
{
    if (ids->two) { /* supplementary groups went with box_ids_become_init() */
        if (syscall(SYS_setresgid, ids->program, ids->program, ids->program) < 0 ||
            syscall(SYS_setresuid, ids->program, ids->program, ids->program) < 0)
            return errno;
    } else if (set_caps(0) < 0) {
        return errno;
    }
    return verify_nobody(ids);
}
