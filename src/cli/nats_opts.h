/* SPDX-License-Identifier: MIT
 *
 * cli/nats_opts.h - the options of NATS's subcommands.
 */
#ifndef CLI_NATS_OPTS_H
#define CLI_NATS_OPTS_H

#include "cli/cli.h"
#include "nats/opts.h"

/* NOLINTBEGIN(bugprone-macro-parentheses): names of types and members cannot be in parentheses */

/* --json for one document on standard output. */
#define JSON_ITEM(owner, member)                                                                   \
    {                                                                                              \
        .name = "json", .type = TR_CONF_BOOL, .at = offsetof(owner, member), .doc = "print JSON",  \
        .flags = TR_CONF_CLI_ONLY                                                                  \
    }

/* NOLINTEND(bugprone-macro-parentheses) */

#endif
