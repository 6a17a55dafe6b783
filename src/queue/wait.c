/* SPDX-License-Identifier: MIT
 *
 * wait.c - how an idle worker learns that there is work.
 *
 * PostgreSQL pushes (LISTEN on a connection of its own); everywhere, and there too, a poll with
 * jitter finds what no push told: it is one index probe. SQLite is asked whether any other
 * connection has written; a dead worker's jobs are taken back on the way.
 */
#include <poll.h>
#include <string.h>

#include "base/clock.h"
#include "base/rand.h"
#include "queue/internal.h"

enum {
    POLL_FIRST_US = 2000,
    POLL_MAX_US = 200000,   /* MySQL, and PostgreSQL when LISTEN is not to be had */
    POLL_PUSH_US = 1000000, /* beside a working push */
    POLL_FILE_US = 5000     /* SQLite: a look at shared memory */
};

static int listen_begin(tq *q, struct tr_err *err)
{
    if (q->be != BE_POSTGRES || (q->flags & TQ_NO_NOTIFY))
        return tr_fail(err, TR_E_UNSUPPORTED, 0, "this queue pushes no wake-ups: poll");
    if (q->listening && q->drv->state(q->listen_conn) != TQ_CONN_DEAD)
        return 0;
    if (q->listen_conn)
        q->drv->close(q->listen_conn, q->listen_cache);
    q->listen_conn = q->listen_cache = NULL;
    q->listening = false;
    int r = q->drv->open(&q->info, &q->listen_conn, &q->listen_cache, err);
    if (r < 0) {
        q->listen_conn = q->listen_cache = NULL;
        return r;
    }
    struct tqi_link l = {.q = q, .drv = q->drv, .conn = q->listen_conn};
    r = tqi_exec(&l, S_LISTEN, NULL, 0, NULL, NULL, NULL, err);
    q->listening = r >= 0;
    return r;
}

int tq_fd(tq *q, struct tr_err *err)
{
    int r = listen_begin(q, err);

    return r < 0 ? r : q->drv->fd(q->listen_conn);
}

int tq_woken(tq *q, struct tr_err *err)
{
    if (!q->listening)
        return 0;
    int r = q->drv->notified(q->listen_conn);
    if (r >= 0)
        return r;
    q->listening = false;
    return tr_fail(err, TR_E_RETRY, 0, "the connection that listens for wake-ups is lost");
}

static int peek_op(struct tqi_link *l, void *arg, struct tr_err *err)
{
    struct tq_val p = tqi_text(*(const char **)arg);
    int64_t wait = -1;

    int r = tqi_scalar(l, S_PEEK, &p, 1, &wait, err);
    if (r < 0)
        return r;
    if (r == 0)
        return POLL_PUSH_US; /* nothing planned either */
    return wait <= 0 ? 0 : wait < POLL_PUSH_US ? (int)wait : POLL_PUSH_US;
}

static int version_op(struct tqi_link *l, void *arg, struct tr_err *err)
{
    return tqi_scalar(l, S_DATA_VERSION, NULL, 0, arg, err);
}

/* Sleep, or until a push; 1 on a push. */
static int nap(tq *q, int64_t us)
{
    struct pollfd p = {.fd = q->listening ? q->drv->fd(q->listen_conn) : -1, .events = POLLIN};
    struct timespec ts = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};

    if (q->listening && q->drv->notified(q->listen_conn) > 0)
        return 1;
    int r = ppoll(&p, 1, &ts, NULL);
    return r > 0 && q->drv->notified(q->listen_conn) > 0;
}

static int64_t next_pause(const tq *q, int round)
{
    int64_t most = q->be == BE_SQLITE ? POLL_FILE_US : q->listening ? POLL_PUSH_US : POLL_MAX_US;
    int64_t us = POLL_FIRST_US;

    for (int i = 0; i < round && us < most; i++)
        us *= 2;
    us = us < most ? us : most;
    return us - us / 4 + (int64_t)tr_random_below((uint64_t)(us / 2));
}

/* What one round of waiting remembers of the one before. */
struct waiting {
    const char *queue;
    int round;
    int64_t seen;    /* SQLite: the file's version when it was last looked at; -1: never */
    int64_t version; /* … and now */
};

/* SQLite has no push: dead neighbours and the file's version tell. 1: something may be ready. */
static int look_at_file(tq *q, struct waiting *w, struct tr_err *err)
{
    if (w->round % 4 == 0) {
        int r = tq_reclaim(q, 100, err); /* a look, unless somebody has died */

        if (r != 0)
            return r < 0 ? r : 1;
    }
    int r = tqi_run(q, OP_READ, version_op, &w->version, err);
    if (r < 0)
        return r;
    return !w->queue && w->seen >= 0 && w->version != w->seen;
}

/* Ask the database about the one queue; 1: something is ready, 0: *pause is cut to what is due. */
static int look_at_queue(tq *q, const struct waiting *w, int64_t *pause, struct tr_err *err)
{
    const char *queue = w->queue;

    if (!queue || (q->be == BE_SQLITE && w->version == w->seen && w->round % 20 != 0))
        return 0;
    int r = tqi_run(q, OP_READ, peek_op, &queue, err);
    if (r <= 0)
        return r < 0 ? r : 1;
    *pause = *pause < r ? *pause : r;
    return 0;
}

int tq_wait(tq *q, const char *queue, int64_t timeout_us, struct tr_err *err)
{
    int64_t until = tr_clock_mono_us() + timeout_us;
    struct waiting w = {.queue = queue, .seen = -1, .version = -1};

    (void)listen_begin(q, NULL);
    for (;; w.round++) {
        int64_t left = until - tr_clock_mono_us();
        int64_t pause = next_pause(q, w.round);
        int r = q->be == BE_SQLITE ? look_at_file(q, &w, err) : 0;

        if (r == 0)
            r = look_at_queue(q, &w, &pause, err);
        if (r != 0)
            return r;
        w.seen = w.version;
        if (left <= 0)
            return 0;
        if (nap(q, pause < left ? pause : left))
            return 1;
        if (!queue && q->be != BE_SQLITE && !q->listening && w.round >= 8)
            return 1; /* nothing to ask about one queue and no push: look yourself */
    }
}
