/* SPDX-License-Identifier: MIT
 *
 * http.c - requests as they come in: headers, role, body under its ceiling, then the handler.
 *
 * Refuses as early as it can: nobody without the right role gets to upload, and a body that is too
 * large is refused by its Content-Length before a byte of it is read.
 */
#include "controller/http.h"

#include <fcntl.h>
#include <libwebsockets.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/parse.h"
#include "controller/ctl.h"
#include "controller/door.h"
#include "controller/judges.h"
#include "controller/route.h"

enum {
    GET_BODY_MAX = 4096 /* nobody looks at it; some clients send one */
};
#define LATE_US (10 * LWS_USEC_PER_SEC)
#define LOOK_US LWS_USEC_PER_SEC

struct http_req *http_hold(struct http_req *req)
{
    req->refs++;
    return req;
}

void http_release(struct http_req *req)
{
    if (--req->refs > 0)
        return;
    tr_arena_done(&req->arena);
    tr_buf_done(&req->body);
    tr_buf_done(&req->head);
    tr_close(&req->body_fd);
    tr_close(&req->file_fd);
    note_unref(req->note);
    free(req);
}

const char *http_query(const struct http_req *req, const char *name)
{
    for (size_t i = 0; i < req->nquery; i++)
        if (strcmp(req->query[i].name, name) == 0)
            return req->query[i].value;
    return NULL;
}

static const char *header(struct http_req *req, enum lws_token_indexes which)
{
    int n = lws_hdr_total_length(req->conn->wsi, which);
    char *text = n > 0 ? tr_arena_alloc(&req->arena, (size_t)n + 1) : NULL;

    if (!text || lws_hdr_copy(req->conn->wsi, text, n + 1, which) < 0)
        return NULL;
    return text;
}

static const char *custom_header(struct http_req *req, const char *name)
{
    int len = (int)strlen(name);
    int n = lws_hdr_custom_length(req->conn->wsi, name, len);
    char *text = n > 0 ? tr_arena_alloc(&req->arena, (size_t)n + 1) : NULL;

    if (!text || lws_hdr_custom_copy(req->conn->wsi, text, n + 1, name, len) < 0)
        return NULL;
    return text;
}

static bool read_query(struct http_req *req)
{
    char piece[4096];
    int n;

    for (int i = 0; (n = lws_hdr_copy_fragment(req->conn->wsi, piece, sizeof(piece),
                                               WSI_TOKEN_HTTP_URI_ARGS, i)) > 0;
         i++) {
        if (req->nquery == HTTP_QUERY_MAX)
            return false;
        char *copy = tr_arena_strndup(&req->arena, piece, (size_t)n);
        if (!copy)
            return false;
        char *eq = strchr(copy, '=');
        if (eq)
            *eq = '\0';
        req->query[req->nquery++] = (struct http_param){copy, eq ? eq + 1 : ""};
    }
    return true;
}

/* "/a/b" into "a", "b". */
static bool split_path(struct http_req *req, const char *path)
{
    req->path = tr_arena_strdup(&req->arena, path);
    char *rest = req->path ? tr_arena_strdup(&req->arena, path + (*path == '/')) : NULL;

    while (rest && *rest) {
        if (req->nparts == HTTP_PARTS_MAX)
            return false;
        req->parts[req->nparts++] = rest;
        rest = strchr(rest, '/');
        if (rest)
            *rest++ = '\0';
    }
    return req->path != NULL;
}

static void read_headers(struct http_req *req)
{
    req->authorization = header(req, WSI_TOKEN_HTTP_AUTHORIZATION);
    req->if_none_match = header(req, WSI_TOKEN_HTTP_IF_NONE_MATCH);
    req->if_range = header(req, WSI_TOKEN_HTTP_IF_RANGE);
    req->range = header(req, WSI_TOKEN_HTTP_RANGE);
    req->here = door_open(req->conn);
    req->accept_encoding = header(req, WSI_TOKEN_HTTP_ACCEPT_ENCODING);
    req->idempotency_key = custom_header(req, "idempotency-key:");
    req->last_event_id = custom_header(req, "last-event-id:");
}

static const char *method_of(struct lws *wsi, char **ret_uri, int *ret_len)
{
    switch (lws_http_get_uri_and_method(wsi, ret_uri, ret_len)) {
    case LWSHUMETH_GET:
        return "GET";
    case LWSHUMETH_POST:
        return "POST";
    case LWSHUMETH_PUT:
        return "PUT";
    case LWSHUMETH_PATCH:
        return "PATCH";
    case LWSHUMETH_DELETE:
        return "DELETE";
    case LWSHUMETH_OPTIONS:
        return "OPTIONS";
    case LWSHUMETH_HEAD:
        return "HEAD";
    default:
        return NULL;
    }
}

static struct http_req *new_request(struct conn *c)
{
    struct http_req *req = calloc(1, sizeof(*req));

    if (!req)
        return NULL;
    req->ctl = c->ctl;
    req->conn = c;
    req->refs = 1;
    req->body_fd = -1;
    req->file_fd = -1;
    tr_arena_init(&req->arena, HTTP_ARENA_MAX);
    tr_buf_init(&req->head, 8192);
    tr_buf_init(&req->body, c->ctl->conf.max_body);
    return req;
}

/* 0: go on; KEY_UNKNOWN: only the next copy of the keys can tell; else it was refused. */
static int check_role(struct http_req *req)
{
    const struct route *r = req->route;

    if (r->flags & ROUTE_SESSION) {
        if (judges_credential(req->ctl, req->authorization))
            return 0;
        reply_error(req, 401, "bad_credential", NULL,
                    "this needs the credential of a live session");
        return -1;
    }
    if (req->here && !req->authorization) {
        req->who = (struct key_who){.role = ROLE_ADMIN, .name = "loopback", .open = true};
    } else {
        enum key_answer a = keys_who(req->ctl->keys, req->authorization, &req->who);
        if (a == KEY_UNKNOWN)
            return KEY_UNKNOWN;
        if (a == KEY_WRONG && r->role != ROLE_NONE) {
            reply_header(req, "WWW-Authenticate", "Bearer");
            reply_error(req, 401, "bad_key", NULL,
                        "send 'Authorization: Bearer KEY' with a key from 'tribunal keys new'");
            return -1;
        }
    }
    if (req->who.role < r->role) {
        reply_error(req, 403, "forbidden", NULL, "this needs the role '%s', and this key has '%s'",
                    key_role_name(r->role), key_role_name(req->who.role));
        return -1;
    }
    return 0;
}

static bool within_rate(struct http_req *req)
{
    int wait = keys_rate(req->ctl->keys, &req->who);
    char seconds[16];

    if (wait == 0)
        return true;
    (void)snprintf(seconds, sizeof(seconds), "%d", wait);
    reply_header(req, "Retry-After", seconds);
    reply_error(req, 429, "too_many_requests", NULL, "this key asks too often; again in %d s",
                wait);
    return false;
}

static void dispatch(struct http_req *req)
{
    if (req->route->role == ROLE_NONE || (req->route->flags & ROUTE_SESSION) || within_rate(req))
        req->route->handle(req);
}

static void refuse_unknown(struct http_req *req)
{
    reply_error(req, 401, "bad_key", NULL, "there is no such key, or it was revoked");
}

static void after_refresh(void *arg)
{
    struct http_req *req = arg;

    if (req->conn) {
        int r = check_role(req);

        if (r == KEY_UNKNOWN) /* not in the fresh copy either */
            refuse_unknown(req);
        else if (r == 0)
            dispatch(req);
    }
    http_release(req);
}

static void run(struct http_req *req)
{
    lws_set_timeout(req->conn->wsi, NO_PENDING_TIMEOUT, 0);
    int r = check_role(req);

    if (r == KEY_UNKNOWN)
        keys_refreshed(req->ctl->keys, after_refresh, http_hold(req));
    else if (r == 0)
        dispatch(req);
    if (!req->replied && req->conn)
        lws_set_timer_usecs(req->conn->wsi, LATE_US);
}

/* Nobody is kept waiting for a database that does not answer. What was asked may still happen. */
int http_late(struct conn *c)
{
    struct http_req *req = c->req;

    if (!req || req->replied)
        return 0;
    if (!req->gone && !storage_alive(req->ctl->storage)) {
        reply_header(req, "Retry-After", "5");
        reply_error(req, 503, "not_ready", NULL,
                    "the database does not answer; this may or may not have been stored, so send "
                    "it again with the same idempotency key");
    } else {
        lws_set_timer_usecs(c->wsi, LOOK_US);
    }
    return 0;
}

static int64_t body_max(const struct http_req *req)
{
    if (strcmp(req->route->method, "GET") == 0)
        return GET_BODY_MAX;
    if (req->route->flags & ROUTE_UPLOAD)
        return CTL_UPLOAD_MAX;
    return req->route->flags & ROUTE_LOG ? CTL_LOG_MAX : (int64_t)req->ctl->conf.max_body;
}

static bool in_chunks(const struct http_req *req)
{
    return lws_hdr_total_length(req->conn->wsi, WSI_TOKEN_HTTP_TRANSFER_ENCODING) > 0;
}

/* How much may follow a request that is refused: what Content-Length says, or nobody knows. */
static int64_t said_length(struct http_req *req)
{
    const char *said = header(req, WSI_TOKEN_HTTP_CONTENT_LENGTH);
    int64_t n = 0;

    if (in_chunks(req) || (said && tr_parse_i64(said, 0, INT64_MAX, &n, NULL) < 0))
        return INT64_MAX;
    return n;
}

/* How long the body is; -1 when the request was refused. */
static int64_t body_length(struct http_req *req)
{
    const char *said = header(req, WSI_TOKEN_HTTP_CONTENT_LENGTH);
    uint64_t n = 0;

    if (in_chunks(req)) {
        reply_error(req, 411, "bad_field", "Content-Length", "send a Content-Length, not chunks");
        return -1;
    }
    if (said && tr_parse_u64(said, 0, INT64_MAX, &n, NULL) < 0) {
        reply_error(req, 400, "bad_field", "Content-Length", "this is no length");
        return -1;
    }
    if ((int64_t)n > body_max(req)) {
        reply_error(req, 413, "too_large", NULL, "the body has %llu bytes; at most %lld are taken",
                    (unsigned long long)n, (long long)body_max(req));
        return -1;
    }
    return (int64_t)n;
}

/* An upload goes to a file without a name in our own folder, not to memory. */
static bool open_upload(struct http_req *req)
{
    req->body_fd = openat(req->ctl->data_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (req->body_fd < 0)
        reply_error(req, 500, "internal", NULL, "no room for the upload");
    return req->body_fd >= 0;
}

/* The fresh copy of the keys is there and the body is not: who is still unknown sends no more. */
static void refuse_sender(void *arg)
{
    struct http_req *req = arg;

    if (req->conn && !req->replied && req->body_left > 0) {
        req->closing = true;
        int r = check_role(req);
        if (r == KEY_UNKNOWN)
            refuse_unknown(req);
        else if (r == 0)
            req->closing = false;
    }
    http_release(req);
}

/* Who may not ask may not fill our memory or disk either. */
static bool may_send(struct http_req *req)
{
    bool upload = req->route->flags & ROUTE_UPLOAD;
    int r = check_role(req);

    if (r == KEY_UNKNOWN && upload)
        reply_error(req, 401, "bad_key", NULL,
                    "there is no such key; one made just now works in a second");
    else if (r == KEY_UNKNOWN)
        keys_refreshed(req->ctl->keys, refuse_sender, http_hold(req));
    if (r < 0 || req->replied)
        return false;
    return !upload || open_upload(req);
}

static void refuse_path(struct http_req *req, const char *allow)
{
    if (*allow) {
        reply_header(req, "Allow", allow);
        reply_error(req, 405, "wrong_method", NULL, "this address takes %s", allow);
    } else {
        reply_error(req, 404, "not_found", NULL, "there is nothing at this address");
    }
}

static bool start(struct http_req *req)
{
    char allow[64] = "", *uri = NULL;
    int len = 0;
    const char *method = method_of(req->conn->wsi, &uri, &len);
    char path[1024];

    if (!method || len >= (int)sizeof(path)) {
        reply_error(req, 414, "bad_field", "path", "this address is too long");
        return false;
    }
    (void)snprintf(path, sizeof(path), "%.*s", len, uri);
    req->head_only = strcmp(method, "HEAD") == 0;
    req->method = req->head_only ? "GET" : method;
    if (!split_path(req, path) || !read_query(req)) {
        reply_error(req, 400, "bad_field", "path", "this address has too many parts");
        return false;
    }
    read_headers(req);
    req->route = route_find(req, allow);
    if (!req->route)
        refuse_path(req, allow);
    return req->route != NULL;
}

int http_begin(struct conn *c)
{
    if (c->req) /* lws begins no request before the last was answered */
        return -1;
    struct http_req *req = c->req = new_request(c);

    if (!req)
        return -1;
    req->closing = true; /* should it be refused: a body may follow that nobody wants */
    int64_t n = start(req) ? body_length(req) : -1;
    req->body_left = n < 0 ? said_length(req) : n;
    if (n < 0 || (n > 0 && !may_send(req)))
        return 0;
    req->closing = false;
    if (n == 0)
        run(req);
    return 0;
}

int http_body(struct conn *c, const void *bytes, size_t len)
{
    struct http_req *req = c->req;
    struct tr_err err = TR_ERR_INIT;

    if (!req)
        return 0;
    bool refused = req->replied && req->closing;
    if ((int64_t)len > req->body_left && !refused)
        return -1;
    req->body_left -= (int64_t)len < req->body_left ? (int64_t)len : req->body_left;
    if (req->replied) /* read on a little, or the client never sees the answer */
        return req->drained && req->body_left == 0 ? -1 : 0;
    req->body_bytes += len;
    if (req->body_fd < 0) {
        tr_buf_add(&req->body, bytes, len);
    } else if (tr_fs_write_all(req->body_fd, bytes, len, &err) < 0) {
        req->closing = true;
        reply_failure(req, NULL, &err);
    }
    return 0;
}

int http_body_end(struct conn *c)
{
    struct http_req *req = c->req;
    struct tr_err err = TR_ERR_INIT;

    if (req && req->replied && req->drained)
        return -1;
    if (!req || req->replied || req->body_bytes == 0)
        return 0;
    if (req->body_fd < 0 && tr_buf_check(&req->body, "the body", &err) < 0)
        reply_failure(req, NULL, &err);
    else
        run(req);
    return 0;
}

void http_gone(struct conn *c)
{
    struct http_req *req = c->req;

    if (!req)
        return;
    c->req = NULL;
    req->conn = NULL;
    if (req->gone)
        req->gone(req);
    http_release(req);
}
