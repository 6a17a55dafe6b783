/* SPDX-License-Identifier: MIT
 *
 * nats/conn_private.h - the library's own connection, for those who speak to it directly.
 */
#ifndef NATS_CONN_PRIVATE_H
#define NATS_CONN_PRIVATE_H

#include <nats/nats.h>

#include "nats/conn.h"

natsConnection *tr_nats_raw(struct tr_nats *n);

/* A status of the library as our own failure: "WHAT: …" with what to do next. */
int tr_nats_fail(struct tr_nats *n, natsStatus s, const char *what, struct tr_err *err);

#endif
