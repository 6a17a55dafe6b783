/* SPDX-License-Identifier: MIT
 *
 * spawn.c - posix_spawn with an explicit fd map.
 *
 * posix_spawn (vfork inside) and not fork: a supervisor with much memory would pay a millisecond
 * for its page tables.
 */
#include "base/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"

struct plan {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    int above[TR_SPAWN_FD_MAX]; /* copies of the sources, above every target */
    size_t nabove;
};

static void plan_done(struct plan *p)
{
    for (size_t i = 0; i < p->nabove; i++)
        tr_close(&p->above[i]);
    (void)posix_spawn_file_actions_destroy(&p->actions);
    (void)posix_spawnattr_destroy(&p->attr);
}

/* Sources are first copied above all targets, so that no dup2 overwrites a source still needed. */
static int plan_fds(struct plan *p, const struct tr_spawn *what, struct tr_err *err)
{
    bool used[TR_SPAWN_FD_MAX] = {false};

    for (size_t i = 0; i < what->nfds; i++) {
        int to = what->fds[i].to;

        if (to < 0 || to >= TR_SPAWN_FD_MAX || used[to])
            return tr_fail(err, TR_E_USAGE, 0, "bad or repeated target descriptor %d", to);
        used[to] = true;
        int copy = fcntl(what->fds[i].from, F_DUPFD_CLOEXEC, TR_SPAWN_FD_MAX);
        if (copy < 0)
            return tr_fail(err, TR_E_IO, errno, "copy descriptor %d", what->fds[i].from);
        p->above[p->nabove++] = copy;
        if (posix_spawn_file_actions_adddup2(&p->actions, copy, to) != 0)
            return tr_fail(err, TR_E_NOMEM, 0, "out of memory");
    }
    for (int fd = 0; fd < TR_SPAWN_FD_MAX; fd++) {
        if (!used[fd] && posix_spawn_file_actions_addclose(&p->actions, fd) != 0)
            return tr_fail(err, TR_E_NOMEM, 0, "out of memory");
    }
    if (posix_spawn_file_actions_addclosefrom_np(&p->actions, TR_SPAWN_FD_MAX) != 0)
        return tr_fail(err, TR_E_NOMEM, 0, "out of memory");
    return 0;
}

static int plan_init(struct plan *p, const struct tr_spawn *what, struct tr_err *err)
{
    sigset_t none;
    sigset_t all;
    short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;

    p->nabove = 0;
    (void)posix_spawn_file_actions_init(&p->actions); /* neither fails in glibc */
    (void)posix_spawnattr_init(&p->attr);
    (void)sigemptyset(&none);
    (void)sigfillset(&all);
    if (what->new_session)
        flags = (short)(flags | POSIX_SPAWN_SETSID);
    if (posix_spawnattr_setflags(&p->attr, flags) != 0 ||
        posix_spawnattr_setsigmask(&p->attr, &none) != 0 ||
        posix_spawnattr_setsigdefault(&p->attr, &all) != 0)
        return tr_fail(err, TR_E_FATAL, 0, "posix_spawn attributes refused");
    if (what->cwd != AT_FDCWD && posix_spawn_file_actions_addfchdir_np(&p->actions, what->cwd) != 0)
        return tr_fail(err, TR_E_NOMEM, 0, "out of memory");
    return plan_fds(p, what, err);
}

static int spawn_code(int sys)
{
    if (sys == ENOENT || sys == ENOTDIR)
        return TR_E_NOTFOUND;
    return sys == EACCES || sys == EPERM ? TR_E_DENIED : TR_E_IO;
}

int tr_spawn(const struct tr_spawn *what, pid_t *ret_pid, int *ret_pidfd, struct tr_err *err)
{
    TR_CLEANUP(plan_done) struct plan p;
    char *const *envp = what->envp ? what->envp : environ;
    const char *file = what->path ? what->path : what->argv[0];
    pid_t pid = -1;

    int r = plan_init(&p, what, err);
    if (r < 0)
        return r;
    int sys = what->path ? posix_spawn(&pid, what->path, &p.actions, &p.attr, what->argv, envp)
                         : posix_spawnp(&pid, what->argv[0], &p.actions, &p.attr, what->argv, envp);
    if (sys != 0)
        return tr_fail(err, spawn_code(sys), sys, "start '%s'", file);
    if (ret_pidfd) {
        int pidfd = (int)syscall(SYS_pidfd_open, pid, 0U);

        if (pidfd < 0) {
            sys = errno;
            (void)kill(pid, SIGKILL); /* ours and not reaped: the number cannot be reused */
            (void)waitpid(pid, NULL, 0);
            return tr_fail(err, TR_E_IO, sys, "pidfd_open");
        }
        *ret_pidfd = pidfd;
    }
    *ret_pid = pid;
    return 0;
}

int tr_spawn_wait(pid_t pid, int *ret_status, struct tr_err *err)
{
    int status = 0;

    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR)
            return tr_fail(err, TR_E_IO, errno, "wait for process %d", (int)pid);
    }
    *ret_status = status;
    return 0;
}

/* Read until end of file or the deadline; what does not fit is read and dropped. */
static int drain(int fd, int64_t deadline_us, struct tr_buf *out)
{
    char chunk[4096];

    for (;;) {
        int64_t left_us = deadline_us - tr_clock_mono_us();
        struct pollfd pfd = {.fd = fd, .events = POLLIN};

        if (left_us <= 0)
            return TR_E_TIMEOUT;
        int r = poll(&pfd, 1, (int)(left_us / 1000) + 1);
        if (r <= 0)
            continue;
        ssize_t n = read(fd, chunk, sizeof(chunk));
        if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN))
            return 0;
        if (n > 0) {
            size_t room = out->max - out->len;

            tr_buf_add(out, chunk, (size_t)n < room ? (size_t)n : room);
        }
    }
}

int tr_spawn_capture(char *const *argv, long timeout_us, struct tr_buf *out, struct tr_err *err)
{
    int ends[2];
    int status = 0;
    pid_t pid = -1;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return tr_fail(err, TR_E_IO, errno, "pipe");
    tr_autoclose int in = ends[0];
    tr_autoclose int ours = ends[1];
    tr_autoclose int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0)
        return tr_fail(err, TR_E_IO, errno, "open /dev/null");
    const struct tr_spawn_fd fds[] = {{null, 0}, {ours, 1}, {ours, 2}};
    struct tr_spawn what = {
        .argv = argv, .fds = fds, .nfds = 3, .cwd = AT_FDCWD, .new_session = true};
    int r = tr_spawn(&what, &pid, NULL, err);
    if (r < 0)
        return r;
    tr_close(&ours);
    r = drain(in, tr_clock_mono_us() + timeout_us, out);
    if (r < 0)
        (void)kill(-pid, SIGKILL); /* its session is its process group */
    int w = tr_spawn_wait(pid, &status, err);
    if (w < 0)
        return w;
    if (r < 0)
        return tr_fail(err, TR_E_TIMEOUT, 0, "'%s' gave no answer in time", argv[0]);
    if (WIFSIGNALED(status))
        return tr_fail(err, TR_E_FATAL, 0, "'%s' was ended by signal %d", argv[0],
                       WTERMSIG(status));
    return WEXITSTATUS(status);
}
