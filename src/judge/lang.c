/* SPDX-License-Identifier: MIT
 *
 * lang.c - read languages/<slug>.yaml.
 */
#include "judge/lang.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "model/limits.h"

enum {
    LANGS_MAX = 64
};

struct reader {
    const char *file;
    struct tr_arena *arena;
    struct tr_lang *lang;
    struct tr_err *err;
};

static int bad(struct reader *r, const struct tr_yaml *node, const char *expected)
{
    return tr_fail(r->err, TR_E_PARSE, 0, "%s:%u: %s: expected %s", r->file, node->line,
                   node->key ? node->key : "this", expected);
}

static int read_words(struct reader *r, const struct tr_yaml *node, struct tr_argv *ret)
{
    size_t i = 0;

    if (node->kind != TR_YAML_LIST || node->count > TR_LANG_ARGS_MAX)
        return bad(r, node, "a list of at most 64 words");
    const char **words = tr_arena_array(r->arena, node->count + 1, sizeof(*words));
    if (!words)
        return tr_fail(r->err, TR_E_NOMEM, 0, "no memory for %s", r->file);
    for (const struct tr_yaml *c = node->first; c; c = c->next) {
        if (c->kind != TR_YAML_SCALAR)
            return bad(r, node, "a list of words");
        words[i] = tr_arena_strdup(r->arena, c->text);
        if (!words[i++])
            return tr_fail(r->err, TR_E_NOMEM, 0, "no memory for %s", r->file);
    }
    *ret = (struct tr_argv){.words = words, .count = node->count};
    return 0;
}

static int read_env(struct reader *r, const struct tr_yaml *node)
{
    size_t i = 0;

    if (node->kind != TR_YAML_MAP || node->count > TR_LANG_ENV_MAX)
        return bad(r, node, "a map of at most 32 variables");
    const char **words = tr_arena_array(r->arena, node->count + 1, sizeof(*words));
    if (!words)
        return tr_fail(r->err, TR_E_NOMEM, 0, "no memory for %s", r->file);
    for (const struct tr_yaml *c = node->first; c; c = c->next) {
        if (c->kind != TR_YAML_SCALAR || strchr(c->key, '='))
            return bad(r, c, "a name and a value");
        words[i] = tr_arena_printf(r->arena, "%s=%s", c->key, c->text);
        if (!words[i++])
            return tr_fail(r->err, TR_E_NOMEM, 0, "no memory for %s", r->file);
    }
    r->lang->env = (struct tr_argv){.words = words, .count = node->count};
    return 0;
}

static int read_text(struct reader *r, const struct tr_yaml *node, const char **ret)
{
    if (node->kind != TR_YAML_SCALAR)
        return bad(r, node, "a text");
    *ret = tr_arena_strdup(r->arena, node->text);
    return *ret ? 0 : tr_fail(r->err, TR_E_NOMEM, 0, "no memory for %s", r->file);
}

/* Sizes become KiB, durations microseconds, factors thousandths. */
enum unit {
    KIB,
    BYTES,
    MICROSECONDS,
    MILLI,
    PLAIN
};

static int read_number(struct reader *r, const struct tr_yaml *node, enum unit unit, int64_t *ret)
{
    uint64_t size = 0;
    int64_t v = 0;
    int rc = TR_E_PARSE;

    if (node->kind != TR_YAML_SCALAR)
        return bad(r, node, "a number");
    switch (unit) {
    case KIB:
    case BYTES:
        rc = tr_parse_size(node->text, 1024, (uint64_t)TR_MEMORY_KIB_MAX * 1024, &size, r->err);
        v = (int64_t)(unit == KIB ? size / 1024 : size);
        break;
    case MICROSECONDS:
        rc = tr_parse_duration_us(node->text, 1000, 600000000, &v, r->err);
        break;
    case MILLI:
        rc = tr_parse_milli(node->text, TR_FACTOR_MILLI_MIN, TR_FACTOR_MILLI_MAX, &v, r->err);
        break;
    case PLAIN:
        rc = tr_parse_i64(node->text, 1, TR_PIDS_MAX, &v, r->err);
        break;
    }
    if (rc < 0)
        return tr_fail_wrap(r->err, "%s:%u: %s", r->file, node->line, node->key);
    *ret = v;
    return 0;
}

static int read_key(struct reader *r, const struct tr_yaml *n)
{
    struct tr_lang *l = r->lang;
    const struct {
        const char *key;
        const char **to;
    } texts[] = {{"name", &l->name},
                 {"source", &l->source},
                 {"artifact", &l->artifact},
                 {"root", &l->root},
                 {"selftest", &l->selftest},
                 {"package", &l->package},
                 {"precompiled_header", &l->pch}};
    const struct {
        const char *key;
        enum unit unit;
        int64_t *to;
    } numbers[] = {{"time_factor", MILLI, &l->time_milli},
                   {"memory_factor", MILLI, &l->memory_milli},
                   {"memory_extra", KIB, &l->memory_extra_kib},
                   {"pids", PLAIN, &l->pids},
                   {"stack", KIB, &l->stack_kib},
                   {"output", BYTES, &l->output_bytes},
                   {"compile_time", MICROSECONDS, &l->compile_time_us},
                   {"compile_memory", KIB, &l->compile_memory_kib}};
    const struct {
        const char *key;
        struct tr_argv *to;
    } lists[] = {{"extensions", &l->extensions},
                 {"compile", &l->compile},
                 {"run", &l->run},
                 {"memory_words", &l->memory_words},
                 {"version", &l->version}};

    for (size_t i = 0; i < TR_ARRAY_LEN(texts); i++) {
        if (strcmp(n->key, texts[i].key) == 0)
            return read_text(r, n, texts[i].to);
    }
    for (size_t i = 0; i < TR_ARRAY_LEN(numbers); i++) {
        if (strcmp(n->key, numbers[i].key) == 0)
            return read_number(r, n, numbers[i].unit, numbers[i].to);
    }
    for (size_t i = 0; i < TR_ARRAY_LEN(lists); i++) {
        if (strcmp(n->key, lists[i].key) == 0)
            return read_words(r, n, lists[i].to);
    }
    if (strcmp(n->key, "env") == 0)
        return read_env(r, n);
    return tr_fail(r->err, TR_E_PARSE, 0, "%s:%u: a language has no '%s'", r->file, n->line,
                   n->key);
}

static bool plain_file(const char *s)
{
    return s && *s && *s != '.' && *s != '-' && !strchr(s, '/') && strlen(s) <= TR_LANG_NAME_MAX;
}

int tr_lang_parse(const struct tr_yaml *root, const char *slug, const char *file,
                  struct tr_arena *arena, struct tr_lang *ret, struct tr_err *err)
{
    struct tr_lang l = {
        .slug = tr_arena_strdup(arena, slug),
        .time_milli = 1000,
        .memory_milli = 1000,
        .compile_time_us = 30000000,
        .compile_memory_kib = 2 * 1024 * 1024,
    };
    struct reader r = {.file = file, .arena = arena, .lang = &l, .err = err};

    if (!l.slug)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory for %s", file);
    if (root->kind != TR_YAML_MAP)
        return tr_fail(err, TR_E_PARSE, 0, "%s: expected a map", file);
    for (const struct tr_yaml *n = root->first; n; n = n->next) {
        int rc = read_key(&r, n);
        if (rc < 0)
            return rc;
    }
    if (!l.name || !plain_file(l.source) || l.run.count == 0 || l.version.count == 0)
        return tr_fail(err, TR_E_PARSE, 0,
                       "%s: a language needs name, source (a plain file name), run and version",
                       file);
    if (!l.artifact)
        l.artifact = l.source;
    if (!plain_file(l.artifact))
        return tr_fail(err, TR_E_PARSE, 0, "%s: artifact: expected a plain file name", file);
    *ret = l;
    return 0;
}

static int load_one(const char *folder, const char *name, struct tr_arena *arena,
                    struct tr_lang *ret, struct tr_err *err)
{
    const struct tr_yaml *root = NULL;
    const char *path = tr_arena_printf(arena, "%s/%s", folder, name);
    const char *slug = tr_arena_strndup(arena, name, strlen(name) - strlen(".yaml"));

    if (!path || !slug)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory for the languages");
    int r = tr_yaml_read(path, arena, &root, err);
    return r < 0 ? r : tr_lang_parse(root, slug, path, arena, ret, err);
}

static int by_slug(const void *a, const void *b)
{
    return strcmp(((const struct tr_lang *)a)->slug, ((const struct tr_lang *)b)->slug);
}

static void closedirp(DIR **d)
{
    if (*d)
        (void)closedir(*d);
}

int tr_langs_load(const char *folder, struct tr_arena *arena, struct tr_langs *ret,
                  struct tr_err *err)
{
    struct tr_langs l = {0};
    TR_CLEANUP(closedirp) DIR *d = opendir(folder);

    if (!d)
        return tr_fail(err, errno == ENOENT ? TR_E_NOTFOUND : TR_E_IO, errno,
                       "open the folder of languages '%s'", folder);
    l.list = tr_arena_array(arena, LANGS_MAX, sizeof(*l.list));
    if (!l.list)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory for the languages");
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is ours */
    for (struct dirent *e = readdir(d); e; e = readdir(d)) {
        size_t n = strlen(e->d_name);

        if (e->d_name[0] == '.' || n < 6 || strcmp(e->d_name + n - 5, ".yaml") != 0)
            continue;
        if (l.count == LANGS_MAX)
            return tr_fail(err, TR_E_LIMIT, 0, "more than %d languages in '%s'", LANGS_MAX, folder);
        int r = load_one(folder, e->d_name, arena, &l.list[l.count], err);
        if (r < 0)
            return r;
        l.count++;
    }
    if (l.count == 0)
        return tr_fail(err, TR_E_NOTFOUND, 0, "there are no language files in '%s'", folder);
    qsort(l.list, l.count, sizeof(*l.list), by_slug);
    *ret = l;
    return 0;
}

const struct tr_lang *tr_langs_find(const struct tr_langs *langs, const char *slug)
{
    for (size_t i = 0; i < langs->count; i++) {
        if (strcmp(langs->list[i].slug, slug) == 0)
            return &langs->list[i];
    }
    return NULL;
}

const struct tr_lang *tr_langs_by_name(const struct tr_langs *langs, const char *filename)
{
    const char *base = strrchr(filename, '/');
    const char *dot = strrchr(base ? base : filename, '.');

    for (size_t i = 0; dot && i < langs->count; i++) {
        for (size_t k = 0; k < langs->list[i].extensions.count; k++) {
            if (strcmp(langs->list[i].extensions.words[k], dot + 1) == 0)
                return &langs->list[i];
        }
    }
    return NULL;
}

void tr_lang_merge(const struct tr_lang *known, const struct tr_lang *task, bool has_commands,
                   struct tr_lang *ret)
{
    struct tr_lang l = known ? *known
                             : (struct tr_lang){.time_milli = 1000,
                                                .memory_milli = 1000,
                                                .compile_time_us = 30000000,
                                                .compile_memory_kib = 2 * 1024 * 1024};

    l.slug = task->slug;
    if (!l.name)
        l.name = task->slug;
    if (has_commands) {
        l.source = task->source;
        l.compile = task->compile;
        l.run = task->run;
        /* The seed does not say what compiling leaves: the program that run_cmd names, if it is a
         * plain name in the work folder, else the source. */
        const char *first = task->run.words[0];
        bool local = strncmp(first, "./", 2) == 0 && !strchr(first + 2, '/');

        l.artifact = task->artifact                     ? task->artifact
                     : task->compile.count > 0 && local ? first + 2
                                                        : task->source;
        l.pch = NULL;
        l.from_task = true;
    }
    if (task->root)
        l.root = task->root;
    if (task->time_milli)
        l.time_milli = task->time_milli;
    if (task->memory_milli)
        l.memory_milli = task->memory_milli;
    if (task->pids)
        l.pids = task->pids;
    if (task->output_bytes)
        l.output_bytes = task->output_bytes;
    *ret = l;
}

/* Replace every {name} of a word that is one of ours. */
static const char *fill_in(const char *word, int64_t memory_kib, int64_t stack_kib,
                           struct tr_arena *arena)
{
    const struct {
        const char *name;
        int64_t value;
    } holes[] = {{"{memory_mib}", memory_kib / 1024}, {"{stack_mib}", stack_kib / 1024}};

    for (size_t i = 0; i < TR_ARRAY_LEN(holes); i++) {
        const char *at = strstr(word, holes[i].name);

        if (at)
            return tr_arena_printf(arena, "%.*s%lld%s", (int)(at - word), word,
                                   (long long)holes[i].value, at + strlen(holes[i].name));
    }
    return word;
}

const char **tr_lang_words(const struct tr_argv *argv, int64_t memory_kib, int64_t stack_kib,
                           struct tr_arena *arena)
{
    const char **words = tr_arena_array(arena, argv->count + 1, sizeof(*words));

    for (size_t i = 0; words && i < argv->count; i++) {
        words[i] = fill_in(argv->words[i], memory_kib, stack_kib, arena);
        if (!words[i])
            return NULL;
    }
    return words;
}

const char *tr_langs_folder(const char *said, struct tr_arena *arena)
{
    /* Installed; then a build folder in the source tree, and one inside that. */
    static const char *const beside[] = {"../share/tribunal/languages", "../../../languages",
                                         "../../../../languages"};
    char exe[4096];

    if (said)
        return said;
    ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
    if (n <= 0)
        return "languages";
    exe[n] = 0;
    char *slash = strrchr(exe, '/');
    if (slash)
        *slash = 0;
    for (size_t i = 0; i < TR_ARRAY_LEN(beside); i++) {
        const char *path = tr_arena_printf(arena, "%s/%s", exe, beside[i]);

        if (!path || access(path, R_OK | X_OK) == 0)
            return path;
    }
    return tr_arena_printf(arena, "%s/%s", exe, beside[0]);
}
