/* SPDX-License-Identifier: MIT
 *
 * api_farm.c - judges, queues, languages, and what is set aside.
 */
#include <stdlib.h>
#include <string.h>

#include "controller/api.h"
#include "controller/ctl.h"
#include "controller/dispatch.h"
#include "controller/judges.h"
#include "controller/marks.h"
#include "controller/setaside.h"
#include "controller/spec.h"

/* ---------------------------------------------------------------- judges */

void api_judges(struct http_req *req)
{
    json_t *list = json_array();

    for (const struct judge *g = judges_first(req->ctl->judges); g; g = g->next)
        if (g->state == JUDGE_READY || g->state == JUDGE_LOST)
            (void)json_array_append_new(list, judge_json(g));
    reply_json(req, 200, json_pack("{s:o}", "judges", list));
}

static struct judge *find_judge(struct http_req *req)
{
    struct judge *g = judges_find(req->ctl->judges, req->args[0]);

    if (!g)
        reply_error(req, 404, "not_found", "id", "there is no judge '%.64s' here", req->args[0]);
    return g;
}

void api_judge(struct http_req *req)
{
    const struct judge *g = find_judge(req);

    if (g)
        reply_json(req, 200, judge_json(g));
}

static void drained(void *arg, int result)
{
    struct http_req *req = arg;
    const struct judge *g = judges_find(req->ctl->judges, req->args[0]);

    if (result < 0)
        reply_error(req, 503, "not_ready", NULL, "this could not be stored; try again");
    else if (g)
        reply_json(req, 200, judge_json(g));
    else
        reply_json(req, 200, json_pack("{s:s, s:s}", "judge_id", req->args[0], "state", "lost"));
    http_release(req);
}

/* It holds for the judge's name, wherever and whenever it connects; so one that is away can be
 * taken back too. */
static void drain(struct http_req *req, bool draining)
{
    struct mark mark = {.kind = MARK_DRAIN};
    bool known = !draining && marks_has(req->ctl->marks, MARK_DRAIN, req->args[0]);

    if (!known && !find_judge(req))
        return;
    (void)snprintf(mark.name, sizeof(mark.name), "%s", req->args[0]);
    (void)snprintf(mark.note, sizeof(mark.note), "drained by %.100s", req->who.name);
    (void)http_hold(req);
    if (draining)
        marks_set(req->ctl->marks, &mark, drained, req);
    else
        marks_clear(req->ctl->marks, MARK_DRAIN, mark.name, drained, req);
    judges_drain_as_marked(req->ctl);
}

void api_judge_drain(struct http_req *req)
{
    drain(req, true);
}

void api_judge_resume(struct http_req *req)
{
    drain(req, false);
}

/* ---------------------------------------------------------------- queues */

void api_queues(struct http_req *req)
{
    reply_json(req, 200, json_pack("{s:o}", "queues", dispatch_json(req->ctl)));
}

struct pause_op {
    struct op op;
    struct http_req *req;
    char queue[192];
    bool paused;
};

static int run_pause(struct op *op, struct tr_store *st, struct tr_err *err)
{
    const struct pause_op *o = (struct pause_op *)op;

    return tq_pause(tr_store_queue(st), o->queue, o->paused, err);
}

static void pause_done(struct op *op)
{
    struct pause_op *o = (struct pause_op *)op;

    if (op->result < 0)
        reply_failure(o->req, "name", &op->err);
    else
        reply_json(o->req, 200,
                   json_pack("{s:s, s:b}", "name", o->queue, "paused", (int)o->paused));
    dispatch_poll(op->ctl);
    http_release(o->req);
    free(o);
}

static void set_paused(struct http_req *req, bool paused)
{
    struct pause_op *o =
        strncmp(req->args[0], "judge.", 6) == 0 && strlen(req->args[0]) <= TQ_NAME_MAX
            ? calloc(1, sizeof(*o))
            : NULL;

    if (!o) {
        reply_error(req, 404, "not_found", "name", "there is no queue '%.64s'", req->args[0]);
        return;
    }
    o->op = (struct op){.run = run_pause, .done = pause_done, .lane = OP_NORMAL};
    o->req = http_hold(req);
    o->paused = paused;
    (void)snprintf(o->queue, sizeof(o->queue), "%s", req->args[0]);
    storage_do(req->ctl->storage, &o->op);
}

void api_queue_pause(struct http_req *req)
{
    set_paused(req, true);
}

void api_queue_resume(struct http_req *req)
{
    set_paused(req, false);
}

/* ---------------------------------------------------------------- set aside */

void api_set_asides(struct http_req *req)
{
    reply_json(req, 200, json_pack("{s:o}", "set_asides", setaside_json(req->ctl->setaside)));
}

static void resumed(void *arg, int result)
{
    struct http_req *req = arg;

    dispatch_poll(req->ctl);
    if (result < 0)
        reply_error(req, 503, "not_ready", NULL, "this could not be stored; try again");
    else
        reply_json(req, 200, json_pack("{s:s, s:s}", "kind", req->args[0], "name", req->args[1]));
    http_release(req);
}

void api_set_aside_resume(struct http_req *req)
{
    enum setaside_kind kind =
        strcmp(req->args[0], "problem") == 0 ? SETASIDE_PROBLEM : SETASIDE_LANGUAGE;
    bool known = kind == SETASIDE_PROBLEM || strcmp(req->args[0], "language") == 0;

    (void)http_hold(req);
    if (known && setaside_resume(req->ctl->setaside, kind, req->args[1], resumed, req))
        return;
    reply_error(req, 404, "not_found", "name", "%.16s '%.64s' is not set aside", req->args[0],
                req->args[1]);
    http_release(req);
}

/* ---------------------------------------------------------------- languages */

/* The versions that judges say they have, each once. */
static json_t *versions(struct ctl *ctl, const char *slug, json_int_t *ret_judges)
{
    json_t *list = json_array();
    size_t i, k;
    json_t *l, *known;

    *ret_judges = 0;
    for (const struct judge *g = judges_first(ctl->judges); g; g = g->next) {
        if (g->state != JUDGE_READY || !judge_has_lang(g, slug))
            continue;
        (*ret_judges)++;
        json_array_foreach(json_object_get(g->params, "languages"), i, l)
        {
            const char *s = json_string_value(json_object_get(l, "slug"));
            json_t *v = json_object_get(l, "version");
            bool seen = false;

            if (!s || strcmp(s, slug) != 0 || !json_is_string(v))
                continue;
            json_array_foreach(list, k, known)
            {
                seen = seen || json_equal(known, v);
            }
            if (!seen)
                (void)json_array_append(list, v);
        }
    }
    return list;
}

static json_t *language_json(struct ctl *ctl, const struct tr_lang *l)
{
    json_t *ext = json_array();
    json_int_t judges = 0;
    json_t *have = versions(ctl, l->slug, &judges);

    for (size_t i = 0; i < l->extensions.count; i++)
        (void)json_array_append_new(ext, json_string(l->extensions.words[i]));
    return json_pack("{s:s, s:s, s:o, s:I, s:o, s:f, s:f, s:s, s:b}", "slug", l->slug, "name",
                     l->name, "versions", have, "judges", judges, "extensions", ext, "time_factor",
                     (double)(l->time_milli ? l->time_milli : 1000) / 1e3, "memory_factor",
                     (double)(l->memory_milli ? l->memory_milli : 1000) / 1e3, "class",
                     spec_class(ctl, l->slug), "set_aside",
                     (int)setaside_is(ctl->setaside, SETASIDE_LANGUAGE, l->slug));
}

void api_languages(struct http_req *req)
{
    json_t *list = json_array();

    for (size_t i = 0; i < req->ctl->langs.count; i++)
        (void)json_array_append_new(list, language_json(req->ctl, &req->ctl->langs.list[i]));
    reply_json(req, 200, json_pack("{s:o}", "languages", list));
}
