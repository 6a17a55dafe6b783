/* SPDX-License-Identifier: MIT
 *
 * cmd_queue_stats.c - `tribunal queue stats`.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <tribunal/queue_worker.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "cli/commands.h"
#include "cli/queue_cli.h"

struct options {
    struct queue_common common;
    bool watch, priorities, prometheus;
    int64_t window_us;
};

#define FLAG(name_, field_, doc_)                                                                  \
    {                                                                                              \
        .name = (name_), .type = TR_CONF_BOOL, .at = offsetof(struct options, field_),             \
        .doc = (doc_), .flags = TR_CONF_CLI_ONLY                                                   \
    }

static const struct tr_conf_item items[] = {
    QUEUE_ITEM_DB(struct options),
    QUEUE_ITEM_JSON(struct options),
    FLAG("priorities", priorities, "a line for each priority"),
    FLAG("prometheus", prometheus, "in Prometheus' text format"),
    FLAG("watch", watch, "every second again, redrawn in place on a terminal"),
    {.name = "window",
     .type = TR_CONF_DURATION,
     .at = offsetof(struct options, window_us),
     .fallback = "1m",
     .min = 1000000,
     .max = INT64_C(86400000000),
     .unit = "TIME",
     .doc = "how far back rates and latencies look",
     .flags = TR_CONF_CLI_ONLY},
};

static const struct cli_doc doc = {
    .name = "tribunal queue stats",
    .usage = "--db URL [--json | --prometheus] [--priorities] [--watch] [--window TIME]",
    .summary =
        "Counts jobs by queue and state. The age is that of the oldest ready job; done/s, fail %,\n"
        "p99 wait (created to started), p99 run (started to finished) and tries are of the\n"
        "jobs that finished within the window.",
    .examples =
        "  tribunal queue stats --db sqlite:jobs.db\n"
        "  tribunal queue stats --db postgres://… --watch\n"
        "  tribunal queue stats --db postgres://… --prometheus > /var/lib/node/queue.prom\n",
    .items = items,
    .count = TR_ARRAY_LEN(items),
};

struct view {
    tq *q;
    const struct options *o;
    struct tr_err *err;
    bool more;
};

static const char heading[] = "    ready   running scheduled   waiting      dead completed  oldest "
                              "     done/s fail%  p99 wait  "
                              "p99 run   tries  queue\n";

/* Runs that a finished job took on average. */
static double tries(const struct tq_recent *r)
{
    uint64_t jobs = 0, sum = 0;

    for (int i = 0; i < TQ_ATTEMPT_BUCKETS; i++) {
        jobs += r->attempts[i];
        sum += r->attempts[i] * (uint64_t)(i + 1);
    }
    return jobs ? (double)sum / (double)jobs : 0;
}

static int print_row(void *arg, const struct tq_stat *s)
{
    const struct view *v = arg;
    struct tq_recent r = TQ_RECENT_INIT;
    char age[TR_HUMAN_MAX], wait[TR_HUMAN_MAX], run[TR_HUMAN_MAX];

    int rc = tq_recent(v->q, s->queue, v->o->window_us, &r, v->err);
    if (rc < 0)
        return rc;
    int64_t ends = r.completed + r.dead;
    (void)printf("%9lld %9lld %9lld %9lld %9lld %9lld  %-10s %7.1f %5.1f  %-9s %-9s %5.2f  %s%s\n",
                 (long long)s->ready, (long long)s->running, (long long)s->scheduled,
                 (long long)s->waiting, (long long)s->dead, (long long)s->completed,
                 s->ready ? tr_format_duration_us(s->oldest_ready_us, age) : "-",
                 (double)r.completed * 1e6 / (double)v->o->window_us,
                 ends ? 100.0 * (double)r.dead / (double)ends : 0.0,
                 ends ? tr_format_duration_us(tq_histogram_at(&r.wait, 990), wait) : "-",
                 ends ? tr_format_duration_us(tq_histogram_at(&r.run, 990), run) : "-", tries(&r),
                 s->queue, s->paused ? " (paused)" : "");
    return 0;
}

static int print_priority(void *arg, const struct tq_stat_priority *s)
{
    char age[TR_HUMAN_MAX];

    (void)arg;
    (void)printf("%9lld %9lld %9lld %9lld %9d  %-10s %s\n", (long long)s->ready,
                 (long long)s->running, (long long)s->scheduled, (long long)s->waiting, s->priority,
                 s->ready ? tr_format_duration_us(s->oldest_ready_us, age) : "-", s->queue);
    return 0;
}

static int print_json(void *arg, const struct tq_stat *s)
{
    struct view *v = arg;
    struct tq_recent r = TQ_RECENT_INIT;

    int rc = tq_recent(v->q, s->queue, v->o->window_us, &r, v->err);
    if (rc < 0)
        return rc;
    (void)printf("%s{\"queue_name\": ", v->more ? ", " : "");
    queue_json_text(stdout, s->queue, strlen(s->queue));
    (void)printf(", \"ready\": %lld, \"running\": %lld, \"scheduled\": %lld, \"waiting\": %lld, "
                 "\"dead\": %lld, \"completed\": %lld, \"oldest_ready_us\": %lld, \"paused\": %s",
                 (long long)s->ready, (long long)s->running, (long long)s->scheduled,
                 (long long)s->waiting, (long long)s->dead, (long long)s->completed,
                 (long long)s->oldest_ready_us, s->paused ? "true" : "false");
    (void)printf(", \"recent\": {\"window_us\": %lld, \"completed\": %lld, \"dead\": %lld, "
                 "\"wait_p99_us\": %lld, \"run_p99_us\": %lld, \"attempts\": [",
                 (long long)r.window_us, (long long)r.completed, (long long)r.dead,
                 (long long)tq_histogram_at(&r.wait, 990), (long long)tq_histogram_at(&r.run, 990));
    for (int i = 0; i < TQ_ATTEMPT_BUCKETS; i++)
        (void)printf("%s%llu", i ? ", " : "", (unsigned long long)r.attempts[i]);
    (void)printf("]}}");
    v->more = true;
    return 0;
}

static int print_all(struct view *v)
{
    tr_autofree char *text = NULL;
    int r;

    if (v->o->prometheus) {
        r = tq_prometheus(v->q, &text, v->err);
        if (r >= 0)
            (void)fputs(text, stdout);
        return r;
    }
    if (v->o->common.json) {
        v->more = false;
        (void)printf("{\"queues\": [");
        r = tq_stats(v->q, print_json, v, v->err);
        (void)printf("]}\n");
        return r;
    }
    if (v->o->priorities) {
        (void)printf("    ready   running scheduled   waiting  priority  oldest     queue\n");
        return tq_stats_priorities(v->q, print_priority, v, v->err);
    }
    (void)fputs(heading, stdout);
    return tq_stats(v->q, print_row, v, v->err);
}

/* Until somebody interrupts it. A terminal is redrawn from its top left corner. */
static int watch(struct view *v)
{
    struct timespec second = {.tv_sec = 1};
    bool terminal = isatty(STDOUT_FILENO) && !v->o->common.json;

    for (;;) {
        if (terminal)
            (void)fputs("\033[H\033[2J", stdout);
        int r = print_all(v);
        if (r < 0 || fflush(stdout) == EOF || ferror(stdout))
            return r;
        (void)nanosleep(&second, NULL);
    }
}

int cmd_queue_stats(int argc, char **argv)
{
    TR_CLEANUP(cli_end) struct cli_run run;
    TR_CLEANUP(queue_closep) tq *q = NULL;
    struct tr_err err = TR_ERR_INIT;
    struct options o = {0};
    int code = CLI_OK;

    if (!cli_begin(&run, &doc, &o, argc, argv, &code))
        return code;
    int r = queue_open(o.common.db, &q, &err);
    struct view v = {.q = q, .o = &o, .err = &err};
    if (r >= 0)
        r = o.watch ? watch(&v) : print_all(&v);
    return r < 0 ? cli_fail(&run, &err) : CLI_OK;
}
