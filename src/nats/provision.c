/* SPDX-License-Identifier: MIT
 *
 * provision.c - create, update, and never lose a task on the way.
 */
#include "nats/provision.h"

#include "base/cleanup.h"
#include "nats/api.h"

int tr_nats_usual_replicas(struct tr_nats *n)
{
    return tr_nats_servers(n) >= 3 ? 3 : 1;
}

int tr_nats_live(struct tr_nats *n, const struct tr_plan_item *item, json_t **ret_info,
                 const json_t **ret_config, struct tr_err *err)
{
    json_t *info = NULL;
    int code = 0;
    int r = item->consumer ? tr_js_askf(n, NULL, &info, &code, err, "CONSUMER.INFO.%s.%s",
                                        item->stream, item->consumer)
                           : tr_js_askf(n, NULL, &info, &code, err, "STREAM.INFO.%s", item->stream);

    if (r == TR_E_NOTFOUND && code)
        return 0;
    if (r < 0)
        return r;
    const json_t *config = json_object_get(info, "config");
    if (!json_is_object(config)) {
        json_decref(info);
        return tr_fail(err, TR_E_FATAL, 0, "%s: an answer without a configuration",
                       tr_plan_name(item));
    }
    *ret_info = info;
    *ret_config = config;
    return 1;
}

/* Send the configuration: a stream's creation and update have different addresses, a durable
 * consumer's have one. */
static int send_config(struct tr_nats *n, const struct tr_plan_item *item, const json_t *live,
                       int *ret_code, struct tr_err *err)
{
    TR_CLEANUP(tr_js_unrefp) json_t *config = tr_plan_merge(item, live);
    TR_CLEANUP(tr_js_unrefp) json_t *body = NULL;
    TR_CLEANUP(tr_js_unrefp) json_t *answer = NULL;

    if (!config)
        return tr_fail(err, TR_E_NOMEM, 0, "out of memory");
    if (!item->consumer)
        return tr_js_askf(n, config, &answer, ret_code, err, "STREAM.%s.%s",
                          live ? "UPDATE" : "CREATE", item->stream);
    body = json_pack("{s:s, s:O}", "stream_name", item->stream, "config", config);
    if (!body)
        return tr_fail(err, TR_E_NOMEM, 0, "out of memory");
    return tr_js_askf(n, body, &answer, ret_code, err, "CONSUMER.DURABLE.CREATE.%s.%s",
                      item->stream, item->consumer);
}

static int explain_refusal(const struct tr_plan_item *item, int code, struct tr_err *err)
{
    if (code == TR_JS_NO_REPLICAS)
        return tr_fail(err, TR_E_USAGE, 0,
                       "%s: this NATS server is not in a cluster and keeps one copy only; use "
                       "--replicas 1",
                       item->stream);
    if (code == TR_JS_SUBJECT_OVERLAP)
        return tr_fail(err, TR_E_FATAL, 0,
                       "%s: another stream on this server takes some of its subjects; find it "
                       "with 'nats stream ls' and remove it or its subjects",
                       item->stream);
    return tr_fail_wrap(err, "%s", tr_plan_name(item));
}

static int cannot_change(const struct tr_plan_item *item, const struct tr_err *why,
                         struct tr_err *err)
{
    if (item->consumer)
        return tr_fail(
            err, TR_E_FATAL, 0,
            "%s has settings that cannot be changed in place (%.200s); --recreate makes it "
            "anew: its tasks stay and are delivered again",
            item->consumer, why->msg);
    return tr_fail(
        err, TR_E_FATAL, 0,
        "%s has settings that cannot be changed in place (%.200s); let the workers empty "
        "it, then use --recreate",
        item->stream, why->msg);
}

static int delete_item(struct tr_nats *n, const struct tr_plan_item *item, const json_t *info,
                       struct tr_err *err)
{
    TR_CLEANUP(tr_js_unrefp) json_t *answer = NULL;
    const json_t *state = json_object_get(info, "state");
    json_int_t held = json_integer_value(json_object_get(state, "messages"));

    if (item->consumer)
        return tr_js_askf(n, NULL, &answer, NULL, err, "CONSUMER.DELETE.%s.%s", item->stream,
                          item->consumer);
    if (held > 0)
        return tr_fail(err, TR_E_FATAL, 0,
                       "%s holds %lld messages and is not deleted; let the workers empty it first",
                       item->stream, (long long)held);
    return tr_js_askf(n, NULL, &answer, NULL, err, "STREAM.DELETE.%s", item->stream);
}

static int update(struct tr_nats *n, const struct tr_plan_item *item, const json_t *info,
                  const json_t *live, bool recreate, enum tr_provisioned *ret, struct tr_err *err)
{
    struct tr_err why = TR_ERR_INIT;
    int code = 0;

    if (tr_plan_compare(item, live, NULL, NULL) == 0) {
        *ret = TR_UNCHANGED;
        return 0;
    }
    int r = send_config(n, item, live, &code, &why);
    if (r == 0) {
        *ret = TR_UPDATED;
        return 0;
    }
    if (r != TR_E_FATAL || code == TR_JS_SUBJECT_OVERLAP) { /* a passing trouble, no refusal */
        if (err)
            *err = why;
        return explain_refusal(item, code, err);
    }
    if (!recreate)
        return cannot_change(item, &why, err);
    r = delete_item(n, item, info, err);
    if (r == 0)
        r = send_config(n, item, NULL, &code, err);
    if (r == 0)
        *ret = TR_RECREATED;
    return r;
}

int tr_nats_provision(struct tr_nats *n, const struct tr_plan_item *item, bool recreate,
                      enum tr_provisioned *ret, struct tr_err *err)
{
    TR_CLEANUP(tr_js_unrefp) json_t *info = NULL;
    const json_t *live = NULL;
    int code = 0;
    int r = tr_nats_live(n, item, &info, &live, err);

    if (r < 0)
        return r;
    if (r == 1)
        return update(n, item, info, live, recreate, ret, err);
    r = send_config(n, item, NULL, &code, err);
    if (r < 0)
        return explain_refusal(item, code, err);
    *ret = TR_CREATED;
    return 0;
}
