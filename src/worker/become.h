/* SPDX-License-Identifier: MIT
 *
 * worker/become.h - a worker that root started becomes somebody with fewer rights.
 */
#ifndef WORKER_BECOME_H
#define WORKER_BECOME_H

#include "worker/options.h"

/* Of --user: its home counts from now on, for the defaults that depend on it. */
int become_home(const struct worker_options *o, struct tr_err *err);

/* Start the launcher of boxes (o->launcher), give the worker's own folders to the user, and be it.
 * What runs from here on, slots too, has none of root's rights; only the launcher and the helpers
 * that it starts do. */
int become(struct worker_options *o, struct tr_arena *arena, struct tr_err *err);

#endif
