/* SPDX-License-Identifier: MIT
 *
 * ws.c - libwebsockets as a client, with its habits hidden.
 *
 * It writes once per writeable callback and wants room before the bytes; it hands over fragments;
 * it may report a failure from inside the call that connects; it keeps a connection for some turns
 * of the loop after we lost interest. A connection of ours and one of libwebsockets are therefore
 * two objects that point at each other until one of them goes.
 */
#include "net/ws.h"

#include <libwebsockets.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "net/url.h"

enum {
    CONNECT_S = 10,
    CLOSE_S = 2, /* for the peer's answer to our close */
    MOST_DEFAULT = 16,
    OWN_FDS = 8,          /* libwebsockets' own pipe and the like */
    RX_CHUNK = 64 * 1024, /* one read; messages are put together from them */
    CLOSED_BADLY = 1006,  /* RFC 6455: no close frame came */
    TOO_BIG = 1009,
    NOT_TEXT = 1003,
    WRITE_CLOSE = 4, /* the number between LWS_WRITE_HTTP and _PING; its name left the header */
    FREE_TURNS = 100 /* of the loop, until libuv has closed every handle */
};

struct tr_ws_net {
    struct tr_loop *loop;
    struct lws_context *context;
};

/* One message that waits, with the room that lws_write() wants before it. */
struct out {
    struct out *next;
    size_t len;
    unsigned char room[]; /* LWS_PRE bytes, then the message */
};

struct tr_ws {
    struct tr_ws_net *net;
    struct tr_ws_events events;
    struct lws *wsi; /* NULL before and after */
    bool open;       /* the upgrade was answered */
    struct tr_url url;
    char path[128];
    struct tr_buf in;
    struct out *first, **last;
    size_t waiting, max_waiting;
    int close_with; /* our code, 0 while it stays open */
    bool close_sent;
    int peer_code;   /* the peer's code */
    bool connecting; /* inside lws_client_connect_via_info() */
    char why[200];
};

static int callback(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in,
                    size_t len);

static const struct lws_protocols protocols[] = {
    {.name = "tribunal", .callback = callback, .rx_buffer_size = RX_CHUNK},
    {.name = NULL},
};

static void silence(void)
{
    lws_set_log_level(0, NULL); /* libraries do not log; sentences come with closed() */
}

int tr_ws_net_new(struct tr_loop *loop, const struct tr_ws_conf *conf, struct tr_ws_net **ret,
                  struct tr_err *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    unsigned most = conf && conf->most ? conf->most : MOST_DEFAULT;
    void *loops[] = {tr_loop_uv(loop)};
    struct lws_context_creation_info info = {
        .port = CONTEXT_PORT_NO_LISTEN,
        .protocols = protocols,
        .options = LWS_SERVER_OPTION_LIBUV | LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT,
        .foreign_loops = loops,
        .client_ssl_ca_filepath = conf ? conf->ca_file : NULL,
        .fd_limit_per_thread = most + OWN_FDS,
        .timeout_secs = CONNECT_S,
        .connect_timeout_secs = CONNECT_S,
        .gid = -1,
        .uid = -1,
    };
    struct tr_ws_net *n = calloc(1, sizeof(*n));

    (void)pthread_once(&once, silence);
    if (n)
        n->context = lws_create_context(&info);
    if (!n || !n->context) {
        free(n);
        return tr_fail(err, TR_E_FATAL, 0,
                       "libwebsockets cannot start%s%s; is libwebsockets-evlib-uv installed?",
                       conf && conf->ca_file ? " with certificates from " : "",
                       conf && conf->ca_file ? conf->ca_file : "");
    }
    n->loop = loop;
    *ret = n;
    return 0;
}

void tr_ws_net_free(struct tr_ws_net *n)
{
    if (!n)
        return;
    /* Twice: the first begins to close handles, the second, when libuv has done so, frees. */
    lws_context_destroy(n->context);
    for (int i = 0; i < FREE_TURNS && uv_run(tr_loop_uv(n->loop), UV_RUN_NOWAIT); i++) {
    }
    lws_context_destroy(n->context);
    free(n);
}

/* ws and wss are http and https to our address parser. */
static int parse(const char *text, struct tr_url *ret, struct tr_err *err)
{
    char http[TR_URL_MAX];
    const char *rest = strncmp(text, "ws", 2) == 0 ? text + 2 : NULL;

    (void)snprintf(http, sizeof(http), "%s%s", rest ? "http" : "", rest ? rest : text);
    int r = tr_url_parse(http, strlen(http), ret, err);
    if (r < 0 || (ret->scheme != TR_URL_HTTP && ret->scheme != TR_URL_HTTPS))
        return tr_fail(err, TR_E_PARSE, 0,
                       "'%.200s' is no address of a controller: ws://HOST:PORT or wss://HOST:PORT",
                       text);
    return 0;
}

int tr_ws_http_base(const char *url, char out[static TR_WS_BASE], struct tr_err *err)
{
    struct tr_url u;
    int r = parse(url, &u, err);

    if (r < 0)
        return r;
    (void)snprintf(out, TR_WS_BASE, "%s://%s:%d", u.scheme == TR_URL_HTTPS ? "https" : "http",
                   u.host, u.port);
    return 0;
}

static void drop_queue(struct tr_ws *w)
{
    while (w->first) {
        struct out *o = w->first;

        w->first = o->next;
        free(o);
    }
    w->last = &w->first;
    w->waiting = 0;
}

static void ws_destroy(struct tr_ws *w)
{
    drop_queue(w);
    tr_buf_done(&w->in);
    free(w);
}

static bool start(struct tr_ws *w, const struct tr_ws_target *target)
{
    char host[TR_URL_HOST_MAX + 8], address[TR_URL_HOST_MAX];
    size_t len = strlen(w->url.host);
    bool v6 = w->url.host[0] == '[' && len > 2; /* brackets belong to the header only */

    (void)snprintf(host, sizeof(host), "%s:%d", w->url.host, w->url.port);
    (void)snprintf(address, sizeof(address), "%.*s", (int)(v6 ? len - 2 : len), w->url.host + v6);
    struct lws_client_connect_info info = {
        .context = w->net->context,
        .address = address,
        .port = w->url.port,
        .path = w->path,
        .host = host,
        .protocol = target->subprotocol,
        .local_protocol_name = protocols[0].name,
        .ssl_connection = w->url.scheme == TR_URL_HTTPS ? LCCSCF_USE_SSL : 0,
        .opaque_user_data = w,
        .pwsi = &w->wsi,
    };

    w->connecting = true;
    bool ok = lws_client_connect_via_info(&info) != NULL;
    w->connecting = false;
    return ok;
}

int tr_ws_connect(struct tr_ws_net *n, const struct tr_ws_target *target,
                  const struct tr_ws_events *events, struct tr_ws **ret, struct tr_err *err)
{
    struct tr_ws *w = calloc(1, sizeof(*w));

    if (!w)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory for a connection");
    *w = (struct tr_ws){.net = n, .events = *events, .max_waiting = target->max_waiting};
    w->last = &w->first;
    tr_buf_init(&w->in, target->max_message);
    (void)snprintf(w->path, sizeof(w->path), "%s", target->path);
    int r = parse(target->url, &w->url, err);
    if (r == 0 && !start(w, target))
        r = tr_fail(err, TR_E_RETRY, 0, "cannot connect to %s: %s", target->url,
                    w->why[0] ? w->why : "no route or no such name");
    if (r < 0) {
        ws_destroy(w);
        return r;
    }
    *ret = w;
    return 0;
}

int tr_ws_send(struct tr_ws *w, const char *bytes, size_t len, struct tr_err *err)
{
    if (!w->wsi || w->close_with)
        return tr_fail(err, TR_E_LOST, 0, "the connection is closing");
    if (w->waiting + len > w->max_waiting)
        return tr_fail(err, TR_E_LIMIT, 0, "%zu bytes wait to be sent: the peer reads too slowly",
                       w->waiting);
    struct out *o = malloc(sizeof(*o) + LWS_PRE + len);
    if (!o)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory for a message of %zu bytes", len);
    o->next = NULL;
    o->len = len;
    memcpy(o->room + LWS_PRE, bytes, len);
    *w->last = o;
    w->last = &o->next;
    w->waiting += len;
    (void)lws_callback_on_writable(w->wsi);
    return 0;
}

void tr_ws_close(struct tr_ws *w, int code)
{
    if (w->close_with)
        return;
    w->close_with = code;
    if (w->wsi && w->open) /* else on_open() does it */
        (void)lws_callback_on_writable(w->wsi);
}

void tr_ws_free(struct tr_ws *w)
{
    if (!w)
        return;
    if (w->wsi) {
        lws_set_opaque_user_data(w->wsi, NULL);
        lws_set_timeout(w->wsi, PENDING_TIMEOUT_USER_REASON_BASE, LWS_TO_KILL_ASYNC);
    }
    ws_destroy(w);
}

static int refuse(struct tr_ws *w, int code, const char *why)
{
    (void)snprintf(w->why, sizeof(w->why), "%s", why);
    drop_queue(w);
    tr_ws_close(w, code);
    return 0;
}

static int on_bytes(struct tr_ws *w, struct lws *wsi, const void *bytes, size_t len)
{
    if (w->close_with)
        return 0; /* it is over, whatever comes */
    if (lws_frame_is_binary(wsi))
        return refuse(w, NOT_TEXT, "the peer sent a binary message");
    tr_buf_add(&w->in, bytes, len);
    if (w->in.failed)
        return refuse(w, TOO_BIG, "the peer sent a message over the ceiling");
    if (!lws_is_final_fragment(wsi) || lws_remaining_packet_payload(wsi) > 0)
        return 0;
    if (!w->in.data)
        tr_buf_adds(&w->in, ""); /* bytes[len] is 0 also when the message is empty */
    w->events.text(w->events.arg, w->in.data ? w->in.data : (char[1]){0}, w->in.len);
    w = lws_get_opaque_user_data(wsi); /* the event may have freed it */
    if (!w)
        return -1;
    tr_buf_clear(&w->in);
    return 0;
}

/* Our own close frame: what lws_close_reason() prepares is never sent by 4.1 on a libuv loop, which
 * closes twice in one turn. The peer answers and closes, or the time is up. */
static int write_close(struct tr_ws *w, struct lws *wsi)
{
    unsigned char room[LWS_PRE + 2];

    if (w->close_sent)
        return 0;
    w->close_sent = true;
    room[LWS_PRE] = (unsigned char)(w->close_with >> 8);
    room[LWS_PRE + 1] = (unsigned char)(w->close_with & 0xff);
    lws_set_timeout(wsi, PENDING_TIMEOUT_CLOSE_ACK, CLOSE_S);
    return lws_write(wsi, room + LWS_PRE, 2, (enum lws_write_protocol)WRITE_CLOSE) < 2 ? -1 : 0;
}

static int on_writeable(struct tr_ws *w, struct lws *wsi)
{
    struct out *o = w->first;

    if (!o)
        return w->close_with ? write_close(w, wsi) : 0;
    if (lws_write(wsi, o->room + LWS_PRE, o->len, LWS_WRITE_TEXT) < (int)o->len)
        return -1;
    w->first = o->next;
    if (!w->first)
        w->last = &w->first;
    w->waiting -= o->len;
    free(o);
    if (w->first || w->close_with)
        (void)lws_callback_on_writable(wsi);
    return 0;
}

static void on_peer_close(struct tr_ws *w, const unsigned char *in, size_t len)
{
    if (len < 2 || w->why[0])
        return;
    w->peer_code = in[0] << 8 | in[1];
    (void)snprintf(w->why, sizeof(w->why), "the peer closed with %d%s%.*s", w->peer_code,
                   len > 2 ? ": " : "", (int)(len - 2), (const char *)in + 2);
}

static int on_open(struct tr_ws *w, struct lws *wsi)
{
    w->open = true;
    w->events.opened(w->events.arg);
    w = lws_get_opaque_user_data(wsi); /* the event may have freed it */
    if (!w)
        return -1;
    if (w->close_with)
        (void)lws_callback_on_writable(wsi);
    return 0;
}

static void on_end(struct tr_ws *w, struct lws *wsi)
{
    lws_set_opaque_user_data(wsi, NULL);
    w->wsi = NULL;
    if (w->connecting)
        return; /* tr_ws_connect() tells its caller */
    w->events.closed(w->events.arg, w->peer_code ? w->peer_code : CLOSED_BADLY,
                     w->why[0] ? w->why : "the connection broke");
}

static int callback(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in,
                    size_t len)
{
    struct tr_ws *w = wsi ? lws_get_opaque_user_data(wsi) : NULL;

    (void)user;
    if (!w) /* freed: nothing more to say on this connection */
        return reason == LWS_CALLBACK_CLIENT_RECEIVE || reason == LWS_CALLBACK_CLIENT_WRITEABLE ||
                       reason == LWS_CALLBACK_CLIENT_ESTABLISHED
                   ? -1
                   : 0;
    switch ((int)reason) {
    case LWS_CALLBACK_CLIENT_ESTABLISHED:
        return on_open(w, wsi);
    case LWS_CALLBACK_CLIENT_RECEIVE:
        return on_bytes(w, wsi, in, len);
    case LWS_CALLBACK_CLIENT_WRITEABLE:
        return on_writeable(w, wsi);
    case LWS_CALLBACK_WS_PEER_INITIATED_CLOSE:
        on_peer_close(w, in, len);
        return 0;
    case LWS_CALLBACK_CLIENT_CONNECTION_ERROR:
        (void)snprintf(w->why, sizeof(w->why), "%.*s", in ? (int)len : 0, in ? (char *)in : "");
        on_end(w, wsi);
        return 0;
    case LWS_CALLBACK_CLIENT_CLOSED:
        on_end(w, wsi);
        return 0;
    default:
        return 0;
    }
}
