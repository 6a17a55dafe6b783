/* SPDX-License-Identifier: MIT
 *
 * opts.c - from the options of a command to a connection.
 */
#include "nats/opts.h"

#include "base/arena.h"
#include "nats/context.h"

#define DEFAULT_SERVER "nats://127.0.0.1:4222"

enum {
    ARENA_MAX = 1024 * 1024
};

int tr_nats_opts_open(const struct tr_nats_opts *opts, const struct tr_nats_watch *watch,
                      struct tr_nats **ret, struct tr_err *err)
{
    struct tr_nats_conf conf = opts->conf;
    struct tr_arena arena; /* opening keeps no texts */
    int r = 0;

    tr_arena_init(&arena, ARENA_MAX);
    if (opts->context)
        r = tr_nats_context(opts->context, &arena, &conf, err);
    if (!conf.server)
        conf.server = DEFAULT_SERVER;
    if (r == 0)
        r = tr_nats_open(&conf, watch, ret, err);
    tr_arena_done(&arena);
    return r;
}
