/* SPDX-License-Identifier: MIT
 *
 * cli/api_client.h - ask a controller over its REST API.
 */
#ifndef CLI_API_CLIENT_H
#define CLI_API_CLIENT_H

#include <jansson.h>

#include "base/buf.h"
#include "net/http.h"
#include "rt/conf.h"

struct api {
    struct tr_http *http;
    const char *server; /* "http://127.0.0.1:8080" */
    char authorization[160];
};

/* What every subcommand that asks a controller can be told; `json` is its own to obey. */
struct api_options {
    const char *server, *key, *ca;
    bool json;
};

/* NOLINTBEGIN(bugprone-macro-parentheses): names of types and members cannot be in parentheses */
#define API_ITEMS(owner, member)                                                                   \
    {.name = "server",                                                                             \
     .type = TR_CONF_STRING,                                                                       \
     .at = offsetof(owner, member.server),                                                         \
     .fallback = "http://127.0.0.1:8080",                                                          \
     .unit = "URL",                                                                                \
     .doc = "the controller"},                                                                     \
        {.name = "key",                                                                            \
         .type = TR_CONF_STRING,                                                                   \
         .at = offsetof(owner, member.key),                                                        \
         .unit = "KEY",                                                                            \
         .doc = "API key; default: tribunal-data/admin.key, when there is one",                    \
         .flags = TR_CONF_SECRET},                                                                 \
        {.name = "http-ca",                                                                        \
         .type = TR_CONF_STRING,                                                                   \
         .at = offsetof(owner, member.ca),                                                         \
         .unit = "FILE",                                                                           \
         .doc = "certificates to trust for https; default: the system's"},                         \
    {                                                                                              \
        .name = "json", .type = TR_CONF_BOOL, .at = offsetof(owner, member.json),                  \
        .doc = "print one JSON document", .flags = TR_CONF_CLI_ONLY                                \
    }
/* NOLINTEND(bugprone-macro-parentheses) */

/* Without a key: the one that `tribunal serve` left in this folder, or none; the server may let us
 * in all the same. The texts of `o` must outlive `a`. */
int api_open(struct api *a, const struct api_options *o, struct tr_err *err);
void api_close(struct api *a);

/* One request; body may be NULL. Returns the status and the document (the caller's), or TR_E_*. An
 * error's sentence of the server is in *err, with the class that fits its status. */
int api_ask(struct api *a, const char *method, const char *path, const json_t *body, json_t **ret,
            struct tr_err *err);

/* PUT a zip file: `size` bytes of `fd` from its start. */
int api_upload(struct api *a, const char *path, int fd, uint64_t size, json_t **ret,
               struct tr_err *err);

#endif
