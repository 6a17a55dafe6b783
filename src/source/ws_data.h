/* SPDX-License-Identifier: MIT
 *
 * source/ws_data.h - archives from the controller into the judge's cache, beside the loop.
 *
 * Each archive is fetched once however many tasks wait for it, by a thread of libuv's pool: from
 * the disk cache, else from Redis where one is configured, else from the controller by HTTP, with
 * Range after a break. Its hash is checked before it is unpacked.
 */
#ifndef SOURCE_WS_DATA_H
#define SOURCE_WS_DATA_H

#include <jansson.h>

#include "rt/loop.h"

struct tr_ws_data;

struct tr_ws_data_conf {
    struct tr_loop *loop;
    const char *folder;   /* the cache; slots use the same */
    uint64_t max_bytes;   /* of it */
    uint64_t max_archive; /* of one archive; 0: 1 GiB */
    const char *ca_file;  /* or NULL */
    const char *redis;    /* address, or NULL */
    void *arg;
    /* On the loop: the archive is in the cache, or why not. */
    void (*done)(void *arg, const char *sha256, int r, const struct tr_err *err);
};

/* Texts outlive it. */
int tr_ws_data_new(const struct tr_ws_data_conf *conf, struct tr_ws_data **ret, struct tr_err *err);
/* What is being fetched is stopped; done() is not called any more. The loop has to turn for it. */
void tr_ws_data_free(struct tr_ws_data *d);

/* Begin, or go on with a new credential when it is under way already; done() follows once. */
int tr_ws_data_get(struct tr_ws_data *d, const char *sha256, const char *url,
                   const char *credential, struct tr_err *err);

/* {"entries", "bytes", "hits", "misses", "redis_hits"}; and the handles that are here, as an array
 * of at most 1,000. The first is as of the last change. */
json_t *tr_ws_data_stats(struct tr_ws_data *d);
json_t *tr_ws_data_handles(struct tr_ws_data *d);

#endif
