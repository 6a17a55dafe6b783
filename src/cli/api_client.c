/* SPDX-License-Identifier: MIT
 *
 * api_client.c - see api_client.h.
 */
#include "cli/api_client.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "codec/json.h"
#include "net/url.h"

enum {
    ANSWER_MAX = 64 * 1024 * 1024
};

int api_open(struct api *a, const struct api_options *o, struct tr_err *err)
{
    int64_t us = o->timeout_us ? o->timeout_us : 90000000;
    const struct tr_http_conf conf = {.stall_us = us, .timeout_us = us, .ca_file = o->ca};

    *a = (struct api){.server = o->server};
    if (strncmp(o->server, "http://", 7) != 0 && strncmp(o->server, "https://", 8) != 0)
        return tr_fail(err, TR_E_USAGE, 0,
                       "--server '%.80s': expected an address such as http://127.0.0.1:8080",
                       o->server);
    if (o->key)
        (void)snprintf(a->authorization, sizeof(a->authorization), "Authorization: Bearer %.*s",
                       (int)strcspn(o->key, "\r\n"), o->key);
    return tr_http_new(&conf, &a->http, err);
}

/* The key that `tribunal serve` left in this folder is for the server on this machine, and for
 * nobody else: whoever gets it is admin here. */
static bool is_here(const char *server)
{
    struct tr_url url;

    return tr_url_parse(server, strlen(server), &url, NULL) >= 0 &&
           (!strcmp(url.host, "127.0.0.1") || !strcmp(url.host, "localhost") ||
            !strcmp(url.host, "[::1]"));
}

int api_open_by(struct api *a, const struct api_options *o, struct tr_err *err)
{
    TR_CLEANUP(tr_buf_done) struct tr_buf found;
    struct api_options with = *o;

    tr_buf_init(&found, 4096);
    if (!o->key && is_here(o->server) &&
        tr_fs_read_file("tribunal-data/admin.key", &found, NULL) >= 0)
        with.key = found.data;
    return api_open(a, &with, err);
}

void api_close(struct api *a)
{
    tr_http_free(a->http);
    a->http = NULL;
}

static int take(void *arg, const void *bytes, size_t len, struct tr_err *err)
{
    struct tr_buf *b = arg;

    tr_buf_add(b, bytes, len);
    return tr_buf_check(b, "the answer", err);
}

/* {"error": {"message": …}} as one of our own. */
static int refused(const struct api *a, const struct tr_http_reply *reply, struct tr_err *err)
{
    TR_CLEANUP(tr_json_unrefp) json_t *j = json_loadb(reply->problem, reply->problem_len, 0, NULL);
    const char *said = json_string_value(json_object_get(json_object_get(j, "error"), "message"));

    if (reply->status == 401) /* its sentence is for those who write requests */
        said = "the key is missing, unknown or revoked; give one with --key-file FILE or --key KEY "
               "('tribunal keys new' makes one)";
    int code = reply->status == 401 || reply->status == 403 ? TR_E_DENIED
               : reply->status == 404                       ? TR_E_NOTFOUND
               : tr_http_status_is_passing(reply->status)   ? TR_E_RETRY
                                                            : TR_E_USAGE;

    return tr_fail(err, code, 0, "%.80s answers %d: %.300s", a->server, reply->status,
                   said ? said : "no reason given");
}

static int exchange(struct api *a, const char *path, const char *type, struct tr_http_request req,
                    json_t **ret, struct tr_err *err)
{
    TR_CLEANUP(tr_buf_done) struct tr_buf answer;
    char url[2048];
    const char *headers[] = {type, a->authorization};
    const struct tr_http_sink sink = {.bytes = take, .arg = &answer};
    struct tr_http_reply reply = {0};

    tr_buf_init(&answer, ANSWER_MAX);
    size_t end = strlen(a->server);
    while (end > 0 && a->server[end - 1] == '/')
        end--;
    (void)snprintf(url, sizeof(url), "%.*s%s", (int)end, a->server, path);
    req.url = url;
    req.headers = headers;
    req.nheaders = *a->authorization ? 2 : 1;
    req.max_bytes = ANSWER_MAX;
    req.sink = &sink;
    int r = tr_http_exchange(a->http, &req, &reply, err);
    if (r < 0)
        return r;
    if (reply.status < 200 || reply.status > 299)
        return refused(a, &reply, err);
    r = tr_json_parse(answer.data ? answer.data : "", answer.len, ANSWER_MAX, ret, err);
    return r < 0 ? r : reply.status;
}

int api_ask(struct api *a, const char *method, const char *path, const json_t *body, json_t **ret,
            struct tr_err *err)
{
    tr_autofree char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
    struct tr_http_request req = {.method = method,
                                  .body = text ? text : "",
                                  .body_len = text ? strlen(text) : 0,
                                  .body_fd = -1};

    return exchange(a, path, "Content-Type: application/json", req, ret, err);
}

int api_upload(struct api *a, const char *path, int fd, uint64_t size, json_t **ret,
               struct tr_err *err)
{
    struct tr_http_request req = {.method = "PUT", .body_fd = fd, .body_size = size};

    return exchange(a, path, "Content-Type: application/zip", req, ret, err);
}
