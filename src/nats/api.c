/* SPDX-License-Identifier: MIT
 *
 * api.c - ask JetStream, publish to it, and say what its refusals mean.
 */
#include "nats/api.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "nats/conn_private.h"

enum {
    SUBJECT_MAX = 256,
    AGAIN_MS = 100,
    ONE_TRY_MS = 2500, /* a leader that dies takes the request with it: ask again in time */
    OFF_AFTER_MS = 600 /* a server that starts has no JetStream for a moment */
};

static void natsmsg_freep(natsMsg **m)
{
    natsMsg_Destroy(*m);
}

static int64_t one_try_ms(const struct tr_nats *n)
{
    int64_t all = tr_nats_timeout_ms(n);

    return all < ONE_TRY_MS ? all : ONE_TRY_MS;
}

static void pause_ms(int64_t ms)
{
    (void)nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = (ms % 1000) * 1000000},
                    NULL);
}

/* The server's refusal as ours. */
static int refused(struct tr_nats *n, const char *what, int code, int http, const char *text,
                   struct tr_err *err)
{
    char where[256];

    (void)tr_nats_where(n, where, sizeof(where));
    switch (code) {
    case TR_JS_STREAM_NOT_FOUND:
    case TR_JS_CONSUMER_NOT_FOUND:
        return tr_fail(err, TR_E_NOTFOUND, 0,
                       "%s: %s on NATS at %s; 'tribunal nats provision' makes what is missing",
                       what, text, where);
    case TR_JS_NO_MESSAGE:
        return tr_fail(err, TR_E_NOTFOUND, 0, "%s: %s", what, text);
    case TR_JS_OFF:
    case TR_JS_NOT_FOR_ACCOUNT:
        return tr_fail(err, TR_E_UNSUPPORTED, 0,
                       "JetStream is off on NATS at %s%s: start it with -js, or write jetstream {} "
                       "into its configuration",
                       where, code == TR_JS_OFF ? "" : " for this account");
    case TR_JS_CLUSTER_UNAVAILABLE:
        return tr_fail(err, TR_E_RETRY, 0, "%s: the NATS cluster has no leader just now", what);
    case TR_JS_STORE_FAILED:
        return tr_fail(err, TR_E_BUSY, 0, "%s: the stream takes no more: %s", what, text);
    case TR_JS_TOO_LARGE:
        return tr_fail(err, TR_E_LIMIT, 0, "%s: %s", what, text);
    default:
        return tr_fail(err, http == 503 ? TR_E_RETRY : TR_E_FATAL, 0, "%s: NATS at %s: %s (%d)",
                       what, where, text, code);
    }
}

/* Parse an answer; one with "error" becomes a failure. */
static int understand(struct tr_nats *n, const char *what, natsMsg *msg, json_t **ret,
                      int *ret_code, struct tr_err *err)
{
    json_error_t e;
    json_t *j = json_loadb(natsMsg_GetData(msg), (size_t)natsMsg_GetDataLength(msg),
                           JSON_REJECT_DUPLICATES, &e);
    const json_t *problem = json_object_get(j, "error");

    if (!json_is_object(j)) {
        json_decref(j);
        return tr_fail(err, TR_E_FATAL, 0, "%s: an answer that is not JetStream's", what);
    }
    if (problem) {
        const char *text = json_string_value(json_object_get(problem, "description"));
        int code = (int)json_integer_value(json_object_get(problem, "err_code"));
        int http = (int)json_integer_value(json_object_get(problem, "code"));
        int r = refused(n, what, code, http, text ? text : "refused", err);

        if (ret_code)
            *ret_code = code;
        json_decref(j);
        return r;
    }
    *ret = j;
    return 0;
}

/* Nobody listens on a subject of JetStream's. */
static int nobody(struct tr_nats *n, struct tr_err *err)
{
    return refused(n, "", TR_JS_OFF, 503, "", err);
}

/* One request, no second try. */
static int ask_once(struct tr_nats *n, const char *subject, const char *text, int64_t wait_ms,
                    json_t **ret, int *ret_code, struct tr_err *err)
{
    TR_CLEANUP(natsmsg_freep) natsMsg *msg = NULL;
    natsStatus s = natsConnection_Request(&msg, tr_nats_raw(n), subject, text ? text : "",
                                          text ? (int)strlen(text) : 0, wait_ms);

    if (s == NATS_NO_RESPONDERS) /* the only NOTFOUND without a code of the server's */
        return tr_fail(err, TR_E_NOTFOUND, 0, "nobody listens on %s", subject);
    if (s != NATS_OK)
        return tr_nats_fail(n, s, subject, err);
    return understand(n, subject, msg, ret, ret_code, err);
}

int tr_js_ask(struct tr_nats *n, const char *what, const json_t *body, json_t **ret, int *ret_code,
              struct tr_err *err)
{
    tr_autofree char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
    char subject[SUBJECT_MAX];
    int64_t start = tr_clock_mono_us();
    int64_t limit_ms = tr_nats_timeout_ms(n);

    if (body && !text)
        return tr_fail(err, TR_E_NOMEM, 0, "out of memory");
    if (snprintf(subject, sizeof(subject), "$JS.API.%s", what) >= (int)sizeof(subject))
        return tr_fail(err, TR_E_LIMIT, 0, "a name that is too long for NATS");
    for (;;) {
        int64_t spent_ms = (tr_clock_mono_us() - start) / 1000;
        int code = 0;
        int r = ask_once(n, subject, text, one_try_ms(n), ret, &code, err);
        bool nobody_there = r == TR_E_NOTFOUND && code == 0;

        if (ret_code)
            *ret_code = code;
        if (r != TR_E_RETRY && r != TR_E_TIMEOUT && !nobody_there)
            return r;
        if (nobody_there && spent_ms >= OFF_AFTER_MS)
            return nobody(n, err);
        if (spent_ms >= limit_ms)
            return r;
        pause_ms(AGAIN_MS);
    }
}

int tr_js_askf(struct tr_nats *n, const json_t *body, json_t **ret, int *ret_code,
               struct tr_err *err, const char *fmt, ...)
{
    char what[SUBJECT_MAX];
    va_list ap;

    va_start(ap, fmt);
    int len = vsnprintf(what, sizeof(what), fmt, ap);
    va_end(ap);
    if (len < 0 || len >= (int)sizeof(what))
        return tr_fail(err, TR_E_LIMIT, 0, "a name that is too long for NATS");
    return tr_js_ask(n, what, body, ret, ret_code, err);
}

/* ---- publishing ---- */

/* Nobody takes the subject: JetStream is off, no stream has it, or its stream has no leader just
 * now (TR_E_RETRY). */
static int why_no_taker(struct tr_nats *n, const char *subject, struct tr_err *err)
{
    TR_CLEANUP(tr_js_unrefp) json_t *body = json_pack("{s:s}", "subject", subject);
    TR_CLEANUP(tr_js_unrefp) json_t *answer = NULL;

    if (!body)
        return tr_fail(err, TR_E_NOMEM, 0, "out of memory");
    int r = tr_js_ask(n, "STREAM.NAMES", body, &answer, NULL, err);
    if (r < 0)
        return r;
    if (json_array_size(json_object_get(answer, "streams")) > 0)
        return tr_fail(err, TR_E_RETRY, 0, "%s: its stream has no leader just now", subject);
    return tr_fail(err, TR_E_NOTFOUND, 0, "no stream takes %s; run 'tribunal nats provision'",
                   subject);
}

static int make_message(const char *subject, const char *msg_id, const void *bytes, size_t len,
                        natsMsg **ret, struct tr_err *err)
{
    natsMsg *msg = NULL;
    natsStatus s = natsMsg_Create(&msg, subject, NULL, bytes, (int)len);

    if (s == NATS_OK)
        s = natsMsgHeader_Set(msg, "Nats-Msg-Id", msg_id);
    if (s != NATS_OK) {
        natsMsg_Destroy(msg);
        return tr_fail(err, TR_E_NOMEM, 0, "out of memory");
    }
    *ret = msg;
    return 0;
}

static int publish_once(struct tr_nats *n, natsMsg *msg, struct tr_js_ack *ret, struct tr_err *err)
{
    TR_CLEANUP(natsmsg_freep) natsMsg *reply = NULL;
    TR_CLEANUP(tr_js_unrefp) json_t *ack = NULL;
    const char *subject = natsMsg_GetSubject(msg);
    natsStatus s = natsConnection_RequestMsg(&reply, tr_nats_raw(n), msg, one_try_ms(n));

    if (s == NATS_NO_RESPONDERS)
        return tr_fail(err, TR_E_NOTFOUND, 0, "nobody takes %s", subject);
    if (s != NATS_OK)
        return tr_nats_fail(n, s, subject, err);
    int r = understand(n, subject, reply, &ack, NULL, err);
    if (r < 0)
        return r;
    const char *stream = json_string_value(json_object_get(ack, "stream"));
    struct tr_js_ack a = {
        .seq = (uint64_t)json_integer_value(json_object_get(ack, "seq")),
        .duplicate = json_is_true(json_object_get(ack, "duplicate")),
    };
    (void)snprintf(a.stream, sizeof(a.stream), "%s", stream ? stream : "");
    if (!stream || a.seq == 0)
        return tr_fail(err, TR_E_UNSURE, 0, "%s: an acknowledgement that is not JetStream's",
                       subject);
    *ret = a;
    return 0;
}

static int not_known(const char *subject, const char *msg_id, struct tr_err *err)
{
    return tr_fail(err, TR_E_UNSURE, 0,
                   "%s: NATS did not answer, so message '%s' may or may not be stored; publishing "
                   "it again is harmless within 2 minutes",
                   subject, msg_id);
}

int tr_js_publish(struct tr_nats *n, const char *subject, const char *msg_id, const void *bytes,
                  size_t len, struct tr_js_ack *ret, struct tr_err *err)
{
    TR_CLEANUP(natsmsg_freep) natsMsg *msg = NULL;
    int64_t start = tr_clock_mono_us();
    int r = make_message(subject, msg_id, bytes, len, &msg, err);

    if (r < 0)
        return r;
    for (bool unsure = false;;) {
        int64_t spent_ms = (tr_clock_mono_us() - start) / 1000;

        r = publish_once(n, msg, ret, err);
        unsure = unsure || r == TR_E_RETRY || r == TR_E_TIMEOUT;
        if (r == TR_E_NOTFOUND && spent_ms >= OFF_AFTER_MS) {
            r = why_no_taker(n, subject, err);
            if (r != TR_E_RETRY && r != TR_E_TIMEOUT)
                return r;
        }
        if (r != TR_E_RETRY && r != TR_E_TIMEOUT && r != TR_E_NOTFOUND)
            return r;
        if (spent_ms >= tr_nats_timeout_ms(n))
            return unsure ? not_known(subject, msg_id, err) : r;
        pause_ms(AGAIN_MS);
    }
}
