/* SPDX-License-Identifier: MIT
 *
 * door.c - the same rules for requests and WebSockets.
 *
 * A browser on this machine runs the pages of strangers. One of them says a foreign Origin; or its
 * name was made to lead here (DNS rebinding), and it says that name as Host. A proxy on this
 * machine speaks for the whole world. What cannot be read counts as foreign: a header that is too
 * long for us must not look like one that is absent.
 */
#include "controller/door.h"

#include <arpa/inet.h>
#include <libwebsockets.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "controller/conn.h"
#include "controller/ctl.h"

enum {
    NAME_MAX_BYTES = 512 /* "https://", a name of 253 bytes, a port */
};

/* False: there, but not to be read. "" where it is absent. */
static bool read_header(const struct conn *c, enum lws_token_indexes which,
                        char out[static NAME_MAX_BYTES])
{
    out[0] = '\0';
    return lws_hdr_total_length(c->wsi, which) <= 0 ||
           lws_hdr_copy(c->wsi, out, NAME_MAX_BYTES, which) > 0;
}

/* An address, not merely its beginning: anybody may own 127.evil.example. */
static bool is_loopback_name(const char *host)
{
    char name[64];
    struct in_addr v4;
    size_t n = host[0] == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":");

    if (n >= sizeof(name))
        return false;
    memcpy(name, host, n);
    name[n] = '\0';
    return strcasecmp(name, "localhost") == 0 || strcmp(name, "[::1]") == 0 ||
           (inet_pton(AF_INET, name, &v4) == 1 && ntohl(v4.s_addr) >> 24 == 127);
}

static bool was_forwarded(const struct conn *c)
{
    static const char *const names[] = {"forwarded:", "x-real-ip:"};

    for (size_t i = 0; i < TR_ARRAY_LEN(names); i++)
        if (lws_hdr_custom_length(c->wsi, names[i], (int)strlen(names[i])) >= 0)
            return true;
    return lws_hdr_total_length(c->wsi, WSI_TOKEN_X_FORWARDED_FOR) > 0 ||
           lws_hdr_total_length(c->wsi, WSI_TOKEN_HTTP_VIA) > 0;
}

bool door_open(const struct conn *c)
{
    char host[NAME_MAX_BYTES], origin[NAME_MAX_BYTES];

    if (!c->ctl->conf.open_loopback || !c->loopback || was_forwarded(c) ||
        !read_header(c, WSI_TOKEN_HOST, host) || !read_header(c, WSI_TOKEN_ORIGIN, origin) ||
        !is_loopback_name(host))
        return false;
    const char *from = strstr(origin, "://");
    return !*origin || (from && strcmp(from + 3, host) == 0);
}
