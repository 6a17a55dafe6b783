/* SPDX-License-Identifier: MIT
 *
 * reply.c - answers: JSON, bytes, errors, parts of files, streams.
 *
 * The head is written by us and not by libwebsockets, which would add its own name and knows
 * nothing of ranges.
 */
#include <errno.h>
#include <inttypes.h>
#include <libwebsockets.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "controller/ctl.h"
#include "controller/http.h"
#include "controller/metrics.h"
#include "controller/route.h"

static const char *status_text(int status)
{
    static const struct {
        int status;
        const char *text;
    } rows[] = {
        {200, "OK"},
        {201, "Created"},
        {202, "Accepted"},
        {204, "No Content"},
        {206, "Partial Content"},
        {304, "Not Modified"},
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {409, "Conflict"},
        {411, "Length Required"},
        {413, "Content Too Large"},
        {414, "URI Too Long"},
        {416, "Range Not Satisfiable"},
        {422, "Unprocessable Content"},
        {429, "Too Many Requests"},
        {500, "Internal Server Error"},
        {503, "Service Unavailable"},
    };

    for (size_t i = 0; i < TR_ARRAY_LEN(rows); i++)
        if (rows[i].status == status)
            return rows[i].text;
    return "Unknown";
}

void reply_header(struct http_req *req, const char *name, const char *value)
{
    tr_buf_addf(&req->head, "%s: %s\r\n", name, value);
}

/* Put the status line before the headers that are there, and let the client have it. */
static void send_head(struct http_req *req, int status, const char *type, int64_t length)
{
    struct tr_buf all;

    tr_buf_init(&all, 16 * 1024);
    tr_buf_addf(&all, "HTTP/1.1 %d %s\r\n", status, status_text(status));
    if (type)
        tr_buf_addf(&all, "Content-Type: %s\r\n", type);
    if (length >= 0)
        tr_buf_addf(&all, "Content-Length: %" PRId64 "\r\n", length);
    tr_buf_adds(&all, "X-Content-Type-Options: nosniff\r\n");
    if (req->closing || !req->conn)
        tr_buf_adds(&all, "Connection: close\r\n");
    if (req->head.len)
        tr_buf_add(&all, req->head.data, req->head.len);
    tr_buf_adds(&all, "\r\n");
    tr_buf_done(&req->head);
    req->head = all;
    req->status = status;
    req->replied = true;
    metrics_http(req->ctl, req->route ? req->route->pattern : "none", status);
    if (req->conn)
        (void)lws_callback_on_writable(req->conn->wsi);
}

void reply_bytes(struct http_req *req, int status, const char *type, const void *bytes, size_t len)
{
    if (req->replied)
        return;
    req->note = note_new(bytes, len);
    if (!req->note) { /* the head alone needs little */
        send_head(req, 500, NULL, 0);
        return;
    }
    send_head(req, status, type, (int64_t)len);
}

void reply_json(struct http_req *req, int status, json_t *doc)
{
    tr_autofree char *text = doc ? json_dumps(doc, JSON_COMPACT) : NULL;
    static const char none[] = "{\"error\":{\"code\":\"internal\",\"message\":\"out of memory\"}}";

    json_decref(doc);
    if (text)
        reply_bytes(req, status, "application/json", text, strlen(text));
    else
        reply_bytes(req, 500, "application/json", none, sizeof(none) - 1);
}

json_t *error_json(const char *code, const char *field, const char *message)
{
    /* s? leaves a null behind where the field is absent; %s* drops it */
    return json_pack("{s:{s:s, s:s, s:s*}}", "error", "code", code, "message", message, "field",
                     field);
}

void reply_error(struct http_req *req, int status, const char *code, const char *field,
                 const char *fmt, ...)
{
    char message[1024];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(message, sizeof(message), fmt, ap);
    va_end(ap);
    reply_json(req, status, error_json(code, field, message));
}

void reply_failure(struct http_req *req, const char *field, const struct tr_err *err)
{
    switch (err->code) {
    case TR_E_NOTFOUND:
        reply_error(req, 404, "not_found", field, "%s", err->msg);
        return;
    case TR_E_LIMIT:
        reply_error(req, field ? 422 : 413, field ? "bad_field" : "too_large", field, "%s",
                    err->msg);
        return;
    case TR_E_EXISTS:
    case TR_E_LOST:
        reply_error(req, 409, "conflict", field, "%s", err->msg);
        return;
    default:
        break;
    }
    if (tr_err_class(err->code) == TR_E_USAGE) {
        reply_error(req, 422, "bad_field", field, "%s", err->msg);
    } else if (tr_err_class(err->code) == TR_E_RETRY || err->code == TR_E_UNSURE) {
        reply_header(req, "Retry-After", "1");
        reply_error(req, 503, "not_ready", NULL, "%s", err->msg);
    } else {
        ctl_log_err(req->ctl, err); /* a client learns that, not what of our machine */
        reply_error(req, 500, "internal", NULL, "the controller failed; its log says why");
    }
}

void reply_stream(struct http_req *req, const char *type)
{
    req->streaming = true;
    req->closing = true;
    reply_header(req, "Cache-Control", "no-store");
    reply_header(req, "X-Accel-Buffering", "no"); /* proxies: pass it on as it comes */
    send_head(req, 200, type, -1);
}

/* ---------------------------------------------------------------- files */

/* "bytes=a-b", "a-", "-n". 1: a part; 0: no Range, or one we need not obey; -1: outside. */
static int parse_range(const char *text, int64_t size, int64_t *ret_at, int64_t *ret_len)
{
    char from[24] = "", to[24] = "";
    int64_t a = 0, b = 0;

    if (!text || sscanf(text, "bytes=%20[0-9]-%20[0-9]", from, to) < 1) {
        if (!text || sscanf(text, "bytes=-%20[0-9]", to) != 1)
            return 0;
        if (tr_parse_i64(to, 0, INT64_MAX, &b, NULL) < 0 || strchr(text, ','))
            return 0;
        if (b == 0 || size == 0)
            return -1;
        *ret_len = b < size ? b : size;
        *ret_at = size - *ret_len;
        return 1;
    }
    if (strchr(text, ',') || tr_parse_i64(from, 0, INT64_MAX, &a, NULL) < 0)
        return 0;
    if (a >= size)
        return -1;
    if (!*to)
        b = size - 1;
    else if (tr_parse_i64(to, 0, INT64_MAX, &b, NULL) < 0 || b < a)
        return 0;
    *ret_at = a;
    *ret_len = (b < size ? b + 1 : size) - a;
    return 1;
}

void reply_file(struct http_req *req, int fd, uint64_t size, const char *type, const char *etag)
{
    char text[128];
    int64_t at = 0, len = (int64_t)size;

    req->file_fd = fd;
    if (etag) {
        (void)snprintf(text, sizeof(text), "\"%s\"", etag);
        reply_header(req, "ETag", text);
        if (req->if_none_match && strstr(req->if_none_match, text)) {
            send_head(req, 304, NULL, -1);
            return;
        }
        if (req->if_range && strcmp(req->if_range, text) != 0)
            req->range = NULL; /* another version: all of it */
    }
    reply_header(req, "Accept-Ranges", "bytes");
    int part = parse_range(req->range, (int64_t)size, &at, &len);
    if (part < 0) {
        (void)snprintf(text, sizeof(text), "bytes */%" PRIu64, size);
        reply_header(req, "Content-Range", text);
        reply_error(req, 416, "bad_field", "Range", "the file has %" PRIu64 " bytes", size);
        return;
    }
    if (part > 0) {
        (void)snprintf(text, sizeof(text), "bytes %" PRId64 "-%" PRId64 "/%" PRIu64, at,
                       at + len - 1, size);
        reply_header(req, "Content-Range", text);
    }
    req->file_at = at;
    req->file_left = len;
    send_head(req, part > 0 ? 206 : 200, type, len);
}

/* ---------------------------------------------------------------- writing */

enum {
    DRAIN_S = 3,  /* how long the rest of a refused body is read */
    STALL_S = 30, /* who takes nothing of its answer for so long is hung up on */
    CHUNK = 16 * 1024
};

static int write_now(struct conn *c, unsigned char *bytes, size_t len)
{
    return len == 0 || lws_write(c->wsi, bytes, len, LWS_WRITE_HTTP) >= (int)len ? 0 : -1;
}

static int write_head(struct conn *c, struct http_req *req)
{
    unsigned char room[LWS_PRE + CHUNK];
    size_t n = req->head.len;

    req->head_sent = true;
    if (req->head.failed || n > CHUNK)
        return -1;
    memcpy(room + LWS_PRE, req->head.data, n);
    if (req->note && !req->head_only && req->note->len <= CHUNK - n) { /* most: one write */
        memcpy(room + LWS_PRE + n, req->note->bytes, req->note->len);
        n += req->note->len;
        note_unref(req->note);
        req->note = NULL;
    }
    if (req->head_only) {
        note_unref(req->note);
        req->note = NULL;
        req->file_left = 0;
    }
    return write_now(c, room + LWS_PRE, n);
}

static int write_file(struct conn *c, struct http_req *req)
{
    unsigned char room[LWS_PRE + CHUNK];
    size_t want = sizeof(room) - LWS_PRE;

    if ((int64_t)want > req->file_left)
        want = (size_t)req->file_left;
    ssize_t n = pread(req->file_fd, room + LWS_PRE, want, req->file_at);
    if (n <= 0)
        return -1; /* cut off: the client sees a short body and tries again */
    req->file_at += n;
    req->file_left -= n;
    return write_now(c, room + LWS_PRE, (size_t)n);
}

static int finish(struct conn *c)
{
    struct http_req *req = c->req;
    bool closing = req->closing;

    c->req = NULL;
    req->conn = NULL;
    http_release(req);
    return closing || lws_http_transaction_completed(c->wsi) ? -1 : 0;
}

/* There is more to write. Streams are watched by how far they are behind. */
static void ask_again(struct conn *c, const struct http_req *req)
{
    if (!req->streaming)
        lws_set_timeout(c->wsi, PENDING_TIMEOUT_HTTP_CONTENT, STALL_S);
    (void)lws_callback_on_writable(c->wsi);
}

int http_writeable(struct conn *c)
{
    struct http_req *req = c->req;

    if (!req || !req->replied)
        return 0;
    if (!req->head_sent) {
        if (write_head(c, req) < 0 || (req->streaming && req->head_only))
            return -1;
    } else if (req->note) {
        struct note *n = req->note;

        req->note = NULL;
        conn_send(c, n);
        if (conn_flush(c) < 0)
            return -1;
    } else if (req->file_left > 0) {
        if (write_file(c, req) < 0)
            return -1;
    } else if (conn_pending(c)) {
        if (conn_flush(c) < 0)
            return -1;
    }
    if (req->note || req->file_left > 0 || conn_pending(c)) {
        ask_again(c, req);
        return 0;
    }
    if (req->streaming)
        return c->close_code ? -1 : 0;
    if (req->closing && req->body_left > 0 && !req->drained) {
        /* Closing on somebody who still sends resets the connection before the answer is read. */
        req->drained = true;
        lws_set_timeout(c->wsi, PENDING_TIMEOUT_HTTP_CONTENT, DRAIN_S);
        return 0;
    }
    return req->drained ? 0 : finish(c);
}
