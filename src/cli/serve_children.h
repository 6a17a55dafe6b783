/* SPDX-License-Identifier: MIT
 *
 * cli/serve_children.h - programs that run as long as we do: started, restarted, ended in order.
 */
#ifndef CLI_SERVE_CHILDREN_H
#define CLI_SERVE_CHILDREN_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    CHILDREN_MAX = 66,
    CHILD_ARGS_MAX = 24
};

struct child {
    pid_t pid; /* 0: not running */
    char name[32];
    char *argv[CHILD_ARGS_MAX];
    void (*run)(void *arg); /* instead of a program: in a process of its own */
    void *arg;
    int64_t started_us;
    unsigned ends; /* how often it ended, … */
    int code;      /* … and its exit code then; -1: by a signal */
};

struct children { /* zero at first */
    struct child list[CHILDREN_MAX];
    size_t count;
};

/* The caller adds at most CHILDREN_MAX. */
struct child *child_add(struct children *s, const char *name);
void child_arg(struct child *c, const char *word);
void child_pair(struct child *c, const char *name, const char *value); /* NULL: leaves both out */

/* Start what does not run; what ended a moment ago waits a second. */
void children_start(struct children *s);
void children_reap(struct children *s, bool stopping);
/* The first child serves the others: it ends last, so that they can give back to it what they did
 * not begin. `set` is blocked and has SIGCHLD and the stop signals, of which one more means now. */
void children_stop(struct children *s, const sigset_t *set);
void children_done(struct children *s);

#endif
