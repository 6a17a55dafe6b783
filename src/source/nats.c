/* SPDX-License-Identifier: MIT
 *
 * nats.c - the NATS source as a whole: open, timers, drain, close.
 */
#include "source/nats.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nats/conn_private.h"
#include "source/nats_private.h"

enum {
    TICK_MS = 200,
    RENEWALS = 3 /* signs of life in one ack_wait */
};
#define WATCHDOG_US (INT64_C(30) * 1000000)
#define GRACE_US (INT64_C(5) * 60 * 1000000)

/* ---------------------------------------------------------------- helpers for all */

void src_log(const struct src *s, enum tr_log_level level, const char *submit_id,
             const struct tr_err *err, const char *what)
{
    const struct tr_log_field field = {.up = s->host->log, .key = "submit", .value = submit_id};
    const struct tr_log_field *fields = submit_id && *submit_id ? &field : s->host->log;

    if (err && err->code)
        tr_log(level, fields, "%s: %s", what, err->msg);
    else
        tr_log(level, fields, "%s", what);
}

void src_say(struct src *s, const char *subject, char *bytes)
{
    if (bytes)
        (void)natsConnection_PublishString(tr_nats_raw(s->nats), subject, bytes);
    free(bytes);
}

bool src_answer(struct src *s, natsMsg *msg, const char *word)
{
    return natsConnection_PublishString(tr_nats_raw(s->nats), natsMsg_GetReply(msg), word) ==
           NATS_OK;
}

void src_check_end(struct src *s)
{
    if (!s->draining || s->ended || s->held > 0)
        return;
    s->ended = true;
    src_say(s, TR_SUBJECT_EVENTS ".system", event_system(s, "worker_down", s->backlog));
    s->host->ended(s->host->arg, NULL);
}

/* ---------------------------------------------------------------- the connection's news */

struct news {
    struct src *s;
    enum tr_nats_event what;
    char text[256];
};

static void tell(void *arg)
{
    struct news *n = arg;
    struct src *s = n->s;

    s->host->metrics->value[TR_M_CONNECTED] = n->what == TR_NATS_UP;
    if (n->what == TR_NATS_ERROR)
        s->host->metrics->value[TR_M_CONNECTED] = tr_nats_is_up(s->nats);
    tr_log(n->what == TR_NATS_UP ? TR_LOG_INFO : TR_LOG_WARN, s->host->log, "%s", n->text);
    if (n->what == TR_NATS_UP) {
        s->asked = 0; /* the server has forgotten our pull */
        pull_more(s);
    }
    if (n->what == TR_NATS_CLOSED && !s->closing && !s->ended) {
        struct tr_err err;

        s->ended = true;
        (void)tr_fail(&err, TR_E_DENIED, 0, "NATS refuses this worker for good: %s", n->text);
        s->host->ended(s->host->arg, &err);
    }
    free(n);
}

static void on_news(void *arg, enum tr_nats_event what, const char *text)
{
    struct src *s = arg;
    struct news *n = atomic_load(&s->deaf) ? NULL : malloc(sizeof(*n));

    if (!n)
        return;
    *n = (struct news){.s = s, .what = what};
    (void)snprintf(n->text, sizeof(n->text), "%s", text);
    if (tr_loop_post(s->host->loop, tell, n, NULL) < 0)
        free(n);
}

/* ---------------------------------------------------------------- timers, pool */

static void on_tick(uv_timer_t *t)
{
    struct src *s = t->data;

    pull_more(s);
    if (s->draining && !s->ended && tr_clock_mono_us() > s->drain_until_us) {
        for (struct delivery *d = s->first, *next; d; d = next) {
            next = d->next;
            task_give_back(d);
        }
    }
}

static void on_renew(uv_timer_t *t)
{
    task_renew_all(t->data);
}

static void on_watch(uv_timer_t *t)
{
    watch_look(t->data);
}

static void on_room(void *arg)
{
    struct src *s = arg;

    task_next(s);
    pull_more(s);
}

static void on_broken(void *arg, const char *why)
{
    struct src *s = arg;

    tr_log(TR_LOG_ERROR, s->host->log, "a slot cannot judge and is tried again: %s", why);
}

static int open_pool(struct src *s, struct tr_err *err)
{
    const struct tr_pool_conf conf = {
        .loop = s->host->loop,
        .slots = s->host->slots,
        .program = s->host->program,
        .arg = "slot",
        .setup = s->host->setup,
        .events = {.arg = s,
                   .progress = s->conf.progress ? task_progress : NULL,
                   .result = task_result,
                   .fault = task_fault,
                   .died = task_died,
                   .room = on_room,
                   .broken = on_broken},
    };

    return tr_pool_open(&conf, &s->pool, err);
}

static void start_timers(struct src *s)
{
    uv_loop_t *uv = tr_loop_uv(s->host->loop);
    uint64_t renew_ms = (uint64_t)(s->ack_wait_us / 1000 / RENEWALS);
    uint64_t watch_ms = (uint64_t)(s->conf.watchdog_us / 1000);

    (void)uv_timer_init(uv, &s->tick);
    (void)uv_timer_init(uv, &s->renew);
    (void)uv_timer_init(uv, &s->watch);
    s->tick.data = s->renew.data = s->watch.data = s;
    (void)uv_timer_start(&s->tick, on_tick, TICK_MS, TICK_MS);
    (void)uv_timer_start(&s->renew, on_renew, renew_ms, renew_ms);
    (void)uv_timer_start(&s->watch, on_watch, watch_ms, watch_ms);
}

/* ---------------------------------------------------------------- open, drain, close */

/* ack_wait is the lease; the filter says which tasks are ours. */
static int read_consumer(struct src *s, struct tr_err *err)
{
    TR_CLEANUP(tr_js_unrefp) json_t *info = NULL;
    int r = tr_js_askf(s->nats, NULL, &info, NULL, err, "CONSUMER.INFO.%s.%.64s", TR_STREAM_TASKS,
                       s->conf.consumer);

    if (r == TR_E_NOTFOUND) /* somebody may be about to provision it */
        r = err->code = TR_E_RETRY;
    if (r < 0)
        return r;
    const json_t *c = json_object_get(info, "config");
    const char *filter = json_string_value(json_object_get(c, "filter_subject"));
    s->ack_wait_us = json_integer_value(json_object_get(c, "ack_wait")) / 1000;
    if (s->ack_wait_us < 100000)
        return tr_fail(err, TR_E_FATAL, 0,
                       "consumer %s has an ack_wait of %lld ms; 'tribunal nats provision' mends it",
                       s->conf.consumer, (long long)s->ack_wait_us / 1000);
    (void)snprintf(s->subject, sizeof(s->subject), "%s", filter ? filter : "");
    return 0;
}

static void src_free(struct tr_source *base)
{
    struct src *s = (struct src *)base;

    s->closing = true;
    tr_pool_close(s->pool); /* runs the loop: everything else is still there */
    atomic_store(&s->deaf, true);
    if (s->nats)
        watch_close(s);
    out_close(s);
    tr_dbthread_close(s->db);
    while (s->first) {
        s->first->renewing = false;
        task_free(s->first);
    }
    if (s->nats)
        pull_close(s);
    tr_nats_close(s->nats);
    free(s);
}

static void src_drain(struct tr_source *base, int64_t timeout_us)
{
    struct src *s = (struct src *)base;

    s->draining = true;
    s->drain_until_us = tr_clock_mono_us() + timeout_us;
    pull_stop(s);
    for (struct delivery *d = s->first, *next; d; d = next) {
        next = d->next;
        if (d->stage == ST_WAITING || timeout_us == 0)
            task_give_back(d);
    }
    src_check_end(s);
}

static void src_gauges(struct tr_source *base, struct tr_metrics *m)
{
    struct src *s = (struct src *)base;

    m->value[TR_M_SLOTS] = (int64_t)tr_pool_alive(s->pool);
    m->value[TR_M_SLOTS_BUSY] = (int64_t)tr_pool_busy(s->pool);
    m->value[TR_M_BACKLOG] = s->backlog;
    m->value[TR_M_CONNECTED] = tr_nats_is_up(s->nats);
}

static int open_all(struct src *s, struct tr_err *err)
{
    const struct tr_store_conf store = {.url = s->conf.db, .worker_id = s->host->worker_id};
    const struct tr_nats_watch watch = {.event = on_news, .arg = s};
    int r = tr_nats_opts_open(s->conf.nats, &watch, &s->nats, err);

    if (r >= 0)
        r = read_consumer(s, err);
    if (r >= 0)
        r = tr_dbthread_open(s->host->loop, &store, s->conf.migrate, &s->db, err);
    if (r >= 0)
        r = out_open(s, err);
    if (r >= 0)
        r = open_pool(s, err);
    if (r >= 0)
        r = pull_open(s, err);
    return r < 0 ? r : watch_open(s, err);
}

int tr_source_nats_open(const struct tr_source_host *host, const struct tr_source_nats_conf *conf,
                        struct tr_source **ret, struct tr_err *err)
{
    struct src *s = calloc(1, sizeof(*s));

    if (!s)
        return tr_fail(err, TR_E_NOMEM, 0, "out of memory");
    s->base = (struct tr_source){.drain = src_drain, .gauges = src_gauges, .free = src_free};
    s->host = host;
    s->conf = *conf;
    s->conf.watchdog_us = conf->watchdog_us ? conf->watchdog_us : WATCHDOG_US;
    s->conf.grace_us = conf->grace_us ? conf->grace_us : GRACE_US;
    s->conf.backlog = conf->backlog ? conf->backlog : TR_NATS_BACKLOG_ALARM;
    int r = open_all(s, err);
    if (r < 0) {
        src_free(&s->base);
        return r;
    }
    start_timers(s);
    orphans_look(s);
    src_say(s, TR_SUBJECT_EVENTS ".system", event_system(s, "worker_up", s->backlog));
    *ret = &s->base;
    return 0;
}
