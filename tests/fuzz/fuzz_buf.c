/* SPDX-License-Identifier: MIT
 *
 * Property: after any sequence of operations the buffer holds what a plain array would, never more
 * than its ceiling, and ends in a 0.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"

enum {
    CEILING = 700
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char want[CEILING];
    size_t len = 0;
    int failed = 0;
    struct tr_buf b;

    tr_buf_init(&b, CEILING);
    for (size_t i = 0; i + 1 < size; i += 2) {
        uint8_t op = data[i] % 5;
        size_t n = data[i + 1];
        char piece[256];

        memset(piece, (int)(i & 0x7f), sizeof(piece));
        if (op == 0 || op == 1) {
            if (!failed && len + n > CEILING)
                failed = 1;
            if (op == 0)
                tr_buf_add(&b, piece, n);
            else
                tr_buf_addf(&b, "%.*s", (int)n, (const char *)memset(piece, 'f', sizeof(piece)));
            if (!failed) {
                memcpy(want + len, piece, n);
                len += n;
            }
        } else if (op == 2) {
            n = n > len ? len : n;
            tr_buf_eat(&b, n);
            memmove(want, want + n, len - n);
            len -= n;
        } else if (op == 3 && n % 16 == 0) {
            tr_buf_clear(&b);
            len = 0;
            failed = 0;
        } else if (op == 4) {
            char *room = tr_buf_room(&b, n);

            if (!failed && len + n > CEILING)
                failed = 1;
            assert((room == NULL) == (failed != 0));
        }
        assert(b.len == len && b.len <= CEILING);
        assert((b.failed != 0) == (failed != 0));
        assert(len == 0 || (memcmp(b.data, want, len) == 0 && b.data[len] == '\0'));
    }
    tr_buf_done(&b);
    return 0;
}
