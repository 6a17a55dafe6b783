/* SPDX-License-Identifier: MIT
 *
 * conf.c - fill the structs from file, environment and command line, in that order.
 *
 * Later sources overwrite earlier ones, so precedence is the order of the calls in tr_conf_load().
 * A wrong value is refused wherever it stands, even when a later source would have replaced it:
 * a typo that only bites on the day the flag is dropped is worse than one that bites now.
 */
#include "rt/conf.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/parse.h"
#include "rt/conf_private.h"
#include "rt/yaml.h"

/* Texts of one run; a secret file is at most a page. */
enum {
    ARENA_MAX = 16 * 1024 * 1024,
    SECRET_MAX = 4096,
    NAME_MAX_BYTES = 64
};

struct load {
    const struct tr_conf_program *p;
    struct tr_conf *conf;
    const char *config;                   /* --config or TRIBUNAL_CONFIG */
    const struct tr_conf_item *given[64]; /* lists start anew in each source */
    size_t ngiven;
    struct tr_err *err;
};

/* log-level -> log_level (file) or TRIBUNAL_LOG_LEVEL (environment). */
void tr_conf_key(const char *name, char out[static TR_CONF_KEY_MAX])
{
    size_t i = 0;

    for (; i < TR_CONF_KEY_MAX - 1 && name[i]; i++)
        out[i] = name[i] == '-' ? '_' : name[i];
    out[i] = '\0';
}

void tr_conf_env(const char *name, char out[static TR_CONF_ENV_MAX])
{
    char key[TR_CONF_KEY_MAX];

    tr_conf_key(name, key);
    (void)snprintf(out, TR_CONF_ENV_MAX, "TRIBUNAL_%s", key); /* the sizes fit */
    for (char *c = out; *c; c++) {
        if (*c >= 'a' && *c <= 'z')
            *c = (char)(*c - 'a' + 'A');
    }
}

static void *slot(const struct tr_conf_table *t, const struct tr_conf_item *it)
{
    return (char *)t->into + it->at;
}

static int set_choice(const struct tr_conf_item *it, const char *text, int *ret, struct tr_err *err)
{
    char all[256] = "";
    size_t used = 0;

    for (int i = 0; it->choices[i]; i++) {
        if (strcmp(it->choices[i], text) == 0) {
            *ret = i;
            return 0;
        }
        int n = snprintf(all + used, sizeof(all) - used, "%s%s", i ? ", " : "", it->choices[i]);
        if (n > 0 && (size_t)n < sizeof(all) - used)
            used += (size_t)n;
    }
    return tr_fail(err, TR_E_PARSE, 0, "'%.64s' is not one of %s", text, all);
}

static int add_to_list(struct load *l, struct tr_conf_list *list, const char *text)
{
    const char **items = tr_arena_array(&l->conf->arena, list->count + 1, sizeof(*items));

    if (!items)
        return tr_fail(l->err, TR_E_NOMEM, 0, "out of memory");
    if (list->count)
        memcpy(items, list->items, list->count * sizeof(*items));
    items[list->count] = text;
    list->items = items;
    list->count++;
    return 0;
}

/* A list from a later source replaces the one from an earlier source; within one source its
 * values add up. */
static void start_list(struct load *l, const struct tr_conf_item *it, struct tr_conf_list *list)
{
    for (size_t i = 0; i < l->ngiven; i++) {
        if (l->given[i] == it)
            return;
    }
    assert(l->ngiven < TR_ARRAY_LEN(l->given));
    l->given[l->ngiven++] = it;
    list->count = 0;
}

/* Parse `text` for one setting. The sentence does not say where the text stood. */
static int set_value(struct load *l, const struct tr_conf_table *t, const struct tr_conf_item *it,
                     const char *text)
{
    void *to = slot(t, it);
    bool ranged = it->min != 0 || it->max != 0;
    int64_t lo = ranged ? it->min : INT64_MIN;
    int64_t hi = ranged ? it->max : INT64_MAX;

    switch (it->type) {
    case TR_CONF_BOOL:
        return tr_parse_bool(text, to, l->err);
    case TR_CONF_INT:
        return tr_parse_i64(text, lo, hi, to, l->err);
    case TR_CONF_SIZE:
        return tr_parse_size(text, ranged ? (uint64_t)lo : 0, (uint64_t)hi, to, l->err);
    case TR_CONF_DURATION:
        return tr_parse_duration_us(text, ranged ? lo : 0, hi, to, l->err);
    case TR_CONF_CHOICE:
        return set_choice(it, text, to, l->err);
    case TR_CONF_STRING:
    case TR_CONF_LIST:
        break;
    }
    const char *copy = tr_arena_strdup(&l->conf->arena, text);
    if (!copy)
        return tr_fail(l->err, TR_E_NOMEM, 0, "out of memory");
    if (it->type == TR_CONF_LIST) {
        start_list(l, it, to);
        return add_to_list(l, to, copy);
    }
    *(const char **)to = copy;
    return 0;
}

/* The first line of the file is the secret: editors end files with a newline. */
static int set_secret_from_file(struct load *l, const struct tr_conf_table *t,
                                const struct tr_conf_item *it, const char *path)
{
    TR_CLEANUP(tr_buf_done) struct tr_buf b;

    tr_buf_init(&b, SECRET_MAX);
    int r = tr_fs_read_file(path, &b, l->err);
    if (r < 0)
        return r;
    if (memchr(b.data, '\0', b.len))
        return tr_fail(l->err, TR_E_PARSE, 0, "'%s' holds a NUL character", path);
    b.data[strcspn(b.data, "\r\n")] = '\0';
    if (b.data[0] == '\0')
        return tr_fail(l->err, TR_E_PARSE, 0, "'%s' is empty, expected the secret", path);
    return set_value(l, t, it, b.data);
}

/* Find a setting by its dashed name. "name-file" of a secret sets *ret_file. Only the file knows
 * foreign ones. */
static const struct tr_conf_item *find_item(const struct load *l, const char *name, bool in_file,
                                            const struct tr_conf_table **ret_table, bool *ret_file)
{
    size_t len = strlen(name);

    for (size_t i = 0; i < l->p->ntables; i++) {
        const struct tr_conf_table *t = &l->p->tables[i];

        for (size_t j = 0; j < t->count && (in_file || !t->foreign); j++) {
            const struct tr_conf_item *it = &t->items[j];
            size_t n = strlen(it->name);
            bool file = (it->flags & TR_CONF_SECRET) && len == n + 5 &&
                        strncmp(name, it->name, n) == 0 && strcmp(name + n, "-file") == 0;

            if (file || strcmp(it->name, name) == 0) {
                *ret_table = t;
                *ret_file = file;
                return it;
            }
        }
    }
    return NULL;
}

static const char *closest_name(const struct load *l, const char *name, bool in_file)
{
    const char *words[256];
    size_t n = 0;

    for (size_t i = 0; i < l->p->ntables; i++) {
        if (l->p->tables[i].foreign && !in_file)
            continue;
        for (size_t j = 0; j < l->p->tables[i].count && n < TR_ARRAY_LEN(words) - 1; j++) {
            if (!(l->p->tables[i].items[j].flags & TR_CONF_HIDDEN))
                words[n++] = l->p->tables[i].items[j].name;
        }
    }
    words[n] = NULL;
    return tr_conf_closest(name, words);
}

static int apply(struct load *l, const struct tr_conf_table *t, const struct tr_conf_item *it,
                 bool file, const char *text)
{
    return file ? set_secret_from_file(l, t, it, text) : set_value(l, t, it, text);
}

/* ---- defaults ---- */

static int load_defaults(struct load *l)
{
    for (size_t i = 0; i < l->p->ntables; i++) {
        const struct tr_conf_table *t = &l->p->tables[i];

        for (size_t j = 0; j < t->count && !t->foreign; j++) {
            const struct tr_conf_item *it = &t->items[j];

            if (!it->fallback)
                continue;
            int r = set_value(l, t, it, it->fallback);
            assert(r == 0 || r == TR_E_NOMEM); /* a table whose default breaks its own range */
            if (r < 0)
                return r;
        }
    }
    return 0;
}

/* ---- file ---- */

static int unknown_key(struct load *l, const char *file, const struct tr_yaml *n)
{
    char dashed[NAME_MAX_BYTES];
    char key[TR_CONF_KEY_MAX];
    size_t i = 0;

    for (; i < sizeof(dashed) - 1 && n->key[i]; i++)
        dashed[i] = n->key[i] == '_' ? '-' : n->key[i];
    dashed[i] = '\0';
    const char *near = closest_name(l, dashed, true);
    if (!near)
        return tr_fail(l->err, TR_E_PARSE, 0, "%s:%u: unknown key '%.64s'", file, n->line, n->key);
    tr_conf_key(near, key);
    return tr_fail(l->err, TR_E_PARSE, 0, "%s:%u: unknown key '%.64s'; did you mean '%s'?", file,
                   n->line, n->key, key);
}

static const struct tr_conf_item *find_key(const struct load *l, const char *key,
                                           const struct tr_conf_table **ret_table, bool *ret_file)
{
    const struct tr_conf_table *t = NULL;
    char dashed[NAME_MAX_BYTES];
    size_t i = 0;

    for (; key[i]; i++) {
        if (i == sizeof(dashed) - 1 || key[i] == '-')
            return NULL; /* the file's spelling has underscores only */
        dashed[i] = key[i] == '_' ? '-' : key[i];
    }
    dashed[i] = '\0';
    const struct tr_conf_item *it = find_item(l, dashed, true, &t, ret_file);
    if (!it || (it->flags & TR_CONF_CLI_ONLY) ||
        !(t == &l->p->tables[0] || t->foreign || (it->flags & TR_CONF_IN_FILE)))
        return NULL;
    *ret_table = t;
    return it;
}

static int load_key(struct load *l, const char *file, const struct tr_yaml *n)
{
    bool secret_file = false;
    const struct tr_conf_table *t = NULL;
    const struct tr_conf_item *it = find_key(l, n->key, &t, &secret_file);
    int r = 0;

    if (!it)
        return unknown_key(l, file, n);
    bool list = it->type == TR_CONF_LIST && n->kind == TR_YAML_LIST;
    if (!list && n->kind != TR_YAML_SCALAR)
        return tr_fail(l->err, TR_E_PARSE, 0, "%s:%u: %s: expected one value, found %s", file,
                       n->line, n->key, tr_yaml_kind_name(n));
    for (const struct tr_yaml *v = list ? n->first : n; v && r == 0; v = list ? v->next : NULL) {
        if (v->kind != TR_YAML_SCALAR || tr_yaml_is_null(v))
            return tr_fail(l->err, TR_E_PARSE, 0, "%s:%u: %s: expected a value, found nothing",
                           file, v->line, n->key);
        r = apply(l, t, it, secret_file, v->text);
    }
    return r < 0 ? tr_fail_wrap(l->err, "%s:%u: %s", file, n->line, n->key) : 0;
}

static int load_file(struct load *l)
{
    struct tr_arena arena;
    const struct tr_yaml *root = NULL;

    if (!l->config)
        return 0;
    l->ngiven = 0;
    tr_arena_init(&arena, TR_YAML_ARENA_MAX);
    int r = tr_yaml_read(l->config, &arena, &root, l->err);
    if (r == 0 && root->kind != TR_YAML_MAP)
        r = tr_fail(l->err, TR_E_PARSE, 0, "%s:%u: expected 'key: value' lines, found %s",
                    l->config, root->line, tr_yaml_kind_name(root));
    for (const struct tr_yaml *n = r == 0 ? root->first : NULL; n && r == 0; n = n->next)
        r = load_key(l, l->config, n);
    tr_arena_done(&arena);
    return r;
}

/* ---- environment ---- */

static int load_env_item(struct load *l, const struct tr_conf_table *t,
                         const struct tr_conf_item *it)
{
    for (int file = 0; file <= ((it->flags & TR_CONF_SECRET) ? 1 : 0); file++) {
        char name[NAME_MAX_BYTES];
        char env[TR_CONF_ENV_MAX];

        (void)snprintf(name, sizeof(name), "%s%s", it->name, file ? "-file" : "");
        tr_conf_env(name, env);
        const char *text = secure_getenv(env);
        if (!text || !*text)
            continue;
        int r = apply(l, t, it, file == 1, text);
        if (r < 0)
            return tr_fail_wrap(l->err, "%s", env);
    }
    return 0;
}

static int load_env(struct load *l)
{
    l->ngiven = 0;
    for (size_t i = 0; i < l->p->ntables; i++) {
        const struct tr_conf_table *t = &l->p->tables[i];

        for (size_t j = 0; j < t->count && !t->foreign; j++) {
            if (t->items[j].flags & TR_CONF_CLI_ONLY)
                continue;
            int r = load_env_item(l, t, &t->items[j]);
            if (r < 0)
                return r;
        }
    }
    return 0;
}

/* ---- command line ---- */

/* One option of the command line, split but not yet understood. */
struct option {
    const char *shown; /* "--memory" or "-p", for messages */
    const struct tr_conf_table *table;
    const struct tr_conf_item *item;
    bool secret_file;
    bool negated;      /* --no-name */
    const char *value; /* after '=', or glued to the letter, or NULL */
};

static const struct tr_conf_item *find_letter(const struct load *l, char letter,
                                              const struct tr_conf_table **ret_table)
{
    for (size_t i = 0; i < l->p->ntables; i++) {
        for (size_t j = 0; j < l->p->tables[i].count && !l->p->tables[i].foreign; j++) {
            if (l->p->tables[i].items[j].letter == letter) {
                *ret_table = &l->p->tables[i];
                return &l->p->tables[i].items[j];
            }
        }
    }
    return NULL;
}

static int unknown_option(struct load *l, const char *word)
{
    const char *near = strncmp(word, "--", 2) == 0 ? closest_name(l, word + 2, false) : NULL;

    if (near)
        return tr_fail(l->err, TR_E_USAGE, 0, "unknown option '%.64s'; did you mean '--%s'?", word,
                       near);
    return tr_fail(l->err, TR_E_USAGE, 0, "unknown option '%.64s'; '%s --help' lists them", word,
                   l->p->name);
}

static int split_long(struct load *l, const char *word, struct option *o)
{
    const char *eq = strchr(word, '=');
    size_t len = eq ? (size_t)(eq - word) : strlen(word);
    char *name = tr_arena_strndup(&l->conf->arena, word, len);

    if (!name)
        return tr_fail(l->err, TR_E_NOMEM, 0, "out of memory");
    o->shown = name;
    o->value = eq ? eq + 1 : NULL;
    o->item = find_item(l, name + 2, false, &o->table, &o->secret_file);
    if (!o->item && strncmp(name, "--no-", 5) == 0) {
        o->item = find_item(l, name + 5, false, &o->table, &o->secret_file);
        if (o->item && o->item->type != TR_CONF_BOOL)
            o->item = NULL;
        o->negated = o->item != NULL;
    }
    return o->item ? 0 : unknown_option(l, name);
}

static int split_short(struct load *l, const char *word, struct option *o)
{
    o->shown = word;
    o->item = find_letter(l, word[1], &o->table);
    o->value = word[2] ? word + 2 : NULL;
    return o->item ? 0 : unknown_option(l, word);
}

static int take_option(struct load *l, const struct option *o)
{
    if (o->negated && o->value)
        return tr_fail(l->err, TR_E_USAGE, 0, "%s takes no value", o->shown);
    const char *text = o->value;
    if (o->item->type == TR_CONF_BOOL && !text)
        text = o->negated ? "false" : "true";
    int r = apply(l, o->table, o->item, o->secret_file, text);
    return r < 0 ? tr_fail_wrap(l->err, "%s", o->shown) : 0;
}

static bool is_help(struct load *l, const char *word)
{
    if (strcmp(word, "-h") != 0 && strcmp(word, "--help") != 0 && strncmp(word, "--help=", 7) != 0)
        return false;
    l->conf->help = true;
    l->conf->help_kind = strncmp(word, "--help=", 7) == 0 ? word + 7 : NULL;
    return true;
}

/* The words are walked twice: first only for --config, because the file has to be read before the
 * options that win over it. */
enum pass {
    FIND_CONFIG,
    SET_ALL
};

/* An option at argv[*at]; moves *at past its value. */
static int read_option(struct load *l, int argc, char **argv, int *at, enum pass pass)
{
    const char *word = argv[*at];
    struct option o = {0};
    int r = word[1] == '-' ? split_long(l, word, &o) : split_short(l, word, &o);

    if (r < 0)
        return r;
    assert(o.item); /* or splitting would have failed */
    if (!o.value && (o.item->type != TR_CONF_BOOL || o.secret_file)) {
        if (*at + 1 == argc)
            return tr_fail(l->err, TR_E_USAGE, 0, "%s needs a value", o.shown);
        o.value = argv[++*at];
    }
    if (pass == SET_ALL)
        return take_option(l, &o);
    if (strcmp(o.item->name, "config") == 0)
        l->config = o.value;
    return 0;
}

static int walk_words(struct load *l, int argc, char **argv, enum pass pass)
{
    bool plain = false;
    int r = 0;

    for (int i = 1; i < argc && r == 0; i++) {
        if (plain || argv[i][0] != '-' || argv[i][1] == '\0') {
            if (pass == SET_ALL)
                l->conf->args[l->conf->nargs++] = argv[i];
        } else if (strcmp(argv[i], "--") == 0) {
            plain = true;
        } else if (is_help(l, argv[i])) {
            return 0;
        } else {
            r = read_option(l, argc, argv, &i, pass);
        }
    }
    return r;
}

/* ---- afterwards ---- */

static int check_required(struct load *l)
{
    for (size_t i = 0; i < l->p->ntables; i++) {
        const struct tr_conf_table *t = &l->p->tables[i];

        for (size_t j = 0; j < t->count && !t->foreign; j++) {
            const struct tr_conf_item *it = &t->items[j];
            char env[TR_CONF_ENV_MAX];

            if (!(it->flags & TR_CONF_REQUIRED) || *(const char **)slot(t, it))
                continue;
            tr_conf_env(it->name, env);
            if (it->flags & TR_CONF_CLI_ONLY)
                return tr_fail(l->err, TR_E_USAGE, 0, "--%s is needed: %s", it->name, it->doc);
            return tr_fail(l->err, TR_E_USAGE, 0, "--%s (or %s) is needed: %s", it->name, env,
                           it->doc);
        }
    }
    return 0;
}

static int check_args(struct load *l)
{
    size_t n = l->conf->nargs;

    if (n < l->p->args_min)
        return tr_fail(l->err, TR_E_USAGE, 0, "too few arguments; usage: %s %s", l->p->name,
                       l->p->usage);
    if (n > l->p->args_max)
        return tr_fail(l->err, TR_E_USAGE, 0, "'%.64s' is one argument too many; usage: %s %s",
                       l->conf->args[l->p->args_max], l->p->name, l->p->usage);
    return 0;
}

int tr_conf_load(const struct tr_conf_program *p, int argc, char **argv, struct tr_conf *conf,
                 struct tr_err *err)
{
    struct load l = {.p = p, .conf = conf, .err = err};

    *conf = (struct tr_conf){.help = false};
    tr_arena_init(&conf->arena, ARENA_MAX);
    conf->args = tr_arena_array(&conf->arena, (size_t)argc + 1, sizeof(char *));
    if (!conf->args)
        return tr_fail(err, TR_E_NOMEM, 0, "out of memory");
    const char *env_config = secure_getenv("TRIBUNAL_CONFIG");
    l.config = env_config && *env_config ? env_config : NULL;
    int r = walk_words(&l, argc, argv, FIND_CONFIG);
    if (r < 0 || conf->help)
        return r;
    r = load_defaults(&l);
    if (r == 0)
        r = load_file(&l);
    if (r == 0)
        r = load_env(&l);
    l.ngiven = 0;
    if (r == 0)
        r = walk_words(&l, argc, argv, SET_ALL);
    if (r == 0)
        r = check_required(&l);
    return r < 0 ? r : check_args(&l);
}

void tr_conf_done(struct tr_conf *conf)
{
    tr_arena_done(&conf->arena);
}
