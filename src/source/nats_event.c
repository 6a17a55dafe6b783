/* SPDX-License-Identifier: MIT
 *
 * nats_event.c - events of seed 000 §4.2, each with the fence {generation, run_lease}, so that a
 * reader can drop what is stale.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec/json.h"
#include "source/nats_private.h"

enum {
    EVENT_MAX = 900 * 1000, /* below the million bytes that a message may have */
    ERROR_MAX = 1024
};

static int put(json_t *o, const char *name, json_t *value)
{
    return json_object_set_new(o, name, value);
}

static int put_fence(json_t *o, const struct delivery *d)
{
    return put(o, "generation", json_integer(d->run.generation)) |
           put(o, "run_lease", json_integer(d->run.run_lease));
}

static json_t *now_text(void)
{
    char when[TR_TIME_TEXT];

    return json_string(tr_clock_text(tr_clock_real_us(), when));
}

static char *dump(json_t *o, int bad)
{
    char *text = bad ? NULL : json_dumps(o, JSON_COMPACT);

    json_decref(o);
    return text;
}

void event_id(const struct delivery *d, const char *what, char *out, size_t size)
{
    (void)snprintf(out, size, "%s:%lld:%lld:%s", d->env.submit_id, (long long)d->run.generation,
                   (long long)d->run.run_lease, what);
}

char *event_status(const struct src *s, const struct delivery *d, enum tr_state state,
                   const char *error)
{
    json_t *o = json_pack("{s:s, s:s, s:s, s:s, s:o?, s:I, s:I}", "type", "status_change",
                          "submit_id", d->env.submit_id, "status", tr_state_name(state),
                          "worker_id", s->host->worker_id, "timestamp", now_text(), "retry_count",
                          (json_int_t)d->run.retry_count, "crashes", (json_int_t)d->run.crashes);
    int bad = put_fence(o, d);

    if (error)
        bad |= put(o, "error", tr_json_clean(error, strlen(error), ERROR_MAX));
    return dump(o, bad);
}

json_t *event_result(const struct src *s, const struct delivery *d, const struct tr_pool_result *r)
{
    json_t *o = NULL;

    if (tr_json_parse(r->json, r->json_len, 64 << 20, &o, NULL) < 0)
        return NULL;
    /* A judge error that is final is an outcome like any other: nothing waits for a retry. */
    if (put(o, "status", json_string("FINISHED")) |
        put(o, "worker_id", json_string(s->host->worker_id)) | put_fence(o, d)) {
        json_decref(o);
        return NULL;
    }
    return o;
}

char *event_text(const json_t *event)
{
    tr_autofree char *text = json_dumps(event, JSON_COMPACT);

    if (!text || strlen(text) <= EVENT_MAX)
        return TR_TAKE(text);
    /* A thousand tests with long words: the row has them all, the event has the totals. */
    json_t *less = json_deep_copy(event);
    json_t *result = json_object_get(less, "result");
    int bad = put(result, "cases", json_array()) | put(result, "cases_left_out", json_true());
    (void)json_object_del(json_object_get(result, "compile"), "log");
    return dump(less, bad);
}

char *event_contest(const struct delivery *d, const json_t *result)
{
    TR_CLEANUP(tr_json_unrefp) json_t *contest = json_loads(d->contest, 0, NULL);
    TR_CLEANUP(tr_json_unrefp)
    json_t *user = d->user ? json_loads(d->user, 0, NULL) : json_null();
    const json_t *body = json_object_get(result, "result");
    json_t *o = json_pack("{s:s, s:s, s:O?, s:O?, s:s, s:O?, s:O?, s:o?}", "type", "contest",
                          "submit_id", d->env.submit_id, "contest", contest, "user", user,
                          "problem", d->row.problem_id, "verdict", json_object_get(body, "verdict"),
                          "score", json_object_get(result, "score"), "timestamp", now_text());

    return dump(o, put_fence(o, d));
}

char *event_system(const struct src *s, const char *type, int64_t backlog)
{
    json_t *o =
        json_pack("{s:s, s:s, s:s, s:I, s:I, s:o?}", "type", type, "worker_id", s->host->worker_id,
                  "consumer", s->conf.consumer, "slots", (json_int_t)s->host->slots, "backlog",
                  (json_int_t)backlog, "timestamp", now_text());

    return dump(o, o == NULL);
}

char *event_progress(const struct src *s, const struct delivery *d, const char *json, size_t len)
{
    json_t *o = NULL;

    if (tr_json_parse(json, len, 1 << 20, &o, NULL) < 0)
        return NULL;
    (void)json_object_del(o, "token");
    int bad = put(o, "type", json_string("progress")) |
              put(o, "submit_id", json_string(d->env.submit_id)) |
              put(o, "worker_id", json_string(s->host->worker_id)) |
              put(o, "timestamp", now_text()) | put_fence(o, d);
    return dump(o, bad);
}
