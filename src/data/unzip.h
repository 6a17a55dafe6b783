/* SPDX-License-Identifier: MIT
 *
 * data/unzip.h - unpack an archive that a stranger made.
 */
#ifndef DATA_UNZIP_H
#define DATA_UNZIP_H

#include <stdint.h>

#include "base/err.h"

struct tr_unzip_limits {
    uint64_t entries; /* files and folders */
    uint64_t bytes;   /* unpacked, all together */
    uint64_t ratio;   /* unpacked bytes per packed byte, for files over 1 MiB */
};
void tr_unzip_limits_default(struct tr_unzip_limits *l); /* 10,000 · 2 GiB · 1,000 */

/* Unpack the zip file `fd` into the empty folder `dirfd`. Regular files and folders only, modes
 * 0644 and 0755 whatever the archive says; links, devices, encrypted entries, a name twice and
 * every name that codec/zipname.h refuses make the whole archive bad (TR_E_PARSE), passing a
 * ceiling too (TR_E_LIMIT). Sizes are counted while unpacking: what the archive claims is not
 * believed. After a failure the folder holds a part; the caller removes it. */
int tr_unzip(int fd, int dirfd, const struct tr_unzip_limits *limits, struct tr_err *err);

#endif
