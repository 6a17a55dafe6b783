/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "rt/yaml.h"
#include "unit.h"

static void a_small_file_becomes_a_tree(void **state)
{
    const char *text = "name: A+B\n"
                       "limits:\n"
                       "  time: 1.5\n"
                       "  memory: \"256\"\n"
                       "keywords: [easy, 'two words']\n"
                       "empty:\n";
    const struct tr_yaml *root = NULL;
    struct tr_arena a;

    tr_arena_init(&a, TR_YAML_ARENA_MAX);
    assert_int_equal(tr_yaml_parse(text, strlen(text), "p", &a, &root, NULL), 0);
    assert_int_equal(root->kind, TR_YAML_MAP);
    assert_int_equal(root->count, 4);
    assert_string_equal(tr_yaml_get(root, "name")->text, "A+B");
    const struct tr_yaml *limits = tr_yaml_get(root, "limits");
    assert_int_equal(limits->line, 2);
    assert_string_equal(tr_yaml_get(limits, "time")->text, "1.5");
    assert_false(tr_yaml_get(limits, "time")->quoted);
    assert_true(tr_yaml_get(limits, "memory")->quoted);
    assert_int_equal(tr_yaml_get(limits, "memory")->line, 4);
    const struct tr_yaml *words = tr_yaml_get(root, "keywords");
    assert_int_equal(words->count, 2);
    assert_string_equal(words->first->next->text, "two words");
    assert_true(tr_yaml_is_null(tr_yaml_get(root, "empty")));
    assert_null(tr_yaml_get(root, "absent"));
    tr_arena_done(&a);
}

static void what_surprises_people_is_refused_with_its_line(void **state)
{
    static const struct {
        const char *label;
        const char *text;
        const char *want;
    } rows[] = {
        {"duplicate key", "a: 1\nb: 2\na: 3\n", "f:3: key 'a' stands twice, first in line 1"},
        {"anchor", "a: &x 1\n", "f:1: anchors are not allowed"},
        {"anchor on a map", "a: &x\n  b: 1\n", "f:1: anchors are not allowed"},
        {"alias", "a: *x\n", "f:1: aliases are not allowed"},
        {"merge", "<<: {a: 1}\n", "f:1: merge keys are not allowed"},
        {"tag", "a: !!int 1\n", "f:1: tags are not allowed"},
        {"tag on a list", "a: !x [1]\n", "f:1: tags are not allowed"},
        {"two documents", "a: 1\n---\nb: 2\n", "f:2: a second document starts; one is allowed"},
        {"map as a key", "{a: 1}: 2\n", "f:1: a key must be a plain word"},
        {"list as a key", "? [1]\n: 2\n", "f:1: a key must be a plain word"},
        {"NUL", "a: \"x\\0y\"\n", "f:1: a NUL character is not allowed"},
        {"tab", "a:\n\t- b\n", "f:2: found character that cannot start any token"},
        {"not closed", "a: [1, 2\n", "f:2: did not find expected ',' or ']'"},
        {"latin-1", "a: caf\xe9\n", "f: not valid UTF-8 text (at byte 6)"},
        {"deep", "[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]", "f:1: nested too deeply"},
    };

    for (size_t i = 0; i < TR_ARRAY_LEN(rows); i++) {
        struct tr_err err = TR_ERR_INIT;
        const struct tr_yaml *root = NULL;
        struct tr_arena a;

        ROW(rows[i].label);
        tr_arena_init(&a, TR_YAML_ARENA_MAX);
        assert_int_equal(tr_yaml_parse(rows[i].text, strlen(rows[i].text), "f", &a, &root, &err),
                         TR_E_PARSE);
        assert_string_equal(err.msg, rows[i].want);
        assert_null(root);
        tr_arena_done(&a);
    }
}

static void an_empty_document_is_an_empty_map(void **state)
{
    static const char *const texts[] = {"", "\n", "# only a comment\n", "---\n", "~\n"};

    for (size_t i = 0; i < TR_ARRAY_LEN(texts); i++) {
        const struct tr_yaml *root = NULL;
        struct tr_arena a;

        ROW(texts[i]);
        tr_arena_init(&a, TR_YAML_ARENA_MAX);
        assert_int_equal(tr_yaml_parse(texts[i], strlen(texts[i]), "f", &a, &root, NULL), 0);
        assert_int_equal(root->kind, TR_YAML_MAP);
        assert_int_equal(root->count, 0);
        tr_arena_done(&a);
    }
}

static void too_much_is_refused_not_read(void **state)
{
    size_t n = TR_YAML_BYTES_MAX + 1;
    tr_autofree char *big = malloc(n);
    const struct tr_yaml *root = NULL;
    struct tr_arena a;

    tr_arena_init(&a, TR_YAML_ARENA_MAX);
    memset(big, ' ', n);
    assert_int_equal(tr_yaml_parse(big, n, "f", &a, &root, NULL), TR_E_LIMIT);
    for (size_t i = 0; i + 3 < n; i += 3)
        memcpy(big + i, "- \n", 3);
    assert_int_equal(tr_yaml_parse(big, n / 3 * 3 - 3, "f", &a, &root, NULL), TR_E_LIMIT);
    tr_arena_done(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_small_file_becomes_a_tree),
        cmocka_unit_test(what_surprises_people_is_refused_with_its_line),
        cmocka_unit_test(an_empty_document_is_an_empty_map),
        cmocka_unit_test(too_much_is_refused_not_read),
    };
    return RUN(tests);
}
