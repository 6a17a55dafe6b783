/* SPDX-License-Identifier: MIT
 *
 * cli/nats_opts.h - the options of everything that talks to NATS, once.
 */
#ifndef CLI_NATS_OPTS_H
#define CLI_NATS_OPTS_H

#include "cli/cli.h"
#include "nats/conf.h"
#include "nats/conn.h"

struct cli_nats {
    struct tr_nats_conf conf;
    const char *context;
};

/* Connect as the options say; the caller closes it. */
int cli_nats_open(const struct cli_nats *opts, struct tr_nats **ret, struct tr_err *err);

/* NOLINTBEGIN(bugprone-macro-parentheses): names of types and members cannot be in parentheses */

/* Rows for an option table whose struct `owner` has a struct cli_nats named `member`. */
#define NATS_ITEMS(owner, member)                                                                  \
    {.name = "nats-server",                                                                        \
     .letter = 's',                                                                                \
     .type = TR_CONF_STRING,                                                                       \
     .at = offsetof(owner, member.conf.server),                                                    \
     .unit = "URL",                                                                                \
     .doc = "NATS servers, with commas between [nats://127.0.0.1:4222]"},                          \
        {.name = "nats-context",                                                                   \
         .type = TR_CONF_STRING,                                                                   \
         .at = offsetof(owner, member.context),                                                    \
         .unit = "NAME",                                                                           \
         .doc = "context of the nats tool; options here win over it"},                             \
        {.name = "nats-user",                                                                      \
         .type = TR_CONF_STRING,                                                                   \
         .at = offsetof(owner, member.conf.user),                                                  \
         .unit = "NAME",                                                                           \
         .doc = "user for NATS"},                                                                  \
        {.name = "nats-password",                                                                  \
         .type = TR_CONF_STRING,                                                                   \
         .at = offsetof(owner, member.conf.password),                                              \
         .doc = "password of that user",                                                           \
         .flags = TR_CONF_SECRET},                                                                 \
        {.name = "nats-nkey",                                                                      \
         .type = TR_CONF_STRING,                                                                   \
         .at = offsetof(owner, member.conf.nkey_file),                                             \
         .unit = "FILE",                                                                           \
         .doc = "file with an nkey seed"},                                                         \
        {.name = "nats-creds",                                                                     \
         .type = TR_CONF_STRING,                                                                   \
         .at = offsetof(owner, member.conf.creds_file),                                            \
         .unit = "FILE",                                                                           \
         .doc = "credentials file with JWT and seed"},                                             \
        {.name = "nats-ca",                                                                        \
         .type = TR_CONF_STRING,                                                                   \
         .at = offsetof(owner, member.conf.ca_file),                                               \
         .unit = "FILE",                                                                           \
         .doc = "certificates to trust; switches TLS on"},                                         \
        {.name = "nats-cert",                                                                      \
         .type = TR_CONF_STRING,                                                                   \
         .at = offsetof(owner, member.conf.cert_file),                                             \
         .unit = "FILE",                                                                           \
         .doc = "client certificate"},                                                             \
        {.name = "nats-key",                                                                       \
         .type = TR_CONF_STRING,                                                                   \
         .at = offsetof(owner, member.conf.key_file),                                              \
         .unit = "FILE",                                                                           \
         .doc = "key of the client certificate"},                                                  \
    {                                                                                              \
        .name = "nats-timeout", .type = TR_CONF_DURATION,                                          \
        .at = offsetof(owner, member.conf.timeout_us), .fallback = "5s", .min = 1000,              \
        .max = INT64_C(3600000000), .doc = "how long to wait for NATS"                             \
    }

/* --json for one document on standard output. */
#define JSON_ITEM(owner, member)                                                                   \
    {                                                                                              \
        .name = "json", .type = TR_CONF_BOOL, .at = offsetof(owner, member), .doc = "print JSON",  \
        .flags = TR_CONF_CLI_ONLY                                                                  \
    }

/* NOLINTEND(bugprone-macro-parentheses) */

#endif
