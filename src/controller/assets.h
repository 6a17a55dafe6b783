/* SPDX-License-Identifier: MIT
 *
 * controller/assets.h - files inside the program: the pages, and openapi.json (dev/embed-assets).
 */
#ifndef CONTROLLER_ASSETS_H
#define CONTROLLER_ASSETS_H

#include <stddef.h>

struct asset {
    const char *path, *type, *etag;
    const unsigned char *bytes;
    size_t len;
    const unsigned char *gzip; /* NULL: it saves nothing */
    size_t gzip_len;
};
extern const struct asset assets[];
extern const size_t assets_count;

#endif
