/* SPDX-License-Identifier: MIT
 *
 * attack_kmem.c - memory of the kernel: objects that are small to ask for and large to keep.
 *
 * Each attack takes objects until it is refused or reaches its ceiling. The box has to refuse, or
 * to charge them to the program; the row looks at the cause and at the memory of the machine.
 */
#include "attacker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    MANY_OBJECTS = 100000
};

static int filled_pipe(void)
{
    static char page[4096];
    int p[2];
    if (pipe2(p, O_NONBLOCK) < 0)
        return -1;
    fcntl(p[1], F_SETPIPE_SZ, 1 << 20);
    while (write(p[1], page, sizeof page) > 0)
        ;
    return p[0];
}

static int filled_socketpair(void)
{
    static char page[4096];
    int s[2];
    if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, s) < 0)
        return -1;
    while (send(s[0], page, sizeof page, MSG_DONTWAIT) > 0)
        ;
    return s[0];
}

static int an_eventfd(void)
{
    return eventfd(0, 0);
}

static int an_epoll(void)
{
    int ep = epoll_create1(0);
    struct epoll_event ev = {.events = EPOLLIN};
    if (ep >= 0)
        for (int fd = 0; fd < 64; fd++)
            epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev);
    return ep;
}

static int an_inotify(void)
{
    int fd = inotify_init1(0);
    if (fd >= 0)
        inotify_add_watch(fd, "/w", IN_ALL_EVENTS);
    return fd;
}

static int a_signalfd(void)
{
    sigset_t s;
    sigfillset(&s);
    return signalfd(-1, &s, 0);
}

static int a_timer(void)
{
    struct sigevent ev = {.sigev_notify = SIGEV_NONE};
    timer_t t;
    return timer_create(CLOCK_MONOTONIC, &ev, &t);
}

static int a_message_queue(void)
{
    static struct {
        long type;
        char text[8192];
    } m = {1, ""};
    int q = msgget(IPC_PRIVATE, 0600);
    if (q >= 0)
        while (msgsnd(q, &m, sizeof m.text, IPC_NOWAIT) == 0)
            ;
    return q;
}

static int a_posix_queue(void)
{
    static int n;
    char name[32];
    snprintf(name, sizeof name, "q%d", n++);
    return (int)syscall(SYS_mq_open, name, O_RDWR | O_CREAT, 0600, NULL);
}

/* Every page of its own mapping: one vma each, because neighbours differ in protection. */
static int a_mapping(void)
{
    static int n;
    void *p = mmap(NULL, 4096, n++ % 2 ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? -1 : 0;
}

/* One zero page per 2 MiB: a page table for each, and hardly any memory of our own. */
static int a_page_table(void)
{
    static const volatile char *base;
    static size_t at;
    if (!base) {
        void *p = mmap(NULL, (size_t)1 << 40, PROT_READ,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p == MAP_FAILED)
            return -1;
        base = p;
        madvise(p, (size_t)1 << 40, MADV_NOHUGEPAGE);
    }
    (void)base[at];
    at += (size_t)2 << 20;
    return 0;
}

/* Names that do not exist are remembered by the kernel too. */
static int a_dentry(void)
{
    static unsigned n;
    char name[256];
    struct stat st;
    snprintf(name, sizeof name, "/w/%0200u", n++);
    stat(name, &st);
    return 0;
}

/* Descriptors in flight: closed here, alive in the socket, and nested. */
static int a_descriptor_in_flight(void)
{
    int s[2];
    if (socketpair(AF_UNIX, SOCK_DGRAM, 0, s) < 0)
        return -1;
    char c = 0;
    union {
        struct cmsghdr head;
        char space[CMSG_SPACE(sizeof(int))];
    } u = {0};
    struct iovec iov = {&c, 1};
    struct msghdr m = {
        .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &u, .msg_controllen = sizeof u.space};
    u.head.cmsg_level = SOL_SOCKET;
    u.head.cmsg_type = SCM_RIGHTS;
    u.head.cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(&u.head), &s[1], sizeof(int));
    ssize_t r = sendmsg(s[0], &m, MSG_DONTWAIT);
    int e = errno;
    close(s[0]);
    close(s[1]);
    errno = e;
    return r < 0 ? -1 : 0;
}

static const struct {
    const char *name;
    int (*take)(void);
} kinds[] = {
    {"pipe", filled_pipe},
    {"socketpair", filled_socketpair},
    {"eventfd", an_eventfd},
    {"epoll", an_epoll},
    {"inotify", an_inotify},
    {"signalfd", a_signalfd},
    {"timer", a_timer},
    {"msgqueue", a_message_queue},
    {"mqueue", a_posix_queue},
    {"mapping", a_mapping},
    {"pagetable", a_page_table},
    {"dentry", a_dentry},
    {"fd_in_flight", a_descriptor_in_flight},
};

static int kernel_objects(char **args)
{
    if (!args[0])
        return 2;
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        if (strcmp(kinds[k].name, args[0]) != 0)
            continue;
        int n = 0;
        while (n < MANY_OBJECTS && kinds[k].take() >= 0)
            n++;
        say("%s: %d, then %s", args[0], n, n < MANY_OBJECTS ? strerror(errno) : "enough");
        return 0;
    }
    return 2;
}

const struct attack attacks_kmem[] = {
    {"kernel_objects", kernel_objects, "takes kernel objects of one kind without end"},
    {NULL, NULL, NULL},
};
