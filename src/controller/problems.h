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
    PROBLEMS_MAX = 10000,
    PROBLEM_FINDINGS_MAX = 1024
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
    char error[256];                     /* why it cannot be used, or "" */
    char findings[PROBLEM_FINDINGS_MAX]; /* what is odd but not wrong, a line each */
};

int problems_open(struct ctl *ctl, struct problems **ret, struct tr_err *err);
void problems_close(struct problems *p);

const struct problem *problems_find(const struct problems *p, const char *id);
size_t problems_count(const struct problems *p);
const struct problem *problems_at(const struct problems *p, size_t i);
bool problem_id_ok(const char *id);

/* Look at the folder again; fn(arg, changed) when that is done (NULL: nobody waits). */
void problems_rescan(struct problems *p, void (*fn)(void *arg, int changed), void *arg);
/* An uploaded archive becomes problem `id`; fn(arg, 0 or TR_E_*, err, findings) when it is in the
 * list or was refused; `findings` is what was odd up to there. */
typedef void (*problem_put_fn)(void *arg, int result, const struct tr_err *err,
                               const char *findings);
void problems_put(struct problems *p, const char *id, int zip_fd, problem_put_fn fn, void *arg);

json_t *problem_json(struct ctl *ctl, const struct problem *p);
/* [{level, message}]: the error first when there is one (NULL: none), then a note per line. */
json_t *problem_findings_json(const char *error, const char *findings);
/* Its versions, newest first; NULL when memory is out. Reads a few small files. */
json_t *problem_versions_json(struct ctl *ctl, const struct problem *p);

/* An archive by its handle: an fd for reading and its size, or TR_E_NOTFOUND. */
int problems_open_data(struct ctl *ctl, const char *sha256, uint64_t *ret_size, struct tr_err *err);

#endif
