/* SPDX-License-Identifier: MIT
 *
 * Property: whatever frames a web backend sends, whole or in pieces, before or after it has said
 * who it is, every answer is a JSON object, what waits to be sent is bounded, and after the end
 * nothing is left.
 *
 * The first byte chooses how it begins; then a frame per line. The rest is in ctl_rest.c.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "controller/backend_ws.h"
#include "controller/ctl.h"
#include "controller/dispatch.h"
#include "ctl_rest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    NO_DOOR = 1, /* it has to name its key first */
    PIECES = 2,  /* each frame in two pieces */
    LATER = 4,   /* the database answers only after the last frame, or after the end */
    BINARY = 8
};

static void drain(struct conn *c)
{
    size_t len;

    while (conn_pending(c)) {
        int r = conn_flush(c);
        const char *text = rest_written(&len);

        assert(r == 0 && len > 1 && len < 65536 && text[0] == '{' && text[len - 1] == '}');
    }
    assert(c->backlog == 0 && (c->close_code == 0 || c->close_why[0]));
}

static void feed(struct ctl *ctl, struct conn *c, const char *frame, size_t len, uint8_t how)
{
    size_t half = how & PIECES ? len / 2 : 0;

    if (half)
        (void)conn_receive(c, frame, half, false, false);
    (void)conn_receive(c, frame + half, len - half, (how & BINARY) && len % 7 == 3, true);
    if (!(how & LATER))
        rest_settle(ctl);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ctl *ctl = rest_begin();
    uint8_t how = size ? data[0] : 0;
    const char *at = (const char *)data + (size ? 1 : 0), *end = (const char *)data + size;
    struct conn *c = conn_new(ctl, NULL);

    assert(c);
    ctl->conf.open_loopback = !(how & NO_DOOR);
    c->kind = CONN_BACKEND;
    rest_show(NULL);
    int r = backend_ws_upgrade(c);
    assert(r == 0);
    r = backend_ws_open(c);
    assert(r == 0);
    while (at < end) {
        const char *line = memchr(at, '\n', (size_t)(end - at));
        size_t len = (size_t)((line ? line : end) - at);

        feed(ctl, c, at, len, how);
        at += len + (line ? 1 : 0);
    }
    drain(c);
    c->gone(c);
    conn_free(c);
    rest_end(ctl);
    return 0;
}
