/* SPDX-License-Identifier: MIT
 *
 * data/package.h - test data by the hash of its archive, unpacked once.
 */
#ifndef DATA_PACKAGE_H
#define DATA_PACKAGE_H

#include "codec/sha256.h"
#include "data/cache.h"
#include "data/unzip.h"

/* The unpacked folder of an archive that is in the cache already; TR_E_NOTFOUND when it is not, and
 * somebody has to fetch it. The caller closes *ret_dirfd. */
int tr_package_find(struct tr_cache *c, const char *sha256, int *ret_dirfd, struct tr_err *err);

/* Verify that the zip file `fd` has this hash (NULL: whatever it has), unpack it under hard
 * ceilings and keep it. Several processes may ask at once: one unpacks, the others wait for it.
 * TR_E_PARSE when the hash is another, or the archive is bad; nothing is kept then. */
int tr_package_add(struct tr_cache *c, int fd, const char *sha256, int *ret_dirfd,
                   struct tr_err *err);

#endif
