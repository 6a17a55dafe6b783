/* SPDX-License-Identifier: MIT
 *
 * buf.c - append, with doubling and a ceiling.
 */
#include "base/buf.h"

#include <assert.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    FIRST_CAP = 256
};

void tr_buf_init(struct tr_buf *b, size_t max)
{
    assert(max < SIZE_MAX / 2); /* leaves head-room for doubling and the closing 0 */
    *b = (struct tr_buf){.max = max};
}

void tr_buf_done(struct tr_buf *b)
{
    free(b->data);
    *b = (struct tr_buf){.max = b->max};
}

void tr_buf_clear(struct tr_buf *b)
{
    b->len = 0;
    b->failed = 0;
    if (b->data)
        b->data[0] = '\0';
}

char *tr_buf_room(struct tr_buf *b, size_t want)
{
    if (b->failed)
        return NULL;
    if (want > b->max - b->len) {
        b->failed = TR_E_LIMIT;
        return NULL;
    }
    size_t need = b->len + want + 1;
    if (need > b->cap) {
        size_t cap = b->cap ? b->cap : FIRST_CAP;

        while (cap < need)
            cap *= 2;
        if (cap > b->max + 1)
            cap = b->max + 1;
        char *data = realloc(b->data, cap);
        if (!data) {
            b->failed = TR_E_NOMEM;
            return NULL;
        }
        b->data = data;
        b->cap = cap;
        b->data[b->len] = '\0';
    }
    return b->data + b->len;
}

void tr_buf_grow(struct tr_buf *b, size_t by)
{
    assert(by < b->cap - b->len);
    b->len += by;
    b->data[b->len] = '\0';
}

void tr_buf_add(struct tr_buf *b, const void *bytes, size_t len)
{
    char *room = tr_buf_room(b, len);

    if (!room)
        return;
    if (len > 0)
        memcpy(room, bytes, len);
    tr_buf_grow(b, len);
}

void tr_buf_addc(struct tr_buf *b, char c)
{
    tr_buf_add(b, &c, 1);
}

void tr_buf_adds(struct tr_buf *b, const char *s)
{
    tr_buf_add(b, s, strlen(s));
}

void tr_buf_addf(struct tr_buf *b, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    int len = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (len < 0) {
        b->failed = b->failed ? b->failed : TR_E_NOMEM;
        return;
    }
    char *room = tr_buf_room(b, (size_t)len);
    if (!room)
        return;
    va_start(ap, fmt);
    (void)vsnprintf(room, (size_t)len + 1, fmt, ap); /* same arguments, same length */
    va_end(ap);
    tr_buf_grow(b, (size_t)len);
}

void tr_buf_eat(struct tr_buf *b, size_t n)
{
    assert(n <= b->len);
    if (n == 0)
        return;
    memmove(b->data, b->data + n, b->len - n);
    b->len -= n;
    b->data[b->len] = '\0';
}

int tr_buf_check(const struct tr_buf *b, const char *what, struct tr_err *err)
{
    if (!b->failed)
        return 0;
    if (b->failed == TR_E_LIMIT)
        return tr_fail(err, TR_E_LIMIT, 0, "%s is larger than %zu bytes", what, b->max);
    return tr_fail(err, TR_E_NOMEM, 0, "out of memory for %s", what);
}

char *tr_buf_take(struct tr_buf *b)
{
    if (!tr_buf_room(b, 0))
        return NULL;
    char *data = b->data;

    *b = (struct tr_buf){.max = b->max};
    return data;
}
