/* SPDX-License-Identifier: MIT
 *
 * nats_pull.c - ask for messages with demand = free slots, and notice when nobody answers.
 *
 * Pulls carry heartbeats: silence for three of them means that the server or the consumer is gone,
 * and the pull is repeated. libnats's own asynchronous pull does not come back after a reconnect,
 * so the loop is ours. Messages arrive on a thread of the library and go over to the loop.
 */
#include <stdio.h>
#include <string.h>

#include "nats/conn_private.h"
#include "source/nats_private.h"

enum {
    EXPIRES_MS = 10 * 1000,
    HEARTBEAT_MS = 500,
    SILENCE_US = 1600 * 1000,
    AGAIN_US = 300 * 1000 /* after a refusal */
};

struct arrival {
    struct src *s;
    natsMsg *msg;
};

/* A message without data and with a status: 100 is a heartbeat, 404 and 408 end a pull, 409 says
 * that the consumer is gone or the server goes. */
static bool take_status(struct src *s, natsMsg *msg)
{
    const char *status = NULL;

    if (natsMsg_GetDataLength(msg) != 0 || natsMsgHeader_Get(msg, "Status", &status) != NATS_OK)
        return false;
    if (strncmp(status, "100", 3) != 0)
        s->asked = 0;
    if (strncmp(status, "409", 3) == 0 || strncmp(status, "503", 3) == 0)
        s->pull_from_us = tr_clock_mono_us() + AGAIN_US;
    return true;
}

static void arrived(void *arg)
{
    struct arrival a = *(struct arrival *)arg;
    struct src *s = a.s;

    free(arg);
    s->heard_us = tr_clock_mono_us();
    if (s->closing || take_status(s, a.msg)) {
        natsMsg_Destroy(a.msg);
        pull_more(s);
        return;
    }
    if (s->asked > 0)
        s->asked--;
    task_arrived(s, a.msg);
}

/* On a thread of the library. */
static void on_message(natsConnection *nc, natsSubscription *sub, natsMsg *msg, void *closure)
{
    struct src *s = closure;
    struct arrival *a = atomic_load(&s->deaf) ? NULL : malloc(sizeof(*a));

    if (a)
        *a = (struct arrival){.s = s, .msg = msg};
    if (!a || tr_loop_post(a->s->host->loop, arrived, a, NULL) < 0) {
        free(a);
        natsMsg_Destroy(msg); /* it comes again */
    }
}

static void ask(struct src *s, int batch)
{
    char subject[128], body[128];

    (void)snprintf(subject, sizeof(subject), "$JS.API.CONSUMER.MSG.NEXT.%s.%.64s", TR_STREAM_TASKS,
                   s->conf.consumer);
    (void)snprintf(body, sizeof(body), "{\"batch\":%d,\"expires\":%lld,\"idle_heartbeat\":%lld}",
                   batch, EXPIRES_MS * 1000000LL, HEARTBEAT_MS * 1000000LL);
    if (natsConnection_PublishRequestString(tr_nats_raw(s->nats), subject, s->inbox, body) ==
        NATS_OK) {
        s->asked = batch;
        s->heard_us = tr_clock_mono_us();
    }
}

void pull_more(struct src *s)
{
    int64_t now = tr_clock_mono_us();

    if (s->asked > 0 && now - s->heard_us > SILENCE_US)
        s->asked = 0;
    if (s->draining || s->closing || s->asked > 0 || now < s->pull_from_us ||
        !tr_nats_is_up(s->nats))
        return;
    size_t alive = tr_pool_alive(s->pool);
    if (alive > s->held)
        ask(s, (int)(alive - s->held));
}

/* Messages that are on their way to a pull of ours come again by themselves. */
void pull_stop(struct src *s)
{
    natsSubscription_Destroy(s->sub);
    s->sub = NULL;
    s->asked = 0;
}

int pull_open(struct src *s, struct tr_err *err)
{
    natsStatus st = natsInbox_Create(&s->inbox);

    if (st == NATS_OK)
        st = natsConnection_Subscribe(&s->sub, tr_nats_raw(s->nats), s->inbox, on_message, s);
    return st == NATS_OK ? 0 : tr_nats_fail(s->nats, st, s->conf.consumer, err);
}

void pull_close(struct src *s)
{
    pull_stop(s);
    natsInbox_Destroy(s->inbox);
    s->inbox = NULL;
}
