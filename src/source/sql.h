/* SPDX-License-Identifier: MIT
 *
 * source/sql.h - a judge straight on the database's queue, with no controller between.
 *
 * Jobs are leased by tribunal/queue_worker.h, like any stranger's. A job carries a whole task
 * (seed 000 §4.1), enqueued by a web site in its own transaction, or the name of a submission that
 * is there already, enqueued by a controller. The row moves to RUNNING in a transaction that also
 * proves the lease, and the verdict is written in the transaction that acks the job.
 */
#ifndef SOURCE_SQL_H
#define SOURCE_SQL_H

#include "source/source.h"
#include "store/store.h"

/* Texts outlive the source. */
struct tr_source_sql_conf {
    const char *db;            /* URL */
    const char *const *queues; /* names; copied, like the array */
    size_t nqueues;
    bool migrate;     /* make the tables when they are missing */
    int64_t lease_us; /* 0: 30 s */
};

int tr_source_sql_open(const struct tr_source_host *host, const struct tr_source_sql_conf *conf,
                       struct tr_source **ret, struct tr_err *err);

#endif
