/* SPDX-License-Identifier: MIT
 *
 * controller/judges.h - the judges that are connected, or were a moment ago, and what each has.
 *
 * A task that was sent is a struct run in the list of exactly one judge; its state is the list it
 * is in. Loss of a connection leaves the judge in the list as LOST with its runs; after the grace
 * they go back to their queues. Everything here belongs to the loop's thread.
 */
#ifndef CONTROLLER_JUDGES_H
#define CONTROLLER_JUDGES_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include <tribunal/queue.h>

#include "controller/conn.h"
#include "net/judge_auth.h"
#include "store/store.h"

struct ctl;

enum {
    JUDGES_MAX = 8000, /* as many as connections by default */
    JUDGE_TOKENS_MAX = 1024,
    JUDGE_LANGS_MAX = 256,
    JUDGE_DATA_MAX = 1000, /* handles that we remember it to have */
    JUDGE_ERRORS_MAX = 10  /* breaches of the protocol in one session */
};

enum judge_state {
    JUDGE_NEW,     /* challenged */
    JUDGE_WELCOME, /* proven, has not said `ready` */
    JUDGE_READY,
    JUDGE_LOST
};

/* One task that is with a judge. */
struct run {
    struct run *next;
    char *submit_id;
    int64_t run_lease;
    struct tq_ref job;
    char *problem, *lang;
    bool heavy, cancelled, settling;
    /* The task brings its own language or tests, or nobody knows: its faults are no sign against
     * what has the same name here. */
    bool own_lang, own_data;
    int64_t generation, retry_count, crashes;
    int64_t since_us;   /* real time: sent */
    int64_t created_us; /* real time: submitted, or given out last where that is not known */
    int64_t done, total;
    char stage[16];  /* preparing, compiling, running; "": nothing said yet */
    char *strip;     /* letters of the tests so far (codec/brief.h); NULL: none */
    unsigned missed; /* heartbeats that did not name it */
    int64_t told_us; /* mono: the second in which `told` messages of progress came */
    unsigned told;
};

enum {
    JUDGE_ENDED = 32
};

struct judge {
    struct judge *next;
    struct ctl *ctl;
    struct conn *conn; /* NULL when LOST */
    enum judge_state state;
    char judge_id[TR_JUDGE_ID_MAX + 1], key_id[TR_KEY_ID];
    char challenge[TR_NONCE_HEX];
    char session[17], credential[72];
    char address[CONN_PEER_MAX], version[32];
    int64_t connected_us, beat_us, beat_real_us; /* real, mono, real */
    int64_t deadline_us;                         /* mono: auth, ready, or the end of the grace */
    int64_t tokens, reserved, nruns;
    int64_t memory_mib;
    bool light, heavy; /* classes it serves */
    bool leaving, draining;
    bool renewing;       /* a heartbeat of it is with the database, */
    json_int_t beat_seq; /* and this one was the last to come */
    char **langs;
    size_t nlangs;
    char (*data)[65]; /* a ring */
    size_t ndata, data_at;
    json_t *params, *beat; /* as it sent them, for people */
    int64_t judged, faults;
    unsigned errors;
    struct run *runs;
    /* The last that ended: their logs follow the verdict, which does not wait for them. */
    struct {
        char submit_id[TR_STORE_SUBMIT_ID_MAX + 1];
        int64_t run_lease;
        int64_t until_us; /* mono */
    } ended[JUDGE_ENDED];
    unsigned ended_at;
};

struct judges;
struct judges *judges_new(struct ctl *ctl);
void judges_free(struct judges *j);

/* The list, for whoever looks through it. */
struct judge *judges_first(struct judges *j);
struct judge *judges_find(struct judges *j, const char *judge_id);
size_t judges_ready(struct judges *j);

struct judge *judge_add(struct ctl *ctl, struct conn *c); /* NULL: too many */
void judge_remove(struct judge *g);                       /* frees; its runs must be gone */
/* The connection ended: LOST, or gone when it has nothing. */
void judge_lost(struct judge *g);

/* How many tasks it may be sent now. */
int64_t judge_free_tokens(const struct judge *g);
bool judge_has_lang(const struct judge *g, const char *slug);
bool judge_has_data(const struct judge *g, const char *sha256);
void judge_note_data(struct judge *g, const char *sha256);

/* May it send logs of this run: it has it, or had it until a minute ago? */
bool judge_may_log(struct judge *g, const char *submit_id, const char *run_lease);

/* Runs. */
struct run *judge_run(struct judge *g, const char *submit_id);
struct run *run_new(const char *submit_id, const char *problem, const char *lang);
void judge_add_run(struct judge *g, struct run *r);
/* Takes it out of the list; the caller frees it. */
struct run *judge_take_run(struct judge *g, const char *submit_id);
void run_free(struct run *r);
/* One more `progress` in this second? */
bool run_may_tell(struct run *r);
/* Keep what a `progress` of the judge says, for whoever looks later. */
void run_progress(struct run *r, const json_t *m);
/* Who has this submission? NULL: nobody here. */
struct judge *judges_of_run(struct judges *j, const char *submit_id);

/* Is this "Bearer ts_…" the credential of a live session? Then whose. */
struct judge *judges_credential(struct ctl *ctl, const char *authorization);

/* Beats missed, graces over, deadlines: four times a second. */
void judges_tick(struct ctl *ctl);

/* For people. */
json_t *judge_json(const struct judge *g);
/* The marks (marks.h) say who is drained: no more tasks for those, tasks again for the others. */
void judges_drain_as_marked(struct ctl *ctl);
/* Everybody: the controller stops. */
void judges_bye(struct ctl *ctl, const char *code, const char *message);

#endif
