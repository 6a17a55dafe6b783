/* SPDX-License-Identifier: MIT
 *
 * data/cache.h - files and folders kept by the hash of what made them.
 *
 * An entry is root/ab/<64 hex digits>, complete or absent: it is written beside and renamed. Many
 * processes share a cache without talking: a lock file per entry makes one of them work while the
 * others wait (single flight), and whoever adds something removes what was not used for longest
 * when the whole is over its size. An entry that is open stays readable after its removal.
 */
#ifndef DATA_CACHE_H
#define DATA_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct tr_cache;

/* Makes the folder (mode 0700) when it is not there. */
int tr_cache_open(const char *path, uint64_t max_bytes, struct tr_cache **ret, struct tr_err *err);
void tr_cache_close(struct tr_cache *c);
static inline void tr_cache_closep(struct tr_cache **c)
{
    tr_cache_close(*c);
}

/* An fd of the entry for reading (a file, or a folder), marked as used now; TR_E_NOTFOUND. */
int tr_cache_get(struct tr_cache *c, const char *key, int *ret_fd, struct tr_err *err);

/* Wait until nobody else holds the key and hold it; closing the fd lets go. Look with
 * tr_cache_get() again afterwards: the one before may have made the entry. */
int tr_cache_lock(struct tr_cache *c, const char *key, int *ret_lock, struct tr_err *err);

/* Keep a copy of the file `fd` under the key; returns an fd of the copy in *ret_fd (may be NULL).
 */
int tr_cache_put(struct tr_cache *c, const char *key, int fd, int *ret_fd, struct tr_err *err);

/* For folders: make an empty one beside, fill it through *ret_fd, then commit it under the key (or
 * drop it with tr_cache_abandon()). `name` has TR_CACHE_NAME bytes. */
enum {
    TR_CACHE_NAME = 96
};
int tr_cache_begin(struct tr_cache *c, const char *key, char name[static TR_CACHE_NAME],
                   int *ret_fd, struct tr_err *err);
int tr_cache_commit(struct tr_cache *c, const char *key, const char *name, struct tr_err *err);
void tr_cache_abandon(struct tr_cache *c, const char *key, const char *name);

/* Remove what was not used for longest until the rest fits; returns how many entries went. */
int tr_cache_trim(struct tr_cache *c, struct tr_err *err);

/* What is there. The keys of the most recently used, at most `most`, in `keys` (or NULL). Costs a
 * walk through all of it. */
struct tr_cache_stats {
    uint64_t entries, bytes;
};
void tr_cache_look(struct tr_cache *c, struct tr_cache_stats *ret, char (*keys)[65], size_t most);

#endif
