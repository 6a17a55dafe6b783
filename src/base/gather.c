/* SPDX-License-Identifier: MIT
 *
 * gather.c - see gather.h.
 */
#include "base/gather.h"

size_t tr_gather(void **ops, size_t n, tr_kind (*kind)(const void *op))
{
    size_t together = 1;

    if (n == 0)
        return 0;
    for (size_t i = 1; kind(ops[0]) && i < n && kind(ops[i]); i++) {
        void *op = ops[i];

        if (kind(op) != kind(ops[0]))
            continue;
        for (size_t k = i; k > together; k--)
            ops[k] = ops[k - 1];
        ops[together++] = op;
    }
    return together;
}
