/* SPDX-License-Identifier: MIT
 *
 * fds.c - no descriptor but those named.
 *
 * A judge once leaked the descriptor of its own result file into the program, which then wrote its
 * own measurements.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "box/container.h"

static int by_number(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* Closes everything from 3 up that is not in `keep`, and puts /dev/null on 0, 1 and 2. */
int box_fds_close_but(const int *keep, size_t n, struct tr_err *err)
{
    int sorted[64] = {0};
    size_t have = 0;
    unsigned from = 3;

    for (size_t i = 0; i < n && have < TR_ARRAY_LEN(sorted); i++) {
        if (keep[i] >= 3)
            sorted[have++] = keep[i];
    }
    qsort(sorted, have, sizeof(sorted[0]), by_number);
    for (size_t i = 0; i < have; i++) {
        unsigned fd = (unsigned)sorted[i];

        if (fd > from && syscall(SYS_close_range, from, fd - 1, 0U) < 0)
            return tr_fail(err, TR_E_IO, errno, "close_range");
        if (fd >= from)
            from = fd + 1;
    }
    if (syscall(SYS_close_range, from, ~0U, 0U) < 0)
        return tr_fail(err, TR_E_IO, errno, "close_range");
    if (syscall(SYS_close_range, 3U, ~0U, CLOSE_RANGE_CLOEXEC) < 0)
        return tr_fail(err, TR_E_IO, errno, "close_range");
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0)
        return tr_fail(err, TR_E_IO, errno, "open /dev/null");
    (void)close(null);
    return 0;
}
