/* SPDX-License-Identifier: MIT
 *
 * ws_pool.c - what the ws source asks for, done by slots: begin, cancel, data, logs.
 *
 * Between the two there is one list of jobs: a task that the source began may have to wait a moment
 * for a slot that is being restarted.
 */
#include "source/ws_pool.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fs.h"
#include "codec/json.h"
#include "source/ws_data.h"
#include "source/ws_logs.h"

enum {
    RUN_TEXT_MAX = 64 * 1024, /* of stdout and stderr of a run with custom input */
    SPOOL_MAX = 480           /* bytes of a path */
};

struct job {
    struct job *next;
    struct tr_ws_pool *p;
    struct tr_ws_task *task;
    char *text; /* the task, until a slot has it */
    char submit_id[129];
    char spool[SPOOL_MAX + 24]; /* and a number */
    size_t done;                /* tests that ended */
    bool run;                   /* once, with custom input */
    bool given, cancelled;
};

struct tr_ws_pool {
    struct tr_ws_pool_conf conf;
    struct tr_pool *pool;
    struct tr_ws_net *net;
    struct tr_ws_source *source;
    struct tr_ws_data *data;
    struct tr_ws_logs *logs;
    struct job *jobs;
    char *spool; /* folder of folders */
    uint64_t spools;
    unsigned tokens;
};

/* --- jobs ------------------------------------------------------------------------------------ */

static void job_end(struct job *j)
{
    for (struct job **at = &j->p->jobs; *at; at = &(*at)->next) {
        if (*at == j) {
            *at = j->next;
            break;
        }
    }
    free(j->text);
    free(j);
}

static void logs_to_controller(struct job *j)
{
    struct tr_ws_pool *p = j->p;
    int64_t lease = tr_ws_task_lease(j->task);
    const char *credential = tr_ws_source_credential(p->source);
    char url[TR_WS_BASE + 200];

    if (p->conf.no_logs || j->run || !credential[0] || lease == 0) {
        tr_ws_logs_drop(j->spool);
        return;
    }
    (void)snprintf(url, sizeof(url), "%s/judge/v1/logs/%s/%lld", tr_ws_source_base(p->source),
                   j->submit_id, (long long)lease);
    tr_ws_logs_put(p->logs, j->spool, url, credential);
}

static void give_waiting(struct tr_ws_pool *p)
{
    struct job *next;

    for (struct job *j = p->jobs; j && tr_pool_free(p->pool) > 0; j = next) {
        struct tr_err err = TR_ERR_INIT;

        next = j->next;
        if (j->given)
            continue;
        if (tr_pool_give(p->pool, j, j->text, strlen(j->text), j->spool, &err) == 0) {
            j->given = true;
            free(TR_TAKE(j->text));
        } else if (err.code != TR_E_BUSY) {
            struct tr_ws_task *t = j->task;

            job_end(j);
            tr_ws_ended_fault(t, true, false, err.msg);
            next = p->jobs;
        }
    }
}

/* --- asked by the source --------------------------------------------------------------------- */

/* The slot finds the archive in the cache by its hash, but looks only when there is an address. */
static char *with_address(const struct tr_ws_job *job, const char *base)
{
    TR_CLEANUP(tr_json_unrefp) json_t *task = NULL;
    char url[TR_WS_BASE + 100];

    if (!job->sha256 || tr_json_parse(job->task, job->task_len, job->task_len, &task, NULL) < 0)
        return strdup(job->task);
    json_t *problem = json_object_get(task, "problem");
    (void)snprintf(url, sizeof(url), "%s/judge/v1/data/%s", base, job->sha256);
    (void)json_object_set_new(problem, "test_data_zip", json_string(url));
    (void)json_object_set_new(problem, "test_data_hash", json_string(job->sha256));
    return json_dumps(task, JSON_COMPACT);
}

static int begin(void *arg, struct tr_ws_task *t, const struct tr_ws_job *job, struct tr_err *err)
{
    struct tr_ws_pool *p = arg;
    struct job *j = calloc(1, sizeof(*j));

    if (j)
        j->text = with_address(job, tr_ws_source_base(p->source));
    if (!j || !j->text) {
        free(j);
        return tr_fail(err, TR_E_NOMEM, 0, "no memory for a task");
    }
    j->p = p;
    j->task = t;
    j->run = strcmp(job->kind, "run") == 0;
    (void)snprintf(j->submit_id, sizeof(j->submit_id), "%s", job->submit_id);
    (void)snprintf(j->spool, sizeof(j->spool), "%s/%llu", p->spool,
                   (unsigned long long)++p->spools);
    struct job **at = &p->jobs;
    while (*at)
        at = &(*at)->next;
    *at = j;
    give_waiting(p);
    return 0;
}

static void cancel(void *arg, struct tr_ws_task *t)
{
    struct tr_ws_pool *p = arg;
    struct job *j = p->jobs;

    while (j && j->task != t)
        j = j->next;
    if (!j)
        return;
    j->cancelled = true;
    if (j->given) {
        tr_pool_cancel(p->pool, j);
        return;
    }
    job_end(j);
    tr_ws_ended_stopped(t);
}

static int fetch(void *arg, const char *sha256, const char *url, uint64_t size, struct tr_err *err)
{
    struct tr_ws_pool *p = arg;

    (void)size;
    return tr_ws_data_get(p->data, sha256, url, tr_ws_source_credential(p->source), err);
}

static json_t *beat(void *arg)
{
    struct tr_ws_pool *p = arg;
    struct sysinfo info = {0};
    double load = 0;

    (void)getloadavg(&load, 1);
    (void)sysinfo(&info);
    return json_pack("{s:f, s:I, s:o}", "load", load, "memory_free_mib",
                     (json_int_t)((info.freeram + info.bufferram) * info.mem_unit >> 20), "cache",
                     tr_ws_data_stats(p->data));
}

static json_t *handles(void *arg)
{
    struct tr_ws_pool *p = arg;

    return tr_ws_data_handles(p->data);
}

static void on_data(void *arg, const char *sha256, int r, const struct tr_err *err)
{
    struct tr_ws_pool *p = arg;

    tr_ws_data_ready(p->source, sha256, r, err);
}

/* --- told by the slots ----------------------------------------------------------------------- */

static void on_progress(void *arg, void *user, const char *text, size_t len)
{
    struct job *j = user;
    TR_CLEANUP(tr_json_unrefp) json_t *o = NULL;

    (void)arg;
    if (tr_json_parse(text, len, len, &o, NULL) < 0)
        return;
    if (!json_object_get(o, "test")) {
        const char *stage = json_string_value(json_object_get(o, "stage"));
        bool compiled = stage && strcmp(stage, "compiled") == 0;

        tr_ws_progress(j->task, compiled ? "running" : "compiling", 0, 0, NULL);
        return;
    }
    json_t *one = json_pack("{s:O, s:O*, s:O*, s:O*}", "id", json_object_get(o, "test"), "status",
                            json_object_get(o, "verdict"), "time_ms", json_object_get(o, "time_ms"),
                            "memory_kb", json_object_get(o, "memory_kb"));
    tr_ws_progress(j->task, "running", ++j->done,
                   (size_t)json_integer_value(json_object_get(o, "total")), one);
}

/* A text of the spool, cut, for the member `run`. */
static void add_text(json_t *run, const char *spool, const char *file, const char *name)
{
    char path[600], cut[40];
    TR_CLEANUP(tr_buf_done) struct tr_buf b;

    tr_buf_init(&b, RUN_TEXT_MAX + 1);
    (void)snprintf(path, sizeof(path), "%s/%s", spool, file);
    (void)snprintf(cut, sizeof(cut), "%s_truncated", name);
    (void)tr_fs_read_file(path, &b, NULL); /* none: the program did not run */
    (void)json_object_set_new(run, name, tr_json_clean(b.data ? b.data : "", b.len, RUN_TEXT_MAX));
    (void)json_object_set_new(run, cut, json_boolean(b.len >= RUN_TEXT_MAX || b.failed));
}

/* Custom input has no answer to compare with: what ended well is accepted. */
static void make_run(struct job *j, json_t *event)
{
    json_t *result = json_object_get(event, "result"), *run = json_object();
    const char *verdict = json_string_value(json_object_get(result, "verdict"));

    if (verdict && strcmp(verdict, "WA") == 0)
        (void)json_object_set_new(result, "verdict", json_string("AC"));
    add_text(run, j->spool, "case_1.stdout", "stdout");
    add_text(run, j->spool, "case_1.stderr", "stderr");
    (void)json_object_set_new(result, "run", run);
}

static void on_result(void *arg, void *user, const struct tr_pool_result *r)
{
    struct tr_ws_pool *p = arg;
    struct job *j = user;
    struct tr_ws_task *t = j->task;
    json_t *event = NULL;
    struct tr_err err = TR_ERR_INIT;

    if (tr_json_parse(r->json, r->json_len, r->json_len, &event, &err) < 0) {
        tr_ws_logs_drop(j->spool);
        job_end(j);
        tr_ws_ended_fault(t, true, false, err.msg);
    } else if (strcmp(r->verdict, "JE") == 0) {
        const char *why =
            json_string_value(json_object_get(json_object_get(event, "result"), "fault"));

        logs_to_controller(j);
        job_end(j);
        tr_ws_ended_fault(t, true, false, why ? why : "the problem's checker failed");
        json_decref(event);
    } else {
        if (j->run)
            make_run(j, event);
        /* The verdict first: nobody should wait for logs. The fence is read before it may change.
         */
        logs_to_controller(j);
        job_end(j);
        tr_ws_ended_result(t, event);
    }
    give_waiting(p);
}

static void on_fault(void *arg, void *user, const char *why, bool final)
{
    struct job *j = user;
    struct tr_ws_task *t = j->task;
    bool cancelled = j->cancelled;

    tr_ws_logs_drop(j->spool);
    job_end(j);
    if (cancelled)
        tr_ws_ended_stopped(t);
    else
        tr_ws_ended_fault(t, !final, false, why);
    give_waiting(arg);
}

static void on_died(void *arg, void *user, const char *how)
{
    struct job *j = user;
    struct tr_ws_task *t = j->task;
    char why[200];
    bool cancelled = j->cancelled;

    (void)snprintf(why, sizeof(why), "the slot that judged it was %s", how);
    tr_ws_logs_drop(j->spool);
    job_end(j);
    if (cancelled)
        tr_ws_ended_stopped(t);
    else
        tr_ws_ended_fault(t, true, true, why);
    give_waiting(arg);
}

static void set_tokens(struct tr_ws_pool *p, unsigned tokens)
{
    if (p->tokens == tokens)
        return;
    p->tokens = tokens;
    tr_ws_source_tokens(p->source, tokens);
}

static void on_room(void *arg)
{
    struct tr_ws_pool *p = arg;

    if (!p->source)
        return; /* still being made */
    set_tokens(p, p->conf.source.tokens);
    give_waiting(p);
}

/* A judge without a working slot asks for nothing and gives back what it has not begun. */
static void on_broken(void *arg, const char *why)
{
    struct tr_ws_pool *p = arg;
    struct job *next;

    if (p->conf.broken)
        p->conf.broken(p->conf.events.arg, why);
    if (!p->source || tr_pool_alive(p->pool) > 0)
        return;
    set_tokens(p, 0);
    for (struct job *j = p->jobs; j; j = next) {
        next = j->next;
        if (!j->given)
            cancel(p, j->task);
    }
}

/* --- made and freed -------------------------------------------------------------------------- */

/* A folder for logs on their way, beside the test data and named after the judge: what one that was
 * killed left there goes when it starts again. */
static int open_spool(struct tr_ws_pool *p, struct tr_err *err)
{
    if (asprintf(&p->spool, "%s.logs-%s", p->conf.data_dir, p->conf.source.judge_id) < 0) {
        p->spool = NULL;
        return tr_fail(err, TR_E_NOMEM, 0, "no memory for a judge");
    }
    if (strlen(p->spool) > SPOOL_MAX)
        return tr_fail(err, TR_E_USAGE, 0, "the path of '%s' is too long for a judge",
                       p->conf.data_dir);
    tr_ws_logs_drop(p->spool);
    return tr_fs_mkdirs(AT_FDCWD, p->spool, 0700, err);
}

static int open_parts(struct tr_ws_pool *p, struct tr_err *err)
{
    const struct tr_ws_pool_conf *c = &p->conf;
    struct tr_ws_data_conf data = {.loop = c->loop,
                                   .folder = c->data_dir,
                                   .max_bytes = c->data_bytes,
                                   .ca_file = c->ca_file,
                                   .redis = c->redis,
                                   .arg = p,
                                   .done = on_data};
    struct tr_pool_conf pool = c->pool;
    int r = open_spool(p, err);

    pool.events = (struct tr_pool_events){.arg = p,
                                          .progress = on_progress,
                                          .result = on_result,
                                          .fault = on_fault,
                                          .died = on_died,
                                          .room = on_room,
                                          .broken = on_broken};
    if (r == 0)
        r = tr_ws_data_new(&data, &p->data, err);
    if (r == 0)
        r = tr_ws_logs_new(c->loop, c->ca_file, &p->logs, err);
    if (r == 0)
        r = tr_ws_net_new(c->loop, &(struct tr_ws_conf){.ca_file = c->ca_file}, &p->net, err);
    if (r == 0)
        r = tr_pool_open(&pool, &p->pool, err);
    return r;
}

int tr_ws_pool_new(const struct tr_ws_pool_conf *conf, struct tr_ws_pool **ret, struct tr_err *err)
{
    struct tr_ws_pool *p = calloc(1, sizeof(*p));

    if (!p)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory for a judge");
    p->conf = *conf;
    if (p->conf.source.tokens == 0)
        p->conf.source.tokens = (unsigned)conf->pool.slots;
    p->tokens = p->conf.source.tokens;
    struct tr_ws_work work = {.arg = p,
                              .slots = (unsigned)conf->pool.slots,
                              .begin = begin,
                              .cancel = cancel,
                              .fetch = fetch,
                              .beat = beat,
                              .data = handles};
    int r = open_parts(p, err);
    if (r == 0)
        r = tr_ws_source_new(conf->loop, p->net, &p->conf.source, &work, &conf->events, &p->source,
                             err);
    if (r < 0) {
        tr_ws_pool_free(p);
        return r;
    }
    *ret = p;
    return 0;
}

void tr_ws_pool_leave(struct tr_ws_pool *p, bool now)
{
    tr_ws_source_leave(p->source, now);
}

void tr_ws_pool_free(struct tr_ws_pool *p)
{
    if (!p)
        return;
    tr_ws_source_free(p->source);
    if (p->pool)
        tr_pool_close(p->pool);
    while (p->jobs)
        job_end(p->jobs);
    tr_ws_data_free(p->data);
    tr_ws_logs_free(p->logs);
    tr_ws_net_free(p->net); /* turns the loop: what the others closed is freed there */
    if (p->spool)
        tr_ws_logs_drop(p->spool);
    free(p->spool);
    free(p);
}
