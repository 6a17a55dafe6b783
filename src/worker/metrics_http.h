/* SPDX-License-Identifier: MIT
 *
 * worker/metrics_http.h - one page over HTTP: the metrics, for whoever scrapes them.
 */
#ifndef WORKER_METRICS_HTTP_H
#define WORKER_METRICS_HTTP_H

#include "base/buf.h"
#include "rt/loop.h"

struct metrics_http;

/* Listen on "ADDRESS:PORT" (port 0: any; the log says which). `page` fills a buffer. */
int metrics_http_open(struct tr_loop *loop, const char *listen,
                      void (*page)(void *arg, struct tr_buf *out), void *arg,
                      struct metrics_http **ret, struct tr_err *err);
int metrics_http_port(const struct metrics_http *m);
/* After tr_loop_free(), which closes its handles. */
void metrics_http_free(struct metrics_http *m);

#endif
