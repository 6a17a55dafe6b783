/* SPDX-License-Identifier: MIT
 *
 * data/redis.h - archives of test data in a Redis that the judges of one site share.
 *
 * A second level between a judge's disk and the controller: what one judge has fetched over a long
 * line, its neighbours take from here. It is a cache and nothing but a cache: every failure means
 * "not there", and what comes out is believed only after its hash was checked by the caller.
 */
#ifndef DATA_REDIS_H
#define DATA_REDIS_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct tr_redis;

struct tr_redis_conf {
    const char *url;    /* redis://[:PASSWORD@]HOST[:PORT][/DB] or unix:PATH */
    uint64_t max_bytes; /* of one archive; 0: 64 MiB (it passes through memory) */
    int64_t keep_s;     /* how long an archive stays after it was stored; 0: a week */
};

/* Checks the address and connects at the first use. One thread at a time. */
int tr_redis_new(const struct tr_redis_conf *conf, struct tr_redis **ret, struct tr_err *err);
void tr_redis_free(struct tr_redis *r);

/* Append the archive to the empty file `fd`: 1 when it was there, 0 when not, TR_E_RETRY when Redis
 * does not answer, TR_E_IO when the file cannot be written. */
int tr_redis_get(struct tr_redis *r, const char *sha256, int fd, struct tr_err *err);

/* Store the whole file `fd`. 1, or 0 when it is over max_bytes. */
int tr_redis_put(struct tr_redis *r, const char *sha256, int fd, struct tr_err *err);

#endif
