/* SPDX-License-Identifier: MIT
 *
 * problem_plain_yaml.c - what a plain folder may say about itself.
 *
 * Units are those of task messages: time_limit in ms, memory_limit and stack_limit in MiB,
 * output_limit in KiB.
 *
 *   name: Sums
 *   time_limit: 1000
 *   compare: {mode: float, abs: 1e-6, rel: 1e-6}        # or just: compare: tokens
 *   checker: {type: testlib, source: checker.cpp}       # instead of compare
 *   interactor: {type: kattis, source: interactor.cpp}
 *   scoring: oi                                         # acm unless the names make groups
 *   groups:
 *     - {name: 1, points: 30, rule: min}
 *     - {name: 2, points: 70, rule: min, needs: [1]}
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "codec/checker_says.h"
#include "judge/compare.h"
#include "judge/problem_plain.h"

#define FILE_NAME "problem.yaml"

static int tolerance(struct pkg *k, const struct tr_yaml *n, double *ret)
{
    char *end = NULL;

    if (n->kind != TR_YAML_SCALAR || !*n->text)
        return pkg_bad(k, FILE_NAME, n, "a number");
    double v = strtod(n->text, &end);
    if (*end || !isfinite(v) || v < 0)
        return pkg_bad(k, FILE_NAME, n, "a number that is not negative");
    *ret = v;
    return 0;
}

static int flag(struct pkg *k, const struct tr_yaml *n, bool *ret)
{
    if (n->kind != TR_YAML_SCALAR || tr_parse_bool(n->text, ret, NULL) < 0)
        return pkg_bad(k, FILE_NAME, n, "true or false");
    return 0;
}

static int mode_word(struct pkg *k, const struct tr_yaml *n, struct tr_compare *c)
{
    if (n->kind != TR_YAML_SCALAR || !tr_compare_mode_parse(n->text, &c->mode))
        return pkg_bad(k, FILE_NAME, n,
                       "lines, exact, tokens, token-lines, float, unordered, unordered-tokens or "
                       "yesno");
    return 0;
}

static int read_compare(struct pkg *k, const struct tr_yaml *node, struct tr_compare *c)
{
    if (node->kind == TR_YAML_SCALAR)
        return mode_word(k, node, c);
    if (node->kind != TR_YAML_MAP)
        return pkg_bad(k, FILE_NAME, node, "a mode, or a map with mode, abs, rel …");
    for (const struct tr_yaml *n = node->first; n; n = n->next) {
        bool sensitive = false;
        int r;

        if (strcmp(n->key, "mode") == 0) {
            r = mode_word(k, n, c);
        } else if (strcmp(n->key, "abs") == 0) {
            r = tolerance(k, n, &c->abs);
        } else if (strcmp(n->key, "rel") == 0) {
            r = tolerance(k, n, &c->rel);
        } else if (strcmp(n->key, "case_sensitive") == 0) {
            r = flag(k, n, &sensitive);
            c->ignore_case = !sensitive;
        } else if (strcmp(n->key, "space_change_sensitive") == 0) {
            r = flag(k, n, &c->space_sensitive);
        } else {
            r = pkg_bad(k, FILE_NAME, n,
                        "mode, abs, rel, case_sensitive or space_change_sensitive");
        }
        if (r < 0)
            return r;
    }
    return 0;
}

static int read_helper(struct pkg *k, const struct tr_yaml *node, struct tr_helper *h)
{
    size_t count = 0;

    if (node->kind != TR_YAML_MAP)
        return pkg_bad(k, FILE_NAME, node, "a map with type and source");
    for (const struct tr_yaml *n = node->first; n; n = n->next) {
        if (strcmp(n->key, "args") == 0) {
            int r = pkg_words(k, FILE_NAME, n, &h->args, &count);
            if (r < 0)
                return r;
            continue;
        }
        if (n->kind != TR_YAML_SCALAR)
            return pkg_bad(k, FILE_NAME, n, "a word");
        if (strcmp(n->key, "type") == 0) {
            if (!tr_checker_kind_parse(n->text, &h->kind) || h->kind == TR_CHECKER_NONE)
                return pkg_bad(k, FILE_NAME, n, "testlib, kattis, qduoj, hustoj, lemon or syzoj");
        } else if (strcmp(n->key, "source") == 0) {
            h->source = n->text;
        } else if (strcmp(n->key, "language") == 0) {
            h->lang = n->text;
        } else {
            return pkg_bad(k, FILE_NAME, n, "type, source, language or args");
        }
    }
    if (!h->source || h->kind == TR_CHECKER_NONE)
        return pkg_bad(k, FILE_NAME, node, "both type and source");
    if (!pkg_is_file(k, h->source) && !pkg_is_folder(k, h->source))
        return tr_fail(k->err, TR_E_NOTFOUND, 0, "%s:%u: there is no '%s' in the package",
                       FILE_NAME, node->line, h->source);
    return 0;
}

static int read_limit(struct pkg *k, const struct tr_yaml *n, struct tr_problem *p, bool *ret_known)
{
    const struct {
        const char *key;
        int64_t unit, max, *to;
    } rows[] = {
        {"time_limit", 1000, TR_TIME_US_MAX, &p->limits.time_us},
        {"wall_limit", 1000, TR_WALL_US_MAX, &p->limits.wall_us},
        {"memory_limit", 1024, TR_MEMORY_KIB_MAX, &p->limits.memory_kib},
        {"stack_limit", 1024, TR_MEMORY_KIB_MAX, &p->limits.stack_kib},
        {"output_limit", 1024, TR_OUTPUT_BYTES_MAX, &p->limits.output_bytes},
    };

    for (size_t i = 0; i < TR_ARRAY_LEN(rows); i++) {
        int64_t v = 0;

        if (strcmp(n->key, rows[i].key) != 0)
            continue;
        *ret_known = true;
        int r = pkg_int(k, FILE_NAME, n, 1, rows[i].max / rows[i].unit, &v);
        if (r < 0)
            return r;
        *rows[i].to = v * rows[i].unit;
        p->has_time_limit = p->has_time_limit || i == 0;
    }
    return 0;
}

static int read_scoring(struct pkg *k, const struct tr_yaml *n, struct plain_yaml *ret)
{
    bool oi = n->kind == TR_YAML_SCALAR && strcmp(n->text, "oi") == 0;

    if (!oi && (n->kind != TR_YAML_SCALAR || strcmp(n->text, "acm") != 0))
        return pkg_bad(k, FILE_NAME, n, "acm or oi");
    ret->has_scoring = true;
    ret->scoring = oi ? TR_SCORING_OI : TR_SCORING_ACM;
    return 0;
}

static int read_key(struct pkg *k, const struct tr_yaml *n, struct tr_problem *p,
                    struct plain_yaml *ret)
{
    bool known = false;
    int r = read_limit(k, n, p, &known);

    if (known || r < 0)
        return r;
    if (strcmp(n->key, "name") == 0) {
        if (n->kind != TR_YAML_SCALAR)
            return pkg_bad(k, FILE_NAME, n, "a text");
        p->name = n->text;
        return 0;
    }
    if (strcmp(n->key, "compare") == 0)
        return read_compare(k, n, &p->compare);
    if (strcmp(n->key, "checker") == 0)
        return read_helper(k, n, &p->checker);
    if (strcmp(n->key, "interactor") == 0) {
        p->interactive = true;
        return read_helper(k, n, &p->interactor);
    }
    if (strcmp(n->key, "scoring") == 0)
        return read_scoring(k, n, ret);
    if (strcmp(n->key, "run_all") == 0)
        return flag(k, n, &p->run_all);
    if (strcmp(n->key, "groups") == 0) {
        if (n->kind != TR_YAML_LIST)
            return pkg_bad(k, FILE_NAME, n, "a list of groups");
        ret->groups = n;
        return 0;
    }
    return tr_fail(k->err, TR_E_PARSE, 0, "%s:%u: a plain folder's problem has no '%s'", FILE_NAME,
                   n->line, n->key);
}

int plain_yaml_read(struct pkg *k, struct tr_problem *p, struct plain_yaml *ret)
{
    const struct tr_yaml *root = NULL;
    int r = pkg_yaml(k, FILE_NAME, &root);

    if (r < 0 || !root)
        return r;
    for (const struct tr_yaml *n = root->first; n; n = n->next) {
        r = read_key(k, n, p, ret);
        if (r < 0)
            return r;
    }
    return 0;
}

static size_t find_group(const struct builder *b, const char *name)
{
    size_t g = 0;

    while (g < b->ngroups && strcmp(b->groups[g].name, name) != 0)
        g++;
    return g;
}

/* Only groups before this one: so there can be no circle. */
static int read_needs(struct pkg *k, const struct tr_yaml *node, struct builder *b, size_t own)
{
    struct tr_group *g = &b->groups[own];

    if (node->kind != TR_YAML_LIST)
        return pkg_bad(k, FILE_NAME, node, "a list of group names");
    g->needs = tr_arena_array(k->arena, node->count + 1, sizeof(*g->needs));
    if (!g->needs)
        return pkg_nomem(k);
    for (const struct tr_yaml *n = node->first; n; n = n->next) {
        size_t at = n->kind == TR_YAML_SCALAR ? find_group(b, n->text) : b->ngroups;

        if (at >= own)
            return pkg_bad(k, FILE_NAME, node, "names of groups that come before this one");
        g->needs[g->nneeds++] = at;
    }
    return 0;
}

static int read_group(struct pkg *k, const struct tr_yaml *node, struct builder *b)
{
    const struct tr_yaml *name = node->kind == TR_YAML_MAP ? tr_yaml_get(node, "name") : NULL;
    size_t own = name && name->kind == TR_YAML_SCALAR ? find_group(b, name->text) : b->ngroups;

    if (own == b->ngroups)
        return pkg_bad(k, FILE_NAME, node, "a map with the name of a group that has tests");
    struct tr_group *g = &b->groups[own];
    for (const struct tr_yaml *n = node->first; n; n = n->next) {
        int64_t milli = 0;
        int r = 0;

        if (n == name)
            continue;
        if (strcmp(n->key, "points") == 0) {
            r = pkg_milli(k, FILE_NAME, n, 0, 1000000000, &milli);
            g->points = milli * (TR_POINT / 1000);
        } else if (strcmp(n->key, "rule") == 0) {
            bool sum = n->kind == TR_YAML_SCALAR && strcmp(n->text, "sum") == 0;

            if (!sum && (n->kind != TR_YAML_SCALAR || strcmp(n->text, "min") != 0))
                return pkg_bad(k, FILE_NAME, n, "min or sum");
            g->rule = sum ? TR_GROUP_SUM : TR_GROUP_MIN;
        } else if (strcmp(n->key, "needs") == 0) {
            r = read_needs(k, n, b, own);
        } else {
            return pkg_bad(k, FILE_NAME, n, "name, points, rule or needs");
        }
        if (r < 0)
            return r;
    }
    return 0;
}

int plain_yaml_groups(struct pkg *k, const struct plain_yaml *y, struct builder *b)
{
    for (const struct tr_yaml *n = y->groups ? y->groups->first : NULL; n; n = n->next) {
        int r = read_group(k, n, b);
        if (r < 0)
            return r;
    }
    return 0;
}
