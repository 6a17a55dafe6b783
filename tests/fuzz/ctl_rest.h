/* SPDX-License-Identifier: MIT
 *
 * ctl_rest.h - a controller for fuzz targets: its real parts on a real database in memory, and
 * stand-ins for libwebsockets, the problem folder and the database's threads.
 */
#ifndef CTL_REST_H
#define CTL_REST_H

#include <stddef.h>

struct ctl;

/* What libwebsockets would have read of a request. */
struct rest_request {
    char *path;                 /* libwebsockets hands out its own buffer */
    const char *method, *query; /* the query without "?" */
    const char *head;           /* "name: value\n…", names in lower case */
};

/* A new controller on the empty database; everything of it and in it goes with rest_end(). A judge
 * "j1" is connected, with the credential "ts_j1". */
struct ctl *rest_begin(void);
void rest_end(struct ctl *ctl);

/* Everything that was asked of the database, in its order, and what comes of it. */
void rest_settle(struct ctl *ctl);

/* The request that the stand-ins for libwebsockets show; NULL: none. */
void rest_show(const struct rest_request *r);
/* What was written since the last call; the next call overwrites it. */
const char *rest_written(size_t *ret_len);

#endif
