/* SPDX-License-Identifier: MIT
 *
 * controller/api.h - the handlers that the table in route.c names, by file.
 */
#ifndef CONTROLLER_API_H
#define CONTROLLER_API_H

#include "controller/http.h"

/* api_submissions.c */
void api_submit(struct http_req *req);
void api_run(struct http_req *req);
void api_submission(struct http_req *req);
void api_source(struct http_req *req);
/* api_lists.c */
void api_submissions(struct http_req *req);
void api_dead_letters(struct http_req *req);
/* api_changes.c */
void api_cancel(struct http_req *req);
void api_rejudge(struct http_req *req);
void api_rejudge_many(struct http_req *req);
void api_dead_retry(struct http_req *req);
void api_dead_discard(struct http_req *req);
void api_dead_retry_many(struct http_req *req);
void api_dead_discard_many(struct http_req *req);
/* api_problems.c */
void api_problems(struct http_req *req);
void api_problem(struct http_req *req);
void api_problem_put(struct http_req *req);
void api_problem_versions(struct http_req *req);
void api_rescan(struct http_req *req);
/* api_farm.c */
void api_judges(struct http_req *req);
void api_judge(struct http_req *req);
void api_judge_drain(struct http_req *req);
void api_judge_resume(struct http_req *req);
void api_queues(struct http_req *req);
void api_queue_pause(struct http_req *req);
void api_queue_resume(struct http_req *req);
void api_set_asides(struct http_req *req);
void api_set_aside_resume(struct http_req *req);
void api_languages(struct http_req *req);
/* api_meta.c */
void api_stats(struct http_req *req);
void api_whoami(struct http_req *req);
void api_openapi(struct http_req *req);
void api_healthz(struct http_req *req);
void api_readyz(struct http_req *req);
void api_metrics(struct http_req *req);
void api_asset(struct http_req *req);
/* api_logs.c: logs of submissions, and what judges fetch and leave */
void api_logs(struct http_req *req);
void api_log(struct http_req *req);
void api_judge_data(struct http_req *req);
void api_judge_log(struct http_req *req);

/* The body as a JSON object; NULL: answered. */
json_t *api_body(struct http_req *req);
/* ?wait: microseconds, 0 when absent; -1: answered. */
int64_t api_wait(struct http_req *req);

#endif
