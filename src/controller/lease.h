/* SPDX-License-Identifier: MIT
 *
 * controller/lease.h - runs stay with their judge: renewals by heartbeat, adoption after a break.
 */
#ifndef CONTROLLER_LEASE_H
#define CONTROLLER_LEASE_H

#include <jansson.h>

struct judge;

/* Renew what the judge says it runs and we know to be with it; answers `beat` after COMMIT. `lost`
 * is what it must stop already; taken over. */
void lease_renew(struct judge *g, json_int_t seq, const json_t *running, json_t *lost);

/* Take up what the judge brings from an earlier session; answers `adopted`, makes it ready. */
void lease_adopt(struct judge *g, const json_t *running);

#endif
