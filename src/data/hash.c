/* SPDX-License-Identifier: MIT
 *
 * hash.c - SHA-256 through OpenSSL's EVP, which uses the processor's instructions where there are.
 */
#include "data/hash.h"

#include <assert.h>
#include <errno.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

struct tr_hash {
    EVP_MD_CTX *md;
};

struct tr_hash *tr_hash_new(void)
{
    struct tr_hash *h = calloc(1, sizeof(*h));

    if (!h)
        return NULL;
    h->md = EVP_MD_CTX_new();
    if (!h->md || EVP_DigestInit_ex(h->md, EVP_sha256(), NULL) != 1) {
        tr_hash_free(h);
        return NULL;
    }
    return h;
}

void tr_hash_free(struct tr_hash *h)
{
    if (h)
        EVP_MD_CTX_free(h->md);
    free(h);
}

void tr_hash_add(struct tr_hash *h, const void *bytes, size_t len)
{
    int ok = EVP_DigestUpdate(h->md, bytes, len);

    assert(ok == 1); /* nothing in it can fail once it was begun */
}

void tr_hash_add_text(struct tr_hash *h, const char *text)
{
    uint64_t len = text ? strlen(text) + 1 : 0;

    tr_hash_add(h, &len, sizeof(len));
    if (text)
        tr_hash_add(h, text, len - 1);
}

void tr_hash_hex(struct tr_hash *h, char out[static TR_SHA256_HEX])
{
    unsigned char raw[EVP_MAX_MD_SIZE];
    unsigned len = 0;
    int ok = EVP_DigestFinal_ex(h->md, raw, &len);

    assert(ok == 1 && len == 32);
    for (unsigned i = 0; i < len; i++)
        (void)snprintf(out + 2 * i, 3, "%02x", raw[i]);
}

int tr_hash_fd(int fd, char out[static TR_SHA256_HEX], struct tr_err *err)
{
    TR_CLEANUP(tr_hash_freep) struct tr_hash *h = tr_hash_new();
    unsigned char block[16 * 1024];
    off_t at = 0;

    if (!h)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory to hash a file");
    for (;;) {
        ssize_t n = pread(fd, block, sizeof(block), at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): its cleanup attribute frees it */
            return tr_fail(err, TR_E_IO, errno, "read a file to hash it");
        if (n == 0)
            break;
        tr_hash_add(h, block, (size_t)n);
        at += n;
    }
    tr_hash_hex(h, out);
    return 0;
}
