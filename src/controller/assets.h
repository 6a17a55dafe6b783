/* SPDX-License-Identifier: MIT
 *
 * assets.h - the pages people see, linked into tribunald.
 *
 * web/ is bundled at build time and dev/embed-web makes the table. Nothing is read from disk while
 * the controller runs, so no path in a request can reach a file.
 */
#ifndef CONTROLLER_ASSETS_H
#define CONTROLLER_ASSETS_H

#include <stdbool.h>
#include <stddef.h>

struct tr_asset {
    const char *path; /* "/assets/app-1A2B3C4D.js" */
    const char *type; /* for Content-Type */
    const char *etag; /* with its quotes; the same for both forms, so send Vary: Accept-Encoding */
    const unsigned char *data;
    size_t len;
    const unsigned char *gz; /* NULL where compressing does not pay */
    size_t gz_len;
    bool immutable; /* a hash of the content is in the name: may be cached for a year */
};

/* The file for the path of a GET request (without query), or NULL when it is none of the pages'.
 * Every address that a page can have gives the index page: the pages read the address themselves.
 * Lives as long as the program. Any thread. */
const struct tr_asset *tr_asset_find(const char *path);

/* The Content-Security-Policy to send with every asset: nothing inline, nothing from elsewhere. */
extern const char tr_asset_csp[];

/* Made by dev/embed-web: the index page first. */
extern const struct tr_asset tr_asset_table[];
extern const size_t tr_asset_count;

#endif
