/* SPDX-License-Identifier: MIT
 *
 * cli/queue_cli.h - what the subcommands of `tribunal queue` share.
 */
#ifndef CLI_QUEUE_CLI_H
#define CLI_QUEUE_CLI_H

#include <stdio.h>

#include <tribunal/queue.h>

#include "cli/cli.h"

/* First in every `struct options` of these commands. */
struct queue_common {
    const char *db;
    bool json;
};

#define QUEUE_ITEM_DB(opts_)                                                                       \
    {                                                                                              \
        .name = "db", .type = TR_CONF_STRING, .at = offsetof(opts_, common.db), .unit = "URL",     \
        .doc = "database: sqlite:PATH, postgres://… or mysql://…", .flags = TR_CONF_REQUIRED       \
    }
#define QUEUE_ITEM_JSON(opts_)                                                                     \
    {                                                                                              \
        .name = "json", .type = TR_CONF_BOOL, .at = offsetof(opts_, common.json),                  \
        .doc = "print one JSON document", .flags = TR_CONF_CLI_ONLY                                \
    }
/* The driver for a URL, of those this build has; NULL and a sentence otherwise. */
const struct tq_driver *queue_driver(const char *url, struct tr_err *err);
int queue_open(const char *url, tq **ret, struct tr_err *err);
void queue_closep(tq **q);
void queue_batch_freep(tq_batch **b);

/* A job number given as argument. */
int queue_parse_id(const char *text, int64_t *ret, struct tr_err *err);

/* "text" with everything escaped that JSON or a terminal could trip over; bytes that are not UTF-8
 * become U+FFFD. */
void queue_json_text(FILE *out, const void *bytes, size_t len);
void queue_json_job(FILE *out, const struct tq_job *j, bool with_payload);
/* One line of a table. */
void queue_print_job(FILE *out, const struct tq_job *j);

#endif
