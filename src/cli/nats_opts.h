/* SPDX-License-Identifier: MIT
 *
 * cli/nats_opts.h - the options of everything that talks to NATS, once.
 */
#ifndef CLI_NATS_OPTS_H
#define CLI_NATS_OPTS_H

#include "cli/cli.h"
#include "nats/conf.h"

/* NOLINTBEGIN(bugprone-macro-parentheses): names of types and members cannot be in parentheses */

/* Rows for an option table whose struct `owner` has a struct tr_nats_conf named `member`. */
#define NATS_ITEMS(owner, member)                                                                  \
    {.name = "nats-server",                                                                        \
     .letter = 's',                                                                                \
     .type = TR_CONF_STRING,                                                                       \
     .at = offsetof(owner, member.server),                                                         \
     .fallback = "nats://127.0.0.1:4222",                                                          \
     .unit = "URL",                                                                                \
     .doc = "NATS servers, with commas between"},                                                  \
        {.name = "nats-user",                                                                      \
         .type = TR_CONF_STRING,                                                                   \
         .at = offsetof(owner, member.user),                                                       \
         .unit = "NAME",                                                                           \
         .doc = "user for NATS"},                                                                  \
        {.name = "nats-password",                                                                  \
         .type = TR_CONF_STRING,                                                                   \
         .at = offsetof(owner, member.password),                                                   \
         .doc = "password of that user",                                                           \
         .flags = TR_CONF_SECRET},                                                                 \
        {.name = "nats-nkey",                                                                      \
         .type = TR_CONF_STRING,                                                                   \
         .at = offsetof(owner, member.nkey_file),                                                  \
         .unit = "FILE",                                                                           \
         .doc = "file with an nkey seed"},                                                         \
        {.name = "nats-creds",                                                                     \
         .type = TR_CONF_STRING,                                                                   \
         .at = offsetof(owner, member.creds_file),                                                 \
         .unit = "FILE",                                                                           \
         .doc = "credentials file with JWT and seed"},                                             \
        {.name = "nats-ca",                                                                        \
         .type = TR_CONF_STRING,                                                                   \
         .at = offsetof(owner, member.ca_file),                                                    \
         .unit = "FILE",                                                                           \
         .doc = "certificates to trust; switches TLS on"},                                         \
        {.name = "nats-cert",                                                                      \
         .type = TR_CONF_STRING,                                                                   \
         .at = offsetof(owner, member.cert_file),                                                  \
         .unit = "FILE",                                                                           \
         .doc = "client certificate"},                                                             \
        {.name = "nats-key",                                                                       \
         .type = TR_CONF_STRING,                                                                   \
         .at = offsetof(owner, member.key_file),                                                   \
         .unit = "FILE",                                                                           \
         .doc = "key of the client certificate"},                                                  \
    {                                                                                              \
        .name = "nats-timeout", .type = TR_CONF_DURATION,                                          \
        .at = offsetof(owner, member.timeout_us), .fallback = "5s", .min = 1000,                   \
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
