/* SPDX-License-Identifier: MIT
 *
 * controller/metrics.h - numbers: since the start, by the second for charts, and for Prometheus.
 */
#ifndef CONTROLLER_METRICS_H
#define CONTROLLER_METRICS_H

#include <jansson.h>
#include <stdint.h>

#include "base/buf.h"

struct ctl;
struct metrics;

struct metrics *metrics_new(void);
void metrics_free(struct metrics *m);

void metrics_http(struct ctl *ctl, const char *route, int status);
void metrics_submitted(struct ctl *ctl);
void metrics_finished(struct ctl *ctl, const char *lang, const char *verdict, int64_t took_us);
void metrics_fault(struct ctl *ctl, const char *lang);
void metrics_stale(struct ctl *ctl);
/* Waiting time of a task that was handed out. */
void metrics_waited(struct ctl *ctl, int64_t us);
/* Once a second: close the step of the series. */
void metrics_second(struct ctl *ctl);

json_t *metrics_stats(struct ctl *ctl, int minutes);
json_t *metrics_stats_event(struct ctl *ctl);
void metrics_text(struct ctl *ctl, struct tr_buf *b);

#endif
