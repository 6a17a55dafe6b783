/* SPDX-License-Identifier: MIT
 *
 * base/cleanup.h - what a scope acquires, the scope releases, on every way out.
 */
#ifndef BASE_CLEANUP_H
#define BASE_CLEANUP_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define TR_CLEANUP(f) __attribute__((cleanup(f)))

#define TR_ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* Hand ownership out of a scope: yields the value and leaves NULL (or -1) behind. */
#define TR_TAKE(p)                                                                                 \
    __extension__({                                                                                \
        __typeof__(p) tr_taken_ = (p);                                                             \
        (p) = NULL;                                                                                \
        tr_taken_;                                                                                 \
    })

static inline int tr_take_fd(int *fd)
{
    int taken = *fd;

    *fd = -1;
    return taken;
}

/* Close and forget. Keeps errno, so that it may stand between a failing call and its report. */
static inline void tr_close(int *fd)
{
    if (*fd >= 0) {
        int saved = errno;

        (void)close(*fd); /* on Linux the fd is gone whatever close says */
        errno = saved;
    }
    *fd = -1;
}

static inline void tr_cleanup_free(void *p)
{
    free(*(void **)p);
}

static inline void tr_cleanup_fclose(FILE **f)
{
    if (*f)
        (void)fclose(*f); /* a writer that cares checks fflush() before */
}

#define tr_autofree TR_CLEANUP(tr_cleanup_free)
#define tr_autoclose TR_CLEANUP(tr_close)
#define tr_autofclose TR_CLEANUP(tr_cleanup_fclose)

#endif
