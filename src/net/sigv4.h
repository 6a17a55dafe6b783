/* SPDX-License-Identifier: MIT
 *
 * net/sigv4.h - AWS Signature Version 4: pure functions from a request to its signature.
 *
 * libcurl's own signer does not suit S3 (doc/decisions/0402): it leaves out x-amz-content-sha256,
 * signs headers that are being removed, and does not sort the query.
 */
#ifndef NET_SIGV4_H
#define NET_SIGV4_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

struct tr_sigv4_key {
    const char *access;
    const char *secret;
    const char *token; /* of a temporary credential, or NULL */
    const char *region;
    const char *service; /* "s3" */
};

struct tr_pair {
    const char *name;
    const char *value;
};

enum {
    TR_SIGV4_PAIRS_MAX = 32, /* headers of one request, or parameters of one query */
    TR_SIGV4_TIME = 17       /* "20150830T123600Z" with the closing 0 */
};

/* What is signed is what is sent: `path` and `query` are taken as they stand in the request line.
 */
struct tr_sigv4_request {
    const char *method;
    const char *path;  /* percent-encoded, begins with '/' */
    const char *query; /* from tr_sigv4_query(), "" when there is none */
    const struct tr_pair
        *headers; /* lower-case names, each once, any order; "host" is one of them */
    size_t nheaders;
    const char *payload_hash; /* hex SHA-256 of the body, or "UNSIGNED-PAYLOAD" */
};

/* The pairs, unencoded, as a query in canonical order and spelling. */
int tr_sigv4_query(const struct tr_pair *pairs, size_t npairs, struct tr_buf *out,
                   struct tr_err *err);

/* Microseconds since 1970 in the signer's spelling. */
void tr_sigv4_time(int64_t real_us, char out[static TR_SIGV4_TIME]);

/* Append the value of the Authorization header. With a token the caller has put it into the headers
 * as "x-amz-security-token". */
int tr_sigv4_authorize(const struct tr_sigv4_key *key, const struct tr_sigv4_request *req,
                       const char *time, struct tr_buf *out, struct tr_err *err);

/* Append the whole query of a presigned address: who has it may do this one thing for expires_s
 * seconds (at most 7 days). `req` has method, path and the one header "host"; its query and payload
 * are not looked at, and the body is not signed. */
int tr_sigv4_presign(const struct tr_sigv4_key *key, const struct tr_sigv4_request *req,
                     const char *time, int64_t expires_s, struct tr_buf *out, struct tr_err *err);

#endif
