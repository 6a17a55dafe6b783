/* SPDX-License-Identifier: MIT
 *
 * arena.c - bump allocation in chunks.
 *
 * Small requests share chunks of CHUNK bytes; a large one gets a chunk of its own, put behind the
 * current one so that the rest of the current chunk stays in use.
 */
#include "base/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CHUNK = 16 * 1024,
    LARGE = CHUNK / 4,
    ALIGN = _Alignof(max_align_t)
};

struct tr_arena_chunk {
    struct tr_arena_chunk *next;
    size_t used;
    size_t size;
    _Alignas(max_align_t) unsigned char bytes[];
};

void tr_arena_init(struct tr_arena *a, size_t max)
{
    *a = (struct tr_arena){.max = max};
}

void tr_arena_done(struct tr_arena *a)
{
    struct tr_arena_chunk *c = a->chunks;

    while (c) {
        struct tr_arena_chunk *next = c->next;

        free(c);
        c = next;
    }
    tr_arena_init(a, a->max);
}

static struct tr_arena_chunk *chunk_new(struct tr_arena *a, size_t size)
{
    size_t total = size + sizeof(struct tr_arena_chunk);

    if (total < size || total > a->max - a->held)
        return NULL;
    struct tr_arena_chunk *c = calloc(1, total);
    if (!c)
        return NULL;
    c->size = size;
    a->held += total;
    return c;
}

static struct tr_arena_chunk *chunk_with_room(struct tr_arena *a, size_t size)
{
    struct tr_arena_chunk *head = a->chunks;

    if (head && head->size - head->used >= size)
        return head;
    struct tr_arena_chunk *c = chunk_new(a, size > LARGE ? size : CHUNK);
    if (!c)
        return NULL;
    if (size > LARGE && head) {
        c->next = head->next;
        head->next = c;
    } else {
        c->next = head;
        a->chunks = c;
    }
    return c;
}

void *tr_arena_alloc(struct tr_arena *a, size_t size)
{
    if (size == 0)
        size = 1;
    if (size > SIZE_MAX - ALIGN)
        return NULL;
    size = (size + ALIGN - 1) / ALIGN * ALIGN;
    struct tr_arena_chunk *c = chunk_with_room(a, size);
    if (!c)
        return NULL;
    void *p = c->bytes + c->used;
    c->used += size;
    return p;
}

void *tr_arena_array(struct tr_arena *a, size_t n, size_t size)
{
    size_t total = 0;

    if (__builtin_mul_overflow(n, size, &total))
        return NULL;
    return tr_arena_alloc(a, total);
}

char *tr_arena_strndup(struct tr_arena *a, const char *s, size_t len)
{
    if (len == SIZE_MAX)
        return NULL;
    char *copy = tr_arena_alloc(a, len + 1);
    if (copy && len > 0)
        memcpy(copy, s, len);
    return copy;
}

char *tr_arena_strdup(struct tr_arena *a, const char *s)
{
    return tr_arena_strndup(a, s, strlen(s));
}

char *tr_arena_printf(struct tr_arena *a, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    int len = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (len < 0)
        return NULL;
    char *s = tr_arena_alloc(a, (size_t)len + 1);
    if (!s)
        return NULL;
    va_start(ap, fmt);
    len = vsnprintf(s, (size_t)len + 1, fmt, ap);
    va_end(ap);
    return len < 0 ? NULL : s;
}
