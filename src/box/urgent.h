/* SPDX-License-Identifier: MIT
 *
 * box/urgent.h - a first process that is on time when a program comes close to its CPU limit.
 */
#ifndef BOX_URGENT_H
#define BOX_URGENT_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    BOX_CPUS_MAX = 8192 /* what a kernel can be built for */
};

/* cpu_set_t itself ends at 1024; the macros with _S take its first part for the whole. */
union box_cpus {
    cpu_set_t first;
    unsigned char bytes[BOX_CPUS_MAX / 8];
};

struct box_urgent {
    const uint64_t *key; /* of the filter */
    union box_cpus cpus; /* that a program may use, and we */
    int ctl;             /* to the helper */
    bool asked;          /* and no answer yet */
    bool refused;        /* for good: the helper cannot */
    bool on;
};

/* Which CPUs there are. Returns how many, 1 at least. */
unsigned box_urgent_init(struct box_urgent *u, int ctl, const uint64_t key[2]);

/* Ask the helper that nobody keeps us from a CPU any more; u->on says whether it is so by now, so
 * call it at each look. Not for work that takes long: others wait meanwhile. */
void box_urgent_begin(struct box_urgent *u);
/* Afterwards we are as everybody else, also when the answer was still on its way. */
void box_urgent_end(struct box_urgent *u);

/* Have the kernel book what is running now on `cpu`, or on all of them when it is negative. Does
 * nothing unless urgent: who has to wait for his turn on a full CPU comes too late everywhere. */
void box_urgent_visit(const struct box_urgent *u, int cpu);

/* Tie a thread, 0 for ourselves, to one CPU. Async-signal-safe; 0 or an errno. */
int box_urgent_go(pid_t who, int cpu, const uint64_t key[2]);

#endif
