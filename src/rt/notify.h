/* SPDX-License-Identifier: MIT
 *
 * rt/notify.h - what a program tells systemd about itself (sd_notify's protocol, no library).
 *
 * Everything is nothing when NOTIFY_SOCKET is not set, so programs call it always.
 */
#ifndef RT_NOTIFY_H
#define RT_NOTIFY_H

#include "rt/loop.h"

/* Say that the program is ready, and from then on that its loop turns, twice as often as the
 * unit's WatchdogSec= wants to hear it. `status` is a sentence for `systemctl status`. */
void tr_notify_ready(struct tr_loop *l, const char *status);
void tr_notify_status(const char *status);
void tr_notify_stopping(void);

#endif
