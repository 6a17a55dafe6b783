/* SPDX-License-Identifier: MIT
 *
 * t_metrics.c - what the queue and its worker tell of themselves: counts, histograms, Prometheus.
 */
#include <tribunal/queue_worker.h>

#include "conf.h"

static int no_op(struct tq_run *run, const struct tq_job *job, void *user)
{
    (void)run;
    (void)job;
    (void)user;
    return 0;
}

static void the_metrics_are_prometheus_text(void **state)
{
    struct tq_worker_opts o = TQ_WORKER_OPTS_INIT;
    struct tq_opts q;
    tq_worker *w = NULL;
    char *text = NULL;

    (void)state;
    o.flags = TQ_WORKER_UNTIL_EMPTY;
    q = opts();
    o.url = E.url;
    o.queue = &q;
    OK(tq_worker_new(&w, &o, &E.err));
    OK(tq_worker_handle(w, NULL, NULL, no_op, NULL, &E.err));
    put("default", "x");
    OK(tq_worker_run(w, &E.err));
    OK(tq_worker_prometheus(w, &text, &E.err));
    tq_worker_free(w);
    assert_non_null(strstr(text, "\ntribunal_worker_acked_total 1\n"));
    assert_non_null(strstr(text, "\ntribunal_worker_ack_seconds_bucket{le=\"+Inf\"} 1\n"));
    assert_non_null(strstr(text, "\ntribunal_worker_attempts_count 1\n"));
    free(text);
}

static void a_histogram_knows_its_shares(void **state)
{
    struct tq_histogram h = {.count = 100};

    (void)state;
    h.bucket[0] = 50; /* up to 100 us */
    h.bucket[3] = 49; /* 500 us … 1 ms */
    h.bucket[6] = 1;  /* 5 … 10 ms */
    assert_int_equal(tq_histogram_at(&h, 500), 100);
    assert_int_equal(tq_histogram_at(&h, 990), 1000);
    assert_int_equal(tq_histogram_at(&h, 1000), 10000);
    assert_int_equal(tq_histogram_at(&(struct tq_histogram){.count = 0}, 990), 0);
}

static int seen_priority(void *arg, const struct tq_stat_priority *s)
{
    int64_t *ready = arg;

    ready[s->priority == 5] += s->ready;
    assert_string_equal(s->queue, "default");
    return 0;
}

static void stats_tell_priorities_and_the_last_minute(void **state)
{
    struct tq_recent r = TQ_RECENT_INIT;
    struct tq_item it = job("default", "x");
    int64_t ready[2] = {0, 0};
    char *text = NULL;

    (void)state;
    put("default", "x");
    OK(tq_ack(E.q, take(E.q, "default")->ref, NULL, 0, &E.err));
    put("default", "x");
    OK(tq_bury(E.q, take(E.q, "default")->ref, "no", 2, &E.err));
    put("default", "x");
    it.priority = 5;
    put_item(&it);
    put_item(&it);
    OK(tq_stats_priorities(E.q, seen_priority, ready, &E.err));
    assert_int_equal(ready[0], 1);
    assert_int_equal(ready[1], 2);
    OK(tq_recent(E.q, "default", 60 * (int64_t)SEC, &r, &E.err));
    assert_int_equal(r.completed, 1);
    assert_int_equal(r.dead, 1);
    assert_int_equal(r.attempts[0], 2);
    OK(tq_prometheus(E.q, &text, &E.err));
    assert_non_null(
        strstr(text, "tribunal_queue_jobs{queue=\"default\",priority=\"5\",state=\"ready\"} 2\n"));
    assert_non_null(strstr(text, "tribunal_queue_dead{queue=\"default\"} 1\n"));
    free(text);
}

const struct promise metrics_promises[] = {PROMISE(the_metrics_are_prometheus_text),
                                           PROMISE(a_histogram_knows_its_shares),
                                           PROMISE(stats_tell_priorities_and_the_last_minute),
                                           {NULL, NULL}};
