/* SPDX-License-Identifier: MIT
 *
 * problem_kattis_tests.c - data/sample and data/secret with the settings of their folders.
 *
 * Order is bytewise by name, samples before secrets, as the formats ask. Folders deeper than one
 * level below secret/ belong to the group above them.
 */
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "judge/problem_kattis.h"
#include "model/score.h"

/* What a group file says, of either kind. Negative points: not said. */
struct settings {
    enum tr_group_rule rule;
    bool pass_fail; /* all or nothing; rule is MIN then too */
    bool stop;
    int64_t points;        /* of the group */
    int64_t accept_points; /* legacy: of each test */
    const struct tr_yaml *needs;
    struct kattis_flags flags;
};

/* Settings that concern others than a judge. All else that is not honoured is said. */
static void not_used(struct pkg *k, const char *file, const struct tr_yaml *n)
{
    static const char *const others[] = {"input_validator_args",
                                         "input_validator_flags",
                                         "name",
                                         "description",
                                         "full_feedback",
                                         "hint",
                                         "grading",
                                         "grader"};

    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        if (strcmp(n->key, others[i]) == 0)
            return;
    }
    pkg_note(k, "%s:%u: %.60s is not used", file, n->line, n->key);
}

static int read_modern(struct pkg *k, const char *file, const struct tr_yaml *n, struct settings *s)
{
    int64_t milli = 0;

    if (strcmp(n->key, "max_score") == 0) {
        int r = pkg_milli(k, file, n, 0, 1000000000, &milli);
        s->points = milli * (TR_POINT / 1000);
        return r;
    }
    if (strcmp(n->key, "score_aggregation") == 0) {
        const char *w = n->kind == TR_YAML_SCALAR ? n->text : "";

        s->pass_fail = strcmp(w, "pass-fail") == 0;
        s->rule = strcmp(w, "sum") == 0 ? TR_GROUP_SUM : TR_GROUP_MIN;
        if (!s->pass_fail && strcmp(w, "sum") != 0 && strcmp(w, "min") != 0)
            return pkg_bad(k, file, n, "pass-fail, sum or min");
        s->stop = s->rule == TR_GROUP_MIN;
        return 0;
    }
    if (strcmp(n->key, "require_pass") == 0) {
        s->needs = n;
        return 0;
    }
    if (strcmp(n->key, "output_validator_args") == 0)
        return pkg_words(k, file, n, &s->flags.words, &s->flags.count);
    not_used(k, file, n);
    return 0;
}

static int read_legacy(struct pkg *k, const char *file, const struct tr_yaml *n, struct settings *s)
{
    const char *w = n->kind == TR_YAML_SCALAR ? n->text : "";
    int64_t milli = 0;

    if (strcmp(n->key, "on_reject") == 0) {
        s->stop = strcmp(w, "continue") != 0 && strcmp(w, "grade") != 0;
    } else if (strcmp(n->key, "grader_flags") == 0) {
        s->rule = strstr(w, "min") ? TR_GROUP_MIN : TR_GROUP_SUM;
    } else if (strcmp(n->key, "accept_score") == 0) {
        int r = pkg_milli(k, file, n, 0, 1000000000, &milli);
        s->accept_points = milli * (TR_POINT / 1000);
        return r;
    } else if (strcmp(n->key, "range") == 0) {
        const char *top = strrchr(w, ' ');

        if (top && tr_parse_milli(top + 1, 0, 1000000000, &milli, NULL) == 0)
            s->points = milli * (TR_POINT / 1000); /* "-inf +inf" says nothing */
    } else if (strcmp(n->key, "output_validator_flags") == 0) {
        return pkg_words(k, file, n, &s->flags.words, &s->flags.count);
    } else {
        not_used(k, file, n);
    }
    return 0;
}

static int read_settings(struct pkg *k, const char *folder, struct settings *s,
                         const struct kattis *x)
{
    const struct tr_yaml *root = NULL;
    const char *file = pkg_join(k, folder, x->version->group_file);

    if (!file)
        return pkg_nomem(k);
    int r = pkg_yaml(k, file, &root);
    for (const struct tr_yaml *n = r == 0 && root ? root->first : NULL; n && r == 0; n = n->next)
        r = x->version->modern ? read_modern(k, file, n, s) : read_legacy(k, file, n, s);
    return r;
}

static bool ends_in(const char *name, const char *suffix)
{
    size_t n = strlen(name), s = strlen(suffix);

    return n > s && strcmp(name + n - s, suffix) == 0;
}

/* Where a walk stands, and what holds there. */
struct walk {
    const struct kattis *x;
    bool interactive;
    bool deep; /* into folders below as well */
    struct {
        const char *folder;
        struct kattis_flags flags;
    } todo[64];
    size_t count;
};

/* 2025-09 has settings of one test beside it, too. */
static int test_flags(struct pkg *k, const struct walk *w, const char *stem,
                      struct kattis_flags *flags)
{
    const char *file = tr_arena_printf(k->arena, "%s.yaml", stem);
    const struct tr_yaml *root = NULL;
    struct settings s = {.flags = *flags};

    if (!w->x->version->modern)
        return 0;
    int r = file ? pkg_yaml(k, file, &root) : pkg_nomem(k);
    for (const struct tr_yaml *n = r == 0 && root ? root->first : NULL; n && r == 0; n = n->next) {
        if (strcmp(n->key, "output_validator_args") == 0)
            r = read_modern(k, file, n, &s);
        else
            not_used(k, file, n);
    }
    *flags = s.flags;
    return r;
}

static int add_input(struct pkg *k, struct builder *b, size_t group, const struct walk *w,
                     const char *input, struct kattis_flags flags)
{
    const char *stem = tr_arena_strndup(k->arena, input, strlen(input) - 3);
    const char *answer = stem ? tr_arena_printf(k->arena, "%s.ans", stem) : NULL;

    if (!answer)
        return pkg_nomem(k);
    if (!pkg_is_file(k, answer)) {
        if (!w->interactive)
            return tr_fail(k->err, TR_E_PARSE, 0, "the test '%s' has no answer '%s'", input,
                           answer);
        answer = NULL;
    }
    int r = test_flags(k, w, stem, &flags);
    if (r == 0)
        r = builder_test(k, b, group, stem + strlen("data/"), input, answer);
    if (r == 0 && flags.words != w->x->flags.words)
        b->tests[b->ntests - 1].args = flags.words;
    return r;
}

static int by_input(const void *a, const void *b)
{
    return strcmp(((const struct tr_test *)a)->input, ((const struct tr_test *)b)->input);
}

/* A folder inside a group: of its settings only the validator's arguments can hold. */
static int push_folder(struct pkg *k, struct walk *w, const char *path, struct kattis_flags flags)
{
    struct settings below = {.flags = flags};

    if (w->count == sizeof(w->todo) / sizeof(w->todo[0]))
        return tr_fail(k->err, TR_E_LIMIT, 0, "too many folders around '%s'", path);
    int r = read_settings(k, path, &below, w->x);
    w->todo[w->count].folder = path;
    w->todo[w->count].flags = below.flags;
    w->count++;
    return r;
}

/* Tests directly in a folder, and in folders below it when `deep`. A stack instead of recursion;
 * the order of the walk does not matter, as they are sorted in the end. */
static int add_folder(struct pkg *k, struct builder *b, size_t group, const char *folder,
                      struct walk *w, struct kattis_flags flags)
{
    size_t first = b->ntests;

    w->todo[0].folder = folder;
    w->todo[0].flags = flags;
    w->count = 1;
    while (w->count > 0) {
        const char *here = w->todo[--w->count].folder;
        struct kattis_flags own = w->todo[w->count].flags;
        struct names names = {0};
        int r = pkg_list(k, here, &names);

        for (size_t i = 0; r == 0 && i < names.count; i++) {
            const char *path = pkg_join(k, here, names.list[i]);

            if (!path)
                return pkg_nomem(k);
            if (ends_in(names.list[i], ".in") && pkg_is_file(k, path))
                r = add_input(k, b, group, w, path, own);
            else if (w->deep && pkg_is_folder(k, path))
                r = push_folder(k, w, path, own);
        }
        if (r < 0)
            return r;
    }
    qsort(b->tests + first, b->ntests - first, sizeof(*b->tests), by_input);
    return 0;
}

static size_t tests_of(const struct builder *b, size_t g)
{
    size_t n = 0;

    for (size_t i = 0; i < b->ntests; i++)
        n += b->tests[i].group == g;
    return n;
}

static void apply(struct builder *b, size_t g, const struct settings *s, int64_t points)
{
    size_t n = tests_of(b, g), i = 0;
    struct tr_group *group = &b->groups[g];

    group->rule = s->rule;
    group->stop = s->stop && s->rule == TR_GROUP_MIN;
    group->points = points;
    for (size_t t = 0; t < b->ntests; t++) {
        if (b->tests[t].group == g && s->rule == TR_GROUP_SUM)
            b->tests[t].points = tr_score_share(points, n, i++);
    }
}

/* Points of a legacy group: its range's top, else what its tests can give. */
static int64_t legacy_points(const struct settings *s, size_t tests)
{
    if (s->points >= 0)
        return s->points;
    return s->rule == TR_GROUP_MIN ? s->accept_points : s->accept_points * (int64_t)tests;
}

static int resolve_needs(struct pkg *k, const struct builder *b, size_t own,
                         const struct tr_yaml *node)
{
    struct tr_group *g = &b->groups[own];
    const char **words = NULL;
    size_t count = 0;
    int r = pkg_words(k, "test_group.yaml", node, &words, &count);

    if (r < 0)
        return r;
    g->needs = tr_arena_array(k->arena, count + 1, sizeof(*g->needs));
    if (!g->needs)
        return pkg_nomem(k);
    for (size_t i = 0; i < count; i++) {
        const char *name = strncmp(words[i], "secret/", 7) == 0 ? words[i] + 7 : words[i];
        size_t at = 0;

        while (at < own && strcmp(b->groups[at].name, name) != 0)
            at++;
        if (at == own)
            return pkg_bad(k, "test_group.yaml", node, "names of groups that come before this one");
        g->needs[g->nneeds++] = at;
    }
    return 0;
}

static int add_scored_group(struct pkg *k, struct tr_problem *p, struct kattis *x,
                            struct builder *b, const char *folder, const struct settings *above)
{
    struct settings s = *above;
    int64_t points = above->points;
    const char *name = strrchr(folder, '/') + 1;
    size_t g = 0;

    s.points = -1;
    int r = read_settings(k, folder, &s, x);
    if (r == 0)
        r = builder_group(k, b, name, &g);
    if (r == 0)
        r = add_folder(k, b, g, folder,
                       &(struct walk){.x = x, .interactive = p->interactive, .deep = true},
                       s.flags);
    if (r < 0)
        return r;
    if (x->version->modern)
        apply(b, g, &s, s.points >= 0 ? s.points : points);
    else
        apply(b, g, &s, legacy_points(&s, tests_of(b, g)));
    return s.needs ? resolve_needs(k, b, g, s.needs) : 0;
}

/* secret/ of a scoring problem: a group for each folder, or one for all tests. */
static int read_secret_scored(struct pkg *k, struct tr_problem *p, struct kattis *x,
                              struct builder *b, struct settings *s)
{
    struct names n = {0};
    int r = pkg_list(k, "data/secret", &n);
    size_t folders = 0, i_folder = 0;

    for (size_t i = 0; r == 0 && i < n.count; i++) {
        const char *path = pkg_join(k, "data/secret", n.list[i]);

        folders += path && pkg_is_folder(k, path);
    }
    if (r < 0)
        return r;
    int64_t all = s->points >= 0 ? s->points : 100 * TR_POINT;
    struct settings below = *s;

    below.needs = NULL;
    if (x->version->modern)
        below = (struct settings){
            .rule = TR_GROUP_MIN, .pass_fail = true, .stop = true, .flags = s->flags};
    for (size_t i = 0; i < n.count; i++) {
        const char *path = pkg_join(k, "data/secret", n.list[i]);

        if (!path)
            return pkg_nomem(k);
        if (!pkg_is_folder(k, path))
            continue;
        below.points = tr_score_share(all, folders, i_folder++);
        r = add_scored_group(k, p, x, b, path, &below);
        if (r < 0)
            return r;
    }
    if (folders > 0)
        return 0;
    size_t g = 0;
    r = builder_group(k, b, "secret", &g);
    if (r == 0)
        r = add_folder(k, b, g, "data/secret",
                       &(struct walk){.x = x, .interactive = p->interactive}, s->flags);
    if (r == 0)
        apply(b, g, s, x->version->modern ? all : legacy_points(s, tests_of(b, g)));
    return r;
}

static int add_sample(struct pkg *k, const struct tr_problem *p, const struct kattis *x,
                      struct builder *b, size_t g, const struct settings *above)
{
    struct settings s = *above;
    struct walk w = {.x = x, .interactive = p->interactive};
    int r = read_settings(k, "data/sample", &s, x);

    return r < 0 ? r : add_folder(k, b, g, "data/sample", &w, s.flags);
}

int kattis_read_tests(struct pkg *k, struct tr_problem *p, struct kattis *x)
{
    struct settings s = {.rule = TR_GROUP_SUM,
                         .points = -1,
                         .accept_points = TR_POINT,
                         .stop = true,
                         .flags = x->flags};
    struct builder b;
    size_t g = 0;
    int r = builder_init(k, &b);

    if (r == 0)
        r = read_settings(k, "data", &s, x);
    if (r == 0 && pkg_is_folder(k, "data/sample")) {
        r = builder_group(k, &b, "sample", &g);
        if (r == 0)
            r = add_sample(k, p, x, &b, g, &s);
    }
    s.points = -1;
    s.needs = NULL;
    if (r == 0 && pkg_is_folder(k, "data/secret")) {
        r = read_settings(k, "data/secret", &s, x);
        if (r == 0 && p->scoring == TR_SCORING_OI) {
            r = read_secret_scored(k, p, x, &b, &s);
        } else if (r == 0) {
            r = builder_group(k, &b, "secret", &g);
            if (r == 0)
                r = add_folder(k, &b, g, "data/secret",
                               &(struct walk){.x = x, .interactive = p->interactive, .deep = true},
                               s.flags);
        }
    }
    if (r < 0)
        return r;
    if (b.ntests == 0)
        return tr_fail(k->err, TR_E_NOTFOUND, 0, "the package has no tests below data/");
    p->tests = b.tests;
    p->ntests = b.ntests;
    p->groups = b.groups;
    p->ngroups = b.ngroups;
    return 0;
}
