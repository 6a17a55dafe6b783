/* SPDX-License-Identifier: MIT
 *
 * conf.h - what the conformance suite's files share.
 *
 * One binary, one promise a test, the engine chosen by the URL in TRIBUNAL_QUEUE_URL. Every test
 * begins with empty tables and leaves nothing behind. All traffic goes through a driver that wraps
 * the real one: it can count statements, stop at one of them as a crash would, lose the answer of
 * a commit, and shift the database's clock.
 */
#ifndef CONF_H
#define CONF_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <tribunal/queue.h>

struct env {
    const char *url;
    bool pg, my, lite;
    const struct tq_driver *real; /* the engine's driver */
    const struct tq_driver *drv;  /* the wrapped one, for tq_opts */
    tq *q;                        /* a handle that every test has */
    struct tr_err err;
    bool soak;
};
extern struct env E;

/* Faults. Reset before every test. */
struct shim {
    int64_t calls;    /* statements so far */
    int64_t crash_at; /* this call and all after it fail as if we were dead; 0: never */
    bool crash_after; /* … after the database has done it */
    bool dead;
    bool lose_commit; /* the next COMMIT works and its answer is lost */
    bool break_next;  /* the next statement is not sent; the connection is lost */
    int64_t clock_us; /* added to the database's now in every statement */
    void (*spy)(const struct tq_call *call);
};
extern struct shim S;

enum {
    SEC = 1000000
};

/* Handles, connections and batches made by these are closed after the test. */
tq *open_with(const struct tq_opts *o);
tq *open_another(void);
void close_handle(tq *q); /* early */
struct tq_opts opts(void);
struct tq_item job(const char *queue, const char *payload);
int64_t put(const char *queue, const char *payload);
int64_t put_item(const struct tq_item *it);
/* Claim exactly one job. */
const struct tq_job *take(tq *q, const char *queue);
const struct tq_job *take_for(tq *q, const char *queue, int64_t lease_us);
int take_n(tq *q, const char *queue, int n, tq_batch **b); /* freed after the test */
bool nothing_in(tq *q, const char *queue);
/* Claim one job by a process that dies: its lease is lost on every engine. */
struct tq_ref lost_job(const char *queue);
/* Reclaim until something came back. */
void reclaim_n(int want);
/* Make every scheduled job due. */
void all_due(void);

/* The caller's own connection. */
struct tq_tx caller(void);
void sql(struct tq_tx tx, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int try_sql(struct tq_tx tx, const char *text);
void begin(struct tq_tx tx);
void commit(struct tq_tx tx);
void rollback(struct tq_tx tx);
/* First value of a query on a connection of the suite's own. */
int64_t num(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
int64_t num_in(struct tq_tx tx, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int64_t db_now(void);
int64_t mono_us(void);
void pause_us(int64_t us); /* between polls of a condition, never instead of one */

#define OK(call)                                                                                   \
    __extension__({                                                                                \
        int r_ = (int)(call);                                                                      \
        if (r_ < 0)                                                                                \
            fail_msg("%s: %d %s", #call, r_, E.err.msg);                                           \
        r_;                                                                                        \
    })
#define FAILS(call, want)                                                                          \
    do {                                                                                           \
        int r_ = (int)(call);                                                                      \
        if (r_ != (want))                                                                          \
            fail_msg("%s: got %d, not %d (%s)", #call, r_, (int)(want), E.err.msg);                \
        if (!E.err.msg[0])                                                                         \
            fail_msg("%s: no sentence", #call);                                                    \
        E.err.msg[0] = '\0';                                                                       \
    } while (0)
/* Wait for a condition, for at most ten seconds. */
#define UNTIL(cond)                                                                                \
    do {                                                                                           \
        int64_t end_ = mono_us() + 10 * SEC;                                                       \
        while (!(cond)) {                                                                          \
            if (mono_us() > end_)                                                                  \
                fail_msg("not within ten seconds: %s", #cond);                                     \
            pause_us(1000);                                                                        \
        }                                                                                          \
    } while (0)

int suite_setup(void **state);
int suite_teardown(void **state);
int suite_end(void **state); /* after the last test */

/* One table per file. */
struct promise {
    const char *name;
    void (*check)(void **state);
};
extern const struct promise enqueue_promises[], claim_promises[], settle_promises[], tx_promises[],
    lease_promises[], unique_promises[], limit_promises[], admin_promises[], input_promises[],
    crash_promises[], crowd_promises[], plan_promises[], schema_promises[], blob_promises[],
    fused_promises[], metrics_promises[], periodic_promises[], wake_promises[], worker_promises[];

#define PROMISE(f)                                                                                 \
    {                                                                                              \
        .name = #f, .check = f                                                                     \
    }

#endif
