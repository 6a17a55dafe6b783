/* SPDX-License-Identifier: MIT
 *
 * net/fetch.h - one call for every address that test data can have.
 */
#ifndef NET_FETCH_H
#define NET_FETCH_H

#include <stdint.h>

#include "net/http.h"
#include "net/s3.h"

struct tr_fetch {
    struct tr_http *http;
    struct tr_s3 *s3;     /* NULL: s3:// and minio:// are refused with a sentence */
    const char *file_dir; /* file:// addresses must lie below it; NULL: they are refused */
};

/* Fetch `url` into the empty file `fd`: at most max_bytes, with this SHA-256 (64 hex digits as
 * tr_sha256_parse() takes them; NULL: any). Errors as tr_http_get_file() and tr_s3_get(), with the
 * address before the sentence. */
int tr_fetch(const struct tr_fetch *f, const char *url, int fd, uint64_t max_bytes,
             const char *sha256, uint64_t *ret_size, struct tr_err *err);

#endif
