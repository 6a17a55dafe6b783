/* SPDX-License-Identifier: MIT
 *
 * net/url.h - where test data and logs may be: file, http, https, s3 and minio addresses.
 *
 *     file:///srv/data/1.zip         percent-decoded; an absolute path of this machine
 *     https://host[:port]/path?q     used as it stands
 *     s3://bucket/key                the key as it stands, byte for byte: no decoding, no '?'
 *     minio://bucket/key             the same; the endpoint comes from the configuration
 */
#ifndef NET_URL_H
#define NET_URL_H

#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

enum tr_url_scheme {
    TR_URL_FILE,
    TR_URL_HTTP,
    TR_URL_HTTPS,
    TR_URL_S3 /* s3:// and minio:// */
};

enum {
    TR_URL_MAX = 4096,     /* presigned addresses with a session token have about 1,500 bytes */
    TR_URL_HOST_MAX = 256, /* DNS names end at 253 */
    TR_S3_BUCKET_MAX = 63, /* S3's own ceilings */
    TR_S3_KEY_MAX = 1024
};

struct tr_url {
    enum tr_url_scheme scheme;
    char host[TR_URL_HOST_MAX]; /* HTTP: the name, brackets of IPv6 kept; S3: the bucket; else "" */
    int port;                   /* HTTP: as written or the scheme's own; else 0 */
    char path[TR_URL_MAX];      /* FILE: the path; HTTP: from the '/' on, query too; S3: the key */
};

/* TR_E_PARSE with a sentence, or TR_E_LIMIT. User names and passwords are refused: addresses end in
 * logs and messages. Never more than `len` bytes are looked at; NUL and other control characters
 * are refused, and so is what is not UTF-8. A bucket without a key is allowed only by
 * tr_url_parse_bucket(), for "where logs go"; its path is then "" or a prefix. */
int tr_url_parse(const char *text, size_t len, struct tr_url *ret, struct tr_err *err);
int tr_url_parse_bucket(const char *text, size_t len, struct tr_url *ret, struct tr_err *err);

/* Are these names that S3 takes? */
int tr_s3_check_name(const char *bucket, const char *key, struct tr_err *err);

/* Percent-encode all but A-Z a-z 0-9 - . _ ~ (and '/' where `keep_slash`), as SigV4 wants it. */
void tr_url_encode(struct tr_buf *out, const char *bytes, size_t len, int keep_slash);

#endif
