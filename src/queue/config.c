/* SPDX-License-Identifier: MIT
 *
 * config.c - queue_config: one row for each queue that is not like the others.
 */
#include <math.h>
#include <string.h>

#include "queue/internal.h"

static int config_row(void *arg, const struct tq_val *v, int ncols)
{
    struct tqi_config *g = arg;

    if (ncols < 11)
        return TR_E_FATAL;
    g->found = true;
    g->c.paused = (int)tqi_val_int(&v[0]);
    g->c.concurrency_limit = (int)tqi_val_int(&v[1]);
    g->rate_milli = tqi_val_int(&v[2]);
    g->c.rate_per_sec = (double)g->rate_milli / 1000.0;
    g->c.rate_burst = (int)tqi_val_int(&v[3]);
    g->c.max_lease_us = tqi_val_int(&v[4]);
    g->c.base_backoff_us = tqi_val_int(&v[5]);
    g->c.max_backoff_us = tqi_val_int(&v[6]);
    g->c.jitter_percent = (int)tqi_val_int(&v[7]);
    g->c.retention_us = tqi_val_int(&v[8]);
    g->rate_next_us = tqi_val_int(&v[9]);
    g->now_us = tqi_val_int(&v[10]);
    return 0;
}

int tqi_config(struct tqi_link *l, enum tq_stmt s, const char *queue, struct tqi_config *ret,
               struct tr_err *err)
{
    struct tq_val p = tqi_text(queue);

    *ret = (struct tqi_config){.c = TQ_CONFIG_INIT};
    return tqi_exec(l, s, &p, 1, config_row, ret, NULL, err);
}

struct change {
    const char *queue;
    const struct tq_config *c;
    struct tqi_config got;
    int paused;
};

static int get_op(struct tqi_link *l, void *arg, struct tr_err *err)
{
    struct change *c = arg;

    return tqi_config(l, S_CONFIG_GET, c->queue, &c->got, err);
}

static int set_op(struct tqi_link *l, void *arg, struct tr_err *err)
{
    const struct change *a = arg;
    const struct tq_config *c = a->c;
    struct tq_val p[] = {tqi_text(a->queue),
                         tqi_int(c->paused != 0),
                         tqi_int(c->concurrency_limit),
                         tqi_int(llround(c->rate_per_sec * 1000.0)),
                         tqi_int(c->rate_burst),
                         tqi_int(c->max_lease_us),
                         tqi_int(c->base_backoff_us),
                         tqi_int(c->max_backoff_us),
                         tqi_int(c->jitter_percent),
                         tqi_int(c->retention_us)};

    return tqi_exec(l, S_CONFIG_SET, p, (int)TR_ARRAY_LEN(p), NULL, NULL, NULL, err);
}

static int pause_op(struct tqi_link *l, void *arg, struct tr_err *err)
{
    const struct change *a = arg;
    struct tq_val p[] = {tqi_text(a->queue), tqi_int(a->paused != 0)};

    return tqi_exec(l, S_CONFIG_PAUSE, p, 2, NULL, NULL, NULL, err);
}

int tq_config_get(tq *q, const char *queue, struct tq_config *ret, struct tr_err *err)
{
    struct change c = {.queue = queue};

    int r = tqi_check_name("queue name", queue, false, err);
    if (r >= 0)
        r = tqi_run(q, OP_READ, get_op, &c, err);
    if (r < 0)
        return r;
    size_t size = ret->size < sizeof(*ret) ? ret->size : sizeof(*ret);
    c.got.c.size = ret->size;
    memcpy(ret, &c.got.c, size);
    return 0;
}

int tq_config_set(tq *q, const char *queue, const struct tq_config *given, struct tr_err *err)
{
    struct tq_config c = TQ_CONFIG_INIT;
    struct change a = {.queue = queue, .c = &c};

    memcpy(&c, given, given->size < sizeof(c) ? given->size : sizeof(c));
    int r = tqi_check_name("queue name", queue, false, err);
    if (r < 0)
        return r;
    if (c.concurrency_limit < 0 || c.concurrency_limit > TQ_BATCH_MAX || c.rate_burst < 0 ||
        !(c.rate_per_sec >= 0 && c.rate_per_sec <= 1e6) || c.jitter_percent > 100)
        return tr_fail(
            err, TR_E_LIMIT, 0,
            "concurrency_limit is 0 … %d, rate_per_sec 0 … 1000000, jitter at most 100 %%",
            (int)TQ_BATCH_MAX);
    if (c.max_lease_us < 0 || c.base_backoff_us < 0 || c.max_backoff_us < 0 || c.retention_us < 0 ||
        c.max_backoff_us > INT64_MAX / 1000 || c.base_backoff_us > INT64_MAX / 1000)
        return tr_fail(err, TR_E_LIMIT, 0, "a time is negative or endless");
    r = tqi_run(q, OP_TX, set_op, &a, err);
    return r < 0 ? r : 0;
}

int tq_pause(tq *q, const char *queue, int paused, struct tr_err *err)
{
    struct change a = {.queue = queue, .paused = paused};

    int r = tqi_check_name("queue name", queue, false, err);
    if (r >= 0)
        r = tqi_run(q, OP_TX, pause_op, &a, err);
    return r < 0 ? r : 0;
}
