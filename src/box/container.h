/* SPDX-License-Identifier: MIT
 *
 * box/container.h - the parts of the privileged side, one confinement step per file.
 *
 * Three processes:
 *
 * helper (keeper.c): outside; makes containers and cgroups. Hears "renew" from the library and
 * "urgent" from a first process, and nothing else. May be root.
 *
 * first process (init.c): pid 1 inside; reads specs, starts, watches, kills, cleans. Holds only
 * what it needs to change uid, kill and clean, and carries the filter.
 *
 * program: another uid (where the caller has one to give), no capability.
 *
 * The order in which a first process confines itself is written in init.c and nowhere else.
 */
#ifndef BOX_CONTAINER_H
#define BOX_CONTAINER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "box/cgroup.h"
#include "box/spec.h"
#include "tribunal/box.h"

enum {
    BOX_DIRS_MAX = 32
};

/* Fixed when a helper starts; a spec can choose among nothing here. */
struct box_config {
    enum tbox_profile profile;
    enum tbox_cgroup cgroup;
    enum tbox_userns userns;
    const char *root;
    const char *dirs[BOX_DIRS_MAX];
    size_t ndirs;
    uint64_t work_bytes;
    uint32_t work_files;
    bool strict;
    bool spare;
};

/* --- slot.c: a number no other helper on this host has, and with it uids and cgroup names. */
struct box_slot {
    unsigned number;
    int lock; /* held as long as the helper lives */
};
int box_slot_take(struct box_slot *ret, struct tr_err *err);

/* --- uid.c */
struct box_ids {
    bool userns;
    bool two;        /* first process and program have different uids */
    uid_t host_init; /* outside */
    uid_t host_program;
    uid_t init; /* inside */
    uid_t program;
};
int box_ids_choose(const struct box_slot *slot, bool userns, struct box_ids *ret,
                   struct tr_err *err);
int box_ids_write_maps(pid_t pid, const struct box_ids *ids, struct tr_err *err);
int box_ids_become_init(const struct box_ids *ids, struct tr_err *err);
/* Keep only what the first process needs; nothing comes back by exec. */
int box_caps_reduce(const struct box_ids *ids, struct tr_err *err);
/* In the child, after which it is nobody; 0 or an errno. Checks that it worked. */
int box_ids_become_program(const struct box_ids *ids);

/* --- ns.c */
uint64_t box_ns_flags(bool userns);
int box_ns_finish(struct tr_err *err);

/* --- mount.c: the file system of the container. */
struct box_work; /* work.h */
struct box_mounts;
int box_mounts_collect(const struct box_config *cfg, struct box_mounts **ret, struct tr_err *err);
/* Builds the root and goes there. *ret_proc is a folder fd of a /proc of our own, or -1. */
int box_mounts_build(struct box_mounts *m, const struct box_config *cfg, const struct box_ids *ids,
                     struct box_work *work, int *ret_proc, struct tr_err *err);

/* --- rlimit.c */
int box_rlimits_init(struct tr_err *err);                         /* what no run changes */
int box_rlimits_run(const struct tbox_limits *l, bool no_cgroup); /* child: 0 or an errno */

/* --- seccomp.c */
struct box_filter {
    void *program; /* struct sock_filter[] */
    unsigned short len;
    uint64_t key[2]; /* opens three calls to who knows it: see seccomp.c */
};
int box_filter_make(enum tbox_profile profile, bool no_cgroup, struct box_filter *ret,
                    struct tr_err *err);
int box_filter_install(const struct box_filter *f, struct tr_err *err);

/* --- fds.c */
int box_fds_close_but(const int *keep, size_t n, struct tr_err *err);

/* --- exec.c: the child between clone and exec. */
struct box_exec {
    struct box_run *run;
    const struct box_ids *ids;
    const struct box_filter *filter;
    int fds[3];
    int cgroup; /* folder fd to be born in, or -1 */
    bool no_cgroup;
    volatile int error; /* errno of the step that failed; 0: it became the program */
    const char *volatile step;
};
/* The new process's pid or -errno. When x->error is set the child has ended without a program. */
pid_t box_exec_start(struct box_exec *x);

/* --- init.c */
struct box_init {
    const struct box_config *cfg;
    const struct box_ids *ids;
    const struct box_filter *filter;
    struct box_cg *cg;
    int ctl;  /* to the helper */
    int sock; /* to the library */
};
_Noreturn void box_init_main(struct box_init *in);

/* --- keeper.c: the helper. Returns its exit code. */
int box_keeper_main(int sock, const struct box_config *cfg);

/* --- probe.c: the rows of `tribunal doctor`, sent over `sock`. */
int box_probe_main(int sock);

#endif
