/* SPDX-License-Identifier: MIT
 *
 * Property: a name that passes is relative, has no part that leaves its folder, no byte that could
 * drive a terminal, and ends in a slash exactly when it is called a folder.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "codec/zipname.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tr_err err = TR_ERR_INIT;
    bool folder = false;
    char *name = malloc(size + 3);

    assert(name);
    if (tr_zip_name_check((const char *)data, size, &folder, &err) < 0) {
        assert(err.msg[0]);
        free(name);
        return 0;
    }
    /* "/name/" without a 0 in it: then "/../" finds every part that matters. */
    assert(size > 0 && !memchr(data, 0, size));
    name[0] = '/';
    memcpy(name + 1, data, size);
    name[size + 1] = data[size - 1] == '/' ? 0 : '/';
    name[size + 2] = 0;
    assert(!strstr(name, "/../") && !strstr(name, "/./") && !strstr(name, "//"));
    assert(!strpbrk(name, "\\\n\r\t\x1b"));
    assert(folder == (data[size - 1] == '/'));
    free(name);
    return 0;
}
