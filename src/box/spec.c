/* SPDX-License-Identifier: MIT
 *
 * spec.c - one run as bytes, both ways.
 *
 * The reader runs in the container's first process, which may drop to any uid of its map: nothing
 * in a message is trusted. It allocates nothing and walks the strings once.
 */
#include "box/spec.h"

#include <string.h>

/* What every program gets unless the spec says otherwise. HOME is the work folder. */
static const char *const base_env[] = {"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/w",
                                       "LANG=C.UTF-8", "TMPDIR=/tmp"};

struct writer {
    char *at;
    size_t left;
    uint32_t count;
};

static int add_string(struct writer *w, const char *s, struct tr_err *err)
{
    size_t len = strlen(s) + 1;

    if (len > w->left)
        return tr_fail(err, TR_E_LIMIT, 0, "arguments and environment exceed %d bytes",
                       BOX_STRINGS_MAX);
    if (w->count >= BOX_ARGS_MAX)
        return tr_fail(err, TR_E_LIMIT, 0, "more than %d arguments and variables", BOX_ARGS_MAX);
    memcpy(w->at, s, len);
    w->at += len;
    w->left -= len;
    w->count++;
    return 0;
}

/* Whether the caller's environment sets the variable of `pair` ("NAME=..."). */
static int env_has(const char *const *env, const char *pair)
{
    size_t name = strcspn(pair, "=") + 1;

    for (; env && *env; env++) {
        if (strncmp(*env, pair, name) == 0)
            return 1;
    }
    return 0;
}

static int add_env(struct writer *w, const char *const *env, struct tr_err *err)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < sizeof(base_env) / sizeof(base_env[0]); i++) {
        if (!env_has(env, base_env[i]))
            r = add_string(w, base_env[i], err);
    }
    for (; r == 0 && env && *env; env++) {
        if (**env == '=' || !strchr(*env, '='))
            return tr_fail(err, TR_E_USAGE, 0, "environment wants NAME=VALUE, not '%s'", *env);
        r = add_string(w, *env, err);
    }
    return r;
}

/* Shorter looks would be work of their own; longer than any run is no use. */
static bool idle_ok(int64_t us)
{
    return us == 0 || (us >= 10000 && us <= INT64_C(3600000000));
}

int64_t box_spec_write(const struct tbox_spec *spec, union box_wire_any *msg, struct tr_err *err)
{
    struct box_wire_spec *out = &msg->spec;
    struct writer w = {.at = msg->bytes + sizeof(*out), .left = BOX_STRINGS_MAX};
    const struct tbox_limits *l = &spec->limits;

    if (spec->size != sizeof(*spec))
        return tr_fail(err, TR_E_USAGE, 0, "tbox_spec.size is %zu, not %zu", spec->size,
                       sizeof(*spec));
    if (!spec->argv || !spec->argv[0] || !*spec->argv[0])
        return tr_fail(err, TR_E_USAGE, 0, "no program named");
    if (!idle_ok(spec->idle_us))
        return tr_fail(err, TR_E_USAGE, 0, "tbox_spec.idle_us is 0 or at least 10 ms");
    int r = tbox_limits_check(l, err);
    for (const char *const *a = spec->argv; r == 0 && *a; a++)
        r = add_string(&w, *a, err);
    uint32_t argc = w.count;
    if (r == 0)
        r = add_env(&w, spec->env, err);
    if (r < 0)
        return r;
    *out = (struct box_wire_spec){
        .cpu_us = l->cpu_us,
        .wall_us = l->wall_us,
        .memory_bytes = l->memory_bytes,
        .stack_bytes = l->stack_bytes,
        .output_bytes = l->output_bytes,
        .file_bytes = l->file_bytes,
        .pids = l->pids,
        .open_files = l->open_files,
        .idle_us = spec->idle_us,
        .cpu = spec->cpu,
        .flags = spec->flags,
        .argc = argc,
        .envc = w.count - argc,
        .strings_len = (uint32_t)(BOX_STRINGS_MAX - w.left),
    };
    size_t len = sizeof(*out) + out->strings_len;
    box_wire_head(&out->head, BOX_RUN, len, 0);
    return (int64_t)len;
}

/* Point argv and env into the strings; exactly argc + envc of them, the last byte a NUL. */
static int read_strings(char *at, size_t len, struct box_run *ret, struct tr_err *err)
{
    uint32_t want = ret->argc + ret->envc;
    char **slot = ret->argv;
    char *end = at + len;

    if (len == 0 || end[-1] != 0)
        return tr_fail(err, TR_E_PARSE, 0, "strings of the spec are not closed");
    for (uint32_t i = 0; i < want; i++) {
        if (at == end)
            return tr_fail(err, TR_E_PARSE, 0, "spec has fewer strings than it says");
        if (i == ret->argc)
            *slot++ = NULL;
        *slot++ = at;
        at += strlen(at) + 1; /* stays inside: the last byte is a NUL */
    }
    if (at != end)
        return tr_fail(err, TR_E_PARSE, 0, "spec has more strings than it says");
    if (ret->envc == 0)
        *slot++ = NULL;
    *slot = NULL;
    ret->env = ret->argv + ret->argc + 1;
    if (!*ret->argv[0])
        return tr_fail(err, TR_E_PARSE, 0, "spec names no program");
    return 0;
}

int box_spec_read(union box_wire_any *msg, size_t len, struct box_run *ret, struct tr_err *err)
{
    const struct box_wire_spec *in = &msg->spec;
    int r = box_wire_check(msg->bytes, len, BOX_RUN, sizeof(*in), err);

    if (r < 0)
        return r;
    if (in->strings_len > BOX_STRINGS_MAX || len != sizeof(*in) + in->strings_len || in->zero != 0)
        return tr_fail(err, TR_E_PARSE, 0, "spec has a wrong length");
    if (in->argc < 1 || in->argc > BOX_ARGS_MAX || in->envc > BOX_ARGS_MAX - in->argc)
        return tr_fail(err, TR_E_PARSE, 0, "spec has %u arguments", in->argc);
    if ((in->flags & ~(uint32_t)(TBOX_KEEP_FILES | TBOX_DIRECT_OUTPUT)) != 0 || in->cpu < -1 ||
        in->cpu > 8191)
        return tr_fail(err, TR_E_PARSE, 0, "spec has unknown flags or no such CPU");
    if (!idle_ok(in->idle_us))
        return tr_fail(err, TR_E_PARSE, 0, "spec has a wrong idle time");
    ret->limits = (struct tbox_limits){.cpu_us = in->cpu_us,
                                       .wall_us = in->wall_us,
                                       .memory_bytes = in->memory_bytes,
                                       .stack_bytes = in->stack_bytes,
                                       .output_bytes = in->output_bytes,
                                       .file_bytes = in->file_bytes,
                                       .pids = in->pids,
                                       .open_files = in->open_files};
    r = tbox_limits_check(&ret->limits, err);
    if (r < 0)
        return r;
    ret->idle_us = in->idle_us;
    ret->cpu = in->cpu;
    ret->flags = in->flags;
    ret->argc = in->argc;
    ret->envc = in->envc;
    return read_strings(msg->bytes + sizeof(*in), in->strings_len, ret, err);
}

int box_name_check(const char *name, struct tr_err *err)
{
    size_t len = strnlen(name, BOX_NAME_MAX);

    if (len == 0 || len >= BOX_NAME_MAX || strchr(name, '/') || strcmp(name, ".") == 0 ||
        strcmp(name, "..") == 0)
        return tr_fail(err, TR_E_USAGE, 0,
                       "a file of the work folder wants a name of 1 to 255 bytes without a slash");
    return 0;
}

int box_name_read(const union box_wire_any *msg, size_t len, enum box_kind kind,
                  const char **ret_name, struct tr_err *err)
{
    int r = box_wire_check(msg->bytes, len, kind, sizeof(msg->name), err);

    if (r < 0)
        return r;
    if (len != sizeof(msg->name) || !memchr(msg->name.name, 0, BOX_NAME_MAX))
        return tr_fail(err, TR_E_PARSE, 0, "name is not closed");
    r = box_name_check(msg->name.name, err);
    if (r == 0)
        *ret_name = msg->name.name;
    return r;
}
