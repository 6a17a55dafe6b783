/* SPDX-License-Identifier: MIT
 *
 * attack_memory.c - memory of user space: more than allowed, hidden, or only promised.
 */
#include "attacker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    STEP = 1 << 20
};

/* Touches MiB after MiB with mmap(flags). Returns when it is refused. */
static void take(int flags, int advice)
{
    for (int mib = 0; mib < MANY_MIB; mib++) {
        char *p =
            mmap(NULL, STEP, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
        if (p == MAP_FAILED) {
            say("refused at %d MiB: %s", mib, strerror(errno));
            return;
        }
        memset(p, 1 + mib % 250, STEP);
        if (advice)
            madvise(p, STEP, advice);
    }
    escaped("%d MiB and nothing stopped it", (int)MANY_MIB);
}

static int hog(char **args)
{
    (void)args;
    take(0, 0);
    return 1;
}

static int hog_shared(char **args)
{
    (void)args;
    for (int mib = 0; mib < MANY_MIB; mib++) {
        char *p = mmap(NULL, STEP, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED)
            return 1;
        memset(p, 1, STEP);
    }
    escaped("%d MiB shared and nothing stopped it", (int)MANY_MIB);
    return 1;
}

/* Asks the kernel to page out what it just wrote: with swap, that would leave the limit behind. */
static int hog_pageout(char **args)
{
    (void)args;
    take(0, 21 /* MADV_PAGEOUT */);
    return 1;
}

/* Twelve children, each well below the limit. */
static int hog_children(char **args)
{
    (void)args;
    for (int i = 0; i < 12; i++)
        if (fork() == 0) {
            char *p =
                mmap(NULL, 16 * STEP, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            if (p == MAP_FAILED)
                _exit(1);
            memset(p, 1, 16 * STEP);
            sleep_forever();
        }
    int status, lost = 0;
    while (waitpid(-1, &status, WNOHANG) >= 0 && lost < 1) {
        sleep_ms(5);
        lost += WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    }
    return 0;
}

static int child_oom(char **args)
{
    (void)args;
    pid_t pid = fork();
    if (pid == 0) {
        take(0, 0);
        _exit(1);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    say("42 child %s", WIFSIGNALED(status) ? "killed" : "ended");
    return 0;
}

static int map_terabyte(char **args)
{
    (void)args;
    char *p = mmap(NULL, (size_t)1 << 40, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) {
        say("no terabyte: %s", strerror(errno));
        return 1;
    }
    p[12345] = 1;
    say("42");
    return 0;
}

/* Writes MiB after MiB to fd; says how far it came. */
static void fill(int fd, const char *what)
{
    static char buf[STEP];
    memset(buf, 'x', sizeof buf);
    signal(SIGXFSZ, SIG_IGN);
    for (long mib = 0; mib < MANY_MIB; mib++) {
        size_t done = 0;
        while (done < sizeof buf) {
            ssize_t n = write(fd, buf, sizeof buf - done);
            if (n <= 0) {
                say("%s stopped at %ld MiB: %s", what, mib, strerror(errno));
                return;
            }
            done += (size_t)n;
        }
    }
    escaped("%s took %d MiB", what, (int)MANY_MIB);
}

/* Many files, because each one ends at the file size limit. */
static int fill_folder(char **args)
{
    const char *folder = args[0] ? args[0] : "/w";
    for (int i = 0; i < 64; i++) {
        char path[256];
        snprintf(path, sizeof path, "%s/fill%d", folder, i);
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        if (fd < 0) {
            say("%s: %s", path, strerror(errno));
            break;
        }
        fill(fd, path);
        close(fd);
    }
    return 0;
}

static int fill_memfd(char **args)
{
    (void)args;
    for (int i = 0; i < 64; i++) {
        int fd = (int)syscall(SYS_memfd_create, "fill", 0);
        if (fd < 0) {
            say("memfd_create: %s", strerror(errno));
            return 0;
        }
        fill(fd, "memfd");
    }
    return 0;
}

static int fill_shmem(char **args)
{
    (void)args;
    for (int i = 0; i < 64; i++) {
        long id = syscall(SYS_shmget, 0, 64 * STEP, 01600);
        if (id < 0) {
            held("shmget: %s", strerror(errno));
            return 0;
        }
        char *p = (char *)syscall(SYS_shmat, id, NULL, 0);
        if ((long)p < 0 && (long)p > -4096)
            return 0;
        memset(p, 1, 64 * STEP);
    }
    escaped("4 GiB of System V shared memory");
    return 0;
}

static int lock_memory(char **args)
{
    (void)args;
    mlockall(MCL_CURRENT | MCL_FUTURE);
    take(MAP_LOCKED, 0);
    return 1;
}

static int huge_pages(char **args)
{
    (void)args;
    void *p = mmap(NULL, 512 * STEP, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
    if (p != MAP_FAILED) {
        memset(p, 1, 512 * STEP);
        escaped("512 MiB of huge pages");
    }
    int fd = (int)syscall(SYS_memfd_create, "huge", 4u /* MFD_HUGETLB */);
    if (fd >= 0) {
        p = mmap(NULL, 512 * STEP, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (p != MAP_FAILED) {
            memset(p, 1, 512 * STEP);
            escaped("512 MiB of huge pages by memfd");
        }
    }
    char *q = mmap(NULL, 16 * STEP, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (q != MAP_FAILED) {
        madvise(q, 16 * STEP, MADV_HUGEPAGE);
        q[0] = 1;
    }
    say("42");
    return 0;
}

static volatile char sink;

__attribute__((noinline)) static void dig(int64_t bytes)
{
    volatile char frame[4096];
    frame[0] = 1;
    if (bytes > 0)
        dig(bytes - (int64_t)sizeof frame);
    sink = frame[0]; /* not a tail call */
}

static int recurse(char **args)
{
    dig(number_arg(args, 0, (int64_t)1 << 40));
    say("42");
    return 0;
}

static int refused_malloc(char **args)
{
    (void)args;
    volatile size_t huge = (size_t)1 << 60;
    void *p = malloc(huge);
    if (p)
        return 1;
    say("42");
    return 0;
}

/* Secret memory is not charged on every kernel and cannot be reclaimed. */
static int secret_memory(char **args)
{
    (void)args;
    long fd = syscall(447 /* memfd_secret */, 0);
    if (fd < 0) {
        held("memfd_secret: %s", strerror(errno));
        return 0;
    }
    if (ftruncate((int)fd, 512 * STEP) < 0)
        return 0;
    char *p = mmap(NULL, 512 * STEP, PROT_READ | PROT_WRITE, MAP_SHARED, (int)fd, 0);
    if (p == MAP_FAILED) {
        held("map of memfd_secret: %s", strerror(errno));
        return 0;
    }
    memset(p, 1, 512 * STEP);
    escaped("512 MiB of secret memory");
    return 0;
}

/* Pages that belong to nobody after the memory is unmapped: data in a pipe by vmsplice. */
static int gift_pages(char **args)
{
    (void)args;
    long kept = 0;
    for (int i = 0; i < 400; i++) {
        int p[2];
        if (pipe(p) < 0)
            break;
        fcntl(p[1], F_SETPIPE_SZ, STEP);
        char *m = mmap(NULL, STEP, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (m == MAP_FAILED)
            break;
        memset(m, 1, STEP);
        struct {
            void *base;
            size_t len;
        } iov = {m, STEP};
        long n = syscall(SYS_vmsplice, p[1], &iov, 1, 2 /* SPLICE_F_NONBLOCK */ | 8 /* GIFT */);
        kept += n > 0 ? n : 0;
        munmap(m, STEP);
    }
    say("kept %ld MiB in pipes", kept >> 20);
    if (kept > 300l * STEP)
        escaped("%ld MiB in pipes", kept >> 20);
    return 0;
}

const struct attack attacks_memory[] = {
    {"hog", hog, "touches memory without end"},
    {"hog_shared", hog_shared, "the same, shared"},
    {"hog_pageout", hog_pageout, "pushes its pages out to swap"},
    {"hog_children", hog_children, "children that only together are too big"},
    {"child_oom", child_oom, "a child is killed for memory, the parent exits 0"},
    {"map_terabyte", map_terabyte, "maps a terabyte and touches a page"},
    {"fill_folder", fill_folder, "fills a folder that is memory"},
    {"fill_memfd", fill_memfd, "fills memfds"},
    {"fill_shmem", fill_shmem, "fills System V shared memory"},
    {"lock_memory", lock_memory, "locks memory without end"},
    {"huge_pages", huge_pages, "huge pages in three ways"},
    {"recurse", recurse, "recursion of so many bytes"},
    {"refused_malloc", refused_malloc, "goes on after a malloc that failed"},
    {"secret_memory", secret_memory, "memfd_secret"},
    {"gift_pages", gift_pages, "leaves pages in pipes"},
    {NULL, NULL, NULL},
};
