/* SPDX-License-Identifier: MIT
 *
 * reader.c - a consumer of its own that lives as long as the reader, and is made anew when lost.
 *
 * Pulls with heartbeats: silence for two of them means that the consumer or the server is gone, and
 * a new consumer goes on behind the last message seen. libnats's own ordered and asynchronous pull
 * readers do not all do that after a reconnect, so the loop is ours.
 */
#include "nats/reader.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "nats/api.h"
#include "nats/conn_private.h"

enum {
    BATCH = 64,
    EXPIRES_MS = 10 * 1000,
    HEARTBEAT_MS = 500,
    SILENCE_MS = 1500, /* three heartbeats */
    AGAIN_MS = 200,
    NAME_MAX_BYTES = 64
};

struct tr_reader {
    struct tr_nats *n;
    char *stream;
    char *filter;
    uint64_t next_seq; /* where a new consumer begins, or TR_READ_* */
    uint64_t waiting;
    char consumer[NAME_MAX_BYTES]; /* "" while there is none */
    natsInbox *inbox;
    natsSubscription *sub;
    int asked;           /* messages still to come for the last pull; 0: pull again */
    int64_t heard_us;    /* anything, a heartbeat too */
    int64_t try_from_us; /* not before: after a failure */
};

static void drop_consumer(struct tr_reader *r)
{
    natsSubscription_Destroy(r->sub);
    natsInbox_Destroy(r->inbox);
    r->sub = NULL;
    r->inbox = NULL;
    r->consumer[0] = '\0';
    r->asked = 0;
}

static json_t *consumer_config(const struct tr_reader *r)
{
    json_t *c = json_pack("{s:s, s:s, s:I, s:i, s:b}", "filter_subject", r->filter, "ack_policy",
                          "none", "inactive_threshold", (json_int_t)30 * 1000000000, "num_replicas",
                          1, "mem_storage", 1);
    int bad = 0;

    if (r->next_seq != TR_READ_ALL && r->next_seq != TR_READ_NEW) {
        bad |= json_object_set_new(c, "deliver_policy", json_string("by_start_sequence"));
        bad |= json_object_set_new(c, "opt_start_seq", json_integer((json_int_t)r->next_seq));
    } else {
        bad |= json_object_set_new(c, "deliver_policy",
                                   json_string(r->next_seq == TR_READ_NEW ? "new" : "all"));
    }
    if (bad == 0)
        return c;
    json_decref(c);
    return NULL;
}

/* Where "from now on" is, so that a reader that is made anew does not skip what came meanwhile. */
static void note_start(struct tr_reader *r, const json_t *info)
{
    const json_t *delivered = json_object_get(info, "delivered");
    json_int_t seq = json_integer_value(json_object_get(delivered, "stream_seq"));

    if (r->next_seq == TR_READ_NEW)
        r->next_seq = (uint64_t)seq + 1;
}

static int make_consumer(struct tr_reader *r, struct tr_err *err)
{
    TR_CLEANUP(tr_js_unrefp) json_t *config = consumer_config(r);
    TR_CLEANUP(tr_js_unrefp) json_t *info = NULL;
    TR_CLEANUP(tr_js_unrefp)
    json_t *body =
        config ? json_pack("{s:s, s:O}", "stream_name", r->stream, "config", config) : NULL;

    if (!body)
        return tr_fail(err, TR_E_NOMEM, 0, "out of memory");
    int rc = tr_js_askf(r->n, body, &info, NULL, err, "CONSUMER.CREATE.%s", r->stream);
    if (rc < 0)
        return rc;
    const char *name = json_string_value(json_object_get(info, "name"));
    if (!name || strlen(name) >= sizeof(r->consumer))
        return tr_fail(err, TR_E_FATAL, 0, "%s: an answer without a consumer", r->stream);
    note_start(r, info);
    r->waiting = (uint64_t)json_integer_value(json_object_get(info, "num_pending"));
    natsStatus s = natsInbox_Create(&r->inbox);
    if (s == NATS_OK)
        s = natsConnection_SubscribeSync(&r->sub, tr_nats_raw(r->n), r->inbox);
    if (s != NATS_OK) {
        drop_consumer(r);
        return tr_nats_fail(r->n, s, r->stream, err);
    }
    (void)snprintf(r->consumer, sizeof(r->consumer), "%s", name);
    r->heard_us = tr_clock_mono_us();
    return 0;
}

static int pull(struct tr_reader *r, struct tr_err *err)
{
    char subject[256];
    char body[160];

    (void)snprintf(subject, sizeof(subject), "$JS.API.CONSUMER.MSG.NEXT.%.64s.%s", r->stream,
                   r->consumer);
    (void)snprintf(body, sizeof(body), "{\"batch\":%d,\"expires\":%lld,\"idle_heartbeat\":%lld}",
                   BATCH, EXPIRES_MS * 1000000LL, HEARTBEAT_MS * 1000000LL);
    natsStatus s = natsConnection_PublishRequestString(tr_nats_raw(r->n), subject, r->inbox, body);
    if (s != NATS_OK)
        return tr_nats_fail(r->n, s, r->stream, err);
    r->asked = BATCH;
    return 0;
}

/* A message without data and with a status: 100 is a heartbeat, 404 and 408 end a pull, 409 says
 * that the consumer is gone or the server goes. */
static void on_status(struct tr_reader *r, const char *status)
{
    if (strncmp(status, "100", 3) == 0)
        return;
    if (strncmp(status, "404", 3) == 0 || strncmp(status, "408", 3) == 0)
        r->asked = 0;
    else
        drop_consumer(r);
}

/* Take what arrived: 1 for a message of the stream, 0 for a sign of life. */
static int take(struct tr_reader *r, natsMsg *msg, struct tr_read *ret, struct tr_err *err)
{
    const char *status = NULL;
    jsMsgMetaData *meta = NULL;

    r->heard_us = tr_clock_mono_us();
    if (natsMsgHeader_Get(msg, "Status", &status) == NATS_OK && natsMsg_GetDataLength(msg) == 0) {
        on_status(r, status);
        natsMsg_Destroy(msg);
        return 0;
    }
    if (natsMsg_GetMetaData(&meta, msg) != NATS_OK) {
        natsMsg_Destroy(msg); /* somebody else wrote to our inbox */
        return 0;
    }
    if (r->asked > 0)
        r->asked--;
    const char *data = natsMsg_GetData(msg);
    *ret = (struct tr_read){.subject = natsMsg_GetSubject(msg),
                            .data = data ? data : "",
                            .len = (size_t)natsMsg_GetDataLength(msg),
                            .owner = msg,
                            .seq = meta->Sequence.Stream,
                            .time_us = meta->Timestamp / 1000,
                            .pending = meta->NumPending};
    r->next_seq = ret->seq + 1;
    jsMsgMetaData_Destroy(meta);
    return 1;
}

/* Is there somebody to read from? Makes and asks where needed; passing trouble is no failure. */
static int be_ready(struct tr_reader *r, struct tr_err *err)
{
    int64_t now = tr_clock_mono_us();
    int rc = 0;

    if (r->consumer[0] && now - r->heard_us > SILENCE_MS * 1000LL)
        drop_consumer(r);
    if (now < r->try_from_us)
        return 0;
    if (!r->consumer[0])
        rc = make_consumer(r, err);
    if (rc == 0 && r->asked == 0)
        rc = pull(r, err);
    if (rc < 0 && tr_err_class(rc) == TR_E_RETRY) {
        r->try_from_us = tr_clock_mono_us() + AGAIN_MS * 1000LL;
        return 0;
    }
    return rc;
}

int tr_reader_next(struct tr_reader *r, int64_t wait_ms, struct tr_read *ret, struct tr_err *err)
{
    int64_t until = tr_clock_mono_us() + wait_ms * 1000;

    for (;;) {
        int64_t left_ms = (until - tr_clock_mono_us()) / 1000;
        int64_t step_ms = left_ms < 100 ? left_ms : 100;
        natsMsg *msg = NULL;
        int rc = be_ready(r, err);

        if (rc < 0)
            return rc;
        if (left_ms <= 0)
            return 0;
        natsStatus s = r->sub ? natsSubscription_NextMsg(&msg, r->sub, step_ms) : NATS_TIMEOUT;
        if (s == NATS_OK && take(r, msg, ret, err) == 1)
            return 1;
        if (s == NATS_CONNECTION_CLOSED)
            return tr_nats_fail(r->n, s, r->stream, err);
        if (!r->sub)
            nats_Sleep(step_ms);
    }
}

void tr_read_done(struct tr_read *m)
{
    natsMsg_Destroy(m->owner);
    m->owner = NULL;
}

uint64_t tr_reader_waiting(const struct tr_reader *r)
{
    return r->waiting;
}

int tr_reader_open(struct tr_nats *n, const char *stream, const char *filter, uint64_t from,
                   struct tr_reader **ret, struct tr_err *err)
{
    struct tr_reader *r = calloc(1, sizeof(*r));

    if (!r)
        return tr_fail(err, TR_E_NOMEM, 0, "out of memory");
    r->n = n;
    r->next_seq = from;
    r->stream = strdup(stream);
    r->filter = strdup(filter);
    int rc = r->stream && r->filter ? make_consumer(r, err)
                                    : tr_fail(err, TR_E_NOMEM, 0, "out of memory");
    if (rc < 0) {
        tr_reader_close(r);
        return rc;
    }
    *ret = r;
    return 0;
}

void tr_reader_close(struct tr_reader *r)
{
    TR_CLEANUP(tr_js_unrefp) json_t *answer = NULL;

    if (!r)
        return;
    /* The server would forget it by itself after half a minute. */
    if (r->consumer[0] && tr_nats_is_up(r->n))
        (void)tr_js_askf(r->n, NULL, &answer, NULL, NULL, "CONSUMER.DELETE.%s.%s", r->stream,
                         r->consumer);
    drop_consumer(r);
    free(r->stream);
    free(r->filter);
    free(r);
}

void tr_reader_closep(struct tr_reader **r)
{
    tr_reader_close(*r);
}
