/* SPDX-License-Identifier: MIT
 *
 * metrics.c - counters in memory. No label ever comes from a client: languages and verdicts are
 * ours, routes are rows of our table.
 */
#include "controller/metrics.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "controller/ctl.h"
#include "controller/dispatch.h"
#include "controller/judges.h"

enum {
    SECONDS = 24 * 60 * 60,
    COUNTERS_MAX = 512,
    TIMES_MAX = 1000
};

struct counter {
    char a[72], b[16];
    int64_t n;
};

struct table {
    struct counter list[COUNTERS_MAX];
    size_t count;
};

/* What one second was like. */
struct step {
    int64_t at_s;
    uint32_t submitted, finished, accepted, faults, pending, running, busy, wait_n;
    double wait_ms;
};

struct times {
    int64_t us[TIMES_MAX];
    size_t count, at;
};

struct metrics {
    struct table http, verdicts, faults;
    int64_t submitted, stale;
    struct step now;
    struct step *past; /* a ring of SECONDS */
    size_t steps;
    struct times waits, totals;
};

struct metrics *metrics_new(void)
{
    struct metrics *m = calloc(1, sizeof(*m));

    if (m)
        m->past = calloc(SECONDS, sizeof(*m->past));
    if (m && !m->past) {
        free(m);
        return NULL;
    }
    return m;
}

void metrics_free(struct metrics *m)
{
    if (!m)
        return;
    free(m->past);
    free(m);
}

static void add(struct table *t, const char *a, const char *b)
{
    size_t i = 0;

    while (i < t->count && (strcmp(t->list[i].a, a) != 0 || strcmp(t->list[i].b, b) != 0))
        i++;
    if (i == COUNTERS_MAX)
        return;
    if (i == t->count) {
        (void)snprintf(t->list[i].a, sizeof(t->list[i].a), "%s", a);
        (void)snprintf(t->list[i].b, sizeof(t->list[i].b), "%s", b);
        t->count++;
    }
    t->list[i].n++;
}

static void add_time(struct times *t, int64_t us)
{
    t->us[t->at] = us;
    t->at = (t->at + 1) % TIMES_MAX;
    if (t->count < TIMES_MAX)
        t->count++;
}

void metrics_http(struct ctl *ctl, const char *route, int status)
{
    char code[16];

    (void)snprintf(code, sizeof(code), "%d", status);
    add(&ctl->metrics->http, route, code);
}

void metrics_submitted(struct ctl *ctl)
{
    ctl->metrics->submitted++;
    ctl->metrics->now.submitted++;
}

/* A client may bring a language of its own, and name it as it likes. */
static const char *label(const struct ctl *ctl, const char *lang)
{
    return tr_langs_find(&ctl->langs, lang) ? lang : "custom";
}

void metrics_finished(struct ctl *ctl, const char *lang, const char *verdict, int64_t took_us)
{
    add(&ctl->metrics->verdicts, label(ctl, lang), verdict);
    add_time(&ctl->metrics->totals, took_us);
    ctl->metrics->now.finished++;
    ctl->metrics->now.accepted += strcmp(verdict, "AC") == 0;
}

void metrics_fault(struct ctl *ctl, const char *lang)
{
    add(&ctl->metrics->faults, label(ctl, lang), "");
    ctl->metrics->now.faults++;
}

void metrics_stale(struct ctl *ctl)
{
    ctl->metrics->stale++;
}

void metrics_waited(struct ctl *ctl, int64_t us)
{
    add_time(&ctl->metrics->waits, us);
    ctl->metrics->now.wait_ms += (double)us / 1e3;
    ctl->metrics->now.wait_n++;
}

static void farm(struct ctl *ctl, int64_t *ret_slots, int64_t *ret_busy)
{
    *ret_slots = *ret_busy = 0;
    for (const struct judge *g = judges_first(ctl->judges); g; g = g->next) {
        if (g->state != JUDGE_READY)
            continue;
        *ret_slots += g->tokens;
        *ret_busy += g->nruns;
    }
}

void metrics_second(struct ctl *ctl)
{
    struct metrics *m = ctl->metrics;
    struct dispatch_totals t;
    int64_t slots, busy;

    dispatch_totals(ctl, &t);
    farm(ctl, &slots, &busy);
    m->now.at_s = tr_clock_real_us() / 1000000;
    m->now.pending = (uint32_t)(t.ready + t.scheduled);
    m->now.running = (uint32_t)t.running;
    m->now.busy = (uint32_t)busy;
    m->past[m->steps++ % SECONDS] = m->now;
    m->now = (struct step){0};
}

/* ---------------------------------------------------------------- statistics */

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

static double part_ms(const struct times *t, double part)
{
    int64_t sorted[TIMES_MAX];

    if (t->count == 0)
        return 0;
    memcpy(sorted, t->us, t->count * sizeof(sorted[0]));
    qsort(sorted, t->count, sizeof(sorted[0]), by_size);
    return (double)sorted[(size_t)(part * (double)(t->count - 1))] / 1e3;
}

static json_t *now_json(struct ctl *ctl)
{
    const struct metrics *m = ctl->metrics;
    struct dispatch_totals t;
    int64_t slots, busy, minute = 0;

    dispatch_totals(ctl, &t);
    farm(ctl, &slots, &busy);
    for (size_t i = 0; i < 60 && i < m->steps; i++)
        minute += m->past[(m->steps - 1 - i) % SECONDS].finished;
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:f, s:f, s:f}", "pending",
                     (json_int_t)t.ready + (json_int_t)t.scheduled, "running",
                     (json_int_t)t.running, "dead", (json_int_t)t.dead, "finished_per_minute",
                     (json_int_t)minute, "judges", (json_int_t)judges_ready(ctl->judges), "slots",
                     (json_int_t)slots, "busy", (json_int_t)busy, "oldest_s", t.oldest_s,
                     "wait_p50_ms", part_ms(&m->waits, .5), "wait_p95_ms", part_ms(&m->waits, .95),
                     "total_p50_ms", part_ms(&m->totals, .5), "total_p95_ms",
                     part_ms(&m->totals, .95));
}

json_t *metrics_stats_event(struct ctl *ctl)
{
    return json_pack("{s:s, s:o}", "type", "stats", "now", now_json(ctl));
}

/* Several seconds as one step: counts are added, levels are the last. */
static struct step merge(const struct metrics *m, size_t from, size_t n)
{
    struct step s = m->past[from % SECONDS];

    for (size_t i = 1; i < n; i++) {
        const struct step *x = &m->past[(from + i) % SECONDS];

        s.submitted += x->submitted;
        s.finished += x->finished;
        s.accepted += x->accepted;
        s.faults += x->faults;
        s.wait_n += x->wait_n;
        s.wait_ms += x->wait_ms;
        s.pending = x->pending;
        s.running = x->running;
        s.busy = x->busy;
    }
    return s;
}

static json_t *series_json(const struct metrics *m, size_t seconds, size_t step)
{
    static const char *const names[] = {"at",      "submitted", "finished", "accepted", "faults",
                                        "pending", "running",   "busy",     "wait_ms"};
    json_t *list[TR_ARRAY_LEN(names)], *o = json_object();
    size_t have = m->steps < SECONDS ? m->steps : SECONDS;
    size_t n = seconds < have ? seconds : have;

    for (size_t i = 0; i < TR_ARRAY_LEN(names); i++) {
        list[i] = json_array();
        (void)json_object_set_new(o, names[i], list[i]);
    }
    for (size_t from = m->steps - n; from + step <= m->steps; from += step) {
        struct step s = merge(m, from, step);
        const int64_t v[] = {s.at_s,   s.submitted, s.finished, s.accepted,
                             s.faults, s.pending,   s.running,  s.busy};

        for (size_t i = 0; i < TR_ARRAY_LEN(v); i++)
            (void)json_array_append_new(list[i], json_integer(v[i]));
        (void)json_array_append_new(list[8], json_real(s.wait_n ? s.wait_ms / s.wait_n : 0));
    }
    return o;
}

static json_t *sums(const struct table *t, bool by_b)
{
    json_t *o = json_object();

    for (size_t i = 0; i < t->count; i++) {
        const char *name = by_b ? t->list[i].b : t->list[i].a;
        json_int_t before = json_integer_value(json_object_get(o, name));

        (void)json_object_set_new(o, name, json_integer(before + t->list[i].n));
    }
    return o;
}

json_t *metrics_stats(struct ctl *ctl, int minutes)
{
    const struct metrics *m = ctl->metrics;
    size_t step = minutes <= 10 ? 1 : minutes <= 60 ? 10 : 60;

    return json_pack("{s:o, s:I, s:o, s:o, s:o, s:I, s:s, s:s}", "now", now_json(ctl), "step_s",
                     (json_int_t)step, "series", series_json(m, (size_t)minutes * 60, step),
                     "verdicts", sums(&m->verdicts, true), "languages", sums(&m->verdicts, false),
                     "uptime_s", (json_int_t)((tr_clock_mono_us() - ctl->started_us) / 1000000),
                     "controller_id", ctl->conf.controller_id, "version", TRIBUNAL_VERSION);
}

/* ---------------------------------------------------------------- Prometheus */

static void help(struct tr_buf *b, const char *name, const char *type, const char *text)
{
    tr_buf_addf(b, "# HELP %s %s\n# TYPE %s %s\n", name, text, name, type);
}

static void queue_line(void *arg, const struct dispatch_view *v)
{
    struct tr_buf *b = arg;

    tr_buf_addf(b, "tribunal_queue_jobs{queue=\"%s\",state=\"ready\"} %" PRId64 "\n", v->name,
                v->ready);
    tr_buf_addf(b, "tribunal_queue_jobs{queue=\"%s\",state=\"scheduled\"} %" PRId64 "\n", v->name,
                v->scheduled);
    tr_buf_addf(b, "tribunal_queue_jobs{queue=\"%s\",state=\"running\"} %" PRId64 "\n", v->name,
                v->running);
    tr_buf_addf(b, "tribunal_queue_jobs{queue=\"%s\",state=\"dead\"} %" PRId64 "\n", v->name,
                v->dead);
}

static void oldest_line(void *arg, const struct dispatch_view *v)
{
    tr_buf_addf(arg, "tribunal_queue_oldest_age_seconds{queue=\"%s\"} %.3f\n", v->name,
                v->oldest_s);
}

static void counters(struct tr_buf *b, const struct table *t, const char *name, const char *label_a,
                     const char *label_b)
{
    for (size_t i = 0; i < t->count; i++) {
        tr_buf_addf(b, "%s{%s=\"%s\"", name, label_a, t->list[i].a);
        if (label_b)
            tr_buf_addf(b, ",%s=\"%s\"", label_b, t->list[i].b);
        tr_buf_addf(b, "} %" PRId64 "\n", t->list[i].n);
    }
}

void metrics_text(struct ctl *ctl, struct tr_buf *b)
{
    const struct metrics *m = ctl->metrics;

    help(b, "tribunal_build_info", "gauge", "Which version this is.");
    tr_buf_addf(b, "tribunal_build_info{version=\"%s\"} 1\n", TRIBUNAL_VERSION);
    help(b, "tribunal_submissions_accepted_total", "counter", "Submissions taken in.");
    tr_buf_addf(b, "tribunal_submissions_accepted_total %" PRId64 "\n", m->submitted);
    help(b, "tribunal_submissions_total", "counter", "Submissions with a verdict.");
    counters(b, &m->verdicts, "tribunal_submissions_total", "lang", "verdict");
    help(b, "tribunal_faults_total", "counter", "Judgings that failed by our own fault.");
    counters(b, &m->faults, "tribunal_faults_total", "lang", NULL);
    help(b, "tribunal_lease_lost_total", "counter", "Results that came under an old fence.");
    tr_buf_addf(b, "tribunal_lease_lost_total %" PRId64 "\n", m->stale);
    help(b, "tribunal_http_requests_total", "counter", "Requests by route and status.");
    counters(b, &m->http, "tribunal_http_requests_total", "route", "code");
    help(b, "tribunal_queue_jobs", "gauge", "Jobs by queue and state.");
    dispatch_each(ctl, queue_line, b);
    help(b, "tribunal_queue_oldest_age_seconds", "gauge", "Age of the oldest job that is ready.");
    dispatch_each(ctl, oldest_line, b);
    help(b, "tribunal_worker_slots", "gauge", "Tokens of each judge.");
    for (const struct judge *g = judges_first(ctl->judges); g; g = g->next)
        if (g->state == JUDGE_READY)
            tr_buf_addf(b,
                        "tribunal_worker_slots{worker=\"%s\",state=\"busy\"} %" PRId64
                        "\ntribunal_worker_slots{worker=\"%s\",state=\"free\"} %" PRId64 "\n",
                        g->judge_id, g->nruns, g->judge_id, judge_free_tokens(g));
    help(b, "tribunal_worker_heartbeat_timestamp_seconds", "gauge", "The last heartbeat.");
    for (const struct judge *g = judges_first(ctl->judges); g; g = g->next)
        if (g->state == JUDGE_READY && g->beat_real_us)
            tr_buf_addf(b, "tribunal_worker_heartbeat_timestamp_seconds{worker=\"%s\"} %.3f\n",
                        g->judge_id, (double)g->beat_real_us / 1e6);
    help(b, "tribunal_storage_waiting", "gauge", "Writes that wait for the database.");
    tr_buf_addf(b, "tribunal_storage_waiting %zu\n", storage_waiting(ctl->storage));
}
