/* SPDX-License-Identifier: MIT
 *
 * controller/notify.h - tell systemd how we are, where it asks (NOTIFY_SOCKET, WATCHDOG_USEC).
 */
#ifndef CONTROLLER_NOTIFY_H
#define CONTROLLER_NOTIFY_H

void notify_say(const char *state);
/* From the loop's tick: so the watchdog sees a loop that stands still. */
void notify_alive(void);

#endif
