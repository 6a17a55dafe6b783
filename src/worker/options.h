/* SPDX-License-Identifier: MIT
 *
 * worker/options.h - the settings of tribunal-worker, seed 001 §2.1's first.
 */
#ifndef WORKER_OPTIONS_H
#define WORKER_OPTIONS_H

#include <jansson.h>

#include "judge/opts.h"
#include "nats/opts.h"
#include "net/s3.h"
#include "pool/setup.h"
#include "rt/conf_common.h"
#include "sink/logs.h"
#include "worker/modes.h"

struct worker_options {
    struct tr_common common;
    const char *worker_id, *consumer;
    int64_t concurrency; /* 0: the consumer's */
    struct tr_nats_opts nats;
    const char *db;
    const char *retry_delays;
    int64_t watchdog_us, grace_us, drain_us, backlog;
    bool progress, migrate, wait;
    /* logs and data */
    const char *log_store, *spool, *state;
    uint64_t log_bytes;
    const char *data_dir, *file_dir, *ca_file;
    uint64_t data_bytes, fetch_bytes;
    struct tr_s3_conf s3;
    const char *metrics_listen;
    bool noop;
    struct slot_options slot;
    const char *user;          /* to become; NULL: stay who we are */
    int launcher;              /* of boxes, when we gave up the rights to make them; 0: none */
    json_t *weak;              /* what the box lacks, looked up with those rights; or NULL */
    struct worker_modes modes; /* where tasks come from, when not from NATS */
};

extern const struct tr_conf_item worker_items[];
extern const size_t worker_nitems;

/* What the defaults depend on: filled in after the settings are read. Texts go to the arena. */
int worker_defaults(struct worker_options *o, struct tr_arena *arena, struct tr_err *err);

/* "5s,10s,30s" */
int worker_delays(const char *text, int64_t *ret, int max, struct tr_err *err);

/* As the slots are told; a heap text. */
int worker_setup(const struct worker_options *o, struct tr_arena *arena, char **ret,
                 struct tr_err *err);

#endif
