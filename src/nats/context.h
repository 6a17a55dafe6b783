/* SPDX-License-Identifier: MIT
 *
 * nats/context.h - the contexts of the `nats` tool: where NATS is and who we are, by name.
 */
#ifndef NATS_CONTEXT_H
#define NATS_CONTEXT_H

#include "base/arena.h"
#include "base/err.h"
#include "nats/conf.h"

/* Read $XDG_CONFIG_HOME/nats/context/NAME.json (or ~/.config/…) and fill what `conf` does not have:
 * server, user, password, nkey, creds, ca, cert, key. Texts live in the arena. A field that we do
 * not understand is refused when it would change who we are (token, user_jwt, nsc), else ignored.
 * TR_E_NOTFOUND, TR_E_PARSE. */
int tr_nats_context(const char *name, struct tr_arena *arena, struct tr_nats_conf *conf,
                    struct tr_err *err);

#endif
