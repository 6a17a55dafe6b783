/* SPDX-License-Identifier: MIT
 *
 * controller/server.h - the port: HTTP, WebSocket and TLS by libwebsockets on our loop.
 */
#ifndef CONTROLLER_SERVER_H
#define CONTROLLER_SERVER_H

#include "base/err.h"

struct ctl;

int server_start(struct ctl *ctl, struct tr_err *err);
/* Nobody new is let in; what is open stays. */
void server_deafen(struct ctl *ctl);
void server_stop(struct ctl *ctl);

#endif
