/* SPDX-License-Identifier: MIT
 *
 * Property: whatever is asked over HTTP is answered at most once, with a head that no byte of the
 * request could break into, JSON where it says JSON, and as many bytes as it says; nothing is left
 * behind.
 *
 * Requests, one after the other, with a byte 1 between them: "METHOD PATH?QUERY", header lines, an
 * empty line, the body. Names of headers are in lower case. The rest is in ctl_rest.c.
 */
#include <assert.h>
#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "controller/ctl.h"
#include "controller/http.h"
#include "ctl_rest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    HEAD_MAX = 8192, /* server.c's ceiling */
    WRITES_MAX = 5000
};

/* "Name: value" lines of printable characters, and where the body begins. */
static const char *check_head(const char *text, size_t len, long long *ret_length, bool *ret_json)
{
    const char *end = memmem(text, len, "\r\n\r\n", 4);

    assert(len > 12 && strncmp(text, "HTTP/1.1 ", 9) == 0 && end);
    *ret_length = -1;
    *ret_json = false;
    for (const char *line = text; line && line < end + 2;) {
        const char *stop = memmem(line, (size_t)(end + 2 - line), "\r\n", 2);

        assert(stop && (line == text || memmem(line, (size_t)(stop - line), ": ", 2)));
        for (const char *p = line; p < stop; p++)
            assert((unsigned char)*p >= ' ' && *p != 127);
        if (strncmp(line, "Content-Length: ", 16) == 0)
            *ret_length = strtoll(line + 16, NULL, 10);
        *ret_json = *ret_json || strncmp(line, "Content-Type: application/json\r", 31) == 0;
        line = stop + 2;
    }
    return end + 4;
}

static void check_answer(const char *text, size_t len, const char *method, bool whole)
{
    long long said;
    bool is_json;

    if (!text || len == 0)
        return;
    const char *body = check_head(text, len, &said, &is_json);
    size_t got = len - (size_t)(body - text);
    if (!whole || strcmp(method, "HEAD") == 0)
        return;
    assert(said < 0 || said == (long long)got);
    if (is_json) {
        json_t *doc = json_loadb(body, got, JSON_DECODE_ANY, NULL);

        assert(doc);
        json_decref(doc);
    }
}

static void answer(struct conn *c, const char *method)
{
    int r = 0;
    size_t len;

    for (int i = 0; i < WRITES_MAX && r == 0 && c->req && c->req->replied && !c->req->drained;
         i++) {
        bool idle = c->req->streaming && c->req->head_sent && !conn_pending(c);

        if (idle)
            break;
        r = http_writeable(c);
    }
    bool whole = !c->req;
    const char *text = rest_written(&len);
    check_answer(text, len, method, whole);
}

static void ask(struct ctl *ctl, const struct rest_request *q, const char *body, size_t len)
{
    struct conn *c = conn_new(ctl, NULL);

    assert(c);
    rest_show(q);
    if (http_begin(c) == 0 && c->req && !c->req->replied && c->req->body_left > 0) {
        size_t n = (size_t)c->req->body_left < len ? (size_t)c->req->body_left : len;

        (void)http_body(c, body, n / 2);
        (void)http_body(c, body + n / 2, n - n / 2);
        if (c->req && c->req->body_left == 0)
            (void)http_body_end(c);
    }
    rest_settle(ctl);
    answer(c, q->method);
    http_gone(c);
    if (c->gone)
        c->gone(c);
    conn_free(c);
    rest_settle(ctl);
}

/* Cut at the first `what`; the rest, or the text's end. */
static char *cut(char *text, const char *what)
{
    char *at = strstr(text, what);

    if (!at)
        return text + strlen(text);
    *at = '\0';
    return at + strlen(what);
}

static void one(struct ctl *ctl, char *text, size_t size)
{
    char *body = memmem(text, size, "\n\n", 2);
    size_t len = body ? size - (size_t)(body + 2 - text) : 0;
    tr_autofree char *head = NULL;

    if (body) {
        *body = '\0';
        body += 2;
    }
    if (strlen(text) > HEAD_MAX)
        return;
    char *lines = cut(text, "\n");
    char *path = cut(text, " ");
    char *query = cut(path, "?");
    if (asprintf(&head, "%s\nhost: localhost\ncontent-length: %zu\n", lines, len) < 0)
        abort();
    struct rest_request q = {.method = text, .path = path, .query = query, .head = head};
    ask(ctl, &q, body, len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ctl *ctl = rest_begin();
    tr_autofree char *text = malloc(size + 1);

    assert(text);
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    for (char *at = text, *end = text + size; at < end;) {
        char *next = memchr(at, 1, (size_t)(end - at));

        if (next)
            *next = '\0';
        one(ctl, at, (size_t)((next ? next : end) - at));
        at = next ? next + 1 : end;
    }
    rest_end(ctl);
    return 0;
}
