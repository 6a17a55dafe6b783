/* SPDX-License-Identifier: MIT
 *
 * api_submissions.c - submit, run once, look at one; with ?wait until it has ended.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "codec/json.h"
#include "controller/api.h"
#include "controller/api_logs.h"
#include "controller/ctl.h"
#include "controller/dispatch.h"
#include "controller/row_json.h"
#include "controller/submit.h"

enum {
    ARENA_MAX = 96 * 1024 * 1024,
    WAIT_MAX_S = 60,
    WAIT_DEFAULT_S = 30
};

json_t *api_body(struct http_req *req)
{
    json_t *body = NULL;
    struct tr_err err = TR_ERR_INIT;

    if (req->body.len == 0) {
        reply_error(req, 400, "bad_json", NULL, "expected a JSON object as the body");
        return NULL;
    }
    if (tr_json_parse(req->body.data, req->body.len, req->ctl->conf.max_body, &body, &err) < 0) {
        reply_error(req, 400, "bad_json", NULL, "%s", err.msg);
        return NULL;
    }
    return body;
}

int64_t api_wait(struct http_req *req)
{
    const char *said = http_query(req, "wait");
    int64_t s = WAIT_DEFAULT_S;

    if (!said)
        return 0;
    if (strcmp(said, "false") == 0)
        return 0;
    if (*said && strcmp(said, "true") != 0 && tr_parse_i64(said, 0, WAIT_MAX_S, &s, NULL) < 0) {
        reply_error(req, 422, "bad_field", "wait", "wait: expected seconds from 0 to %d",
                    WAIT_MAX_S);
        return -1;
    }
    return s * 1000000;
}

/* ---------------------------------------------------------------- reading one */

struct get_op {
    struct op op;
    struct http_req *req;
    struct tr_arena arena;
    struct row_whole row;
    char submit_id[132];
    int status; /* of the answer */
    bool source, text;
};

static int run_get(struct op *op, struct tr_store *st, struct tr_err *err)
{
    struct get_op *o = (struct get_op *)op;

    tr_arena_done(&o->arena);
    tr_arena_init(&o->arena, ARENA_MAX);
    return row_read(st, o->submit_id, &o->arena, &o->row, err);
}

static void reply_source(struct get_op *o)
{
    TR_CLEANUP(tr_json_unrefp)
    json_t *task = json_loadb(o->row.task, o->row.task_len, JSON_ALLOW_NUL, NULL);
    const json_t *code = json_object_get(task, "code");

    reply_bytes(o->req, 200, "text/plain; charset=utf-8", code ? json_string_value(code) : "",
                code ? json_string_length(code) : 0);
}

static void get_done(struct op *op)
{
    struct get_op *o = (struct get_op *)op;

    if (op->result < 0) {
        reply_failure(o->req, op->result == TR_E_NOTFOUND ? "id" : NULL, &op->err);
    } else if (o->text) {
        reply_source(o);
    } else {
        json_t *j = row_json(op->ctl, &o->row, o->source);

        if (j)
            (void)json_object_set_new(j, "logs", logs_names(op->ctl, o->submit_id));
        reply_json(o->req, o->status, j);
    }
    tr_arena_done(&o->arena);
    http_release(o->req);
    free(o);
}

static void reply_row(struct http_req *req, const char *submit_id, int status, bool text)
{
    struct get_op *o = calloc(1, sizeof(*o));
    const char *source = http_query(req, "source");

    if (!o) {
        reply_error(req, 503, "not_ready", NULL, "out of memory");
        return;
    }
    o->op = (struct op){.run = run_get, .done = get_done, .lane = OP_READ};
    o->req = http_hold(req);
    o->status = status;
    o->text = text;
    /* the source is for those who may read everything */
    o->source = source && strcmp(source, "1") == 0 && req->who.role >= ROLE_READ;
    (void)snprintf(o->submit_id, sizeof(o->submit_id), "%s", submit_id);
    storage_do(req->ctl->storage, &o->op);
}

/* ---------------------------------------------------------------- waiting */

struct waiting {
    struct http_req *req;
    struct event_wait *wait; /* NULL: over */
    char submit_id[132];
    int status;
    bool storing; /* the row is not there yet: submitted() will answer */
};

static void wait_over(void *arg, bool ended)
{
    struct waiting *w = arg;

    (void)ended; /* whatever it is now is the answer */
    w->wait = NULL;
    w->req->gone = NULL;
    if (!w->storing)
        reply_row(w->req, w->submit_id, w->status, false);
    http_release(w->req);
    free(w);
}

static void wait_gone(struct http_req *req)
{
    struct waiting *w = req->waiting;

    req->gone = NULL;
    if (w->wait)
        events_wait_stop(w->wait);
    http_release(req);
    free(w);
}

/* Begin to wait before the submission can end. NULL: no memory. */
static struct waiting *wait_for(struct http_req *req, const char *submit_id, int64_t us)
{
    struct waiting *w = calloc(1, sizeof(*w));

    if (!w)
        return NULL;
    (void)snprintf(w->submit_id, sizeof(w->submit_id), "%s", submit_id);
    w->status = 200;
    w->wait = events_wait(req->ctl->events, submit_id, us, wait_over, w);
    if (!w->wait) {
        free(w);
        return NULL;
    }
    w->req = http_hold(req);
    req->waiting = w;
    req->gone = wait_gone;
    return w;
}

static void wait_cancel(struct waiting *w)
{
    events_wait_stop(w->wait);
    w->req->gone = NULL;
    http_release(w->req);
    free(w);
}

/* ---------------------------------------------------------------- submitting */

struct submitting {
    struct http_req *req;
    struct waiting *waiting; /* or NULL */
};

static bool is_over(const char *status)
{
    return strcmp(status, "FINISHED") == 0 || strcmp(status, "DLQ") == 0 ||
           strcmp(status, "CANCELLED") == 0;
}

static void submitted(struct submit_op *o)
{
    struct submitting *s = o->arg;
    struct http_req *req = s->req;
    int status = o->outcome == SUBMIT_NEW ? 201 : 200;
    /* the client may have left meanwhile, and the waiting with it */
    bool waits = s->waiting && req->gone && req->waiting == s->waiting;

    if (o->op.result < 0) {
        if (waits)
            wait_cancel(s->waiting);
        reply_failure(req, NULL, &o->op.err);
    } else if (waits && o->outcome == SUBMIT_NEW) {
        s->waiting->status = status;
        s->waiting->storing = false;
    } else {
        if (waits)
            wait_cancel(s->waiting);
        char where[192];
        (void)snprintf(where, sizeof(where), "/api/v1/submissions/%s", o->submit_id);
        if (status == 201)
            reply_header(req, "Location", where);
        if (waits && !is_over(o->status)) { /* one that was there: wait for that */
            struct waiting *w = wait_for(req, o->submit_id, api_wait(req));
            if (!w)
                reply_row(req, o->submit_id, status, false);
        } else {
            reply_row(req, o->submit_id, status, false);
        }
    }
    http_release(req);
    free(s);
}

static bool room(struct http_req *req)
{
    if (req->ctl->stopping) {
        reply_header(req, "Retry-After", "2");
        reply_error(req, 503, "shutting_down", NULL, "the controller stops; try again in a moment");
        return false;
    }
    if (dispatch_waiting(req->ctl) < req->ctl->conf.max_queue)
        return true;
    reply_header(req, "Retry-After", "5");
    reply_error(req, 503, "queue_full", NULL, "%lld submissions wait; try again later",
                (long long)dispatch_waiting(req->ctl));
    return false;
}

static void create(struct http_req *req, bool run)
{
    TR_CLEANUP(tr_json_unrefp) json_t *body = room(req) ? api_body(req) : NULL;
    struct spec spec;
    struct bad bad = {0};
    int64_t wait = body ? api_wait(req) : -1;

    if (wait < 0)
        return;
    if (spec_parse(req->ctl, body, run, &req->who, req->idempotency_key, &spec, &bad) < 0) {
        spec_done(&spec);
        reply_error(req, bad.status, bad.code, *bad.field ? bad.field : NULL, "%s", bad.message);
        return;
    }
    struct submitting *s = calloc(1, sizeof(*s));
    if (!s) {
        spec_done(&spec);
        reply_error(req, 503, "not_ready", NULL, "out of memory");
        return;
    }
    s->req = http_hold(req);
    s->waiting = wait > 0 ? wait_for(req, spec.submit_id, wait) : NULL;
    if (s->waiting)
        s->waiting->storing = true;
    submit_new(req->ctl, &spec, submitted, s);
}

void api_submit(struct http_req *req)
{
    create(req, false);
}

void api_run(struct http_req *req)
{
    create(req, true);
}

/* ---------------------------------------------------------------- looking */

struct look_op {
    struct op op;
    struct http_req *req;
    struct waiting *waiting;
    char submit_id[132];
    bool over;
};

static int run_look(struct op *op, struct tr_store *st, struct tr_err *err)
{
    struct look_op *o = (struct look_op *)op;
    struct tr_arena arena;
    struct tr_submission s;

    tr_arena_init(&arena, 1 << 20);
    int r = tr_store_get(st, o->submit_id, &arena, &s, err);
    o->over = r < 0 || tr_state_is_final(s.status);
    tr_arena_done(&arena);
    return r;
}

static void look_done(struct op *op)
{
    struct look_op *o = (struct look_op *)op;
    struct http_req *req = o->req;
    bool waits = req->gone && req->waiting == o->waiting && !req->replied;

    if (waits && o->over) {
        wait_cancel(o->waiting);
        reply_row(req, o->submit_id, 200, false);
    }
    http_release(req);
    free(o);
}

void api_submission(struct http_req *req)
{
    int64_t wait = api_wait(req);

    if (wait < 0)
        return;
    if (wait == 0) {
        reply_row(req, req->args[0], 200, false);
        return;
    }
    struct look_op *o = calloc(1, sizeof(*o));
    struct waiting *w = o ? wait_for(req, req->args[0], wait) : NULL;
    if (!w) {
        free(o);
        reply_row(req, req->args[0], 200, false);
        return;
    }
    o->op = (struct op){.run = run_look, .done = look_done, .lane = OP_READ};
    o->req = http_hold(req);
    o->waiting = w;
    (void)snprintf(o->submit_id, sizeof(o->submit_id), "%s", req->args[0]);
    storage_do(req->ctl->storage, &o->op);
}

void api_source(struct http_req *req)
{
    reply_row(req, req->args[0], 200, true);
}
