/* SPDX-License-Identifier: MIT
 *
 * box/cgroup.h - what a control group does for a box, whichever kind this host has.
 *
 * One driver is chosen by trying (cgroup_find.c). The helper makes the groups of a container and
 * opens their files; the first process inherits the descriptors and uses them around each run, so
 * no path of /sys exists inside.
 */
#ifndef BOX_CGROUP_H
#define BOX_CGROUP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "tribunal/box.h"

struct box_usage {
    int64_t cpu_us;
    int64_t user_us;
    int64_t system_us;
    int64_t throttled_us;
    int64_t pressure_us;
    uint64_t memory_bytes;
    uint32_t oom_kills;
    uint32_t pids_peak;
    uint32_t pids_now; /* of the program, the first process not counted */
};

enum {
    BOX_CG_PATH = 512,
    BOX_CG_TREES = 4
};

/* One hierarchy that a container has a folder in. */
struct box_cg_tree {
    char path[BOX_CG_PATH]; /* of the container's folder; empty: not used */
    int dir;                /* that folder */
};

struct box_cg;
struct box_cg_driver {
    enum tbox_cgroup mode;
    int64_t look_us; /* sample() wants to be called so often; 0: the watcher knows when */
    /* Helper: make the folders of a container called `name`, owned by `owner`. */
    int (*make)(struct box_cg *cg, const char *name, uid_t owner, struct tr_err *err);
    /* Helper: the first process enters; again after it has its cgroup namespace. */
    int (*enter)(struct box_cg *cg, pid_t pid, struct tr_err *err);
    int (*settle)(struct box_cg *cg, pid_t pid, struct tr_err *err);
    /* First process: limits and counters for one run. run_dir is set afterwards. */
    int (*begin)(struct box_cg *cg, const struct tbox_limits *limits, struct tr_err *err);
    /* First process, while it runs: cpu_us, oom_kills, pids_now. */
    int (*sample)(struct box_cg *cg, struct box_usage *ret, struct tr_err *err);
    /* First process, when all is dead: everything. */
    int (*end)(struct box_cg *cg, struct box_usage *ret, struct tr_err *err);
    /* First process, when a run has lasted: where pressure and throttling are counted from. */
    void (*mark)(struct box_cg *cg);
    /* First process, when all is dead: wait until what the run used is given back, so that it does
     * not count for the next one. Fails when something stays charged: the container is lost. */
    int (*calm)(struct box_cg *cg, struct tr_err *err);
    /* First process, after the answer is sent: get ready for the next run. */
    int (*rest)(struct box_cg *cg, struct tr_err *err);
    /* First process: files were put, so more is in use from now on. */
    void (*grown)(struct box_cg *cg);
    /* Helper: how often the kernel killed for memory; for a first process that died of it. */
    uint32_t (*oom_kills)(struct box_cg *cg);
};

struct box_cg {
    const struct box_cg_driver *driver;
    struct box_cg_tree tree[BOX_CG_TREES]; /* meaning by driver */
    int run_dir;                           /* where a child is born (CLONE_INTO_CGROUP), or -1 */
    int fd[12];                            /* open files; meaning by driver */
    uid_t owner;
    /* State between begin and end. */
    uint64_t files_bytes;  /* of the work folders, told by init.c before begin */
    uint64_t base_bytes;   /* in use before the run, kernel memory not counted (v1) */
    uint64_t floor_bytes;  /* the least ever in use between runs; 0: not known (v1) */
    uint64_t kernel_bytes; /* kernel memory before the run (v1) */
    uint64_t kernel_floor; /* the least kernel memory ever between runs (v1) */
    uint64_t cached_bytes; /* page cache of files outside that the floor holds (v1) */
    uint64_t slack_bytes; /* what may be in use at rest beyond that without meaning anything (v1) */
    uint64_t limit_bytes; /* as last written */
    unsigned cpus;        /* on which pages may be charged in advance (v1) */
    uint32_t pids_limit;
    uint32_t pids_seen;
    struct box_usage before;
    int64_t begun_us; /* (v1) */
    int64_t pressure_mark;
    int64_t throttled_mark;
    bool marked;
    unsigned leaf;    /* number of the current leaf (v2) */
    unsigned stale;   /* number of a leaf that was still busy, or 0 */
    bool peak_resets; /* memory.peak can be reset (v2, Linux 6.12) */
};

/* Where groups may be made on this host, found once by the helper. */
struct box_cg_host {
    enum tbox_cgroup mode;
    char v2[BOX_CG_PATH]; /* parents of our folders; empty where there is none */
    char memory[BOX_CG_PATH];
    char pids[BOX_CG_PATH];
    char cpuacct[BOX_CG_PATH];
};

/* `want` AUTO tries hybrid, v2, v1, none in the order of what the host mounts. */
int box_cg_find(enum tbox_cgroup want, struct box_cg_host *ret, struct tr_err *err);
int box_cg_make(const struct box_cg_host *host, const char *name, uid_t owner, struct box_cg *ret,
                struct tr_err *err);
/* Remove its folders; every process in them must be dead. Retries while the kernel says busy. */
int box_cg_remove(struct box_cg *cg, struct tr_err *err);
/* The same for what a helper that was killed left under `name`. */
void box_cg_sweep(const struct box_cg_host *host, const char *prefix);

extern const struct box_cg_driver box_cg_v1; /* also serves hybrid */
extern const struct box_cg_driver box_cg_hybrid;
extern const struct box_cg_driver box_cg_v2;
extern const struct box_cg_driver box_cg_none;

/* Shared by the drivers (cgroup.c). */
int box_cg_open(int dir, const char *name, int flags, struct tr_err *err);
int box_cg_write_u64(int fd, uint64_t value);
int box_cg_write_at(int dir, const char *name, const char *text);
int box_cg_read(int fd, char *out, size_t size); /* length or -errno; NUL-ended */
uint64_t box_cg_read_u64(int fd);                /* 0 when unreadable, ~0 for "max" */
/* The number after `key ` at the start of a line, or 0. Pure. */
uint64_t box_cg_field(const char *text, const char *key);
/* The path of `controller` ("" for v2) in the text of /proc/self/cgroup. Pure; false: not there. */
bool box_cg_own_path(const char *text, const char *controller, char *out, size_t size);
/* The mount point of a hierarchy in the text of /proc/self/mountinfo: `controller` NULL is v2. */
bool box_cg_mount_point(const char *text, const char *controller, char *out, size_t size,
                        char *root, size_t root_size);
int64_t box_cg_own_cpu_us(void);

/* Counters and their differences (cgroup_count.c). The times of cpu.stat: */
void box_cg_read_cpu_stat(int fd, struct box_usage *u);
/* The line oom_kill of memory.oom_control (v1) or memory.events (v2); 0 when unreadable. */
uint32_t box_cg_read_oom(int fd);
int64_t box_cg_read_pressure(int fd);
/* Write the limit of processes when it is another one than last time; `others` live there too. */
int box_cg_set_pids(struct box_cg *cg, int fd, uint32_t limit, uint32_t others, struct tr_err *err);
/* throttled_us and pressure_us of `now` are where those two are counted from. */
void box_cg_mark(struct box_cg *cg, const struct box_usage *now);
/* What `now` says about the run since cg->before: all but memory. The second is for its end, and
 * `now` becomes the beginning of the next run. */
void box_cg_sampled(struct box_cg *cg, const struct box_usage *now, struct box_usage *ret);
void box_cg_ended(struct box_cg *cg, const struct box_usage *now, struct box_usage *ret);

#endif
