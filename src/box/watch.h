/* SPDX-License-Identifier: MIT
 *
 * box/watch.h - from the start of a program to the death of all it started.
 */
#ifndef BOX_WATCH_H
#define BOX_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/err.h"
#include "box/cgroup.h"
#include "box/spec.h"
#include "box/urgent.h"

struct box_watch {
    struct box_cg *cg;
    int sock;    /* the library: may ask for the end */
    int signals; /* signalfd for SIGCHLD */
    pid_t pid;
    int64_t started_us;
    unsigned cpus; /* how many it can use at once */
    int cpu;       /* which one, when it is tied to it, or negative */
    struct box_urgent *urgent;
    int proc;        /* a /proc that shows the program's processes, or -1 */
    int64_t idle_us; /* tell the library when it waits this long; 0: never */
    struct {
        int64_t cpu_us; /* used when the present quiet began */
        int64_t since_us;
        unsigned looks;
        bool told;
    } quiet;
    bool resting; /* nothing was used between the last two looks */
    /* Out: */
    int status;
    int64_t wall_us;
    enum tbox_cause ended_by;
    uint32_t killed;
    uint64_t maxrss_bytes;
    int64_t seen_us;     /* the most CPU time that was booked at a look */
    struct rusage usage; /* of the first process and what it waited for */
    bool peer_gone;
};

/* Until the program's first process ends or a limit is reached; w->ended_by says which. */
int box_watch_run(struct box_watch *w, const struct tbox_limits *limits, struct tr_err *err);

/* Kill everything in the pid namespace and reap it; proof is that the first process has no child
 * left. Sets killed, and status when the program's process is among them. */
int box_watch_kill_all(struct box_watch *w, struct tr_err *err);

#endif
