/* SPDX-License-Identifier: MIT
 *
 * worker_stats.c - what a worker did, as numbers and as Prometheus' text.
 */
#include <string.h>

#include "queue/worker.h"

static const int64_t bounds[TQ_HISTOGRAM_BUCKETS] = {
    100,    200,    500,     1000,    2000,    5000,     10000,    20000,    50000,     100000,
    200000, 500000, 1000000, 2000000, 5000000, 10000000, 20000000, 50000000, 100000000, INT64_MAX};

int64_t tq_histogram_bound(int i)
{
    return i >= 0 && i < TQ_HISTOGRAM_BUCKETS ? bounds[i] : INT64_MAX;
}

int64_t tq_histogram_at(const struct tq_histogram *h, int permille)
{
    uint64_t want = (h->count * (uint64_t)permille + 999) / 1000, seen = 0;

    for (int i = 0; i < TQ_HISTOGRAM_BUCKETS && h->count; i++) {
        if (seen + h->bucket[i] < want || !h->bucket[i]) {
            seen += h->bucket[i];
            continue;
        }
        int64_t low = i ? bounds[i - 1] : 0;
        if (bounds[i] == INT64_MAX)
            return low;
        return low +
               (int64_t)((double)(bounds[i] - low) * (double)(want - seen) / (double)h->bucket[i]);
    }
    return 0;
}

void tqw_count(tq_worker *w, uint64_t *counter)
{
    (void)pthread_mutex_lock(&w->stats_mu);
    ++*counter;
    (void)pthread_mutex_unlock(&w->stats_mu);
}

void tqw_histogram_add(struct tq_histogram *h, int64_t us)
{
    int i = 0;

    while (us > bounds[i])
        i++;
    h->count++;
    h->sum += us;
    h->bucket[i]++;
}

void tqw_observe(tq_worker *w, struct tq_histogram *h, int64_t us)
{
    (void)pthread_mutex_lock(&w->stats_mu);
    tqw_histogram_add(h, us);
    (void)pthread_mutex_unlock(&w->stats_mu);
}

void tqw_trace(tq_worker *w, const struct tq_trace *t)
{
    struct tq_trace copy = *t;

    copy.size = sizeof(copy);
    if (w->o.trace)
        w->o.trace(w->o.user, &copy);
}

void tqw_trace_error(tq_worker *w, const struct tr_err *err)
{
    tqw_trace(w, &(struct tq_trace){.event = TQ_TRACE_ERROR, .err = err});
}

void tq_worker_stats(tq_worker *w, struct tq_worker_stats *ret)
{
    struct tq_worker_stats s;
    struct tq_run *runs[TQ_CONCURRENCY_MAX];
    size_t size = ret->size < sizeof(s) ? ret->size : sizeof(s);

    (void)pthread_mutex_lock(&w->stats_mu);
    s = w->stats;
    (void)pthread_mutex_unlock(&w->stats_mu);
    s.executors = w->o.concurrency;
    s.running = tqw_running(w, runs);
    s.buffered = tqw_buffered(w);
    s.size = ret->size;
    memcpy(ret, &s, size);
}

/* ---------------------------------------------------------------- Prometheus */

static void add_counter(struct tr_buf *b, const char *name, const char *help, uint64_t v)
{
    tr_buf_addf(b, "# HELP tribunal_worker_%s_total %s\n# TYPE tribunal_worker_%s_total counter\n",
                name, help, name);
    tr_buf_addf(b, "tribunal_worker_%s_total %llu\n", name, (unsigned long long)v);
}

static void add_gauge(struct tr_buf *b, const char *name, const char *help, int v)
{
    tr_buf_addf(b, "# HELP tribunal_worker_%s %s\n# TYPE tribunal_worker_%s gauge\n", name, help,
                name);
    tr_buf_addf(b, "tribunal_worker_%s %d\n", name, v);
}

/* `labels` is "" or ends with a comma. */
void tqw_histogram_text(struct tr_buf *b, const char *name, const char *labels,
                        const struct tq_histogram *h)
{
    int bare = (int)strlen(labels) - (labels[0] != '\0'); /* without the comma */
    uint64_t sum = 0;

    for (int i = 0; i < TQ_HISTOGRAM_BUCKETS; i++) {
        sum += h->bucket[i];
        if (bounds[i] == INT64_MAX)
            tr_buf_addf(b, "%s_bucket{%sle=\"+Inf\"} %llu\n", name, labels,
                        (unsigned long long)sum);
        else
            tr_buf_addf(b, "%s_bucket{%sle=\"%g\"} %llu\n", name, labels, (double)bounds[i] / 1e6,
                        (unsigned long long)sum);
    }
    const char *open = bare ? "{" : "", *close = bare ? "}" : "";
    tr_buf_addf(b, "%s_sum%s%.*s%s %.6f\n", name, open, bare, labels, close, (double)h->sum / 1e6);
    tr_buf_addf(b, "%s_count%s%.*s%s %llu\n", name, open, bare, labels, close,
                (unsigned long long)h->count);
}

static void add_histogram(struct tr_buf *b, const char *name, const char *help,
                          const struct tq_histogram *h)
{
    char full[64];

    (void)snprintf(full, sizeof(full), "tribunal_worker_%s_seconds", name);
    tr_buf_addf(b, "# HELP %s %s\n# TYPE %s histogram\n", full, help, full);
    tqw_histogram_text(b, full, "", h);
}

static void add_attempts(struct tr_buf *b, const uint64_t *attempts)
{
    uint64_t sum = 0, total = 0;

    tr_buf_adds(b, "# HELP tribunal_worker_attempts attempts of jobs that ended\n"
                   "# TYPE tribunal_worker_attempts histogram\n");
    for (int i = 0; i < TQ_ATTEMPT_BUCKETS; i++) {
        sum += attempts[i];
        total += attempts[i] * (uint64_t)(i + 1);
        if (i + 1 < TQ_ATTEMPT_BUCKETS)
            tr_buf_addf(b, "tribunal_worker_attempts_bucket{le=\"%d\"} %llu\n", i + 1,
                        (unsigned long long)sum);
    }
    tr_buf_addf(b,
                "tribunal_worker_attempts_bucket{le=\"+Inf\"} %llu\n"
                "tribunal_worker_attempts_sum %llu\ntribunal_worker_attempts_count %llu\n",
                (unsigned long long)sum, (unsigned long long)total, (unsigned long long)sum);
}

int tq_worker_prometheus(tq_worker *w, char **ret, struct tr_err *err)
{
    TR_CLEANUP(tr_buf_done) struct tr_buf b;
    struct tq_worker_stats s = TQ_WORKER_STATS_INIT;
    static const struct {
        const char *name, *help;
        size_t at;
    } counters[] = {
        {"claimed", "jobs claimed", offsetof(struct tq_worker_stats, claimed)},
        {"acked", "runs that succeeded", offsetof(struct tq_worker_stats, acked)},
        {"failed", "runs that failed", offsetof(struct tq_worker_stats, failed)},
        {"buried", "jobs that became dead letters", offsetof(struct tq_worker_stats, buried)},
        {"discarded", "jobs that were not wanted", offsetof(struct tq_worker_stats, discarded)},
        {"snoozed", "jobs put off", offsetof(struct tq_worker_stats, snoozed)},
        {"released", "jobs given back", offsetof(struct tq_worker_stats, released)},
        {"by_handler", "runs settled in a handler's own transaction",
         offsetof(struct tq_worker_stats, by_handler)},
        {"lost", "leases lost", offsetof(struct tq_worker_stats, lost)},
        {"crashed", "children that died in a handler", offsetof(struct tq_worker_stats, crashed)},
        {"overdue", "runs past their deadline", offsetof(struct tq_worker_stats, overdue)},
        {"left_open", "runs that returned inside a transaction",
         offsetof(struct tq_worker_stats, left_open)},
        {"errors", "calls to the database that failed", offsetof(struct tq_worker_stats, errors)},
        {"beats", "statements that renewed leases", offsetof(struct tq_worker_stats, beats)},
        {"fired", "periodic jobs enqueued", offsetof(struct tq_worker_stats, fired)},
    };

    tq_worker_stats(w, &s);
    tr_buf_init(&b, (size_t)1 << 20);
    add_gauge(&b, "executors", "handlers that may run at once", s.executors);
    add_gauge(&b, "running", "handlers that run", s.running);
    add_gauge(&b, "buffered", "jobs claimed and not started", s.buffered);
    add_gauge(&b, "leader", "1: this worker does the maintenance", s.leader);
    for (size_t i = 0; i < TR_ARRAY_LEN(counters); i++)
        add_counter(&b, counters[i].name, counters[i].help,
                    *(const uint64_t *)(const void *)((const char *)&s + counters[i].at));
    add_histogram(&b, "dequeue", "time of the claiming statement", &s.dequeue);
    add_histogram(&b, "ack", "from a handler's return to its settlement", &s.ack);
    add_histogram(&b, "wait", "from available to claimed", &s.wait);
    add_histogram(&b, "run", "time in the handler", &s.run);
    add_attempts(&b, s.attempts);
    int r = tr_buf_check(&b, "metrics", err);
    if (r < 0)
        return r;
    *ret = tr_buf_take(&b);
    return *ret ? 0 : tr_fail(err, TR_E_NOMEM, 0, "no memory for the metrics");
}
