/* SPDX-License-Identifier: MIT
 *
 * nats_opts.c - from the options of a command to a connection.
 */
#include "cli/nats_opts.h"

#include "base/arena.h"
#include "nats/context.h"

#define DEFAULT_SERVER "nats://127.0.0.1:4222"

enum {
    ARENA_MAX = 1024 * 1024
};

int cli_nats_open(const struct cli_nats *opts, struct tr_nats **ret, struct tr_err *err)
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
        r = tr_nats_open(&conf, NULL, ret, err);
    tr_arena_done(&arena);
    return r;
}
