/* SPDX-License-Identifier: MIT
 *
 * client.c - open, renew and close a box; put files in and take them out.
 */
#include "box/client.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/spawn.h"

enum {
    HELPER_FD = 3
};

#ifndef TRIBUNAL_BOX_PATH
#define TRIBUNAL_BOX_PATH "/usr/bin/tribunal-box"
#endif

/* The program beside us first (a build folder, a relocated install), then where it was installed to
 * be. Never PATH: who can change PATH would choose what runs as root. */
const char *tbox_helper_path(const char *wish, char *out, size_t size)
{
    static const char *const beside[] = {"tribunal-box", "../boxd/tribunal-box"};
    const char *env = secure_getenv("TRIBUNAL_BOX");
    char self[PATH_MAX];

    if (wish || (env && env[0] == '/')) {
        (void)snprintf(out, size, "%s", wish ? wish : env);
        return out;
    }
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    char *slash = n > 0 ? memrchr(self, '/', (size_t)n) : NULL;
    for (size_t i = 0; slash && i < TR_ARRAY_LEN(beside); i++) {
        slash[1] = 0;
        int len = snprintf(out, size, "%s%s", self, beside[i]);
        if (len > 0 && (size_t)len < size && access(out, X_OK) == 0)
            return out;
    }
    (void)snprintf(out, size, "%s", TRIBUNAL_BOX_PATH);
    return out;
}

/* The answer that carries a container's socket. */
static int take_container(tbox *box, uint64_t *ret_oom, struct tr_err *err)
{
    struct box_wire_done done;
    int fds[BOX_WIRE_FDS];
    int64_t n = box_wire_recv(box->helper, &done, sizeof(done), fds, 0, err);

    if (n == TR_E_LOST)
        return tr_fail(err, TR_E_FATAL, 0, "the box helper ended without a word");
    int r = n < 0 ? (int)n : box_wire_result(&done, (size_t)n, err);
    if (r == 0 && fds[0] < 0)
        r = tr_fail(err, TR_E_FATAL, 0, "the box helper sent no container");
    if (r == 0) {
        struct epoll_event ev = {.events = EPOLLIN};

        box->sock = tr_take_fd(&fds[0]);
        box->cgroup = (enum tbox_cgroup)done.cgroup;
        box->userns = (done.userns & 1) != 0;
        box->two_uids = (done.userns & 2) != 0;
        box->oom_seen = 0;
        if (ret_oom)
            *ret_oom = done.value;
        if (epoll_ctl(box->epoll, EPOLL_CTL_ADD, box->sock, &ev) < 0)
            r = tr_fail(err, TR_E_IO, errno, "epoll_ctl");
    }
    for (int i = 0; i < BOX_WIRE_FDS; i++)
        tr_close(&fds[i]);
    return r;
}

static tbox *new_box(int helper, pid_t pid)
{
    tbox *box = calloc(1, sizeof(*box));

    if (!box)
        return NULL;
    box->helper = helper;
    box->helper_pid = pid;
    box->sock = -1;
    box->pipe[0].from = box->pipe[1].from = -1;
    box->epoll = epoll_create1(EPOLL_CLOEXEC);
    box->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    box->null = open("/dev/null", O_RDWR | O_CLOEXEC);
    return box;
}

static int attach(int socket, pid_t pid, tbox **ret, struct tr_err *err)
{
    tbox *box = new_box(socket, pid);
    struct epoll_event ev = {.events = EPOLLIN};

    if (!box) {
        (void)close(socket);
        return tr_fail(err, TR_E_NOMEM, 0, "out of memory");
    }
    int r = 0;
    if (box->epoll < 0 || box->timer < 0 || box->null < 0 ||
        epoll_ctl(box->epoll, EPOLL_CTL_ADD, box->timer, &ev) < 0)
        r = tr_fail(err, TR_E_IO, errno, "open descriptors for a box");
    if (r == 0)
        r = take_container(box, NULL, err);
    if (r < 0) {
        tbox_close(box);
        return r;
    }
    *ret = box;
    return 0;
}

int tbox_attach(int socket, tbox **ret, struct tr_err *err)
{
    return attach(socket, 0, ret, err);
}

struct arguments {
    char *argv[24 + 2 * 32];
    size_t n;
    char bytes[32];
    char files[32];
};

static void add_arg(struct arguments *a, const char *s)
{
    if (s && a->n + 1 < TR_ARRAY_LEN(a->argv))
        memcpy(&a->argv[a->n++], &s, sizeof(s)); /* posix_spawn does not write to it */
}

static int make_arguments(struct arguments *a, const char *path, const struct tbox_options *o,
                          struct tr_err *err)
{
    static const char *const profiles[] = {"run", "compile", "checker"};
    static const char *const userns[] = {"auto", "always", "never"};

    if (o->size != sizeof(*o))
        return tr_fail(err, TR_E_USAGE, 0, "tbox_options.size is %zu, not %zu", o->size,
                       sizeof(*o));
    if ((size_t)o->profile >= TR_ARRAY_LEN(profiles) || (size_t)o->userns >= TR_ARRAY_LEN(userns) ||
        (size_t)o->cgroup > TBOX_CGROUP_NONE)
        return tr_fail(err, TR_E_USAGE, 0, "tbox_options: unknown profile, cgroup or userns");
    if (o->root && o->root[0] != '/')
        return tr_fail(err, TR_E_USAGE, 0, "the image folder wants a full path, not '%s'", o->root);
    (void)snprintf(a->bytes, sizeof(a->bytes), "%" PRIu64,
                   o->work_bytes ? o->work_bytes : UINT64_C(256) << 20);
    (void)snprintf(a->files, sizeof(a->files), "%" PRIu32, o->work_files ? o->work_files : 4096);
    const char *fixed[] = {path,          "helper",
                           "--profile",   profiles[o->profile],
                           "--cgroup",    tbox_cgroup_name(o->cgroup),
                           "--userns",    userns[o->userns],
                           "--work-size", a->bytes,
                           "--files",     a->files};
    for (size_t i = 0; i < TR_ARRAY_LEN(fixed); i++)
        add_arg(a, fixed[i]);
    if (o->strict)
        add_arg(a, "--strict");
    if (o->spare)
        add_arg(a, "--spare");
    if (o->root) {
        add_arg(a, "--root");
        add_arg(a, o->root);
    }
    size_t ndirs = 0;
    for (const char *const *d = o->dirs; d && *d; d++) {
        if (++ndirs > 32)
            return tr_fail(err, TR_E_LIMIT, 0, "more than 32 folders for a box");
        if ((*d)[0] != '/' || !(*d)[1])
            return tr_fail(err, TR_E_USAGE, 0, "a folder for the box wants a full path, not '%s'",
                           *d);
        add_arg(a, "--dir");
        add_arg(a, *d);
    }
    return 0;
}

static int start_helper(char *const *argv, int *ret_sock, pid_t *ret_pid, struct tr_err *err)
{
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return tr_fail(err, TR_E_IO, errno, "socketpair");
    tr_autoclose int ours = ends[0];
    tr_autoclose int theirs = ends[1];
    tr_autoclose int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0)
        return tr_fail(err, TR_E_IO, errno, "open /dev/null");
    const struct tr_spawn_fd fds[] = {{null, 0}, {null, 1}, {null, 2}, {theirs, HELPER_FD}};
    struct tr_spawn what = {.path = argv[0],
                            .argv = argv,
                            .fds = fds,
                            .nfds = TR_ARRAY_LEN(fds),
                            .cwd = AT_FDCWD,
                            .new_session = true};
    int r = tr_spawn(&what, ret_pid, NULL, err);
    if (r == 0)
        *ret_sock = tr_take_fd(&ours);
    return r;
}

int tbox_open(const struct tbox_options *options, tbox **ret, struct tr_err *err)
{
    struct arguments a = {0};
    char path[512];
    int sock = -1;
    pid_t pid = 0;

    (void)tbox_helper_path(options->helper, path, sizeof(path));
    int r = make_arguments(&a, path, options, err);
    if (r == 0)
        r = start_helper(a.argv, &sock, &pid, err);
    return r < 0 ? r : attach(sock, pid, ret, err);
}

void tbox_close(tbox *box)
{
    if (!box)
        return;
    box_pump_close(box);
    for (size_t i = 0; i < box->nput; i++)
        tr_close(&box->put[i].fd);
    tr_close(&box->sock);
    tr_close(&box->helper); /* its sign to clean up and go */
    tr_close(&box->epoll);
    tr_close(&box->timer);
    tr_close(&box->null);
    while (box->helper_pid > 0 && waitpid(box->helper_pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    free(box);
}

int box_client_call(tbox *box, const void *msg, size_t len, int fd, uint64_t *ret_value,
                    int *ret_fd, struct tr_err *err)
{
    struct box_wire_done done;
    int fds[BOX_WIRE_FDS];

    if (box->running)
        return tr_fail(err, TR_E_USAGE, 0, "a program is running in this box");
    if (box->sock < 0)
        return tr_fail(err, TR_E_FATAL, 0, "the container is gone: renew or close the box");
    int r = box_wire_send(box->sock, msg, len, &fd, fd >= 0 ? 1 : 0, err);
    if (r < 0)
        return r;
    int64_t n = box_wire_recv(box->sock, &done, sizeof(done), fds, 0, err);
    r = n < 0 ? (int)n : box_wire_result(&done, (size_t)n, err);
    if (r == 0 && ret_value)
        *ret_value = done.value;
    if (r == 0 && ret_fd)
        *ret_fd = tr_take_fd(&fds[0]);
    for (int i = 0; n >= 0 && i < BOX_WIRE_FDS; i++)
        tr_close(&fds[i]);
    return r;
}

static int send_put(tbox *box, const struct box_put *p, struct tr_err *err)
{
    struct box_wire_name msg = {0};

    box_wire_head(&msg.head, BOX_PUT, sizeof(msg), p->mode);
    memcpy(msg.name, p->name, sizeof(msg.name));
    return box_client_call(box, &msg, sizeof(msg), p->fd, NULL, NULL, err);
}

int box_client_renew(tbox *box, uint64_t *ret_oom, struct tr_err *err)
{
    struct box_wire_head msg;

    tr_close(&box->sock);
    box->kept = false;
    box_wire_head(&msg, BOX_RENEW, sizeof(msg), 0);
    int r = box_wire_send(box->helper, &msg, sizeof(msg), NULL, 0, err);
    if (r == 0)
        r = take_container(box, ret_oom, err);
    for (size_t i = 0; r == 0 && i < box->nput; i++)
        r = send_put(box, &box->put[i], err);
    return r;
}

int box_client_clean(tbox *box, struct tr_err *err)
{
    struct box_wire_head msg;

    if (!box->kept)
        return 0;
    box->kept = false;
    box_wire_head(&msg, BOX_CLEAN, sizeof(msg), 0);
    if (box_client_call(box, &msg, sizeof(msg), -1, NULL, NULL, NULL) == 0)
        return 0;
    box->renewed_early = true;
    return box_client_renew(box, NULL, err);
}

int tbox_renew(tbox *box, struct tr_err *err)
{
    if (box->running)
        return tr_fail(err, TR_E_USAGE, 0, "a program is running in this box");
    for (size_t i = 0; i < box->nput; i++)
        tr_close(&box->put[i].fd);
    box->nput = 0;
    return box_client_renew(box, NULL, err);
}

int tbox_put(tbox *box, int fd, const char *name, unsigned mode, struct tr_err *err)
{
    struct box_put p = {.fd = fd, .mode = mode & 0777};
    struct box_put *slot = NULL;
    int r = box_name_check(name, err);

    if (r < 0)
        return r;
    (void)snprintf(p.name, sizeof(p.name), "%s", name);
    for (size_t i = 0; i < box->nput; i++) {
        if (strcmp(box->put[i].name, name) == 0)
            slot = &box->put[i];
    }
    if (!slot && box->nput == BOX_PUTS_MAX)
        return tr_fail(err, TR_E_LIMIT, 0, "more than %d files put into a box", BOX_PUTS_MAX);
    tr_autoclose int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    if (copy < 0)
        return tr_fail(err, TR_E_USAGE, errno, "descriptor of '%s'", name);
    r = box_client_clean(box, err);
    if (r == 0)
        r = send_put(box, &p, err);
    if (r < 0)
        return r;
    if (slot)
        tr_close(&slot->fd);
    else
        slot = &box->put[box->nput++];
    p.fd = tr_take_fd(&copy);
    *slot = p;
    return 0;
}

int tbox_get(tbox *box, const char *name, uint64_t max, int *ret_fd, uint64_t *ret_size,
             struct tr_err *err)
{
    struct box_wire_name msg = {0};
    int r = box_name_check(name, err);

    if (r < 0)
        return r;
    if (!box->kept)
        return tr_fail(err, TR_E_USAGE, 0, "no run with TBOX_KEEP_FILES came before");
    box_wire_head(&msg.head, BOX_GET, sizeof(msg), max);
    (void)snprintf(msg.name, sizeof(msg.name), "%s", name);
    uint64_t size = 0;
    int fd = -1;
    r = box_client_call(box, &msg, sizeof(msg), -1, &size, &fd, err);
    if (r < 0)
        return r;
    if (fd < 0)
        return tr_fail(err, TR_E_FATAL, 0, "the box sent no file");
    *ret_fd = fd;
    if (ret_size)
        *ret_size = size;
    return 0;
}

/* One row in each message, an empty answer at the end. */
int tbox_probe(const char *helper, struct tbox_probe_row *rows, size_t max, struct tr_err *err)
{
    struct {
        struct box_wire_head head;
        struct tbox_probe_row row;
    } msg;
    char path[512];
    char verb[] = "probe";
    char *argv[] = {path, verb, NULL};
    pid_t pid = 0;
    tr_autoclose int sock = -1;
    int count = 0;

    (void)tbox_helper_path(helper, path, sizeof(path));
    int r = start_helper(argv, &sock, &pid, err);
    if (r < 0)
        return r;
    for (;;) {
        int fds[BOX_WIRE_FDS];
        int64_t n = box_wire_recv(sock, &msg, sizeof(msg), fds, 0, err);

        for (int i = 0; i < BOX_WIRE_FDS; i++)
            tr_close(&fds[i]);
        if (n < 0 || box_wire_check(&msg, (size_t)n, BOX_ROW, sizeof(msg), err) < 0) {
            r = n == TR_E_LOST && count > 0 ? 0 : TR_E_FATAL;
            break;
        }
        msg.row.name[sizeof(msg.row.name) - 1] = 0;
        msg.row.found[sizeof(msg.row.found) - 1] = 0;
        msg.row.weaker[sizeof(msg.row.weaker) - 1] = 0;
        msg.row.fix[sizeof(msg.row.fix) - 1] = 0;
        if ((size_t)count < max)
            rows[count++] = msg.row;
    }
    (void)waitpid(pid, NULL, 0);
    return r < 0 ? r : count;
}
