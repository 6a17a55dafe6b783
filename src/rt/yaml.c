/* SPDX-License-Identifier: MIT
 *
 * yaml.c - libyaml's events into a small tree.
 *
 * Works on hostile input: bounded in bytes, nodes and depth, no recursion, and everything that YAML
 * could expand (aliases, merge keys) is refused before it is expanded.
 */
#include "rt/yaml.h"

#include <string.h>
#include <yaml.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fs.h"

struct reader {
    const char *file;
    struct tr_arena *arena;
    struct tr_err *err;
    struct tr_yaml *root;
    struct tr_yaml *open[TR_YAML_DEPTH_MAX]; /* maps and lists that are not closed yet */
    size_t depth;
    size_t nodes;
    const char *key; /* read in the innermost map, its value is due */
    unsigned key_line;
    size_t documents;
};

static unsigned line_of(const yaml_event_t *e)
{
    return (unsigned)e->start_mark.line + 1;
}

static int refuse(struct reader *r, unsigned line, const char *why)
{
    return tr_fail(r->err, TR_E_PARSE, 0, "%s:%u: %s", r->file, line, why);
}

static int out_of_memory(struct reader *r)
{
    return tr_fail(r->err, TR_E_NOMEM, 0, "%s: out of memory", r->file);
}

static struct tr_yaml *innermost(struct reader *r)
{
    return r->depth ? r->open[r->depth - 1] : NULL;
}

/* Hang a new node below the innermost open one, or make it the root. */
static int attach(struct reader *r, struct tr_yaml *node)
{
    struct tr_yaml *parent = innermost(r);

    if (++r->nodes > TR_YAML_NODES_MAX)
        return tr_fail(r->err, TR_E_LIMIT, 0, "%s:%u: more than %d values", r->file, node->line,
                       TR_YAML_NODES_MAX);
    if (!parent) {
        r->root = node;
        return 0;
    }
    if (parent->kind == TR_YAML_MAP) {
        node->key = r->key;
        node->line = r->key_line;
        r->key = NULL;
    }
    if (parent->last)
        parent->last->next = node;
    else
        parent->first = node;
    parent->last = node;
    parent->count++;
    return 0;
}

static int open_node(struct reader *r, enum tr_yaml_kind kind, const yaml_event_t *e)
{
    struct tr_yaml *parent = innermost(r);

    if (parent && parent->kind == TR_YAML_MAP && !r->key)
        return refuse(r, line_of(e), "a key must be a plain word");
    if (r->depth == TR_YAML_DEPTH_MAX)
        return refuse(r, line_of(e), "nested too deeply");
    struct tr_yaml *node = tr_arena_alloc(r->arena, sizeof(*node));
    if (!node)
        return out_of_memory(r);
    node->kind = kind;
    node->line = line_of(e);
    int rc = attach(r, node);
    if (rc < 0)
        return rc;
    r->open[r->depth++] = node;
    return 0;
}

static int take_key(struct reader *r, const char *text, unsigned line)
{
    const struct tr_yaml *before = tr_yaml_get(innermost(r), text);

    if (before)
        return tr_fail(r->err, TR_E_PARSE, 0, "%s:%u: key '%.64s' stands twice, first in line %u",
                       r->file, line, text, before->line);
    if (strcmp(text, "<<") == 0)
        return refuse(r, line, "merge keys are not allowed");
    r->key = text;
    r->key_line = line;
    return 0;
}

static int take_scalar(struct reader *r, const yaml_event_t *e)
{
    const char *value = (const char *)e->data.scalar.value;
    size_t len = e->data.scalar.length;
    struct tr_yaml *parent = innermost(r);

    if (e->data.scalar.tag)
        return refuse(r, line_of(e), "tags are not allowed");
    if (memchr(value, '\0', len))
        return refuse(r, line_of(e), "a NUL character is not allowed");
    const char *text = tr_arena_strndup(r->arena, value, len);
    if (!text)
        return out_of_memory(r);
    if (parent && parent->kind == TR_YAML_MAP && !r->key)
        return take_key(r, text, line_of(e));
    struct tr_yaml *node = tr_arena_alloc(r->arena, sizeof(*node));
    if (!node)
        return out_of_memory(r);
    node->kind = TR_YAML_SCALAR;
    node->text = text;
    node->quoted = e->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    node->line = line_of(e);
    return attach(r, node);
}

static bool is_anchored(const yaml_event_t *e)
{
    return (e->type == YAML_SCALAR_EVENT && e->data.scalar.anchor) ||
           (e->type == YAML_SEQUENCE_START_EVENT && e->data.sequence_start.anchor) ||
           (e->type == YAML_MAPPING_START_EVENT && e->data.mapping_start.anchor);
}

static bool is_tagged(const yaml_event_t *e)
{
    return (e->type == YAML_SEQUENCE_START_EVENT && e->data.sequence_start.tag) ||
           (e->type == YAML_MAPPING_START_EVENT && e->data.mapping_start.tag);
}

static int take_event(struct reader *r, const yaml_event_t *e)
{
    if (is_anchored(e))
        return refuse(r, line_of(e), "anchors are not allowed");
    if (is_tagged(e))
        return refuse(r, line_of(e), "tags are not allowed");
    switch ((int)e->type) {
    case YAML_ALIAS_EVENT:
        return refuse(r, line_of(e), "aliases are not allowed");
    case YAML_DOCUMENT_START_EVENT:
        if (++r->documents > 1)
            return refuse(r, line_of(e), "a second document starts; one is allowed");
        return 0;
    case YAML_MAPPING_START_EVENT:
        return open_node(r, TR_YAML_MAP, e);
    case YAML_SEQUENCE_START_EVENT:
        return open_node(r, TR_YAML_LIST, e);
    case YAML_MAPPING_END_EVENT:
    case YAML_SEQUENCE_END_EVENT:
        r->depth--;
        return 0;
    case YAML_SCALAR_EVENT:
        return take_scalar(r, e);
    default:
        return 0;
    }
}

static int syntax_error(struct reader *r, const yaml_parser_t *p)
{
    size_t line = p->problem_mark.line;

    if (p->error == YAML_MEMORY_ERROR)
        return out_of_memory(r);
    if (p->error == YAML_READER_ERROR)
        return tr_fail(r->err, TR_E_PARSE, 0, "%s: not valid UTF-8 text (at byte %zu)", r->file,
                       p->problem_offset);
    return refuse(r, (unsigned)line + 1, p->problem ? p->problem : "not valid YAML");
}

static int read_events(struct reader *r, yaml_parser_t *p)
{
    for (;;) {
        yaml_event_t e;

        if (!yaml_parser_parse(p, &e))
            return syntax_error(r, p);
        bool end = e.type == YAML_STREAM_END_EVENT;
        int rc = take_event(r, &e);
        yaml_event_delete(&e);
        if (rc < 0 || end)
            return rc;
    }
}

int tr_yaml_parse(const char *bytes, size_t len, const char *file, struct tr_arena *arena,
                  const struct tr_yaml **ret_root, struct tr_err *err)
{
    struct reader r = {.file = file, .arena = arena, .err = err};
    yaml_parser_t parser;

    if (len > TR_YAML_BYTES_MAX)
        return tr_fail(err, TR_E_LIMIT, 0, "%s: larger than %d bytes", file, TR_YAML_BYTES_MAX);
    if (!yaml_parser_initialize(&parser))
        return out_of_memory(&r);
    yaml_parser_set_input_string(&parser, (const unsigned char *)bytes, len);
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    int rc = read_events(&r, &parser);
    yaml_parser_delete(&parser);
    if (rc < 0)
        return rc;
    if (!r.root || (r.root->kind == TR_YAML_SCALAR && tr_yaml_is_null(r.root))) {
        r.root = tr_arena_alloc(arena, sizeof(*r.root));
        if (!r.root)
            return out_of_memory(&r);
        r.root->kind = TR_YAML_MAP;
        r.root->line = 1;
    }
    *ret_root = r.root;
    return 0;
}

int tr_yaml_read(const char *path, struct tr_arena *arena, const struct tr_yaml **ret_root,
                 struct tr_err *err)
{
    TR_CLEANUP(tr_buf_done) struct tr_buf b;

    tr_buf_init(&b, TR_YAML_BYTES_MAX);
    int r = tr_fs_read_file(path, &b, err);
    if (r < 0)
        return r;
    return tr_yaml_parse(b.data, b.len, path, arena, ret_root, err);
}

const struct tr_yaml *tr_yaml_get(const struct tr_yaml *map, const char *key)
{
    if (map->kind != TR_YAML_MAP)
        return NULL;
    for (const struct tr_yaml *n = map->first; n; n = n->next) {
        if (strcmp(n->key, key) == 0)
            return n;
    }
    return NULL;
}

bool tr_yaml_is_null(const struct tr_yaml *node)
{
    return node->kind == TR_YAML_SCALAR && !node->quoted &&
           (node->text[0] == '\0' || strcmp(node->text, "~") == 0 ||
            strcmp(node->text, "null") == 0);
}

const char *tr_yaml_kind_name(const struct tr_yaml *node)
{
    switch (node->kind) {
    case TR_YAML_MAP:
        return "a map";
    case TR_YAML_LIST:
        return "a list";
    case TR_YAML_SCALAR:
    default:
        return "a value";
    }
}
