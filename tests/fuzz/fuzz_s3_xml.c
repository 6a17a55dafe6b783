/* SPDX-License-Identifier: MIT
 *
 * Property: any bytes give keys that are valid UTF-8 without control characters and within their
 * ceiling, or a sentence; an error document's texts are printable.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/utf8.h"
#include "net/s3_xml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_printable(const char *s, size_t max)
{
    size_t len = strlen(s);

    assert(len < max && tr_utf8_valid(s, len));
    for (size_t i = 0; i < len; i++)
        assert((unsigned char)s[i] >= 0x20 && s[i] != 0x7f);
}

static int each(void *arg, const char *key, uint64_t size, struct tr_err *err)
{
    assert(key[0] && size <= INT64_MAX);
    check_printable(key, TR_S3_XML_TEXT_MAX);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tr_err err = TR_ERR_INIT;
    struct tr_s3_list_end end;
    struct tr_s3_problem p;
    const char *xml = size ? (const char *)data : "";
    int r = tr_s3_parse_list(xml, size, each, NULL, &end, &err);

    assert((r < 0) == (err.msg[0] != '\0'));
    if (r == 0)
        assert(strlen(end.next) < sizeof(end.next));
    tr_s3_parse_problem(xml, size, &p);
    check_printable(p.code, sizeof(p.code));
    check_printable(p.message, sizeof(p.message));
    return 0;
}
