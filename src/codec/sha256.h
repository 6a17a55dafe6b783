/* SPDX-License-Identifier: MIT
 *
 * codec/sha256.h - SHA-256 and HMAC-SHA-256, in one piece or as the bytes come.
 */
#ifndef CODEC_SHA256_H
#define CODEC_SHA256_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum {
    TR_SHA256_BYTES = 32,
    TR_SHA256_HEX = 65 /* with the closing 0 */
};

struct tr_sha256; /* one thread at a time */

/* NULL when memory is out. */
struct tr_sha256 *tr_sha256_new(void);
void tr_sha256_free(struct tr_sha256 *h);
void tr_sha256_freep(struct tr_sha256 **h);

/* Begin anew, also after the end. */
void tr_sha256_reset(struct tr_sha256 *h);
void tr_sha256_add(struct tr_sha256 *h, const void *bytes, size_t len);
/* A text with its length before it, so that ("ab","c") and ("a","bc") differ; NULL differs from "".
 */
void tr_sha256_add_text(struct tr_sha256 *h, const char *text);
void tr_sha256_end_hex(struct tr_sha256 *h, char out[static TR_SHA256_HEX]);

void tr_sha256_hex(const void *bytes, size_t len, char out[static TR_SHA256_HEX]);
void tr_hmac_sha256(const void *key, size_t key_len, const void *bytes, size_t len,
                    uint8_t out[static TR_SHA256_BYTES]);
void tr_hex(const uint8_t *bytes, size_t len, char *out); /* out has 2 * len + 1 bytes */

/* The hash of all of fd, which is read from its start by pread and keeps its position. */
int tr_sha256_fd(int fd, char out[static TR_SHA256_HEX], struct tr_err *err);

/* 0, or TR_E_PARSE when `text` is not 64 hex digits. Upper case is accepted; out is lower case. A
 * leading "sha256:" is too: people paste it. */
int tr_sha256_parse(const char *text, char out[static TR_SHA256_HEX], struct tr_err *err);

#endif
