/* SPDX-License-Identifier: MIT
 *
 * cli/api_client.h - ask a controller over its REST API.
 */
#ifndef CLI_API_CLIENT_H
#define CLI_API_CLIENT_H

#include <jansson.h>

#include "base/buf.h"
#include "cli/cli.h"
#include "net/http.h"

/* Where a command finds its controller: `api` in the `struct options` of the file that has the
 * rows. */
struct api_options {
    const char *server, *key, *ca;
    int64_t timeout_us; /* of one exchange; 0: 90 s, for those that wait for a verdict */
};

#define API_ITEM_SERVER                                                                            \
    {                                                                                              \
        .name = "server", .type = TR_CONF_STRING, .at = offsetof(struct options, api.server),      \
        .fallback = "http://127.0.0.1:8080", .unit = "URL", .doc = "the controller"                \
    }
#define API_ITEM_KEY(whose_)                                                                       \
    {                                                                                              \
        .name = "key", .type = TR_CONF_STRING, .at = offsetof(struct options, api.key),            \
        .unit = "KEY", .flags = TR_CONF_SECRET,                                                    \
        .doc = "API key" whose_ "; default, for a server on this machine: "                        \
               "tribunal-data/admin.key, when there is one"                                        \
    }
#define API_ITEM_CA                                                                                \
    {                                                                                              \
        .name = "http-ca", .type = TR_CONF_STRING, .at = offsetof(struct options, api.ca),         \
        .unit = "FILE", .doc = "certificates to trust for https; default: the system's"            \
    }

struct api {
    struct tr_http *http;
    const char *server; /* "http://127.0.0.1:8080" */
    char authorization[160];
};

/* Without a key the server may let us in all the same. The texts must outlive `a`. */
int api_open(struct api *a, const struct api_options *o, struct tr_err *err);
/* The same; where no key is given and the server is on this machine, with the one that `tribunal
 * serve` left in this folder. */
int api_open_by(struct api *a, const struct api_options *o, struct tr_err *err);
void api_close(struct api *a);

/* One request; body may be NULL. Returns the status and the document (the caller's), or TR_E_*. An
 * error's sentence of the server is in *err, with the class that fits its status. */
int api_ask(struct api *a, const char *method, const char *path, const json_t *body, json_t **ret,
            struct tr_err *err);

/* PUT a zip file: `size` bytes of `fd` from its start. */
int api_upload(struct api *a, const char *path, int fd, uint64_t size, json_t **ret,
               struct tr_err *err);

#endif
