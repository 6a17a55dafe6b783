/* SPDX-License-Identifier: MIT
 *
 * cgroup_count.c - counters of control groups, read the same way by every driver that has them.
 *
 * A driver knows which file is where; what stands in the files and what two readings of them say
 * about the run in between is written here, once.
 */
#include <stdio.h>
#include <string.h>

#include "box/cgroup.h"

void box_cg_read_cpu_stat(int fd, struct box_usage *u)
{
    char text[768];

    (void)box_cg_read(fd, text, sizeof(text));
    u->cpu_us = (int64_t)box_cg_field(text, "usage_usec");
    u->user_us = (int64_t)box_cg_field(text, "user_usec");
    u->system_us = (int64_t)box_cg_field(text, "system_usec");
    u->throttled_us = (int64_t)box_cg_field(text, "throttled_usec");
}

uint32_t box_cg_read_oom(int fd)
{
    char text[256];

    if (fd < 0 || box_cg_read(fd, text, sizeof(text)) <= 0)
        return 0;
    return (uint32_t)box_cg_field(text, "oom_kill");
}

int64_t box_cg_read_pressure(int fd)
{
    char text[256];
    char line[64];

    if (fd < 0 || box_cg_read(fd, text, sizeof(text)) <= 0)
        return 0;
    const char *total = strstr(text, "total=");
    if (!total)
        return 0;
    (void)snprintf(line, sizeof(line), "total %.40s", total + 6);
    return (int64_t)box_cg_field(line, "total");
}

void box_cg_mark(struct box_cg *cg, const struct box_usage *now)
{
    cg->throttled_mark = now->throttled_us;
    cg->pressure_mark = now->pressure_us;
    cg->marked = true;
}

int box_cg_set_pids(struct box_cg *cg, int fd, uint32_t limit, uint32_t others, struct tr_err *err)
{
    if (limit == cg->pids_limit)
        return 0;
    int r = box_cg_write_u64(fd, (uint64_t)limit + others);
    if (r < 0)
        return tr_fail(err, TR_E_IO, -r, "set the process limit");
    cg->pids_limit = limit;
    return 0;
}

void box_cg_sampled(struct box_cg *cg, const struct box_usage *now, struct box_usage *ret)
{
    *ret = (struct box_usage){.cpu_us = now->cpu_us - cg->before.cpu_us,
                              .oom_kills = now->oom_kills - cg->before.oom_kills,
                              .pids_now = now->pids_now};
    if (now->pids_now > cg->pids_seen)
        cg->pids_seen = now->pids_now;
}

void box_cg_ended(struct box_cg *cg, const struct box_usage *now, struct box_usage *ret)
{
    uint32_t highest = cg->before.pids_peak;

    *ret = (struct box_usage){
        .cpu_us = now->cpu_us - cg->before.cpu_us,
        .user_us = now->user_us - cg->before.user_us,
        .system_us = now->system_us - cg->before.system_us,
        .oom_kills = now->oom_kills - cg->before.oom_kills,
        .pids_now = now->pids_now,
        .throttled_us = cg->marked ? now->throttled_us - cg->throttled_mark : 0,
        .pressure_us = cg->marked ? now->pressure_us - cg->pressure_mark : 0,
        .pids_peak = cg->pids_seen > 0 ? cg->pids_seen : 1,
    };
    /* pids.peak never goes down: it speaks of this run only when it has grown. */
    if (now->pids_peak > highest)
        ret->pids_peak = highest = now->pids_peak;
    cg->before = *now;
    cg->before.pids_peak = highest;
}
