/* SPDX-License-Identifier: MIT
 *
 * worker/modes.h - tasks from a controller, or from a database's queue, instead of NATS: the
 * settings and the opening of these sources.
 */
#ifndef WORKER_MODES_H
#define WORKER_MODES_H

#include "rt/conf.h"
#include "source/source.h"

struct worker_options;

struct worker_modes {
    struct tr_conf_list controllers;
    const char *key;
    const char *queues;
    const char *redis;
    int64_t queue_depth;
    int64_t lease_us;
};

/* Rows for the worker's table. */
/* NOLINTBEGIN(bugprone-macro-parentheses): a type and a member cannot have any */
#define MODES_ITEMS(opts, member)                                                                  \
    {.name = "controller",                                                                         \
     .type = TR_CONF_LIST,                                                                         \
     .at = offsetof(opts, member.controllers),                                                     \
     .unit = "URL",                                                                                \
     .doc = "take tasks from this controller (ws:// or wss://); more than one: the next is tried " \
            "when one is gone"},                                                                   \
        {.name = "key",                                                                            \
         .type = TR_CONF_STRING,                                                                   \
         .at = offsetof(opts, member.key),                                                         \
         .doc = "this judge's key, from 'tribunal keys new --role judge'",                         \
         .flags = TR_CONF_SECRET},                                                                 \
        {.name = "queue-depth",                                                                    \
         .type = TR_CONF_INT,                                                                      \
         .at = offsetof(opts, member.queue_depth),                                                 \
         .max = 1024,                                                                              \
         .unit = "N",                                                                              \
         .doc = "most tasks to hold at once, running and waiting; 0: as many as run"},             \
        {.name = "data-redis",                                                                     \
         .type = TR_CONF_STRING,                                                                   \
         .at = offsetof(opts, member.redis),                                                       \
         .unit = "URL",                                                                            \
         .doc = "Redis that the judges of a site share for test data: redis://HOST:PORT"},         \
        {.name = "lease",                                                                          \
         .type = TR_CONF_DURATION,                                                                 \
         .at = offsetof(opts, member.lease_us),                                                    \
         .fallback = "30s",                                                                        \
         .min = 1000000,                                                                           \
         .max = INT64_C(3600000000),                                                               \
         .unit = "TIME",                                                                           \
         .doc = "with --queues: a job whose worker is silent for that long goes to another"},      \
    {                                                                                              \
        .name = "queues", .type = TR_CONF_STRING, .at = offsetof(opts, member.queues),             \
        .unit = "NAMES",                                                                           \
        .doc = "take tasks from these queues of --db, with commas between; no controller needed"   \
    }

/* NOLINTEND(bugprone-macro-parentheses) */

/* What these modes change in the settings; before worker_defaults(). */
int modes_defaults(struct worker_options *o, struct tr_arena *arena, struct tr_err *err);

/* For people: where the tasks come from. */
const char *modes_where(const struct worker_options *o);

/* Open the source that the settings ask for: 0, MODE_NATS when it is neither of these, TR_E_*. */
enum {
    MODE_NATS = 1
};
int modes_open(const struct tr_source_host *host, const struct worker_options *o,
               struct tr_arena *arena, struct tr_source **ret, struct tr_err *err);

#endif
