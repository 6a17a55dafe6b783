/* SPDX-License-Identifier: MIT
 *
 * pool.c - slot processes under libuv: start, feed, watch, restart.
 *
 * A slot is STARTING until it says that its judge is open, then IDLE, BUSY with one task, or DEAD
 * until its pause is over. What a slot sends is not trusted with more than this worker's own tasks:
 * a frame that makes no sense ends the slot.
 */
#include "pool/pool.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "codec/json.h"
#include "pool/frame.h"
#include "pool/slot.h"

enum {
    PAUSE_FIRST_MS = 50, /* before a slot that died is started again; doubles while it fails */
    PAUSE_MOST_MS = 5000,
    SLOTS_MAX = 256,
    HARD_MIN = 65
};

enum slot_state {
    SLOT_DEAD,
    SLOT_STARTING,
    SLOT_IDLE,
    SLOT_BUSY
};

struct slot {
    struct tr_pool *pool;
    enum slot_state state;
    uv_process_t process;
    uv_pipe_t pipe;
    uv_timer_t pause; /* until it is started again, or until its task has taken too long */
    int open_handles; /* process and pipe */
    bool exited;
    bool said_why; /* it told itself what is wrong before it ended */
    char how[64];  /* it ended */
    int failures;  /* in a row, before READY */
    void *user;
    bool forgotten; /* tr_pool_kill(): say nothing of this task */
    int64_t token;
    struct tr_buf in;
};

struct tr_pool {
    struct tr_pool_conf conf;
    char *setup;
    size_t n;
    bool closing;
    int64_t tokens;
    struct slot slots[];
};

struct sending {
    uv_write_t req;
    struct tr_buf bytes;
};

static void start(struct slot *s);

/* ---------------------------------------------------------------- the task's end */

static void room(struct tr_pool *p)
{
    if (!p->closing && p->conf.events.room)
        p->conf.events.room(p->conf.events.arg);
}

/* The slot has no task any more; whose it was, or NULL when nobody wants to know. */
static void *let_go(struct slot *s)
{
    void *user = s->forgotten ? NULL : s->user;

    s->user = NULL;
    s->forgotten = false;
    return user;
}

static void end_slot(struct slot *s)
{
    if (!s->exited)
        (void)uv_process_kill(&s->process, SIGKILL);
}

static void after_pause(uv_timer_t *t)
{
    struct slot *s = t->data;

    if (s->state == SLOT_DEAD)
        start(s);
    else if (s->state == SLOT_BUSY)
        end_slot(s); /* over conf.hard_us */
}

static void slot_gone(struct slot *s)
{
    struct tr_pool *p = s->pool;
    bool had_task = s->state == SLOT_BUSY;
    void *user = let_go(s);

    s->failures = s->state == SLOT_STARTING ? s->failures + 1 : 0;
    s->state = SLOT_DEAD;
    tr_buf_clear(&s->in);
    if (p->closing)
        return;
    uint64_t pause = PAUSE_FIRST_MS;
    for (int i = 1; i < s->failures && pause < PAUSE_MOST_MS; i++)
        pause *= 2;
    (void)uv_timer_start(&s->pause, after_pause, s->failures ? pause : 0, 0);
    if (had_task && user)
        p->conf.events.died(p->conf.events.arg, user, s->how);
    else if (s->failures == 1 && !s->said_why)
        p->conf.events.broken(p->conf.events.arg, s->how);
}

static void on_handle_closed(uv_handle_t *h)
{
    struct slot *s = h->data;

    if (--s->open_handles == 0)
        slot_gone(s);
}

static void close_both(struct slot *s)
{
    if (!uv_is_closing((uv_handle_t *)&s->pipe))
        uv_close((uv_handle_t *)&s->pipe, on_handle_closed);
    if (s->exited && !uv_is_closing((uv_handle_t *)&s->process))
        uv_close((uv_handle_t *)&s->process, on_handle_closed);
}

static void on_slot_exit(uv_process_t *process, int64_t code, int sig)
{
    struct slot *s = process->data;

    s->exited = true;
    if (sig)
        (void)snprintf(s->how, sizeof(s->how), "its slot was killed by SIG%s", sigabbrev_np(sig));
    else
        (void)snprintf(s->how, sizeof(s->how), "its slot ended with exit code %lld",
                       (long long)code);
    /* What it sent before it ended is still in the pipe: on_read() sees its end. */
    if (uv_is_closing((uv_handle_t *)&s->pipe))
        close_both(s);
}

/* ---------------------------------------------------------------- frames from the slot */

static int64_t number(const json_t *o, const char *name)
{
    return json_integer_value(json_object_get(o, name));
}

static void on_result_frame(struct slot *s, const json_t *head, const char *body, size_t len)
{
    struct tr_pool *p = s->pool;
    const char *log_error = tr_json_word(head, "log_error");
    struct tr_pool_result r = {
        .verdict = tr_json_word(head, "verdict"),
        .lang = tr_json_word(head, "lang"),
        .score = number(head, "score"),
        .time_ms = number(head, "time_ms"),
        .memory_kb = number(head, "memory_kb"),
        .compile_us = number(head, "compile_us"),
        .judged_us = number(head, "judged_us"),
        .fault = tr_json_word(head, "fault"),
        .late = json_is_true(json_object_get(head, "late")),
        .log_error = *log_error ? log_error : NULL,
        .json = body,
        .json_len = len,
    };
    void *user = let_go(s);

    (void)uv_timer_stop(&s->pause);
    s->state = SLOT_IDLE;
    if (user)
        p->conf.events.result(p->conf.events.arg, user, &r);
    room(p);
}

static void on_fault_frame(struct slot *s, const json_t *head)
{
    struct tr_pool *p = s->pool;
    void *user = let_go(s);

    (void)uv_timer_stop(&s->pause);
    s->state = SLOT_IDLE;
    if (user)
        p->conf.events.fault(p->conf.events.arg, user, tr_json_word(head, "error"),
                             json_is_true(json_object_get(head, "final")));
    room(p);
}

static bool understood(struct slot *s, const struct tr_frame *f)
{
    TR_CLEANUP(tr_json_unrefp) json_t *head = NULL;
    struct tr_pool *p = s->pool;
    const char *rest = "";
    size_t head_len = f->len, rest_len = 0;

    if (f->type == TR_FRAME_RESULT && tr_frame_split(f, &head_len, &rest, &rest_len, NULL) < 0)
        return false;
    if (tr_json_parse(f->body, head_len, TR_FRAME_MAX, &head, NULL) < 0)
        return false;
    if (f->type == TR_FRAME_READY && s->state == SLOT_STARTING) {
        s->state = SLOT_IDLE;
        s->failures = 0;
        room(p);
        return true;
    }
    if (f->type == TR_FRAME_BROKEN) {
        if (s->failures == 0)
            p->conf.events.broken(p->conf.events.arg, tr_json_word(head, "error"));
        s->said_why = true;
        return true;
    }
    if (s->state != SLOT_BUSY || number(head, "token") != s->token)
        return false;
    if (f->type == TR_FRAME_PROGRESS) {
        if (p->conf.events.progress && !s->forgotten)
            p->conf.events.progress(p->conf.events.arg, s->user, f->body, f->len);
        return true;
    }
    if (f->type == TR_FRAME_RESULT)
        on_result_frame(s, head, rest, rest_len);
    else if (f->type == TR_FRAME_FAULT)
        on_fault_frame(s, head);
    return f->type == TR_FRAME_RESULT || f->type == TR_FRAME_FAULT;
}

static void on_alloc(uv_handle_t *h, size_t suggested, uv_buf_t *buf)
{
    struct slot *s = h->data;
    char *where = tr_buf_room(&s->in, suggested);

    *buf = uv_buf_init(where, where ? (unsigned)suggested : 0);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct slot *s = stream->data;
    struct tr_frame f;
    int r = 0;

    if (n > 0)
        tr_buf_grow(&s->in, (size_t)n);
    while (n >= 0 && !s->pool->closing && (r = tr_frame_peek(&s->in, &f, NULL)) == 1) {
        if (!understood(s, &f)) {
            r = -1;
            break;
        }
        tr_frame_drop(&s->in, &f);
    }
    if (n < 0 || r < 0) {
        end_slot(s);
        close_both(s);
    }
}

/* ---------------------------------------------------------------- frames to the slot */

static void on_sent(uv_write_t *req, int status)
{
    struct sending *w = (struct sending *)req; /* its first member */

    tr_buf_done(&w->bytes); /* a failure shows as the end of the pipe */
    free(w);
}

static int send_frame(struct slot *s, enum tr_frame_type type, const char *head, const void *body,
                      size_t len, struct tr_err *err)
{
    struct sending *w = calloc(1, sizeof(*w));

    if (!w)
        return tr_fail(err, TR_E_NOMEM, 0, "out of memory");
    tr_buf_init(&w->bytes, TR_FRAME_MAX + 64);
    tr_frame_add(&w->bytes, type, head, strlen(head), body, len);
    int r = tr_buf_check(&w->bytes, "frame", err);
    uv_buf_t buf = uv_buf_init(w->bytes.data, (unsigned)w->bytes.len);
    if (r == 0 && uv_write(&w->req, (uv_stream_t *)&s->pipe, &buf, 1, on_sent) == 0)
        return 0;
    tr_buf_done(&w->bytes);
    free(w);
    return r < 0 ? r : tr_fail(err, TR_E_BUSY, 0, "the slot takes nothing");
}

/* ---------------------------------------------------------------- starting */

static int spawn(struct slot *s)
{
    struct tr_pool *p = s->pool;
    char arg0[] = "tribunal-slot", arg1[32];
    char *argv[] = {arg0, arg1, NULL};
    /* libuv means its flags to be joined and gives them an enum that has no such value. */
    const int both_ways = UV_CREATE_PIPE | UV_READABLE_PIPE | UV_WRITABLE_PIPE;
    uv_stdio_container_t stdio[TR_SLOT_FD + 1] = {
        {.flags = UV_IGNORE},
        {.flags = UV_IGNORE},
        {.flags = UV_INHERIT_FD, .data.fd = 2},
        {.flags = (uv_stdio_flags)both_ways, .data.stream = (uv_stream_t *)&s->pipe},
    };
    uv_process_options_t o = {
        .exit_cb = on_slot_exit,
        .file = p->conf.program,
        .args = argv,
        .stdio = stdio,
        .stdio_count = TR_ARRAY_LEN(stdio),
        .flags = UV_PROCESS_DETACHED, /* ^C goes to the supervisor, which drains */
    };

    (void)snprintf(arg1, sizeof(arg1), "%s", p->conf.arg);
    return uv_spawn(tr_loop_uv(p->conf.loop), &s->process, &o);
}

static void start(struct slot *s)
{
    struct tr_pool *p = s->pool;

    s->state = SLOT_STARTING;
    s->exited = s->said_why = false;
    s->open_handles = 2;
    (void)uv_pipe_init(tr_loop_uv(p->conf.loop), &s->pipe, 0);
    s->pipe.data = s;
    s->process.data = s;
    int r = spawn(s);
    if (r == 0)
        r = uv_read_start((uv_stream_t *)&s->pipe, on_alloc, on_read);
    if (r < 0) { /* also then libuv wants both closed */
        s->exited = true;
        (void)snprintf(s->how, sizeof(s->how), "a slot cannot start: %s", uv_strerror(r));
        close_both(s);
        return;
    }
    if (send_frame(s, TR_FRAME_SETUP, p->setup, NULL, 0, NULL) < 0)
        end_slot(s);
}

int tr_pool_open(const struct tr_pool_conf *conf, struct tr_pool **ret, struct tr_err *err)
{
    if (conf->slots < 1 || conf->slots > SLOTS_MAX)
        return tr_fail(err, TR_E_LIMIT, 0, "between 1 and %d slots", SLOTS_MAX);
    struct tr_pool *p = calloc(1, sizeof(*p) + conf->slots * sizeof(p->slots[0]));
    if (p)
        p->setup = strdup(conf->setup);
    if (!p || !p->setup) {
        free(p);
        return tr_fail(err, TR_E_NOMEM, 0, "no memory for a pool");
    }
    p->conf = *conf;
    p->conf.hard_us = conf->hard_us ? conf->hard_us : INT64_C(1000000) * 60 * HARD_MIN;
    p->n = conf->slots;
    for (size_t i = 0; i < p->n; i++) {
        struct slot *s = &p->slots[i];

        s->pool = p;
        tr_buf_init(&s->in, 2 * (size_t)TR_FRAME_MAX);
        (void)uv_timer_init(tr_loop_uv(conf->loop), &s->pause);
        s->pause.data = s;
        start(s);
    }
    *ret = p;
    return 0;
}

void tr_pool_close(struct tr_pool *p)
{
    if (!p)
        return;
    p->closing = true;
    for (size_t i = 0; i < p->n; i++) {
        struct slot *s = &p->slots[i];

        (void)uv_timer_stop(&s->pause);
        if (s->open_handles > 0) {
            end_slot(s);
            close_both(s);
        }
    }
    /* The processes end at once; their handles close in the next turns. */
    for (bool open = true; open;) {
        open = false;
        for (size_t i = 0; i < p->n; i++)
            open = open || p->slots[i].open_handles > 0;
        if (open)
            (void)uv_run(tr_loop_uv(p->conf.loop), UV_RUN_ONCE);
    }
    for (size_t i = 0; i < p->n; i++) {
        uv_close((uv_handle_t *)&p->slots[i].pause, NULL);
        tr_buf_done(&p->slots[i].in);
    }
    (void)uv_run(tr_loop_uv(p->conf.loop), UV_RUN_NOWAIT);
    free(p->setup);
    free(p);
}

/* ---------------------------------------------------------------- work */

static size_t count(const struct tr_pool *p, enum slot_state state)
{
    size_t n = 0;

    for (size_t i = 0; i < p->n; i++)
        n += p->slots[i].state == state;
    return n;
}

size_t tr_pool_free(const struct tr_pool *p)
{
    return count(p, SLOT_IDLE);
}

size_t tr_pool_busy(const struct tr_pool *p)
{
    return count(p, SLOT_BUSY);
}

size_t tr_pool_alive(const struct tr_pool *p)
{
    return count(p, SLOT_IDLE) + count(p, SLOT_BUSY);
}

static char *task_head(int64_t token, const char *spool)
{
    TR_CLEANUP(tr_json_unrefp)
    json_t *o = json_pack("{s:I, s:s}", "token", (json_int_t)token, "spool", spool ? spool : "");
    tr_autofree char *dump = o ? json_dumps(o, JSON_COMPACT) : NULL;
    char *line = NULL;

    return dump && asprintf(&line, "%s\n", dump) > 0 ? line : NULL;
}

int tr_pool_give(struct tr_pool *p, void *user, const void *task, size_t len, const char *spool,
                 struct tr_err *err)
{
    struct slot *s = NULL;

    for (size_t i = 0; i < p->n && !s; i++) {
        if (p->slots[i].state == SLOT_IDLE)
            s = &p->slots[i];
    }
    if (!s)
        return tr_fail(err, TR_E_BUSY, 0, "no slot is free");
    tr_autofree char *head = task_head(++p->tokens, spool);
    if (!head)
        return tr_fail(err, TR_E_NOMEM, 0, "out of memory");
    int r = send_frame(s, TR_FRAME_TASK, head, task, len, err);
    if (r < 0)
        return r;
    s->state = SLOT_BUSY;
    s->token = p->tokens;
    s->user = user;
    (void)uv_timer_start(&s->pause, after_pause, (uint64_t)(p->conf.hard_us / 1000), 0);
    return 0;
}

static struct slot *slot_of(struct tr_pool *p, const void *user)
{
    for (size_t i = 0; i < p->n; i++) {
        if (p->slots[i].state == SLOT_BUSY && p->slots[i].user == user)
            return &p->slots[i];
    }
    return NULL;
}

void tr_pool_cancel(struct tr_pool *p, void *user)
{
    struct slot *s = slot_of(p, user);

    if (s && send_frame(s, TR_FRAME_CANCEL, "{}", NULL, 0, NULL) < 0)
        end_slot(s);
}

void tr_pool_kill(struct tr_pool *p, void *user)
{
    struct slot *s = slot_of(p, user);

    if (!s)
        return;
    s->forgotten = true;
    end_slot(s);
}
