/* SPDX-License-Identifier: MIT
 *
 * cli/api_client.h - ask a controller over its REST API.
 */
#ifndef CLI_API_CLIENT_H
#define CLI_API_CLIENT_H

#include <jansson.h>

#include "base/buf.h"
#include "net/http.h"

struct api {
    struct tr_http *http;
    const char *server; /* "http://127.0.0.1:8080" */
    char authorization[160];
};

/* `key` may be NULL: the server may let us in all the same. */
int api_open(struct api *a, const char *server, const char *key, struct tr_err *err);
void api_close(struct api *a);

/* One request; body may be NULL. Returns the status and the document (the caller's), or TR_E_*. An
 * error's sentence of the server is in *err, with the class that fits its status. */
int api_ask(struct api *a, const char *method, const char *path, const json_t *body, json_t **ret,
            struct tr_err *err);

/* PUT a zip file: `size` bytes of `fd` from its start. */
int api_upload(struct api *a, const char *path, int fd, uint64_t size, json_t **ret,
               struct tr_err *err);

/* The key that was given, or the one that `tribunal serve` left in this folder (read into *found),
 * or NULL. */
const char *api_key(const char *key, struct tr_buf *found);

#endif
