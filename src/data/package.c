/* SPDX-License-Identifier: MIT
 *
 * package.c - an archive becomes a folder of the cache, whole or not at all.
 */
#include "data/package.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

int tr_package_find(struct tr_cache *c, const char *sha256, int *ret_dirfd, struct tr_err *err)
{
    return tr_cache_get(c, sha256, ret_dirfd, err);
}

static int unpack(struct tr_cache *c, const char *key, int zip, struct tr_err *err)
{
    struct tr_unzip_limits limits;
    char name[TR_CACHE_NAME];
    tr_autoclose int folder = -1;

    tr_unzip_limits_default(&limits);
    int r = tr_cache_begin(c, key, name, &folder, err);
    if (r < 0)
        return r;
    r = tr_unzip(zip, folder, &limits, err);
    /* On the disk before it has its name: a folder that is found after a power cut is whole, and
     * need not be hashed again each time it is read. */
    if (r == 0 && syncfs(folder) < 0)
        r = tr_fail(err, TR_E_IO, errno, "write test data to the disk");
    if (r < 0) {
        tr_cache_abandon(c, key, name);
        return r;
    }
    return tr_cache_commit(c, key, name, err);
}

int tr_package_add(struct tr_cache *c, int fd, const char *sha256, int *ret_dirfd,
                   struct tr_err *err)
{
    char key[TR_SHA256_HEX];
    tr_autoclose int lock = -1;
    int r = tr_sha256_fd(fd, key, err);

    if (r < 0)
        return r;
    if (sha256 && strcmp(key, sha256) != 0)
        return tr_fail(err, TR_E_PARSE, 0, "the archive's SHA-256 is %.12s…, expected %.12s…", key,
                       sha256);
    r = tr_cache_lock(c, key, &lock, err);
    if (r < 0)
        return r;
    r = tr_cache_get(c, key, ret_dirfd, NULL);
    if (r != TR_E_NOTFOUND)
        return r;
    r = unpack(c, key, fd, err);
    if (r < 0)
        return r;
    (void)tr_cache_trim(c, NULL);
    return tr_cache_get(c, key, ret_dirfd, err);
}
