/* SPDX-License-Identifier: MIT
 *
 * Property: any bytes give a tree within the ceilings in which every key of a map is unique and
 * every text is there, or a sentence; never both, never a crash.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "rt/yaml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The tree has at most TR_YAML_DEPTH_MAX levels, so a fixed stack walks it. */
static void check_tree(const struct tr_yaml *root)
{
    const struct tr_yaml *stack[TR_YAML_DEPTH_MAX + 1];
    size_t depth = 0;
    size_t nodes = 0;

    stack[depth++] = root;
    while (depth > 0) {
        const struct tr_yaml *n = stack[--depth];

        if (!n)
            continue;
        assert(++nodes <= TR_YAML_NODES_MAX);
        assert(n->line >= 1);
        if (n->next) {
            assert(depth < TR_YAML_DEPTH_MAX + 1);
            stack[depth++] = n->next;
        }
        if (n->kind == TR_YAML_SCALAR) {
            assert(n->text && !n->first);
            continue;
        }
        size_t count = 0;
        for (const struct tr_yaml *c = n->first; c; c = c->next) {
            count++;
            assert((c->key != NULL) == (n->kind == TR_YAML_MAP));
            if (c->key)
                assert(tr_yaml_get(n, c->key) == c);
        }
        assert(count == n->count);
        if (n->first) {
            assert(depth < TR_YAML_DEPTH_MAX + 1);
            stack[depth++] = n->first;
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tr_err err = TR_ERR_INIT;
    const struct tr_yaml *root = NULL;
    struct tr_arena a;

    tr_arena_init(&a, TR_YAML_ARENA_MAX);
    int r = tr_yaml_parse((const char *)data, size, "fuzz", &a, &root, &err);
    assert((r == 0) == (root != NULL));
    assert((r < 0) == (err.msg[0] != '\0'));
    if (root)
        check_tree(root);
    tr_arena_done(&a);
    return 0;
}
