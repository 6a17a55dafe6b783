/* SPDX-License-Identifier: MIT
 *
 * nats_watch.c - what nobody else would notice: runs whose worker is gone, submissions whose
 * message is gone, a backlog that grows, messages that were delivered too often.
 *
 * Every worker looks; every step is a conditional update or a publish with an id, so it does not
 * matter how many of them do.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec/json.h"
#include "nats/conn_private.h"
#include "nats/letter.h"
#include "source/nats_private.h"

enum {
    AT_ONCE = 50, /* rows of one look */
    ARENA_MAX = 256 << 20
};

/* A submission that waits; its message may be gone. */
struct orphan {
    char submit_id[TR_STORE_SUBMIT_ID_MAX + 1];
    char subject[64];
    char id[TR_MSG_ID_MAX + 32];
    char *task; /* with the row's counts */
    int64_t msg_seq;
    int64_t new_seq; /* published again as */
};

struct look {
    struct tr_dbop db; /* first */
    struct src *s;
    struct orphan orphans[AT_ONCE];
    size_t n;
    int64_t taken_back;
    int64_t backlog;
};

static void free_look(struct look *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->orphans[i].task);
    free(l);
}

/* ---------------------------------------------------------------- on the store's thread */

/* The task as it has to be published now. */
static char *current_task(const struct tr_submission *row, const char *task, size_t len)
{
    TR_CLEANUP(tr_json_unrefp) json_t *o = NULL;

    if (tr_json_parse(task, len, TR_STORE_TASK_MAX, &o, NULL) < 0)
        return NULL;
    if (json_object_set_new(o, "generation", json_integer(row->generation)) |
        json_object_set_new(o, "retry_count", json_integer(row->retry_count)) |
        json_object_set_new(o, "crashes", json_integer(row->crashes)) |
        json_object_set_new(o, "revivals", json_integer(row->revivals)))
        return NULL;
    return json_dumps(o, JSON_COMPACT);
}

static int note_orphan(struct tr_store *st, struct look *l, const struct tr_submission *row,
                       struct tr_arena *arena, struct tr_err *err)
{
    struct orphan *o = &l->orphans[l->n];
    struct tr_envelope e = {
        .generation = row->generation, .retry_count = row->retry_count, .crashes = row->crashes};
    const char *task, *result;
    size_t task_len, result_len;
    char id[TR_MSG_ID_MAX];
    int r = tr_store_texts(st, row->submit_id, arena, &task, &task_len, &result, &result_len, err);

    if (r < 0)
        return r;
    *o = (struct orphan){.msg_seq = row->msg_seq, .task = current_task(row, task, task_len)};
    (void)snprintf(o->submit_id, sizeof(o->submit_id), "%s", row->submit_id);
    (void)snprintf(o->subject, sizeof(o->subject), "%s",
                   *row->subject ? row->subject : l->s->subject);
    (void)snprintf(e.submit_id, sizeof(e.submit_id), "%s", row->submit_id);
    /* Not the id of the message that is gone: the server may still swallow that one. The same for
     * every watchdog that misses the same message. */
    (void)snprintf(o->id, sizeof(o->id), "%s:gone%lld", tr_envelope_id(&e, id),
                   (long long)row->msg_seq);
    l->n += o->task != NULL;
    return 0;
}

static int take_back(struct tr_store *st, struct look *l, struct tr_arena *arena,
                     struct tr_err *err)
{
    struct tr_submission_list list;
    int r = tr_store_expired(st, "nats", l->s->conf.grace_us, AT_ONCE, arena, &list, err);

    for (size_t i = 0; r >= 0 && i < list.count; i++) {
        r = tr_store_expire(st, list.rows[i].submit_id, list.rows[i].run_lease, l->s->conf.grace_us,
                            err);
        l->taken_back += r >= 0;
        r = r == TR_E_LOST ? 0 : r; /* another watchdog was faster */
    }
    return r;
}

static int run_look(struct tr_store *st, struct tr_dbop *db, struct tr_err *err)
{
    struct look *l = (struct look *)db;
    struct tr_submission_list list;
    struct tr_arena arena;

    tr_arena_init(&arena, ARENA_MAX);
    int r = take_back(st, l, &arena, err);
    /* What was taken back just now has moved just now: the next look sees to its message. */
    if (r >= 0)
        r = tr_store_waiting(st, "nats", l->s->conf.grace_us, 0, AT_ONCE, &arena, &list, err);
    for (size_t i = 0; r >= 0 && i < list.count; i++)
        r = note_orphan(st, l, &list.rows[i], &arena, err);
    tr_arena_done(&arena);
    return r;
}

static int run_carried(struct tr_store *st, struct tr_dbop *db, struct tr_err *err)
{
    struct look *l = (struct look *)db;
    int r = 0;

    for (size_t i = 0; r >= 0 && i < l->n; i++) {
        const struct orphan *o = &l->orphans[i];

        if (o->new_seq)
            r = tr_store_carried(st, o->submit_id, o->subject, o->new_seq, err);
    }
    return r;
}

static void carried_done(struct tr_dbop *db)
{
    struct look *l = (struct look *)db;

    l->s->watching = false;
    free_look(l);
}

/* ---------------------------------------------------------------- on the publishing thread */

static bool message_is_there(struct src *s, int64_t seq)
{
    TR_CLEANUP(tr_js_unrefp) json_t *body = json_pack("{s:I}", "seq", (json_int_t)seq);
    TR_CLEANUP(tr_js_unrefp) json_t *answer = NULL;
    int r = seq ? tr_js_ask(s->nats, "STREAM.MSG.GET." TR_STREAM_TASKS, body, &answer, NULL, NULL)
                : TR_E_NOTFOUND;

    return r != TR_E_NOTFOUND; /* not known is not gone */
}

static void count_backlog(struct look *l)
{
    TR_CLEANUP(tr_js_unrefp) json_t *info = NULL;

    l->backlog = -1;
    if (tr_js_askf(l->s->nats, NULL, &info, NULL, NULL, "CONSUMER.INFO.%s.%.64s", TR_STREAM_TASKS,
                   l->s->conf.consumer) >= 0)
        l->backlog = json_integer_value(json_object_get(info, "num_pending"));
}

static void run_publish(struct src *s, void *arg)
{
    struct look *l = arg;

    for (size_t i = 0; i < l->n; i++) {
        struct orphan *o = &l->orphans[i];
        struct tr_js_ack ack;

        if (message_is_there(s, o->msg_seq)) {
            o->new_seq = o->msg_seq; /* seen: not before the next grace again */
        } else if (tr_js_publish(s->nats, o->subject, o->id, o->task, strlen(o->task), &ack,
                                 NULL) >= 0) {
            o->new_seq = (int64_t)ack.seq;
            o->msg_seq = -1;
        }
    }
    count_backlog(l);
}

/* ---------------------------------------------------------------- on the loop */

static void note_backlog(struct src *s, int64_t backlog)
{
    if (backlog < 0)
        return;
    s->backlog = backlog;
    bool over = backlog > s->conf.backlog;
    if (over && !s->alarmed) {
        tr_log(TR_LOG_WARN, s->host->log, "%lld tasks wait for %s", (long long)backlog,
               s->conf.consumer);
        src_say(s, TR_SUBJECT_EVENTS ".system", event_system(s, "backlog", backlog));
    }
    s->alarmed = over;
}

static void published(struct src *s, void *arg)
{
    struct look *l = arg;

    note_backlog(s, l->backlog);
    for (size_t i = 0; i < l->n; i++) {
        if (l->orphans[i].msg_seq == -1) {
            tr_metric_add(s->host->metrics, TR_M_REPUBLISHED);
            src_log(s, TR_LOG_WARN, l->orphans[i].submit_id, NULL,
                    "its message was gone: published again");
        }
    }
    if (s->closing || l->n == 0) {
        s->watching = false;
        free_look(l);
        return;
    }
    l->db.run = run_carried;
    l->db.done = carried_done;
    tr_dbthread_do(s->db, &l->db);
}

static void look_done(struct tr_dbop *db)
{
    struct look *l = (struct look *)db;
    struct src *s = l->s;
    struct outgoing *o = db->result >= 0 ? out_new(NULL, SETTLE_NONE) : NULL;

    if (db->result < 0)
        src_log(s, TR_LOG_WARN, NULL, &db->err, "watchdog");
    if (l->taken_back)
        tr_log(TR_LOG_WARN, s->host->log, "took %lld runs back whose workers are gone",
               (long long)l->taken_back);
    if (!o) {
        s->watching = false;
        free_look(l);
        return;
    }
    o->run = run_publish;
    o->done = published;
    o->arg = l;
    out_send(s, o);
}

void watch_look(struct src *s)
{
    struct look *l = s->watching || s->draining ? NULL : calloc(1, sizeof(*l));

    if (!l)
        return;
    s->watching = true;
    l->s = s;
    l->db.run = run_look;
    l->db.done = look_done;
    l->db.alone = true;
    tr_dbthread_do(s->db, &l->db);
}

/* ---------------------------------------------------------------- delivered too often */

/* JetStream gives up a message after max_deliver deliveries: it stays in the stream and nobody gets
 * it. The server says so once; one worker of the farm hears it and moves it to the dead letters. */
struct advice {
    struct src *s;
    uint64_t seq;
    int64_t deliveries;
    char submit_id[TR_SUBMIT_ID_MAX + 1];
};

static int read_message(struct src *s, uint64_t seq, char **ret, size_t *ret_len, char *subject,
                        size_t size, struct tr_err *err)
{
    natsMsg *msg = NULL;
    jsCtx *js = NULL;
    natsStatus st = natsConnection_JetStream(&js, tr_nats_raw(s->nats), NULL);

    if (st == NATS_OK)
        st = js_GetMsg(&msg, js, TR_STREAM_TASKS, seq, NULL, NULL);
    if (st == NATS_OK) {
        *ret_len = (size_t)natsMsg_GetDataLength(msg);
        *ret = malloc(*ret_len + 1);
        if (*ret && *ret_len)
            memcpy(*ret, natsMsg_GetData(msg), *ret_len);
        (void)snprintf(subject, size, "%s", natsMsg_GetSubject(msg));
    }
    natsMsg_Destroy(msg);
    jsCtx_Destroy(js);
    if (st != NATS_OK)
        return tr_nats_fail(s->nats, st, "a message that was delivered too often", err);
    return *ret ? 0 : tr_fail(err, TR_E_NOMEM, 0, "out of memory");
}

static void run_advice(struct src *s, void *arg)
{
    struct advice *a = arg;
    tr_autofree char *bytes = NULL;
    tr_autofree char *letter = NULL;
    TR_CLEANUP(tr_js_unrefp) json_t *body = json_pack("{s:I}", "seq", (json_int_t)a->seq);
    TR_CLEANUP(tr_js_unrefp) json_t *answer = NULL;
    struct tr_envelope e = {.generation = 0};
    struct tr_err err = TR_ERR_INIT;
    struct tr_js_ack ack;
    char subject[64] = "", id[64], why[128];
    size_t len = 0;

    if (read_message(s, a->seq, &bytes, &len, subject, sizeof(subject), &err) < 0)
        return; /* settled meanwhile, or another worker was faster */
    (void)tr_envelope_read(bytes, len, "", &e, NULL);
    (void)snprintf(why, sizeof(why), "delivered %lld times without an end",
                   (long long)a->deliveries);
    (void)snprintf(id, sizeof(id), "advisory:%llu", (unsigned long long)a->seq);
    struct tr_letter l = {.original_subject = subject,
                          .submit_id = e.submit_id,
                          .error = why,
                          .retry_count = e.retry_count,
                          .failed_at_us = tr_clock_real_us(),
                          .payload = bytes,
                          .payload_len = len};
    if (tr_letter_write(&l, &letter, &err) < 0 ||
        tr_js_publish(s->nats, tr_letter_subject(subject), id, letter, strlen(letter), &ack, &err) <
            0) {
        src_log(s, TR_LOG_ERROR, e.submit_id, &err, "dead letter");
        return;
    }
    (void)tr_js_ask(s->nats, "STREAM.MSG.DELETE." TR_STREAM_TASKS, body, &answer, NULL, NULL);
    (void)snprintf(a->submit_id, sizeof(a->submit_id), "%s", e.submit_id);
}

struct burial {
    struct tr_dbop db; /* first */
    char submit_id[TR_SUBMIT_ID_MAX + 1];
};

static int run_bury(struct tr_store *st, struct tr_dbop *db, struct tr_err *err)
{
    struct burial *b = (struct burial *)db;
    int r = tr_store_bury(st, b->submit_id, "delivered too often without an end", err);

    return r == TR_E_NOTFOUND ? 0 : r;
}

static void buried(struct tr_dbop *db)
{
    free(db);
}

static void advice_done(struct src *s, void *arg)
{
    struct advice *a = arg;
    struct burial *b = a->submit_id[0] && !s->closing ? calloc(1, sizeof(*b)) : NULL;

    if (b) {
        tr_metric_add(s->host->metrics, TR_M_TASKS_DEAD);
        src_log(s, TR_LOG_WARN, a->submit_id, NULL, "delivered too often: to the dead letters");
        memcpy(b->submit_id, a->submit_id, sizeof(b->submit_id));
        b->db.run = run_bury;
        b->db.done = buried;
        b->db.alone = true;
        tr_dbthread_do(s->db, &b->db);
    }
    free(a);
}

static void advised(void *arg)
{
    struct advice *a = arg;
    struct outgoing *o = a->s->closing ? NULL : out_new(NULL, SETTLE_NONE);

    if (!o) {
        free(a);
        return;
    }
    o->run = run_advice;
    o->done = advice_done;
    o->arg = a;
    out_send(a->s, o);
}

/* On a thread of the library. */
static void on_advisory(natsConnection *nc, natsSubscription *sub, natsMsg *msg, void *closure)
{
    TR_CLEANUP(tr_json_unrefp) json_t *o = NULL;
    struct src *s = closure;
    struct advice *a = atomic_load(&s->deaf) ? NULL : calloc(1, sizeof(*a));

    if (a && tr_json_parse(natsMsg_GetData(msg), (size_t)natsMsg_GetDataLength(msg), 1 << 16, &o,
                           NULL) >= 0) {
        a->s = s;
        a->seq = (uint64_t)json_integer_value(json_object_get(o, "stream_seq"));
        a->deliveries = json_integer_value(json_object_get(o, "deliveries"));
        if (a->seq && tr_loop_post(s->host->loop, advised, a, NULL) >= 0)
            a = NULL;
    }
    free(a);
    natsMsg_Destroy(msg);
}

int watch_open(struct src *s, struct tr_err *err)
{
    natsStatus st = natsConnection_QueueSubscribe(
        &s->advisories, tr_nats_raw(s->nats),
        "$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES." TR_STREAM_TASKS ".*", "tribunal-workers",
        on_advisory, s);

    return st == NATS_OK ? 0 : tr_nats_fail(s->nats, st, "advisories", err);
}

void watch_close(struct src *s)
{
    natsSubscription_Destroy(s->advisories);
    s->advisories = NULL;
}
