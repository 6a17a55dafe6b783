/* SPDX-License-Identifier: MIT
 *
 * controller/event_prune.h - old events go.
 */
#ifndef CONTROLLER_EVENT_PRUNE_H
#define CONTROLLER_EVENT_PRUNE_H

#include <stdint.h>

struct ctl;

/* Delete the events up to this id, some time. */
void event_prune(struct ctl *ctl, int64_t up_to);

#endif
