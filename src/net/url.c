/* SPDX-License-Identifier: MIT
 *
 * url.c - addresses from tasks and settings, strictly.
 *
 * A task may name any address, so everything here is hostile. What is not plainly understood is
 * refused with a sentence; nothing is repaired or guessed.
 */
#include "net/url.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "base/utf8.h"

static const char alnum[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

static int check_bytes(const char *text, size_t len, struct tr_err *err)
{
    if (len >= TR_URL_MAX)
        return tr_fail(err, TR_E_LIMIT, 0, "an address of %zu bytes; at most %d are taken", len,
                       TR_URL_MAX - 1);
    for (size_t i = 0; i < len; i++) {
        if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
            return tr_fail(err, TR_E_PARSE, 0, "an address with a control character");
    }
    if (!tr_utf8_valid(text, len))
        return tr_fail(err, TR_E_PARSE, 0, "an address that is not UTF-8");
    return 0;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* %XX to bytes; `out` has room for as many bytes as `text`, and the 0. */
static int percent_decode(const char *text, char *out, struct tr_err *err)
{
    size_t n = 0;

    for (const char *p = text; *p; p++) {
        if (*p != '%') {
            out[n++] = *p;
            continue;
        }
        int hi = hex_digit(p[1]);
        int lo = hi < 0 ? -1 : hex_digit(p[2]);
        if (lo < 0)
            return tr_fail(err, TR_E_PARSE, 0, "'%.128s': '%%' without two hex digits", text);
        char c = (char)(hi * 16 + lo);
        if ((unsigned char)c < 0x20 || c == 0x7f)
            return tr_fail(err, TR_E_PARSE, 0, "'%.128s': a control character", text);
        out[n++] = c;
        p += 2;
    }
    out[n] = '\0';
    return 0;
}

static int parse_file(const char *rest, struct tr_url *u, struct tr_err *err)
{
    if (strncmp(rest, "localhost/", 10) == 0)
        rest += 9;
    if (rest[0] != '/')
        return tr_fail(err, TR_E_PARSE, 0,
                       "'file://%.128s': expected file:///path with a path of this machine", rest);
    return percent_decode(rest, u->path, err);
}

static int parse_port(const char *text, int *ret, struct tr_err *err)
{
    int64_t port = 0;
    int r = tr_parse_i64(text, 1, 65535, &port, err);

    if (r < 0)
        return tr_fail_wrap(err, "the port of an address");
    *ret = (int)port;
    return 0;
}

/* name[:port], or [v6]:port. */
static int parse_authority(const char *text, size_t len, struct tr_url *u, struct tr_err *err)
{
    char copy[TR_URL_HOST_MAX] = {0};

    if (len == 0 || len >= sizeof(copy))
        return tr_fail(err, TR_E_PARSE, 0, "an address without a usable host");
    memcpy(copy, text, len);
    copy[len] = '\0';
    if (strchr(copy, '@'))
        return tr_fail(err, TR_E_PARSE, 0,
                       "an address with a user name; credentials do not belong in addresses");
    size_t name = 0;
    if (copy[0] == '[') {
        name = strspn(copy + 1, "0123456789abcdefABCDEF:.") + 1;
        if (name < 3 || copy[name] != ']')
            return tr_fail(err, TR_E_PARSE, 0, "'%s' is not an IPv6 address in brackets", copy);
        name++;
    } else {
        name = strspn(copy, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._");
    }
    if (name == 0 || (copy[name] != '\0' && copy[name] != ':'))
        return tr_fail(err, TR_E_PARSE, 0, "'%s' is not a host name", copy);
    if (copy[name] == ':') {
        int r = parse_port(copy + name + 1, &u->port, err);

        if (r < 0)
            return r;
        copy[name] = '\0';
    }
    memcpy(u->host, copy, name + 1);
    return 0;
}

static int parse_http(const char *rest, struct tr_url *u, struct tr_err *err)
{
    size_t len = strcspn(rest, "/?#");

    u->port = u->scheme == TR_URL_HTTPS ? 443 : 80;
    int r = parse_authority(rest, len, u, err);
    if (r < 0)
        return r;
    const char *target = rest + len;
    if (strchr(target, '#'))
        return tr_fail(err, TR_E_PARSE, 0, "an address with '#': a fragment means nothing here");
    if (strpbrk(target, " \"<>\\^`{|}"))
        return tr_fail(err, TR_E_PARSE, 0,
                       "an address with a character that must be written as %%XX");
    /* It fits: the scheme and a host of at least one byte were taken off. */
    (void)snprintf(u->path, sizeof(u->path), "%s%.4090s", target[0] == '/' ? "" : "/", target);
    return 0;
}

static int check_bucket(const char *name, size_t len, struct tr_err *err)
{
    size_t good = 0;

    for (; good < len && (strchr(alnum, name[good]) || strchr(".-_", name[good])); good++)
        ;
    if (len < 3 || len > TR_S3_BUCKET_MAX || good != len || !strchr(alnum, name[0]))
        return tr_fail(err, TR_E_PARSE, 0,
                       "'%.*s' is not a bucket: expected 3 to 63 letters, digits, '.', '-', '_'",
                       (int)(len < 80 ? len : 80), name);
    return 0;
}

static int check_key(const char *key, struct tr_err *err)
{
    size_t len = strlen(key);
    int r = check_bytes(key, len, err);

    if (r < 0)
        return tr_fail_wrap(err, "the key of an object");
    if (len == 0 || len > TR_S3_KEY_MAX)
        return tr_fail(err, TR_E_PARSE, 0, "a key of %zu bytes: expected 1 to %d", len,
                       TR_S3_KEY_MAX);
    return 0;
}

int tr_s3_check_name(const char *bucket, const char *key, struct tr_err *err)
{
    int r = check_bucket(bucket, strlen(bucket), err);

    return r < 0 || !key ? r : check_key(key, err);
}

static int parse_s3(const char *rest, int needs_key, struct tr_url *u, struct tr_err *err)
{
    size_t len = strcspn(rest, "/");
    const char *key = rest[len] ? rest + len + 1 : rest + len;
    int r = check_bucket(rest, len, err);

    if (r == 0 && (needs_key || *key))
        r = check_key(key, err);
    if (r < 0)
        return r;
    memcpy(u->host, rest, len);
    u->host[len] = '\0';
    (void)snprintf(u->path, sizeof(u->path), "%s", key); /* at most TR_S3_KEY_MAX bytes */
    return 0;
}

static int parse(const char *text, size_t len, int needs_key, struct tr_url *ret,
                 struct tr_err *err)
{
    static const struct {
        const char *prefix;
        enum tr_url_scheme scheme;
    } schemes[] = {{"file://", TR_URL_FILE},
                   {"http://", TR_URL_HTTP},
                   {"https://", TR_URL_HTTPS},
                   {"s3://", TR_URL_S3},
                   {"minio://", TR_URL_S3}};
    char copy[TR_URL_MAX] = {0};
    int r = check_bytes(text, len, err);

    if (r < 0)
        return r;
    memcpy(copy, text, len);
    copy[len] = '\0';
    for (size_t i = 0; i < TR_ARRAY_LEN(schemes); i++) {
        size_t n = strlen(schemes[i].prefix);
        struct tr_url u = {.scheme = schemes[i].scheme};

        if (strncmp(copy, schemes[i].prefix, n) != 0)
            continue;
        if (u.scheme == TR_URL_FILE)
            r = parse_file(copy + n, &u, err);
        else if (u.scheme == TR_URL_S3)
            r = parse_s3(copy + n, needs_key, &u, err);
        else
            r = parse_http(copy + n, &u, err);
        if (r == 0)
            *ret = u;
        return r;
    }
    return tr_fail(err, TR_E_PARSE, 0,
                   "'%.128s': expected file://, http://, https://, s3:// or minio://", copy);
}

int tr_url_parse(const char *text, size_t len, struct tr_url *ret, struct tr_err *err)
{
    return parse(text, len, 1, ret, err);
}

int tr_url_parse_bucket(const char *text, size_t len, struct tr_url *ret, struct tr_err *err)
{
    struct tr_url u = {.port = 0};
    int r = parse(text, len, 0, &u, err);

    if (r < 0)
        return r;
    if (u.scheme != TR_URL_S3)
        return tr_fail(err, TR_E_PARSE, 0, "expected s3://BUCKET or minio://BUCKET");
    *ret = u;
    return 0;
}

void tr_url_encode(struct tr_buf *out, const char *bytes, size_t len, int keep_slash)
{
    static const char digits[] = "0123456789ABCDEF";

    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)bytes[i];

        if (c && (strchr(alnum, c) || strchr("-._~", c) || (keep_slash && c == '/'))) {
            tr_buf_addc(out, (char)c);
            continue;
        }
        tr_buf_addc(out, '%');
        tr_buf_addc(out, digits[c >> 4]);
        tr_buf_addc(out, digits[c & 15]);
    }
}
