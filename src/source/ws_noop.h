/* SPDX-License-Identifier: MIT
 *
 * source/ws_noop.h - a judge that judges nothing: what the controller and the wire cost.
 *
 * For `tribunal bench ws` and for tests that need thousands of verdicts and no compiler. The
 * verdict is what the source code says: a text with "verdict:WA" is WA, others are AC.
 */
#ifndef SOURCE_WS_NOOP_H
#define SOURCE_WS_NOOP_H

#include "source/ws.h"

struct tr_ws_noop;

/* Each task takes `delay_us` (0: until the loop's next turn). Frees itself when tr_ws_noop_free()
 * was called and libuv has closed its timer. */
int tr_ws_noop_new(struct tr_loop *loop, unsigned slots, int64_t delay_us, struct tr_ws_noop **ret,
                   struct tr_err *err);
void tr_ws_noop_free(struct tr_ws_noop *n);

/* How it is plugged into a source, or into several. */
struct tr_ws_work tr_ws_noop_work(struct tr_ws_noop *n);

#endif
