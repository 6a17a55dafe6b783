/* SPDX-License-Identifier: MIT
 *
 * nats_out.c - the thread that publishes until it is certain, and then settles the message.
 *
 * Nothing here may hold up the loop: a server that is away blocks a publish for seconds. A message
 * whose publications did not get through is settled by nobody: it comes again after ack_wait, finds
 * its row at the end, and only these last steps are repeated.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "source/nats_private.h"

enum {
    ROUNDS = 3 /* each as long as one request may take: fifteen seconds by default */
};

struct out {
    struct src *src;
    pthread_t thread;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t wake;
    struct outgoing *first, **last;
    struct outgoing *finished, **finished_last;
    uint64_t stored, failed;
    bool stop;
};

struct outgoing *out_new(struct delivery *d, enum settle how)
{
    struct outgoing *o = calloc(1, sizeof(*o));

    if (o) {
        o->d = d;
        o->settle = how;
    }
    return o;
}

void out_add(struct outgoing *o, const char *subject, const char *id, char *bytes, bool letter)
{
    struct publication *p = o && bytes ? calloc(1, sizeof(*p)) : NULL;
    struct publication **at = o ? &o->first : NULL;

    if (!p) {
        free(bytes);
        if (o && letter)
            o->settle = SETTLE_NONE;
        return;
    }
    (void)snprintf(p->subject, sizeof(p->subject), "%s", subject);
    (void)snprintf(p->id, sizeof(p->id), "%s", id);
    p->bytes = bytes;
    p->letter = letter;
    while (*at)
        at = &(*at)->next;
    *at = p;
}

static void free_outgoing(struct outgoing *o)
{
    while (o->first) {
        struct publication *p = o->first;

        o->first = p->next;
        free(p->bytes);
        free(p);
    }
    free(o);
}

/* 0, or what stands in the way for good; TR_E_RETRY when the server stayed away. */
static int publish(struct out *t, const struct publication *p, struct tr_err *err)
{
    struct tr_js_ack ack;
    int r = TR_E_RETRY;

    for (int round = 0; round < ROUNDS; round++) {
        r = tr_js_publish(t->src->nats, p->subject, p->id, p->bytes, strlen(p->bytes), &ack, err);
        bool passing = tr_err_class(r) == TR_E_RETRY || r == TR_E_UNSURE;
        (void)pthread_mutex_lock(&t->lock);
        bool stop = t->stop;
        t->stored += r >= 0;
        t->failed += r < 0;
        (void)pthread_mutex_unlock(&t->lock);
        if (!passing || stop)
            break;
    }
    return r;
}

/* What may be done with the message after its publications. */
static enum settle publish_all(struct out *t, struct outgoing *o)
{
    enum settle settle = o->settle;

    for (const struct publication *p = o->first; p; p = p->next) {
        struct tr_err err = TR_ERR_INIT;
        int r = publish(t, p, &err);

        if (r >= 0)
            continue;
        src_log(t->src, TR_LOG_ERROR, o->d ? o->d->env.submit_id : NULL, &err, p->subject);
        if (tr_err_class(r) == TR_E_RETRY || r == TR_E_UNSURE)
            return SETTLE_NONE; /* it comes again */
        if (p->letter) {        /* no stream for dead letters: the task must not vanish */
            o->delay_us = INT64_C(30) * 1000000;
            settle = SETTLE_NAK;
        }
    }
    return settle;
}

static void settle_message(struct src *s, natsMsg *msg, enum settle how, int64_t delay_us)
{
    char nak[64];

    switch (how) {
    case SETTLE_ACK:
        src_answer(s, msg, "+ACK");
        break;
    case SETTLE_TERM:
        src_answer(s, msg, "+TERM");
        break;
    case SETTLE_NAK:
        (void)snprintf(nak, sizeof(nak), "-NAK {\"delay\":%lld}", (long long)delay_us * 1000);
        src_answer(s, msg, delay_us > 0 ? nak : "-NAK");
        break;
    case SETTLE_NONE:
    default:
        break;
    }
}

static void deliver(void *arg)
{
    struct out *t = arg;
    struct src *s = t->src;

    (void)pthread_mutex_lock(&t->lock);
    struct outgoing *o = t->finished;
    t->finished = NULL;
    t->finished_last = &t->finished;
    s->host->metrics->value[TR_M_EVENTS] = (int64_t)t->stored;
    s->host->metrics->value[TR_M_EVENTS_FAILED] = (int64_t)t->failed;
    (void)pthread_mutex_unlock(&t->lock);
    while (o) {
        struct outgoing *next = o->next;

        if (o->done)
            o->done(s, o->arg);
        if (o->d)
            task_settled(o->d);
        free_outgoing(o);
        o = next;
    }
}

static void finish(struct out *t, struct outgoing *o)
{
    (void)pthread_mutex_lock(&t->lock);
    bool first = t->finished == NULL;
    o->next = NULL;
    *t->finished_last = o;
    t->finished_last = &o->next;
    (void)pthread_mutex_unlock(&t->lock);
    if (first)
        (void)tr_loop_post(t->src->host->loop, deliver, t, NULL);
}

static void *work(void *arg)
{
    struct out *t = arg;

    for (;;) {
        (void)pthread_mutex_lock(&t->lock);
        while (!t->first && !t->stop)
            (void)pthread_cond_wait(&t->wake, &t->lock);
        struct outgoing *o = t->first;
        if (o)
            t->first = o->next;
        if (!t->first)
            t->last = &t->first;
        (void)pthread_mutex_unlock(&t->lock);
        if (!o)
            return NULL;
        if (o->run)
            o->run(t->src, o->arg);
        enum settle how = publish_all(t, o);
        if (o->d)
            settle_message(t->src, o->d->msg, how, o->delay_us);
        finish(t, o);
    }
}

int out_open(struct src *s, struct tr_err *err)
{
    struct out *t = calloc(1, sizeof(*t));

    if (!t)
        return tr_fail(err, TR_E_NOMEM, 0, "out of memory");
    t->src = s;
    t->last = &t->first;
    t->finished_last = &t->finished;
    (void)pthread_mutex_init(&t->lock, NULL);
    (void)pthread_cond_init(&t->wake, NULL);
    if (pthread_create(&t->thread, NULL, work, t) != 0) {
        free(t);
        return tr_fail(err, TR_E_NOMEM, 0, "no thread for publishing");
    }
    s->out = t;
    return 0;
}

/* What waits is still sent, each once. */
void out_close(struct src *s)
{
    struct out *t = s->out;

    if (!t)
        return;
    (void)pthread_mutex_lock(&t->lock);
    t->stop = true;
    (void)pthread_cond_signal(&t->wake);
    (void)pthread_mutex_unlock(&t->lock);
    (void)pthread_join(t->thread, NULL);
    while (t->finished) {
        struct outgoing *o = t->finished;

        t->finished = o->next;
        if (o->done)
            o->done(s, o->arg);
        free_outgoing(o);
    }
    (void)pthread_cond_destroy(&t->wake);
    (void)pthread_mutex_destroy(&t->lock);
    free(t);
    s->out = NULL;
}

void out_send(struct src *s, struct outgoing *o)
{
    struct out *t = s->out;

    if (!o)
        return;
    o->next = NULL;
    (void)pthread_mutex_lock(&t->lock);
    *t->last = o;
    t->last = &o->next;
    (void)pthread_cond_signal(&t->wake);
    (void)pthread_mutex_unlock(&t->lock);
}
