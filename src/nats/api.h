/* SPDX-License-Identifier: MIT
 *
 * nats/api.h - JetStream by its JSON requests.
 *
 * Not by libnats's structs: those know the settings of the server they were written for, and an
 * update through them would wipe what a newer server or its operator has set besides.
 */
#ifndef NATS_API_H
#define NATS_API_H

#include <jansson.h>

#include "base/err.h"
#include "nats/conn.h"

/* What the server calls its errors, as far as we look at them. */
enum {
    TR_JS_CLUSTER_UNAVAILABLE = 10008,
    TR_JS_CONSUMER_CREATE = 10012, /* also: "this cannot be changed" */
    TR_JS_CONSUMER_NOT_FOUND = 10014,
    TR_JS_NO_MESSAGE = 10037,
    TR_JS_NOT_FOR_ACCOUNT = 10039,
    TR_JS_STREAM_UPDATE = 10052, /* "this cannot be changed" */
    TR_JS_TOO_LARGE = 10054,
    TR_JS_STREAM_NOT_FOUND = 10059,
    TR_JS_SUBJECT_OVERLAP = 10065,
    TR_JS_NO_REPLICAS = 10074,
    TR_JS_OFF = 10076,
    TR_JS_STORE_FAILED = 10077
};

/* Ask "$JS.API." + `what` with `body` (NULL: none) and give the answer, which the caller
 * json_decref()s. Asked again while the server has no leader, until the request's time is over.
 * *ret_code (may be NULL) is the server's own number of the error, 0 when it was not the server.
 *   TR_E_NOTFOUND     no such stream, consumer or message
 *   TR_E_UNSUPPORTED  JetStream is off
 *   TR_E_DENIED       the account or the user may not
 *   TR_E_RETRY, TR_E_TIMEOUT, TR_E_FATAL (the server's sentence) */
int tr_js_ask(struct tr_nats *n, const char *what, const json_t *body, json_t **ret, int *ret_code,
              struct tr_err *err);

/* "what" made from a format. */
int tr_js_askf(struct tr_nats *n, const json_t *body, json_t **ret, int *ret_code,
               struct tr_err *err, const char *fmt, ...) __attribute__((format(printf, 6, 7)));

static inline void tr_js_unrefp(json_t **j)
{
    json_decref(*j);
}

struct tr_js_ack {
    char stream[64];
    uint64_t seq;
    bool duplicate; /* the server had this id already and stored nothing */
};

/* Store bytes under a message id. Sent again with the same id while the connection or the cluster
 * is away and until the request's time is over, so an uncertain outcome becomes certain.
 *   TR_E_NOTFOUND  no stream takes the subject
 *   TR_E_BUSY      the stream is full
 *   TR_E_LIMIT     too large for the stream or the server
 *   TR_E_UNSURE    it may or may not be stored: the same id may be sent again */
int tr_js_publish(struct tr_nats *n, const char *subject, const char *msg_id, const void *bytes,
                  size_t len, struct tr_js_ack *ret, struct tr_err *err);

#endif
