/* SPDX-License-Identifier: MIT
 *
 * zipname.c - refuse names that could leave the folder, hide, or surprise a terminal.
 *
 * The files are created below a directory fd with RESOLVE_BENEATH as well; this is the first of the
 * two walls and the one with the clear sentence.
 */
#include "codec/zipname.h"

#include <string.h>

#include "base/utf8.h"

static int refuse(const char *name, size_t len, const char *why, struct tr_err *err)
{
    char shown[65];
    size_t n = len < sizeof(shown) - 1 ? len : sizeof(shown) - 1;

    for (size_t i = 0; i < n; i++)
        shown[i] = name[i] >= ' ' && name[i] < 127 ? name[i] : '?';
    shown[n] = 0;
    return tr_fail(err, TR_E_PARSE, 0, "the archive has an entry '%s': %s", shown, why);
}

static const char *bad_part(const char *part, size_t len)
{
    if (len == 0)
        return "an empty part";
    if (len > TR_ZIP_PART_MAX)
        return "a part of the name is too long";
    if ((len == 1 && part[0] == '.') || (len == 2 && part[0] == '.' && part[1] == '.'))
        return "a name that leaves its folder";
    return NULL;
}

int tr_zip_name_check(const char *name, size_t len, bool *ret_folder, struct tr_err *err)
{
    size_t depth = 0;

    if (len == 0)
        return refuse(name, len, "an empty name", err);
    if (len > TR_ZIP_NAME_MAX)
        return refuse(name, len, "the name is too long", err);
    if (name[0] == '/')
        return refuse(name, len, "an absolute name", err);
    if (len > 1 && name[1] == ':')
        return refuse(name, len, "a drive letter", err);
    if (!tr_utf8_valid(name, len))
        return refuse(name, len, "not valid UTF-8", err);
    for (size_t i = 0; i < len; i++) {
        if ((unsigned char)name[i] < ' ' || name[i] == 127)
            return refuse(name, len, "a control character", err);
        if (name[i] == '\\')
            return refuse(name, len, "a backslash", err);
    }
    for (size_t i = 0; i < len;) {
        const char *slash = memchr(name + i, '/', len - i);
        size_t n = slash ? (size_t)(slash - name) - i : len - i;
        const char *why = bad_part(name + i, n);

        if (why)
            return refuse(name, len, why, err);
        if (++depth > TR_ZIP_DEPTH_MAX)
            return refuse(name, len, "too many folders", err);
        i += n + 1;
    }
    *ret_folder = name[len - 1] == '/';
    return 0;
}
