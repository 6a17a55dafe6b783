/* SPDX-License-Identifier: MIT
 *
 * conn.c - what waits to be sent on a connection, and the pieces of what comes in.
 *
 * libwebsockets wants one write for each WRITEABLE callback and room before the bytes for its own
 * header; it hands messages over in pieces. All that is dealt with here and nowhere else.
 */
#include "controller/conn.h"

#include <libwebsockets.h>
#include <stdlib.h>
#include <string.h>

#include "controller/ctl.h"

struct conn_out {
    struct conn_out *next;
    struct note *note;
    size_t sent;
};

enum {
    PIECE = 64 * 1024 /* of a long message at one time, so that others get their turn */
};

struct note *note_new(const void *bytes, size_t len)
{
    struct note *n = malloc(sizeof(*n));
    unsigned char *room = n ? malloc(LWS_PRE + len + 1) : NULL;

    if (!room) {
        free(n);
        return NULL;
    }
    *n = (struct note){.refs = 1, .len = len, .bytes = room + LWS_PRE};
    memcpy(n->bytes, bytes, len);
    return n;
}

struct note *note_ref(struct note *n)
{
    n->refs++;
    return n;
}

void note_unref(struct note *n)
{
    if (!n || --n->refs > 0)
        return;
    free(n->bytes - LWS_PRE);
    free(n);
}

struct conn *conn_new(struct ctl *ctl, struct lws *wsi)
{
    struct conn *c = calloc(1, sizeof(*c));

    if (!c)
        return NULL;
    c->ctl = ctl;
    c->wsi = wsi;
    c->backlog_max = CONN_BACKLOG_MAX;
    (void)lws_get_peer_simple(wsi, c->peer, sizeof(c->peer));
    const char *plain = strncmp(c->peer, "::ffff:", 7) == 0 ? c->peer + 7 : c->peer;
    c->loopback = strncmp(plain, "127.", 4) == 0 || strcmp(plain, "::1") == 0;
    return c;
}

static void drop_first(struct conn *c)
{
    struct conn_out *o = c->first;

    c->first = o->next;
    if (!c->first)
        c->last = NULL;
    c->backlog -= o->note->len;
    note_unref(o->note);
    free(o);
}

void conn_free(struct conn *c)
{
    if (!c)
        return;
    while (c->first)
        drop_first(c);
    free(c->in.data);
    free(c);
}

bool conn_pending(const struct conn *c)
{
    return c->first != NULL;
}

void conn_send(struct conn *c, struct note *n)
{
    struct conn_out *o = n && c->close_code == 0 ? calloc(1, sizeof(*o)) : NULL;

    if (!o) {
        note_unref(n);
        return;
    }
    o->note = n;
    if (c->last)
        c->last->next = o;
    else
        c->first = o;
    c->last = o;
    c->backlog += n->len;
    if (c->backlog > c->backlog_max)
        conn_close(c, LWS_CLOSE_STATUS_POLICY_VIOLATION, "too slow: too much waits to be sent");
    (void)lws_callback_on_writable(c->wsi);
}

void conn_close(struct conn *c, unsigned code, const char *why)
{
    if (c->close_code)
        return;
    c->close_code = code;
    (void)snprintf(c->close_why, sizeof(c->close_why), "%s", why);
    /* One that reads nothing would keep us waiting for ever. */
    lws_set_timeout(c->wsi, PENDING_TIMEOUT_USER_REASON_BASE, 5);
    (void)lws_callback_on_writable(c->wsi);
}

static int end_kind(const struct conn *c, bool first, bool last)
{
    if (c->kind == CONN_HTTP)
        return LWS_WRITE_HTTP;
    return lws_write_ws_flags(LWS_WRITE_TEXT, first, last);
}

/* The frame's kind, which libwebsockets keeps in a private header: fixed by its ABI, since a
 * program built against another one would not load. */
#define WRITE_CLOSE ((enum lws_write_protocol)4)

/* By hand: libwebsockets 4.1 takes a refusal in a WRITEABLE callback for a broken socket and hangs
 * up without the frame. The peer's answer, or the timeout of conn_close(), ends the connection. */
static int send_close(struct conn *c)
{
    unsigned char room[LWS_PRE + 2 + sizeof(c->close_why)];
    size_t n = strlen(c->close_why);

    if (c->close_sent)
        return 0;
    c->close_sent = true;
    room[LWS_PRE] = (unsigned char)(c->close_code >> 8);
    room[LWS_PRE + 1] = (unsigned char)c->close_code;
    memcpy(room + LWS_PRE + 2, c->close_why, n);
    return lws_write(c->wsi, room + LWS_PRE, n + 2, WRITE_CLOSE) < 0 ? -1 : 0;
}

int conn_flush(struct conn *c)
{
    if (c->first) {
        struct conn_out *o = c->first;
        size_t left = o->note->len - o->sent;
        size_t now = left > PIECE ? PIECE : left;
        unsigned char saved[LWS_PRE];
        unsigned char *at = o->note->bytes + o->sent;

        /* The header goes before the piece: over bytes of the note that another reader may still
         * need. */
        memcpy(saved, at - LWS_PRE, LWS_PRE);
        int n = lws_write(c->wsi, at, now,
                          (enum lws_write_protocol)end_kind(c, o->sent == 0, now == left));
        memcpy(at - LWS_PRE, saved, LWS_PRE);
        if (n < (int)now)
            return -1;
        o->sent += now;
        if (o->sent == o->note->len)
            drop_first(c);
        /* one write for each callback: the closing frame is another */
        if (c->first || c->close_code)
            (void)lws_callback_on_writable(c->wsi);
        return 0;
    }
    if (c->close_code == 0)
        return 0;
    return c->kind == CONN_HTTP ? -1 : send_close(c);
}

static bool grow(struct conn *c, size_t more)
{
    if (c->in.len + more + 1 <= c->in.cap)
        return true;
    size_t cap = c->in.cap ? c->in.cap : 1024;
    while (cap < c->in.len + more + 1)
        cap *= 2;
    char *data = realloc(c->in.data, cap);
    if (!data)
        return false;
    c->in.data = data;
    c->in.cap = cap;
    return true;
}

int conn_receive(struct conn *c, const void *in, size_t len, bool binary, bool last)
{
    if (c->close_code)
        return 0;
    if (binary) {
        conn_close(c, LWS_CLOSE_STATUS_UNACCEPTABLE_OPCODE, "not_text: expected JSON text frames");
        return 0;
    }
    if (c->in.len + len > c->in.max || !grow(c, len)) {
        conn_close(c, LWS_CLOSE_STATUS_MESSAGE_TOO_LARGE, "too_large");
        return 0;
    }
    memcpy(c->in.data + c->in.len, in, len);
    c->in.len += len;
    c->in.data[c->in.len] = '\0';
    if (!last)
        return 0;
    size_t n = c->in.len;
    c->in.len = 0;
    c->message(c, c->in.data, n);
    if (c->in.cap > PIECE) { /* a large message is rare; a thousand judges are not */
        free(c->in.data);
        c->in.data = NULL;
        c->in.cap = 0;
    }
    return 0;
}
