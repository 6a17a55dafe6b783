/* SPDX-License-Identifier: MIT
 *
 * bench.c - a work queue of its own: fill, pull, ack.
 */
#include "nats/bench.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "nats/api.h"
#include "nats/conn_private.h"

#define STREAM "TRIBUNAL_BENCH"
#define SUBJECT "tribunal.bench"
#define CONSUMER "tribunal-bench"

enum {
    BATCH_MAX = 1000,
    WAIT_MS = 10000
};

struct tr_nats_bench {
    struct tr_nats *n;
    natsInbox *inbox;
    natsSubscription *sub;
};

static int ask(struct tr_nats_bench *b, const char *what, json_t *body, struct tr_err *err)
{
    TR_CLEANUP(tr_js_unrefp) json_t *answer = NULL;
    int r = body ? tr_js_ask(b->n, what, body, &answer, NULL, err)
                 : tr_fail(err, TR_E_NOMEM, 0, "out of memory");

    json_decref(body);
    return r;
}

static int make(struct tr_nats_bench *b, struct tr_err *err)
{
    int r = ask(b, "STREAM.CREATE." STREAM,
                json_pack("{s:s, s:[s], s:s, s:s, s:i}", "name", STREAM, "subjects", SUBJECT,
                          "storage", "file", "retention", "workqueue", "num_replicas", 1),
                err);

    if (r >= 0)
        r = ask(b, "CONSUMER.DURABLE.CREATE." STREAM "." CONSUMER,
                json_pack("{s:s, s:{s:s, s:s, s:s, s:I, s:i}}", "stream_name", STREAM, "config",
                          "durable_name", CONSUMER, "ack_policy", "explicit", "deliver_policy",
                          "all", "ack_wait", (json_int_t)30 * 1000000000, "max_ack_pending", 10000),
                err);
    if (r < 0)
        return r;
    natsStatus s = natsInbox_Create(&b->inbox);
    if (s == NATS_OK)
        s = natsConnection_SubscribeSync(&b->sub, tr_nats_raw(b->n), b->inbox);
    return s == NATS_OK ? 0 : tr_nats_fail(b->n, s, STREAM, err);
}

int tr_nats_bench_open(struct tr_nats *n, struct tr_nats_bench **ret, struct tr_err *err)
{
    struct tr_nats_bench *b = calloc(1, sizeof(*b));

    if (!b)
        return tr_fail(err, TR_E_NOMEM, 0, "out of memory");
    b->n = n;
    int r = make(b, err);
    if (r < 0) {
        tr_nats_bench_close(b);
        return r;
    }
    *ret = b;
    return 0;
}

void tr_nats_bench_close(struct tr_nats_bench *b)
{
    if (!b)
        return;
    natsSubscription_Destroy(b->sub);
    natsInbox_Destroy(b->inbox);
    (void)ask(b, "STREAM.DELETE." STREAM, json_object(), NULL);
    free(b);
}

static double rate(int64_t count, int64_t from_us)
{
    int64_t us = tr_clock_mono_us() - from_us;

    return us > 0 ? (double)count * 1e6 / (double)us : 0;
}

int tr_nats_bench_publish(struct tr_nats_bench *b, int64_t count, size_t bytes, double *ret_rate,
                          struct tr_err *err)
{
    tr_autofree char *body = calloc(1, bytes + 1);
    int64_t from = tr_clock_mono_us();
    int r = body ? 0 : tr_fail(err, TR_E_NOMEM, 0, "out of memory");

    if (body)
        memset(body, 'x', bytes);
    for (int64_t i = 0; r >= 0 && i < count; i++) {
        struct tr_js_ack ack;
        char id[48];

        (void)snprintf(id, sizeof(id), "bench:%lld:%lld", (long long)from, (long long)i);
        r = tr_js_publish(b->n, SUBJECT, id, body, bytes, &ack, err);
    }
    if (r < 0)
        return r;
    *ret_rate = rate(count, from);
    return ask(b, "STREAM.PURGE." STREAM, json_object(), err);
}

static int fill(struct tr_nats_bench *b, int64_t count, size_t bytes, struct tr_err *err)
{
    tr_autofree char *body = calloc(1, bytes + 1);
    natsStatus s = body ? NATS_OK : NATS_NO_MEMORY;
    json_int_t there = 0;

    if (body)
        memset(body, 'x', bytes);
    for (int64_t i = 0; s == NATS_OK && i < count; i++)
        s = natsConnection_Publish(tr_nats_raw(b->n), SUBJECT, body, (int)bytes);
    if (s == NATS_OK)
        s = natsConnection_Flush(tr_nats_raw(b->n));
    if (s != NATS_OK)
        return tr_nats_fail(b->n, s, STREAM, err);
    for (int64_t end = tr_clock_mono_us() + WAIT_MS * INT64_C(1000);
         there < count && tr_clock_mono_us() < end;) {
        TR_CLEANUP(tr_js_unrefp) json_t *info = NULL;
        int r = tr_js_ask(b->n, "STREAM.INFO." STREAM, NULL, &info, NULL, err);

        if (r < 0)
            return r;
        there = json_integer_value(json_object_get(json_object_get(info, "state"), "messages"));
    }
    return there >= count ? 0 : tr_fail(err, TR_E_TIMEOUT, 0, "the stream fills too slowly");
}

static int one_batch(struct tr_nats_bench *b, int batch, tr_nats_bench_fn work, void *arg,
                     struct tr_err *err)
{
    natsMsg *msgs[BATCH_MAX];
    uint64_t seqs[BATCH_MAX];
    char body[64];
    int got = 0, r = 0;

    (void)snprintf(body, sizeof(body), "{\"batch\":%d,\"expires\":%lld}", batch,
                   WAIT_MS * 1000000LL);
    natsStatus s = natsConnection_PublishRequestString(
        tr_nats_raw(b->n), "$JS.API.CONSUMER.MSG.NEXT." STREAM "." CONSUMER, b->inbox, body);
    while (s == NATS_OK && got < batch) {
        jsMsgMetaData *meta = NULL;

        s = natsSubscription_NextMsg(&msgs[got], b->sub, WAIT_MS);
        if (s != NATS_OK)
            break;
        s = natsMsg_GetMetaData(&meta, msgs[got]);
        if (s == NATS_OK)
            seqs[got] = meta->Sequence.Stream;
        jsMsgMetaData_Destroy(meta);
        got++;
    }
    if (s == NATS_OK && work)
        r = work(arg, seqs, (size_t)got, err);
    for (int i = 0; i < got; i++) {
        if (s == NATS_OK && r >= 0)
            s = natsConnection_PublishString(tr_nats_raw(b->n), natsMsg_GetReply(msgs[i]), "+ACK");
        natsMsg_Destroy(msgs[i]);
    }
    return r < 0 ? r : s == NATS_OK ? 0 : tr_nats_fail(b->n, s, STREAM, err);
}

/* NOLINTNEXTLINE(readability-function-size): what to pull, how, and what to do with it */
int tr_nats_bench_pull(struct tr_nats_bench *b, int64_t count, size_t bytes, int batch,
                       tr_nats_bench_fn work, void *arg, double *ret_rate, struct tr_err *err)
{
    if (batch < 1 || batch > BATCH_MAX || count % batch != 0)
        return tr_fail(err, TR_E_USAGE, 0, "the number of tasks is a multiple of the batch");
    int r = fill(b, count, bytes, err);
    int64_t from = tr_clock_mono_us();

    for (int64_t done = 0; r >= 0 && done < count; done += batch)
        r = one_batch(b, batch, work, arg, err);
    if (r >= 0 && natsConnection_Flush(tr_nats_raw(b->n)) == NATS_OK)
        *ret_rate = rate(count, from);
    return r;
}
