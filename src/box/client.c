/* SPDX-License-Identifier: MIT
 *
 * client.c - attach to a helper, renew and close a box; put files in and take them out.
 */
#include "box/client.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"

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

int box_client_attach(int socket, pid_t pid, tbox **ret, struct tr_err *err)
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
    return box_client_attach(socket, 0, ret, err);
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
