/* SPDX-License-Identifier: MIT
 *
 * base/buf.h - a growing run of bytes with a ceiling.
 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/* data[len] is always 0 once anything was appended, so text may be used as a C string.
 *
 * A failure (ceiling, memory) sticks: later appends do nothing and tr_buf_check() tells. So a
 * writer appends freely and looks once at the end. */
struct tr_buf {
    char *data;
    size_t len;
    size_t cap;
    size_t max; /* most bytes it will hold, the closing 0 not counted */
    int failed; /* TR_E_LIMIT or TR_E_NOMEM, 0 while all is well */
};

void tr_buf_init(struct tr_buf *b, size_t max);
void tr_buf_done(struct tr_buf *b);  /* for TR_CLEANUP as well */
void tr_buf_clear(struct tr_buf *b); /* len 0 and no failure; keeps the memory */

void tr_buf_add(struct tr_buf *b, const void *bytes, size_t len);
void tr_buf_addc(struct tr_buf *b, char c);
void tr_buf_adds(struct tr_buf *b, const char *s);
void tr_buf_addf(struct tr_buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Room for at least `want` more bytes: the caller writes there and calls tr_buf_grow(). NULL on
 * failure (which sticks). */
char *tr_buf_room(struct tr_buf *b, size_t want);
void tr_buf_grow(struct tr_buf *b, size_t by);

/* Drop `n` bytes from the front. */
void tr_buf_eat(struct tr_buf *b, size_t n);

/* 0, or the sticking failure with a sentence that names `what`. */
int tr_buf_check(const struct tr_buf *b, const char *what, struct tr_err *err);

/* The bytes as a heap string that the caller frees; the buffer is empty afterwards. NULL when the
 * buffer failed or memory is out. */
char *tr_buf_take(struct tr_buf *b);

#endif
