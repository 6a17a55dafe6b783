/* SPDX-License-Identifier: MIT
 *
 * rt/loop.h - the event loop of our programs: libuv, with an orderly end.
 *
 * Use libuv's own handles on tr_loop_uv(); this adds only what every program needs and gets wrong:
 * signals that ask for a stop, work handed over from library threads, and a close that leaves
 * nothing open.
 */
#ifndef RT_LOOP_H
#define RT_LOOP_H

#include <uv.h>

#include "base/err.h"

struct tr_loop;

/* All calls but tr_loop_post() belong to the thread that runs the loop. */
int tr_loop_new(struct tr_loop **ret, struct tr_err *err);

/* Closes every handle that is still open (their close callbacks are not called) and frees. */
void tr_loop_free(struct tr_loop *l);

uv_loop_t *tr_loop_uv(struct tr_loop *l);

/* Runs until tr_loop_stop() or nothing is left to wait for. */
void tr_loop_run(struct tr_loop *l);
void tr_loop_stop(struct tr_loop *l);
/* One turn without waiting. What was posted is run, also when nothing else is left in the loop. */
void tr_loop_turn(struct tr_loop *l);

/* Call `fn` on SIGTERM and SIGINT with how many came so far: the first asks for a drain, the second
 * for an end now. */
int tr_loop_on_stop_signal(struct tr_loop *l, void (*fn)(void *arg, unsigned times), void *arg,
                           struct tr_err *err);

/* From any thread: run fn(arg) on the loop, in the order posted. TR_E_LIMIT when TR_LOOP_POSTS_MAX
 * are waiting (the poster has to slow down), TR_E_LOST when the loop is being freed. */
enum {
    TR_LOOP_POSTS_MAX = 65536
};
int tr_loop_post(struct tr_loop *l, void (*fn)(void *arg), void *arg, struct tr_err *err);

#endif
