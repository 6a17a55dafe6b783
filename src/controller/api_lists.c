/* SPDX-License-Identifier: MIT
 *
 * api_lists.c - submissions by filter and cursor; dead letters are the same list with one filter.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/parse.h"
#include "controller/api.h"
#include "controller/ctl.h"
#include "controller/filter.h"
#include "controller/row_json.h"

enum {
    ARENA_MAX = 32 * 1024 * 1024,
    LIMIT_MAX = 500
};

/* "2026-01-02T03:04:05Z", with a fraction or without. */
static bool parse_time(const char *text, int64_t *ret_us)
{
    struct tm tm = {0};
    int digits = 0;
    long micro = 0;
    const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);

    if (!rest)
        return false;
    if (*rest == '.')
        for (rest++; *rest >= '0' && *rest <= '9' && digits < 6; rest++, digits++)
            micro = micro * 10 + (*rest - '0');
    for (; digits > 0 && digits < 6; digits++)
        micro *= 10;
    if (strcmp(rest, "Z") != 0)
        return false;
    *ret_us = (int64_t)timegm(&tm) * 1000000 + micro;
    return true;
}

int filter_set(struct filter *f, const char *name, const char *value, struct bad *bad)
{
    const struct {
        const char *name;
        const char **to;
    } words[] = {
        {"status", &f->f.status},       {"verdict", &f->f.verdict}, {"problem", &f->f.problem_id},
        {"language", &f->f.lang},       {"user", &f->f.user_id},    {"contest", &f->f.contest_id},
        {"worker_id", &f->f.worker_id},
    };

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strcmp(words[i].name, name) == 0) {
            *words[i].to = value;
            if (i == 0 && tr_state_parse(value) == TR_STATES)
                return bad_say(bad, 422, "bad_field", "status", "there is no status '%.32s'",
                               value);
            return 1;
        }
    if (strcmp(name, "since") == 0 || strcmp(name, "until") == 0) {
        if (!parse_time(value, *name == 's' ? &f->f.since_us : &f->f.until_us))
            return bad_say(bad, 422, "bad_field", name,
                           "%s: expected a time such as 2026-01-02T03:04:05Z", name);
        return 1;
    }
    return 0;
}

struct list_op {
    struct op op;
    struct http_req *req;
    struct filter filter;
    struct tr_arena arena;
    struct tr_submission_list list;
    bool dead;
};

static int run_list(struct op *op, struct tr_store *st, struct tr_err *err)
{
    struct list_op *o = (struct list_op *)op;

    tr_arena_done(&o->arena);
    tr_arena_init(&o->arena, ARENA_MAX);
    return tr_store_list(st, &o->filter.f, &o->arena, &o->list, err);
}

static json_t *dead_json(const struct tr_submission *s)
{
    char when[TR_TIME_TEXT];

    return json_pack("{s:s, s:s, s:I, s:I, s:s, s:s, s:s, s:s}", "submit_id", s->submit_id, "error",
                     s->error ? s->error : "", "attempts", (json_int_t)s->retry_count, "crashes",
                     (json_int_t)s->crashes, "problem", s->problem_id, "language", s->lang, "user",
                     *s->user_name ? s->user_name : s->user_id, "failed_at",
                     tr_clock_text(s->updated_us, when));
}

static void list_done(struct op *op)
{
    struct list_op *o = (struct list_op *)op;
    json_t *list = json_array();
    char cursor[24];

    if (op->result < 0) {
        json_decref(list);
        reply_failure(o->req, NULL, &op->err);
    } else {
        for (size_t i = 0; i < o->list.count; i++)
            (void)json_array_append_new(list, o->dead ? dead_json(&o->list.rows[i])
                                                      : row_summary(op->ctl, &o->list.rows[i]));
        json_t *doc = json_pack("{s:o}", o->dead ? "dead_letters" : "submissions", list);
        if (doc && o->list.count == (size_t)o->filter.f.limit) {
            (void)snprintf(cursor, sizeof(cursor), "%lld",
                           (long long)o->list.rows[o->list.count - 1].id);
            (void)json_object_set_new(doc, "next_cursor", json_string(cursor));
        }
        reply_json(o->req, 200, doc);
    }
    tr_arena_done(&o->arena);
    http_release(o->req);
    free(o);
}

/* One of the query's parameters; an unknown one is refused, because a mistyped filter shows
 * everything. */
static int read_param(const char *name, const char *value, struct filter *f, bool dead,
                      struct bad *bad)
{
    int64_t n;

    if (strcmp(name, "limit") == 0) {
        if (tr_parse_i64(value, 1, LIMIT_MAX, &n, NULL) < 0)
            return bad_say(bad, 422, "bad_field", name, "limit: expected 1 … %d", LIMIT_MAX);
        f->f.limit = (int)n;
        return 0;
    }
    if (strcmp(name, "cursor") == 0) {
        if (tr_parse_i64(value, 1, INT64_MAX, &f->f.before_id, NULL) < 0)
            return bad_say(bad, 422, "bad_field", name, "this is no cursor of ours");
        return 0;
    }
    if (!dead && strcmp(name, "kind") == 0) {
        if (strcmp(value, "judge") != 0 && strcmp(value, "run") != 0 && strcmp(value, "all") != 0)
            return bad_say(bad, 422, "bad_field", name, "kind: expected judge, run or all");
        f->f.subject = strcmp(value, "all") == 0 ? NULL : value;
        return 0;
    }
    bool fixed = dead && (strcmp(name, "status") == 0 || strcmp(name, "verdict") == 0);
    int r = fixed ? 0 : filter_set(f, name, value, bad);
    if (r == 0)
        return bad_say(bad, 422, "unknown_field", name, "there is no parameter '%.32s'", name);
    return r < 0 ? r : 0;
}

static int read_query(struct http_req *req, struct filter *f, bool dead, struct bad *bad)
{
    int r = 0;

    for (size_t i = 0; r >= 0 && i < req->nquery; i++)
        r = read_param(req->query[i].name, req->query[i].value, f, dead, bad);
    return r;
}

static void list(struct http_req *req, bool dead)
{
    struct list_op *o = calloc(1, sizeof(*o));
    struct bad bad = {0};

    if (!o) {
        reply_error(req, 503, "not_ready", NULL, "out of memory");
        return;
    }
    o->filter.f.limit = 50;
    if (dead)
        o->filter.f.status = "DLQ";
    else
        o->filter.f.subject = "judge";
    if (read_query(req, &o->filter, dead, &bad) < 0) {
        reply_error(req, bad.status, bad.code, bad.field, "%s", bad.message);
        free(o);
        return;
    }
    o->op = (struct op){.run = run_list, .done = list_done, .lane = OP_READ};
    o->req = http_hold(req);
    o->dead = dead;
    storage_do(req->ctl->storage, &o->op);
}

void api_submissions(struct http_req *req)
{
    list(req, false);
}

void api_dead_letters(struct http_req *req)
{
    list(req, true);
}
