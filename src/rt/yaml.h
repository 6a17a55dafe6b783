/* SPDX-License-Identifier: MIT
 *
 * rt/yaml.h - YAML, as strictly as a person would read it.
 *
 * libyaml reads, this layer refuses what makes YAML surprising: anchors, aliases, tags, merge keys,
 * duplicate keys, several documents, NUL characters. Every scalar stays text; whoever asks for a
 * number parses it with base/parse.h. Used for configuration, problem.yaml and language files.
 */
#ifndef RT_YAML_H
#define RT_YAML_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"

/* Ceilings: a configuration or problem file is a page or two. */
enum {
    TR_YAML_BYTES_MAX = 1024 * 1024,
    TR_YAML_NODES_MAX = 4096,
    TR_YAML_DEPTH_MAX = 16,
    TR_YAML_ARENA_MAX = 8 * 1024 * 1024 /* enough for the two ceilings above */
};

enum tr_yaml_kind {
    TR_YAML_SCALAR,
    TR_YAML_MAP,
    TR_YAML_LIST
};

struct tr_yaml {
    enum tr_yaml_kind kind;
    const char *key;             /* its key when the parent is a map, else NULL */
    const char *text;            /* scalars: the text, never NULL */
    bool quoted;                 /* scalars: "12" is quoted, 12 is not */
    unsigned line;               /* from 1, of the key where there is one */
    const struct tr_yaml *next;  /* its next sibling */
    const struct tr_yaml *first; /* maps and lists: the first child */
    struct tr_yaml *last;
    size_t count;
};

/* Parse one document; `file` is only for messages ("file:line: …"). The tree lives in the arena. An
 * empty document is an empty map. Returns 0 or TR_E_PARSE, TR_E_LIMIT, TR_E_NOMEM. */
int tr_yaml_parse(const char *bytes, size_t len, const char *file, struct tr_arena *arena,
                  const struct tr_yaml **ret_root, struct tr_err *err);

/* The same for a file that a person named. */
int tr_yaml_read(const char *path, struct tr_arena *arena, const struct tr_yaml **ret_root,
                 struct tr_err *err);

/* The child with this key, or NULL. */
const struct tr_yaml *tr_yaml_get(const struct tr_yaml *map, const char *key);

/* True for a plain empty value, "~" and "null". */
bool tr_yaml_is_null(const struct tr_yaml *node);

/* "a map", "a list", "a value": for messages. */
const char *tr_yaml_kind_name(const struct tr_yaml *node);

#endif
