/* SPDX-License-Identifier: MIT
 *
 * tasks.c - what the tasks of a container are doing, as its own /proc tells.
 *
 * Names that a program chose stand in these files: a line is read from behind its last ')'. No
 * memory is allocated: on v1 it would be on the program's bill, and readdir() takes 32 KiB.
 */
#include "box/tasks.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "box/cgroup.h"

void box_tasks_open(struct box_tasks *t, int dir, const char *path)
{
    t->dir = dir < 0 ? -1 : openat(dir, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    t->len = 0;
    t->at = 0;
}

void box_tasks_close(struct box_tasks *t)
{
    tr_close(&t->dir);
}

const char *box_tasks_next(struct box_tasks *t)
{
    for (;;) {
        if (t->at >= t->len) {
            t->len = t->dir < 0 ? 0 : getdents64(t->dir, t->entries, sizeof(t->entries));
            t->at = 0;
        }
        if (t->len <= 0)
            return NULL;
        const struct dirent64 *e = (const void *)(t->entries + t->at);
        t->at += e->d_reclen;
        if (e->d_name[0] >= '1' && e->d_name[0] <= '9')
            return e->d_name;
    }
}

char *box_tasks_stat(const struct box_tasks *t, const char *id, char *text, size_t size)
{
    char path[32];

    (void)snprintf(path, sizeof(path), "%.20s/stat", id);
    tr_autoclose int fd = openat(t->dir, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || box_cg_read(fd, text, size) <= 0)
        return NULL;
    char *at = strrchr(text, ')');
    return at && at[1] == ' ' ? at + 2 : NULL;
}

/* Calls fn for the threads of one process; true as soon as fn says so. */
static bool any_thread(const struct box_tasks *all, const char *pid, box_tasks_fn *fn,
                       const void *arg)
{
    TR_CLEANUP(box_tasks_close) struct box_tasks threads;
    char path[32];

    (void)snprintf(path, sizeof(path), "%.20s/task", pid);
    box_tasks_open(&threads, all->dir, path);
    for (const char *tid; (tid = box_tasks_next(&threads)) != NULL;) {
        if (fn(&threads, tid, arg))
            return true;
    }
    return false;
}

bool box_tasks_any(int proc, box_tasks_fn *fn, const void *arg)
{
    TR_CLEANUP(box_tasks_close) struct box_tasks all;

    box_tasks_open(&all, proc, ".");
    for (const char *pid; (pid = box_tasks_next(&all)) != NULL;) {
        if (strcmp(pid, "1") != 0 && any_thread(&all, pid, fn, arg)) /* 1 is us, looking */
            return true;
    }
    return false;
}

/* It wants a CPU, or waits for a disk: that is the host's time, not the program's. */
static bool thread_awake(const struct box_tasks *threads, const char *tid, const void *arg)
{
    char text[1024];
    const char *state = box_tasks_stat(threads, tid, text, sizeof(text));

    return state && (*state == 'R' || *state == 'D');
}

bool box_tasks_awake(int proc)
{
    return box_tasks_any(proc, thread_awake, NULL);
}
