/* SPDX-License-Identifier: MIT
 *
 * controller/event_wait.h - who waits for the end of which submission; events.c wakes them.
 */
#ifndef CONTROLLER_EVENT_WAIT_H
#define CONTROLLER_EVENT_WAIT_H

#include <stdbool.h>
#include <stdint.h>

struct event_wait;
struct event_waits;

struct event_waits *event_waits_new(void);
void event_waits_free(struct event_waits *ws);

/* As events_wait(), which calls this; events_wait_stop() takes it back. */
struct event_wait *event_wait_add(struct event_waits *ws, const char *submit_id, int64_t timeout_us,
                                  void (*fn)(void *arg, bool ended), void *arg);
/* It has come to its end. */
void event_waits_ended(struct event_waits *ws, const char *submit_id);
/* Whose time is over at `now` (monotonic)? */
void event_waits_late(struct event_waits *ws, int64_t now);

#endif
