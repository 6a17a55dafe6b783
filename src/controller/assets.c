/* SPDX-License-Identifier: MIT
 *
 * assets.c - which of the embedded files answers a path.
 */
#include "controller/assets.h"

#include <string.h>

/* Styles too come from our own files only: the pages set single properties through the CSSOM,
 * which this allows, and the editor puts its sheet into a shadow root (doc/decisions/0702). */
const char tr_asset_csp[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/* The first words of the addresses that pages have; web/src/main.jsx has the same list. */
static const char *const pages[] = {"submissions", "submit",   "queues", "dead-letters",
                                    "judges",      "problems", "login"};

static bool is_page(const char *path)
{
    if (path[0] != '/')
        return false;
    if (path[1] == '\0')
        return true;
    size_t len = strcspn(path + 1, "/");

    for (size_t i = 0; i < sizeof(pages) / sizeof(pages[0]); i++) {
        if (strlen(pages[i]) == len && memcmp(pages[i], path + 1, len) == 0)
            return true;
    }
    return false;
}

const struct tr_asset *tr_asset_find(const char *path)
{
    for (size_t i = 0; i < tr_asset_count; i++) {
        if (strcmp(tr_asset_table[i].path, path) == 0)
            return &tr_asset_table[i];
    }
    return is_page(path) ? &tr_asset_table[0] : NULL;
}
