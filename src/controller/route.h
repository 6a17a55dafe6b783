/* SPDX-License-Identifier: MIT
 *
 * controller/route.h - the table of everything that HTTP can ask for.
 *
 * openapi.json says the same to strangers; a test holds the two together (tribunald --routes).
 */
#ifndef CONTROLLER_ROUTE_H
#define CONTROLLER_ROUTE_H

#include "controller/http.h"

enum route_flags {
    ROUTE_UPLOAD = 1,  /* the body goes to a file, up to the ceiling for archives */
    ROUTE_SESSION = 2, /* a judge's credential instead of an API key */
    ROUTE_LOG = 4      /* the body is a log file of a judge */
};

struct route {
    const char *method, *pattern;
    enum key_role role;
    void (*handle)(struct http_req *req);
    unsigned flags;
};

/* The row for the request, with req->args filled; NULL and *ret_allow (methods that the path does
 * have; "" when there is no such path). */
const struct route *route_find(struct http_req *req, char ret_allow[static 64]);
/* The whole table, for the test. */
void route_print(void);

#endif
