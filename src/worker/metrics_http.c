/* SPDX-License-Identifier: MIT
 *
 * metrics_http.c - answers every request with the same page and closes. It reads no more of a
 * request than its end, and holds no more than a few of them at once.
 */
#include "worker/metrics_http.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/parse.h"

enum {
    CLIENTS_MAX = 16,
    REQUEST_MAX = 8192,
    PAGE_MAX = 1 << 20,
    PATIENCE_MS = 5000,
    BACKLOG = 16
};

struct metrics_http {
    uv_tcp_t listener;
    int port, clients;
    void (*page)(void *arg, struct tr_buf *out);
    void *arg;
};

struct client {
    uv_tcp_t tcp;
    uv_timer_t patience;
    uv_write_t write;
    struct metrics_http *m;
    struct tr_buf in, out;
    bool answered;
    int handles;
};

static void on_closed(uv_handle_t *h)
{
    struct client *c = h->data;

    if (--c->handles > 0)
        return;
    c->m->clients--;
    tr_buf_done(&c->in);
    tr_buf_done(&c->out);
    free(c);
}

static void end(struct client *c)
{
    if (!uv_is_closing((uv_handle_t *)&c->tcp))
        uv_close((uv_handle_t *)&c->tcp, on_closed);
    if (!uv_is_closing((uv_handle_t *)&c->patience))
        uv_close((uv_handle_t *)&c->patience, on_closed);
}

static void on_written(uv_write_t *w, int status)
{
    end(w->data);
}

static void too_slow(uv_timer_t *t)
{
    end(t->data);
}

static void answer(struct client *c)
{
    TR_CLEANUP(tr_buf_done) struct tr_buf page;

    c->answered = true;
    tr_buf_init(&page, PAGE_MAX);
    c->m->page(c->m->arg, &page);
    tr_buf_addf(&c->out,
                "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\n"
                "Content-Length: %zu\r\nConnection: close\r\n\r\n",
                page.len);
    if (page.len)
        tr_buf_add(&c->out, page.data, page.len);
    uv_buf_t b = uv_buf_init(c->out.data, (unsigned)c->out.len);
    c->write.data = c;
    if (c->out.failed || uv_write(&c->write, (uv_stream_t *)&c->tcp, &b, 1, on_written) < 0)
        end(c);
}

static void on_alloc(uv_handle_t *h, size_t suggested, uv_buf_t *b)
{
    struct client *c = h->data;
    char *room = tr_buf_room(&c->in, REQUEST_MAX / 8);

    *b = uv_buf_init(room, room ? REQUEST_MAX / 8 : 0);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *b)
{
    struct client *c = stream->data;

    if (n < 0) {
        end(c);
        return;
    }
    tr_buf_grow(&c->in, (size_t)n);
    if (!c->answered && c->in.data && strstr(c->in.data, "\r\n\r\n"))
        answer(c);
}

static void on_connection(uv_stream_t *listener, int status)
{
    struct metrics_http *m = listener->data;
    struct client *c = status < 0 ? NULL : calloc(1, sizeof(*c));

    if (!c)
        return;
    c->m = m;
    m->clients++;
    c->handles = 2;
    tr_buf_init(&c->in, REQUEST_MAX);
    tr_buf_init(&c->out, PAGE_MAX + 1024);
    (void)uv_tcp_init(listener->loop, &c->tcp);
    (void)uv_timer_init(listener->loop, &c->patience);
    c->tcp.data = c->patience.data = c;
    (void)uv_timer_start(&c->patience, too_slow, PATIENCE_MS, 0);
    if (uv_accept(listener, (uv_stream_t *)&c->tcp) < 0 || m->clients > CLIENTS_MAX ||
        uv_read_start((uv_stream_t *)&c->tcp, on_alloc, on_read) < 0)
        end(c);
}

static int parse_address(const char *text, struct sockaddr_storage *ret, struct tr_err *err)
{
    char host[64];
    const char *colon = strrchr(text, ':');
    uint64_t port = 0;

    if (!colon || (size_t)(colon - text) >= sizeof(host))
        return tr_fail(err, TR_E_USAGE, 0, "--metrics-listen: expected ADDRESS:PORT, not '%s'",
                       text);
    memcpy(host, text, (size_t)(colon - text));
    host[colon - text] = '\0';
    int r = tr_parse_u64(colon + 1, 0, 65535, &port, err);
    if (r < 0)
        return tr_fail_wrap(err, "--metrics-listen");
    if (uv_ip4_addr(*host ? host : "0.0.0.0", (int)port, (struct sockaddr_in *)ret) == 0)
        return 0;
    size_t n = strlen(host);
    if (n > 2 && host[0] == '[' && host[n - 1] == ']') {
        host[n - 1] = '\0';
        memmove(host, host + 1, n - 1);
    }
    if (uv_ip6_addr(host, (int)port, (struct sockaddr_in6 *)ret) == 0)
        return 0;
    return tr_fail(err, TR_E_USAGE, 0, "--metrics-listen: '%s' is no IP address", host);
}

int metrics_http_open(struct tr_loop *loop, const char *listen,
                      void (*page)(void *arg, struct tr_buf *out), void *arg,
                      struct metrics_http **ret, struct tr_err *err)
{
    struct sockaddr_storage address = {0};
    int r = parse_address(listen, &address, err);

    if (r < 0)
        return r;
    struct metrics_http *m = calloc(1, sizeof(*m));
    if (!m)
        return tr_fail(err, TR_E_NOMEM, 0, "out of memory");
    m->page = page;
    m->arg = arg;
    (void)uv_tcp_init(tr_loop_uv(loop), &m->listener);
    m->listener.data = m;
    int rc = uv_tcp_bind(&m->listener, (struct sockaddr *)&address, 0);
    if (rc == 0)
        rc = uv_listen((uv_stream_t *)&m->listener, BACKLOG, on_connection);
    *ret = m; /* also then: the loop still has its handle */
    if (rc < 0)
        return tr_fail(err, TR_E_IO, 0, "listen on %s for metrics: %s", listen, uv_strerror(rc));
    int len = sizeof(address);
    (void)uv_tcp_getsockname(&m->listener, (struct sockaddr *)&address, &len);
    m->port = ntohs(((struct sockaddr_in *)&address)->sin_port); /* the same place in IPv6 */
    return 0;
}

int metrics_http_port(const struct metrics_http *m)
{
    return m->port;
}

void metrics_http_free(struct metrics_http *m)
{
    free(m);
}
