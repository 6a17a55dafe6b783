/* SPDX-License-Identifier: MIT
 *
 * source/ws.h - a judge's side of doc/protocol.md: tasks come from a controller by WebSocket.
 *
 * The source keeps the connection (and makes it anew when it breaks), the tasks with their fences,
 * and every outcome until the controller says that it is stored. Who judges is behind struct
 * tr_ws_work: the worker's slots, or nobody in a benchmark. One thread: the loop's.
 */
#ifndef SOURCE_WS_H
#define SOURCE_WS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "net/judge_auth.h"
#include "net/ws.h"

struct tr_ws_source;
struct tr_ws_task; /* one task that this judge holds; a handle for struct tr_ws_work */

/* What a task's worker may read. Lives until the task's end was told. */
struct tr_ws_job {
    const char *submit_id;
    int64_t run_lease; /* at the start; an adoption may raise it later */
    const char *kind;  /* "judge" or "run" */
    const char *task;  /* the seed's task message */
    size_t task_len;
    const char *sha256; /* of its archive, which is in the cache now; NULL: no archive of ours */
};

/* Who judges. Each begin() that returns 0 is followed by exactly one tr_ws_ended_*(), later and not
 * from inside it, also after cancel(), which may end it at once. */
struct tr_ws_work {
    void *arg;
    unsigned slots; /* tasks at once */
    int (*begin)(void *arg, struct tr_ws_task *t, const struct tr_ws_job *job, struct tr_err *err);
    void (*cancel)(void *arg, struct tr_ws_task *t);
    /* Bring the archive into the cache and answer with tr_ws_data_ready(), later and not from
     * inside. NULL: tasks begin without. `url` is whole. */
    int (*fetch)(void *arg, const char *sha256, const char *url, uint64_t size, struct tr_err *err);
    /* Members for heartbeats ("load", "cache", …) and handles for `ready`; each may be NULL. The
     * caller takes the reference. */
    json_t *(*beat)(void *arg);
    json_t *(*data)(void *arg);
};

/* What happens to the judge itself. */
struct tr_ws_judge_events {
    void *arg;
    void (*connected)(void *arg, const char *controller); /* or NULL */
    void (*lost)(void *arg, const char *controller, const char *why,
                 int64_t again_us); /* or NULL */
    /* Once and last: 0 after leaving in order, else a reason that trying again cannot mend. */
    void (*ended)(void *arg, int r, const struct tr_err *err);
};

/* Texts are the caller's and outlive the source. */
struct tr_ws_source_conf {
    const char *const *controllers; /* addresses; the next is tried when one fails */
    size_t ncontrollers;
    const char *judge_id;
    const char *version;
    struct tr_judge_key key;
    unsigned tokens;
    json_t *parameters; /* members of `ready` beside tokens, data, running; borrowed */
};

int tr_ws_source_new(struct tr_loop *loop, struct tr_ws_net *net,
                     const struct tr_ws_source_conf *conf, const struct tr_ws_work *work,
                     const struct tr_ws_judge_events *events, struct tr_ws_source **ret,
                     struct tr_err *err);
/* After ended(), or at any time when nobody calls the work any more. */
void tr_ws_source_free(struct tr_ws_source *s);

/* Take no more tasks, give back what has not begun, finish the rest, then ended(). `now`: give all
 * of it back. */
void tr_ws_source_leave(struct tr_ws_source *s, bool now);

/* Ask for more or fewer tasks from now on. */
void tr_ws_source_tokens(struct tr_ws_source *s, unsigned tokens);

/* The secret of the session, for /judge/v1/…; "" while there is none. */
const char *tr_ws_source_credential(const struct tr_ws_source *s);
/* "http://host:port" of the controller that we are or were with last. */
const char *tr_ws_source_base(const struct tr_ws_source *s);

/* From the work. `stage`: preparing, compiling, running. `one`: a case that ended (taken), or NULL.
 */
void tr_ws_progress(struct tr_ws_task *t, const char *stage, size_t done, size_t total,
                    json_t *one);
/* The outcome: a result (seed 000 §4.2; taken), a fault, or nothing because it was stopped. */
void tr_ws_ended_result(struct tr_ws_task *t, json_t *result);
void tr_ws_ended_fault(struct tr_ws_task *t, bool again, bool crashed, const char *message);
void tr_ws_ended_stopped(struct tr_ws_task *t);
/* The fence of now, for logs; 0 when the task is not ours any more. */
int64_t tr_ws_task_lease(const struct tr_ws_task *t);

/* The archive is in the cache (r == 0), or why not. */
void tr_ws_data_ready(struct tr_ws_source *s, const char *sha256, int r, const struct tr_err *err);

#endif
