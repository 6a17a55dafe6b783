/* SPDX-License-Identifier: MIT
 *
 * data/hash.h - SHA-256, the name of everything that is kept by content.
 */
#ifndef DATA_HASH_H
#define DATA_HASH_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "net/sha256.h"

struct tr_hash; /* one running computation */

struct tr_hash *tr_hash_new(void); /* NULL when memory is out */
void tr_hash_free(struct tr_hash *h);
static inline void tr_hash_freep(struct tr_hash **h)
{
    tr_hash_free(*h);
}
void tr_hash_add(struct tr_hash *h, const void *bytes, size_t len);
/* A text with its length before it, so that ("ab","c") and ("a","bc") differ. */
void tr_hash_add_text(struct tr_hash *h, const char *text);
void tr_hash_hex(struct tr_hash *h, char out[static TR_SHA256_HEX]); /* ends it */

/* Of a whole file, from its start; the position does not move. */
int tr_hash_fd(int fd, char out[static TR_SHA256_HEX], struct tr_err *err);

#endif
