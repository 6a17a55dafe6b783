/* SPDX-License-Identifier: MIT
 *
 * http.c - libcurl, held on a short leash.
 *
 * Only http and https, also after a redirect; no compression (a small answer must not become a
 * large one), no cookies, no .netrc, no file://. Every wait has an end: connecting, a stall, the
 * whole exchange, and the caller's stop.
 */
#include "net/http.h"

#include <curl/curl.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/parse.h"
#include "base/rand.h"

enum {
    DEFAULT_CONNECT_MS = 10 * 1000,
    DEFAULT_STALL_S = 30,
    DEFAULT_TIMEOUT_MS = 30 * 60 * 1000,
    DEFAULT_TRIES = 5,
    DEFAULT_BACKOFF_US = 200 * 1000,
    BACKOFF_MAX_US = 10 * 1000 * 1000,
    PROBLEM_BYTES_MAX = 1024 * 1024, /* of a body that nobody asked for */
    STOP_LOOK_US = 50 * 1000
};

struct tr_http {
    struct tr_http_conf conf;
    CURL *easy;
    char curl_says[CURL_ERROR_SIZE];
};

/* One exchange, for curl's callbacks. */
struct exchange {
    struct tr_http *h;
    const struct tr_http_request *req;
    struct tr_http_reply *reply;
    struct tr_err *err;
    uint64_t sent;
    uint64_t unwanted; /* bytes of a body that is not 2xx */
    int status;
    bool head_told;
    bool stopped;
    int failed; /* TR_E_*, set by a callback; *err has its sentence */
};

static pthread_once_t curl_once = PTHREAD_ONCE_INIT;
static CURLcode curl_ready = CURLE_FAILED_INIT;

static void start_curl(void)
{
    curl_ready = curl_global_init(CURL_GLOBAL_DEFAULT); /* kept until the process ends */
}

int tr_http_new(const struct tr_http_conf *conf, struct tr_http **ret, struct tr_err *err)
{
    (void)pthread_once(&curl_once, start_curl);
    struct tr_http *h = curl_ready == CURLE_OK ? calloc(1, sizeof(*h)) : NULL;

    if (h)
        h->easy = curl_easy_init();
    if (!h || !h->easy) {
        free(h);
        return tr_fail(err, TR_E_NOMEM, 0, "no memory for an HTTP client");
    }
    if (conf)
        h->conf = *conf;
    *ret = h;
    return 0;
}

void tr_http_free(struct tr_http *h)
{
    if (!h)
        return;
    curl_easy_cleanup(h->easy);
    free(h);
}

void tr_http_freep(struct tr_http **h)
{
    tr_http_free(*h);
}

static bool stopped(const struct tr_http *h)
{
    return h->conf.stop && h->conf.stop(h->conf.stop_arg);
}

/* ---- callbacks ---- */

/* "Name: value\r\n" -> a copy of the value, trimmed; false when it is another header or too long.
 */
static bool header_value(const char *line, size_t len, const char *name, char *out, size_t size)
{
    size_t n = strlen(name);

    if (len <= n || strncasecmp(line, name, n) != 0 || line[n] != ':')
        return false;
    const char *from = line + n + 1;
    const char *end = line + len;
    while (from < end && (*from == ' ' || *from == '\t'))
        from++;
    while (end > from && (end[-1] == '\r' || end[-1] == '\n' || end[-1] == ' '))
        end--;
    if ((size_t)(end - from) >= size)
        return false;
    memcpy(out, from, (size_t)(end - from));
    out[end - from] = '\0';
    return true;
}

static void note_number(const char *text, int64_t *out)
{
    int64_t n = 0;

    if (tr_parse_i64(text, 0, INT64_MAX, &n, NULL) == 0)
        *out = n;
}

static size_t on_header(char *line, size_t size, size_t count, void *arg)
{
    struct exchange *x = arg;
    size_t len = size * count;
    char value[sizeof(x->reply->etag)];

    if (len > 5 && strncmp(line, "HTTP/", 5) == 0) { /* again after a redirect or a 100 */
        x->reply->length = x->reply->range_start = -1;
        x->reply->etag[0] = '\0';
    } else if (header_value(line, len, "etag", value, sizeof(value))) {
        (void)snprintf(x->reply->etag, sizeof(x->reply->etag), "%s", value);
    } else if (header_value(line, len, "content-length", value, sizeof(value))) {
        note_number(value, &x->reply->length);
    } else if (header_value(line, len, "content-range", value, sizeof(value)) &&
               strncmp(value, "bytes ", 6) == 0) {
        value[6 + strcspn(value + 6, "-")] = '\0';
        note_number(value + 6, &x->reply->range_start);
    }
    return len;
}

static int tell_head(struct exchange *x)
{
    const struct tr_http_sink *sink = x->req->sink;
    long status = 0;

    x->head_told = true;
    (void)curl_easy_getinfo(x->h->easy, CURLINFO_RESPONSE_CODE, &status);
    x->status = x->reply->status = (int)status;
    if (x->status / 100 != 2 || !sink || !sink->head)
        return 0;
    return x->failed = sink->head(sink->arg, x->reply, x->err);
}

/* An answer that says what went wrong: its start is kept for the sentence. */
static size_t keep_problem(struct exchange *x, const char *bytes, size_t len)
{
    struct tr_http_reply *r = x->reply;
    size_t room = sizeof(r->problem) - 1 - r->problem_len;
    size_t take = len < room ? len : room;

    memcpy(r->problem + r->problem_len, bytes, take);
    r->problem_len += take;
    r->problem[r->problem_len] = '\0';
    x->unwanted += len;
    return x->unwanted > PROBLEM_BYTES_MAX ? 0 : len;
}

static size_t on_body(char *bytes, size_t size, size_t count, void *arg)
{
    struct exchange *x = arg;
    size_t len = size * count;

    if (!x->head_told && tell_head(x) < 0)
        return 0;
    if (x->status / 100 != 2)
        return keep_problem(x, bytes, len);
    if (len > x->req->max_bytes - x->reply->bytes) {
        x->failed =
            tr_fail(x->err, TR_E_LIMIT, 0, "the answer has more than the %llu bytes allowed",
                    (unsigned long long)x->req->max_bytes);
        return 0;
    }
    if (x->req->sink) {
        x->failed = x->req->sink->bytes(x->req->sink->arg, bytes, len, x->err);
        if (x->failed < 0)
            return 0;
    }
    x->reply->bytes += len;
    return len;
}

static size_t on_send(char *out, size_t size, size_t count, void *arg)
{
    struct exchange *x = arg;
    const struct tr_http_request *req = x->req;
    uint64_t total = req->body_fd >= 0 ? req->body_size : req->body_len;
    uint64_t left = total - x->sent;
    size_t want = size * count < left ? size * count : (size_t)left;

    if (want == 0)
        return 0;
    if (req->body_fd < 0) {
        memcpy(out, (const char *)req->body + x->sent, want);
        x->sent += want;
        return want;
    }
    ssize_t n;
    do {
        n = pread(req->body_fd, out, want, (off_t)x->sent);
    } while (n < 0 && errno == EINTR);
    if (n <= 0) {
        x->failed = tr_fail(x->err, TR_E_IO, n < 0 ? errno : 0,
                            "the file to send became shorter or cannot be read");
        return CURL_READFUNC_ABORT;
    }
    x->sent += (uint64_t)n;
    return (size_t)n;
}

/* A kept connection that turns out dead: curl sends the body again on a new one. */
static int on_rewind(void *arg, curl_off_t offset, int origin)
{
    struct exchange *x = arg;

    if (origin != SEEK_SET || offset < 0)
        return CURL_SEEKFUNC_CANTSEEK;
    x->sent = (uint64_t)offset;
    return CURL_SEEKFUNC_OK;
}

static int on_progress(void *arg, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    struct exchange *x = arg;

    x->stopped = x->stopped || stopped(x->h);
    return x->stopped ? 1 : 0;
}

/* ---- one exchange ---- */

/* The value of each CURLOPT_* is checked by curl's type-checking macros at compile time. */
#define SET(option, value) (void)curl_easy_setopt(e, option, value)

static void set_limits(CURL *e, const struct tr_http_conf *c)
{
    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_CONNECTTIMEOUT_MS,
        c->connect_timeout_us ? (long)(c->connect_timeout_us / 1000) : (long)DEFAULT_CONNECT_MS);
    SET(CURLOPT_TIMEOUT_MS,
        c->timeout_us ? (long)(c->timeout_us / 1000) : (long)DEFAULT_TIMEOUT_MS);
    SET(CURLOPT_LOW_SPEED_LIMIT, 1L);
    SET(CURLOPT_LOW_SPEED_TIME,
        c->stall_us ? (long)((c->stall_us + 999999) / 1000000) : (long)DEFAULT_STALL_S);
}

static void set_method(CURL *e, const struct tr_http_request *req)
{
    if (strcmp(req->method, "HEAD") == 0) {
        SET(CURLOPT_NOBODY, 1L);
    } else if (strcmp(req->method, "PUT") == 0) {
        SET(CURLOPT_UPLOAD, 1L);
        SET(CURLOPT_INFILESIZE_LARGE,
            (curl_off_t)(req->body_fd >= 0 ? req->body_size : req->body_len));
    } else if (strcmp(req->method, "POST") == 0) {
        SET(CURLOPT_POST, 1L);
        SET(CURLOPT_POSTFIELDSIZE_LARGE,
            (curl_off_t)(req->body_fd >= 0 ? req->body_size : req->body_len));
    } else if (strcmp(req->method, "GET") != 0) {
        SET(CURLOPT_CUSTOMREQUEST, req->method);
    }
}

static void set_request(CURL *e, struct exchange *x, struct curl_slist *headers)
{
    const struct tr_http_request *req = x->req;

    SET(CURLOPT_URL, req->url);
    SET(CURLOPT_PATH_AS_IS, 1L); /* a key may hold "..": what is signed is what is sent */
    SET(CURLOPT_PROTOCOLS_STR, "http,https");
    SET(CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
    SET(CURLOPT_FOLLOWLOCATION, req->redirects > 0 ? 1L : 0L);
    SET(CURLOPT_MAXREDIRS, (long)req->redirects);
    SET(CURLOPT_HTTPHEADER, headers);
    SET(CURLOPT_USERAGENT, "tribunal");
    if (x->h->conf.ca_file)
        SET(CURLOPT_CAINFO, x->h->conf.ca_file);
    set_method(e, req);
    SET(CURLOPT_HEADERFUNCTION, on_header);
    SET(CURLOPT_HEADERDATA, x);
    SET(CURLOPT_WRITEFUNCTION, on_body);
    SET(CURLOPT_WRITEDATA, x);
    SET(CURLOPT_READFUNCTION, on_send);
    SET(CURLOPT_READDATA, x);
    SET(CURLOPT_SEEKFUNCTION, on_rewind);
    SET(CURLOPT_SEEKDATA, x);
    SET(CURLOPT_NOPROGRESS, 0L);
    SET(CURLOPT_XFERINFOFUNCTION, on_progress);
    SET(CURLOPT_XFERINFODATA, x);
    SET(CURLOPT_ERRORBUFFER, x->h->curl_says);
}

/* scheme://host:port only: a query may hold a signature. */
static int shown_length(const char *url)
{
    const char *host = strstr(url, "://");

    return host ? (int)(host + 3 - url + (long)strcspn(host + 3, "/?")) : 0;
}

static int curl_failure(const struct exchange *x, CURLcode code)
{
    const struct tr_http *h = x->h;
    const char *why = h->curl_says[0] ? h->curl_says : curl_easy_strerror(code);
    const char *url = x->req->url;
    int shown = shown_length(url);

    if (x->stopped)
        return tr_fail(x->err, TR_E_LOST, 0, "stopped while talking to %.*s", shown, url);
    if (code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE ||
        code == CURLE_SSL_ISSUER_ERROR)
        return tr_fail(x->err, TR_E_DENIED, 0, "%.*s: its certificate is not trusted: %s", shown,
                       url, why);
    if (code == CURLE_OUT_OF_MEMORY)
        return tr_fail(x->err, TR_E_NOMEM, 0, "out of memory");
    if (code == CURLE_TOO_MANY_REDIRECTS || code == CURLE_UNSUPPORTED_PROTOCOL ||
        code == CURLE_URL_MALFORMAT)
        return tr_fail(x->err, TR_E_FATAL, 0, "%.*s: %s", shown, url, why);
    return tr_fail(x->err, TR_E_RETRY, 0, "%.*s: %s", shown, url, why);
}

static int add_headers(const struct tr_http_request *req, struct curl_slist **ret,
                       struct tr_err *err)
{
    /* Without this curl asks "Expect: 100-continue" and waits a second for servers that are mute.
     */
    struct curl_slist *list = curl_slist_append(NULL, "Expect:");

    for (size_t i = 0; i < req->nheaders && list; i++) {
        struct curl_slist *longer = curl_slist_append(list, req->headers[i]);

        if (!longer)
            curl_slist_free_all(list);
        list = longer;
    }
    if (!list)
        return tr_fail(err, TR_E_NOMEM, 0, "out of memory");
    *ret = list;
    return 0;
}

int tr_http_exchange(struct tr_http *h, const struct tr_http_request *req,
                     struct tr_http_reply *ret, struct tr_err *err)
{
    struct tr_http_reply reply = {.length = -1, .range_start = -1};
    struct exchange x = {.h = h, .req = req, .reply = &reply, .err = err};
    struct curl_slist *headers = NULL;
    int r = add_headers(req, &headers, err);

    if (r < 0)
        return r;
    h->curl_says[0] = '\0';
    curl_easy_reset(h->easy); /* keeps the connections */
    set_limits(h->easy, &h->conf);
    set_request(h->easy, &x, headers);
    CURLcode code = curl_easy_perform(h->easy);
    if (code == CURLE_OK && !x.head_told)
        (void)tell_head(&x);
    if (x.failed < 0)
        r = x.failed;
    else if (x.status && x.status / 100 != 2) /* its start is here, whatever happened to the rest */
        r = 0;
    else if (code != CURLE_OK)
        r = curl_failure(&x, code);
    curl_slist_free_all(headers);
    *ret = reply;
    return r;
}

/* ---- trying again ---- */

bool tr_http_status_is_passing(int status)
{
    return status == 408 || status == 429 || status / 100 == 5;
}

int tr_http_tries(const struct tr_http *h)
{
    return h->conf.tries ? h->conf.tries : DEFAULT_TRIES;
}

int tr_http_backoff(struct tr_http *h, int next, struct tr_err *err)
{
    int64_t full = h->conf.backoff_us ? h->conf.backoff_us : DEFAULT_BACKOFF_US;

    for (int i = 2; i < next && full < BACKOFF_MAX_US; i++)
        full *= 2;
    full = full < BACKOFF_MAX_US ? full : BACKOFF_MAX_US;
    /* Between half and all of it: many clients that failed together come back apart. */
    int64_t wait = full / 2 + (int64_t)tr_random_below((uint64_t)(full / 2 + 1));
    for (int64_t until = tr_clock_mono_us() + wait;;) {
        int64_t left = until - tr_clock_mono_us();

        if (stopped(h))
            return tr_fail(err, TR_E_LOST, 0, "stopped while waiting to try again");
        if (left <= 0)
            return 0;
        left = left < STOP_LOOK_US ? left : STOP_LOOK_US;
        (void)nanosleep(&(struct timespec){.tv_nsec = (long)(left * 1000)}, NULL);
    }
}
