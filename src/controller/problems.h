/* SPDX-License-Identifier: MIT
 *
 * controller/problems.h - the problems of this controller: a folder each, every version kept as an
 * archive under its hash.
 *
 *     <problems>/a-plus-b/…             what people edit; looked at every few seconds
 *     <data>/packages/<sha256>.zip      what judges fetch
 *     <data>/packages/a-plus-b/<version>.json   which archive a version is
 *
 * Reading, hashing and packing happen on a thread of libuv's pool; the list belongs to the loop.
 */
#ifndef CONTROLLER_PROBLEMS_H
#define CONTROLLER_PROBLEMS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "codec/sha256.h"

struct ctl;
struct problems;

enum {
    PROBLEM_ID_MAX = 64,
    PROBLEMS_MAX = 10000
};

struct problem {
    char id[PROBLEM_ID_MAX + 1];
    char name[128], format[32];
    char mark[TR_SHA256_HEX];    /* of names, sizes and times: nothing to do while it is the same */
    char version[TR_SHA256_HEX]; /* of the manifest */
    char data[TR_SHA256_HEX];    /* of the archive; "" when it cannot be used */
    uint64_t size;
    int64_t tests, time_ms, memory_kib, updated_us;
    bool oi, interactive;
    char error[256]; /* why it cannot be used, or "" */
};

int problems_open(struct ctl *ctl, struct problems **ret, struct tr_err *err);
void problems_close(struct problems *p);

const struct problem *problems_find(const struct problems *p, const char *id);
size_t problems_count(const struct problems *p);
const struct problem *problems_at(const struct problems *p, size_t i);
bool problem_id_ok(const char *id);

/* Look at the folder again; fn(arg, changed) when that is done (NULL: nobody waits). */
void problems_rescan(struct problems *p, void (*fn)(void *arg, int changed), void *arg);
/* An uploaded archive becomes problem `id`; fn(arg, 0 or TR_E_*, err) when it is in the list. */
void problems_put(struct problems *p, const char *id, int zip_fd,
                  void (*fn)(void *arg, int result, const struct tr_err *err), void *arg);

json_t *problem_json(struct ctl *ctl, const struct problem *p);
/* Its versions, newest first; NULL when memory is out. Reads a few small files. */
json_t *problem_versions_json(struct ctl *ctl, const struct problem *p);

/* An archive by its handle: an fd for reading and its size, or TR_E_NOTFOUND. */
int problems_open_data(struct ctl *ctl, const char *sha256, uint64_t *ret_size, struct tr_err *err);

#endif
