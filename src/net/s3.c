/* SPDX-License-Identifier: MIT
 *
 * s3.c - make the request, sign it, send it, say what the answer means.
 *
 * The payload is always hashed and the hash is signed: over plain http an unsigned body could be
 * changed on its way. Only path style (endpoint/bucket/key): MinIO and Ceph serve it everywhere,
 * and a bucket with dots would break certificates otherwise.
 */
#include "net/s3.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "codec/sha256.h"
#include "net/http_get.h"
#include "net/s3_xml.h"
#include "net/sigv4.h"
#include "net/url.h"

enum {
    REQUEST_TEXT_MAX = 16 * 1024, /* address, or one header */
    PRESIGN_MAX_S = 7 * 24 * 3600,
    LIST_PAGES_MAX = 100000, /* at 1,000 keys each; a server that never ends is broken */
    HEADERS_MAX = 6
};

struct tr_s3 {
    struct tr_http *http;
    struct tr_sigv4_key key;
    char *origin; /* "http://host:port" */
    char *host;   /* "host:port" as the Host header has it */
    char *prefix; /* path of the endpoint without a slash at its end, "" mostly */
    char *access, *secret, *token, *region;
    int page_keys;
};

/* One request; lives through its tries. */
struct call {
    struct tr_s3 *s;
    const char *method;
    const char *bucket;
    const char *key; /* or NULL */
    const char *content_type;
    char hash[TR_SHA256_HEX];
    struct tr_buf path;
    struct tr_buf query;
    struct tr_buf url;
    /* the headers of the current try */
    struct tr_buf text[HEADERS_MAX];
    const char *lines[HEADERS_MAX];
};

static int endpoint_parts(struct tr_s3 *s, const char *endpoint, struct tr_err *err)
{
    struct tr_url u;
    int r = tr_url_parse(endpoint, strlen(endpoint), &u, err);

    if (r < 0)
        return tr_fail_wrap(err, "the S3 endpoint");
    if ((u.scheme != TR_URL_HTTP && u.scheme != TR_URL_HTTPS) || strchr(u.path, '?'))
        return tr_fail(err, TR_E_USAGE, 0,
                       "the S3 endpoint '%.128s': expected http://HOST:PORT or https://HOST",
                       endpoint);
    size_t len = strlen(u.path);
    while (len > 0 && u.path[len - 1] == '/')
        u.path[--len] = '\0';
    bool https = u.scheme == TR_URL_HTTPS;
    bool usual = u.port == (https ? 443 : 80); /* curl leaves it out of Host too */
    char port[16] = "";
    if (!usual)
        (void)snprintf(port, sizeof(port), ":%d", u.port);
    if (asprintf(&s->host, "%s%s", u.host, port) < 0)
        s->host = NULL;
    if (asprintf(&s->origin, "http%s://%s%s", https ? "s" : "", u.host, port) < 0)
        s->origin = NULL;
    s->prefix = strdup(u.path);
    return s->host && s->origin && s->prefix ? 0 : tr_fail(err, TR_E_NOMEM, 0, "out of memory");
}

/* A header made of a text with a line break would be two headers. */
static int check_setting(const char *name, const char *value, struct tr_err *err)
{
    for (const char *c = value; *c; c++) {
        if ((unsigned char)*c <= 0x20 || *c == 0x7f)
            return tr_fail(err, TR_E_USAGE, 0, "the S3 %s holds a blank or a control character",
                           name);
    }
    return 0;
}

static int check_settings(const struct tr_s3_conf *conf, struct tr_err *err)
{
    if (!conf->endpoint || !conf->access_key || !conf->secret_key)
        return tr_fail(err, TR_E_USAGE, 0,
                       "S3 needs an endpoint, an access key and a secret key; one is not set");
    int r = check_setting("access key", conf->access_key, err);
    if (r == 0 && conf->region)
        r = check_setting("region", conf->region, err);
    if (r == 0 && conf->token)
        r = check_setting("token", conf->token, err);
    return r;
}

static int fill(struct tr_s3 *s, const struct tr_s3_conf *conf, struct tr_err *err)
{
    s->page_keys = conf->page_keys > 0 ? conf->page_keys : 1000;
    s->access = strdup(conf->access_key);
    s->secret = strdup(conf->secret_key);
    s->region = strdup(conf->region ? conf->region : "us-east-1");
    s->token = conf->token ? strdup(conf->token) : NULL;
    if (!s->access || !s->secret || !s->region || (conf->token && !s->token))
        return tr_fail(err, TR_E_NOMEM, 0, "out of memory");
    s->key = (struct tr_sigv4_key){s->access, s->secret, s->token, s->region, "s3"};
    return endpoint_parts(s, conf->endpoint, err);
}

int tr_s3_new(const struct tr_s3_conf *conf, struct tr_http *http, struct tr_s3 **ret,
              struct tr_err *err)
{
    int r = check_settings(conf, err);

    if (r < 0)
        return r;
    struct tr_s3 *s = calloc(1, sizeof(*s));
    if (!s)
        return tr_fail(err, TR_E_NOMEM, 0, "out of memory");
    s->http = http;
    r = fill(s, conf, err);
    if (r < 0) {
        tr_s3_free(s);
        return r;
    }
    *ret = s;
    return 0;
}

void tr_s3_free(struct tr_s3 *s)
{
    if (!s)
        return;
    if (s->secret)
        explicit_bzero(s->secret, strlen(s->secret));
    free(s->origin);
    free(s->host);
    free(s->prefix);
    free(s->access);
    free(s->secret);
    free(s->token);
    free(s->region);
    free(s);
}

void tr_s3_freep(struct tr_s3 **s)
{
    tr_s3_free(*s);
}

/* ---- one request ---- */

static void call_done(struct call *c)
{
    tr_buf_done(&c->path);
    tr_buf_done(&c->query);
    tr_buf_done(&c->url);
    for (size_t i = 0; i < TR_ARRAY_LEN(c->text); i++)
        tr_buf_done(&c->text[i]);
}

static int call_init(struct call *c, const struct tr_pair *query, size_t nquery, struct tr_err *err)
{
    tr_buf_init(&c->path, REQUEST_TEXT_MAX);
    tr_buf_init(&c->query, REQUEST_TEXT_MAX);
    tr_buf_init(&c->url, REQUEST_TEXT_MAX);
    for (size_t i = 0; i < TR_ARRAY_LEN(c->text); i++)
        tr_buf_init(&c->text[i], REQUEST_TEXT_MAX);
    if (!c->hash[0])
        tr_sha256_hex("", 0, c->hash);
    int r = tr_s3_check_name(c->bucket, c->key, err);
    if (r < 0)
        return r;
    tr_buf_addf(&c->path, "%s/", c->s->prefix);
    tr_url_encode(&c->path, c->bucket, strlen(c->bucket), 0);
    if (c->key) {
        tr_buf_addc(&c->path, '/');
        tr_url_encode(&c->path, c->key, strlen(c->key), 1);
    }
    tr_buf_adds(&c->query, "");
    r = tr_sigv4_query(query, nquery, &c->query, err);
    if (r == 0)
        r = tr_buf_check(&c->path, "an object's address", err);
    if (r < 0)
        return r;
    tr_buf_addf(&c->url, "%s%s%s%s", c->s->origin, c->path.data, nquery ? "?" : "",
                nquery ? c->query.data : "");
    return tr_buf_check(&c->url, "an object's address", err);
}

/* tr_http_headers.make: sign for now. */
static int make_headers(void *arg, const char *const **ret_lines, size_t *ret_count,
                        struct tr_err *err)
{
    struct call *c = arg;
    char time[TR_SIGV4_TIME];
    size_t n = 0;

    tr_sigv4_time(tr_clock_real_us(), time);
    struct tr_pair headers[HEADERS_MAX] = {
        {"host", c->s->host}, {"x-amz-content-sha256", c->hash}, {"x-amz-date", time}};
    size_t nheaders = 3;
    if (c->content_type)
        headers[nheaders++] = (struct tr_pair){"content-type", c->content_type};
    if (c->s->token)
        headers[nheaders++] = (struct tr_pair){"x-amz-security-token", c->s->token};
    const struct tr_sigv4_request req = {.method = c->method,
                                         .path = c->path.data,
                                         .query = c->query.data ? c->query.data : "",
                                         .headers = headers,
                                         .nheaders = nheaders,
                                         .payload_hash = c->hash};
    for (size_t i = 0; i < TR_ARRAY_LEN(c->text); i++)
        tr_buf_clear(&c->text[i]);
    tr_buf_adds(&c->text[n], "Authorization: ");
    int r = tr_sigv4_authorize(&c->s->key, &req, time, &c->text[n], err);
    n++;
    for (size_t i = 1; i < nheaders && r == 0; i++, n++) { /* curl writes Host itself, as we do */
        tr_buf_addf(&c->text[n], "%s: %s", headers[i].name, headers[i].value);
        r = tr_buf_check(&c->text[n], "a header", err);
    }
    if (r < 0)
        return r;
    for (size_t i = 0; i < n; i++)
        c->lines[i] = c->text[i].data;
    *ret_lines = c->lines;
    *ret_count = n;
    return 0;
}

static int denied(const struct call *c, const struct tr_s3_problem *p, int status,
                  struct tr_err *err)
{
    const char *host = c->s->host;

    if (strcmp(p->code, "SignatureDoesNotMatch") == 0)
        return tr_fail(err, TR_E_DENIED, 0,
                       "%s refuses the signature: the secret key of S3 access key '%.64s' is wrong",
                       host, c->s->access);
    if (strcmp(p->code, "InvalidAccessKeyId") == 0)
        return tr_fail(err, TR_E_DENIED, 0, "%s does not know the S3 access key '%.64s'", host,
                       c->s->access);
    if (strcmp(p->code, "RequestTimeTooSkewed") == 0)
        return tr_fail(err, TR_E_DENIED, 0,
                       "%s says that this machine's clock is off; set it (NTP)", host);
    return tr_fail(err, TR_E_DENIED, 0, "%s: access key '%.64s' may not %s '%s' (HTTP %d%s%s)",
                   host, c->s->access, c->method, c->bucket, status, p->code[0] ? ", " : "",
                   p->code);
}

/* tr_http_get.explain: what a status that is not 2xx means. */
static int explain(void *arg, const struct tr_http_reply *reply, struct tr_err *err)
{
    const struct call *c = arg;
    struct tr_s3_problem p;

    tr_s3_parse_problem(reply->problem, reply->problem_len, &p);
    if (reply->status == 401 || reply->status == 403)
        return denied(c, &p, reply->status, err);
    if (reply->status == 404 && (strcmp(p.code, "NoSuchBucket") == 0 || !c->key))
        return tr_fail(err, TR_E_NOTFOUND, 0, "%s has no bucket '%s'; create it", c->s->host,
                       c->bucket);
    if (reply->status == 404)
        return tr_fail(err, TR_E_NOTFOUND, 0, "bucket '%s' at %s has no object '%.256s'", c->bucket,
                       c->s->host, c->key);
    int code = tr_http_status_is_passing(reply->status) ? TR_E_RETRY : TR_E_FATAL;
    return tr_fail(err, code, 0, "%s answered HTTP %d%s%s%s%s to %s '%.128s'", c->s->host,
                   reply->status, p.code[0] ? " " : "", p.code, p.message[0] ? ": " : "", p.message,
                   c->method, c->key ? c->key : c->bucket);
}

/* Send until an answer settles it. 2xx is 0; `missing_ok` makes a 404 one too. */
static int send_call(struct call *c, struct tr_http_request *req, bool missing_ok,
                     struct tr_http_reply *ret, struct tr_err *err)
{
    struct tr_http *http = c->s->http;
    int r = 0;

    req->method = c->method;
    req->url = c->url.data;
    for (int attempt = 1; attempt <= tr_http_tries(http); attempt++) {
        if (attempt > 1 && tr_http_backoff(http, attempt, err) < 0)
            return TR_E_LOST;
        r = make_headers(c, &req->headers, &req->nheaders, err);
        if (r == 0)
            r = tr_http_exchange(http, req, ret, err);
        if (r == 0 && ret->status / 100 != 2 && !(missing_ok && ret->status == 404))
            r = explain(c, ret, err);
        if (r == 0 || tr_err_class(r) != TR_E_RETRY)
            return r;
    }
    return r;
}

/* ---- the calls ---- */

int tr_s3_put(struct tr_s3 *s, const char *bucket, const char *key, const void *bytes, size_t len,
              const char *content_type, struct tr_err *err)
{
    TR_CLEANUP(call_done)
    struct call c = {
        .s = s, .method = "PUT", .bucket = bucket, .key = key, .content_type = content_type};
    struct tr_http_request req = {.body = bytes, .body_len = len, .body_fd = -1};
    struct tr_http_reply reply = {.status = 0};

    tr_sha256_hex(len ? bytes : "", len, c.hash);
    int r = call_init(&c, NULL, 0, err);
    return r < 0 ? r : send_call(&c, &req, false, &reply, err);
}

int tr_s3_put_fd(struct tr_s3 *s, const char *bucket, const char *key, int fd,
                 const char *content_type, struct tr_err *err)
{
    TR_CLEANUP(call_done)
    struct call c = {
        .s = s, .method = "PUT", .bucket = bucket, .key = key, .content_type = content_type};
    struct tr_http_request req = {.body_fd = fd};
    struct tr_http_reply reply = {.status = 0};
    struct stat st;

    if (fstat(fd, &st) < 0)
        return tr_fail(err, TR_E_IO, errno, "stat the file to store");
    req.body_size = (uint64_t)st.st_size;
    int r = tr_sha256_fd(fd, c.hash, err);
    if (r == 0)
        r = call_init(&c, NULL, 0, err);
    return r < 0 ? r : send_call(&c, &req, false, &reply, err);
}

int tr_s3_get(struct tr_s3 *s, const char *bucket, const char *key, const struct tr_s3_want *want,
              uint64_t *ret_size, struct tr_err *err)
{
    TR_CLEANUP(call_done) struct call c = {.s = s, .method = "GET", .bucket = bucket, .key = key};
    const struct tr_http_headers headers = {.make = make_headers, .arg = &c};
    int r = call_init(&c, NULL, 0, err);

    if (r < 0)
        return r;
    const struct tr_http_get get = {
        .url = c.url.data,
        .headers = &headers,
        .fd = want->fd,
        .max_bytes = want->max_bytes,
        .sha256 = want->sha256,
        .explain = explain,
        .explain_arg = &c,
    };
    return tr_http_get_file(s->http, &get, ret_size, err);
}

int tr_s3_head(struct tr_s3 *s, const char *bucket, const char *key, struct tr_s3_head *ret,
               struct tr_err *err)
{
    TR_CLEANUP(call_done) struct call c = {.s = s, .method = "HEAD", .bucket = bucket, .key = key};
    struct tr_http_request req = {.body_fd = -1};
    struct tr_http_reply reply = {.status = 0};
    int r = call_init(&c, NULL, 0, err);

    if (r == 0)
        r = send_call(&c, &req, false, &reply, err);
    if (r < 0)
        return r;
    ret->size = reply.length > 0 ? (uint64_t)reply.length : 0;
    memcpy(ret->etag, reply.etag, sizeof(ret->etag));
    return 0;
}

int tr_s3_delete(struct tr_s3 *s, const char *bucket, const char *key, struct tr_err *err)
{
    TR_CLEANUP(call_done)
    struct call c = {.s = s, .method = "DELETE", .bucket = bucket, .key = key};
    struct tr_http_request req = {.body_fd = -1};
    struct tr_http_reply reply = {.status = 0};
    int r = call_init(&c, NULL, 0, err);

    return r < 0 ? r : send_call(&c, &req, true, &reply, err);
}

static int keep_bytes(void *arg, const void *bytes, size_t len, struct tr_err *err)
{
    struct tr_buf *b = arg;

    tr_buf_add(b, bytes, len);
    return tr_buf_check(b, "a list of objects", err);
}

static int drop_old_bytes(void *arg, const struct tr_http_reply *reply, struct tr_err *err)
{
    tr_buf_clear(arg); /* a second try begins anew */
    return 0;
}

static int list_page(struct tr_s3 *s, const char *bucket, const char *prefix, const char *token,
                     struct tr_buf *xml, struct tr_err *err)
{
    TR_CLEANUP(call_done) struct call c = {.s = s, .method = "GET", .bucket = bucket};
    char keys[16];
    const struct tr_pair query[] = {
        {"list-type", "2"}, {"max-keys", keys}, {"prefix", prefix}, {"continuation-token", token}};
    const struct tr_http_sink sink = {.head = drop_old_bytes, .bytes = keep_bytes, .arg = xml};
    struct tr_http_request req = {.body_fd = -1, .max_bytes = TR_S3_LIST_BYTES_MAX, .sink = &sink};
    struct tr_http_reply reply = {.status = 0};

    (void)snprintf(keys, sizeof(keys), "%d", s->page_keys);
    int r = call_init(&c, query, *token ? 4 : 3, err);

    return r < 0 ? r : send_call(&c, &req, false, &reply, err);
}

int tr_s3_list(struct tr_s3 *s, const char *bucket, const char *prefix,
               int (*each)(void *arg, const char *key, uint64_t size, struct tr_err *err),
               void *arg, struct tr_err *err)
{
    TR_CLEANUP(tr_buf_done) struct tr_buf xml;
    struct tr_s3_list_end end = {.truncated = true};

    tr_buf_init(&xml, TR_S3_LIST_BYTES_MAX);
    for (int page = 0; end.truncated; page++) {
        struct tr_s3_list_end after = {.truncated = false};
        int r = page < LIST_PAGES_MAX
                    ? list_page(s, bucket, prefix, end.next, &xml, err)
                    : tr_fail(err, TR_E_LIMIT, 0, "the list of bucket '%s' never ends", bucket);

        if (r == 0)
            r = tr_s3_parse_list(xml.data ? xml.data : "", xml.len, each, arg, &after, err);
        if (r < 0)
            return r;
        end = after;
        if (end.truncated && !end.next[0])
            return tr_fail(err, TR_E_PARSE, 0,
                           "a list of bucket '%s' that says neither end nor "
                           "where it goes on",
                           bucket);
    }
    return 0;
}

int tr_s3_presign(struct tr_s3 *s, const char *method, const char *bucket, const char *key,
                  int64_t expires_s, struct tr_buf *out, struct tr_err *err)
{
    TR_CLEANUP(call_done) struct call c = {.s = s, .method = method, .bucket = bucket, .key = key};
    char time[TR_SIGV4_TIME];

    if (expires_s < 1 || expires_s > PRESIGN_MAX_S)
        return tr_fail(err, TR_E_USAGE, 0, "a presigned address lasts from 1 s to 7 days");
    int r = call_init(&c, NULL, 0, err);
    if (r < 0)
        return r;
    const struct tr_pair host = {"host", s->host};
    const struct tr_sigv4_request req = {
        .method = method, .path = c.path.data, .headers = &host, .nheaders = 1};
    tr_sigv4_time(tr_clock_real_us(), time);
    tr_buf_addf(out, "%s?", c.url.data);
    return tr_sigv4_presign(&s->key, &req, time, expires_s, out, err);
}
