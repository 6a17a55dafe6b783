/* SPDX-License-Identifier: MIT
 *
 * route.c - the table. openapi.json must say the same: a test compares them.
 */
#include "controller/route.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "controller/api.h"
#include "controller/events.h"

static const struct route routes[] = {
    {"POST", "/api/v1/submissions", ROLE_SUBMIT, api_submit, 0},
    {"GET", "/api/v1/submissions", ROLE_READ, api_submissions, 0},
    {"GET", "/api/v1/submissions/{id}", ROLE_SUBMIT, api_submission, 0},
    {"GET", "/api/v1/submissions/{id}/source", ROLE_READ, api_source, 0},
    {"POST", "/api/v1/submissions/{id}/cancel", ROLE_SUBMIT, api_cancel, 0},
    {"POST", "/api/v1/submissions/{id}/rejudge", ROLE_ADMIN, api_rejudge, 0},
    {"GET", "/api/v1/submissions/{id}/logs", ROLE_READ, api_logs, 0},
    {"GET", "/api/v1/submissions/{id}/logs/{name}", ROLE_READ, api_log, 0},
    {"POST", "/api/v1/rejudge", ROLE_ADMIN, api_rejudge_many, 0},
    {"POST", "/api/v1/runs", ROLE_SUBMIT, api_run, 0},
    {"GET", "/api/v1/runs/{id}", ROLE_SUBMIT, api_submission, 0},
    {"GET", "/api/v1/problems", ROLE_SUBMIT, api_problems, 0},
    {"POST", "/api/v1/problems/rescan", ROLE_ADMIN, api_rescan, 0},
    {"GET", "/api/v1/problems/{id}", ROLE_SUBMIT, api_problem, 0},
    {"PUT", "/api/v1/problems/{id}", ROLE_ADMIN, api_problem_put, ROUTE_UPLOAD},
    {"GET", "/api/v1/problems/{id}/versions", ROLE_READ, api_problem_versions, 0},
    {"GET", "/api/v1/judges", ROLE_READ, api_judges, 0},
    {"GET", "/api/v1/judges/{id}", ROLE_READ, api_judge, 0},
    {"POST", "/api/v1/judges/{id}/drain", ROLE_ADMIN, api_judge_drain, 0},
    {"POST", "/api/v1/judges/{id}/resume", ROLE_ADMIN, api_judge_resume, 0},
    {"GET", "/api/v1/queues", ROLE_READ, api_queues, 0},
    {"POST", "/api/v1/queues/{name}/pause", ROLE_ADMIN, api_queue_pause, 0},
    {"POST", "/api/v1/queues/{name}/resume", ROLE_ADMIN, api_queue_resume, 0},
    {"GET", "/api/v1/dead-letters", ROLE_READ, api_dead_letters, 0},
    {"POST", "/api/v1/dead-letters/retry", ROLE_ADMIN, api_dead_retry_many, 0},
    {"POST", "/api/v1/dead-letters/discard", ROLE_ADMIN, api_dead_discard_many, 0},
    {"POST", "/api/v1/dead-letters/{id}/retry", ROLE_ADMIN, api_dead_retry, 0},
    {"POST", "/api/v1/dead-letters/{id}/discard", ROLE_ADMIN, api_dead_discard, 0},
    {"GET", "/api/v1/set-asides", ROLE_READ, api_set_asides, 0},
    {"POST", "/api/v1/set-asides/{kind}/{name}/resume", ROLE_ADMIN, api_set_aside_resume, 0},
    {"GET", "/api/v1/languages", ROLE_SUBMIT, api_languages, 0},
    {"GET", "/api/v1/stats", ROLE_READ, api_stats, 0},
    {"GET", "/api/v1/events", ROLE_READ, events_listen_http, 0},
    {"GET", "/api/v1/whoami", ROLE_NONE, api_whoami, 0},
    {"GET", "/api/v1/openapi.json", ROLE_NONE, api_openapi, 0},
    {"GET", "/healthz", ROLE_NONE, api_healthz, 0},
    {"GET", "/readyz", ROLE_NONE, api_readyz, 0},
    {"GET", "/metrics", ROLE_NONE, api_metrics, 0},
};

/* Not of the public document: doc/protocol.md has these. */
static const struct route judge_routes[] = {
    {"GET", "/judge/v1/data/{sha256}", ROLE_NONE, api_judge_data, ROUTE_SESSION},
    {"PUT", "/judge/v1/logs/{id}/{lease}/{name}", ROLE_NONE, api_judge_log,
     ROUTE_SESSION | ROUTE_LOG},
};

static const struct route pages = {"GET", "/", ROLE_NONE, api_asset, 0};

/* Does the pattern fit? Fills args with what stands for {…}. */
static bool fits(const char *pattern, const struct http_req *req, const char **args)
{
    size_t part = 0, arg = 0;

    for (const char *p = pattern; *p == '/'; part++) {
        size_t n = strcspn(++p, "/");

        if (part == req->nparts)
            return false;
        if (*p == '{')
            args[arg++] = req->parts[part];
        else if (strlen(req->parts[part]) != n || strncmp(req->parts[part], p, n) != 0)
            return false;
        p += n;
    }
    return part == req->nparts;
}

static const struct route *search(const struct route *table, size_t n, struct http_req *req,
                                  char *allow)
{
    const char *args[HTTP_PARTS_MAX] = {NULL};

    for (size_t i = 0; i < n; i++) {
        if (!fits(table[i].pattern, req, args))
            continue;
        if (strcmp(table[i].method, req->method) == 0) {
            memcpy((void *)req->args, (const void *)args, sizeof(args));
            return &table[i];
        }
        if (!strstr(allow, table[i].method) && strlen(allow) < 50)
            (void)snprintf(allow + strlen(allow), 64 - strlen(allow), "%s%s", *allow ? ", " : "",
                           table[i].method);
    }
    return NULL;
}

const struct route *route_find(struct http_req *req, char ret_allow[static 64])
{
    *ret_allow = '\0';
    const struct route *r = search(routes, TR_ARRAY_LEN(routes), req, ret_allow);

    if (!r)
        r = search(judge_routes, TR_ARRAY_LEN(judge_routes), req, ret_allow);
    if (r || *ret_allow)
        return r;
    bool api = req->nparts > 0 &&
               (strcmp(req->parts[0], "api") == 0 || strcmp(req->parts[0], "judge") == 0 ||
                strcmp(req->parts[0], "ws") == 0);
    if (api)
        return NULL;
    if (strcmp(req->method, "GET") == 0)
        return &pages;
    (void)snprintf(ret_allow, 64, "GET");
    return NULL;
}

void route_print(void)
{
    for (size_t i = 0; i < TR_ARRAY_LEN(routes); i++)
        (void)printf("%s %s %s\n", routes[i].method, routes[i].pattern,
                     key_role_name(routes[i].role));
}
