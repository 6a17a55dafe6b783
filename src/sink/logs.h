/* SPDX-License-Identifier: MIT
 *
 * sink/logs.h - the logs of judged submissions, from the spool folder to where they are kept.
 *
 * On a thread of its own: keeping a log never delays a verdict. A store that is away is tried again
 * until it takes the logs; what is left when the program ends stays in the spool folder, and the
 * next start goes on with it. Failures are counted and told, and are nobody's judge error.
 */
#ifndef SINK_LOGS_H
#define SINK_LOGS_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "net/s3.h"

struct tr_logs;

struct tr_logs_conf {
    const char *store;    /* a folder, file:///folder, s3://bucket[/prefix], minio://bucket */
    const char *spool;    /* folder on this machine; made when missing */
    struct tr_s3_conf s3; /* for s3:// and minio:// */
    const char *ca_file;  /* for https; NULL: the system's */
    int64_t pause_us;     /* before the next try after a failure, doubled up to 32 times; 0: 1 s */
    /* From the thread: something failed and is tried again, or was given up. May be NULL. */
    void (*trouble)(void *arg, const char *submit_id, const struct tr_err *err);
    void *arg;
};

struct tr_logs_counts {
    uint64_t kept, failed, waiting;
};

int tr_logs_open(const struct tr_logs_conf *conf, struct tr_logs **ret, struct tr_err *err);
/* One last pass, then the rest waits in the spool for the next start. */
void tr_logs_close(struct tr_logs *l);

/* The folder in which the slot should write the logs of this run; a heap text. NULL: out of memory.
 */
char *tr_logs_folder(struct tr_logs *l, const char *submit_id, int64_t run_lease);
/* That folder is complete: keep it. Any thread. */
void tr_logs_keep(struct tr_logs *l, const char *folder);
/* It is not wanted: remove it. */
void tr_logs_drop(struct tr_logs *l, const char *folder);

/* Folders of runs whose worker died before it said whether they are wanted: fn() is called for
 * each, and tr_logs_keep() or tr_logs_drop() decides, now or later. None while another living
 * process uses the same spool: they may be its own. How many there were. */
typedef void (*tr_logs_orphan_fn)(void *arg, const char *folder, const char *submit_id,
                                  int64_t run_lease);
size_t tr_logs_orphans(struct tr_logs *l, tr_logs_orphan_fn fn, void *arg);

void tr_logs_counts(struct tr_logs *l, struct tr_logs_counts *ret);

#endif
