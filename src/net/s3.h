/* SPDX-License-Identifier: MIT
 *
 * net/s3.h - objects on S3, MinIO and their like: path style, signed by us, tried again.
 *
 * Names: bucket and key as tr_s3_check_name() takes them; keys are any UTF-8 without control
 * characters. Every call tries again after 5xx, 429 and broken connections as the HTTP client's
 * settings say, and returns
 *     TR_E_NOTFOUND  no such bucket or object (the sentence says which)
 *     TR_E_DENIED    key, secret, clock or rights: a person has to mend it
 *     TR_E_RETRY     the server is away or overloaded, also after the last try
 *     TR_E_LOST      the HTTP client was stopped
 *     TR_E_FATAL, TR_E_LIMIT, TR_E_IO
 */
#ifndef NET_S3_H
#define NET_S3_H

#include <stdint.h>

#include "base/buf.h"
#include "net/http.h"

struct tr_s3_conf {
    const char *endpoint;   /* "http://127.0.0.1:9000", a path below it is allowed */
    const char *region;     /* NULL: us-east-1, as MinIO has it by default */
    const char *access_key; /* both are needed */
    const char *secret_key;
    const char *token; /* of a temporary credential, or NULL */
    int page_keys;     /* of a list, asked for at once; 0: the server's own ceiling, 1,000 */
};

/* One thread at a time; borrows `http`, and copies the settings. */
struct tr_s3;
int tr_s3_new(const struct tr_s3_conf *conf, struct tr_http *http, struct tr_s3 **ret,
              struct tr_err *err);
void tr_s3_free(struct tr_s3 *s);
void tr_s3_freep(struct tr_s3 **s);

/* Store bytes, or a file from its start. An object that is there is replaced. */
int tr_s3_put(struct tr_s3 *s, const char *bucket, const char *key, const void *bytes, size_t len,
              const char *content_type, struct tr_err *err);
int tr_s3_put_fd(struct tr_s3 *s, const char *bucket, const char *key, int fd,
                 const char *content_type, struct tr_err *err);

struct tr_s3_want {
    int fd;             /* an empty file */
    uint64_t max_bytes; /* more is TR_E_LIMIT */
    const char *sha256; /* 64 lower-case digits, or NULL */
};
int tr_s3_get(struct tr_s3 *s, const char *bucket, const char *key, const struct tr_s3_want *want,
              uint64_t *ret_size, struct tr_err *err);

struct tr_s3_head {
    uint64_t size;
    char etag[160];
};
int tr_s3_head(struct tr_s3 *s, const char *bucket, const char *key, struct tr_s3_head *ret,
               struct tr_err *err);

/* A missing object is fine: it is gone. */
int tr_s3_delete(struct tr_s3 *s, const char *bucket, const char *key, struct tr_err *err);

/* Call each() for every key that begins with `prefix` ("" for all), in the server's order; a
 * negative result of it ends the walk and is returned. */
int tr_s3_list(struct tr_s3 *s, const char *bucket, const char *prefix,
               int (*each)(void *arg, const char *key, uint64_t size, struct tr_err *err),
               void *arg, struct tr_err *err);

/* Append an address with which anybody may GET or PUT this object until it runs out. */
int tr_s3_presign(struct tr_s3 *s, const char *method, const char *bucket, const char *key,
                  int64_t expires_s, struct tr_buf *out, struct tr_err *err);

#endif
