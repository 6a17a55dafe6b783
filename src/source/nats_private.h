/* SPDX-License-Identifier: MIT
 *
 * source/nats_private.h - what the files of the NATS source share.
 *
 *   nats.c        open, timers, drain
 *   nats_pull.c   messages arrive
 *   nats_task.c   one delivery, from its arrival to its settlement
 *   nats_db.c     what a delivery asks of the database
 *   nats_out.c    the thread that publishes and settles
 *   nats_event.c  the JSON of events
 *   nats_watch.c  watchdog, backlog, advisories
 *   nats_orphan.c logs of workers that died
 */
#ifndef SOURCE_NATS_PRIVATE_H
#define SOURCE_NATS_PRIVATE_H

#include <jansson.h>
#include <nats/nats.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "nats/api.h"
#include "nats/envelope.h"
#include "nats/names.h"
#include "source/dbthread.h"
#include "source/nats.h"

enum stage {
    ST_WAITING,  /* no slot is free yet */
    ST_STARTING, /* the database is asked */
    ST_JUDGING,  /* a slot has it */
    ST_ENDING,   /* the database is told how it ended */
    ST_SETTLING  /* the other thread publishes and settles */
};

/* One message that we hold. In exactly one stage, and in the source's list until it is settled. */
struct delivery {
    struct delivery *prev, *next;
    struct src *src;
    enum stage stage;
    natsMsg *msg;
    uint64_t seq; /* in the stream */
    struct tr_arena arena;
    struct tr_envelope env;
    int64_t revivals;
    struct tr_submission_new row;
    const char *contest, *user; /* JSON texts or NULL */
    int64_t published_us;       /* real time, by the server's clock */
    int64_t started_us;         /* monotonic: judging began */
    struct tr_start run;        /* once started */
    bool renewing;              /* a renewal is under way */
    bool unlinked;              /* free it as soon as the renewal has answered */
    char *spool;
};

struct src {
    struct tr_source base;
    const struct tr_source_host *host;
    struct tr_source_nats_conf conf;
    struct tr_nats *nats;
    struct tr_dbthread *db;
    struct tr_pool *pool;
    struct out *out;
    uv_timer_t tick, renew, watch;
    struct delivery *first;
    size_t held;
    int64_t ack_wait_us;
    char subject[64]; /* what our consumer takes */
    /* nats_pull.c */
    natsInbox *inbox;
    natsSubscription *sub, *advisories;
    int asked;
    int64_t heard_us, pull_from_us;
    /* nats_watch.c */
    bool watching, alarmed;
    int64_t backlog;
    bool draining, ended, closing;
    atomic_bool deaf; /* the loop will not run again: threads of the library hand nothing over */
    int64_t drain_until_us;
};

/* ---- nats_pull.c: on the loop ---- */
int pull_open(struct src *s, struct tr_err *err);
void pull_close(struct src *s);
void pull_more(struct src *s); /* ask for as many as there is room for */
void pull_stop(struct src *s);

/* ---- nats_task.c ---- */
void task_arrived(struct src *s, natsMsg *msg); /* takes the message */
void task_next(struct src *s);                  /* start what waits, as far as slots are free */
void task_free(struct delivery *d);
void task_renew_all(struct src *s);
void task_give_back(struct delivery *d); /* drain */
void task_result(void *arg, void *user, const struct tr_pool_result *r);
void task_fault(void *arg, void *user, const char *why, bool final);
void task_died(void *arg, void *user, const char *how);
void task_progress(void *arg, void *user, const char *json, size_t len);
/* After the database and the other thread. */
void task_started(struct delivery *d, int how, const struct tr_err *err, json_t *result,
                  json_t *duplicates, const char *duplicate_of);
void task_renewed(struct delivery *d, int r);
void task_finished(struct delivery *d, int r, const struct tr_err *err, json_t *event,
                   json_t *duplicates);
void task_faulted(struct delivery *d, int r, const struct tr_err *err, const char *why,
                  int64_t delay_us);
void task_released(struct delivery *d);
void task_settled(struct delivery *d);

/* ---- nats_db.c ---- */
void db_start(struct delivery *d);
void db_renew(struct delivery *d);
/* Takes the event, which is what the row keeps. */
void db_finish(struct delivery *d, const struct tr_pool_result *r, json_t *event);
void db_fault(struct delivery *d, const char *why, bool final);
void db_release(struct delivery *d);

/* ---- nats_out.c ---- */
enum settle {
    SETTLE_ACK,
    SETTLE_TERM,
    SETTLE_NAK,  /* after delay_us */
    SETTLE_NONE, /* let the server find out */
};
struct publication {
    struct publication *next;
    char subject[64];
    char id[TR_MSG_ID_MAX + 64];
    char *bytes; /* heap */
    bool letter; /* a dead letter: without it the message must not be terminated */
};
struct outgoing {
    struct outgoing *next;
    struct delivery *d; /* NULL: nobody waits for it */
    struct publication *first;
    enum settle settle;
    int64_t delay_us;
    /* Other work that has to wait for the server: on the thread, then on the loop, which frees
     * `arg`. */
    void (*run)(struct src *s, void *arg);
    void (*done)(struct src *s, void *arg);
    void *arg;
};
int out_open(struct src *s, struct tr_err *err);
void out_close(struct src *s);
struct outgoing *out_new(struct delivery *d, enum settle how);
/* Takes the bytes. Ignored when memory is out: the redelivery repeats it. */
void out_add(struct outgoing *o, const char *subject, const char *id, char *bytes, bool letter);
void out_send(struct src *s, struct outgoing *o);

/* ---- nats_event.c: heap texts, or NULL when memory is out ---- */
char *event_status(const struct src *s, const struct delivery *d, enum tr_state state,
                   const char *error);
/* The slot's result with who, when and the fence; what the row keeps and the event says. */
json_t *event_result(const struct src *s, const struct delivery *d, const struct tr_pool_result *r);
char *event_contest(const struct delivery *d, const json_t *result);
char *event_system(const struct src *s, const char *type, int64_t backlog);
char *event_progress(const struct src *s, const struct delivery *d, const char *json, size_t len);
/* A result as a message: cut to what a message may have. */
char *event_text(const json_t *event);
/* The id of an event of this run. */
void event_id(const struct delivery *d, const char *what, char *out, size_t size);

/* ---- nats_watch.c ---- */
int watch_open(struct src *s, struct tr_err *err);
void watch_close(struct src *s);
void watch_look(struct src *s);

/* ---- nats_orphan.c ---- */
void orphans_look(struct src *s);

/* Publish and do not wait: for what may be lost. */
void src_say(struct src *s, const char *subject, char *bytes);
/* JetStream's words to a message: "+ACK", "-NAK", "+TERM", "+WPI". Any thread. The library's own
 * functions for that take only messages of its own pull subscriptions. */
bool src_answer(struct src *s, natsMsg *msg, const char *word);
void src_log(const struct src *s, enum tr_log_level level, const char *submit_id,
             const struct tr_err *err, const char *what);
void src_check_end(struct src *s);

#endif
