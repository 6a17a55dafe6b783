/* SPDX-License-Identifier: MIT
 *
 * setup.c - the setup frame's codec: one table of texts, one of numbers, both ways.
 */
#include "pool/setup.h"

#include <limits.h>
#include <stddef.h>
#include <string.h>

#include "base/cleanup.h"
#include "codec/json.h"

#define AT(member) offsetof(struct tr_slot_setup, member)

static const struct {
    const char *name;
    size_t at;
} texts[] = {
    {"languages", AT(judge.languages)},
    {"cache", AT(judge.cache)},
    {"include", AT(judge.include)},
    {"helper", AT(judge.helper)},
    {"data_dir", AT(data_dir)},
    {"file_dir", AT(file_dir)},
    {"ca_file", AT(ca_file)},
    {"s3_endpoint", AT(s3.endpoint)},
    {"s3_region", AT(s3.region)},
    {"s3_access_key", AT(s3.access_key)},
    {"s3_secret_key", AT(s3.secret_key)},
    {"s3_token", AT(s3.token)},
};

static const struct {
    const char *name;
    size_t at;
} sizes[] = {
    {"cache_bytes", AT(judge.cache_bytes)},
    {"data_bytes", AT(data_bytes)},
    {"fetch_bytes", AT(fetch_bytes)},
    {"log_bytes", AT(log_bytes)},
};

static const struct {
    const char *name;
    size_t at;
} flags[] = {
    {"no_cache", AT(judge.no_cache)},
    {"no_pch", AT(judge.no_pch)},
    {"progress", AT(progress)},
    {"noop", AT(noop)},
};

/* Members by their place in the struct. */
static const char **text_at(struct tr_slot_setup *s, size_t at)
{
    return (const char **)(void *)((char *)s + at);
}

static uint64_t *size_at(struct tr_slot_setup *s, size_t at)
{
    return (uint64_t *)(void *)((char *)s + at);
}

static bool *flag_at(struct tr_slot_setup *s, size_t at)
{
    return (bool *)(void *)((char *)s + at);
}

static int put_roots(json_t *o, const struct tr_judge_options *j)
{
    json_t *roots = json_object();
    int bad = 0;

    for (size_t i = 0; i < j->nroots; i++)
        bad |= json_object_set_new(roots, j->roots[i].name, json_string(j->roots[i].folder));
    return bad | json_object_set_new(o, "roots", roots);
}

char *tr_slot_setup_write(const struct tr_slot_setup *setup)
{
    TR_CLEANUP(tr_json_unrefp) json_t *o = json_object();
    struct tr_slot_setup s = *setup;
    int bad = json_object_set_new(o, "jobs", json_integer(s.judge.jobs)) |
              json_object_set_new(o, "idle_us", json_integer(s.judge.idle_us)) |
              json_object_set_new(o, "launcher", json_integer(s.judge.launcher)) |
              put_roots(o, &s.judge);

    for (size_t i = 0; i < TR_ARRAY_LEN(texts); i++) {
        const char *text = *text_at(&s, texts[i].at);

        if (text)
            bad |= json_object_set_new(o, texts[i].name, json_string(text));
    }
    for (size_t i = 0; i < TR_ARRAY_LEN(sizes); i++)
        bad |= json_object_set_new(o, sizes[i].name,
                                   json_integer((json_int_t)*size_at(&s, sizes[i].at)));
    for (size_t i = 0; i < TR_ARRAY_LEN(flags); i++)
        bad |= json_object_set_new(o, flags[i].name, json_boolean(*flag_at(&s, flags[i].at)));
    return bad ? NULL : json_dumps(o, JSON_COMPACT);
}

static int get_roots(const json_t *o, struct tr_arena *a, struct tr_judge_options *j,
                     struct tr_err *err)
{
    json_t *roots = json_object_get(o, "roots");
    size_t n = json_object_size(roots);
    struct tr_judge_root *list = tr_arena_array(a, n + 1, sizeof(*list));
    const char *name;
    json_t *folder;

    if (!list || n > TR_SETUP_ROOTS_MAX)
        return tr_fail(err, TR_E_LIMIT, 0, "%zu roots", n);
    json_object_foreach(roots, name, folder)
    {
        list[j->nroots].name = tr_arena_strdup(a, name);
        list[j->nroots].folder = tr_arena_strdup(a, json_string_value(folder));
        j->nroots++;
    }
    j->roots = list;
    return 0;
}

int tr_slot_setup_read(const char *json, size_t len, struct tr_arena *arena,
                       struct tr_slot_setup *ret, struct tr_err *err)
{
    TR_CLEANUP(tr_json_unrefp) json_t *o = NULL;
    struct tr_slot_setup s = {0};
    int64_t jobs = 1, launcher = 0;
    int r = tr_json_parse(json, len, 1 << 20, &o, err);

    if (r >= 0)
        r = tr_json_int(o, "setup", "jobs", 0, TR_JUDGE_JOBS_MAX, &jobs, err);
    if (r >= 0)
        r = tr_json_int(o, "setup", "idle_us", 0, INT64_MAX, &s.judge.idle_us, err);
    if (r >= 0)
        r = tr_json_int(o, "setup", "launcher", 0, INT_MAX, &launcher, err);
    for (size_t i = 0; r >= 0 && i < TR_ARRAY_LEN(texts); i++)
        r = tr_json_text(o, "setup", texts[i].name, arena, text_at(&s, texts[i].at), err);
    for (size_t i = 0; r >= 0 && i < TR_ARRAY_LEN(sizes); i++) {
        int64_t n = 0;

        r = tr_json_int(o, "setup", sizes[i].name, 0, INT64_MAX, &n, err);
        *size_at(&s, sizes[i].at) = (uint64_t)n;
    }
    for (size_t i = 0; r >= 0 && i < TR_ARRAY_LEN(flags); i++)
        r = tr_json_bool(o, "setup", flags[i].name, flag_at(&s, flags[i].at), err);
    if (r >= 0)
        r = get_roots(o, arena, &s.judge, err);
    if (r < 0)
        return r;
    s.judge.jobs = (unsigned)jobs;
    s.judge.launcher = (int)launcher;
    *ret = s;
    return 0;
}
