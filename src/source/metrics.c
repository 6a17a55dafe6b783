/* SPDX-License-Identifier: MIT
 *
 * metrics.c - the table of a worker's numbers and their text form.
 */
#include "source/metrics.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name, *label, *help;
} table[TR_M_COUNT] = {
    [TR_M_TASKS_FINISHED] = {"tribunal_tasks_total", "outcome=\"finished\"",
                             "Tasks by what became of them"},
    [TR_M_TASKS_FAULT] = {"tribunal_tasks_total", "outcome=\"retry\"", NULL},
    [TR_M_TASKS_DEAD] = {"tribunal_tasks_total", "outcome=\"dead\"", NULL},
    [TR_M_TASKS_LOST] = {"tribunal_tasks_total", "outcome=\"lost\"", NULL},
    [TR_M_TASKS_SKIPPED] = {"tribunal_tasks_total", "outcome=\"skipped\"", NULL},
    [TR_M_TASKS_DUPLICATE] = {"tribunal_tasks_total", "outcome=\"duplicate\"", NULL},
    [TR_M_TASKS_RETURNED] = {"tribunal_tasks_total", "outcome=\"returned\"", NULL},
    [TR_M_TASKS_BAD] = {"tribunal_tasks_total", "outcome=\"malformed\"", NULL},
    [TR_M_SLOT_DEATHS] = {"tribunal_slot_deaths_total", "", "Slot processes that ended in a task"},
    [TR_M_IN_PROGRESS] = {"tribunal_in_progress_acks_total", "",
                          "Signs of life sent for running tasks"},
    [TR_M_EVENTS] = {"tribunal_events_total", "outcome=\"stored\"",
                     "Events and dead letters published"},
    [TR_M_EVENTS_FAILED] = {"tribunal_events_total", "outcome=\"failed\"", NULL},
    [TR_M_REPUBLISHED] = {"tribunal_republished_total", "",
                          "Tasks that the watchdog published again"},
    [TR_M_LOGS_KEPT] = {"tribunal_logs_total", "outcome=\"kept\"",
                        "Logs of runs brought to the store"},
    [TR_M_LOGS_FAILED] = {"tribunal_logs_total", "outcome=\"failed\"", NULL},
    [TR_M_LOGS_WAITING] = {"tribunal_logs_waiting", "", "Logs of runs that wait in the spool"},
    [TR_M_SLOTS] = {"tribunal_slots", "", "Slots that can judge"},
    [TR_M_SLOTS_BUSY] = {"tribunal_slots_busy", "", "Slots that judge now"},
    [TR_M_BACKLOG] = {"tribunal_backlog", "", "Tasks that wait in the stream for this consumer"},
    [TR_M_CONNECTED] = {"tribunal_connected", "", "1 while the transport is there"},
};

static const struct {
    const char *name, *help;
} times[TR_M_TIMES] = {
    [TR_M_QUEUE_WAIT] = {"tribunal_queue_wait_seconds", "From publishing to the start of judging"},
    [TR_M_JUDGE_TIME] = {"tribunal_judge_seconds", "From the start of judging to the verdict"},
    [TR_M_COMPILE_TIME] = {"tribunal_compile_seconds", "CPU time of compilers"},
};

static const double edges[TR_M_BUCKETS] = {0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
                                           0.5,   1,    2.5,   5,    10,  60};

void tr_metric_time(struct tr_metrics *m, enum tr_metric_time which, int64_t us)
{
    double s = (double)us / 1e6;
    int i = 0;

    while (i < TR_M_BUCKETS && s > edges[i])
        i++;
    m->times[which].bucket[i]++;
    m->times[which].count++;
    m->times[which].sum_s += s;
}

/* A label is a task's word: of ours only, and not without end. */
static const char *label(const struct tr_metrics *m, const char *lang)
{
    bool plain = strspn(lang, "abcdefghijklmnopqrstuvwxyz0123456789_+-") == strlen(lang) &&
                 strlen(lang) < sizeof(m->verdicts[0].lang);

    for (int i = 0; i < m->nverdicts; i++) {
        if (strcmp(m->verdicts[i].lang, lang) == 0)
            return lang;
    }
    return plain && m->nverdicts < TR_M_VERDICTS / 2 ? lang : "other";
}

void tr_metric_verdict(struct tr_metrics *m, const char *lang, const char *verdict)
{
    const char *name = label(m, lang);
    int i = 0;

    while (i < m->nverdicts &&
           (strcmp(m->verdicts[i].lang, name) != 0 || strcmp(m->verdicts[i].verdict, verdict) != 0))
        i++;
    if (i == TR_M_VERDICTS)
        return;
    if (i == m->nverdicts) {
        (void)snprintf(m->verdicts[i].lang, sizeof(m->verdicts[i].lang), "%s", name);
        (void)snprintf(m->verdicts[i].verdict, sizeof(m->verdicts[i].verdict), "%s", verdict);
        m->nverdicts++;
    }
    m->verdicts[i].count++;
}

static void add_times(const struct tr_metrics *m, struct tr_buf *out)
{
    for (int t = 0; t < TR_M_TIMES; t++) {
        uint64_t sum = 0;

        tr_buf_addf(out, "# HELP %s %s.\n# TYPE %s histogram\n", times[t].name, times[t].help,
                    times[t].name);
        for (int i = 0; i < TR_M_BUCKETS; i++) {
            sum += m->times[t].bucket[i];
            tr_buf_addf(out, "%s_bucket{le=\"%g\"} %llu\n", times[t].name, edges[i],
                        (unsigned long long)sum);
        }
        tr_buf_addf(out, "%s_bucket{le=\"+Inf\"} %llu\n%s_sum %.6f\n%s_count %llu\n", times[t].name,
                    (unsigned long long)m->times[t].count, times[t].name, m->times[t].sum_s,
                    times[t].name, (unsigned long long)m->times[t].count);
    }
}

void tr_metrics_text(const struct tr_metrics *m, struct tr_buf *out)
{
    for (int i = 0; i < TR_M_COUNT; i++) {
        if (table[i].help)
            tr_buf_addf(out, "# HELP %s %s.\n# TYPE %s %s\n", table[i].name, table[i].help,
                        table[i].name, i >= TR_M_LOGS_WAITING ? "gauge" : "counter");
        tr_buf_addf(out, "%s%s%s%s %lld\n", table[i].name, *table[i].label ? "{" : "",
                    table[i].label, *table[i].label ? "}" : "", (long long)m->value[i]);
    }
    if (m->nverdicts)
        tr_buf_adds(out, "# HELP tribunal_verdicts_total Verdicts by language.\n"
                         "# TYPE tribunal_verdicts_total counter\n");
    for (int i = 0; i < m->nverdicts; i++)
        tr_buf_addf(out, "tribunal_verdicts_total{language=\"%s\",verdict=\"%s\"} %llu\n",
                    m->verdicts[i].lang, m->verdicts[i].verdict,
                    (unsigned long long)m->verdicts[i].count);
    add_times(m, out);
}
