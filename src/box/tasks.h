/* SPDX-License-Identifier: MIT
 *
 * box/tasks.h - the tasks of a container, for its first process. `proc` is the folder of a /proc
 * that shows them, or -1: then there are none to be seen.
 */
#ifndef BOX_TASKS_H
#define BOX_TASKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether a thread of the program runs, waits for a CPU, or waits for a disk. */
bool box_tasks_awake(int proc);

/* The numbered folders below one; none when it cannot be read. */
struct box_tasks {
    int dir;
    int64_t len;
    int64_t at;
    _Alignas(8) char entries[1024];
};
void box_tasks_open(struct box_tasks *t, int dir, const char *path);
void box_tasks_close(struct box_tasks *t);
const char *box_tasks_next(struct box_tasks *t); /* a name, until the next call; NULL: no more */
/* The file `stat` of one of them, from the state on, in `text`; NULL when it has ended. */
char *box_tasks_stat(const struct box_tasks *t, const char *id, char *text, size_t size);

/* Each thread of each process but our own, until fn says true. */
typedef bool box_tasks_fn(const struct box_tasks *threads, const char *tid, const void *arg);
bool box_tasks_any(int proc, box_tasks_fn *fn, const void *arg);

#endif
