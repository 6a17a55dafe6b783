/* SPDX-License-Identifier: MIT
 *
 * base/arena.h - many small allocations, one release: one arena per task.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stddef.h>

/* An arena belongs to one thread. `max` bounds the bytes it ever takes from the heap, its own
 * bookkeeping included, so that hostile input ends in NULL and not in the OOM killer. */
struct tr_arena {
    struct tr_arena_chunk *chunks;
    size_t held;
    size_t max;
};

void tr_arena_init(struct tr_arena *a, size_t max);
void tr_arena_done(struct tr_arena *a); /* everything handed out becomes invalid */

/* Zeroed, aligned for any type; NULL when memory or the ceiling is reached. A size of 0 gives a
 * valid unique pointer. */
void *tr_arena_alloc(struct tr_arena *a, size_t size) __attribute__((malloc, alloc_size(2)));
void *tr_arena_array(struct tr_arena *a, size_t n, size_t size);
char *tr_arena_strdup(struct tr_arena *a, const char *s);
char *tr_arena_strndup(struct tr_arena *a, const char *s, size_t len);
char *tr_arena_printf(struct tr_arena *a, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#endif
