/* SPDX-License-Identifier: MIT
 *
 * controller/dispatch.h - which queue is asked next, for whom.
 */
#ifndef CONTROLLER_DISPATCH_H
#define CONTROLLER_DISPATCH_H

#include <jansson.h>
#include <stdint.h>

#include "base/err.h"

struct ctl;
struct dispatch;

int dispatch_new(struct ctl *ctl, struct dispatch **ret, struct tr_err *err);
void dispatch_free(struct dispatch *d);

/* Something may be ready in this queue. */
void dispatch_hint(struct ctl *ctl, const char *queue);
/* A judge has room, or something else changed: hand out what can be. */
void dispatch_kick(struct ctl *ctl);
/* Ask the database what is ready, now and not at the next tick. */
void dispatch_poll(struct ctl *ctl);

/* How many wait, as of the last look and what came since. */
int64_t dispatch_waiting(const struct ctl *ctl);

struct dispatch_totals {
    int64_t ready, scheduled, running, dead;
    double oldest_s;
};
void dispatch_totals(const struct ctl *ctl, struct dispatch_totals *ret);
json_t *dispatch_json(const struct ctl *ctl);
/* For /metrics: one call for each queue. */
struct dispatch_view {
    const char *name;
    int64_t ready, scheduled, running, dead, completed;
    double oldest_s;
};
void dispatch_each(const struct ctl *ctl, void (*fn)(void *arg, const struct dispatch_view *v),
                   void *arg);

#endif
