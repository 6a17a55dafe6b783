/* SPDX-License-Identifier: MIT
 *
 * nats/opts.h - the options of everything that talks to NATS, once.
 */
#ifndef NATS_OPTS_H
#define NATS_OPTS_H

#include "nats/conf.h"
#include "nats/conn.h"
#include "nats/envelope.h"
#include "rt/conf.h"

struct tr_nats_opts {
    struct tr_nats_conf conf;
    const char *context;
};

/* Connect as the options say; the caller closes it. `watch` may be NULL. */
int tr_nats_opts_open(const struct tr_nats_opts *opts, const struct tr_nats_watch *watch,
                      struct tr_nats **ret, struct tr_err *err);

/* NOLINTBEGIN(bugprone-macro-parentheses): names of types and members cannot be in parentheses */

#define NATS_TEXT(owner, member, option, word, what)                                               \
    {                                                                                              \
        .name = option, .type = TR_CONF_STRING, .at = offsetof(owner, member), .unit = word,       \
        .doc = what, .flags = TR_CONF_IN_FILE                                                      \
    }

/* Rows for an option table whose struct `owner` has a struct tr_nats_opts named `member`. */
#define NATS_ITEMS(owner, member)                                                                  \
    {.name = "nats-server",                                                                        \
     .letter = 's',                                                                                \
     .type = TR_CONF_STRING,                                                                       \
     .at = offsetof(owner, member.conf.server),                                                    \
     .unit = "URL",                                                                                \
     .doc = "NATS servers, with commas between [nats://127.0.0.1:4222]",                           \
     .flags = TR_CONF_IN_FILE},                                                                    \
        NATS_TEXT(owner, member.context, "nats-context", "NAME",                                   \
                  "context of the nats tool; options here win over it"),                           \
        NATS_TEXT(owner, member.conf.user, "nats-user", "NAME", "user for NATS"),                  \
        {.name = "nats-password",                                                                  \
         .type = TR_CONF_STRING,                                                                   \
         .at = offsetof(owner, member.conf.password),                                              \
         .doc = "password of that user",                                                           \
         .flags = TR_CONF_SECRET | TR_CONF_IN_FILE},                                               \
        NATS_TEXT(owner, member.conf.nkey_file, "nats-nkey", "FILE", "file with an nkey seed"),    \
        NATS_TEXT(owner, member.conf.creds_file, "nats-creds", "FILE",                             \
                  "credentials file with JWT and seed"),                                           \
        NATS_TEXT(owner, member.conf.ca_file, "nats-ca", "FILE",                                   \
                  "certificates to trust; switches TLS on"),                                       \
        NATS_TEXT(owner, member.conf.cert_file, "nats-cert", "FILE", "client certificate"),        \
        NATS_TEXT(owner, member.conf.key_file, "nats-key", "FILE",                                 \
                  "key of the client certificate"),                                                \
    {                                                                                              \
        .name = "nats-timeout", .type = TR_CONF_DURATION,                                          \
        .at = offsetof(owner, member.conf.timeout_us), .fallback = "5s", .min = 1000,              \
        .max = INT64_C(3600000000), .doc = "how long to wait for NATS", .flags = TR_CONF_IN_FILE   \
    }

/* What the streams are planned for. */
#define FARM_ITEMS(owner, replicas_member, slots_member)                                           \
    {.name = "replicas",                                                                           \
     .type = TR_CONF_INT,                                                                          \
     .at = offsetof(owner, replicas_member),                                                       \
     .max = 5,                                                                                     \
     .doc = "copies of each stream: 1, 3 or 5; 0: 3 on a cluster of three and more, else 1",       \
     .flags = TR_CONF_CLI_ONLY},                                                                   \
    {                                                                                              \
        .name = "farm-slots", .type = TR_CONF_INT, .at = offsetof(owner, slots_member),            \
        .fallback = "256", .min = 1, .max = 100000,                                                \
        .doc = "slots of all workers together; max_ack_pending is four times that",                \
        .flags = TR_CONF_IN_FILE                                                                   \
    }

/* Which tasks are heavy. */
#define HEAVY_ITEM(owner, member)                                                                  \
    {                                                                                              \
        .name = "heavy-languages", .type = TR_CONF_STRING, .at = offsetof(owner, member),          \
        .fallback = TR_HEAVY_LANGUAGES, .unit = "SLUGS",                                           \
        .doc = "languages that go to judge.tasks.heavy, with commas between; others are light",    \
        .flags = TR_CONF_IN_FILE                                                                   \
    }

/* NOLINTEND(bugprone-macro-parentheses) */

#endif
