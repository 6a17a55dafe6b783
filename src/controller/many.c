/* SPDX-License-Identifier: MIT
 *
 * many.c - see many.h.
 *
 * The ids are collected first, on the reading connection; then AT_ONCE changes are under way at any
 * time, so that results and new submissions find room between them.
 */
#include "controller/many.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "controller/api.h"
#include "controller/ctl.h"
#include "controller/filter.h"

enum {
    AT_ONCE = 64,
    ARENA_MAX = 64 * 1024 * 1024
};

struct many {
    struct op op;
    const struct many_kind *kind;
    struct http_req *req; /* NULL: answered */
    json_t *body;
    bool dry;
    struct filter filter;
    struct tr_arena arena;
    const char **ids;
    size_t count, next, running, changed;
    bool starting;
};

static void free_many(struct many *m)
{
    json_decref(m->body);
    tr_arena_done(&m->arena);
    if (m->req)
        http_release(m->req);
    free(m);
}

static void answer(struct many *m, int status, size_t count)
{
    reply_json(m->req, status,
               json_pack("{s:I, s:b}", "count", (json_int_t)count, "dry_run", (int)m->dry));
    http_release(m->req);
    m->req = NULL;
}

/* ---------------------------------------------------------------- each */

static void change_some(struct many *m);

static void changed(struct submit_op *o)
{
    struct many *m = o->arg;
    struct tr_log_field f = {.key = "submit", .value = o->submit_id};

    m->running--;
    if (o->op.result < 0)
        tr_log_err(TR_LOG_WARN, &f, &o->op.err);
    else
        m->changed += o->outcome == SUBMIT_CHANGED;
    change_some(m);
}

static void change_some(struct many *m)
{
    struct ctl *ctl = m->op.ctl;

    if (m->starting) /* one ended at once: the loop below goes on */
        return;
    m->starting = true;
    while (m->running < AT_ONCE && m->next < m->count && !ctl->stopping) {
        m->running++;
        m->kind->change(ctl, m->ids[m->next++], changed, m);
    }
    m->starting = false;
    if (m->running > 0)
        return;
    if (m->req)
        answer(m, 200, m->changed);
    free_many(m);
}

/* ---------------------------------------------------------------- which */

static void take_ids(struct many *m, const struct tr_submission_list *l)
{
    for (size_t i = 0; i < l->count && m->count < MANY_MAX; i++)
        if (tr_move_allowed(m->kind->move, l->rows[i].status))
            m->ids[m->count++] = l->rows[i].submit_id;
}

static int run_find(struct op *op, struct tr_store *st, struct tr_err *err)
{
    struct many *m = (struct many *)op;
    struct tr_store_filter f = m->filter.f;
    struct tr_submission_list l = {0};
    int r;

    tr_arena_done(&m->arena);
    tr_arena_init(&m->arena, ARENA_MAX);
    m->count = 0;
    m->ids = tr_arena_array(&m->arena, MANY_MAX, sizeof(char *));
    if (!m->ids)
        return tr_fail(err, TR_E_NOMEM, 0, "out of memory");
    f.limit = TR_STORE_LIST_MAX;
    do {
        r = tr_store_list(st, &f, &m->arena, &l, err);
        if (r < 0)
            return r;
        take_ids(m, &l);
        f.before_id = l.count ? l.rows[l.count - 1].id : 0;
    } while (l.count == TR_STORE_LIST_MAX && m->count < MANY_MAX);
    return 0;
}

static void begin(struct many *m)
{
    if (m->dry) {
        answer(m, 200, m->count);
        free_many(m);
        return;
    }
    if (!m->kind->wait)
        answer(m, 202, m->count);
    change_some(m);
}

static void found(struct op *op)
{
    struct many *m = (struct many *)op;

    if (op->result < 0) {
        reply_failure(m->req, NULL, &op->err);
        free_many(m);
        return;
    }
    begin(m);
}

/* Named ones: no filter, no list. */
static int read_ids(struct many *m, const json_t *ids, struct bad *bad)
{
    size_t i;
    const json_t *v;

    if (!json_is_array(ids) || json_array_size(ids) > MANY_MAX)
        return bad_say(bad, 422, "bad_field", "submit_ids", "expected a list of at most %d",
                       MANY_MAX);
    tr_arena_init(&m->arena, ARENA_MAX);
    m->ids = tr_arena_array(&m->arena, MANY_MAX, sizeof(char *));
    if (!m->ids)
        return bad_say(bad, 503, "not_ready", NULL, "out of memory");
    json_array_foreach(ids, i, v)
    {
        if (!json_is_string(v))
            return bad_say(bad, 422, "bad_field", "submit_ids", "submit_ids: expected texts");
        m->ids[m->count++] = json_string_value(v);
    }
    return 0;
}

/* One member of the body: 1 when it says which, 0 when not. */
static int read_member(struct many *m, const char *name, const json_t *v, struct bad *bad)
{
    if (strcmp(name, "dry_run") == 0)
        return 0;
    if (m->kind->status && strcmp(name, "all") == 0 && json_is_boolean(v))
        return json_is_true(v);
    if (!json_is_string(v))
        return bad_say(bad, 422, "bad_field", name, "%.32s: expected a text", name);
    bool fixed = m->kind->status && (strcmp(name, "status") == 0 || strcmp(name, "verdict") == 0);
    int r = fixed ? 0 : filter_set(&m->filter, name, json_string_value(v), bad);
    return r == 0 ? bad_say(bad, 422, "unknown_field", name, "there is no filter '%.32s'", name)
                  : r;
}

static int read_filter(struct many *m, struct bad *bad)
{
    const char *name;
    json_t *v;
    int set = 0;

    json_object_foreach(m->body, name, v)
    {
        int r = read_member(m, name, v, bad);

        if (r < 0)
            return r;
        set += r;
    }
    m->filter.f.subject = m->kind->status ? NULL : "judge";
    if (m->kind->status)
        m->filter.f.status = m->kind->status;
    return set ? 0
               : bad_say(bad, 422, "missing_field", NULL,
                         "say which: problem, language, user, contest, worker_id, since, until%s "
                         "or submit_ids",
                         m->kind->status ? ", all" : ", verdict, status");
}

void many_start(struct http_req *req, const struct many_kind *kind)
{
    json_t *body = api_body(req);
    struct many *m = body ? calloc(1, sizeof(*m)) : NULL;
    struct bad bad = {0};

    if (!m) {
        if (body)
            reply_error(req, 503, "not_ready", NULL, "out of memory");
        json_decref(body);
        return;
    }
    const json_t *ids = json_object_get(body, "submit_ids");
    m->kind = kind;
    m->op = (struct op){.ctl = req->ctl, .run = run_find, .done = found, .lane = OP_READ};
    m->body = body;
    m->dry = json_is_true(json_object_get(body, "dry_run"));
    m->req = http_hold(req);
    if ((ids ? read_ids(m, ids, &bad) : read_filter(m, &bad)) < 0) {
        reply_error(req, bad.status, bad.code, *bad.field ? bad.field : NULL, "%s", bad.message);
        free_many(m);
    } else if (ids) {
        begin(m);
    } else {
        storage_do(req->ctl->storage, &m->op);
    }
}
