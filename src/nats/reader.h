/* SPDX-License-Identifier: MIT
 *
 * nats/reader.h - read a stream in order without changing anything in it.
 */
#ifndef NATS_READER_H
#define NATS_READER_H

#include "nats/conn.h"

struct tr_reader;

/* Where to begin. */
#define TR_READ_ALL UINT64_C(0) /* with the oldest that is kept */
#define TR_READ_NEW UINT64_MAX  /* with what comes from now on */

/* `filter`: a subject, wildcards allowed. `from`: a sequence, or one of the above. TR_E_NOTFOUND
 * when there is no such stream. */
int tr_reader_open(struct tr_nats *n, const char *stream, const char *filter, uint64_t from,
                   struct tr_reader **ret, struct tr_err *err);
void tr_reader_close(struct tr_reader *r);
void tr_reader_closep(struct tr_reader **r);

/* How many messages were waiting when it was opened. */
uint64_t tr_reader_waiting(const struct tr_reader *r);

struct tr_read {
    const char *subject;
    const char *data; /* never NULL */
    size_t len;
    uint64_t seq;
    int64_t time_us;  /* when it was stored, since 1970 */
    uint64_t pending; /* how many are behind it */
    void *owner;      /* tr_read_done() */
};
void tr_read_done(struct tr_read *m);

/* The next message: 1 (and tr_read_done() afterwards), or 0 when none came within wait_ms. A server
 * that restarts, a leader that moves, a reader that was forgotten: it finds its place again by
 * itself and misses nothing that the stream still holds. TR_E_NOTFOUND when the stream is gone,
 * TR_E_DENIED. */
int tr_reader_next(struct tr_reader *r, int64_t wait_ms, struct tr_read *ret, struct tr_err *err);

#endif
