/* SPDX-License-Identifier: MIT
 *
 * controller/backend_ws.h - web backends over a WebSocket: doc/protocol.md §3.
 */
#ifndef CONTROLLER_BACKEND_WS_H
#define CONTROLLER_BACKEND_WS_H

#include "controller/conn.h"

/* While its headers can still be read. -1: refused. */
int backend_ws_upgrade(struct conn *c);
int backend_ws_open(struct conn *c);
/* Those who did not say who they are in time, and those whose key is gone: from the tick. */
void backend_ws_tick(struct ctl *ctl);
/* The controller stops: everybody is told. */
void backend_ws_bye(void);

#endif
