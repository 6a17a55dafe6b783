/* SPDX-License-Identifier: MIT
 *
 * source/ws_logs.h - a judging's log files to the controller, by PUT, beside the loop.
 */
#ifndef SOURCE_WS_LOGS_H
#define SOURCE_WS_LOGS_H

#include "rt/loop.h"

struct tr_ws_logs;

int tr_ws_logs_new(struct tr_loop *loop, const char *ca_file, struct tr_ws_logs **ret,
                   struct tr_err *err);
/* The loop has to turn for it: what is being sent is stopped. */
void tr_ws_logs_free(struct tr_ws_logs *l);

/* Send every file of `folder` to url/NAME and remove the folder, whatever happens: logs never spoil
 * a judging. With too many waiting they are dropped. */
void tr_ws_logs_put(struct tr_ws_logs *l, const char *folder, const char *url,
                    const char *credential);
/* Remove only. */
void tr_ws_logs_drop(const char *folder);

#endif
