/* SPDX-License-Identifier: MIT
 *
 * dlq.c - dead letters on the server.
 */
#include "nats/dlq.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "nats/envelope.h"
#include "nats/letter.h"
#include "nats/names.h"
#include "nats/reader.h"

enum {
    WAIT_MS = 5000
};

static int hand_over(const struct tr_read *m, int (*each)(void *arg, const struct tr_dead *dead),
                     void *arg)
{
    TR_CLEANUP(tr_js_unrefp) json_t *letter = NULL;
    struct tr_err why = TR_ERR_INIT;

    (void)tr_letter_read(m->data, m->len, &letter, &why);
    const struct tr_dead dead = {.seq = m->seq,
                                 .subject = m->subject,
                                 .time_us = m->time_us,
                                 .letter = letter,
                                 .why = why.msg,
                                 .data = m->data,
                                 .len = m->len};
    return each(arg, &dead);
}

int tr_dlq_walk(struct tr_nats *n, uint64_t from,
                int (*each)(void *arg, const struct tr_dead *dead), void *arg, struct tr_err *err)
{
    TR_CLEANUP(tr_reader_closep) struct tr_reader *reader = NULL;
    int r = tr_reader_open(n, TR_STREAM_DLQ, TR_SUBJECT_DLQ ".*", from, &reader, err);

    if (r < 0)
        return r;
    for (bool end = tr_reader_waiting(reader) == 0; !end;) {
        struct tr_read m;

        r = tr_reader_next(reader, WAIT_MS, &m, err);
        if (r < 0)
            return r;
        if (r == 0)
            return tr_fail(err, TR_E_TIMEOUT, 0, "%s does not deliver its letters", TR_STREAM_DLQ);
        end = m.pending == 0;
        r = hand_over(&m, each, arg);
        tr_read_done(&m);
        if (r != 0)
            return r;
    }
    return 0;
}

int tr_dlq_drop(struct tr_nats *n, uint64_t seq, struct tr_err *err)
{
    TR_CLEANUP(tr_js_unrefp)
    json_t *body = json_pack("{s:I, s:b}", "seq", (json_int_t)seq, "no_erase", 1);
    TR_CLEANUP(tr_js_unrefp) json_t *answer = NULL;
    int code = 0;

    if (!body)
        return tr_fail(err, TR_E_NOMEM, 0, "out of memory");
    int r = tr_js_ask(n, "STREAM.MSG.DELETE." TR_STREAM_DLQ, body, &answer, &code, err);
    /* "no message found" has had several numbers in the server's history */
    if (r < 0 && code && code != TR_JS_STREAM_NOT_FOUND)
        return tr_fail(err, TR_E_NOTFOUND, 0, "there is no dead letter %llu",
                       (unsigned long long)seq);
    return r;
}

int tr_dlq_retry(struct tr_nats *n, const struct tr_dead *dead, struct tr_js_ack *ret,
                 struct tr_err *err)
{
    tr_autofree char *task = NULL;
    const char *subject = NULL;
    struct tr_envelope e;
    char id[TR_MSG_ID_MAX];
    char whole[TR_MSG_ID_MAX + 32];

    if (!dead->letter)
        return tr_fail(err, TR_E_PARSE, 0, "dead letter %llu: %s", (unsigned long long)dead->seq,
                       dead->why);
    int r = tr_letter_task(dead->letter, &task, &subject, err);
    if (r == 0 && task)
        r = tr_envelope_read(task, strlen(task), "", &e, err);
    if (r < 0 || !task || !subject)
        return tr_fail_wrap(err, "dead letter %llu", (unsigned long long)dead->seq);
    (void)snprintf(whole, sizeof(whole), "%s:dlq%llu", tr_envelope_id(&e, id),
                   (unsigned long long)dead->seq);
    r = tr_js_publish(n, subject, whole, task, strlen(task), ret, err);
    return r < 0 ? r : tr_dlq_drop(n, dead->seq, err);
}
