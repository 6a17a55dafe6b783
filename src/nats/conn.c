/* SPDX-License-Identifier: MIT
 *
 * conn.c - libnats with the options that a judge needs, and sentences for its failures.
 *
 * Callbacks run on threads of the library; they touch only what `lock` guards. Passwords, seeds and
 * the user part of an address never reach a sentence.
 */
#include "nats/conn.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/rand.h"
#include "nats/conn_private.h"
#include "net/nkey.h"

enum {
    SERVERS_MAX = 32,
    CREDENTIAL_MAX = 64 * 1024, /* a CA bundle has about 200 KiB; it is not read by us */
    CA_MAX = 4 * 1024 * 1024,
    DEFAULT_TIMEOUT_MS = 5000,
    PING_MS = 20 * 1000, /* a dead peer is noticed after two of them */
    PINGS_OUT = 2,
    RECONNECT_FIRST_MS = 50,
    RECONNECT_MOST_MS = 5000,
    CLOSE_FLUSH_MS = 1000,
    CLOSE_WAIT_S = 5
};

struct tr_nats {
    natsConnection *nc;
    struct tr_nats_watch watch;
    int64_t timeout_ms;
    char shown[256]; /* the configured servers, without credentials */
    pthread_mutex_t lock;
    pthread_cond_t closed_cond;
    bool closed;
    char complaint[256];
};

/* ---- callbacks ---- */

static void tell(struct tr_nats *n, enum tr_nats_event what, const char *text)
{
    if (n->watch.event)
        n->watch.event(n->watch.arg, what, text);
}

static void on_disconnected(natsConnection *nc, void *arg)
{
    tell(arg, TR_NATS_DOWN, "the connection to NATS broke");
}

static void on_reconnected(natsConnection *nc, void *arg)
{
    tell(arg, TR_NATS_UP, "connected to NATS again");
}

/* The last callback of a connection. */
static void on_closed(natsConnection *nc, void *arg)
{
    struct tr_nats *n = arg;

    tell(n, TR_NATS_CLOSED, "the connection to NATS is closed");
    (void)pthread_mutex_lock(&n->lock);
    n->closed = true;
    (void)pthread_cond_signal(&n->closed_cond);
    (void)pthread_mutex_unlock(&n->lock);
}

static void on_error(natsConnection *nc, natsSubscription *sub, natsStatus s, void *arg)
{
    struct tr_nats *n = arg;
    const char *text = NULL;
    char copy[sizeof(n->complaint)];

    (void)natsConnection_GetLastError(nc, &text);
    (void)snprintf(copy, sizeof(copy), "%s", text && *text ? text : natsStatus_GetText(s));
    (void)pthread_mutex_lock(&n->lock);
    memcpy(n->complaint, copy, sizeof(copy));
    (void)pthread_mutex_unlock(&n->lock);
    tell(n, TR_NATS_ERROR, copy);
}

/* After a pass over all servers: twice as long each time, anywhere in the upper half, so that a
 * farm whose server restarted does not come back in one instant. */
static int64_t on_reconnect_delay(natsConnection *nc, int attempts, void *arg)
{
    int64_t full = RECONNECT_FIRST_MS;

    for (int i = 1; i < attempts && full < RECONNECT_MOST_MS; i++)
        full *= 2;
    full = full < RECONNECT_MOST_MS ? full : RECONNECT_MOST_MS;
    return full / 2 + (int64_t)tr_random_below((uint64_t)(full / 2 + 1));
}

/* ---- options ---- */

/* What the library says of the last failure, without the place in its source; "" when nothing. */
static const char *library_says(void)
{
    const char *text = nats_GetLastError(NULL);
    const char *end = text && text[0] == '(' ? strstr(text, "): ") : NULL;

    return end ? end + 3 : text ? text : "";
}

static int set_failed(natsStatus s, const char *what, struct tr_err *err)
{
    const char *why = library_says();

    if (s == NATS_NO_MEMORY)
        return tr_fail(err, TR_E_NOMEM, 0, "out of memory");
    return tr_fail(err, TR_E_USAGE, 0, "%s: %s%s%s", what, natsStatus_GetText(s), *why ? ": " : "",
                   why);
}

static const char *skip_user(const char *url)
{
    const char *at = strrchr(url, '@');

    if (!at)
        return url;
    return at + 1;
}

/* Split at commas and check each; `copy` is cut into pieces. */
static int split_servers(char *copy, const char *list[static SERVERS_MAX], int *ret_count,
                         struct tr_err *err)
{
    char *save = NULL;
    int n = 0;

    for (char *p = strtok_r(copy, ", ", &save); p; p = strtok_r(NULL, ", ", &save)) {
        const char *scheme = strstr(p, "://");

        if (n == SERVERS_MAX)
            return tr_fail(err, TR_E_LIMIT, 0, "more than %d NATS servers", SERVERS_MAX);
        if (scheme && strncmp(p, "nats://", 7) != 0 && strncmp(p, "tls://", 6) != 0)
            return tr_fail(err, TR_E_USAGE, 0,
                           "the NATS server '%.128s': expected nats://HOST:PORT or tls://HOST:PORT",
                           skip_user(p));
        list[n++] = p;
    }
    if (n == 0)
        return tr_fail(err, TR_E_USAGE, 0, "no NATS server is named");
    *ret_count = n;
    return 0;
}

static int set_servers(struct tr_nats *n, natsOptions *o, char *copy, struct tr_err *err)
{
    const char *list[SERVERS_MAX];
    int count = 0;
    int r = split_servers(copy, list, &count, err);

    if (r < 0)
        return r;
    size_t used = 0;
    for (int i = 0; i < count && used < sizeof(n->shown); i++)
        used += (size_t)snprintf(n->shown + used, sizeof(n->shown) - used, "%s%s", i ? "," : "",
                                 skip_user(list[i]));
    natsStatus s = natsOptions_SetServers(o, list, count);
    return s == NATS_OK ? 0 : set_failed(s, "the NATS server", err);
}

/* libnats says little about a file that it cannot read. */
static int check_file(const char *path, const char *what, struct tr_err *err)
{
    tr_autoclose int fd = tr_fs_open_regular_trusted(path, CA_MAX, NULL, err);

    return fd < 0 ? tr_fail_wrap(err, "%s", what) : 0;
}

static int set_nkey(natsOptions *o, const char *path, struct tr_err *err)
{
    TR_CLEANUP(tr_buf_done) struct tr_buf b;
    char public[TR_NKEY_TEXT];

    tr_buf_init(&b, CREDENTIAL_MAX);
    int r = tr_fs_read_file(path, &b, err);
    if (r == 0)
        r = tr_nkey_public(b.data, public, err);
    if (b.data)
        explicit_bzero(b.data, b.len);
    if (r < 0)
        return tr_fail_wrap(err, "the nkey file '%s'", path);
    natsStatus s = natsOptions_SetNKeyFromSeed(o, public, path);
    return s == NATS_OK ? 0 : set_failed(s, "the nkey file", err);
}

static int set_credentials(natsOptions *o, const struct tr_nats_conf *c, struct tr_err *err)
{
    natsStatus s = NATS_OK;
    int kinds = (c->user != NULL) + (c->nkey_file != NULL) + (c->creds_file != NULL);

    if (kinds > 1)
        return tr_fail(err, TR_E_USAGE, 0,
                       "more than one of user, nkey and creds is set for NATS: choose one");
    if (c->password && !c->user)
        return tr_fail(err, TR_E_USAGE, 0, "a NATS password without a user");
    if (c->nkey_file)
        return set_nkey(o, c->nkey_file, err);
    if (c->creds_file) {
        int r = check_file(c->creds_file, "the NATS creds file", err);

        if (r < 0)
            return r;
        s = natsOptions_SetUserCredentialsFromFiles(o, c->creds_file, NULL);
    } else if (c->user) {
        s = natsOptions_SetUserInfo(o, c->user, c->password ? c->password : "");
    }
    return s == NATS_OK ? 0 : set_failed(s, "the NATS credentials", err);
}

static int set_tls(natsOptions *o, const struct tr_nats_conf *c, struct tr_err *err)
{
    natsStatus s = NATS_OK;
    int r = 0;

    if (!c->ca_file && !c->cert_file && !c->key_file)
        return 0;
    if (!c->cert_file != !c->key_file)
        return tr_fail(err, TR_E_USAGE, 0,
                       "a NATS client certificate needs its key, and a key its "
                       "certificate; one is not set");
    if (c->ca_file)
        r = check_file(c->ca_file, "the NATS CA file", err);
    if (r == 0 && c->cert_file)
        r = check_file(c->cert_file, "the NATS certificate", err);
    if (r == 0 && c->key_file)
        r = check_file(c->key_file, "the NATS key", err);
    if (r < 0)
        return r;
    s = natsOptions_SetSecure(o, true);
    if (s == NATS_OK && c->ca_file)
        s = natsOptions_LoadCATrustedCertificates(o, c->ca_file);
    if (s == NATS_OK && c->cert_file)
        s = natsOptions_LoadCertificatesChain(o, c->cert_file, c->key_file);
    return s == NATS_OK ? 0 : set_failed(s, "the NATS certificates", err);
}

static natsStatus set_behaviour(struct tr_nats *n, natsOptions *o, const struct tr_nats_conf *c)
{
    natsStatus s = natsOptions_SetName(o, c->name ? c->name : "tribunal");

#define AND(call)                                                                                  \
    if (s == NATS_OK)                                                                              \
    s = (call)
    AND(natsOptions_SetSendAsap(o, true));
    AND(natsOptions_SetTimeout(o, n->timeout_ms));
    AND(natsOptions_SetPingInterval(o, PING_MS));
    AND(natsOptions_SetMaxPingsOut(o, PINGS_OUT));
    AND(natsOptions_SetAllowReconnect(o, true));
    AND(natsOptions_SetMaxReconnect(o, -1));
    AND(natsOptions_SetCustomReconnectDelay(o, on_reconnect_delay, n));
    /* An answer that can no longer come must not be waited for. */
    AND(natsOptions_SetFailRequestsOnDisconnect(o, true));
    AND(natsOptions_SetDisconnectedCB(o, on_disconnected, n));
    AND(natsOptions_SetReconnectedCB(o, on_reconnected, n));
    AND(natsOptions_SetClosedCB(o, on_closed, n));
    AND(natsOptions_SetErrorHandler(o, on_error, n));
    if (c->wait)
        AND(natsOptions_SetRetryOnFailedConnect(o, true, on_reconnected, n));
#undef AND
    return s;
}

static int make_options(struct tr_nats *n, const struct tr_nats_conf *c, natsOptions **ret,
                        struct tr_err *err)
{
    natsOptions *o = NULL;
    natsStatus s = natsOptions_Create(&o);

    if (s != NATS_OK)
        return set_failed(s, "NATS", err);
    char *servers = strdup(c->server);
    int r = servers ? set_servers(n, o, servers, err) : set_failed(NATS_NO_MEMORY, "NATS", err);
    free(servers);
    if (r == 0)
        r = set_credentials(o, c, err);
    if (r == 0)
        r = set_tls(o, c, err);
    if (r == 0) {
        s = set_behaviour(n, o, c);
        r = s == NATS_OK ? 0 : set_failed(s, "NATS", err);
    }
    if (r < 0)
        natsOptions_Destroy(o);
    else
        *ret = o;
    return r;
}

/* ---- opening ---- */

static const char *credential_kind(const struct tr_nats_conf *c)
{
    if (c->user)
        return "the user and password are wrong";
    if (c->nkey_file)
        return "the nkey is not one of its users";
    if (c->creds_file)
        return "the creds file is not valid there, or has run out";
    return "it wants credentials (--nats-user, --nats-nkey or --nats-creds)";
}

static int open_failed(const struct tr_nats *n, const struct tr_nats_conf *c, natsStatus s,
                       struct tr_err *err)
{
    const char *last = library_says();
    const char *why = *last ? last : natsStatus_GetText(s);
    bool tls = c->ca_file || c->cert_file;

    if (s == NATS_CONNECTION_AUTH_FAILED || strstr(why, "uthorization"))
        return tr_fail(err, TR_E_DENIED, 0, "NATS at %s refuses us: %s", n->shown,
                       credential_kind(c));
    if (s == NATS_SSL_ERROR)
        return tr_fail(err, TR_E_DENIED, 0,
                       "TLS with NATS at %s fails: %s; check --nats-ca and the name in the address",
                       n->shown, why);
    if (s == NATS_SECURE_CONNECTION_REQUIRED || (!tls && strstr(why, "ecure")))
        return tr_fail(err, TR_E_DENIED, 0, "NATS at %s wants TLS: use tls:// or --nats-ca",
                       n->shown);
    if (s == NATS_SECURE_CONNECTION_WANTED)
        return tr_fail(err, TR_E_DENIED, 0, "NATS at %s has no TLS, and we were told to use it",
                       n->shown);
    /* A server that wants a client certificate just hangs up in the middle of the greeting. */
    if (strstr(why, "PONG") || (tls && !c->cert_file && s == NATS_IO_ERROR))
        return tr_fail(err, TR_E_DENIED, 0,
                       "NATS at %s hung up during the greeting: it may want a client certificate "
                       "(--nats-cert, --nats-key)",
                       n->shown);
    return tr_fail(err, TR_E_RETRY, 0,
                   "no NATS server answers at %s (%s): is it running, and is the address right?",
                   n->shown, why);
}

static int connect_once(struct tr_nats *n, const struct tr_nats_conf *conf, struct tr_err *err)
{
    natsOptions *o = NULL;
    int r = make_options(n, conf, &o, err);

    if (r < 0)
        return r;
    natsStatus s = natsConnection_Connect(&n->nc, o);
    if (s != NATS_OK && !(conf->wait && s == NATS_NOT_YET_CONNECTED))
        r = open_failed(n, conf, s, err);
    natsOptions_Destroy(o);
    return r;
}

int tr_nats_open(const struct tr_nats_conf *conf, const struct tr_nats_watch *watch,
                 struct tr_nats **ret, struct tr_err *err)
{
    struct tr_nats *n = calloc(1, sizeof(*n));
    struct tr_nats_conf first = *conf;

    if (!n)
        return tr_fail(err, TR_E_NOMEM, 0, "out of memory");
    (void)pthread_mutex_init(&n->lock, NULL);
    (void)pthread_cond_init(&n->closed_cond, NULL);
    if (watch)
        n->watch = *watch;
    n->timeout_ms = conf->timeout_us ? (conf->timeout_us + 999) / 1000 : DEFAULT_TIMEOUT_MS;
    /* libnats that may wait also waits for credentials to become right, without a word. */
    first.wait = false;
    int r = connect_once(n, &first, err);
    if (r == TR_E_RETRY && conf->wait)
        r = connect_once(n, conf, err);
    if (r < 0) {
        tr_nats_close(n);
        return r;
    }
    *ret = n;
    return 0;
}

/* libnats calls back from a thread of its own, also after natsConnection_Destroy() has returned:
 * what the callbacks use must live until the last one. */
static bool wait_closed(struct tr_nats *n)
{
    struct timespec until;
    int r = 0;

    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += CLOSE_WAIT_S;
    (void)pthread_mutex_lock(&n->lock);
    while (!n->closed && r == 0)
        r = pthread_cond_timedwait(&n->closed_cond, &n->lock, &until);
    bool closed = n->closed;
    (void)pthread_mutex_unlock(&n->lock);
    return closed;
}

void tr_nats_close(struct tr_nats *n)
{
    if (!n)
        return;
    if (n->nc) {
        if (tr_nats_is_up(n))
            (void)natsConnection_FlushTimeout(n->nc, CLOSE_FLUSH_MS); /* acks on their way */
        natsConnection_Close(n->nc);
        bool closed = wait_closed(n);

        natsConnection_Destroy(n->nc);
        if (!closed)
            return; /* a callback may still come: better a leak than a crash */
    }
    (void)pthread_cond_destroy(&n->closed_cond);
    (void)pthread_mutex_destroy(&n->lock);
    free(n);
}

void tr_nats_closep(struct tr_nats **n)
{
    tr_nats_close(*n);
}

/* ---- looking at it ---- */

natsConnection *tr_nats_raw(struct tr_nats *n)
{
    return n->nc;
}

bool tr_nats_is_up(struct tr_nats *n)
{
    return natsConnection_Status(n->nc) == NATS_CONN_STATUS_CONNECTED;
}

int64_t tr_nats_timeout_ms(const struct tr_nats *n)
{
    return n->timeout_ms;
}

int64_t tr_nats_max_payload(struct tr_nats *n)
{
    return natsConnection_GetMaxPayload(n->nc);
}

int tr_nats_servers(struct tr_nats *n)
{
    char **urls = NULL;
    int count = 0;

    if (natsConnection_GetServers(n->nc, &urls, &count) != NATS_OK)
        return 1;
    for (int i = 0; i < count; i++)
        free(urls[i]);
    free((void *)urls);
    return count > 0 ? count : 1;
}

const char *tr_nats_where(struct tr_nats *n, char *out, size_t size)
{
    char url[256] = "";

    if (natsConnection_GetConnectedUrl(n->nc, url, sizeof(url)) != NATS_OK || !url[0])
        (void)snprintf(url, sizeof(url), "%s", n->shown);
    (void)snprintf(out, size, "%s", skip_user(url));
    return out;
}

void tr_nats_last_complaint(struct tr_nats *n, char *out, size_t size)
{
    (void)pthread_mutex_lock(&n->lock);
    (void)snprintf(out, size, "%s", n->complaint);
    n->complaint[0] = '\0';
    (void)pthread_mutex_unlock(&n->lock);
}

int tr_nats_fail(struct tr_nats *n, natsStatus s, const char *what, struct tr_err *err)
{
    char complaint[sizeof(n->complaint)];
    char where[256];

    tr_nats_last_complaint(n, complaint, sizeof(complaint));
    (void)tr_nats_where(n, where, sizeof(where));
    if (strstr(complaint, "ermissions"))
        return tr_fail(err, TR_E_DENIED, 0, "%s: NATS at %s does not let us: %s", what, where,
                       complaint);
    switch ((int)s) {
    case NATS_TIMEOUT:
        return tr_fail(err, TR_E_TIMEOUT, 0, "%s: no answer from NATS at %s within %lld ms", what,
                       where, (long long)n->timeout_ms);
    case NATS_CONNECTION_DISCONNECTED:
    case NATS_NOT_YET_CONNECTED:
    case NATS_STALE_CONNECTION:
    case NATS_IO_ERROR:
        return tr_fail(err, TR_E_RETRY, 0, "%s: the connection to NATS at %s is down", what, where);
    case NATS_CONNECTION_CLOSED:
        return tr_fail(err, TR_E_FATAL, 0, "%s: the connection to NATS at %s was closed", what,
                       where);
    case NATS_NO_MEMORY:
        return tr_fail(err, TR_E_NOMEM, 0, "out of memory");
    case NATS_MAX_PAYLOAD:
        return tr_fail(err, TR_E_LIMIT, 0, "%s: more than the %lld bytes that NATS at %s takes",
                       what, (long long)tr_nats_max_payload(n), where);
    default:
        return tr_fail(err, TR_E_FATAL, 0, "%s: NATS at %s: %s", what, where,
                       natsStatus_GetText(s));
    }
}
