/* SPDX-License-Identifier: MIT
 *
 * worker_nursery.c - the process that forks the children, and what a child does.
 *
 * The nursery is forked from the worker before that has any connection, and never opens one: so
 * every child, also one that replaces a dead one hours later, starts without somebody else's
 * sockets and without SQLite's memory of somebody else's locks. It does nothing but fork, kill and
 * report deaths. When the worker dies it kills all children; when it dies itself the kernel does.
 */
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "queue/worker.h"

enum ask {
    ASK_SPAWN = 1,
    ASK_KILL,
    ASK_END
};
struct request {
    int ask, index;
    pid_t pid;
};

enum {
    END_WAIT_MS = 2000 /* children that have nothing to do leave by themselves, within this */
};

/* ---------------------------------------------------------------- a child */

static bool read_all(int fd, void *to, size_t len)
{
    for (size_t got = 0; got < len;) {
        ssize_t n = recv(fd, (char *)to + got, len - got, 0);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        got += (size_t)n;
    }
    return true;
}

static bool send_all(int fd, const void *from, size_t len, int flags)
{
    for (size_t done = 0; done < len;) {
        ssize_t n = send(fd, (const char *)from + done, len - done, flags | MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        done += (size_t)n;
    }
    return true;
}

static bool reply(int fd, const struct tq_run *r)
{
    struct {
        struct tqw_frame frame;
        struct tqw_done done;
    } head;

    memset(&head, 0, sizeof(head));
    head.frame = (struct tqw_frame){.type = FRAME_DONE, .len = sizeof(head.done) + r->len};
    head.done.delay_us = r->delay_us;
    head.done.end = r->end;
    head.done.touched = r->touched;
    head.done.left_open = r->left_open;
    head.done.foreign = r->foreign;
    return send_all(fd, &head, sizeof(head), r->len ? MSG_MORE : 0) &&
           send_all(fd, r->data, r->len, 0);
}

/* One job from the socket, run, answered. False: the worker is gone, or said something odd. */
static bool work_once(struct tqw_exec *e)
{
    struct tqw_frame f;
    struct tq_job job;

    do {
        if (!read_all(e->stop_fd, &f, sizeof(f)))
            return false;
    } while (f.type == FRAME_STOP); /* meant for the run before */
    tr_autofree char *bytes = malloc(f.len + 1);
    if (f.type != FRAME_JOB || !bytes || !read_all(e->stop_fd, bytes, f.len) ||
        !tqw_unwire_job(bytes, f.len, &job))
        return false;
    struct tq_run r = {.w = e->w, .job = &job, .exec = e};
    tqw_execute(e, &r);
    (void)fflush(stdout); /* the child leaves by _exit */
    bool ok = reply(e->stop_fd, &r);
    free(r.data);
    return ok;
}

static bool child_prepared(struct tqw_exec *e)
{
    struct tr_err err = TR_ERR_INIT;

    while (tqw_exec_begin(e, &err) < 0) {
        struct pollfd p = {.fd = e->stop_fd, .events = 0};

        tqw_trace_error(e->w, &err);
        if (poll(&p, 1, 1000) > 0)
            return false; /* hung up */
    }
    return true;
}

static void child_main(tq_worker *w, int index, int sock)
{
    struct tqw_exec e = {.w = w, .index = index, .stop_fd = sock, .sock = -1};

    if (w->o.process_memory) {
        struct rlimit lim = {w->o.process_memory, w->o.process_memory};
        (void)setrlimit(RLIMIT_DATA, &lim);
    }
    if (child_prepared(&e))
        for (int n = 0; n < w->o.runs_per_process && work_once(&e); n++)
            ;
    tqw_exec_end(&e);
    (void)fflush(stdout);
    _exit(0);
}

/* ---------------------------------------------------------------- the nursery */

struct nursery {
    tq_worker *w;
    int sock, signals;
    pid_t *pids; /* by index; 0: none */
    int alive;
};

static void report(const struct nursery *n, const struct tqw_news *news, int fd)
{
    struct tqw_news copy = *news;
    struct iovec iov = {.iov_base = &copy, .iov_len = sizeof(copy)};
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};

    memset(&control, 0, sizeof(control));
    if (fd >= 0) {
        m.msg_control = &control;
        m.msg_controllen = sizeof(control.bytes);
        struct cmsghdr *c = CMSG_FIRSTHDR(&m);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(c), &fd, sizeof(int));
    }
    (void)sendmsg(n->sock, &m, MSG_NOSIGNAL);
}

static void in_child(const struct nursery *n, int index, int sock, pid_t parent)
{
    sigset_t none;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(0);
    (void)sigemptyset(&none);
    (void)pthread_sigmask(SIG_SETMASK, &none, NULL);
    (void)close(n->sock);
    (void)close(n->signals);
    child_main(n->w, index, sock);
}

static void spawn(struct nursery *n, int index)
{
    struct tqw_news news = {.type = NEWS_BORN, .index = index};
    pid_t self = getpid();
    int sv[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv) < 0) {
        news.type = NEWS_DIED;
        report(n, &news, -1);
        return;
    }
    news.pid = fork();
    if (news.pid == 0) {
        (void)close(sv[0]);
        in_child(n, index, sv[1], self);
    }
    (void)close(sv[1]);
    if (news.pid < 0) {
        news.type = NEWS_DIED;
        news.pid = 0;
    } else {
        n->pids[index] = news.pid;
        n->alive++;
    }
    report(n, &news, news.type == NEWS_BORN ? sv[0] : -1);
    (void)close(sv[0]);
}

static void reap(struct nursery *n)
{
    struct signalfd_siginfo info[8];
    struct tqw_news news = {.type = NEWS_DIED};

    (void)!read(n->signals, info, sizeof(info));
    while ((news.pid = waitpid(-1, &news.status, WNOHANG)) > 0)
        for (int i = 0; i < n->w->o.concurrency; i++)
            if (n->pids[i] == news.pid) {
                n->pids[i] = 0;
                n->alive--;
                news.index = i;
                report(n, &news, -1);
            }
}

static void kill_all(const struct nursery *n)
{
    for (int i = 0; i < n->w->o.concurrency; i++)
        if (n->pids[i])
            (void)kill(n->pids[i], SIGKILL);
}

static void wait_for_all(struct nursery *n)
{
    int64_t until = tr_clock_mono_us() + END_WAIT_MS * (int64_t)1000;

    for (int64_t left; n->alive > 0 && (left = until - tr_clock_mono_us()) > 0;) {
        struct pollfd p = {.fd = n->signals, .events = POLLIN};
        if (poll(&p, 1, (int)(left / 1000) + 1) > 0)
            reap(n);
    }
}

static bool obey(struct nursery *n)
{
    struct request q;
    ssize_t got = recv(n->sock, &q, sizeof(q), 0);

    if (got < 0 && errno == EINTR)
        return true;
    if (got != (ssize_t)sizeof(q))
        return false; /* the worker is dead: nobody renews those leases */
    if (q.ask == ASK_SPAWN && !n->pids[q.index])
        spawn(n, q.index);
    else if (q.ask == ASK_KILL && n->pids[q.index] == q.pid)
        (void)kill(q.pid, SIGKILL);
    else if (q.ask == ASK_END)
        wait_for_all(n);
    return q.ask != ASK_END;
}

static void nursery_main(tq_worker *w, int sock)
{
    struct nursery n = {.w = w, .sock = sock};
    struct sigaction standard = {.sa_handler = SIG_DFL};
    sigset_t set;

    (void)setsid(); /* a terminal's ^C is for the worker, which then decides */
    for (int s = 1; s < NSIG; s++)
        (void)sigaction(s, &standard, NULL);
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGCHLD);
    (void)pthread_sigmask(SIG_SETMASK, &set, NULL);
    n.signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    n.pids = calloc((size_t)w->o.concurrency, sizeof(*n.pids));
    while (n.pids && n.signals >= 0) {
        struct pollfd p[2] = {{.fd = n.sock, .events = POLLIN},
                              {.fd = n.signals, .events = POLLIN}};

        if (poll(p, 2, -1) < 0 && errno != EINTR)
            break;
        if (p[1].revents)
            reap(&n);
        if (p[0].revents && !obey(&n))
            break;
    }
    if (n.pids)
        kill_all(&n);
    _exit(0);
}

/* ---------------------------------------------------------------- in the worker */

int tqw_nursery_start(tq_worker *w, struct tr_err *err)
{
    struct epoll_event ev = {.events = EPOLLIN, .data.fd = -2};
    int sv[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv) < 0)
        return tr_fail(err, TR_E_IO, errno, "socketpair");
    (void)fflush(NULL); /* what is buffered is printed once */
    w->nursery_pid = fork();
    if (w->nursery_pid == 0) {
        (void)close(sv[0]);
        (void)close(w->epoll_fd);
        (void)close(w->wake_fd);
        nursery_main(w, sv[1]);
    }
    (void)close(sv[1]);
    w->nursery_fd = sv[0];
    if (w->nursery_pid < 0)
        return tr_fail(err, TR_E_IO, errno, "fork");
    if (epoll_ctl(w->epoll_fd, EPOLL_CTL_ADD, w->nursery_fd, &ev) < 0)
        return tr_fail(err, TR_E_IO, errno, "epoll");
    return 0;
}

void tqw_nursery_news(tq_worker *w, struct tqw_news *ret)
{
    struct iovec iov = {.iov_base = ret, .iov_len = sizeof(*ret)};
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    struct msghdr m = {.msg_iov = &iov,
                       .msg_iovlen = 1,
                       .msg_control = &control,
                       .msg_controllen = sizeof(control.bytes)};

    *ret = (struct tqw_news){.type = NEWS_NONE, .fd = -1};
    if (w->nursery_fd < 0)
        return;
    ssize_t n = recvmsg(w->nursery_fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    ret->fd = -1;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n != (ssize_t)sizeof(*ret)) {
        *ret = (struct tqw_news){.type = NEWS_LOST, .fd = -1};
        return;
    }
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    if (c && c->cmsg_type == SCM_RIGHTS)
        memcpy(&ret->fd, CMSG_DATA(c), sizeof(int));
}

static bool ask(const tq_worker *w, struct request q)
{
    return w->nursery_fd >= 0 &&
           send(w->nursery_fd, &q, sizeof(q), MSG_NOSIGNAL) == (ssize_t)sizeof(q);
}

bool tqw_nursery_ask(tq_worker *w, int index)
{
    return ask(w, (struct request){.ask = ASK_SPAWN, .index = index});
}

void tqw_nursery_kill(tq_worker *w, int index, pid_t pid)
{
    (void)ask(w, (struct request){.ask = ASK_KILL, .index = index, .pid = pid});
}

void tqw_nursery_end(tq_worker *w)
{
    if (w->nursery_pid <= 0)
        return;
    (void)ask(w, (struct request){.ask = ASK_END});
    while (waitpid(w->nursery_pid, NULL, 0) < 0 && errno == EINTR)
        ;
    w->nursery_pid = 0;
    tr_close(&w->nursery_fd);
}
