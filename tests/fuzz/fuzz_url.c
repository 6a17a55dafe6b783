/* SPDX-License-Identifier: MIT
 *
 * Property: any bytes give an address whose parts are within their ceilings, without control
 * characters and valid for their scheme, or a sentence; encoding a key never makes it longer than
 * three times and leaves only harmless characters.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "net/url.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_plain(const char *s, size_t max)
{
    size_t len = strlen(s);

    assert(len < max);
    for (size_t i = 0; i < len; i++)
        assert((unsigned char)s[i] >= 0x20 && s[i] != 0x7f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    TR_CLEANUP(tr_buf_done) struct tr_buf b = {0};
    struct tr_err err = TR_ERR_INIT;
    struct tr_url u;
    int r = tr_url_parse((const char *)data, size, &u, &err);

    assert((r < 0) == (err.msg[0] != '\0'));
    if (r < 0)
        return 0;
    check_plain(u.host, sizeof(u.host));
    check_plain(u.path, sizeof(u.path));
    assert(!strchr(u.host, '/') && !strchr(u.host, '@'));
    assert(u.scheme == TR_URL_S3 || u.path[0] == '/');
    assert((u.port > 0) == (u.scheme == TR_URL_HTTP || u.scheme == TR_URL_HTTPS));
    if (u.scheme == TR_URL_S3)
        assert(tr_s3_check_name(u.host, u.path, NULL) == 0);
    tr_buf_init(&b, 3 * TR_URL_MAX);
    tr_url_encode(&b, u.path, strlen(u.path), 1);
    assert(tr_buf_check(&b, "path", &err) == 0);
    for (size_t i = 0; i < b.len; i++)
        assert(!strchr("?#&+ \"\\", b.data[i]));
    return 0;
}
