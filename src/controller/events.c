/* SPDX-License-Identifier: MIT
 *
 * events.c - read new rows, hand them to listeners, wake those who wait.
 */
#include "controller/events.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/parse.h"
#include "codec/json.h"
#include "controller/conn.h"
#include "controller/ctl.h"
#include "controller/event_prune.h"
#include "controller/event_wait.h"
#include "controller/http.h"
#include "controller/metrics.h"
#include "store/events.h"

enum {
    READ_AT_ONCE = 256,
    ARENA_MAX = 64 * 1024 * 1024,
    TICK_MS = 250,      /* rows of other controllers and of workers on the database; deadlines */
    COMMENT_TICKS = 60, /* a line every 15 s keeps proxies and half-open connections honest */
    STATS_TICKS = 4,
    PRUNE_TICKS = 1200
};
#define GAP_US INT64_C(1000000) /* how long a missing id may still be on its way */

struct listener {
    struct listener *next;
    struct conn *conn;
    bool sse;
    bool all;
    char **ids;
    size_t nids;
    int64_t last_id; /* told up to here */
    bool behind;     /* reads rows of its own, and hears no live rows meanwhile */
};

struct events {
    struct ctl *ctl;
    struct listener *listeners;
    size_t count;
    struct event_waits *waits;
    int64_t last_id;
    bool ready, reading, again;
    int64_t gap_id, gap_since_us; /* an id that is missing */
    uv_timer_t timer;
    unsigned ticks;
};

/* ---------------------------------------------------------------- telling */

static struct note *note_for(const struct listener *l, const struct tr_event *e)
{
    TR_CLEANUP(tr_buf_done) struct tr_buf b;

    tr_buf_init(&b, 32 * 1024 * 1024);
    if (l->sse) {
        if (e->id)
            tr_buf_addf(&b, "id: %" PRId64 "\n", e->id);
        tr_buf_addf(&b, "event: %s\ndata: ", e->type);
        tr_buf_add(&b, e->body, e->body_len);
        tr_buf_adds(&b, "\n\n");
    } else if (e->id && e->body_len > 2) {
        tr_buf_addf(&b, "{\"event_id\":\"%" PRId64 "\",", e->id);
        tr_buf_add(&b, e->body + 1, e->body_len - 1);
    } else {
        tr_buf_add(&b, e->body, e->body_len);
    }
    return b.failed ? NULL : note_new(b.data, b.len);
}

static bool wants(const struct listener *l, const char *submit_id)
{
    if (l->all)
        return true;
    for (size_t i = 0; i < l->nids; i++)
        if (strcmp(l->ids[i], submit_id) == 0)
            return true;
    return false;
}

/* The same bytes serve all listeners of a kind. */
static void broadcast(struct events *ev, const struct tr_event *e)
{
    struct note *made[2] = {NULL, NULL};

    for (struct listener *l = ev->listeners; l; l = l->next) {
        if (e->id && (l->behind || e->id <= l->last_id))
            continue;
        if (e->id)
            l->last_id = e->id;
        if (!wants(l, e->submit_id))
            continue;
        struct note **n = &made[l->sse];
        if (!*n)
            *n = note_for(l, e);
        if (*n)
            conn_send(l->conn, note_ref(*n));
    }
    note_unref(made[0]);
    note_unref(made[1]);
}

void events_live(struct events *ev, json_t *doc)
{
    if (!doc)
        return;
    char when[TR_TIME_TEXT];
    const char *id = json_string_value(json_object_get(doc, "submit_id"));
    const char *type = json_string_value(json_object_get(doc, "type"));

    if (events_heard(ev)) {
        (void)json_object_set_new(doc, "timestamp",
                                  json_string(tr_clock_text(tr_clock_real_us(), when)));
        tr_autofree char *text = json_dumps(doc, JSON_COMPACT);
        struct tr_event e = {.type = type ? type : "event",
                             .submit_id = id ? id : "",
                             .body = text,
                             .body_len = text ? strlen(text) : 0};
        if (text)
            broadcast(ev, &e);
    }
    json_decref(doc);
}

struct event_wait *events_wait(struct events *ev, const char *submit_id, int64_t timeout_us,
                               void (*fn)(void *arg, bool ended), void *arg)
{
    return event_wait_add(ev->waits, submit_id, timeout_us, fn, arg);
}

bool events_heard(const struct events *ev)
{
    return ev && ev->listeners;
}

static bool is_end(const struct tr_event *e)
{
    if (strcmp(e->type, "result") == 0)
        return true;
    return strstr(e->body, "\"status\":\"DLQ\"") || strstr(e->body, "\"status\":\"CANCELLED\"");
}

/* ---------------------------------------------------------------- reading */

struct read_op {
    struct op op;
    struct tr_arena arena;
    int64_t after;
    struct tr_event_list list;
    int64_t first, last;
    bool ends;         /* also which ids there are */
    struct conn *conn; /* for one listener alone; NULL: the common reading */
};

static int run_read(struct op *op, struct tr_store *st, struct tr_err *err)
{
    struct read_op *o = (struct read_op *)op;

    tr_arena_done(&o->arena);
    tr_arena_init(&o->arena, ARENA_MAX);
    if (o->ends) {
        int r = tr_store_events_ends(st, &o->first, &o->last, err);
        if (r < 0)
            return r;
    }
    return tr_store_events_after(st, o->after, READ_AT_ONCE, &o->arena, &o->list, err);
}

static void start_read(struct events *ev, int64_t after, bool ends, struct conn *conn,
                       void (*done)(struct op *op))
{
    struct read_op *o = calloc(1, sizeof(*o));

    if (!o) {
        if (!conn)
            ev->reading = false;
        return;
    }
    o->op = (struct op){.run = run_read, .done = done, .lane = OP_READ};
    o->after = after;
    o->ends = ends;
    o->conn = conn;
    storage_do(ev->ctl->storage, &o->op);
}

/* Engines with several writers show a larger id before a smaller one: wait a little for it. */
static bool must_wait(struct events *ev, int64_t id)
{
    if (id == ev->last_id + 1 || ev->ctl->one_writer)
        return false;
    if (ev->gap_id != ev->last_id + 1) {
        ev->gap_id = ev->last_id + 1;
        ev->gap_since_us = tr_clock_mono_us();
    }
    return tr_clock_mono_us() - ev->gap_since_us < GAP_US;
}

static void read_done(struct op *op)
{
    struct read_op *o = (struct read_op *)op;
    struct events *ev = op->ctl->events;
    size_t i = 0;

    ev->reading = false;
    if (op->result < 0) {
        storage_warn(op);
    } else if (!ev->ready) { /* the first time: begin behind what there is */
        ev->ready = true;
        ev->last_id = o->last;
    } else {
        for (; i < o->list.count && !must_wait(ev, o->list.rows[i].id); i++) {
            const struct tr_event *e = &o->list.rows[i];

            ev->last_id = e->id;
            broadcast(ev, e);
            if (is_end(e))
                event_waits_ended(ev->waits, e->submit_id);
        }
    }
    if (ev->again || (i == READ_AT_ONCE && op->result >= 0)) {
        ev->again = false;
        events_poke(ev);
    }
    tr_arena_done(&o->arena);
    free(o);
}

void events_poke(struct events *ev)
{
    if (ev->reading) {
        ev->again = true;
        return;
    }
    ev->reading = true;
    start_read(ev, ev->last_id, !ev->ready, NULL, read_done);
}

/* ---------------------------------------------------------------- listeners */

static struct listener **find(struct events *ev, const struct conn *c)
{
    struct listener **at = &ev->listeners;

    while (*at && (*at)->conn != c)
        at = &(*at)->next;
    return at;
}

static void catch_up_done(struct op *op);

static void catch_up(struct events *ev, const struct listener *l)
{
    start_read(ev, l->last_id, true, l->conn, catch_up_done);
}

static void send_reset(struct listener *l)
{
    static const char body[] = "{\"type\":\"reset\"}";
    struct tr_event e = {
        .type = "reset", .submit_id = "", .body = body, .body_len = sizeof(body) - 1};

    conn_send(l->conn, note_for(l, &e));
}

static void catch_up_done(struct op *op)
{
    struct read_op *o = (struct read_op *)op;
    struct events *ev = op->ctl->events;
    struct listener *l = *find(ev, o->conn);

    if (l && l->behind && op->result >= 0) {
        if (l->last_id > o->last || (o->first > 0 && l->last_id + 1 < o->first)) {
            send_reset(l);
            l->last_id = l->last_id > o->last ? o->last : o->first - 1;
        }
        for (size_t i = 0; i < o->list.count; i++) {
            const struct tr_event *e = &o->list.rows[i];

            if (e->id > l->last_id && e->id <= ev->last_id && wants(l, e->submit_id))
                conn_send(l->conn, note_for(l, e));
            if (e->id > l->last_id && e->id <= ev->last_id)
                l->last_id = e->id;
        }
        l->behind = l->last_id < ev->last_id && o->list.count > 0;
        if (l->behind)
            catch_up(ev, l);
    }
    tr_arena_done(&o->arena);
    free(o);
}

static void free_listener(struct listener *l)
{
    for (size_t i = 0; i < l->nids; i++)
        free(l->ids[i]);
    free((void *)l->ids);
    free(l);
}

void events_unlisten(struct events *ev, struct conn *c)
{
    struct listener **at = find(ev, c), *l = *at;

    if (!l)
        return;
    *at = l->next;
    ev->count--;
    free_listener(l);
}

static bool add_id(struct listener *l, const char *id)
{
    if (l->nids == EVENTS_IDS_MAX) { /* the oldest interest goes */
        free(l->ids[0]);
        memmove((void *)l->ids, (void *)(l->ids + 1), (--l->nids) * sizeof(char *));
    }
    char **more = realloc((void *)l->ids, (l->nids + 1) * sizeof(char *));
    if (!more)
        return false;
    l->ids = more;
    l->ids[l->nids] = strdup(id);
    if (!l->ids[l->nids])
        return false;
    l->nids++;
    return true;
}

static struct listener *add(struct events *ev, struct conn *c, bool sse, int64_t after)
{
    events_unlisten(ev, c);
    struct listener *l = ev->count < EVENTS_LISTENERS_MAX ? calloc(1, sizeof(*l)) : NULL;
    if (!l)
        return NULL;
    l->conn = c;
    l->sse = sse;
    l->last_id = after < 0 ? ev->last_id : after;
    l->behind = after >= 0;
    l->next = ev->listeners;
    ev->listeners = l;
    ev->count++;
    c->backlog_max = CONN_LISTENER_BACKLOG_MAX;
    return l;
}

bool events_listen_ws(struct events *ev, struct conn *c, const char *const *ids, size_t n,
                      int64_t after)
{
    struct listener *l = add(ev, c, false, after);

    if (!l)
        return false;
    l->all = ids == NULL;
    for (size_t i = 0; ids && i < n; i++)
        (void)add_id(l, ids[i]);
    if (l->behind)
        catch_up(ev, l);
    return true;
}

void events_also(struct events *ev, struct conn *c, const char *submit_id)
{
    struct listener *l = *find(ev, c);

    if (!l)
        l = add(ev, c, false, -1);
    if (l && !l->all)
        (void)add_id(l, submit_id);
}

static void http_listener_gone(struct http_req *req)
{
    struct events *ev = req->ctl->events;

    /* req->conn is gone already; the listener remembers it */
    struct conn *c = req->waiting;
    events_unlisten(ev, c);
}

void events_listen_http(struct http_req *req)
{
    struct events *ev = req->ctl->events;
    const char *from = http_query(req, "last_event_id");
    int64_t after = -1;

    if (!from)
        from = req->last_event_id;
    if (from && *from && tr_parse_i64(from, 0, INT64_MAX, &after, NULL) < 0) {
        reply_error(req, 400, "bad_field", "last_event_id", "an event id is a number");
        return;
    }
    struct listener *l = add(ev, req->conn, true, after);
    if (!l) {
        reply_header(req, "Retry-After", "5");
        reply_error(req, 503, "not_ready", NULL, "too many listeners");
        return;
    }
    l->all = true;
    for (size_t i = 0; i < req->nquery; i++)
        if (strcmp(req->query[i].name, "submit_id") == 0) {
            l->all = false;
            (void)add_id(l, req->query[i].value);
        }
    req->waiting = req->conn;
    req->gone = http_listener_gone;
    reply_stream(req, "text/event-stream");
    conn_send(req->conn, note_new(": hello\n\n", 9));
    if (l->behind)
        catch_up(ev, l);
}

/* ---------------------------------------------------------------- time */

static void comment(struct events *ev)
{
    struct note *n = note_new(":\n\n", 3);

    for (struct listener *l = ev->listeners; n && l; l = l->next)
        if (l->sse)
            conn_send(l->conn, note_ref(n));
    note_unref(n);
}

/* A stream lives longer than a request; its key may be revoked meanwhile. */
static void drop_revoked(struct events *ev)
{
    for (struct listener *l = ev->listeners; l; l = l->next) {
        const struct http_req *req = l->sse ? l->conn->req : NULL;

        if (req && !req->who.open && !keys_valid(ev->ctl->keys, req->who.key_id))
            conn_close(l->conn, 4001, "bad_key");
    }
}

static void on_tick(uv_timer_t *t)
{
    struct events *ev = t->data;

    ev->ticks++;
    events_poke(ev);
    event_waits_late(ev->waits, tr_clock_mono_us());
    drop_revoked(ev);
    if (ev->ticks % COMMENT_TICKS == 0)
        comment(ev);
    if (ev->ticks % STATS_TICKS == 0 && events_heard(ev))
        events_live(ev, metrics_stats_event(ev->ctl));
    if (ev->ticks % PRUNE_TICKS == 0 && ev->last_id > EVENTS_KEPT)
        event_prune(ev->ctl, ev->last_id - EVENTS_KEPT);
}

int events_new(struct ctl *ctl, struct events **ret, struct tr_err *err)
{
    struct events *ev = calloc(1, sizeof(*ev));

    if (!ev || !(ev->waits = event_waits_new())) {
        free(ev);
        return tr_fail(err, TR_E_NOMEM, 0, "no memory for events");
    }
    ev->ctl = ctl;
    (void)uv_timer_init(tr_loop_uv(ctl->loop), &ev->timer);
    ev->timer.data = ev;
    (void)uv_timer_start(&ev->timer, on_tick, TICK_MS, TICK_MS);
    *ret = ev;
    return 0;
}

void events_free(struct events *ev)
{
    if (!ev)
        return;
    while (ev->listeners)
        events_unlisten(ev, ev->listeners->conn);
    event_waits_free(ev->waits);
    free(ev);
}
