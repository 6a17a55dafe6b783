/* SPDX-License-Identifier: MIT
 *
 * box/client.h - inside of a tbox: the library's half, which has no privilege.
 */
#ifndef BOX_CLIENT_H
#define BOX_CLIENT_H

#include <stdbool.h>
#include <sys/types.h>

#include "box/report.h"
#include "box/spec.h"
#include "tribunal/box.h"

enum {
    BOX_PUTS_MAX = 64
};

struct box_put {
    char name[BOX_NAME_MAX];
    int fd; /* kept for a container that has to be made anew */
    unsigned mode;
};

/* A program's output on its way to the caller. */
struct box_pipe {
    int from; /* our end, -1: none */
    int to;   /* the caller's, -1: counted and dropped */
};

struct tbox {
    int helper; /* socket of the helper */
    pid_t helper_pid;
    int sock; /* of the container's first process; -1: the container is gone */
    enum tbox_cgroup cgroup;
    bool userns;
    bool two_uids;      /* the program is somebody else than we are */
    uint64_t oom_seen;  /* kills for memory that reports of this container spoke of */
    bool renewed_early; /* the container was renewed before this run, for what the last one left */
    int epoll;          /* what tbox_fd() gives: sock, timer, and the pipes while they are full */
    int timer;
    int null;
    struct box_put put[BOX_PUTS_MAX];
    size_t nput;
    /* The run: */
    bool running;
    bool async; /* started by tbox_start(): epoll and timer are kept */
    bool kept;  /* files of the last run are still there */
    struct tbox_limits limits;
    struct box_pipe pipe[2];
    bool eager; /* pipes fill faster than we look: wait for them instead */
    int64_t wait_us;
    int64_t started_us;
    int64_t idle_since_us;   /* 0: it works */
    int64_t steal_before_us; /* -1: the run is too short to ask */
    bool kill_sent;
    struct tr_err pump_error;
    struct box_seen seen;
    union box_wire_any msg;
};

/* client.c */
/* A box at the end of a helper's socket, which it owns from now on; pid 0: not our child. */
int box_client_attach(int socket, pid_t pid, tbox **ret, struct tr_err *err);
int box_client_renew(tbox *box, uint64_t *ret_oom, struct tr_err *err); /* and put again */
int box_client_clean(tbox *box,
                     struct tr_err *err); /* what was kept goes; by renewing if need be */
int box_client_call(tbox *box, const void *msg, size_t len, int fd, uint64_t *ret_value,
                    int *ret_fd, struct tr_err *err);

/* client_input.c: refuse what is no file or pipe; *ret_copy is what to send instead, or -1. */
int box_input_check(const tbox *box, int fd, int *ret_copy, struct tr_err *err);

/* client_pump.c */
int box_pump_open(tbox *box, const struct tbox_spec *spec, int out[2], struct tr_err *err);
void box_pump_close(tbox *box);
void box_pump_drain(tbox *box); /* what is there now; asks for the end when it is too much */
int64_t box_steal_us(void);

#endif
