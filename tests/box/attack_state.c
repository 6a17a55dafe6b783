/* SPDX-License-Identifier: MIT
 *
 * attack_state.c - what a program may leave for the next test, so that the second run knows what
 * the first one saw. The honest program looks for all of it.
 */
#include "attacker.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <mqueue.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

static int leave_files(char **args)
{
    (void)args;
    static const char *const folders[] = {
        "/w",    "/tmp",        "/dev/shm", "/var/tmp", "/run", "/dev",
        "/etc",  "/usr",        "/proc",    "/",        "/var", "/home",
        "/root", "/dev/mqueue", "/usr/lib", "/usr/tmp", "/opt"};
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        char path[128];
        snprintf(path, sizeof path, "%s/.tribunal-mark", folders[i]);
        int fd = open(path, O_WRONLY | O_CREAT, 0666);
        if (fd >= 0) {
            say("left %s", path);
            close(fd);
        }
    }
    const char *home = getenv("HOME");
    if (home && chdir(home) == 0)
        close(open(".profile", O_WRONLY | O_CREAT, 0666));
    return 0;
}

/* Marks on the folders themselves, which emptying them does not remove. */
static int leave_marks(char **args)
{
    (void)args;
    static const char *const folders[] = {"/w", "/tmp", "/dev/shm"};
    static const struct timespec old[2] = {{.tv_sec = 1234567}, {.tv_sec = 7654321}};
    static const unsigned char acl[] = {2,   0,   0, 0, 1,   0,   7,   0,   255, 255,
                                        255, 255, 4, 0, 7,   0,   255, 255, 255, 255,
                                        32,  0,   7, 0, 255, 255, 255, 255};
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        if (setxattr(folders[i], "user.mark", "seen", 4, 0) == 0)
            say("attribute on %s", folders[i]);
        if (setxattr(folders[i], "system.posix_acl_default", acl, sizeof acl, 0) == 0)
            say("default ACL on %s", folders[i]);
        if (chmod(folders[i], 01707) == 0)
            say("mode of %s", folders[i]);
        if (utimensat(AT_FDCWD, folders[i], old, 0) == 0)
            say("times of %s", folders[i]);
    }
    umask(0);
    setpriority(PRIO_PROCESS, 0, 5);
    return 0;
}

/* An unlinked file that a daemon holds: invisible, and the space is gone until it is dead. */
static int hold_deleted(char **args)
{
    (void)args;
    static char buf[1 << 20];
    signal(SIGXFSZ, SIG_IGN);
    for (int i = 0; i < 16; i++) {
        int fd = open("gone", O_RDWR | O_CREAT, 0600);
        unlink("gone");
        if (fd < 0 || write(fd, buf, sizeof buf) < 0)
            break;
    }
    if (fork() == 0) {
        setsid();
        sleep_forever();
    }
    return 0;
}

static int leave_ipc(char **args)
{
    (void)args;
    int id = shmget(0x7472, 4096, IPC_CREAT | 0666);
    say("shmget %s", id < 0 ? strerror(errno) : "made");
    if (id >= 0)
        shmat(id, NULL, 0);
    say("semget %s", semget(0x7472, 1, IPC_CREAT | 0666) < 0 ? strerror(errno) : "made");
    struct {
        long type;
        char text[8];
    } m = {1, "mark"};
    id = msgget(0x7472, IPC_CREAT | 0666);
    say("msgget %s", id < 0 ? strerror(errno) : "made");
    if (id >= 0)
        msgsnd(id, &m, sizeof m.text, IPC_NOWAIT);
    long q = syscall(SYS_mq_open, "tribunal-mark", O_RDWR | O_CREAT, 0666, NULL);
    say("mq_open %s", q < 0 ? strerror(errno) : "made");
    if (q >= 0)
        syscall(SYS_mq_timedsend, q, "mark", 4, 0, NULL);
    for (int ring = -5; ring < 0; ring++)
        if (syscall(SYS_add_key, "user", "tribunal-mark", "seen", 4, ring) >= 0)
            say("key in keyring %d", ring);
    syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, "tribunal-mark");
    return 0;
}

/* Locks and leases on files that every box shares: one box can signal another by them. */
static int lock_shared_files(char **args)
{
    (void)args;
    static const char *const files[] = {"/usr/bin/env",      "/bin/sh",   "/usr",
                                        "/proc/self/ns/uts", "/dev/null", "/proc/self/exe"};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        int fd = open(files[i], O_RDONLY);
        if (fd < 0)
            continue;
        char what[64];
        snprintf(what, sizeof what, "flock of %s", files[i]);
        must_not_work(what, flock(fd, LOCK_EX | LOCK_NB));
        struct flock l = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_len = 1};
        snprintf(what, sizeof what, "record lock of %s", files[i]);
        must_not_work(what, fcntl(fd, F_SETLK, &l));
        snprintf(what, sizeof what, "open file lock of %s", files[i]);
        must_not_work(what, fcntl(fd, F_OFD_SETLK, &l));
        snprintf(what, sizeof what, "lease of %s", files[i]);
        must_not_work(what, fcntl(fd, F_SETLEASE, F_RDLCK));
        close(fd);
    }
    return 0;
}

const struct attack attacks_state[] = {
    {"leave_files", leave_files, "files wherever it may write"},
    {"leave_marks", leave_marks, "attributes, modes and times of the folders"},
    {"hold_deleted", hold_deleted, "space of deleted files held by a daemon"},
    {"leave_ipc", leave_ipc, "System V, POSIX queues, keys"},
    {"lock_shared_files", lock_shared_files, "locks on files that all boxes share"},
    {NULL, NULL, NULL},
};
