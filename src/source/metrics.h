/* SPDX-License-Identifier: MIT
 *
 * source/metrics.h - numbers of a worker, as Prometheus reads them.
 *
 * On the loop's thread. The table in metrics.c is the list of what there is.
 */
#ifndef SOURCE_METRICS_H
#define SOURCE_METRICS_H

#include <stdint.h>

#include "base/buf.h"

enum tr_metric {
    TR_M_TASKS_FINISHED,
    TR_M_TASKS_FAULT,
    TR_M_TASKS_DEAD,
    TR_M_TASKS_LOST,    /* another has the run, or it was cancelled */
    TR_M_TASKS_SKIPPED, /* redelivered after their end, stale, cancelled */
    TR_M_TASKS_DUPLICATE,
    TR_M_TASKS_RETURNED, /* given back: busy elsewhere, drain, database away */
    TR_M_TASKS_BAD,      /* no task at all */
    TR_M_SLOT_DEATHS,
    TR_M_IN_PROGRESS,
    TR_M_EVENTS,
    TR_M_EVENTS_FAILED,
    TR_M_REPUBLISHED,
    TR_M_LOGS_KEPT,
    TR_M_LOGS_FAILED,
    /* gauges from here */
    TR_M_LOGS_WAITING,
    TR_M_SLOTS,
    TR_M_SLOTS_BUSY,
    TR_M_BACKLOG,
    TR_M_CONNECTED,
    TR_M_COUNT
};

enum tr_metric_time {
    TR_M_QUEUE_WAIT,
    TR_M_JUDGE_TIME,
    TR_M_COMPILE_TIME,
    TR_M_TIMES
};

enum {
    TR_M_VERDICTS = 256, /* pairs of language and verdict; more are counted as "other" */
    TR_M_BUCKETS = 12
};

struct tr_metrics {
    int64_t value[TR_M_COUNT];
    struct {
        uint64_t bucket[TR_M_BUCKETS + 1];
        uint64_t count;
        double sum_s;
    } times[TR_M_TIMES];
    struct {
        char lang[24];
        char verdict[8];
        uint64_t count;
    } verdicts[TR_M_VERDICTS];
    int nverdicts;
};

static inline void tr_metric_add(struct tr_metrics *m, enum tr_metric which)
{
    m->value[which]++;
}
void tr_metric_time(struct tr_metrics *m, enum tr_metric_time which, int64_t us);
void tr_metric_verdict(struct tr_metrics *m, const char *lang, const char *verdict);

/* The whole page. */
void tr_metrics_text(const struct tr_metrics *m, struct tr_buf *out);

#endif
