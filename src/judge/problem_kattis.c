/* SPDX-License-Identifier: MIT
 *
 * problem_kattis.c - problem packages of the Kattis and ICPC family: legacy, legacy-icpc, 2025-09.
 *
 * Only what judging needs is read. Where the versions differ, a row of `versions` says how; where a
 * package asks for something we cannot honour (multi-pass, submit-answer), it is refused, because
 * judging it differently would be worse.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "judge/compare.h"
#include "judge/problem_kattis.h"

#define FILE_NAME "problem.yaml"

static const struct kattis_version versions[] = {
    {.name = "legacy",
     .format = "kattis legacy",
     .validator = "output_validators",
     .group_file = "testdata.yaml"},
    {.name = "legacy-icpc",
     .format = "kattis legacy-icpc",
     .validator = "output_validators",
     .group_file = "testdata.yaml"},
    {.name = "2025-09",
     .format = "kattis 2025-09",
     .validator = "output_validator",
     .group_file = "test_group.yaml",
     .modern = true},
};

/* 2025-09: "unknown keys are an error". */
static const char *const modern_keys[] = {"problem_format_version",
                                          "type",
                                          "name",
                                          "uuid",
                                          "version",
                                          "credits",
                                          "source",
                                          "license",
                                          "rights_owner",
                                          "embargo_until",
                                          "limits",
                                          "keywords",
                                          "languages",
                                          "allow_file_writing",
                                          "constants",
                                          NULL};

static bool in_list(const char *word, const char *const *list)
{
    for (; *list; list++) {
        if (strcmp(word, *list) == 0)
            return true;
    }
    return false;
}

static int find_version(struct pkg *k, const struct tr_yaml *root, struct kattis *x)
{
    const struct tr_yaml *v = root ? tr_yaml_get(root, "problem_format_version") : NULL;

    if (!v)
        return 0;
    for (size_t i = 0; i < TR_ARRAY_LEN(versions); i++) {
        if (v->kind == TR_YAML_SCALAR && strcmp(v->text, versions[i].name) == 0) {
            x->version = &versions[i];
            return 0;
        }
    }
    return pkg_bad(k, FILE_NAME, v, "legacy, legacy-icpc or 2025-09");
}

static int read_name(struct pkg *k, const struct tr_yaml *n, struct tr_problem *p)
{
    if (n->kind == TR_YAML_MAP) {
        const struct tr_yaml *en = tr_yaml_get(n, "en");

        n = en ? en : n->first;
    }
    if (!n || n->kind != TR_YAML_SCALAR)
        return tr_fail(k->err, TR_E_PARSE, 0,
                       FILE_NAME ": name: expected a text or texts by language");
    p->name = n->text;
    return 0;
}

/* 2025-09: one word or several. Legacy: one word. */
static int read_type(struct pkg *k, const struct tr_yaml *n, struct tr_problem *p)
{
    const char **words = NULL;
    size_t count = 0;
    int r = pkg_words(k, FILE_NAME, n, &words, &count);

    if (r < 0)
        return r;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(words[i], "scoring") == 0)
            p->scoring = TR_SCORING_OI;
        else if (strcmp(words[i], "interactive") == 0)
            p->interactive = true;
        else if (strcmp(words[i], "multi-pass") == 0 || strcmp(words[i], "submit-answer") == 0)
            return tr_fail(k->err, TR_E_UNSUPPORTED, 0, "%s problems are not supported yet",
                           words[i]);
        else if (strcmp(words[i], "pass-fail") != 0)
            return pkg_bad(k, FILE_NAME, n, "pass-fail, scoring or interactive");
    }
    return 0;
}

/* Legacy: "default", "custom", "custom interactive", "custom score". */
static int read_validation(struct pkg *k, const struct tr_yaml *n, struct tr_problem *p,
                           struct kattis *x)
{
    const char **words = NULL;
    size_t count = 0;
    int r = pkg_words(k, FILE_NAME, n, &words, &count);

    if (r < 0)
        return r;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(words[i], "custom") == 0)
            x->custom = true;
        else if (strcmp(words[i], "interactive") == 0)
            p->interactive = true;
        else if (strcmp(words[i], "default") != 0 && strcmp(words[i], "score") != 0)
            return pkg_bad(k, FILE_NAME, n, "default, or custom with interactive or score");
    }
    return 0;
}

static int read_limits(struct pkg *k, const struct tr_yaml *node, struct tr_problem *p)
{
    if (node->kind != TR_YAML_MAP)
        return pkg_bad(k, FILE_NAME, node, "a map");
    for (const struct tr_yaml *n = node->first; n; n = n->next) {
        int64_t v = 0;
        int r = 0;

        if (strcmp(n->key, "time_limit") == 0) {
            r = pkg_milli(k, FILE_NAME, n, 1, TR_TIME_US_MAX / 1000, &v);
            p->limits.time_us = v * 1000;
            p->has_time_limit = true;
        } else if (strcmp(n->key, "memory") == 0) {
            r = pkg_int(k, FILE_NAME, n, 1, TR_MEMORY_KIB_MAX / 1024, &v);
            p->limits.memory_kib = v * 1024;
        } else if (strcmp(n->key, "output") == 0) {
            r = pkg_int(k, FILE_NAME, n, 1, TR_OUTPUT_BYTES_MAX / 1024 / 1024, &v);
            p->limits.output_bytes = v * 1024 * 1024;
        } else if (strcmp(n->key, "code") == 0) {
            r = pkg_int(k, FILE_NAME, n, 1, 1024 * 1024, &v);
            p->code_max = v * 1024 < TR_SOURCE_MAX ? v * 1024 : TR_SOURCE_MAX;
        } else {
            pkg_note(k, "limits.%.40s is not used", n->key);
        }
        if (r < 0)
            return r;
    }
    return 0;
}

static int read_key(struct pkg *k, const struct tr_yaml *n, struct tr_problem *p, struct kattis *x)
{
    if (x->version->modern && !in_list(n->key, modern_keys))
        return tr_fail(k->err, TR_E_PARSE, 0, FILE_NAME ":%u: the 2025-09 format has no '%s'",
                       n->line, n->key);
    if (strcmp(n->key, "name") == 0)
        return read_name(k, n, p);
    if (strcmp(n->key, "type") == 0)
        return read_type(k, n, p);
    if (strcmp(n->key, "limits") == 0)
        return read_limits(k, n, p);
    if (x->version->modern)
        return 0;
    if (strcmp(n->key, "validation") == 0)
        return read_validation(k, n, p, x);
    if (strcmp(n->key, "validator_flags") == 0)
        return pkg_words(k, FILE_NAME, n, &x->flags.words, &x->flags.count);
    return 0;
}

/* DOMjudge's extras for packages that cannot say a time limit: ".timelimit" holds seconds,
 * domjudge-problem.ini a line "timelimit = 2.5". */
static void legacy_time_limit(struct pkg *k, struct tr_problem *p)
{
    const char *text = NULL;
    size_t len = 0;
    int64_t milli = 0;
    char number[32];

    if (!pkg_is_file(k, ".timelimit") || pkg_text(k, ".timelimit", 64, &text, &len) < 0) {
        if (!pkg_is_file(k, "domjudge-problem.ini") ||
            pkg_text(k, "domjudge-problem.ini", 16 * 1024, &text, &len) < 0)
            return;
        const char *at = strstr(text, "timelimit");

        if (!at)
            return;
        text = at + strlen("timelimit");
        text += strspn(text, " \t='\"");
    }
    (void)snprintf(number, sizeof(number), "%.*s", (int)strspn(text, "0123456789."), text);
    if (tr_parse_milli(number, 1, TR_TIME_US_MAX / 1000, &milli, NULL) == 0) {
        p->limits.time_us = milli * 1000;
        p->has_time_limit = true;
    }
}

/* The validator's place: a folder (2025-09), or the only entry of a folder (legacy). */
static int find_validator(struct pkg *k, struct tr_problem *p, struct kattis *x)
{
    struct names n = {0};
    const char *folder = x->version->validator;

    if (!pkg_is_folder(k, folder)) {
        if (p->interactive || x->custom)
            return tr_fail(k->err, TR_E_NOTFOUND, 0, "the problem needs '%s/', which is missing",
                           folder);
        return 0;
    }
    if (!x->version->modern && !x->custom && !p->interactive) {
        pkg_note(k, "%s/ is not used: problem.yaml says validation: default", folder);
        return 0;
    }
    int r = pkg_list(k, folder, &n);
    if (r < 0)
        return r;
    if (n.count == 0)
        return tr_fail(k->err, TR_E_NOTFOUND, 0, "'%s/' is empty", folder);
    struct tr_helper *h = p->interactive ? &p->interactor : &p->checker;
    const char *only = n.count == 1 ? pkg_join(k, folder, n.list[0]) : folder;

    if (!only)
        return pkg_nomem(k);
    *h = (struct tr_helper){.kind = TR_CHECKER_KATTIS, .source = only, .args = x->flags.words};
    return 0;
}

/* The default validator's flags become a way to compare: the problem's, and one for each run of
 * tests that has flags of its own. */
static int read_flags(struct pkg *k, struct tr_problem *p, const struct kattis *x)
{
    const struct tr_test *before = NULL;
    int r = tr_compare_kattis_flags(x->flags.words, x->flags.count, &p->compare, k->err);

    for (size_t i = 0; r == 0 && i < p->ntests; i++) {
        struct tr_test *t = &p->tests[i];
        struct tr_compare *c = NULL;
        size_t n = 0;

        if (!t->args)
            continue;
        if (before && before->args == t->args) {
            t->compare = before->compare;
            continue;
        }
        while (t->args[n])
            n++;
        c = tr_arena_alloc(k->arena, sizeof(*c));
        if (!c)
            return pkg_nomem(k);
        r = tr_compare_kattis_flags(t->args, n, c, k->err);
        t->compare = c;
        before = t;
    }
    return r;
}

int problem_read_kattis(struct pkg *k, struct tr_problem *p)
{
    const struct tr_yaml *root = NULL;
    struct kattis x = {.version = &versions[0]};
    int r = pkg_yaml(k, FILE_NAME, &root);

    if (r == 0)
        r = find_version(k, root, &x);
    if (r < 0)
        return r;
    p->format = x.version->format;
    p->limits.memory_kib = 2048 * 1024; /* the formats' own defaults */
    p->limits.output_bytes = 8 * 1024 * 1024;
    p->code_max = 128 * 1024;
    for (const struct tr_yaml *n = root ? root->first : NULL; n; n = n->next) {
        r = read_key(k, n, p, &x);
        if (r < 0)
            return r;
    }
    if (!p->has_time_limit)
        legacy_time_limit(k, p);
    if (!p->has_time_limit)
        pkg_note(k, "no time limit is stated: %lld ms is taken",
                 (long long)(p->limits.time_us / 1000));
    r = kattis_read_tests(k, p, &x);
    if (r == 0)
        r = find_validator(k, p, &x);
    if (r < 0)
        return r;
    return p->checker.kind == TR_CHECKER_NONE && !p->interactive ? read_flags(k, p, &x) : 0;
}
