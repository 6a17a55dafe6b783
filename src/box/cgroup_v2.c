/* SPDX-License-Identifier: MIT
 *
 * cgroup_v2.c - the unified hierarchy.
 *
 *     <container>/init     the first process
 *     <container>/run-N    one run; the child is born here
 *
 * A leaf is used for one run and a fresh one is made after the answer was sent, because memory.peak
 * cannot be reset before Linux 6.12; where it can (tried, not guessed) the leaf stays. The first
 * process makes leaves itself: the container's folder belongs to its uid.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "box/cgroup.h"

enum {
    LIMIT,
    PEAK,
    CURRENT,
    EVENTS,
    PIDS_MAX,
    PIDS_NOW,
    PIDS_PEAK,
    CPU,
    PRESSURE
};

static int make(struct box_cg *cg, const char *name, uid_t owner, struct tr_err *err)
{
    int top = cg->tree[0].dir;

    if (mkdirat(top, "init", 0755) < 0)
        return tr_fail(err, TR_E_IO, errno, "make the cgroup of the first process");
    if (fchown(top, owner, (gid_t)-1) < 0 ||
        fchownat(top, "cgroup.procs", owner, (gid_t)-1, 0) < 0 ||
        fchownat(top, "init/cgroup.procs", owner, (gid_t)-1, 0) < 0)
        return tr_fail(err, TR_E_IO, errno, "delegate the cgroup");
    return 0;
}

static int enter(struct box_cg *cg, pid_t pid, struct tr_err *err)
{
    char text[16];

    (void)snprintf(text, sizeof(text), "%d", (int)pid);
    int r = box_cg_write_at(cg->tree[0].dir, "cgroup.procs", text);
    if (r < 0)
        return tr_fail(err, TR_E_IO, -r, "move into cgroup '%s'", cg->tree[0].path);
    return 0;
}

/* Now that the container's folder is the root of its cgroup namespace, the process steps down: a
 * group with processes cannot hand controllers to its children. */
static int settle(struct box_cg *cg, pid_t pid, struct tr_err *err)
{
    char text[16];

    (void)snprintf(text, sizeof(text), "%d", (int)pid);
    int r = box_cg_write_at(cg->tree[0].dir, "init/cgroup.procs", text);
    if (r == 0)
        r = box_cg_write_at(cg->tree[0].dir, "cgroup.subtree_control", "+memory +pids");
    if (r < 0)
        return tr_fail(err, TR_E_IO, -r, "set up cgroup '%s'", cg->tree[0].path);
    return 0;
}

static void close_leaf(struct box_cg *cg)
{
    for (size_t i = 0; i < TR_ARRAY_LEN(cg->fd); i++)
        tr_close(&cg->fd[i]);
    tr_close(&cg->run_dir);
}

static int open_leaf(struct box_cg *cg, struct tr_err *err)
{
    static const struct {
        int at;
        const char *name;
        int flags;
        bool needed;
    } files[] = {
        {LIMIT, "memory.max", O_RDWR, true},         {PEAK, "memory.peak", O_RDWR, false},
        {CURRENT, "memory.current", O_RDONLY, true}, {EVENTS, "memory.events", O_RDONLY, true},
        {PIDS_MAX, "pids.max", O_RDWR, true},        {PIDS_NOW, "pids.current", O_RDONLY, true},
        {PIDS_PEAK, "pids.peak", O_RDONLY, false},   {CPU, "cpu.stat", O_RDONLY, true},
        {PRESSURE, "cpu.pressure", O_RDONLY, false},
    };
    char name[24];

    cg->leaf++;
    (void)snprintf(name, sizeof(name), "run-%u", cg->leaf);
    if (mkdirat(cg->tree[0].dir, name, 0755) < 0)
        return tr_fail(err, TR_E_IO, errno, "make cgroup '%s'", name);
    cg->run_dir = openat(cg->tree[0].dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (cg->run_dir < 0)
        return tr_fail(err, TR_E_IO, errno, "open cgroup '%s'", name);
    for (size_t i = 0; i < TR_ARRAY_LEN(files); i++) {
        int fd = openat(cg->run_dir, files[i].name, files[i].flags | O_CLOEXEC);

        if (fd < 0 && files[i].flags == O_RDWR && !files[i].needed) /* memory.peak before 6.12 */
            fd = openat(cg->run_dir, files[i].name, O_RDONLY | O_CLOEXEC);
        if (fd < 0 && files[i].needed)
            return tr_fail(err, TR_E_IO, errno, "open cgroup file '%s'", files[i].name);
        cg->fd[files[i].at] = fd;
    }
    /* All of it dies together, and nothing goes to swap (a kernel without swap has no file). */
    (void)box_cg_write_at(cg->run_dir, "memory.oom.group", "1");
    (void)box_cg_write_at(cg->run_dir, "memory.swap.max", "0");
    cg->peak_resets = cg->fd[PEAK] >= 0 && pwrite(cg->fd[PEAK], "reset\n", 6, 0) == 6;
    cg->before = (struct box_usage){0};
    cg->limit_bytes = 0;
    cg->pids_limit = 0;
    return 0;
}

static int begin(struct box_cg *cg, const struct tbox_limits *l, struct tr_err *err)
{
    int r = cg->run_dir < 0 ? open_leaf(cg, err) : 0;

    if (r < 0)
        return r;
    /* Pages of an earlier run may still be charged to a leaf that is used again. */
    cg->base_bytes = cg->peak_resets ? box_cg_read_u64(cg->fd[CURRENT]) : 0;
    if (l->memory_bytes + cg->base_bytes != cg->limit_bytes) {
        r = box_cg_write_u64(cg->fd[LIMIT], l->memory_bytes + cg->base_bytes);
        if (r < 0)
            return tr_fail(err, TR_E_IO, -r, "set the memory limit");
        cg->limit_bytes = l->memory_bytes + cg->base_bytes;
    }
    r = box_cg_set_pids(cg, cg->fd[PIDS_MAX], l->pids, 0, err);
    if (r < 0)
        return r;
    if (cg->peak_resets && pwrite(cg->fd[PEAK], "reset\n", 6, 0) != 6)
        return tr_fail(err, TR_E_IO, errno, "reset the memory peak");
    cg->pids_seen = 0;
    cg->before.memory_bytes = 0;
    cg->marked = false;
    return 0;
}

static void read_counters(struct box_cg *cg, struct box_usage *now)
{
    box_cg_read_cpu_stat(cg->fd[CPU], now);
    now->oom_kills = box_cg_read_oom(cg->fd[EVENTS]);
    now->pids_now = (uint32_t)box_cg_read_u64(cg->fd[PIDS_NOW]);
}

static int sample(struct box_cg *cg, struct box_usage *ret, struct tr_err *err)
{
    struct box_usage now = {0};
    uint64_t memory = cg->fd[PEAK] < 0 ? box_cg_read_u64(cg->fd[CURRENT]) : 0;

    read_counters(cg, &now);
    box_cg_sampled(cg, &now, ret);
    if (memory > cg->before.memory_bytes) /* before 5.19 there is no peak: what we saw ourselves */
        cg->before.memory_bytes = memory;
    return 0;
}

static void mark(struct box_cg *cg)
{
    struct box_usage now = {.pressure_us = box_cg_read_pressure(cg->fd[PRESSURE])};

    box_cg_read_cpu_stat(cg->fd[CPU], &now);
    box_cg_mark(cg, &now);
}

static int end(struct box_cg *cg, struct box_usage *ret, struct tr_err *err)
{
    struct box_usage now = {.pids_peak = (uint32_t)box_cg_read_u64(cg->fd[PIDS_PEAK])};
    uint64_t peak = cg->fd[PEAK] >= 0 ? box_cg_read_u64(cg->fd[PEAK]) : cg->before.memory_bytes;

    read_counters(cg, &now);
    if (cg->marked)
        now.pressure_us = box_cg_read_pressure(cg->fd[PRESSURE]);
    box_cg_ended(cg, &now, ret);
    ret->memory_bytes = peak > cg->base_bytes ? peak - cg->base_bytes : 0;
    return 0;
}

static int remove_leaf(struct box_cg *cg, unsigned number)
{
    char name[24];

    (void)snprintf(name, sizeof(name), "run-%u", number);
    return unlinkat(cg->tree[0].dir, name, AT_REMOVEDIR) < 0 ? -errno : 0;
}

/* A leaf that still carries pages lives on unseen after its removal, until memory is short
 * somewhere: give them back first. */
static int rest(struct box_cg *cg, struct tr_err *err)
{
    char text[32];

    if (cg->run_dir < 0 || cg->peak_resets)
        return 0;
    uint64_t left = box_cg_read_u64(cg->fd[CURRENT]);
    (void)snprintf(text, sizeof(text), "%llu", (unsigned long long)left);
    if (left > (UINT64_C(64) << 10))
        (void)box_cg_write_at(cg->run_dir, "memory.reclaim", text);
    close_leaf(cg);
    if (cg->stale != 0 && remove_leaf(cg, cg->stale) == 0)
        cg->stale = 0;
    int r = remove_leaf(cg, cg->leaf);
    if (r < 0 && cg->stale != 0)
        return tr_fail(err, TR_E_IO, -r, "remove the cgroup of a run");
    if (r < 0)
        cg->stale = cg->leaf;
    return open_leaf(cg, err);
}

static uint32_t container_oom(struct box_cg *cg)
{
    tr_autoclose int fd = openat(cg->tree[0].dir, "memory.events", O_RDONLY | O_CLOEXEC);

    return box_cg_read_oom(fd);
}

/* The next run has a leaf of its own. */
static int calm(struct box_cg *cg, struct tr_err *err)
{
    return 0;
}

/* Files belong to the first process's group here. */
static void grown(struct box_cg *cg)
{
}

const struct box_cg_driver box_cg_v2 = {.mode = TBOX_CGROUP_V2,
                                        .make = make,
                                        .enter = enter,
                                        .settle = settle,
                                        .begin = begin,
                                        .sample = sample,
                                        .mark = mark,
                                        .end = end,
                                        .calm = calm,
                                        .rest = rest,
                                        .grown = grown,
                                        .oom_kills = container_oom};
