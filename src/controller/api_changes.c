/* SPDX-License-Identifier: MIT
 *
 * api_changes.c - cancel, rejudge, and what becomes of dead letters.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "codec/json.h"
#include "controller/api.h"
#include "controller/ctl.h"
#include "controller/many.h"
#include "controller/submit.h"

enum {
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
    submit_discard(req->ctl, req->args[0], changed_now, http_hold(req));
}

static const struct many_kind retry_kind = {
    .move = TR_MOVE_RETRY, .status = "DLQ", .wait = true, .change = submit_retry};
static const struct many_kind discard_kind = {
    .move = TR_MOVE_CANCEL, .status = "DLQ", .wait = true, .change = submit_discard};

void api_dead_retry_many(struct http_req *req)
{
    many_start(req, &retry_kind);
}

void api_dead_discard_many(struct http_req *req)
{
    many_start(req, &discard_kind);
}

/* ---------------------------------------------------------------- rejudge */

/* Read the task, pin it to the data of today, begin the next generation. */
struct task_op {
    struct op op;
    struct http_req *req; /* NULL: one of many, `then` is told */
    void (*then)(struct submit_op *o);
    void *arg;
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

/* Nothing came of it; `bad` or op->err says why. */
static void not_rejudged(struct task_op *o, const struct bad *bad)
{
    struct submit_op none = {.op = o->op, .arg = o->arg};

    if (o->req && bad)
        reply_error(o->req, bad->status, bad->code, *bad->field ? bad->field : NULL, "%s",
                    bad->message);
    else if (o->req)
        reply_failure(o->req, o->op.result == TR_E_NOTFOUND ? "id" : NULL, &o->op.err);
    else {
        if (bad)
            none.op.result = tr_fail(&none.op.err, TR_E_USAGE, 0, "%s", bad->message);
        (void)snprintf(none.submit_id, sizeof(none.submit_id), "%s", o->submit_id);
        o->then(&none);
    }
    if (o->req)
        http_release(o->req);
}

static void task_done(struct op *op)
{
    struct task_op *o = (struct task_op *)op;
    struct spec spec = {0};
    struct bad bad = {0};

    if (op->result < 0) {
        not_rejudged(o, NULL);
    } else if (spec_again(op->ctl, o->task, o->task_len, o->run, &spec, &bad) < 0) {
        spec_done(&spec);
        not_rejudged(o, &bad);
    } else if (o->req) {
        submit_rejudge(op->ctl, &spec, changed_later, o->req);
    } else {
        submit_rejudge(op->ctl, &spec, o->then, o->arg);
    }
    tr_arena_done(&o->arena);
    free(o);
}

static void rejudge(struct ctl *ctl, const char *submit_id, const struct task_op *how)
{
    struct task_op *o = calloc(1, sizeof(*o)), none = *how;

    none.op.result = tr_fail(&none.op.err, TR_E_NOMEM, 0, "out of memory");
    if (!o) {
        not_rejudged(&none, NULL);
        return;
    }
    *o = *how;
    o->op = (struct op){.run = run_task, .done = task_done, .lane = OP_READ};
    (void)snprintf(o->submit_id, sizeof(o->submit_id), "%s", submit_id);
    storage_do(ctl->storage, &o->op);
}

void api_rejudge(struct http_req *req)
{
    rejudge(req->ctl, req->args[0], &(struct task_op){.req = http_hold(req)});
}

static void rejudge_one(struct ctl *ctl, const char *submit_id, void (*then)(struct submit_op *o),
                        void *arg)
{
    rejudge(ctl, submit_id, &(struct task_op){.then = then, .arg = arg});
}

static const struct many_kind rejudge_kind = {.move = TR_MOVE_REJUDGE, .change = rejudge_one};

void api_rejudge_many(struct http_req *req)
{
    many_start(req, &rejudge_kind);
}
