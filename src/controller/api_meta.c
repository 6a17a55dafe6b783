/* SPDX-License-Identifier: MIT
 *
 * api_meta.c - about the controller itself: numbers, health, who am I, this document, the pages.
 */
#include <string.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "controller/api.h"
#include "controller/assets.h"
#include "controller/ctl.h"
#include "controller/judges.h"
#include "controller/metrics.h"

void api_stats(struct http_req *req)
{
    const char *said = http_query(req, "minutes");
    int64_t minutes = 10;

    if (said && tr_parse_i64(said, 1, 1440, &minutes, NULL) < 0) {
        reply_error(req, 422, "bad_field", "minutes", "minutes: expected 1 … 1440");
        return;
    }
    reply_json(req, 200, metrics_stats(req->ctl, (int)minutes));
}

void api_whoami(struct http_req *req)
{
    json_t *o =
        json_pack("{s:s, s:b}", "role", key_role_name(req->who.role), "open", (int)req->who.open);

    if (o && *req->who.key_id) {
        (void)json_object_set_new(o, "key_id", json_string(req->who.key_id));
        (void)json_object_set_new(o, "name", json_string(req->who.name));
    }
    reply_json(req, 200, o);
}

void api_healthz(struct http_req *req)
{
    reply_bytes(req, 200, "text/plain", "ok\n", 3);
}

void api_readyz(struct http_req *req)
{
    struct ctl *ctl = req->ctl;
    bool database = storage_alive(ctl->storage);
    size_t judges = judges_ready(ctl->judges);
    json_t *reasons = json_array();

    if (!database)
        (void)json_array_append_new(reasons, json_string("the database does not answer"));
    if (judges == 0)
        (void)json_array_append_new(reasons, json_string("no judge is connected"));
    if (ctl->stopping)
        (void)json_array_append_new(reasons, json_string("the controller stops"));
    bool ready = json_array_size(reasons) == 0;
    reply_json(req, ready ? 200 : 503,
               json_pack("{s:b, s:b, s:I, s:o}", "ready", (int)ready, "database", (int)database,
                         "judges", (json_int_t)judges, "reasons", reasons));
}

void api_metrics(struct http_req *req)
{
    TR_CLEANUP(tr_buf_done) struct tr_buf b;

    tr_buf_init(&b, 16 * 1024 * 1024);
    metrics_text(req->ctl, &b);
    if (b.failed)
        reply_error(req, 503, "not_ready", NULL, "out of memory");
    else
        reply_bytes(req, 200, "text/plain; version=0.0.4; charset=utf-8", b.data, b.len);
}

/* ---------------------------------------------------------------- files inside the program */

static const struct asset *find_asset(const char *path)
{
    for (size_t i = 0; i < assets_count; i++)
        if (strcmp(assets[i].path, path) == 0)
            return &assets[i];
    return NULL;
}

static void send_asset(struct http_req *req, const struct asset *a)
{
    char etag[48];
    bool gzip = a->gzip && req->accept_encoding && strstr(req->accept_encoding, "gzip");

    (void)snprintf(etag, sizeof(etag), "\"%s%s\"", a->etag, gzip ? "-gz" : "");
    reply_header(req, "ETag", etag);
    /* names with a hash in them never change; the rest is asked for again and is mostly a 304 */
    reply_header(req, "Cache-Control",
                 strncmp(a->path, "assets/", 7) == 0 ? "public, max-age=31536000, immutable"
                                                     : "no-cache");
    if (a->gzip)
        reply_header(req, "Vary", "Accept-Encoding");
    if (req->if_none_match && strstr(req->if_none_match, etag)) {
        reply_bytes(req, 304, NULL, "", 0);
        return;
    }
    if (gzip)
        reply_header(req, "Content-Encoding", "gzip");
    reply_bytes(req, 200, a->type, gzip ? a->gzip : a->bytes, gzip ? a->gzip_len : a->len);
}

void api_openapi(struct http_req *req)
{
    send_asset(req, find_asset("openapi.json"));
}

static const char plain_page[] =
    "<!doctype html><meta charset=utf-8><title>Tribunal</title>"
    "<h1>Tribunal</h1><p>The controller runs; this build has no pages.</p>"
    "<p>The API: <a href=/api/v1/openapi.json>/api/v1/openapi.json</a>, "
    "<a href=/readyz>/readyz</a>, <a href=/metrics>/metrics</a>.</p>\n";

/* Everything that is no API: a file of the pages, or the page itself, which reads the address. */
void api_asset(struct http_req *req)
{
    const char *path = req->path + (*req->path == '/');
    const struct asset *a = *path ? find_asset(path) : NULL;
    /* /favicon.ico and /assets/x.js are files; /problems/a.b is a page: ids may have dots */
    bool file = strncmp(path, "assets/", 7) == 0 || (!strchr(path, '/') && strchr(path, '.'));

    if (!a && file) {
        reply_error(req, 404, "not_found", NULL, "there is nothing at this address");
        return;
    }
    reply_header(req, "Content-Security-Policy",
                 "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
                 "font-src 'self'; connect-src 'self'; manifest-src 'self'; base-uri 'none'; "
                 "form-action 'self'; frame-ancestors 'none'");
    reply_header(req, "Referrer-Policy", "no-referrer");
    if (!a)
        a = find_asset("index.html");
    if (a)
        send_asset(req, a);
    else
        reply_bytes(req, 200, "text/html; charset=utf-8", plain_page, sizeof(plain_page) - 1);
}
