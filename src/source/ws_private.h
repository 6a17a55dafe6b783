/* SPDX-License-Identifier: MIT
 *
 * ws_private.h - what the files of the ws source share.
 *
 *     ws.c          the connection's life: connect, lose, try again, leave
 *     ws_session.c  what the controller says
 *     ws_say.c      what the judge says
 *     ws_tasks.c    the tasks it holds
 */
#ifndef SOURCE_WS_PRIVATE_H
#define SOURCE_WS_PRIVATE_H

#include "source/ws.h"

enum {
    WS_PROTOCOL = 1,
    WS_SUBMIT_ID_MAX = 128,
    WS_TICKET_MAX = 64,
    WS_TASKS_MAX = 1024,                    /* tokens' ceiling in the protocol */
    WS_FRAME_IN_MAX = 16 * 1024 * 1024,     /* a task with inline tests */
    WS_FRAME_OUT_MAX = 8 * 1024 * 1024,     /* what a controller takes from a judge */
    WS_WAITING_MAX = 4 * WS_FRAME_OUT_MAX,  /* unsent; more: the connection is as good as dead */
    WS_AUTH_US = 15 * 1000 * 1000,          /* challenge and welcome */
    WS_ADOPT_US = 30 * 1000 * 1000,         /* one transaction of the controller */
    WS_RETRY_MIN_US = 100 * 1000,           /* a restarting controller is back in a moment */
    WS_RETRY_MAX_US = 5 * 1000 * 1000,      /* under the grace of 10 s */
    WS_REFUSED_RETRY_US = 30 * 1000 * 1000, /* a refusal does not mend itself soon */
    WS_PROGRESS_US = 100 * 1000,            /* ten a second for one task */
    WS_MISSED_BEATS = 3,
    WS_MESSAGE_MAX = 2000 /* of a sentence for people */
};

enum ws_state {
    WS_OFF,     /* waiting to connect */
    WS_OPENING, /* TCP, TLS, upgrade */
    WS_GREETED, /* waiting for challenge, or for welcome */
    WS_LIVE
};

enum ws_task_state {
    WS_T_DATA,    /* its archive is being fetched */
    WS_T_WAITS,   /* for a slot */
    WS_T_JUDGING, /* with the work */
    WS_T_DONE     /* its outcome waits for `settled` */
};

struct tr_ws_task {
    struct tr_ws_source *s;
    struct tr_ws_task *next; /* in the order of arrival */
    enum ws_task_state state;
    uint64_t session;  /* in which its fence is valid; older: it waits for `adopted` */
    uint64_t fetching; /* the session in which its archive was asked for */
    char submit_id[WS_SUBMIT_ID_MAX + 1];
    char ticket[WS_TICKET_MAX + 1];
    int64_t run_lease;
    char kind[8];
    char sha256[TR_SHA256_HEX]; /* "" when there is no archive */
    char path[256];             /* where the controller has it */
    uint64_t size;
    char *task;      /* JSON, until it has begun */
    json_t *outcome; /* a frame without its fence */
    bool dropped;    /* not ours any more; goes when the work lets go of it */
    bool cancelled;
    /* progress that was not sent yet */
    const char *stage;
    size_t done, total;
    json_t *cases;
    bool progress_waits;
    int64_t progress_us; /* not before */
};

struct tr_ws_source {
    struct tr_loop *loop;
    struct tr_ws_net *net;
    struct tr_ws_source_conf conf;
    struct tr_ws_work work;
    struct tr_ws_judge_events events;
    uv_timer_t timer; /* one, set to the nearest of the moments below; 0: not awaited */
    int64_t connect_at, auth_by, adopt_by, beat_at, flush_at, leave_by;

    enum ws_state state;
    struct tr_ws *ws;
    size_t controller; /* index of the one we are or were with */
    char base[TR_WS_BASE];
    char nonce[TR_NONCE_HEX], challenge[TR_NONCE_HEX];
    char credential[128];
    uint64_t session; /* counts welcomes */
    int64_t retry_us; /* the next wait */
    int64_t heartbeat_us;
    uint64_t beats, answered; /* heartbeats sent; the last one that was answered */
    bool was_live;            /* ever */
    bool leaving, told_leaving, over;
    int fatal; /* TR_E_*: do not come back */
    struct tr_err why;

    struct tr_ws_task *tasks;
    unsigned ntasks, busy;
};

/* ws.c */
void tr_ws_arm_(struct tr_ws_source *s);
void tr_ws_give_up_(struct tr_ws_source *s, int code); /* end this connection */
void tr_ws_fatal_(struct tr_ws_source *s, int r, const char *sentence);
void tr_ws_check_left_(struct tr_ws_source *s); /* are we done leaving? */

/* ws_session.c */
void tr_ws_hear_(struct tr_ws_source *s, const char *bytes, size_t len);

/* ws_say.c; what cannot be sent ends the connection, nothing is lost by that */
void tr_ws_say_(struct tr_ws_source *s, json_t *frame); /* takes the frame; NULL: no memory */
void tr_ws_say_auth_(struct tr_ws_source *s);
void tr_ws_say_ready_(struct tr_ws_source *s);
void tr_ws_say_beat_(struct tr_ws_source *s);
void tr_ws_say_outcome_(struct tr_ws_task *t);
void tr_ws_say_progress_(struct tr_ws_source *s, int64_t now_us);

/* ws_tasks.c */
void tr_ws_take_task_(struct tr_ws_source *s, const json_t *frame);
struct tr_ws_task *tr_ws_find_(struct tr_ws_source *s, const char *submit_id, int64_t run_lease);
void tr_ws_drop_(struct tr_ws_task *t);
void tr_ws_free_task_(struct tr_ws_task *t);
void tr_ws_cancel_(struct tr_ws_task *t, const char *reason);
void tr_ws_return_(struct tr_ws_task *t, const char *reason);
void tr_ws_fetch_(struct tr_ws_task *t);
void tr_ws_pump_(struct tr_ws_source *s); /* begin what can begin */
bool tr_ws_fence_of_(const json_t *o, const char **ret_id, int64_t *ret_lease);

#endif
