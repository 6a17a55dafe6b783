/* SPDX-License-Identifier: MIT
 *
 * api_changes.c - cancel, rejudge, and what becomes of dead letters.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "codec/json.h"
#include "controller/api.h"
#include "controller/ctl.h"
#include "controller/filter.h"
#include "controller/row_json.h"
#include "controller/submit.h"

enum {
    MANY_MAX = 10000,
    ARENA_MAX = 64 * 1024 * 1024
};

static void changed(struct submit_op *o, int status)
{
    struct http_req *req = o->arg;

    if (o->op.result < 0)
        reply_failure(req, o->op.result == TR_E_NOTFOUND ? "id" : NULL, &o->op.err);
    else if (o->outcome == SUBMIT_NOT_NOW)
        reply_error(req, 409, "conflict", NULL, "submission '%.128s' is %s: this cannot happen now",
                    o->submit_id, o->status);
    else
        reply_json(req, status,
                   json_pack("{s:s, s:s, s:I}", "submit_id", o->submit_id, "status", o->status,
                             "generation", (json_int_t)o->generation));
    http_release(req);
}

static void changed_now(struct submit_op *o)
{
    changed(o, 200);
}

static void changed_later(struct submit_op *o)
{
    changed(o, 202);
}

void api_cancel(struct http_req *req)
{
    submit_cancel(req->ctl, req->args[0], "cancelled by a client", changed_now, http_hold(req));
}

void api_dead_retry(struct http_req *req)
{
    submit_retry(req->ctl, req->args[0], changed_now, http_hold(req));
}

void api_dead_discard(struct http_req *req)
{
    submit_cancel(req->ctl, req->args[0], "given up by an operator", changed_now, http_hold(req));
}

/* ---------------------------------------------------------------- rejudge */

/* Read the task, pin it to the data of today, begin the next generation. */
struct task_op {
    struct op op;
    struct http_req *req; /* NULL: one of many, nobody waits for it */
    char submit_id[132];
    struct tr_arena arena;
    const char *task, *result;
    size_t task_len, result_len;
    bool run;
};

static int run_task(struct op *op, struct tr_store *st, struct tr_err *err)
{
    struct task_op *o = (struct task_op *)op;
    struct tr_submission s;

    tr_arena_done(&o->arena);
    tr_arena_init(&o->arena, ARENA_MAX);
    int r = tr_store_get(st, o->submit_id, &o->arena, &s, err);
    if (r < 0)
        return r;
    o->run = strcmp(s.subject, "run") == 0;
    return tr_store_texts(st, o->submit_id, &o->arena, &o->task, &o->task_len, &o->result,
                          &o->result_len, err);
}

static void many_changed(struct submit_op *o)
{
    struct tr_log_field f = {.key = "submit", .value = o->submit_id};

    if (o->op.result < 0)
        tr_log_err(TR_LOG_WARN, &f, &o->op.err);
}

static void task_done(struct op *op)
{
    struct task_op *o = (struct task_op *)op;
    struct spec spec = {0};
    struct bad bad = {0};

    if (op->result < 0) {
        if (o->req)
            reply_failure(o->req, op->result == TR_E_NOTFOUND ? "id" : NULL, &op->err);
    } else if (spec_again(op->ctl, o->task, o->task_len, o->run, &spec, &bad) < 0) {
        spec_done(&spec);
        if (o->req)
            reply_error(o->req, bad.status, bad.code, *bad.field ? bad.field : NULL, "%s",
                        bad.message);
    } else {
        submit_rejudge(op->ctl, &spec, o->req ? changed_later : many_changed, o->req);
        o->req = NULL; /* the answer is the other's */
    }
    if (o->req)
        http_release(o->req);
    tr_arena_done(&o->arena);
    free(o);
}

static void rejudge(struct ctl *ctl, const char *submit_id, struct http_req *req)
{
    struct task_op *o = calloc(1, sizeof(*o));

    if (!o) {
        if (req)
            reply_error(req, 503, "not_ready", NULL, "out of memory");
        return;
    }
    o->op = (struct op){.run = run_task, .done = task_done, .lane = OP_READ};
    o->req = req ? http_hold(req) : NULL;
    (void)snprintf(o->submit_id, sizeof(o->submit_id), "%s", submit_id);
    storage_do(ctl->storage, &o->op);
}

void api_rejudge(struct http_req *req)
{
    rejudge(req->ctl, req->args[0], req);
}

/* ---------------------------------------------------------------- many */

struct many_op {
    struct op op;
    struct http_req *req;
    json_t *body;
    bool dry;
    struct filter filter;
    struct tr_arena arena;
    const char **ids;
    size_t count;
};

static void take_ids(struct many_op *o, const struct tr_submission_list *l)
{
    for (size_t i = 0; i < l->count && o->count < MANY_MAX; i++)
        if (tr_move_allowed(TR_MOVE_REJUDGE, l->rows[i].status))
            o->ids[o->count++] = l->rows[i].submit_id;
}

static int run_many(struct op *op, struct tr_store *st, struct tr_err *err)
{
    struct many_op *o = (struct many_op *)op;
    struct tr_store_filter f = o->filter.f;
    struct tr_submission_list l = {0};
    int r;

    tr_arena_done(&o->arena);
    tr_arena_init(&o->arena, ARENA_MAX);
    o->count = 0;
    o->ids = tr_arena_array(&o->arena, MANY_MAX, sizeof(char *));
    if (!o->ids)
        return tr_fail(err, TR_E_NOMEM, 0, "out of memory");
    f.limit = TR_STORE_LIST_MAX;
    f.subject = "judge";
    do {
        r = tr_store_list(st, &f, &o->arena, &l, err);
        if (r < 0)
            return r;
        take_ids(o, &l);
        f.before_id = l.count ? l.rows[l.count - 1].id : 0;
    } while (l.count == TR_STORE_LIST_MAX && o->count < MANY_MAX);
    return 0;
}

static void many_done(struct op *op)
{
    struct many_op *o = (struct many_op *)op;

    if (op->result < 0) {
        reply_failure(o->req, NULL, &op->err);
    } else {
        for (size_t i = 0; !o->dry && i < o->count; i++)
            rejudge(op->ctl, o->ids[i], NULL);
        reply_json(o->req, o->dry ? 200 : 202,
                   json_pack("{s:I, s:b}", "count", (json_int_t)o->count, "dry_run", (int)o->dry));
    }
    json_decref(o->body);
    tr_arena_done(&o->arena);
    http_release(o->req);
    free(o);
}

/* Named ones: no filter, no list. */
static void rejudge_named(struct http_req *req, const json_t *ids, bool dry)
{
    size_t i, n = json_array_size(ids);
    const json_t *v;

    if (!json_is_array(ids) || n > MANY_MAX) {
        reply_error(req, 422, "bad_field", "submit_ids", "expected a list of at most %d", MANY_MAX);
        return;
    }
    json_array_foreach(ids, i, v)
    {
        if (!dry && json_is_string(v))
            rejudge(req->ctl, json_string_value(v), NULL);
    }
    reply_json(req, dry ? 200 : 202,
               json_pack("{s:I, s:b}", "count", (json_int_t)n, "dry_run", (int)dry));
}

static int read_filter(struct many_op *o, struct bad *bad)
{
    const char *name;
    json_t *v;
    int set = 0;

    json_object_foreach(o->body, name, v)
    {
        if (strcmp(name, "dry_run") == 0)
            continue;
        if (!json_is_string(v))
            return bad_say(bad, 422, "bad_field", name, "%.32s: expected a text", name);
        int r = filter_set(&o->filter, name, json_string_value(v), bad);
        if (r < 0)
            return r;
        if (r == 0)
            return bad_say(bad, 422, "unknown_field", name, "there is no filter '%.32s'", name);
        set++;
    }
    return set ? 0
               : bad_say(bad, 422, "missing_field", NULL,
                         "say which: problem, language, verdict, user, contest, worker_id, since, "
                         "until or submit_ids");
}

void api_rejudge_many(struct http_req *req)
{
    json_t *body = api_body(req);
    struct bad bad = {0};
    bool dry = body && json_is_true(json_object_get(body, "dry_run"));

    if (!body)
        return;
    if (json_object_get(body, "submit_ids")) {
        rejudge_named(req, json_object_get(body, "submit_ids"), dry);
        json_decref(body);
        return;
    }
    struct many_op *o = calloc(1, sizeof(*o));
    if (!o) {
        json_decref(body);
        reply_error(req, 503, "not_ready", NULL, "out of memory");
        return;
    }
    o->body = body;
    o->dry = dry;
    if (read_filter(o, &bad) < 0) {
        reply_error(req, bad.status, bad.code, *bad.field ? bad.field : NULL, "%s", bad.message);
        json_decref(body);
        free(o);
        return;
    }
    o->op = (struct op){.run = run_many, .done = many_done, .lane = OP_READ};
    o->req = http_hold(req);
    storage_do(req->ctl->storage, &o->op);
}
