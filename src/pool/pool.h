/* SPDX-License-Identifier: MIT
 *
 * pool/pool.h - the slots of a worker: processes that judge, each one task at a time.
 *
 * The pool starts them, feeds them, restarts what dies and says what became of each task. It knows
 * no transport: a source gives tasks with tr_pool_give() when tr_pool_free() says there is room,
 * and hears of each exactly one of result, fault or died.
 *
 * Everything happens on the loop's thread. Callbacks may call back into the pool.
 */
#ifndef POOL_POOL_H
#define POOL_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "rt/loop.h"

struct tr_pool;

struct tr_pool_result {
    const char *verdict; /* "AC" … "JE" */
    const char *lang;
    int64_t score; /* millionths of a point */
    int64_t time_ms, memory_kb;
    int64_t compile_us, judged_us;
    const char *fault;     /* with JE: why; else "" */
    bool late;             /* JE because it took too long: trying again would too */
    const char *log_error; /* the logs in the spool folder are not whole: why; or NULL */
    const char *json;      /* the result event of seed 000 §4.2 */
    size_t json_len;
};

/* `user` is what tr_pool_give() was given. Texts live during the call only. */
struct tr_pool_events {
    void *arg;
    void (*progress)(void *arg, void *user, const char *json, size_t len); /* may be NULL */
    void (*result)(void *arg, void *user, const struct tr_pool_result *r);
    /* Ours, not the program's. `final`: trying again cannot help. */
    void (*fault)(void *arg, void *user, const char *why, bool final);
    /* The slot process ended in the middle: "killed by SIGSEGV", "exit code 3". */
    void (*died)(void *arg, void *user, const char *how);
    /* A slot has become free: there may be room for another task. May be NULL. */
    void (*room)(void *arg);
    /* A slot cannot start (no box, no languages): why. It is tried again with a growing pause. */
    void (*broken)(void *arg, const char *why);
};

struct tr_pool_conf {
    struct tr_loop *loop;
    size_t slots;
    const char *program; /* executable that runs tr_slot_main(TR_SLOT_FD) … */
    const char *arg;     /* … when this is its only argument; "slot" */
    const char *setup;   /* tr_slot_setup_write(); copied */
    int64_t hard_us;     /* a task that takes longer has its slot killed; 0: 65 minutes */
    struct tr_pool_events events;
};

int tr_pool_open(const struct tr_pool_conf *conf, struct tr_pool **ret, struct tr_err *err);
/* Kills what still runs; no callback is called any more. */
void tr_pool_close(struct tr_pool *p);

size_t tr_pool_free(const struct tr_pool *p);  /* slots that could take a task now */
size_t tr_pool_busy(const struct tr_pool *p);  /* slots that have one */
size_t tr_pool_alive(const struct tr_pool *p); /* slots that are ready, busy or not */

/* Give a task (the JSON of seed 000 §4.1) to a free slot. `spool`: folder for its logs, or NULL.
 * TR_E_BUSY when none is free. */
int tr_pool_give(struct tr_pool *p, void *user, const void *task, size_t len, const char *spool,
                 struct tr_err *err);

/* Ask the slot that has `user` to stop (it answers with a fault), or end it at once: then nothing
 * more is heard of this task. */
void tr_pool_cancel(struct tr_pool *p, void *user);
void tr_pool_kill(struct tr_pool *p, void *user);

#endif
