/* SPDX-License-Identifier: MIT
 *
 * Property: every parser accepts or refuses without wrap; what it accepts lies in the range asked
 * for and, shown and parsed again, is the same value. A refusal leaves the output alone.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *s = malloc(size + 1);
    char text[TR_HUMAN_MAX];
    int64_t i = -77;
    uint64_t u = 77;

    if (size)
        memcpy(s, data, size);
    s[size] = '\0';
    if (tr_parse_i64(s, -1000, 1000, &i, NULL) == 0)
        assert(i >= -1000 && i <= 1000 && i == strtoll(s, NULL, 10));
    else
        assert(i == -77);
    if (tr_parse_u64(s, 0, UINT64_MAX, &u, NULL) == 0)
        assert(u == strtoull(s, NULL, 10));
    uint64_t bytes = 0;
    if (tr_parse_size(s, 0, UINT64_MAX, &bytes, NULL) == 0) {
        uint64_t again = 0;

        assert(tr_parse_size(tr_format_size(bytes, text), 0, UINT64_MAX, &again, NULL) == 0);
        assert(again == bytes);
    }
    int64_t us = 0;
    if (tr_parse_duration_us(s, 0, INT64_MAX, &us, NULL) == 0) {
        int64_t again = -1;

        assert(tr_parse_duration_us(tr_format_duration_us(us, text), 0, INT64_MAX, &again, NULL) ==
               0);
        assert(again == us);
    }
    int64_t milli = 0;
    if (tr_parse_milli(s, 0, 100000, &milli, NULL) == 0)
        assert(milli >= 0 && milli <= 100000);
    bool b = false;
    (void)tr_parse_bool(s, &b, NULL);
    free(s);
    return 0;
}
