/* SPDX-License-Identifier: MIT
 *
 * cgroup_v1.c - v1 controllers, alone or with a v2 leaf for CPU time ("hybrid").
 *
 * v1 cannot place a child at its birth, and moving a process takes up to 12 ms. So the first
 * process lives in the memory and pids groups and its children inherit them. The price: what it
 * uses itself is there too and has to be taken off: memory is the peak minus the use before the
 * run, the limit is raised by that use, pids count one more, and on v1 alone its CPU time is
 * subtracted.
 *
 * Hybrid: the child is born into a leaf of the v2 hierarchy that has no controller but counts CPU
 * time to the microsecond. That leaf is used for run after run, so it is never killed by
 * cgroup.kill: on kernels 6.1 and 6.18 every later child would be dead at birth.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "box/cgroup.h"

enum {
    V2 = 0,
    MEMORY = 1,
    PIDS = 2,
    CPUACCT = 3
};

enum {
    LIMIT,
    SWAP_LIMIT,
    PEAK,
    USAGE,
    OOM,
    PIDS_MAX,
    PIDS_NOW,
    PIDS_PEAK,
    CPU,
    PRESSURE,
    STAT
};

/* Raise the limit in such steps, so that it need not be written for every run. */
#define BASE_STEP (UINT64_C(256) << 10)

/* The kernel charges 64 pages in advance on each CPU, and keeps stacks for reuse: so much more may
 * be in use at rest without meaning anything. Tighter, and honest runs would wait for each other.
 */
#define REST_SLACK (UINT64_C(512) << 10)
#define REST_SLACK_CPU (UINT64_C(320) << 10)

/* More than this that does not come back is not worth guessing about: a new container. */
#define REST_LOST (UINT64_C(8) << 20)

enum {
    /* Stacks and task structures of many processes come back some milliseconds after their end. */
    REST_TRIES = 40,
    REST_WAIT_NS = 500000
};

static int open_files(struct box_cg *cg, struct tr_err *err)
{
    static const struct {
        int at;
        int tree;
        const char *name;
        int flags;
        bool needed;
    } files[] = {
        {LIMIT, MEMORY, "memory.limit_in_bytes", O_RDWR, true},
        {SWAP_LIMIT, MEMORY, "memory.memsw.limit_in_bytes", O_RDWR, false},
        {PEAK, MEMORY, "memory.max_usage_in_bytes", O_RDWR, true},
        {USAGE, MEMORY, "memory.usage_in_bytes", O_RDONLY, true},
        {OOM, MEMORY, "memory.oom_control", O_RDONLY, true},
        {PIDS_MAX, PIDS, "pids.max", O_RDWR, true},
        {PIDS_NOW, PIDS, "pids.current", O_RDONLY, true},
        {PIDS_PEAK, PIDS, "pids.peak", O_RDONLY, false},
        {STAT, MEMORY, "memory.stat", O_RDONLY, false},
    };

    for (size_t i = 0; i < TR_ARRAY_LEN(files); i++) {
        int fd = box_cg_open(cg->tree[files[i].tree].dir, files[i].name, files[i].flags,
                             files[i].needed ? err : NULL);

        if (fd < 0 && files[i].needed)
            return fd;
        cg->fd[files[i].at] = fd < 0 ? -1 : fd;
    }
    /* Without swap accounting in the kernel: at least do not be swapped out. */
    if (cg->fd[SWAP_LIMIT] < 0)
        (void)box_cg_write_at(cg->tree[MEMORY].dir, "memory.swappiness", "0");
    cg->oom_before = 0;
    cg->slack_bytes = REST_SLACK + REST_SLACK_CPU * (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
    return 0;
}

static int make_v1(struct box_cg *cg, const char *name, uid_t owner, struct tr_err *err)
{
    int r = open_files(cg, err);

    if (r < 0)
        return r;
    cg->fd[CPU] = box_cg_open(cg->tree[CPUACCT].dir, "cpuacct.usage", O_RDONLY, err);
    return cg->fd[CPU] < 0 ? cg->fd[CPU] : 0;
}

static int make_hybrid(struct box_cg *cg, const char *name, uid_t owner, struct tr_err *err)
{
    int r = open_files(cg, err);
    int top = cg->tree[V2].dir;

    if (r < 0)
        return r;
    if (mkdirat(top, "run", 0755) < 0)
        return tr_fail(err, TR_E_IO, errno, "make the v2 leaf");
    cg->run_dir = openat(top, "run", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (cg->run_dir < 0)
        return tr_fail(err, TR_E_IO, errno, "open the v2 leaf");
    /* To be born into the leaf, the parent must be allowed to move processes in it and in the
     * common ancestor: that is how the kernel checks CLONE_INTO_CGROUP. */
    if (fchownat(top, "cgroup.procs", owner, (gid_t)-1, 0) < 0 ||
        fchownat(cg->run_dir, "cgroup.procs", owner, (gid_t)-1, 0) < 0)
        return tr_fail(err, TR_E_IO, errno, "delegate the v2 leaf");
    cg->fd[CPU] = box_cg_open(cg->run_dir, "cpu.stat", O_RDONLY, err);
    if (cg->fd[CPU] < 0)
        return cg->fd[CPU];
    cg->fd[PRESSURE] = openat(cg->run_dir, "cpu.pressure", O_RDONLY | O_CLOEXEC);
    return 0;
}

static int enter(struct box_cg *cg, pid_t pid, struct tr_err *err)
{
    char text[16];

    (void)snprintf(text, sizeof(text), "%d", (int)pid);
    for (int i = 0; i < BOX_CG_TREES; i++) {
        if (cg->tree[i].dir < 0)
            continue;
        int r = box_cg_write_at(cg->tree[i].dir, "cgroup.procs", text);
        if (r < 0)
            return tr_fail(err, TR_E_IO, -r, "move into cgroup '%s'", cg->tree[i].path);
    }
    return 0;
}

static int settle(struct box_cg *cg, pid_t pid, struct tr_err *err)
{
    return 0;
}

static void read_cpu(struct box_cg *cg, struct box_usage *u)
{
    char text[512];

    if (cg->run_dir < 0) {
        u->cpu_us = (int64_t)(box_cg_read_u64(cg->fd[CPU]) / 1000) - box_cg_own_cpu_us();
        return;
    }
    (void)box_cg_read(cg->fd[CPU], text, sizeof(text));
    u->cpu_us = (int64_t)box_cg_field(text, "usage_usec");
    u->user_us = (int64_t)box_cg_field(text, "user_usec");
    u->system_us = (int64_t)box_cg_field(text, "system_usec");
    u->throttled_us = (int64_t)box_cg_field(text, "throttled_usec");
}

static uint32_t read_oom(struct box_cg *cg)
{
    char text[128];

    (void)box_cg_read(cg->fd[OOM], text, sizeof(text));
    return (uint32_t)box_cg_field(text, "oom_kill");
}

static uint32_t read_pids(struct box_cg *cg)
{
    uint64_t n = box_cg_read_u64(cg->fd[PIDS_NOW]);

    return n > 0 ? (uint32_t)(n - 1) : 0;
}

static int64_t read_pressure(struct box_cg *cg)
{
    char text[256];

    if (cg->fd[PRESSURE] < 0 || box_cg_read(cg->fd[PRESSURE], text, sizeof(text)) <= 0)
        return 0;
    const char *total = strstr(text, "total=");
    char line[64];
    if (!total)
        return 0;
    (void)snprintf(line, sizeof(line), "total %.40s", total + 6);
    return (int64_t)box_cg_field(line, "total");
}

/* The memory limit and the limit of memory + swap depend on each other: the second may never be the
 * smaller one, not even between two writes. */
static int set_memory(struct box_cg *cg, uint64_t bytes, struct tr_err *err)
{
    int first = bytes > cg->limit_bytes ? SWAP_LIMIT : LIMIT;
    int second = first == LIMIT ? SWAP_LIMIT : LIMIT;
    int r = 0;

    if (bytes == cg->limit_bytes)
        return 0;
    if (cg->limit_bytes == 0) { /* both are "unlimited" still */
        first = LIMIT;
        second = SWAP_LIMIT;
    }
    if (cg->fd[first] >= 0)
        r = box_cg_write_u64(cg->fd[first], bytes);
    if (r == 0 && cg->fd[second] >= 0)
        r = box_cg_write_u64(cg->fd[second], bytes);
    if (r < 0)
        return tr_fail(err, TR_E_IO, -r, "set the memory limit");
    cg->limit_bytes = bytes;
    return 0;
}

static int begin(struct box_cg *cg, const struct tbox_limits *l, struct tr_err *err)
{
    uint64_t now = box_cg_read_u64(cg->fd[USAGE]);

    /* Not what is in use now: some of it was charged in advance and is given to the program, which
     * would then look smaller than it is. */
    if (cg->floor_bytes == 0 || now < cg->floor_bytes) {
        cg->floor_bytes = now;
        cg->cached_bytes = 0; /* some of it may be gone: asked again when it matters */
    }
    cg->base_bytes = cg->floor_bytes;
    if (now > cg->floor_bytes + cg->slack_bytes) /* stays, as it seems: see calm() */
        cg->base_bytes = now - cg->slack_bytes;
    /* The program gets all of its limit, whatever stands there already. */
    uint64_t room = (now + BASE_STEP - 1) / BASE_STEP * BASE_STEP;
    int r = set_memory(cg, room + l->memory_bytes, err);
    if (r < 0)
        return r;
    if (l->pids != cg->pids_limit) {
        r = box_cg_write_u64(cg->fd[PIDS_MAX], (uint64_t)l->pids + 1);
        if (r < 0)
            return tr_fail(err, TR_E_IO, -r, "set the process limit");
        cg->pids_limit = l->pids;
    }
    r = box_cg_write_u64(cg->fd[PEAK], 0);
    if (r < 0)
        return tr_fail(err, TR_E_IO, -r, "reset the memory peak");
    if (cg->run_dir < 0) /* the first process worked since the last run; hybrid's leaf was empty */
        read_cpu(cg, &cg->before);
    cg->pids_seen = 0;
    cg->marked = false;
    return 0;
}

static int sample(struct box_cg *cg, struct box_usage *ret, struct tr_err *err)
{
    struct box_usage now = {0};

    read_cpu(cg, &now);
    *ret = (struct box_usage){.cpu_us = now.cpu_us - cg->before.cpu_us,
                              .oom_kills = read_oom(cg) - cg->oom_before,
                              .pids_now = read_pids(cg)};
    if (ret->pids_now > cg->pids_seen)
        cg->pids_seen = ret->pids_now;
    return 0;
}

static void mark(struct box_cg *cg)
{
    struct box_usage now = {0};

    read_cpu(cg, &now);
    cg->throttled_mark = now.throttled_us;
    cg->pressure_mark = read_pressure(cg);
    cg->marked = true;
}

static int end(struct box_cg *cg, struct box_usage *ret, struct tr_err *err)
{
    struct box_usage now = {0};
    uint64_t peak = box_cg_read_u64(cg->fd[PEAK]);
    uint32_t oom = read_oom(cg);
    uint64_t most = box_cg_read_u64(cg->fd[PIDS_PEAK]);

    read_cpu(cg, &now);
    *ret = (struct box_usage){
        .cpu_us = now.cpu_us - cg->before.cpu_us,
        .user_us = now.user_us - cg->before.user_us,
        .system_us = now.system_us - cg->before.system_us,
        .memory_bytes = peak > cg->base_bytes ? peak - cg->base_bytes : 0,
        .oom_kills = oom - cg->oom_before,
        .pids_now = read_pids(cg),
        .throttled_us = cg->marked ? now.throttled_us - cg->throttled_mark : 0,
        .pressure_us = cg->marked ? read_pressure(cg) - cg->pressure_mark : 0,
    };
    /* pids.peak never goes down: it speaks of this run only when it has grown. */
    if (most > 1 && most - 1 > cg->before.pids_peak)
        ret->pids_peak = cg->before.pids_peak = (uint32_t)(most - 1);
    else
        ret->pids_peak = cg->pids_seen > 0 ? cg->pids_seen : 1;
    uint32_t highest = cg->before.pids_peak;
    cg->oom_before = oom;
    cg->before = now;
    cg->before.pids_peak = highest;
    return 0;
}

/* Pages of files outside that were read for the first time, by whoever: the kernel keeps them, on
 * our bill, and that is as good for the next run as for any. Not files in the work folder. */
static uint64_t page_cache(struct box_cg *cg)
{
    char text[4096];

    if (cg->fd[STAT] < 0 || box_cg_read(cg->fd[STAT], text, sizeof(text)) <= 0)
        return 0;
    uint64_t cache = box_cg_field(text, "cache");
    uint64_t shared = box_cg_field(text, "shmem");
    return cache > shared ? cache - shared : 0;
}

static int calm(struct box_cg *cg, struct tr_err *err)
{
    const struct timespec wait = {.tv_nsec = REST_WAIT_NS};
    uint64_t now = box_cg_read_u64(cg->fd[USAGE]);

    if (now <= cg->floor_bytes + cg->slack_bytes)
        return 0;
    uint64_t cached = page_cache(cg);
    if (cached > cg->cached_bytes) {
        cg->floor_bytes += cached - cg->cached_bytes;
        cg->cached_bytes = cached;
    }
    for (int i = 0; i < REST_TRIES && now > cg->floor_bytes + cg->slack_bytes; i++) {
        (void)nanosleep(&wait, NULL);
        now = box_cg_read_u64(cg->fd[USAGE]);
    }
    if (now <= cg->floor_bytes + REST_LOST)
        return 0;
    return tr_fail(err, TR_E_FATAL, 0, "memory of the last run stays charged");
}

static int rest(struct box_cg *cg, struct tr_err *err)
{
    return 0;
}

static void grown(struct box_cg *cg)
{
    cg->floor_bytes = 0;
}

const struct box_cg_driver box_cg_v1 = {.mode = TBOX_CGROUP_V1,
                                        .make = make_v1,
                                        .enter = enter,
                                        .settle = settle,
                                        .begin = begin,
                                        .sample = sample,
                                        .mark = mark,
                                        .end = end,
                                        .calm = calm,
                                        .rest = rest,
                                        .grown = grown,
                                        .oom_kills = read_oom};

const struct box_cg_driver box_cg_hybrid = {.mode = TBOX_CGROUP_HYBRID,
                                            .make = make_hybrid,
                                            .enter = enter,
                                            .settle = settle,
                                            .begin = begin,
                                            .sample = sample,
                                            .mark = mark,
                                            .end = end,
                                            .calm = calm,
                                            .rest = rest,
                                            .grown = grown,
                                            .oom_kills = read_oom};
