/* SPDX-License-Identifier: MIT
 *
 * problems.c - the list of problems on the loop; the reading is problem_scan.c's.
 *
 * One scan or upload at a time. A scan asked for while one runs happens after it, once.
 */
#include "controller/problems.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "codec/json.h"
#include "controller/ctl.h"
#include "controller/problem_scan.h"
#include "controller/setaside.h"

enum {
    SCAN_MS = 5000 /* people who copy a folder in do not wait long */
};

struct waiter {
    struct waiter *next;
    void (*scanned)(void *arg, int changed);
    problem_put_fn put;
    void *arg;
    char id[PROBLEM_ID_MAX + 1]; /* "" : a scan */
    int zip_fd;
    int result;
    struct tr_err err;
    char findings[PROBLEM_FINDINGS_MAX];
};

struct problems {
    struct ctl *ctl;
    char *folder, *packages;
    struct problem_list list;
    uv_timer_t timer;
    uv_work_t work;
    bool busy;
    struct waiter *first, *last; /* what is asked for */
    struct waiter *now;          /* what the pool thread does: all of them */
    struct problem_list found;
    int changed;
    struct tr_err err;
};

static void do_work(uv_work_t *work)
{
    struct problems *p = work->data;

    for (struct waiter *w = p->now; w; w = w->next)
        if (*w->id)
            w->result = problem_install(p->folder, w->id, w->zip_fd, w->findings, &w->err);
    p->changed = problem_scan(p->folder, p->packages, &p->list, &p->found, &p->err);
}

static void begin(struct problems *p);

static void finish_waiters(struct waiter *w, int changed)
{
    while (w) {
        struct waiter *next = w->next;

        if (w->put)
            w->put(w->arg, w->result, &w->err, w->findings);
        else if (w->scanned)
            w->scanned(w->arg, changed);
        tr_close(&w->zip_fd);
        free(w);
        w = next;
    }
}

static void tell(struct problems *p, const struct problem_list *old)
{
    for (size_t i = 0; i < p->list.count; i++) {
        const struct problem *now = &p->list.items[i], *before = NULL;

        for (size_t k = 0; k < old->count; k++)
            if (strcmp(old->items[k].id, now->id) == 0)
                before = &old->items[k];
        if (before && strcmp(before->version, now->version) == 0)
            continue;
        struct tr_log_field f = {.key = "problem", .value = now->id};
        if (*now->error)
            tr_log(TR_LOG_WARN, &f, "this problem cannot be used: %s", now->error);
        else
            tr_log(TR_LOG_INFO, &f, "version %.12s, %lld tests", now->version,
                   (long long)now->tests);
        events_live(p->ctl->events, json_pack("{s:s, s:s, s:s}", "type", "problem", "problem",
                                              now->id, "version", now->version));
    }
}

static void work_done(uv_work_t *work, int status)
{
    struct problems *p = work->data;
    struct waiter *w = p->now;

    p->busy = false;
    p->now = NULL;
    if (status == 0 && p->changed >= 0) {
        struct problem_list old = p->list;

        p->list = p->found;
        if (p->changed > 0 && !p->ctl->stopping)
            tell(p, &old);
        free(old.items);
    } else if (status == 0) {
        tr_log_err(TR_LOG_WARN, NULL, &p->err);
    }
    p->found = (struct problem_list){0};
    finish_waiters(w, p->changed);
    if (p->first && !p->ctl->stopping)
        begin(p);
}

static void begin(struct problems *p)
{
    if (p->busy)
        return;
    p->now = p->first;
    p->first = p->last = NULL;
    p->busy = true;
    p->err = (struct tr_err)TR_ERR_INIT;
    p->work.data = p;
    if (uv_queue_work(tr_loop_uv(p->ctl->loop), &p->work, do_work, work_done) < 0) {
        p->busy = false;
        finish_waiters(p->now, TR_E_NOMEM);
        p->now = NULL;
    }
}

static void ask(struct problems *p, struct waiter *w)
{
    if (p->last)
        p->last->next = w;
    else
        p->first = w;
    p->last = w;
    begin(p);
}

void problems_rescan(struct problems *p, void (*fn)(void *arg, int changed), void *arg)
{
    struct waiter *w = calloc(1, sizeof(*w));

    if (!w) {
        if (fn)
            fn(arg, TR_E_NOMEM);
        return;
    }
    *w = (struct waiter){.scanned = fn, .arg = arg, .zip_fd = -1};
    ask(p, w);
}

void problems_put(struct problems *p, const char *id, int zip_fd, problem_put_fn fn, void *arg)
{
    struct waiter *w = calloc(1, sizeof(*w));
    struct tr_err err = TR_ERR_INIT;

    if (!w) {
        (void)close(zip_fd);
        fn(arg, tr_fail(&err, TR_E_NOMEM, 0, "out of memory"), &err, "");
        return;
    }
    *w = (struct waiter){.put = fn, .arg = arg, .zip_fd = zip_fd};
    (void)snprintf(w->id, sizeof(w->id), "%s", id);
    ask(p, w);
}

static void on_timer(uv_timer_t *t)
{
    struct problems *p = t->data;

    if (!p->busy)
        problems_rescan(p, NULL, NULL);
}

/* ---------------------------------------------------------------- life */

int problems_open(struct ctl *ctl, struct problems **ret, struct tr_err *err)
{
    struct problems *p = calloc(1, sizeof(*p));

    if (!p)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory for the problems");
    p->ctl = ctl;
    if ((ctl->conf.problems ? asprintf(&p->folder, "%s", ctl->conf.problems)
                            : asprintf(&p->folder, "%s/problems", ctl->conf.data)) < 0 ||
        asprintf(&p->packages, "%s/packages", ctl->conf.data) < 0)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory for the problems");
    int r = tr_fs_mkdirs(AT_FDCWD, p->folder, 0755, err);
    if (r >= 0)
        r = tr_fs_mkdirs(AT_FDCWD, p->packages, 0755, err);
    /* The first time before anybody is let in. */
    if (r >= 0)
        r = problem_scan(p->folder, p->packages, NULL, &p->list, err);
    if (r < 0) {
        free(p->folder);
        free(p->packages);
        free(p);
        return r;
    }
    (void)uv_timer_init(tr_loop_uv(ctl->loop), &p->timer);
    p->timer.data = p;
    (void)uv_timer_start(&p->timer, on_timer, SCAN_MS, SCAN_MS);
    *ret = p;
    return 0;
}

void problems_close(struct problems *p)
{
    if (!p)
        return;
    (void)uv_timer_stop(&p->timer);
    while (p->busy) /* the pool thread has our list */
        (void)uv_run(tr_loop_uv(p->ctl->loop), UV_RUN_ONCE);
    finish_waiters(p->first, TR_E_LOST);
    if (!uv_is_closing((uv_handle_t *)&p->timer))
        uv_close((uv_handle_t *)&p->timer, NULL);
    (void)uv_run(tr_loop_uv(p->ctl->loop), UV_RUN_NOWAIT);
    free(p->list.items);
    free(p->folder);
    free(p->packages);
    free(p);
}

size_t problems_count(const struct problems *p)
{
    return p->list.count;
}

const struct problem *problems_at(const struct problems *p, size_t i)
{
    return &p->list.items[i];
}

const struct problem *problems_find(const struct problems *p, const char *id)
{
    for (size_t i = 0; i < p->list.count; i++)
        if (strcmp(p->list.items[i].id, id) == 0)
            return &p->list.items[i];
    return NULL;
}

/* ---------------------------------------------------------------- what people see */

static void add_finding(json_t *list, const char *level, const char *text, size_t len)
{
    (void)json_array_append_new(list, json_pack("{s:s, s:o}", "level", level, "message",
                                                tr_json_clean(text, len, PROBLEM_FINDINGS_MAX)));
}

json_t *problem_findings_json(const char *error, const char *findings)
{
    json_t *list = json_array();

    if (error && *error)
        add_finding(list, "error", error, strlen(error));
    for (size_t n; *findings; findings += n + (findings[n] == '\n')) {
        n = strcspn(findings, "\n");
        if (n)
            add_finding(list, "note", findings, n);
    }
    return list;
}

json_t *problem_json(struct ctl *ctl, const struct problem *p)
{
    char when[TR_TIME_TEXT];

    if (*p->error)
        return json_pack("{s:s, s:s, s:s, s:o}", "id", p->id, "name", p->name, "error", p->error,
                         "findings", problem_findings_json(p->error, p->findings));
    return json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:s, s:b, s:s, s:b, s:o}", "id", p->id,
        "name", p->name, "format", p->format, "version", p->version, "data", p->data, "size",
        (json_int_t)p->size, "tests", (json_int_t)p->tests, "time_limit", (json_int_t)p->time_ms,
        "memory_limit", (json_int_t)(p->memory_kib / 1024), "scoring", p->oi ? "OI" : "ACM",
        "interactive", (int)p->interactive, "updated_at", tr_clock_text(p->updated_us, when),
        "set_aside", (int)setaside_is(ctl->setaside, SETASIDE_PROBLEM, p->id), "findings",
        problem_findings_json(NULL, p->findings));
}

static int newer(const void *a, const void *b)
{
    const char *x = json_string_value(json_object_get(*(json_t *const *)a, "created_at"));
    const char *y = json_string_value(json_object_get(*(json_t *const *)b, "created_at"));

    return strcmp(y ? y : "", x ? x : "");
}

static json_t *version_json(const char *path, const struct problem *p)
{
    TR_CLEANUP(tr_buf_done) struct tr_buf text;
    TR_CLEANUP(tr_json_unrefp) json_t *j = NULL;
    const char *version = NULL, *data = NULL;
    json_int_t size = 0, at = 0;
    char when[TR_TIME_TEXT];

    tr_buf_init(&text, 64 * 1024);
    if (tr_fs_read_file(path, &text, NULL) < 0 ||
        tr_json_parse(text.data, text.len, text.max, &j, NULL) < 0 ||
        json_unpack(j, "{s:s, s:s, s:I, s:I}", "version", &version, "data", &data, "size", &size,
                    "created_us", &at) < 0)
        return NULL;
    return json_pack("{s:s, s:s, s:I, s:s, s:b}", "version", version, "data", data, "size", size,
                     "created_at", tr_clock_text(at, when), "current",
                     strcmp(version, p->version) == 0);
}

json_t *problem_versions_json(struct ctl *ctl, const struct problem *p)
{
    char path[4096];
    json_t *found[1000], *list = json_array();
    size_t n = 0;
    struct dirent *e;

    (void)snprintf(path, sizeof(path), "%s/%s", ctl->problems->packages, p->id);
    DIR *d = opendir(path);
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is ours */
    while (d && n < TR_ARRAY_LEN(found) && (e = readdir(d))) {
        if (e->d_name[0] == '.')
            continue;
        (void)snprintf(path, sizeof(path), "%s/%s/%s", ctl->problems->packages, p->id, e->d_name);
        found[n] = version_json(path, p);
        n += found[n] != NULL;
    }
    if (d)
        (void)closedir(d);
    if (n)
        qsort((void *)found, n, sizeof(found[0]), newer); /* NOLINT: pointers */
    for (size_t i = 0; i < n; i++)
        (void)json_array_append_new(list, found[i]);
    return json_pack("{s:o}", "versions", list);
}

int problems_open_data(struct ctl *ctl, const char *sha256, uint64_t *ret_size, struct tr_err *err)
{
    char path[128];

    if (strlen(sha256) != TR_SHA256_HEX - 1 || strspn(sha256, "0123456789abcdef") != 64)
        return tr_fail(err, TR_E_NOTFOUND, 0, "a handle has 64 hexadecimal digits");
    (void)snprintf(path, sizeof(path), "packages/%s.zip", sha256);
    return tr_fs_open_regular(ctl->data_fd, path, UINT64_MAX, ret_size, err);
}
