/* SPDX-License-Identifier: MIT
 *
 * cgroup_v1.c - v1 controllers, alone or with a v2 leaf for CPU time ("hybrid").
 *
 * v1 cannot place a child at its birth, and moving a process takes up to 12 ms. So the first
 * process lives in the memory and pids groups and its children inherit them. The price: what it
 * uses itself is there too and has to be taken off: memory is the peak minus the use before the
 * run (program_bytes() says which), the limit is raised by that use, pids count one more, and on
 * v1 alone its CPU time is subtracted.
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
#include "base/clock.h"
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
    STAT,
    KERNEL
};

/* Raise the limit in such steps, so that it need not be written for every run. */
#define BASE_STEP (UINT64_C(256) << 10)

/* The kernel charges 64 pages in advance on each CPU, and keeps stacks for reuse: so much more may
 * be in use at rest without meaning anything. Tighter, and honest runs would wait for each other.
 */
#define REST_SLACK (UINT64_C(512) << 10)
#define REST_SLACK_CPU (UINT64_C(320) << 10)

/* Kernel memory of some twenty short runs: it comes back in one go when a grace period of RCU ends,
 * about every ten milliseconds. To wait for less would double the time of short runs. */
#define REST_KERNEL (UINT64_C(1536) << 10)

/* Half of those 64 pages: what is expected to lie unused on a CPU when the peak is reached. */
#define AHEAD_HALF (UINT64_C(128) << 10)

/* Pages that the first process has written since it entered its group. */
#define OWN_BYTES (UINT64_C(80) << 10)

/* More than this that does not come back is not worth guessing about: a new container. */
#define REST_LOST (UINT64_C(8) << 20)

enum {
    /* Stacks and task structures of many processes come back some milliseconds after their end. */
    REST_TRIES = 40,
    REST_WAIT_NS = 500000,
    SHORT_US = 3000 /* in a shorter run most likely nothing came back */
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
        {KERNEL, MEMORY, "memory.kmem.usage_in_bytes", O_RDONLY, false},
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
    cg->cpus = (unsigned)sysconf(_SC_NPROCESSORS_ONLN);
    cg->slack_bytes = REST_SLACK + REST_SLACK_CPU * cg->cpus;
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
    if (cg->run_dir >= 0) {
        box_cg_read_cpu_stat(cg->fd[CPU], u);
        return;
    }
    /* In this order: asking for our own clock makes the kernel book us. The other way round we
     * would take off what the group was not yet charged with, up to a tick of it. */
    int64_t own = box_cg_own_cpu_us();
    u->cpu_us = (int64_t)(box_cg_read_u64(cg->fd[CPU]) / 1000) - own;
}

static void read_counters(struct box_cg *cg, struct box_usage *now)
{
    uint64_t pids = box_cg_read_u64(cg->fd[PIDS_NOW]);

    read_cpu(cg, now);
    now->oom_kills = box_cg_read_oom(cg->fd[OOM]);
    now->pids_now = pids > 0 ? (uint32_t)(pids - 1) : 0;
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

/* Use before the run. Not simply what the group says: some of that was charged in advance and is
 * given to the program, which would then look smaller than it is. So it is put together from what
 * is known to the page: files, the first process's own pages, kernel memory. The last is not at
 * rest: stacks and task structures of the ten runs before may still wait for the kernel to give
 * them back. */
static void note_base(struct box_cg *cg, uint64_t now)
{
    uint64_t kernel = box_cg_read_u64(cg->fd[KERNEL]);
    uint64_t rest = now > kernel ? now - kernel : 0;

    if (cg->floor_bytes == 0 || rest < cg->floor_bytes) {
        cg->floor_bytes = rest;
        cg->cached_bytes = 0; /* some of it may be gone: asked again when it matters */
    }
    if (cg->kernel_floor == 0 || kernel < cg->kernel_floor)
        cg->kernel_floor = kernel;
    cg->kernel_bytes = kernel;
    cg->base_bytes = cg->files_bytes + OWN_BYTES + cg->cached_bytes;
    if (cg->base_bytes > cg->floor_bytes)
        cg->base_bytes = cg->floor_bytes;
    if (rest > cg->floor_bytes + cg->slack_bytes) /* stays, as it seems: see calm() */
        cg->base_bytes = rest - cg->slack_bytes;
}

static int begin(struct box_cg *cg, const struct tbox_limits *l, struct tr_err *err)
{
    uint64_t now = box_cg_read_u64(cg->fd[USAGE]);

    note_base(cg, now);
    /* The program gets all of its limit, whatever stands there already. */
    uint64_t room = (now + BASE_STEP - 1) / BASE_STEP * BASE_STEP;
    int r = set_memory(cg, room + l->memory_bytes, err);
    if (r == 0)
        r = box_cg_set_pids(cg, cg->fd[PIDS_MAX], l->pids, 1, err);
    if (r < 0)
        return r;
    r = box_cg_write_u64(cg->fd[PEAK], 0);
    if (r < 0)
        return tr_fail(err, TR_E_IO, -r, "reset the memory peak");
    if (cg->run_dir < 0) /* the first process worked since the last run; hybrid's leaf was empty */
        read_cpu(cg, &cg->before);
    cg->pids_seen = 0;
    cg->marked = false;
    cg->begun_us = tr_clock_mono_us();
    return 0;
}

static int sample(struct box_cg *cg, struct box_usage *ret, struct tr_err *err)
{
    struct box_usage now = {0};

    read_counters(cg, &now);
    box_cg_sampled(cg, &now, ret);
    return 0;
}

static void mark(struct box_cg *cg)
{
    struct box_usage now = {.pressure_us = box_cg_read_pressure(cg->fd[PRESSURE])};

    read_cpu(cg, &now);
    box_cg_mark(cg, &now);
}

/* The peak less what was there before, and less what the kernel had charged in advance then: up to
 * 64 pages on each CPU that took part, the first process's among them, so half of that is the best
 * guess; of a small program's use half. */
static uint64_t program_bytes(struct box_cg *cg, uint64_t peak, uint32_t pids)
{
    uint64_t kernel = cg->kernel_bytes;

    /* It lasted: what waited at its start was given back before its peak, as a rule. */
    if (tr_clock_mono_us() - cg->begun_us > SHORT_US) {
        uint64_t now = box_cg_read_u64(cg->fd[KERNEL]);

        kernel = now < kernel ? now : kernel;
    }
    uint64_t base = cg->base_bytes + kernel;
    uint64_t used = peak > base ? peak - base : 0;
    uint64_t ahead = AHEAD_HALF * (pids + 1 < cg->cpus ? pids + 1 : cg->cpus);
    return ahead < used / 2 ? used - ahead : used - used / 2;
}

static int end(struct box_cg *cg, struct box_usage *ret, struct tr_err *err)
{
    struct box_usage now = {0};
    uint64_t peak = box_cg_read_u64(cg->fd[PEAK]);
    uint64_t most = box_cg_read_u64(cg->fd[PIDS_PEAK]);

    read_counters(cg, &now);
    now.pids_peak = most > 0 ? (uint32_t)(most - 1) : 0;
    if (cg->marked)
        now.pressure_us = box_cg_read_pressure(cg->fd[PRESSURE]);
    box_cg_ended(cg, &now, ret);
    ret->memory_bytes = program_bytes(cg, peak, ret->pids_peak);
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

/* How much more is in use than at rest, and whether that is too much for the next run to begin. */
static bool is_calm(struct box_cg *cg, uint64_t *ret_excess)
{
    uint64_t now = box_cg_read_u64(cg->fd[USAGE]);
    uint64_t kernel = box_cg_read_u64(cg->fd[KERNEL]);
    uint64_t floor = cg->floor_bytes + cg->kernel_floor;

    *ret_excess = now > floor ? now - floor : 0;
    return now <= cg->floor_bytes + kernel + cg->slack_bytes &&
           kernel <= cg->kernel_floor + REST_KERNEL;
}

static int calm(struct box_cg *cg, struct tr_err *err)
{
    const struct timespec wait = {.tv_nsec = REST_WAIT_NS};
    uint64_t excess = 0;

    if (is_calm(cg, &excess))
        return 0;
    uint64_t cached = page_cache(cg);
    if (cached > cg->cached_bytes) {
        cg->floor_bytes += cached - cg->cached_bytes;
        cg->cached_bytes = cached;
    }
    for (int i = 0; i < REST_TRIES && !is_calm(cg, &excess); i++)
        (void)nanosleep(&wait, NULL);
    if (excess <= REST_LOST)
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
    cg->kernel_floor = 0;
}

static uint32_t oom_kills(struct box_cg *cg)
{
    return box_cg_read_oom(cg->fd[OOM]);
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
                                        .oom_kills = oom_kills};

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
                                            .oom_kills = oom_kills};
