/* SPDX-License-Identifier: MIT
 *
 * context.c - read a context of the `nats` tool.
 */
#include "nats/context.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "codec/json.h"

enum {
    CONTEXT_MAX = 64 * 1024
};

static const char *context_path(const char *name, struct tr_arena *a)
{
    const char *xdg = secure_getenv("XDG_CONFIG_HOME");
    const char *home = secure_getenv("HOME");

    if (xdg && xdg[0] == '/')
        return tr_arena_printf(a, "%s/nats/context/%s.json", xdg, name);
    return tr_arena_printf(a, "%s/.config/nats/context/%s.json", home ? home : "", name);
}

/* "~/x" as the tool writes it. */
static const char *expand_home(const char *path, struct tr_arena *a)
{
    const char *home = secure_getenv("HOME");

    if (strncmp(path, "~/", 2) != 0 || !home)
        return path;
    return tr_arena_printf(a, "%s%s", home, path + 1);
}

static int refuse_others(const json_t *root, struct tr_err *err)
{
    static const char *const others[] = {"token", "user_jwt", "nsc", "socks_proxy", "user_seed"};

    for (size_t i = 0; i < TR_ARRAY_LEN(others); i++) {
        const char *text = json_string_value(json_object_get(root, others[i]));

        if (text && *text)
            return tr_fail(err, TR_E_UNSUPPORTED, 0,
                           "it uses '%s', which is not supported: use user, nkey or creds",
                           others[i]);
    }
    return 0;
}

static int fill(const json_t *root, struct tr_arena *a, struct tr_nats_conf *c, struct tr_err *err)
{
    const struct {
        const char *field;
        const char **to;
        bool path;
        bool identity;
    } rows[] = {
        {"url", &c->server, false, false},       {"user", &c->user, false, true},
        {"password", &c->password, false, true}, {"nkey", &c->nkey_file, true, true},
        {"creds", &c->creds_file, true, true},   {"ca", &c->ca_file, true, false},
        {"cert", &c->cert_file, true, false},    {"key", &c->key_file, true, false},
    };
    bool known = c->user || c->nkey_file || c->creds_file; /* who we are was said already */

    for (size_t i = 0; i < TR_ARRAY_LEN(rows); i++) {
        const char *text = NULL;
        int r = tr_json_text(root, "", rows[i].field, a, &text, err);

        if (r < 0)
            return r;
        if (*rows[i].to || !text || !*text || (known && rows[i].identity))
            continue; /* the command line wins */
        *rows[i].to = rows[i].path ? expand_home(text, a) : text;
        if (!*rows[i].to)
            return tr_fail(err, TR_E_NOMEM, 0, "out of memory");
    }
    return known ? 0 : refuse_others(root, err);
}

int tr_nats_context(const char *name, struct tr_arena *arena, struct tr_nats_conf *conf,
                    struct tr_err *err)
{
    TR_CLEANUP(tr_buf_done) struct tr_buf b;
    TR_CLEANUP(tr_json_unrefp) json_t *root = NULL;
    struct tr_nats_conf filled = *conf;

    tr_buf_init(&b, CONTEXT_MAX);
    if (!*name || strchr(name, '/') || name[0] == '.')
        return tr_fail(err, TR_E_USAGE, 0, "'%.64s' is not the name of a NATS context", name);
    const char *path = context_path(name, arena);
    if (!path)
        return tr_fail(err, TR_E_NOMEM, 0, "out of memory");
    int r = tr_fs_read_file(path, &b, err);
    if (r == 0)
        r = tr_json_parse(b.data, b.len, CONTEXT_MAX, &root, err);
    if (r == 0)
        r = fill(root, arena, &filled, err);
    if (r < 0)
        return tr_fail_wrap(err, "the NATS context '%s'", name);
    *conf = filled;
    return 0;
}
