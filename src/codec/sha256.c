/* SPDX-License-Identifier: MIT
 *
 * sha256.c - OpenSSL's digests behind five plain calls.
 *
 * OpenSSL's calls fail only for want of memory or by misuse; both are bugs or the end here, so they
 * are asserts and the callers stay short.
 */
#include "codec/sha256.h"

#include <assert.h>
#include <errno.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct tr_sha256 {
    EVP_MD_CTX *ctx;
};

struct tr_sha256 *tr_sha256_new(void)
{
    struct tr_sha256 *h = calloc(1, sizeof(*h));

    if (!h)
        return NULL;
    h->ctx = EVP_MD_CTX_new();
    if (!h->ctx) {
        free(h);
        return NULL;
    }
    tr_sha256_reset(h);
    return h;
}

void tr_sha256_free(struct tr_sha256 *h)
{
    if (!h)
        return;
    EVP_MD_CTX_free(h->ctx);
    free(h);
}

void tr_sha256_freep(struct tr_sha256 **h)
{
    tr_sha256_free(*h);
}

void tr_sha256_reset(struct tr_sha256 *h)
{
    int ok = EVP_DigestInit_ex(h->ctx, EVP_sha256(), NULL);

    assert(ok == 1);
}

void tr_sha256_add(struct tr_sha256 *h, const void *bytes, size_t len)
{
    int ok = EVP_DigestUpdate(h->ctx, bytes, len);

    assert(ok == 1);
}

void tr_sha256_add_text(struct tr_sha256 *h, const char *text)
{
    uint64_t len = text ? strlen(text) + 1 : 0;

    tr_sha256_add(h, &len, sizeof(len));
    if (text)
        tr_sha256_add(h, text, len - 1);
}

void tr_hex(const uint8_t *bytes, size_t len, char *out)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < len; i++) {
        out[2 * i] = digits[bytes[i] >> 4];
        out[2 * i + 1] = digits[bytes[i] & 15];
    }
    out[2 * len] = '\0';
}

void tr_sha256_end_hex(struct tr_sha256 *h, char out[static TR_SHA256_HEX])
{
    uint8_t raw[TR_SHA256_BYTES];
    int ok = EVP_DigestFinal_ex(h->ctx, raw, NULL);

    assert(ok == 1);
    tr_hex(raw, sizeof(raw), out);
}

void tr_sha256_hex(const void *bytes, size_t len, char out[static TR_SHA256_HEX])
{
    uint8_t raw[TR_SHA256_BYTES];
    int ok = EVP_Digest(bytes, len, raw, NULL, EVP_sha256(), NULL);

    assert(ok == 1);
    tr_hex(raw, sizeof(raw), out);
}

void tr_hmac_sha256(const void *key, size_t key_len, const void *bytes, size_t len,
                    uint8_t out[static TR_SHA256_BYTES])
{
    const unsigned char *done = HMAC(EVP_sha256(), key, (int)key_len, bytes, len, out, NULL);

    assert(done);
}

int tr_sha256_fd(int fd, char out[static TR_SHA256_HEX], struct tr_err *err)
{
    struct tr_sha256 *h = tr_sha256_new();
    char block[16384];
    int r = 0;

    if (!h)
        return tr_fail(err, TR_E_NOMEM, 0, "out of memory");
    for (off_t at = 0;;) {
        ssize_t n = pread(fd, block, sizeof(block), at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            r = tr_fail(err, TR_E_IO, errno, "read the file to hash");
        if (n <= 0)
            break;
        tr_sha256_add(h, block, (size_t)n);
        at += n;
    }
    if (r == 0)
        tr_sha256_end_hex(h, out);
    tr_sha256_free(h);
    return r;
}

int tr_sha256_parse(const char *text, char out[static TR_SHA256_HEX], struct tr_err *err)
{
    const char *digits = strncmp(text, "sha256:", 7) == 0 ? text + 7 : text;

    if (strlen(digits) != TR_SHA256_HEX - 1 ||
        strspn(digits, "0123456789abcdefABCDEF") != TR_SHA256_HEX - 1)
        return tr_fail(err, TR_E_PARSE, 0, "'%.80s' is not a SHA-256 hash of 64 hex digits", text);
    for (size_t i = 0; i < TR_SHA256_HEX - 1; i++)
        out[i] = (char)(digits[i] >= 'A' && digits[i] <= 'F' ? digits[i] - 'A' + 'a' : digits[i]);
    out[TR_SHA256_HEX - 1] = '\0';
    return 0;
}
