/* SPDX-License-Identifier: MIT
 *
 * ws_source.c - the ws judge as a source of the worker: it says in the log what happens to it.
 */
#include "source/ws_source.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "rt/notify.h"
#include "source/ws_pool.h"

struct ws_source {
    struct tr_source base;
    const struct tr_source_host *host;
    struct tr_ws_pool *pool;
    uv_timer_t haste; /* a drain that takes too long */
    bool ended;
};

static void on_connected(void *arg, const char *controller)
{
    struct ws_source *s = arg;

    tr_log(TR_LOG_INFO, s->host->log, "connected to %s", controller);
    tr_notify_status("connected");
}

static void on_lost(void *arg, const char *controller, const char *why, int64_t again_us)
{
    struct ws_source *s = arg;

    tr_log(TR_LOG_WARN, s->host->log, "no connection to %s: %s; next try in %lld ms", controller,
           why, (long long)(again_us / 1000));
    tr_notify_status("no connection to the controller");
}

static void on_ended(void *arg, int r, const struct tr_err *err)
{
    struct ws_source *s = arg;

    s->ended = true;
    (void)uv_timer_stop(&s->haste);
    s->host->ended(s->host->arg, r < 0 ? err : NULL);
}

static void on_broken(void *arg, const char *why)
{
    struct ws_source *s = arg;

    tr_log(TR_LOG_ERROR, s->host->log, "a slot cannot start: %s", why);
}

static void on_haste(uv_timer_t *timer)
{
    struct ws_source *s = timer->data;

    if (!s->ended)
        tr_ws_pool_leave(s->pool, true);
}

static void drain(struct tr_source *base, int64_t timeout_us)
{
    struct ws_source *s = (struct ws_source *)base;

    if (s->ended)
        return;
    tr_notify_stopping();
    if (timeout_us > 0)
        (void)uv_timer_start(&s->haste, on_haste, (uint64_t)timeout_us / 1000, 0);
    tr_ws_pool_leave(s->pool, timeout_us <= 0);
}

static void freed(uv_handle_t *timer)
{
    free(timer->data);
}

static void source_free(struct tr_source *base)
{
    struct ws_source *s = (struct ws_source *)base;

    if (!s)
        return;
    uv_close((uv_handle_t *)&s->haste, freed);
    tr_ws_pool_free(s->pool); /* turns the loop, which frees us */
}

int tr_source_ws_open(const struct tr_source_host *host, const struct tr_source_ws_conf *conf,
                      struct tr_source **ret, struct tr_err *err)
{
    struct ws_source *s = calloc(1, sizeof(*s));
    struct tr_ws_pool_conf pool = {
        .loop = host->loop,
        .pool = {.loop = host->loop,
                 .slots = host->slots,
                 .program = host->program,
                 .arg = "slot",
                 .setup = host->setup},
        .source = {.controllers = conf->controllers,
                   .ncontrollers = conf->ncontrollers,
                   .judge_id = host->worker_id,
                   .version = conf->version,
                   .tokens = conf->tokens,
                   .parameters = conf->parameters},
        .events = {s, on_connected, on_lost, on_ended},
        .data_dir = conf->data_dir,
        .data_bytes = conf->data_bytes,
        .redis = conf->redis,
        .ca_file = conf->ca_file,
        .no_logs = conf->no_logs,
        .broken = on_broken,
    };

    if (!s)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory for a judge");
    s->base = (struct tr_source){.drain = drain, .free = source_free};
    s->host = host;
    int r = tr_judge_key_parse(conf->key, &pool.source.key, err);
    if (r == 0)
        r = tr_ws_pool_new(&pool, &s->pool, err);
    explicit_bzero(&pool.source.key, sizeof(pool.source.key));
    if (r < 0) {
        free(s);
        return r;
    }
    (void)uv_timer_init(tr_loop_uv(host->loop), &s->haste);
    s->haste.data = s;
    *ret = &s->base;
    return 0;
}
