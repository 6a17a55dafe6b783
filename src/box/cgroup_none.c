/* SPDX-License-Identifier: MIT
 *
 * cgroup_none.c - no control group at all: what can be had from the processes themselves.
 *
 * Weaker, and the report and the doctor say so: memory is limited per process (RLIMIT_DATA) and
 * reported as the largest resident set of one of them; CPU time that a process spends after its
 * parent chose not to wait for it is lost until the wall limit; processes are counted per uid.
 * Shared mappings, which RLIMIT_DATA does not know, are seen by looking at the resident sets every
 * LOOK_US; files in memory without a path (memfd) do not exist in this mode (seccomp.c).
 */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "box/cgroup.h"
#include "box/tasks.h"

enum {
    PROC /* folder fd of /proc, given by init.c */
};

enum {
    /* In this time a program can touch some 40 MiB; a look costs some 20 us for each process. */
    LOOK_US = 20000,
    /* /proc/PID/stat from the state on: fields before utime, and from cstime to the resident set.
     */
    FIELD_UTIME = 11,
    FIELDS_TO_RSS = 6
};

static int make(struct box_cg *cg, const char *name, uid_t owner, struct tr_err *err)
{
    return 0;
}

static int enter(struct box_cg *cg, pid_t pid, struct tr_err *err)
{
    return 0;
}

static int64_t tv_us(struct timeval t)
{
    return (int64_t)t.tv_sec * 1000000 + t.tv_usec;
}

static void reaped(struct box_usage *u)
{
    struct rusage ru = {0};

    (void)getrusage(RUSAGE_CHILDREN, &ru);
    u->user_us = tv_us(ru.ru_utime);
    u->system_us = tv_us(ru.ru_stime);
    u->cpu_us = u->user_us + u->system_us;
}

static int begin(struct box_cg *cg, const struct tbox_limits *l, struct tr_err *err)
{
    reaped(&cg->before);
    cg->pids_seen = 0;
    cg->limit_bytes = l->memory_bytes;
    return 0;
}

/* utime, stime, cutime and cstime of one process, in microseconds, and its resident set. */
static int64_t process_us(const struct box_tasks *all, const char *pid, uint64_t *ret_bytes)
{
    char text[1024];
    unsigned long long t[4] = {0};
    char *at = box_tasks_stat(all, pid, text, sizeof(text));

    for (int field = 0; at && field < FIELD_UTIME; field++) {
        at = strchr(at, ' ');
        at = at ? at + 1 : NULL;
    }
    for (int i = 0; at && i < 4; i++)
        t[i] = strtoull(at, &at, 10);
    for (int field = 0; at && field < FIELDS_TO_RSS; field++)
        at = strchr(at + 1, ' ');
    *ret_bytes = at ? strtoull(at, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
    return (int64_t)(t[0] + t[1] + t[2] + t[3]) * (1000000 / sysconf(_SC_CLK_TCK));
}

static int sample(struct box_cg *cg, struct box_usage *ret, struct tr_err *err)
{
    TR_CLEANUP(box_tasks_close) struct box_tasks all;
    struct box_usage now = {0};
    uint32_t count = 0;

    reaped(&now);
    *ret = (struct box_usage){.cpu_us = now.cpu_us - cg->before.cpu_us};
    box_tasks_open(&all, cg->fd[PROC], ".");
    for (const char *pid; (pid = box_tasks_next(&all)) != NULL;) {
        uint64_t bytes = 0;

        if (strcmp(pid, "1") == 0)
            continue;
        ret->cpu_us += process_us(&all, pid, &bytes);
        if (bytes > cg->limit_bytes)
            ret->oom_kills = 1; /* by us, in a moment */
        count++;
    }
    ret->pids_now = count;
    if (count > cg->pids_seen)
        cg->pids_seen = count;
    return 0;
}

static void mark(struct box_cg *cg)
{
}

static int end(struct box_cg *cg, struct box_usage *ret, struct tr_err *err)
{
    struct box_usage now = {0};

    reaped(&now);
    *ret = (struct box_usage){.cpu_us = now.cpu_us - cg->before.cpu_us,
                              .user_us = now.user_us - cg->before.user_us,
                              .system_us = now.system_us - cg->before.system_us,
                              .pids_peak = cg->pids_seen > 0 ? cg->pids_seen : 1};
    return 0;
}

static int rest(struct box_cg *cg, struct tr_err *err)
{
    return 0;
}

static uint32_t oom_kills(struct box_cg *cg)
{
    return 0;
}

static int calm(struct box_cg *cg, struct tr_err *err)
{
    return 0;
}

static void grown(struct box_cg *cg)
{
}

const struct box_cg_driver box_cg_none = {.mode = TBOX_CGROUP_NONE,
                                          .look_us = LOOK_US,
                                          .make = make,
                                          .enter = enter,
                                          .settle = enter,
                                          .begin = begin,
                                          .sample = sample,
                                          .mark = mark,
                                          .end = end,
                                          .calm = calm,
                                          .rest = rest,
                                          .grown = grown,
                                          .oom_kills = oom_kills};
