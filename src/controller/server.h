/* SPDX-License-Identifier: MIT
 *
 * controller/server.h - the port: HTTP, WebSocket and TLS by libwebsockets on our loop.
 */
#ifndef CONTROLLER_SERVER_H
#define CONTROLLER_SERVER_H

#include "base/err.h"

struct ctl;

/* From here on SIGHUP reads the certificate again. */
int server_start(struct ctl *ctl, struct tr_err *err);
void server_stop(struct ctl *ctl);

#endif
