/* SPDX-License-Identifier: MIT
 *
 * source/nats.h - tasks from JetStream (seeds 000 and 001), the truth in the database.
 *
 * Pulls as many tasks as there are free slots. A delivery becomes a run by one fenced update; the
 * lease in the database and the message are kept alive together. At the end: commit → result event
 * → ack; for dead letters: row → letter → terminate. Whatever breaks between two of these steps is
 * repeated by the redelivery, and message ids make the repeats harmless.
 */
#ifndef SOURCE_NATS_H
#define SOURCE_NATS_H

#include "nats/opts.h"
#include "source/source.h"
#include "store/store.h"

enum {
    TR_RETRY_DELAYS_MAX = 16
};

struct tr_source_nats_conf {
    const struct tr_nats_opts *nats;
    const char *consumer;                   /* judge-light or judge-heavy */
    const char *db;                         /* URL */
    bool migrate;                           /* make the tables when they are missing */
    bool progress;                          /* publish an event for each test */
    int64_t delays_us[TR_RETRY_DELAYS_MAX]; /* after faults; as many retries as there are delays */
    int ndelays;
    int64_t watchdog_us; /* between two looks; 0: 30 s */
    int64_t grace_us;    /* a lease that is over for longer is taken back; 0: 5 min */
    int64_t backlog;     /* more waiting tasks raise the alarm; 0: 1000 */
};

int tr_source_nats_open(const struct tr_source_host *host, const struct tr_source_nats_conf *conf,
                        struct tr_source **ret, struct tr_err *err);

#endif
