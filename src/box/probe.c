/* SPDX-License-Identifier: MIT
 *
 * probe.c - what this host gives a box: each thing tried, not guessed.
 *
 * Every trial that could hurt runs in a child of its own, which ends with the errno as its exit
 * code. The last rows make a whole container and run a program in it: if that works, the rest is
 * about how well.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/close_range.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fs.h"
#include "box/container.h"

struct probe {
    int sock;
    bool root;
};

static void send_row(struct probe *p, const struct tbox_probe_row *row)
{
    struct {
        struct box_wire_head head;
        struct tbox_probe_row row;
    } msg = {.row = *row};

    box_wire_head(&msg.head, BOX_ROW, sizeof(msg), 0);
    (void)box_wire_send(p->sock, &msg, sizeof(msg), NULL, 0, NULL);
}

static void found(struct tbox_probe_row *row, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
static void found(struct tbox_probe_row *row, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(row->found, sizeof(row->found), fmt, ap);
    va_end(ap);
}

static void lacking(struct tbox_probe_row *row, enum tbox_probe_status status, const char *weaker,
                    const char *fix)
{
    row->status = (int32_t)status;
    (void)snprintf(row->weaker, sizeof(row->weaker), "%s", weaker);
    (void)snprintf(row->fix, sizeof(row->fix), "%s", fix);
}

/* Run `trial` in a child with these namespaces; 0 or the errno it ended with. */
static int in_child(uint64_t flags, int (*trial)(void))
{
    struct clone_args args = {.flags = flags, .exit_signal = SIGCHLD};
    pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
    int status = 0;

    if (pid < 0)
        return errno;
    if (pid == 0)
        _exit(trial() & 0xff);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return WIFEXITED(status) ? WEXITSTATUS(status) : EIO;
}

static int nothing(void)
{
    return 0;
}

static int try_proc(void)
{
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, "hidepid=2,subset=pid") <
            0)
        return errno;
    return 0;
}

static int try_filter(void)
{
    struct box_filter f = {0};

    return box_filter_make(TBOX_RUN, false, &f, NULL) < 0 || box_filter_install(&f, NULL) < 0
               ? EINVAL
               : 0;
}

static void kernel_row(struct probe *p)
{
    struct tbox_probe_row row = {.name = "kernel"};
    struct utsname u = {0};
    tr_autoclose int tree = (int)syscall(SYS_open_tree, AT_FDCWD, "/usr", O_CLOEXEC);

    (void)uname(&u);
    /* An impossible fd: the call exists when it complains about that. */
    bool setattr = syscall(SYS_mount_setattr, -1, "", 0, NULL, 0) < 0 && errno != ENOSYS;
    bool closes = syscall(SYS_close_range, ~0U, ~0U, 0U) == 0 || errno != ENOSYS;
    found(&row, "Linux %.40s %.20s: open_tree %s, mount_setattr %s, close_range %s", u.release,
          u.machine, tree >= 0 ? "yes" : "no", setattr ? "yes" : "no", closes ? "yes" : "no");
    if (tree < 0 || !setattr || !closes)
        lacking(&row, TBOX_PROBE_MISSING, "no container can be built",
                "boot a kernel of version 5.12 or later");
    send_row(p, &row);
}

static void namespaces_row(struct probe *p, bool *ret_userns)
{
    struct tbox_probe_row row = {.name = "namespaces"};
    struct tbox_probe_row user = {.name = "user namespace"};
    int plain = in_child(box_ns_flags(false), nothing);
    int with = in_child(box_ns_flags(true), nothing);

    *ret_userns = with == 0;
    found(&user, with == 0 ? "given" : "refused: %s", strerrordesc_np(with));
    if (with != 0)
        lacking(&user, plain == 0 ? TBOX_PROBE_WEAKER : TBOX_PROBE_MISSING,
                plain == 0 ? "the first process of a box is root outside too, with few capabilities"
                           : "nothing isolates a program from this account",
                "sysctl -w kernel.unprivileged_userns_clone=1 user.max_user_namespaces=65536 "
                "kernel.apparmor_restrict_unprivileged_userns=0");
    found(&row, plain == 0 || with == 0 ? "mount, pid, ipc, uts, net%s" : "refused: %s",
          plain == 0 || with == 0 ? (with == 0 ? ", user" : "") : strerrordesc_np(plain));
    if (plain != 0 && with != 0)
        lacking(&row, TBOX_PROBE_MISSING, "no container can be built",
                "run as root, or allow user namespaces (next row); in a container: --privileged or "
                "--security-opt seccomp=unconfined");
    send_row(p, &row);
    send_row(p, &user);
}

static void proc_row(struct probe *p, bool userns)
{
    struct tbox_probe_row row = {.name = "/proc"};
    int e = in_child(box_ns_flags(userns), try_proc);

    found(&row, e == 0 ? "own, of its processes only" : "refused: %s", strerrordesc_np(e));
    if (e != 0)
        lacking(&row, TBOX_PROBE_WEAKER,
                "/proc is empty inside: Java and others may not start; the first process may die "
                "with a program that is out of memory",
                "unmask /proc: docker run --security-opt systempaths=unconfined");
    send_row(p, &row);
}

static void uid_row(struct probe *p)
{
    struct tbox_probe_row row = {.name = "uids"};
    struct box_slot slot = {.lock = -1};
    struct box_ids ids = {0};

    if (box_ids_choose(&slot, true, &ids, NULL) == 0 && ids.two) {
        found(&row, "two of its own for each box, from %u", ids.host_init);
    } else {
        found(&row, "one, yours (%u)", geteuid());
        lacking(&row, TBOX_PROBE_WEAKER,
                "boxes of this account share its uid: kept apart by namespaces alone; what is put "
                "into a box is copied anew for each run",
                "run the judge as root (it drops what it does not need), or by its systemd unit");
    }
    send_row(p, &row);
}

static void filter_row(struct probe *p)
{
    struct tbox_probe_row row = {.name = "seccomp"};
    struct box_filter f = {0};
    int e = in_child(0, try_filter);

    (void)box_filter_make(TBOX_RUN, false, &f, NULL);
    found(&row, e == 0 ? "filter of %u instructions installed" : "refused (%u instructions)",
          f.len);
    free(f.program);
    if (e != 0)
        lacking(&row, TBOX_PROBE_MISSING, "every system call of the kernel is open to programs",
                "a kernel with CONFIG_SECCOMP_FILTER=y");
    send_row(p, &row);
}

static void cgroup_row(struct probe *p, struct box_cg_host *host)
{
    struct tbox_probe_row row = {.name = "cgroup"};
    struct tr_err err = TR_ERR_INIT;

    if (box_cg_find(TBOX_CGROUP_AUTO, host, &err) < 0)
        host->mode = TBOX_CGROUP_NONE;
    switch (host->mode) {
    case TBOX_CGROUP_V2:
        found(&row, "v2, below %.120s", host->v2);
        break;
    case TBOX_CGROUP_HYBRID:
        found(&row, "hybrid: v1 memory and pids, v2 for CPU time");
        break;
    case TBOX_CGROUP_V1:
        found(&row, "v1: memory, pids, cpuacct");
        lacking(&row, TBOX_PROBE_WEAKER, "the first process's CPU time is subtracted, not left out",
                "mount -t cgroup2 none /sys/fs/cgroup/unified");
        break;
    case TBOX_CGROUP_AUTO:
    case TBOX_CGROUP_NONE:
        found(&row, "none that we may write to");
        lacking(&row, TBOX_PROBE_WEAKER,
                "memory is limited for each process, not for all; CPU time of processes nobody "
                "waits for is lost; --strict refuses to run",
                p->root
                    ? "mount cgroups: mount -t cgroup2 none /sys/fs/cgroup"
                    : "systemd-run --user --scope -p Delegate=yes tribunal ...; or run as root");
        break;
    }
    send_row(p, &row);
}

/* After one write to cgroup.kill some kernels kill every later child at birth. We never combine the
 * two; the row tells who else should not. */
static bool born_dead_after_kill(const char *parent)
{
    char path[BOX_CG_PATH + 48];
    int status = 0;

    (void)snprintf(path, sizeof(path), "%s/tribunal-probe-%d", parent, (int)getpid());
    if (mkdir(path, 0755) < 0)
        return false;
    tr_autoclose int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct clone_args args = {
        .flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD, .cgroup = (unsigned)dir};
    bool dead = false;
    if (dir >= 0 && box_cg_write_at(dir, "cgroup.kill", "1") == 0) {
        pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));

        if (pid == 0)
            _exit(0);
        if (pid > 0 && waitpid(pid, &status, 0) == pid)
            dead = WIFSIGNALED(status);
    }
    (void)rmdir(path);
    return dead;
}

static void cgroup_details(struct probe *p, const struct box_cg_host *host)
{
    struct tbox_probe_row kill_row = {.name = "cgroup.kill"};
    struct tbox_probe_row swap = {.name = "swap"};
    char path[BOX_CG_PATH + 64];
    bool bounded = false;

    if (*host->v2) {
        found(&kill_row, born_dead_after_kill(host->v2)
                             ? "kills children born later: never used on a cgroup that lives on"
                             : "ends with the processes it killed");
        send_row(p, &kill_row);
    }
    if (host->mode == TBOX_CGROUP_HYBRID || host->mode == TBOX_CGROUP_V1) {
        (void)snprintf(path, sizeof(path), "%s/memory.memsw.limit_in_bytes", host->memory);
        bounded = access(path, F_OK) == 0;
    } else if (host->mode == TBOX_CGROUP_V2) {
        (void)snprintf(path, sizeof(path), "%s/memory.swap.max", host->v2);
        bounded = access(path, F_OK) == 0;
    }
    struct tr_buf text;
    tr_buf_init(&text, 65536);
    bool any = tr_fs_read_file("/proc/swaps", &text, NULL) == 0 && text.data &&
               strchr(text.data, '\n') && strchr(text.data, '\n')[1] != 0;
    tr_buf_done(&text);
    found(&swap, "%s, %s", any ? "on" : "off", bounded ? "bounded by the cgroup" : "not bounded");
    if (any && !bounded && host->mode != TBOX_CGROUP_V2)
        lacking(&swap, TBOX_PROBE_WEAKER, "a program may use swap beyond its memory limit",
                "swapoff -a, or boot with swapaccount=1");
    send_row(p, &swap);
}

static void rlimit_row(struct probe *p)
{
    struct tbox_probe_row row = {.name = "stack"};
    struct rlimit l = {0};

    (void)getrlimit(RLIMIT_STACK, &l);
    if (l.rlim_max == RLIM_INFINITY)
        found(&row, "no ceiling");
    else
        found(&row, "ceiling of %" PRIu64 " bytes", (uint64_t)l.rlim_max);
    if (l.rlim_max != RLIM_INFINITY)
        lacking(&row, TBOX_PROBE_WEAKER, "a larger stack limit is refused",
                "ulimit -Hs unlimited before the judge starts (LimitSTACK=infinity in its unit)");
    send_row(p, &row);
}

static void tune_row(struct probe *p)
{
    struct tbox_probe_row row = {.name = "core_pattern"};
    struct tr_buf text;

    tr_buf_init(&text, 4096);
    (void)tr_fs_read_file("/proc/sys/kernel/core_pattern", &text, NULL);
    found(&row, "%.*s (not for boxes: no file, no handler)",
          text.data ? (int)strcspn(text.data, "\n") : 0, text.data ? text.data : "");
    tr_buf_done(&text);
    send_row(p, &row);
}

/* The proof: a whole box, and a program in it. */
static void whole_row(struct probe *p)
{
    struct tbox_probe_row row = {.name = "a run"};
    struct tbox_options o = {.size = sizeof(o), .helper = "/proc/self/exe"};
    struct tr_err err = TR_ERR_INIT;
    struct tbox_report report = {0};
    const char *argv[] = {"/bin/true", NULL};
    struct tbox_spec spec = {.size = sizeof(spec), .argv = argv, .fd = {-1, -1, -1}, .cpu = -1};
    char path[512];
    tbox *box = NULL;

    ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
    if (n > 0) {
        path[n] = 0;
        o.helper = path;
    }
    tbox_limits_default(TBOX_RUN, &spec.limits);
    int r = tbox_open(&o, &box, &err);
    if (r == 0)
        r = tbox_run(box, &spec, &report, &err);
    tbox_close(box);
    if (r == 0 && report.cause == TBOX_EXIT && report.exit_code == 0) {
        found(&row, "/bin/true in %" PRId64 " us, cgroup %s, user namespace %s", report.wall_us,
              tbox_cgroup_name(report.cgroup), report.userns ? "on" : "off");
    } else {
        found(&row, "failed: %.140s", r < 0 ? err.msg : report.note);
        lacking(&row, TBOX_PROBE_MISSING, "nothing can be judged here", "see the rows above");
    }
    send_row(p, &row);
}

int box_probe_main(int sock)
{
    struct probe p = {.sock = sock, .root = geteuid() == 0};
    struct box_cg_host host = {0};
    bool userns = false;

    if (fcntl(sock, F_SETFD, FD_CLOEXEC) < 0)
        return 2;
    kernel_row(&p);
    namespaces_row(&p, &userns);
    proc_row(&p, userns);
    uid_row(&p);
    filter_row(&p);
    cgroup_row(&p, &host);
    cgroup_details(&p, &host);
    rlimit_row(&p);
    tune_row(&p);
    whole_row(&p);
    return 0;
}
