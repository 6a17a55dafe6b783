/* SPDX-License-Identifier: MIT
 *
 * nats/provision.h - make the server as planned, or say how it differs.
 */
#ifndef NATS_PROVISION_H
#define NATS_PROVISION_H

#include "nats/conf.h"
#include "nats/plan.h"

struct tr_nats;

/* 3 on a cluster of three and more, else 1. */
int tr_nats_usual_replicas(struct tr_nats *n);

/* The live configuration of an item: 1 and *ret_info (the caller json_decref()s it), 0 when there
 * is none, or TR_E_*. *ret_info is the whole answer, which holds *ret_config. */
int tr_nats_live(struct tr_nats *n, const struct tr_plan_item *item, json_t **ret_info,
                 const json_t **ret_config, struct tr_err *err);

enum tr_provisioned {
    TR_UNCHANGED,
    TR_CREATED,
    TR_UPDATED,
    TR_RECREATED
};

/* Create or update one item. Some settings can be given only at creation: with `recreate` a
 * consumer is then deleted and made anew (its tasks stay in the stream and are delivered again),
 * and a stream only when it is empty; else TR_E_FATAL with what to do. Harmless to repeat. */
int tr_nats_provision(struct tr_nats *n, const struct tr_plan_item *item, bool recreate,
                      enum tr_provisioned *ret, struct tr_err *err);

#endif
