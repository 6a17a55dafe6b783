/* SPDX-License-Identifier: MIT
 *
 * sigv4.c - the canonical request, the string to sign, the chain of HMACs.
 *
 * Checked against AWS's published examples (tests/unit/test_sigv4.c) and against servers that
 * verify (tests/e2e/test_s3.py). Knows nothing of sockets or clocks.
 */
#include "net/sigv4.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "codec/sha256.h"
#include "net/url.h"

/* Headers and query of one request; a key of 1,024 bytes is at most 3,072 when encoded. */
enum {
    CANONICAL_MAX = 64 * 1024
};

static int by_name(const void *a, const void *b)
{
    const struct tr_pair *x = a;
    const struct tr_pair *y = b;
    int c = strcmp(x->name, y->name);

    return c ? c : strcmp(x->value, y->value);
}

static int sort_pairs(const struct tr_pair *pairs, size_t n,
                      struct tr_pair out[static TR_SIGV4_PAIRS_MAX], struct tr_err *err)
{
    if (n > TR_SIGV4_PAIRS_MAX)
        return tr_fail(err, TR_E_LIMIT, 0, "%zu headers or parameters; at most %d are signed", n,
                       TR_SIGV4_PAIRS_MAX);
    if (n)
        memcpy(out, pairs, n * sizeof(*pairs));
    qsort(out, n, sizeof(*out), by_name);
    return 0;
}

int tr_sigv4_query(const struct tr_pair *pairs, size_t npairs, struct tr_buf *out,
                   struct tr_err *err)
{
    struct tr_pair sorted[TR_SIGV4_PAIRS_MAX] = {{0}};
    int r = sort_pairs(pairs, npairs, sorted, err);

    for (size_t i = 0; i < npairs && r == 0; i++) {
        if (i)
            tr_buf_addc(out, '&');
        tr_url_encode(out, sorted[i].name, strlen(sorted[i].name), 0);
        tr_buf_addc(out, '='); /* also for an empty value: servers count it in */
        tr_url_encode(out, sorted[i].value, strlen(sorted[i].value), 0);
    }
    return r < 0 ? r : tr_buf_check(out, "a query", err);
}

void tr_sigv4_time(int64_t real_us, char out[static TR_SIGV4_TIME])
{
    time_t seconds = (time_t)(real_us / 1000000);
    struct tm tm = {0};

    (void)gmtime_r(&seconds, &tm);
    size_t n = strftime(out, TR_SIGV4_TIME, "%Y%m%dT%H%M%SZ", &tm);
    assert(n == TR_SIGV4_TIME - 1); /* a clock after the year 9999 */
}

/* Without blanks at the ends, and with one where there were several. */
static void add_trimmed(struct tr_buf *out, const char *value)
{
    const char *p = value + strspn(value, " \t");

    while (*p) {
        size_t word = strcspn(p, " \t");

        tr_buf_add(out, p, word);
        p += word;
        p += strspn(p, " \t");
        if (*p)
            tr_buf_addc(out, ' ');
    }
}

static void add_names(struct tr_buf *out, const struct tr_pair *sorted, size_t n)
{
    for (size_t i = 0; i < n; i++)
        tr_buf_addf(out, "%s%s", i ? ";" : "", sorted[i].name);
}

static void add_canonical(struct tr_buf *out, const struct tr_sigv4_request *req,
                          const struct tr_pair *sorted)
{
    tr_buf_addf(out, "%s\n%s\n%s\n", req->method, req->path, req->query);
    for (size_t i = 0; i < req->nheaders; i++) {
        tr_buf_addf(out, "%s:", sorted[i].name);
        add_trimmed(out, sorted[i].value);
        tr_buf_addc(out, '\n');
    }
    tr_buf_addc(out, '\n');
    add_names(out, sorted, req->nheaders);
    tr_buf_addf(out, "\n%s", req->payload_hash);
}

/* "20150830/us-east-1/s3/aws4_request" */
static void add_scope(struct tr_buf *out, const struct tr_sigv4_key *key, const char *time)
{
    tr_buf_addf(out, "%.8s/%s/%s/aws4_request", time, key->region, key->service);
}

static int signing_key(const struct tr_sigv4_key *key, const char *time,
                       uint8_t out[static TR_SHA256_BYTES], struct tr_err *err)
{
    tr_autofree char *secret = NULL;
    char day[9];

    if (asprintf(&secret, "AWS4%s", key->secret) < 0)
        return tr_fail(err, TR_E_NOMEM, 0, "out of memory");
    (void)snprintf(day, sizeof(day), "%.8s", time);
    tr_hmac_sha256(secret, strlen(secret), day, 8, out);
    tr_hmac_sha256(out, TR_SHA256_BYTES, key->region, strlen(key->region), out);
    tr_hmac_sha256(out, TR_SHA256_BYTES, key->service, strlen(key->service), out);
    tr_hmac_sha256(out, TR_SHA256_BYTES, "aws4_request", 12, out);
    explicit_bzero(secret, strlen(secret));
    return 0;
}

static int sign(const struct tr_sigv4_key *key, const struct tr_sigv4_request *req,
                const struct tr_pair *sorted, const char *time, char out[static TR_SHA256_HEX],
                struct tr_err *err)
{
    TR_CLEANUP(tr_buf_done) struct tr_buf text;
    uint8_t mac[TR_SHA256_BYTES];
    char hash[TR_SHA256_HEX];

    tr_buf_init(&text, CANONICAL_MAX);
    add_canonical(&text, req, sorted);
    int r = tr_buf_check(&text, "a request to sign", err);
    if (r < 0)
        return r;
    tr_sha256_hex(text.data, text.len, hash);
    tr_buf_clear(&text);
    tr_buf_addf(&text, "AWS4-HMAC-SHA256\n%s\n", time);
    add_scope(&text, key, time);
    tr_buf_addf(&text, "\n%s", hash);
    r = tr_buf_check(&text, "a request to sign", err);
    if (r == 0)
        r = signing_key(key, time, mac, err);
    if (r < 0)
        return r;
    tr_hmac_sha256(mac, sizeof(mac), text.data, text.len, mac);
    tr_hex(mac, sizeof(mac), out);
    explicit_bzero(mac, sizeof(mac));
    return 0;
}

int tr_sigv4_authorize(const struct tr_sigv4_key *key, const struct tr_sigv4_request *req,
                       const char *time, struct tr_buf *out, struct tr_err *err)
{
    struct tr_pair sorted[TR_SIGV4_PAIRS_MAX] = {{0}};
    char signature[TR_SHA256_HEX];
    int r = sort_pairs(req->headers, req->nheaders, sorted, err);

    if (r == 0)
        r = sign(key, req, sorted, time, signature, err);
    if (r < 0)
        return r;
    tr_buf_addf(out, "AWS4-HMAC-SHA256 Credential=%s/", key->access);
    add_scope(out, key, time);
    tr_buf_adds(out, ", SignedHeaders=");
    add_names(out, sorted, req->nheaders);
    tr_buf_addf(out, ", Signature=%s", signature);
    return tr_buf_check(out, "a signature", err);
}

int tr_sigv4_presign(const struct tr_sigv4_key *key, const struct tr_sigv4_request *req,
                     const char *time, int64_t expires_s, struct tr_buf *out, struct tr_err *err)
{
    TR_CLEANUP(tr_buf_done) struct tr_buf credential;
    TR_CLEANUP(tr_buf_done) struct tr_buf query;
    char expires[24];
    char signature[TR_SHA256_HEX];

    tr_buf_init(&credential, CANONICAL_MAX);
    tr_buf_init(&query, CANONICAL_MAX);
    tr_buf_addf(&credential, "%s/", key->access);
    add_scope(&credential, key, time);
    int r = tr_buf_check(&credential, "a credential", err);
    if (r < 0)
        return r;
    (void)snprintf(expires, sizeof(expires), "%lld", (long long)expires_s);
    const struct tr_pair pairs[] = {
        {"X-Amz-Algorithm", "AWS4-HMAC-SHA256"},
        {"X-Amz-Credential", credential.data},
        {"X-Amz-Date", time},
        {"X-Amz-Expires", expires},
        {"X-Amz-SignedHeaders", "host"},
        {"X-Amz-Security-Token", key->token ? key->token : ""},
    };
    r = tr_sigv4_query(pairs, TR_ARRAY_LEN(pairs) - (key->token ? 0 : 1), &query, err);
    if (r < 0)
        return r;
    struct tr_sigv4_request whole = *req;
    whole.query = query.data;
    whole.payload_hash = "UNSIGNED-PAYLOAD";
    r = sign(key, &whole, req->headers, time, signature, err);
    if (r < 0)
        return r;
    tr_buf_addf(out, "%s&X-Amz-Signature=%s", query.data, signature);
    return tr_buf_check(out, "a presigned address", err);
}
