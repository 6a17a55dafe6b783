/* SPDX-License-Identifier: MIT
 *
 * source/ws_source.h - a worker whose tasks come from a controller (doc/protocol.md).
 */
#ifndef SOURCE_WS_SOURCE_H
#define SOURCE_WS_SOURCE_H

#include <jansson.h>

#include "source/source.h"

/* Texts outlive the source. */
struct tr_source_ws_conf {
    const char *const *controllers; /* ws:// or wss:// addresses, one or more */
    size_t ncontrollers;
    const char *key;      /* "tj_…" */
    const char *version;  /* of this program */
    json_t *parameters;   /* of `ready`: languages, cores, …; borrowed */
    const char *data_dir; /* as in the slots' setup */
    uint64_t data_bytes;
    const char *redis;   /* second level of the data cache, or NULL */
    const char *ca_file; /* or NULL */
    unsigned tokens;     /* 0: as many as slots */
    bool no_logs;
};

int tr_source_ws_open(const struct tr_source_host *host, const struct tr_source_ws_conf *conf,
                      struct tr_source **ret, struct tr_err *err);

#endif
