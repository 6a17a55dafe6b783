/* SPDX-License-Identifier: MIT
 *
 * server.c - what libwebsockets tells us, handed to whom it concerns.
 *
 * Its traps, each of which cost somebody a day: the default loop is poll(2), so the libuv one is
 * asked for; a header table is held as long as a request is open, so the pool is as large as the
 * number of connections and streams give theirs back; a POST without a length waits for 100 MB;
 * user data of a connection survives from one request to the next, so requests hang on our own
 * struct conn.
 */
#include "controller/server.h"

#include <libwebsockets.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/parse.h"
#include "controller/backend_ws.h"
#include "controller/ctl.h"
#include "controller/http.h"
#include "controller/judge_ws.h"
#include "net/tls_pair.h"

static struct ctl *ctl_of(struct lws *wsi)
{
    return lws_context_user(lws_get_context(wsi));
}

static struct conn *conn_of(struct lws *wsi)
{
    struct conn *c = lws_get_opaque_user_data(wsi);

    if (!c) {
        c = conn_new(ctl_of(wsi), wsi);
        lws_set_opaque_user_data(wsi, c);
    }
    return c;
}

/* Which kind of WebSocket is asked for? Neither: refused. */
static int upgrade(struct conn *c)
{
    char path[32] = "", protocol[64] = "";

    (void)lws_hdr_copy(c->wsi, path, sizeof(path), WSI_TOKEN_GET_URI);
    (void)lws_hdr_copy(c->wsi, protocol, sizeof(protocol), WSI_TOKEN_PROTOCOL);
    if (strcmp(path, "/ws/judge") == 0) {
        c->kind = CONN_JUDGE;
        return *protocol && strcmp(protocol, "tribunal.judge.v1") != 0 ? -1 : 0;
    }
    if (strcmp(path, "/ws/backend") == 0) {
        c->kind = CONN_BACKEND;
        return backend_ws_upgrade(c);
    }
    return -1;
}

static int established(struct conn *c)
{
    c->open = true;
    c->ctl->sockets++;
    if (c->ctl->stopping) {
        conn_close(c, LWS_CLOSE_STATUS_GOINGAWAY, "shutdown");
        return 0;
    }
    return c->kind == CONN_JUDGE ? judge_ws_open(c) : backend_ws_open(c);
}

static void closed(struct conn *c)
{
    if (c->gone)
        c->gone(c);
    c->gone = NULL;
    c->ctl->sockets -= c->open;
    c->open = false;
}

static int on_websocket(struct lws *wsi, enum lws_callback_reasons reason, void *in, size_t len)
{
    struct conn *c = conn_of(wsi);

    if (!c)
        return -1;
    if (reason == LWS_CALLBACK_FILTER_PROTOCOL_CONNECTION)
        return upgrade(c);
    if (reason == LWS_CALLBACK_ESTABLISHED)
        return established(c);
    if (reason == LWS_CALLBACK_SERVER_WRITEABLE)
        return conn_flush(c);
    return conn_receive(c, in, len, lws_frame_is_binary(wsi),
                        lws_is_final_fragment(wsi) && lws_remaining_packet_payload(wsi) == 0);
}

static int on_http(struct lws *wsi, enum lws_callback_reasons reason, void *in, size_t len)
{
    struct conn *c = conn_of(wsi);

    if (!c)
        return -1;
    if (reason == LWS_CALLBACK_HTTP)
        return http_begin(c);
    if (reason == LWS_CALLBACK_HTTP_BODY)
        return http_body(c, in, len);
    if (reason == LWS_CALLBACK_HTTP_BODY_COMPLETION)
        return http_body_end(c);
    if (reason == LWS_CALLBACK_TIMER)
        return http_late(c);
    return http_writeable(c);
}

/* Java's client and curl --http2 offer "h2c" with their first request, and libwebsockets would take
 * it, while our answers are those of HTTP/1.1. An offer may be passed over; this callback can only
 * refuse the whole request, so the word is taken out of the header instead. */
static void stay_http1(char *upgrade)
{
    if (upgrade && strcasecmp(upgrade, "h2c") == 0)
        *upgrade = '\0';
}

static int on_event(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in,
                    size_t len)
{
    struct conn *c;

    (void)user;
    switch ((int)reason) {
    case LWS_CALLBACK_HTTP:
    case LWS_CALLBACK_HTTP_BODY:
    case LWS_CALLBACK_HTTP_BODY_COMPLETION:
    case LWS_CALLBACK_HTTP_WRITEABLE:
    case LWS_CALLBACK_TIMER:
        return on_http(wsi, reason, in, len);
    case LWS_CALLBACK_FILTER_PROTOCOL_CONNECTION:
    case LWS_CALLBACK_ESTABLISHED:
    case LWS_CALLBACK_RECEIVE:
    case LWS_CALLBACK_SERVER_WRITEABLE:
        return on_websocket(wsi, reason, in, len);
    case LWS_CALLBACK_HTTP_CONFIRM_UPGRADE:
        stay_http1(in);
        return 0;
    case LWS_CALLBACK_WS_PEER_INITIATED_CLOSE: /* it answers ours: no third frame */
        c = lws_get_opaque_user_data(wsi);
        return c && c->close_sent ? -1 : 0;
    case LWS_CALLBACK_CLOSED_HTTP:
    case LWS_CALLBACK_CLOSED:
    case LWS_CALLBACK_WSI_DESTROY:
        c = lws_get_opaque_user_data(wsi);
        if (!c)
            return 0;
        http_gone(c);
        closed(c);
        if (reason == LWS_CALLBACK_WSI_DESTROY) {
            lws_set_opaque_user_data(wsi, NULL);
            conn_free(c);
        }
        return 0;
    default:
        return 0;
    }
}

static const struct lws_protocols protocols[] = {
    {"http", on_event, 0, 0, 0, NULL, 0},
    {"tribunal.judge.v1", on_event, 0, 64 * 1024, 0, NULL, 0},
    {"tribunal.backend.v1", on_event, 0, 64 * 1024, 0, NULL, 0},
    {NULL, NULL, 0, 0, 0, NULL, 0},
};

/* A peer that vanished without a word: asked after 30 s of silence, given up after 60. */
static const lws_retry_bo_t idle_policy = {
    .secs_since_valid_ping = 30,
    .secs_since_valid_hangup = 60,
};

static void on_lws_log(int level, const char *line)
{
    size_t n = strlen(line);

    tr_log(level & LLL_ERR ? TR_LOG_WARN : TR_LOG_DEBUG, NULL, "libwebsockets: %.*s",
           (int)(n && line[n - 1] == '\n' ? n - 1 : n), line);
}

/* "ADDRESS:PORT", "[V6]:PORT", ":PORT" */
static int parse_listen(const char *text, char host[static 64], int *ret_port, struct tr_err *err)
{
    const char *colon = strrchr(text, ':');
    int64_t port = 0;

    if (!colon || colon - text >= 64)
        return tr_fail(err, TR_E_PARSE, 0, "--listen '%.80s': expected ADDRESS:PORT", text);
    int r = tr_parse_i64(colon + 1, 1, 65535, &port, err);
    if (r < 0)
        return tr_fail_wrap(err, "--listen '%.80s'", text);
    bool brackets = text[0] == '[' && colon > text && colon[-1] == ']';
    (void)snprintf(host, 64, "%.*s", (int)(colon - text) - (brackets ? 2 : 0),
                   text + (brackets ? 1 : 0));
    if (strcmp(host, "localhost") == 0) /* libwebsockets takes addresses only */
        (void)snprintf(host, 64, "127.0.0.1");
    *ret_port = (int)port;
    return 0;
}

/* A pair that does not fit leaves the old one in use: whoever renews certificates replaces two
 * files, and may tell us between them. */
static void on_hangup(uv_signal_t *h, int signum)
{
    struct ctl *ctl = h->data;
    const struct ctl_conf *c = &ctl->conf;
    struct tr_err err = TR_ERR_INIT;

    (void)signum;
    if (!c->tls_cert)
        tr_log(TR_LOG_INFO, NULL, "SIGHUP: no certificate to read again");
    else if (tr_tls_pair_check(c->tls_cert, c->tls_key, &err) < 0)
        tr_log(TR_LOG_ERROR, NULL, "the certificate stays the old one: %s", err.msg);
    else if (lws_tls_cert_updated(ctl->lws, c->tls_cert, c->tls_key, NULL, 0, NULL, 0) != 0)
        tr_log(TR_LOG_ERROR, NULL, "the certificate '%s' could not be taken over", c->tls_cert);
    else
        tr_log(TR_LOG_INFO, NULL, "the certificate was read again; new connections get it");
}

static int watch_hangup(struct ctl *ctl, struct tr_err *err)
{
    static uv_signal_t hangup; /* closed with the loop */
    int r = uv_signal_init(tr_loop_uv(ctl->loop), &hangup);

    hangup.data = ctl;
    if (r == 0)
        r = uv_signal_start(&hangup, on_hangup, SIGHUP);
    if (r < 0)
        return tr_fail(err, TR_E_IO, -r, "watch SIGHUP");
    uv_unref((uv_handle_t *)&hangup);
    return 0;
}

/* libwebsockets opens an IPv6 socket for IPv4 too; a kernel without IPv6 has none to give. */
static bool has_ipv6(void)
{
    tr_autoclose int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);

    return fd >= 0;
}

/* libwebsockets takes a socket that it could not open for no failure. */
static bool listens(void)
{
    enum {
        EARLY_FDS = 1024
    }; /* it is opened before the first connection */

    for (int fd = 0; fd < EARLY_FDS; fd++) {
        int on = 0;
        socklen_t size = sizeof(on);

        if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &on, &size) == 0 && on)
            return true;
    }
    return false;
}

int server_start(struct ctl *ctl, struct tr_err *err)
{
    struct lws_context_creation_info info = {0};
    char host[64] = "";
    int port = 0;
    void *loops[] = {tr_loop_uv(ctl->loop)};
    int r = parse_listen(ctl->conf.listen, host, &port, err);

    if (r >= 0 && ctl->conf.tls_cert)
        r = tr_tls_pair_check(ctl->conf.tls_cert, ctl->conf.tls_key, err);
    if (r < 0)
        return r;
    lws_set_log_level(LLL_ERR | LLL_WARN, on_lws_log);
    info.user = ctl;
    info.port = port;
    info.iface = *host && strcmp(host, "0.0.0.0") != 0 && strcmp(host, "::") != 0 ? host : NULL;
    info.protocols = protocols;
    info.foreign_loops = loops;
    info.gid = -1;
    info.uid = -1;
    /* The port is asked for by itself: a context whose port failed is handed out as if it were
     * whole where the loop is libuv's, and then nobody listens. */
    info.options = LWS_SERVER_OPTION_LIBUV | LWS_SERVER_OPTION_FAIL_UPON_UNABLE_TO_BIND |
                   LWS_SERVER_OPTION_EXPLICIT_VHOSTS;
    if (!has_ipv6())
        info.options |= LWS_SERVER_OPTION_DISABLE_IPV6;
    info.max_http_header_data2 = 8192;
    info.max_http_header_pool2 = (unsigned)ctl->conf.max_connections;
    info.fd_limit_per_thread = (unsigned)ctl->conf.max_connections + 64;
    info.timeout_secs = 10; /* for a TLS handshake, a request's headers, a silent body */
    info.timeout_secs_ah_idle = 10;
    info.keepalive_timeout = 60;
    info.ka_time = 60;
    info.ka_probes = 3;
    info.ka_interval = 10;
    info.retry_and_idle_policy = &idle_policy;
    info.alpn = "http/1.1"; /* one protocol to look after; judges and pages need no other */
    info.server_string = "tribunal";
    if (ctl->conf.tls_cert) {
        info.options |= LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT;
        info.ssl_cert_filepath = ctl->conf.tls_cert;
        info.ssl_private_key_filepath = ctl->conf.tls_key;
    }
    ctl->lws = lws_create_context(&info);
    if (!ctl->lws || !lws_create_vhost(ctl->lws, &info) || !listens())
        return tr_fail(err, TR_E_IO, 0,
                       "cannot listen on %s: another program is there, or the address is not this "
                       "machine's",
                       ctl->conf.listen);
    return watch_hangup(ctl, err);
}

void server_stop(struct ctl *ctl)
{
    if (!ctl->lws)
        return;
    /* On a loop of somebody else's the first call asks for the end of all handles, a turn of the
     * loop lets them end, and the second frees the rest. */
    lws_context_destroy(ctl->lws);
    for (int i = 0; i < 20; i++)
        (void)uv_run(tr_loop_uv(ctl->loop), UV_RUN_NOWAIT);
    lws_context_destroy(ctl->lws);
    ctl->lws = NULL;
}
