/* SPDX-License-Identifier: MIT
 *
 * data/pack.h - a problem's folder as an archive that judges fetch, and the hash of what is in it.
 */
#ifndef DATA_PACK_H
#define DATA_PACK_H

#include <stdint.h>

#include "base/err.h"
#include "codec/sha256.h"

enum {
    TR_PACK_FILES_MAX = 10000 /* as many as unpacking takes */
};
#define TR_PACK_BYTES_MAX (UINT64_C(2) * 1024 * 1024 * 1024)

/* A cheap mark that changes whenever a file's name, size or time does: names, sizes and times only.
 */
int tr_pack_mark(const char *folder, char out[static TR_SHA256_HEX], struct tr_err *err);

/* The hash of the manifest: every file's path, size and SHA-256, in order of their names. Files and
 * folders whose names begin with '.' are not part of a problem; links and devices are refused. */
int tr_pack_manifest(const char *folder, char out[static TR_SHA256_HEX], struct tr_err *err);

/* Write the archive to `path` (complete or not at all) and give its SHA-256 and size. */
int tr_pack_zip(const char *folder, const char *path, char out[static TR_SHA256_HEX],
                uint64_t *ret_size, struct tr_err *err);

#endif
