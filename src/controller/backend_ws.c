/* SPDX-License-Identifier: MIT
 *
 * backend_ws.c - requests of a web backend, answers with the same id, events pushed.
 */
#include "controller/backend_ws.h"

#include <libwebsockets.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/parse.h"
#include "codec/json.h"
#include "controller/ctl.h"
#include "controller/dispatch.h"
#include "controller/door.h"
#include "controller/problems.h"
#include "controller/row_json.h"
#include "controller/submit.h"

enum {
    FIRST_FRAME_MAX = 4096,
    ARENA_MAX = 96 * 1024 * 1024,
    AUTH_US = 10000000
};

struct backend {
    struct backend *next;
    struct ctl *ctl;
    struct conn *conn; /* NULL: gone, somebody still holds us */
    unsigned refs;
    struct key_who who;
    bool known, checking;
    bool here; /* needs no key (door.h) */
    char authorization[TR_KEY_TEXT + 8];
    int64_t deadline_us;
};

static struct backend *backends; /* for the tick; the loop's thread alone */

/* ---------------------------------------------------------------- life */

static struct backend *hold(struct backend *b)
{
    b->refs++;
    return b;
}

static void release(struct backend *b)
{
    if (--b->refs > 0)
        return;
    for (struct backend **at = &backends; *at; at = &(*at)->next)
        if (*at == b) {
            *at = b->next;
            break;
        }
    free(b);
}

static void on_gone(struct conn *c)
{
    struct backend *b = c->session;

    events_unlisten(c->ctl->events, c);
    c->session = NULL;
    b->conn = NULL;
    release(b);
}

/* ---------------------------------------------------------------- sending */

/* Takes doc and id over. */
static void send_doc(struct backend *b, json_t *doc, json_t *id)
{
    if (doc && id)
        (void)json_object_set(doc, "id", id);
    tr_autofree char *text = doc ? json_dumps(doc, JSON_COMPACT) : NULL;
    json_decref(doc);
    json_decref(id);
    if (text && b->conn)
        conn_send(b->conn, note_new(text, strlen(text)));
}

static void send_error(struct backend *b, json_t *id, const char *code, const char *field,
                       const char *message)
{
    send_doc(b,
             json_pack("{s:s, s:s, s:s, s:s*}", "type", "error", "code", code, "message", message,
                       "field", field),
             id);
}

static void send_failure(struct backend *b, json_t *id, const struct tr_err *err)
{
    int class = tr_err_class(err->code);
    const char *code = err->code == TR_E_NOTFOUND                        ? "not_found"
                       : class == TR_E_RETRY || err->code == TR_E_UNSURE ? "not_ready"
                       : class == TR_E_USAGE                             ? "bad_field"
                                                                         : "internal";

    send_error(b, id, code, NULL, err->msg);
}

/* ---------------------------------------------------------------- requests */

struct asked {
    struct backend *backend;
    json_t *id;
};

static struct asked *ask(struct backend *b, json_t *id)
{
    struct asked *a = calloc(1, sizeof(*a));

    if (a)
        *a = (struct asked){hold(b), json_incref(id)};
    return a;
}

static void asked_free(struct asked *a)
{
    release(a->backend);
    free(a); /* the id went with the answer */
}

static void submitted(struct submit_op *o)
{
    struct asked *a = o->arg;

    if (o->op.result < 0) {
        send_failure(a->backend, a->id, &o->op.err);
    } else {
        if (a->backend->conn && o->outcome == SUBMIT_EXISTED)
            events_also(o->op.ctl->events, a->backend->conn, o->submit_id);
        send_doc(a->backend,
                 json_pack("{s:s, s:s, s:s, s:b}", "type", "submitted", "submit_id", o->submit_id,
                           "status", o->status, "existed", o->outcome == SUBMIT_EXISTED),
                 a->id);
    }
    asked_free(a);
}

static void on_submit(struct backend *b, const json_t *m, json_t *id)
{
    struct spec spec;
    struct bad bad = {0};
    const json_t *task = json_object_get(m, "task");

    if (b->ctl->stopping || dispatch_waiting(b->ctl) >= b->ctl->conf.max_queue) {
        send_error(b, json_incref(id), b->ctl->stopping ? "shutting_down" : "queue_full", NULL,
                   "try again later");
        return;
    }
    if (spec_parse(b->ctl, task ? task : m, false, &b->who, NULL, &spec, &bad) < 0) {
        spec_done(&spec);
        send_error(b, json_incref(id), bad.code, *bad.field ? bad.field : NULL, bad.message);
        return;
    }
    struct asked *a = ask(b, id);
    if (!a) {
        spec_done(&spec);
        return;
    }
    events_also(b->ctl->events, b->conn, spec.submit_id); /* before its first event */
    submit_new(b->ctl, &spec, submitted, a);
}

static void cancelled(struct submit_op *o)
{
    struct asked *a = o->arg;

    if (o->op.result < 0)
        send_failure(a->backend, a->id, &o->op.err);
    else if (o->outcome == SUBMIT_NOT_NOW)
        send_error(a->backend, a->id, "conflict", "submit_id", "it has ended already");
    else
        send_doc(a->backend,
                 json_pack("{s:s, s:s, s:s}", "type", "cancelled", "submit_id", o->submit_id,
                           "status", o->status),
                 a->id);
    asked_free(a);
}

static const char *submit_id_of(struct backend *b, const json_t *m, json_t *id)
{
    const char *s = json_string_value(json_object_get(m, "submit_id"));

    if (s && *s && strlen(s) <= TR_STORE_SUBMIT_ID_MAX)
        return s;
    send_error(b, json_incref(id), "missing_field", "submit_id", "submit_id is missing");
    return NULL;
}

static void on_cancel(struct backend *b, const json_t *m, json_t *id)
{
    const char *s = submit_id_of(b, m, id);
    struct asked *a = s ? ask(b, id) : NULL;

    if (a)
        submit_cancel(b->ctl, s, "cancelled by a client", cancelled, a);
}

struct get_op {
    struct op op;
    struct asked *asked;
    struct tr_arena arena;
    struct row_whole row;
    char submit_id[132];
};

static int run_get(struct op *op, struct tr_store *st, struct tr_err *err)
{
    struct get_op *o = (struct get_op *)op;

    tr_arena_done(&o->arena);
    tr_arena_init(&o->arena, ARENA_MAX);
    return row_read(st, o->submit_id, &o->arena, &o->row, err);
}

static void get_done(struct op *op)
{
    struct get_op *o = (struct get_op *)op;
    struct asked *a = o->asked;

    if (op->result < 0)
        send_failure(a->backend, a->id, &op->err);
    else
        send_doc(a->backend,
                 json_pack("{s:s, s:o}", "type", "submission", "submission",
                           row_json(op->ctl, &o->row, false)),
                 a->id);
    asked_free(a);
    tr_arena_done(&o->arena);
    free(o);
}

static void on_get(struct backend *b, const json_t *m, json_t *id)
{
    const char *s = submit_id_of(b, m, id);
    struct get_op *o = s ? calloc(1, sizeof(*o)) : NULL;

    if (!o)
        return;
    o->asked = ask(b, id);
    if (!o->asked) {
        free(o);
        return;
    }
    o->op = (struct op){.run = run_get, .done = get_done, .lane = OP_READ};
    (void)snprintf(o->submit_id, sizeof(o->submit_id), "%s", s);
    storage_do(b->ctl->storage, &o->op);
}

static void on_subscribe(struct backend *b, const json_t *m, json_t *id)
{
    const json_t *ids = json_object_get(m, "submit_ids"), *v;
    const char *from = json_string_value(json_object_get(m, "last_event_id"));
    const char *names[EVENTS_IDS_MAX];
    int64_t after = -1;
    size_t i, n = 0;

    if (b->who.role < ROLE_READ && !ids) {
        send_error(b, json_incref(id), "forbidden", NULL, "everything needs the role 'read'");
        return;
    }
    if ((ids && (!json_is_array(ids) || json_array_size(ids) > EVENTS_IDS_MAX)) ||
        (from && tr_parse_i64(from, 0, INT64_MAX, &after, NULL) < 0)) {
        send_error(b, json_incref(id), "bad_field", ids ? "submit_ids" : "last_event_id",
                   "expected at most 256 names, and an event id");
        return;
    }
    json_array_foreach(ids, i, v)
    {
        /* "" would be everything that is about no submission */
        if (json_string_length(v) > 0 && json_string_length(v) <= TR_STORE_SUBMIT_ID_MAX)
            names[n++] = json_string_value(v);
    }
    if (events_listen_ws(b->ctl->events, b->conn, ids ? names : NULL, n, after))
        send_doc(b, json_pack("{s:s}", "type", "subscribed"), json_incref(id));
    else
        send_error(b, json_incref(id), "not_ready", NULL, "too many listeners");
}

static void on_unsubscribe(struct backend *b, const json_t *m, json_t *id)
{
    (void)m;
    events_unlisten(b->ctl->events, b->conn);
    send_doc(b, json_pack("{s:s}", "type", "unsubscribed"), json_incref(id));
}

struct update {
    struct asked *asked;
    char problem[PROBLEM_ID_MAX + 1];
};

static void updated(void *arg, int changed)
{
    struct update *u = arg;
    struct asked *a = u->asked;
    struct ctl *ctl = a->backend->ctl;
    const struct problem *p = *u->problem ? problems_find(ctl->problems, u->problem) : NULL;

    if (changed < 0)
        send_error(a->backend, a->id, "internal", NULL, "the problem folder cannot be read");
    else if (*u->problem && !p)
        send_error(a->backend, a->id, "unknown_problem", "problem", "there is no such problem");
    else
        send_doc(a->backend,
                 p ? json_pack("{s:s, s:i, s:o}", "type", "problem", "changed", changed, "problem",
                               problem_json(ctl, p))
                   : json_pack("{s:s, s:i}", "type", "problem", "changed", changed),
                 a->id);
    asked_free(a);
    free(u);
}

static void on_problem_update(struct backend *b, const json_t *m, json_t *id)
{
    const char *name = json_string_value(json_object_get(m, "problem"));

    if (b->who.role < ROLE_ADMIN) {
        send_error(b, json_incref(id), "forbidden", NULL, "this needs the role 'admin'");
        return;
    }
    struct update *u = calloc(1, sizeof(*u));
    if (!u)
        return;
    (void)snprintf(u->problem, sizeof(u->problem), "%s", name ? name : "");
    u->asked = ask(b, id);
    if (u->asked)
        problems_rescan(b->ctl->problems, updated, u);
    else
        free(u);
}

static void on_ping(struct backend *b, const json_t *m, json_t *id)
{
    (void)m;
    send_doc(b, json_pack("{s:s}", "type", "pong"), json_incref(id));
}

/* ---------------------------------------------------------------- who are you? */

static void refuse_key(struct backend *b)
{
    send_error(b, NULL, "bad_key", NULL, "there is no such key, or it was revoked");
    conn_close(b->conn, 4001, "bad_key");
}

static void decide(struct backend *b, enum key_answer a)
{
    b->checking = false;
    if (!b->conn)
        return;
    if (a != KEY_OK || b->who.role == ROLE_NONE) {
        refuse_key(b);
        return;
    }
    b->known = true;
    b->conn->in.max = b->ctl->conf.max_body;
    send_doc(b, json_pack("{s:s, s:s}", "type", "welcome", "role", key_role_name(b->who.role)),
             NULL);
}

static void refreshed(void *arg)
{
    struct backend *b = arg;

    decide(b, keys_who(b->ctl->keys, b->authorization, &b->who));
    release(b);
}

static void check_key(struct backend *b)
{
    enum key_answer a = keys_who(b->ctl->keys, b->authorization, &b->who);

    b->checking = true;
    if (a == KEY_UNKNOWN)
        keys_refreshed(b->ctl->keys, refreshed, hold(b));
    else
        decide(b, a);
}

static void on_auth(struct backend *b, const json_t *m)
{
    const char *key = json_string_value(json_object_get(m, "key"));

    (void)snprintf(b->authorization, sizeof(b->authorization), "Bearer %s", key ? key : "");
    check_key(b);
}

/* ---------------------------------------------------------------- messages */

static const struct {
    const char *type;
    void (*handle)(struct backend *b, const json_t *m, json_t *id);
} messages[] = {
    {"submit", on_submit},
    {"cancel", on_cancel},
    {"get", on_get},
    {"subscribe", on_subscribe},
    {"unsubscribe", on_unsubscribe},
    {"problem_update", on_problem_update},
    {"ping", on_ping},
};

static void on_message(struct conn *c, const char *text, size_t len)
{
    TR_CLEANUP(tr_json_unrefp) json_t *m = NULL;
    struct tr_err err = TR_ERR_INIT;
    struct backend *b = c->session;

    if (!b || c->close_code || b->checking)
        return;
    if (tr_json_parse(text, len, c->in.max, &m, &err) < 0) {
        send_error(b, NULL, "bad_json", NULL, err.msg);
        if (!b->known)
            conn_close(c, 4002, "bad_json");
        return;
    }
    const char *type = json_string_value(json_object_get(m, "type"));
    json_t *id = json_object_get(m, "id");
    if (!b->known) {
        if (type && strcmp(type, "auth") == 0)
            on_auth(b, m);
        else
            conn_close(c, 4001, "auth_timeout: the first message is auth");
        return;
    }
    if (keys_rate(b->ctl->keys, &b->who) > 0) {
        send_error(b, json_incref(id), "too_many_requests", NULL, "this key asks too often");
        return;
    }
    for (size_t i = 0; type && i < TR_ARRAY_LEN(messages); i++)
        if (strcmp(messages[i].type, type) == 0) {
            messages[i].handle(b, m, id);
            return;
        }
    send_error(b, json_incref(id), "unknown_type", "type", "there is no such message");
}

int backend_ws_upgrade(struct conn *c)
{
    struct backend *b = calloc(1, sizeof(*b));

    if (!b)
        return -1;
    b->refs = 1;
    b->ctl = c->ctl;
    b->conn = c;
    b->deadline_us = tr_clock_mono_us() + AUTH_US;
    (void)lws_hdr_copy(c->wsi, b->authorization, sizeof(b->authorization),
                       WSI_TOKEN_HTTP_AUTHORIZATION);
    b->here = lws_hdr_total_length(c->wsi, WSI_TOKEN_HTTP_AUTHORIZATION) <= 0 && door_open(c);
    b->next = backends;
    backends = b;
    c->session = b;
    c->gone = on_gone;
    return 0;
}

int backend_ws_open(struct conn *c)
{
    struct backend *b = c->session;

    c->in.max = FIRST_FRAME_MAX;
    c->message = on_message;
    if (b->here) {
        b->who = (struct key_who){.role = ROLE_ADMIN, .open = true};
        decide(b, KEY_OK);
    } else if (*b->authorization) {
        check_key(b);
    }
    return 0;
}

void backend_ws_tick(struct ctl *ctl)
{
    int64_t now = tr_clock_mono_us();

    for (struct backend *b = backends; b; b = b->next) {
        if (!b->conn || b->conn->close_code)
            continue;
        if (!b->known && now > b->deadline_us)
            conn_close(b->conn, 4001, "auth_timeout");
        else if (b->known && !b->who.open && !keys_valid(ctl->keys, b->who.key_id))
            refuse_key(b);
    }
}

void backend_ws_bye(void)
{
    for (struct backend *b = backends; b; b = b->next)
        if (b->conn)
            conn_close(b->conn, LWS_CLOSE_STATUS_GOINGAWAY, "shutdown");
}
