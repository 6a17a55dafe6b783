/* SPDX-License-Identifier: MIT
 *
 * init.c - the first process of a container: pid 1, and the one that reads specs.
 *
 * It is a copy of the helper (no exec), confines itself step by step in setup(), says so to the
 * helper, and then serves the library: run, put, get, clean. After setup it can change uid among
 * two, kill inside its pid namespace, write in a tmpfs and use the descriptors of its cgroup; it
 * has no path to anything else. If it misbehaves all the same, the library asks the helper for
 * another container.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "box/container.h"
#include "box/report.h"
#include "box/urgent.h"
#include "box/watch.h"
#include "box/work.h"

enum {
    KERNEL_SIGNALS = 64
};

struct state {
    const struct box_init *in;
    struct box_work work;
    int proc; /* a /proc that shows everybody, or -1 */
    int oom;  /* our own oom_score_adj, or -1 */
    int pids; /* the last pid given in our namespace, or -1 */
    int signals;
    unsigned cpus;
    struct box_urgent urgent;
    struct box_run run; /* of the current message */
    union box_wire_any msg;
};

/* Large (args and strings), single, and not on the stack. */
static struct state the_state;

static int wait_for_helper(int ctl, struct tr_err *err)
{
    struct box_wire_done done;
    int fds[BOX_WIRE_FDS];
    int64_t n = box_wire_recv(ctl, &done, sizeof(done), fds, 0, err);

    return n < 0 ? (int)n : box_wire_result(&done, (size_t)n, err);
}

static int make_signals(int *ret, struct tr_err *err)
{
    sigset_t all;
    sigset_t child;

    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, NULL); /* NOLINT(concurrency-mt-unsafe): one thread */
    /* What is ignored here would be ignored in the program. Not by libc, which keeps 32 and 33 for
     * itself and refuses to touch them; all zero is SIG_DFL in the kernel's own struct. */
    for (int n = 1; n <= KERNEL_SIGNALS; n++)
        (void)syscall(SYS_rt_sigaction, n, (const uint64_t[4]){0}, NULL, KERNEL_SIGNALS / 8);
    (void)sigemptyset(&child);
    (void)sigaddset(&child, SIGCHLD);
    *ret = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
    if (*ret < 0)
        return tr_fail(err, TR_E_IO, errno, "signalfd");
    return 0;
}

static int close_the_rest(const struct state *s, struct tr_err *err)
{
    int keep[32];
    size_t n = 0;

    keep[n++] = s->in->ctl;
    keep[n++] = s->in->sock;
    keep[n++] = s->signals;
    keep[n++] = s->proc;
    keep[n++] = s->oom;
    keep[n++] = s->pids;
    keep[n++] = s->work.w;
    keep[n++] = s->work.tmp;
    keep[n++] = s->work.shm;
    keep[n++] = s->work.store;
    keep[n++] = s->in->cg->run_dir;
    if (s->in->cg->driver->mode == TBOX_CGROUP_V2)
        keep[n++] = s->in->cg->tree[0].dir;
    for (size_t i = 0; i < TR_ARRAY_LEN(s->in->cg->fd); i++)
        keep[n++] = s->in->cg->fd[i];
    return box_fds_close_but(keep, n, err);
}

/* The order of confinement. Each step needs rights that the next ones take away. */
static int setup(struct state *s, struct tr_err *err)
{
    const struct box_init *in = s->in;
    struct box_mounts *mounts = NULL;
    int r = wait_for_helper(in->ctl, err); /* uid map written, moved into the cgroup */

    if (r == 0 && unshare(CLONE_NEWCGROUP) < 0 && errno != EINVAL)
        r = tr_fail(err, TR_E_IO, errno, "new cgroup namespace");
    if (r == 0)
        r = box_wire_reply(in->ctl, &(struct tr_err)TR_ERR_INIT, 0, -1);
    if (r == 0)
        r = wait_for_helper(in->ctl, err); /* moved to its final cgroup */
    /* Now, while the host's /proc is here and we still own our own files in it. */
    s->oom = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    s->pids = open("/proc/sys/kernel/ns_last_pid", O_WRONLY | O_CLOEXEC);
    if (r == 0)
        r = box_ns_finish(err);
    if (r == 0)
        r = box_mounts_collect(in->cfg, &mounts, err);
    if (r == 0)
        r = box_ids_become_init(in->ids, err);
    if (r == 0)
        r = box_mounts_build(mounts, in->cfg, in->ids, &s->work, &s->proc, err);
    if (r == 0)
        r = make_signals(&s->signals, err);
    if (r == 0)
        r = close_the_rest(s, err);
    if (r == 0)
        r = box_rlimits_init(err);
    if (r == 0)
        r = box_caps_reduce(in->ids, err);
    if (r < 0)
        return r;
    /* Changes of credentials clear it, so not earlier. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || prctl(PR_SET_DUMPABLE, 0) < 0)
        return tr_fail(err, TR_E_IO, errno, "prctl");
    return box_filter_install(in->filter, err);
}

static int exec_code(int error)
{
    switch (error) {
    case ENOENT:
    case ENOTDIR:
        return TR_E_NOTFOUND;
    case EACCES:
    case EPERM:
    case EISDIR:
        return TR_E_DENIED;
    case ENOEXEC:
    case ELIBBAD:
        return TR_E_PARSE;
    case E2BIG:
    case ENAMETOOLONG:
    case ELOOP:
        return TR_E_LIMIT;
    case ETXTBSY:
        return TR_E_BUSY;
    default:
        return TR_E_IO;
    }
}

static int exec_failed(const struct box_exec *x, struct tr_err *err)
{
    const char *name = x->run->argv[0];

    if (x->step)
        return tr_fail(err, TR_E_FATAL, x->error, "prepare the program (%s)", x->step);
    if (x->error == ENOENT)
        return tr_fail(err, TR_E_NOTFOUND, 0,
                       "no program '%.200s' in the box (or its interpreter is missing)", name);
    if (x->error == ENOEXEC)
        return tr_fail(err, TR_E_PARSE, 0, "'%.200s' is not a program for this machine", name);
    if (x->error == EACCES)
        return tr_fail(err, TR_E_DENIED, 0, "'%.200s' is not an executable file", name);
    return tr_fail(err, exec_code(x->error), x->error, "start '%.200s'", name);
}

/* Start the program; its descriptors are closed here in any case, so that a pipe can end. */
static int start(struct state *s, int fds[static BOX_WIRE_FDS], struct box_watch *w,
                 struct tr_err *err)
{
    const struct box_init *in = s->in;
    enum tbox_cgroup mode = in->cg->driver->mode;
    struct box_exec x = {.run = &s->run,
                         .ids = in->ids,
                         .filter = in->filter,
                         .fds = {fds[0], fds[1], fds[2]},
                         .cgroup = in->cg->run_dir,
                         .no_cgroup = mode == TBOX_CGROUP_NONE};

    /* Killed first when memory is short: on v1 we share the run's group. A child is born with our
     * own value, so it costs two writes here and none in the child. */
    if (mode != TBOX_CGROUP_V2 && s->oom >= 0)
        (void)!pwrite(s->oom, "1000", 4, 0);
    if (s->pids >= 0) /* so that no test can count what an earlier one started */
        (void)!pwrite(s->pids, "1", 1, 0);
    w->started_us = tr_clock_mono_us();
    pid_t pid = box_exec_start(&x);
    if (mode != TBOX_CGROUP_V2 && s->oom >= 0)
        (void)!pwrite(s->oom, "0", 1, 0);
    for (int i = 0; i < BOX_WIRE_FDS; i++)
        tr_close(&fds[i]);
    if (pid < 0)
        return tr_fail(err, TR_E_IO, -pid, "start a process");
    w->pid = pid;
    if (x.error != 0) {
        (void)waitpid(pid, NULL, __WALL);
        return exec_failed(&x, err);
    }
    return 0;
}

static void fill_report(struct state *s, const struct box_watch *w, const struct box_usage *u,
                        struct box_wire_report *out)
{
    const struct tbox_limits *l = &s->run.limits;
    bool none = s->in->cg->driver->mode == TBOX_CGROUP_NONE;
    int64_t total = u->user_us + u->system_us;
    int64_t user = u->user_us;

    if (total == 0) { /* v1 alone has no split: take the one of what was waited for */
        user = (int64_t)w->usage.ru_utime.tv_sec * 1000000 + w->usage.ru_utime.tv_usec;
        total = user + (int64_t)w->usage.ru_stime.tv_sec * 1000000 + w->usage.ru_stime.tv_usec;
    }
    /* Time does not go back: what was seen once was used, whatever a sum of counters says later. */
    int64_t cpu = u->cpu_us > w->seen_us ? u->cpu_us : w->seen_us;
    *out = (struct box_wire_report){
        .status = w->status,
        .ended_by = w->ended_by,
        .cpu_us = cpu,
        .user_us =
            total > 0 && user > 0 ? (int64_t)((double)cpu * (double)user / (double)total) : 0,
        .wall_us = w->wall_us > 0 ? w->wall_us : 0,
        .ended_us = w->started_us + w->wall_us,
        .memory_bytes = none ? w->maxrss_bytes : u->memory_bytes,
        .throttled_us = u->throttled_us > 0 ? u->throttled_us : 0,
        .pressure_us = u->pressure_us > 0 ? u->pressure_us : 0,
        .oom_kills = u->oom_kills,
        .pids_peak = u->pids_peak,
        .killed = w->killed,
        .container_ok = 1,
    };
    if (out->user_us > cpu)
        out->user_us = cpu;
    /* The kernel keeps the limit; what our sum shows beyond it is the noise of v1. */
    if (!none && u->oom_kills == 0 && out->memory_bytes > l->memory_bytes)
        out->memory_bytes = l->memory_bytes;
    out->system_us = cpu - out->user_us;
    out->files_full = WIFSIGNALED(w->status) && WTERMSIG(w->status) == SIGXFSZ &&
                      box_work_file_full(&s->work, l->file_bytes);
    box_wire_head(&out->head, BOX_REPORT, sizeof(*out), 0);
}

static void throw_away(struct box_wire_report *out, const struct tr_err *why)
{
    out->container_ok = 0;
    (void)snprintf(out->note, sizeof(out->note), "container renewed: %.120s", why->msg);
}

static int clean(struct state *s, struct tr_err *err)
{
    int r = box_work_clean(&s->work, err);

    return r < 0 ? r : s->in->cg->driver->calm(s->in->cg, err);
}

/* After the program: all dead, counters read, folders empty. What fails here costs the container,
 * not the verdict. */
static void finish(struct state *s, struct box_watch *w, struct box_wire_report *out)
{
    struct tr_err why = TR_ERR_INIT;
    struct box_usage u = {0};
    int dead = box_watch_kill_all(w, &why);
    int counted = s->in->cg->driver->end(s->in->cg, &u, dead == 0 ? &why : NULL);

    fill_report(s, w, &u, out);
    if (dead < 0 || counted < 0) {
        throw_away(out, &why);
        return;
    }
    if (u.pids_now != 0) {
        (void)tr_fail(&why, TR_E_FATAL, 0, "%u processes left in the cgroup", u.pids_now);
        throw_away(out, &why);
        return;
    }
    /* Kept files are charged until they are cleaned; calm comes then. */
    if ((s->run.flags & TBOX_KEEP_FILES) == 0 && clean(s, &why) < 0)
        throw_away(out, &why);
}

/* A folder as a stream would be a way out: fchdir(0). */
static int check_streams(const int fds[static BOX_WIRE_FDS], struct tr_err *err)
{
    for (int i = 0; i < BOX_WIRE_FDS; i++) {
        struct stat st;

        if (fds[i] < 0 || fstat(fds[i], &st) < 0)
            return tr_fail(err, TR_E_USAGE, 0, "a run wants three descriptors");
        if (!S_ISREG(st.st_mode) && !S_ISFIFO(st.st_mode) && !S_ISCHR(st.st_mode))
            return tr_fail(err, TR_E_USAGE, 0, "stream %d is neither a file nor a pipe", i);
        if (fcntl(fds[i], F_GETFL) & O_PATH)
            return tr_fail(err, TR_E_USAGE, 0, "stream %d is opened with O_PATH", i);
    }
    return 0;
}

static int run(struct state *s, size_t len, int fds[static BOX_WIRE_FDS], struct tr_err *err)
{
    const struct box_init *in = s->in;
    struct box_watch w = {.cg = in->cg,
                          .sock = in->sock,
                          .signals = s->signals,
                          .proc = s->proc,
                          .urgent = &s->urgent,
                          .ended_by = TBOX_EXIT};
    struct box_wire_report out;
    int r = box_spec_read(&s->msg, len, &s->run, err);

    if (r == 0)
        r = check_streams(fds, err);
    if (r == 0)
        r = box_work_ready(&s->work, err);
    if (r == 0) {
        in->cg->files_bytes = box_work_bytes(&s->work);
        r = in->cg->driver->begin(in->cg, &s->run.limits, err);
    }
    if (r == 0) {
        w.cpu = s->run.cpu;
        w.cpus = s->run.cpu >= 0 ? 1 : s->cpus;
        w.idle_us = s->run.idle_us;
        r = start(s, fds, &w, err);
    }
    if (r < 0)
        return r;
    r = box_watch_run(&w, &s->run.limits, err);
    finish(s, &w, &out);
    if (r < 0)
        return r;
    if (w.peer_gone)
        _exit(0);
    r = box_wire_send(in->sock, &out, sizeof(out), NULL, 0, NULL);
    if (r < 0 || (out.container_ok && in->cg->driver->rest(in->cg, NULL) < 0))
        _exit(1); /* the library sees the end of the socket and asks for another container */
    return 0;
}

static int put(struct state *s, size_t len, int fd, struct tr_err *err)
{
    const char *name = NULL;
    int r = box_name_read(&s->msg, len, BOX_PUT, &name, err);

    if (r == 0 && fd < 0)
        r = tr_fail(err, TR_E_USAGE, 0, "a put wants a descriptor");
    if (r == 0 && !s->work.fresh)
        r = box_work_clean(&s->work, err);
    if (r == 0)
        r = box_work_put(&s->work, fd, name, (unsigned)(s->msg.head.arg & 0777), err);
    s->in->cg->driver->grown(s->in->cg);
    return r;
}

static int get(struct state *s, size_t len, uint64_t *ret_size, struct tr_err *err)
{
    const char *name = NULL;
    int r = box_name_read(&s->msg, len, BOX_GET, &name, err);

    return r < 0 ? r : box_work_get(&s->work, name, s->msg.head.arg, ret_size, err);
}

static void serve_one(struct state *s, size_t len, int fds[static BOX_WIRE_FDS])
{
    struct tr_err err = TR_ERR_INIT;
    tr_autoclose int out = -1;
    uint64_t value = 0;
    int r;

    if (len < sizeof(s->msg.head))
        s->msg.head.kind = 0;
    switch (s->msg.head.kind) {
    case BOX_RUN:
        r = run(s, len, fds, &err);
        if (r == 0)
            return; /* the report was the answer */
        break;
    case BOX_PUT:
        r = put(s, len, fds[0], &err);
        break;
    case BOX_GET:
        r = get(s, len, &value, &err);
        if (r >= 0) {
            out = r;
            r = 0;
        }
        break;
    case BOX_CLEAN:
        r = clean(s, &err);
        break;
    case BOX_KILL: /* came too late: the run had ended by itself */
        return;
    default:
        r = tr_fail(&err, TR_E_PARSE, 0, "unknown message");
        break;
    }
    if (r == 0)
        err = (struct tr_err)TR_ERR_INIT;
    if (box_wire_reply(s->in->sock, &err, value, out) < 0)
        _exit(1);
}

_Noreturn void box_init_main(struct box_init *in)
{
    struct state *s = &the_state;
    struct tr_err err = TR_ERR_INIT;

    s->in = in;
    s->proc = -1;
    s->oom = -1;
    s->pids = -1;
    s->signals = -1;
    int r = setup(s, &err);
    if (r == 0)
        err = (struct tr_err)TR_ERR_INIT;
    s->cpus = box_urgent_init(&s->urgent, in->ctl, in->filter->key);
    if (in->cg->driver->mode == TBOX_CGROUP_NONE)
        in->cg->fd[0] = s->proc;
    if (box_wire_reply(in->ctl, &err, s->proc >= 0, -1) < 0 || r < 0)
        _exit(1);
    for (;;) {
        int fds[BOX_WIRE_FDS];
        int64_t n = box_wire_recv(in->sock, &s->msg, sizeof(s->msg), fds, 0, &err);

        if (n == TR_E_PARSE)
            n = 0; /* answered as an unknown message */
        else if (n < 0)
            _exit(0);
        serve_one(s, (size_t)n, fds);
        for (int i = 0; i < BOX_WIRE_FDS; i++)
            tr_close(&fds[i]);
    }
}
