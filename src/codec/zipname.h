/* SPDX-License-Identifier: MIT
 *
 * codec/zipname.h - names inside an archive, before any of them becomes a path.
 */
#ifndef CODEC_ZIPNAME_H
#define CODEC_ZIPNAME_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

enum {
    TR_ZIP_NAME_MAX = 1024,
    TR_ZIP_PART_MAX = 255,
    TR_ZIP_DEPTH_MAX = 16
};

/* 0 when the name is a plain relative path of ordinary parts; *ret_folder says whether it names a
 * folder (a slash at its end). TR_E_PARSE for everything else: absolute, "..", ".", empty parts,
 * backslashes, control characters, invalid UTF-8, a drive letter, too long or too deep. */
int tr_zip_name_check(const char *name, size_t len, bool *ret_folder, struct tr_err *err);

#endif
