/* SPDX-License-Identifier: MIT
 *
 * keeper.c - the helper: makes containers, throws them away, and cleans up after itself.
 *
 * It stays outside with whatever rights it was started with, so it reads almost nothing: the one
 * message it knows is "renew", and a message of any other kind ends it. Specs go to the first
 * process of the container directly, over a socket that the helper only hands out.
 *
 * When its socket ends it kills the container, removes the cgroups and exits. When it is killed
 * itself, the kernel kills the first process (PDEATHSIG), and the next helper of the same slot
 * removes the cgroups.
 */
#include <errno.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "box/container.h"

enum {
    /* Making a container takes 2 ms; a machine that needs this long for it is lost. */
    SETUP_MAX_S = 30
};

struct container {
    pid_t pid; /* 0: none */
    int pidfd;
    int ctl;       /* to its first process */
    int sock;      /* the library's end, until it is handed out */
    bool has_proc; /* the kernel let it mount a /proc */
    struct box_cg cg;
};

#define NO_CONTAINER ((struct container){.pidfd = -1, .ctl = -1, .sock = -1})

struct keeper {
    const struct box_config *cfg;
    int sock;
    struct box_slot slot;
    struct box_ids ids;
    struct box_filter filter;
    struct box_cg_host host;
    unsigned generation;
    struct container now;
    struct container spare;
};

static int talk(int ctl, struct box_wire_done *ret, struct tr_err *err)
{
    int fds[BOX_WIRE_FDS];
    int64_t n = box_wire_recv(ctl, ret, sizeof(*ret), fds, 0, err);

    if (n == TR_E_LOST)
        return tr_fail(err, TR_E_FATAL, 0, "the container's first process died while starting");
    return n < 0 ? (int)n : box_wire_result(ret, (size_t)n, err);
}

static int go_on(int ctl)
{
    return box_wire_reply(ctl, &(struct tr_err)TR_ERR_INIT, 0, -1);
}

/* Our half of init.c's setup(). */
static int accompany(struct keeper *k, struct container *c, int ctl, struct tr_err *err)
{
    struct box_wire_done done = {0};
    int r = box_ids_write_maps(c->pid, &k->ids, err);

    if (r == 0)
        r = c->cg.driver->enter(&c->cg, c->pid, err);
    if (r == 0)
        r = go_on(ctl);
    if (r == 0)
        r = talk(ctl, &done, err);
    if (r == 0)
        r = c->cg.driver->settle(&c->cg, c->pid, err);
    if (r == 0)
        r = go_on(ctl);
    if (r == 0)
        r = talk(ctl, &done, err);
    if (r < 0)
        return r;
    c->has_proc = done.value != 0;
    if (k->cfg->strict && !c->has_proc)
        return tr_fail(err, TR_E_UNSUPPORTED, 0, "this host refuses a /proc of its own to the box");
    /* The watcher should be awake when a limit is reached, however busy the machine is. */
    (void)setpriority(PRIO_PROCESS, (id_t)c->pid, -10);
    return 0;
}

static pid_t fork_into(struct keeper *k, struct container *c, int ctl, int sock)
{
    struct clone_args args = {
        .flags = box_ns_flags(k->ids.userns) | CLONE_PIDFD,
        .pidfd = (uint64_t)(uintptr_t)&c->pidfd,
        .exit_signal = SIGCHLD,
    };
    pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));

    if (pid == 0) {
        struct box_init in = {.cfg = k->cfg,
                              .ids = &k->ids,
                              .filter = &k->filter,
                              .cg = &c->cg,
                              .ctl = ctl,
                              .sock = sock};

        box_init_main(&in);
    }
    return pid;
}

/* Afterwards nothing in it lives. */
static void kill_container(struct container *c)
{
    if (c->pid > 0) {
        siginfo_t info;

        (void)syscall(SYS_pidfd_send_signal, c->pidfd, SIGKILL, NULL, 0U);
        /* The kernel reaps everything in the pid namespace before pid 1 is gone. */
        while (waitid(P_PID, (id_t)c->pid, &info, WEXITED) < 0 && errno == EINTR)
            continue;
    }
    c->pid = 0;
    tr_close(&c->pidfd);
    tr_close(&c->ctl);
    tr_close(&c->sock);
}

static void destroy(struct container *c)
{
    kill_container(c);
    if (c->cg.driver)
        (void)box_cg_remove(&c->cg, NULL);
    c->cg.driver = NULL;
}

static int make_with(struct keeper *k, struct container *c, int ctl[2], int run[2],
                     struct tr_err *err)
{
    const struct timeval patience = {.tv_sec = SETUP_MAX_S};
    char name[48];

    (void)snprintf(name, sizeof(name), "tribunal-%u-%u", k->slot.number, k->generation++);
    int r = box_cg_make(&k->host, name, k->ids.host_init, &c->cg, err);
    if (r < 0)
        return r;
    if (setsockopt(ctl[0], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) < 0)
        return tr_fail(err, TR_E_IO, errno, "setsockopt");
    c->pid = fork_into(k, c, ctl[1], run[1]);
    if (c->pid < 0) {
        c->pid = 0;
        return tr_fail(err, TR_E_IO, errno, "make namespaces");
    }
    tr_close(&ctl[1]);
    tr_close(&run[1]);
    return accompany(k, c, ctl[0], err);
}

static int make(struct keeper *k, struct container *c, struct tr_err *err)
{
    int ctl[2] = {-1, -1};
    int run[2] = {-1, -1};
    int r = 0;

    *c = NO_CONTAINER;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ctl) < 0 ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, run) < 0)
        r = tr_fail(err, TR_E_IO, errno, "socketpair");
    if (r == 0)
        r = make_with(k, c, ctl, run, err);
    if (r == 0) {
        c->ctl = tr_take_fd(&ctl[0]);
        c->sock = tr_take_fd(&run[0]);
    }
    for (int i = 0; i < 2; i++) {
        tr_close(&ctl[i]);
        tr_close(&run[i]);
    }
    if (r < 0)
        destroy(c);
    return r;
}

static int make_as(struct keeper *k, bool userns, struct container *c, struct tr_err *err)
{
    int r = box_ids_choose(&k->slot, userns, &k->ids, err);

    return r < 0 ? r : make(k, c, err);
}

/* The first container decides whether a user namespace can be had. Where the host's /proc is masked
 * (inside other people's containers) the kernel refuses a new one to a user namespace, but not to
 * root without one: most languages need /proc more than root needs the second wall. */
static int make_first(struct keeper *k, struct tr_err *err)
{
    enum tbox_userns want = k->cfg->userns;
    int r = make_as(k, want != TBOX_USERNS_NEVER, &k->now, err);

    if (want != TBOX_USERNS_AUTO || geteuid() != 0 || (r == 0 && k->now.has_proc))
        return r;
    const struct box_ids ids = k->ids;
    struct container other;
    if (make_as(k, false, &other, NULL) < 0) {
        k->ids = ids;
        return r; /* the first sentence says more */
    }
    if (r == 0 && !other.has_proc) { /* nothing won */
        destroy(&other);
        k->ids = ids;
        return 0;
    }
    destroy(&k->now);
    k->now = other;
    return 0;
}

/* Hand the current container's socket to the library, or say why there is none. */
static int answer(struct keeper *k, const struct tr_err *result, uint64_t value)
{
    struct box_wire_done done = {.code = result->code,
                                 .sys = result->sys,
                                 .value = value,
                                 .cgroup = k->host.mode,
                                 .userns = (k->ids.userns ? 1U : 0) | (k->ids.two ? 2U : 0)};

    box_wire_head(&done.head, BOX_DONE, sizeof(done), 0);
    memcpy(done.msg, result->msg, sizeof(done.msg));
    int r =
        box_wire_send(k->sock, &done, sizeof(done), &k->now.sock, result->code == 0 ? 1 : 0, NULL);
    tr_close(&k->now.sock);
    return r;
}

static int renew(struct keeper *k)
{
    struct tr_err err = TR_ERR_INIT;
    uint32_t oom = k->now.cg.driver ? k->now.cg.driver->oom_kills(&k->now.cg) : 0;

    /* First: never two programs of one uid at once. Its groups go when the answer is out; the
     * kernel takes milliseconds for them. */
    kill_container(&k->now);
    struct container old = k->now;
    if (k->spare.pid > 0) {
        k->now = k->spare;
        k->spare = NO_CONTAINER;
    } else if (make(k, &k->now, &err) == 0) {
        err = (struct tr_err)TR_ERR_INIT;
    }
    int r = answer(k, &err, oom);
    destroy(&old);
    return r;
}

static int prepare(struct keeper *k, struct tr_err *err)
{
    char prefix[32];
    int r = box_slot_take(&k->slot, err);

    if (r == 0)
        r = box_cg_find(k->cfg->cgroup, &k->host, err);
    if (r == 0 && k->cfg->strict && k->host.mode == TBOX_CGROUP_NONE)
        r = tr_fail(err, TR_E_UNSUPPORTED, 0,
                    "no cgroup can be made here, and --strict forbids to run with resource limits "
                    "alone: see `tribunal doctor`");
    if (r == 0)
        r = box_filter_make(k->cfg->profile, k->host.mode == TBOX_CGROUP_NONE, &k->filter, err);
    if (r < 0)
        return r;
    (void)snprintf(prefix, sizeof(prefix), "tribunal-%u-", k->slot.number);
    box_cg_sweep(&k->host, prefix);
    return make_first(k, err);
}

/* A message without anything in it; TR_E_LOST when its sender is gone. */
static int hear(int sock, enum box_kind kind)
{
    struct box_wire_head msg;
    int fds[BOX_WIRE_FDS];
    int64_t n = box_wire_recv(sock, &msg, sizeof(msg), fds, MSG_DONTWAIT, NULL);

    for (int i = 0; i < BOX_WIRE_FDS; i++)
        tr_close(&fds[i]);
    return n < 0 ? (int)n : box_wire_check(&msg, (size_t)n, kind, sizeof(msg), NULL);
}

/* The lowest real-time priority: above everybody who has none is enough. It gives it back itself.
 * What it wants else, and that it is gone, is the library's to find out. */
static void hear_container(struct container *c)
{
    const struct sched_param lowest = {.sched_priority = 1};
    struct tr_err err = TR_ERR_INIT;

    int r = hear(c->ctl, BOX_URGENT);
    if (r < 0 && r != TR_E_RETRY)
        tr_close(&c->ctl);
    if (r < 0)
        return;
    if (sched_setscheduler(c->pid, SCHED_FIFO, &lowest) < 0)
        (void)tr_fail(&err, TR_E_DENIED, errno, "no real-time priority");
    (void)box_wire_reply(c->ctl, &err, 0, -1);
}

static void serve(struct keeper *k)
{
    for (;;) {
        /* A spare is made while nobody waits for us. */
        if (k->cfg->spare && k->spare.pid == 0)
            (void)make(k, &k->spare, NULL);
        struct pollfd fds[2] = {{.fd = k->sock, .events = POLLIN},
                                {.fd = k->now.ctl, .events = POLLIN}};
        if (poll(fds, 2, -1) < 0 && errno != EINTR)
            return;
        if (fds[1].revents)
            hear_container(&k->now);
        int r = fds[0].revents ? hear(k->sock, BOX_RENEW) : TR_E_RETRY;
        if (r == 0)
            r = renew(k);
        if (r < 0 && r != TR_E_RETRY)
            return;
    }
}

int box_keeper_main(int sock, const struct box_config *cfg)
{
    struct keeper k = {
        .cfg = cfg, .sock = sock, .slot = {.lock = -1}, .now = NO_CONTAINER, .spare = NO_CONTAINER};
    struct tr_err err = TR_ERR_INIT;

    const struct sigaction ignore = {.sa_handler = SIG_IGN};

    /* Ends come over the socket; a Ctrl-C at a terminal must not leave groups behind. */
    (void)sigaction(SIGPIPE, &ignore, NULL);
    (void)sigaction(SIGINT, &ignore, NULL);
    (void)sigaction(SIGHUP, &ignore, NULL);
    int r = prepare(&k, &err);
    if (r == 0)
        err = (struct tr_err)TR_ERR_INIT;
    if (answer(&k, &err, 0) == 0 && r == 0)
        serve(&k);
    destroy(&k.now);
    destroy(&k.spare);
    free(k.filter.program);
    return r == 0 ? 0 : 3;
}
