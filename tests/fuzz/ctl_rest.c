/* SPDX-License-Identifier: MIT
 *
 * ctl_rest.c - a controller without a network, threads and a disk.
 *
 * One transaction of an SQLite in memory is open for each input and rolled back after it, so inputs
 * do not see each other. Operations queue up and come back later, as they do from the real threads.
 */
#include "ctl_rest.h"

#include <assert.h>
#include <libwebsockets.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/log.h"
#include "controller/assets.h"
#include "controller/ctl.h"
#include "controller/dispatch.h"
#include "controller/judge_ws.h"
#include "controller/judges.h"
#include "controller/marks.h"
#include "controller/metrics.h"
#include "controller/problems.h"
#include "controller/setaside.h"

static struct {
    struct tr_store *st;
    struct metrics *metrics; /* counters only, and large: kept from input to input */
    struct op *first, **last;
    const struct rest_request *request;
    struct tr_buf written;
    struct conn *judge;
    struct ctl ctl;
} rest;

static struct tr_lang languages[] = {{.slug = "cpp17"}, {.slug = "python3"}};
static const struct problem problem = {
    .id = "a-plus-b",
    .name = "A+B",
    .version = "11112222333344445555666677778888111122223333444455556666777788aa",
    .data = "aaaabbbbccccddddaaaabbbbccccddddaaaabbbbccccddddaaaabbbbccccdddd",
    .size = 100,
    .tests = 2,
    .time_ms = 1000,
    .memory_kib = 65536};

/* ---------------------------------------------------------------- one controller for each input */

static void open_store(void)
{
    struct tr_err err = TR_ERR_INIT;

    tr_log_setup(-1, TR_LOG_TEXT, TR_LOG_ERROR);
    tr_buf_init(&rest.written, 64 << 20);
    rest.metrics = metrics_new();
    assert(rest.metrics);
    int r = tr_store_open(&(struct tr_store_conf){.url = "sqlite::memory:", .worker_id = "fuzz"},
                          &rest.st, &err);
    if (r >= 0)
        r = tr_store_migrate(rest.st, -1, &err);
    if (r < 0)
        (void)fprintf(stderr, "%s\n", err.msg);
    assert(r >= 0);
}

static void connect_judge(struct ctl *ctl)
{
    rest.judge = conn_new(ctl, NULL);
    rest.judge->kind = CONN_JUDGE;
    int r = judge_ws_open(rest.judge);
    assert(r == 0);
    struct judge *g = rest.judge->session;
    g->state = JUDGE_READY;
    (void)snprintf(g->judge_id, sizeof(g->judge_id), "j1");
    (void)snprintf(g->credential, sizeof(g->credential), "ts_j1");
}

struct ctl *rest_begin(void)
{
    struct ctl *ctl = &rest.ctl;
    struct tr_err err = TR_ERR_INIT;

    if (!rest.st)
        open_store();
    *ctl = (struct ctl){.conf = {.listen = "127.0.0.1:1",
                                 .controller_id = "fuzz",
                                 .heavy = "",
                                 .open_loopback = true,
                                 .heartbeat_us = 5000000,
                                 .grace_us = 1000000,
                                 .max_body = 1 << 20,
                                 .max_queue = 1000,
                                 .rate = 100},
                        .langs = {languages, sizeof(languages) / sizeof(languages[0])},
                        .data_fd = -1,
                        .one_writer = true};
    rest.last = &rest.first;
    int r = tr_loop_new(&ctl->loop, &err);
    ctl->keys = keys_new(ctl);
    ctl->judges = judges_new(ctl);
    ctl->metrics = rest.metrics;
    ctl->setaside = setaside_new(ctl);
    ctl->marks = marks_new(ctl);
    if (r >= 0)
        r = events_new(ctl, &ctl->events, &err);
    if (r >= 0)
        r = dispatch_new(ctl, &ctl->dispatch, &err);
    if (r >= 0)
        r = tr_store_begin(rest.st, &err);
    assert(r >= 0);
    connect_judge(ctl);
    return ctl;
}

void rest_end(struct ctl *ctl)
{
    rest_settle(ctl);
    rest.judge->gone(rest.judge);
    conn_free(rest.judge);
    rest_settle(ctl);
    tr_store_rollback(rest.st);
    keys_free(ctl->keys);
    judges_free(ctl->judges);
    marks_free(ctl->marks);
    setaside_free(ctl->setaside);
    tr_loop_free(ctl->loop);
    events_free(ctl->events);
    dispatch_free(ctl->dispatch);
}

void ctl_log_err(struct ctl *ctl, const struct tr_err *err)
{
    (void)ctl;
    (void)err;
}

/* ---------------------------------------------------------------- the database */

void storage_do(struct storage *s, struct op *op)
{
    (void)s;
    op->ctl = &rest.ctl;
    op->next = NULL;
    *rest.last = op;
    rest.last = &op->next;
}

void rest_settle(struct ctl *ctl)
{
    (void)ctl;
    while (rest.first) {
        struct op *op = rest.first;

        rest.first = op->next;
        if (!rest.first)
            rest.last = &rest.first;
        op->next = NULL;
        op->err = (struct tr_err)TR_ERR_INIT;
        /* one that makes its own transactions cannot be undone with the input */
        op->result = op->alone ? tr_fail(&op->err, TR_E_RETRY, 0, "not here")
                               : op->run(op, rest.st, &op->err);
        op->done(op);
    }
}

/* NOLINTBEGIN(misc-unused-parameters): stand-ins */
size_t storage_waiting(struct storage *s)
{
    return 0;
}

bool storage_alive(struct storage *s)
{
    return true;
}

/* ---------------------------------------------------------------- problems and pages */

const struct asset assets[] = {{.path = "openapi.json",
                                .type = "application/json",
                                .etag = "1",
                                .bytes = (const unsigned char *)"{}",
                                .len = 2}};
const size_t assets_count = 1;

const struct problem *problems_find(const struct problems *p, const char *id)
{
    return strcmp(id, problem.id) == 0 ? &problem : NULL;
}

size_t problems_count(const struct problems *p)
{
    return 1;
}

const struct problem *problems_at(const struct problems *p, size_t i)
{
    return &problem;
}

bool problem_id_ok(const char *id)
{
    return strcmp(id, problem.id) == 0;
}

void problems_rescan(struct problems *p, void (*fn)(void *arg, int changed), void *arg)
{
    fn(arg, 0);
}

void problems_put(struct problems *p, const char *id, int zip_fd, problem_put_fn fn, void *arg)
{
    struct tr_err err = TR_ERR_INIT;

    (void)close(zip_fd);
    fn(arg, tr_fail(&err, TR_E_PARSE, 0, "no archives here"), &err, "");
}

json_t *problem_json(struct ctl *ctl, const struct problem *p)
{
    return json_pack("{s:s}", "id", p->id);
}

json_t *problem_findings_json(const char *error, const char *findings)
{
    return json_array();
}

json_t *problem_versions_json(struct ctl *ctl, const struct problem *p)
{
    return json_array();
}

int problems_open_data(struct ctl *ctl, const char *sha256, uint64_t *ret_size, struct tr_err *err)
{
    if (strcmp(sha256, problem.data) != 0)
        return tr_fail(err, TR_E_NOTFOUND, 0, "there is no such archive");
    int fd = memfd_create("data", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, (off_t)problem.size) < 0)
        abort();
    *ret_size = problem.size;
    return fd;
}

/* ---------------------------------------------------------------- libwebsockets */

void rest_show(const struct rest_request *r)
{
    rest.request = r;
}

/* The value of a header, up to its line's end. */
static const char *find_header(const char *name, size_t len, size_t *ret_len)
{
    const char *at = rest.request ? rest.request->head : "";

    while (*at) {
        size_t line = strcspn(at, "\n");

        if (line > len + 1 && strncmp(at, name, len) == 0 && at[len] == ':') {
            size_t skip = len + 1 + (at[len + 1] == ' ');

            *ret_len = line - skip;
            return at + skip;
        }
        at += line + (at[line] == '\n');
    }
    *ret_len = 0;
    return NULL;
}

static const char *token(enum lws_token_indexes h, size_t *ret_len)
{
    static const struct {
        enum lws_token_indexes h;
        const char *name;
    } names[] = {
        {WSI_TOKEN_HTTP_AUTHORIZATION, "authorization"},
        {WSI_TOKEN_HTTP_IF_NONE_MATCH, "if-none-match"},
        {WSI_TOKEN_HTTP_IF_RANGE, "if-range"},
        {WSI_TOKEN_HTTP_RANGE, "range"},
        {WSI_TOKEN_HOST, "host"},
        {WSI_TOKEN_ORIGIN, "origin"},
        {WSI_TOKEN_HTTP_ACCEPT_ENCODING, "accept-encoding"},
        {WSI_TOKEN_HTTP_CONTENT_LENGTH, "content-length"},
        {WSI_TOKEN_HTTP_TRANSFER_ENCODING, "transfer-encoding"},
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (names[i].h == h)
            return find_header(names[i].name, strlen(names[i].name), ret_len);
    *ret_len = 0;
    return NULL;
}

static int copy(char *dst, int room, const char *text, size_t len)
{
    if (!text)
        return 0;
    if (len >= (size_t)room)
        return -1;
    memcpy(dst, text, len);
    dst[len] = '\0';
    return (int)len;
}

int lws_hdr_total_length(struct lws *wsi, enum lws_token_indexes h)
{
    size_t n;

    (void)token(h, &n);
    return (int)n;
}

int lws_hdr_copy(struct lws *wsi, char *dst, int len, enum lws_token_indexes h)
{
    size_t n;
    const char *text = token(h, &n);

    return copy(dst, len, text, n);
}

int lws_hdr_custom_length(struct lws *wsi, const char *name, int nlen)
{
    size_t n;

    return find_header(name, (size_t)nlen - 1, &n) ? (int)n : -1;
}

int lws_hdr_custom_copy(struct lws *wsi, char *dst, int len, const char *name, int nlen)
{
    size_t n;
    const char *text = find_header(name, (size_t)nlen - 1, &n);

    return text ? copy(dst, len, text, n) : -1;
}

int lws_hdr_copy_fragment(struct lws *wsi, char *dst, int len, enum lws_token_indexes h, int frag)
{
    const char *at = rest.request->query;

    for (; frag > 0 && *at; frag--) {
        at += strcspn(at, "&");
        at += *at == '&';
    }
    return *at ? copy(dst, len, at, strcspn(at, "&")) : -1;
}

int lws_http_get_uri_and_method(struct lws *wsi, char **puri_ptr, int *puri_len)
{
    static const char *const names[] = {"GET",   "POST",   "OPTIONS", "PUT",
                                        "PATCH", "DELETE", "CONNECT", "HEAD"};

    *puri_ptr = rest.request->path;
    *puri_len = (int)strlen(rest.request->path);
    for (int i = 0; i < 8; i++) /* the order of LWSHUMETH_* */
        if (strcmp(names[i], rest.request->method) == 0)
            return i;
    return -1;
}

int lws_http_transaction_completed(struct lws *wsi)
{
    return 0;
}

int lws_callback_on_writable(struct lws *wsi)
{
    return 0;
}

void lws_set_timer_usecs(struct lws *wsi, lws_usec_t us)
{
}

void lws_set_timeout(struct lws *wsi, enum pending_timeout reason, int secs)
{
}

const char *lws_get_peer_simple(struct lws *wsi, char *name, size_t namelen)
{
    (void)snprintf(name, namelen, "127.0.0.1");
    return name;
}

int lws_write(struct lws *wsi, unsigned char *buf, size_t len, enum lws_write_protocol protocol)
{
    tr_buf_add(&rest.written, buf, len);
    return (int)len;
}
/* NOLINTEND(misc-unused-parameters) */

const char *rest_written(size_t *ret_len)
{
    static struct tr_buf last;

    tr_buf_done(&last);
    last = rest.written;
    tr_buf_init(&rest.written, 64 << 20);
    *ret_len = last.len;
    return last.data ? last.data : "";
}
