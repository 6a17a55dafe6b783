/* SPDX-License-Identifier: MIT
 *
 * api_problems.c - problems: list, one, upload, versions, look at the folder again.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "controller/api.h"
#include "controller/ctl.h"
#include "controller/problems.h"

static json_t *all(struct ctl *ctl)
{
    json_t *list = json_array();

    for (size_t i = 0; i < problems_count(ctl->problems); i++)
        (void)json_array_append_new(list, problem_json(ctl, problems_at(ctl->problems, i)));
    return list;
}

void api_problems(struct http_req *req)
{
    reply_json(req, 200, json_pack("{s:o}", "problems", all(req->ctl)));
}

static const struct problem *find(struct http_req *req)
{
    const struct problem *p = problems_find(req->ctl->problems, req->args[0]);

    if (!p)
        reply_error(req, 404, "unknown_problem", "id", "there is no problem '%.64s'", req->args[0]);
    return p;
}

void api_problem(struct http_req *req)
{
    const struct problem *p = find(req);

    if (p)
        reply_json(req, 200, problem_json(req->ctl, p));
}

void api_problem_versions(struct http_req *req)
{
    const struct problem *p = find(req);

    if (p)
        reply_json(req, 200, problem_versions_json(req->ctl, p));
}

static void rescanned(void *arg, int changed)
{
    struct http_req *req = arg;

    if (changed < 0)
        reply_error(req, 500, "internal", NULL, "the problem folder cannot be read; see the log");
    else
        reply_json(req, 200,
                   json_pack("{s:o, s:i}", "problems", all(req->ctl), "changed", changed));
    http_release(req);
}

void api_rescan(struct http_req *req)
{
    problems_rescan(req->ctl->problems, rescanned, http_hold(req));
}

struct put {
    struct http_req *req;
    bool existed;
};

/* What is wrong with an archive is said with everything else that was found in it; what is wrong
 * with us is not. */
static void refuse(struct http_req *req, const struct tr_err *err, const char *findings)
{
    struct tr_err e = *err;
    /* not found: something that should be in it is not */
    bool theirs =
        e.code == TR_E_NOTFOUND || e.code == TR_E_LIMIT || tr_err_class(e.code) == TR_E_USAGE;

    (void)tr_fail_wrap(&e, "the archive");
    if (!theirs) {
        reply_failure(req, "body", &e);
        return;
    }
    json_t *doc = error_json("bad_field", "body", e.msg);
    if (doc)
        (void)json_object_set_new(doc, "findings", problem_findings_json(err->msg, findings));
    reply_json(req, 422, doc);
}

static void put_done(void *arg, int result, const struct tr_err *err, const char *findings)
{
    struct put *p = arg;
    struct http_req *req = p->req;
    const struct problem *now = problems_find(req->ctl->problems, req->args[0]);

    if (result < 0) {
        refuse(req, err, findings);
    } else if (!now) {
        reply_error(req, 500, "internal", NULL, "the problem is not in the folder; see the log");
    } else {
        reply_json(req, p->existed ? 200 : 201, problem_json(req->ctl, now));
    }
    http_release(req);
    free(p);
}

void api_problem_put(struct http_req *req)
{
    if (!problem_id_ok(req->args[0])) {
        reply_error(req, 422, "bad_field", "id",
                    "a problem's id has up to %d letters, digits, '.', '_' or '-'", PROBLEM_ID_MAX);
        return;
    }
    struct put *p = req->body_fd < 0 ? NULL : calloc(1, sizeof(*p));
    if (!p) {
        reply_error(req, 422, "missing_field", "body", "send the package as a zip file");
        return;
    }
    p->req = http_hold(req);
    p->existed = problems_find(req->ctl->problems, req->args[0]) != NULL;
    problems_put(req->ctl->problems, req->args[0], tr_take_fd(&req->body_fd), put_done, p);
}
