/* SPDX-License-Identifier: MIT
 *
 * problem_plain.c - a folder with inputs and answers in it, as teachers keep them.
 *
 *   1.in 1.out · 1.in 1.ans · a.in a.out · sum.in3 sum.out3 · input1.txt output1.txt ·
 *   1.in.txt 1.out.txt · 1-2.in (group 1, test 2)
 *
 * problem.yaml beside them is optional: see problem_plain_yaml.c.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "judge/problem_plain.h"
#include "model/score.h"

struct found {
    const char *stem; /* what people call the test */
    const char *input;
    const char *answer; /* NULL: there is none */
    const char *group;  /* "1" of "1-2", or NULL */
};

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static const char *find_name(const struct names *n, const char *name)
{
    const char **at = name ? bsearch(&name, n->list, n->count, sizeof(*n->list), by_bytes) : NULL;

    return at ? *at : NULL;
}

/* How an input's name becomes its answer's. `in` is looked for in the name where `where` says. */
struct rule {
    enum {
        ENDS,  /* "1.in": the stem is before it */
        INFIX, /* "sum.in3": digits follow to the end */
        BEGINS /* "input1": the stem is behind it */
    } where;
    const char *in;
    const char *outs[4];
};

static const struct rule rules[] = {
    {ENDS, ".in", {".out", ".ans", ".a", NULL}},
    {ENDS, ".in.txt", {".out.txt", ".ans.txt", NULL}},
    {INFIX, ".in", {".out", ".ou", ".ans", NULL}},
    {BEGINS, "input", {"output", "answer", NULL}},
    {BEGINS, "in", {"out", "ans", NULL}},
};

/* Where the rule's word is in the name, or NULL when the rule does not fit. */
static const char *fits(const struct rule *r, const char *name)
{
    size_t len = strlen(name), n = strlen(r->in);

    if (r->where == ENDS)
        return len > n && strcmp(name + len - n, r->in) == 0 ? name + len - n : NULL;
    if (r->where == BEGINS) {
        if (strncmp(name, r->in, n) != 0)
            return NULL;
        const char *digits = name + n;
        size_t d = strspn(digits, "0123456789-_");

        return d > 0 && (digits[d] == 0 || strcmp(digits + d, ".txt") == 0) ? name : NULL;
    }
    const char *at = strstr(name, r->in);
    return at && at[n] && strspn(at + n, "0123456789") == strlen(at + n) ? at : NULL;
}

static char *replaced(struct pkg *k, const char *name, const char *at, size_t cut, const char *by)
{
    return tr_arena_printf(k->arena, "%.*s%s%s", (int)(at - name), name, by, at + cut);
}

static char *stem_of(struct pkg *k, const struct rule *r, const char *name, const char *at)
{
    size_t n = strlen(r->in);

    if (r->where == ENDS)
        return tr_arena_strndup(k->arena, name, (size_t)(at - name));
    if (r->where == INFIX)
        return tr_arena_printf(k->arena, "%.*s%s", (int)(at - name), name, at + n);
    const char *digits = at + n;
    return tr_arena_strndup(k->arena, digits, strcspn(digits, "."));
}

/* "1-2", "sub1_2", "task2-10": the number before the dash is the group. */
static const char *group_of(struct pkg *k, const char *stem)
{
    size_t len = strlen(stem), end = len;

    while (end > 0 && stem[end - 1] >= '0' && stem[end - 1] <= '9')
        end--;
    if (end == len || end < 2 || (stem[end - 1] != '-' && stem[end - 1] != '_'))
        return NULL;
    size_t last = end - 1, first = last;
    while (first > 0 && stem[first - 1] >= '0' && stem[first - 1] <= '9')
        first--;
    return first < last ? tr_arena_strndup(k->arena, stem + first, last - first) : NULL;
}

/* 1 when the name is an input, 0 when it is not. */
static int match(struct pkg *k, const struct names *n, const char *name, struct found *ret)
{
    for (size_t i = 0; i < TR_ARRAY_LEN(rules); i++) {
        const char *at = fits(&rules[i], name);

        if (!at)
            continue;
        *ret = (struct found){.input = name, .stem = stem_of(k, &rules[i], name, at)};
        if (!ret->stem)
            return pkg_nomem(k);
        ret->group = group_of(k, ret->stem);
        for (size_t o = 0; rules[i].outs[o] && !ret->answer; o++) {
            char *want = replaced(k, name, at, strlen(rules[i].in), rules[i].outs[o]);

            if (!want)
                return pkg_nomem(k);
            ret->answer = find_name(n, want);
        }
        /* "input1" also reads as "in" + "put1" never: BEGINS wants digits. But "1.in" without an
         * answer is an input all the same: that is an error worth a sentence, not a stray file. */
        return 1;
    }
    return 0;
}

static int by_stem(const void *a, const void *b)
{
    return natural_order(((const struct found *)a)->stem, ((const struct found *)b)->stem);
}

static int find_tests(struct pkg *k, const char *folder, struct found **ret, size_t *ret_count)
{
    struct names n = {0};
    int r = pkg_list(k, folder, &n);

    if (r < 0)
        return r;
    struct found *list = tr_arena_array(k->arena, n.count + 1, sizeof(*list));
    size_t count = 0;
    if (!list)
        return pkg_nomem(k);
    for (size_t i = 0; i < n.count; i++) {
        r = match(k, &n, n.list[i], &list[count]);
        if (r < 0)
            return r;
        count += (size_t)r;
    }
    qsort(list, count, sizeof(*list), by_stem);
    *ret = list;
    *ret_count = count;
    return 0;
}

/* Groups come from names only when every test has one: "a-1.in" beside "b.in" means nothing. */
static bool all_grouped(const struct found *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!list[i].group)
            return false;
    }
    return count > 0;
}

static int group_index(struct pkg *k, struct builder *b, const char *name, size_t *ret)
{
    for (size_t g = 0; g < b->ngroups; g++) {
        if (strcmp(b->groups[g].name, name) == 0) {
            *ret = g;
            return 0;
        }
    }
    return builder_group(k, b, name, ret);
}

static int add_tests(struct pkg *k, const char *folder, const struct found *list, size_t count,
                     struct builder *b, bool interactive)
{
    bool grouped = all_grouped(list, count);

    for (size_t i = 0; i < count; i++) {
        const struct found *f = &list[i];
        size_t group = 0;
        int r = group_index(k, b, grouped ? f->group : "all", &group);

        if (r < 0)
            return r;
        if (!f->answer && !interactive)
            return tr_fail(k->err, TR_E_PARSE, 0,
                           "the test '%s' has no answer: expected '%s' with .out or .ans beside it",
                           f->input, f->stem);
        r = builder_test(k, b, group, f->stem, pkg_join(k, folder, f->input),
                         f->answer ? pkg_join(k, folder, f->answer) : NULL);
        if (r < 0)
            return r;
    }
    return 0;
}

static size_t tests_of(const struct builder *b, size_t g)
{
    size_t n = 0;

    for (size_t i = 0; i < b->ntests; i++)
        n += b->tests[i].group == g;
    return n;
}

/* Points that problem.yaml did not give: 100 spread over the groups (a group "0" is a sample and
 * worth nothing), and a sum group's over its tests. */
static void spread_points(struct builder *b, bool by_names)
{
    size_t scored = 0, k = 0;

    for (size_t g = 0; g < b->ngroups; g++)
        scored += strcmp(b->groups[g].name, "0") != 0;
    for (size_t g = 0; g < b->ngroups; g++) {
        struct tr_group *group = &b->groups[g];
        size_t n = tests_of(b, g), i = 0;

        if (group->points < 0)
            group->points =
                strcmp(group->name, "0") == 0 ? 0 : tr_score_share(100 * TR_POINT, scored, k);
        k += strcmp(group->name, "0") != 0;
        if (by_names && group->rule == TR_GROUP_MIN)
            group->stop = true;
        for (size_t t = 0; t < b->ntests; t++) {
            if (b->tests[t].group == g && group->rule == TR_GROUP_SUM)
                b->tests[t].points = tr_score_share(group->points, n, i++);
        }
    }
}

int problem_read_plain(struct pkg *k, const char *folder, struct tr_problem *p)
{
    struct found *list = NULL;
    size_t count = 0;
    struct builder b;
    struct plain_yaml y = {0};
    int r = plain_yaml_read(k, p, &y);

    if (r == 0)
        r = find_tests(k, folder, &list, &count);
    if (r == 0)
        r = builder_init(k, &b);
    if (r < 0)
        return r;
    if (count == 0)
        return tr_fail(k->err, TR_E_NOTFOUND, 0,
                       "the problem folder has no tests: expected files such as 1.in and 1.out, or "
                       "data/secret/ of a Kattis package");
    bool by_names = all_grouped(list, count);
    r = add_tests(k, folder, list, count, &b, p->interactive);
    if (r < 0)
        return r;
    for (size_t g = 0; g < b.ngroups; g++) {
        b.groups[g].points = -1;
        b.groups[g].rule = by_names ? TR_GROUP_MIN : TR_GROUP_SUM;
    }
    p->scoring = y.has_scoring ? y.scoring : by_names ? TR_SCORING_OI : TR_SCORING_ACM;
    r = plain_yaml_groups(k, &y, &b);
    if (r < 0)
        return r;
    spread_points(&b, by_names);
    p->format = "folder";
    p->tests = b.tests;
    p->ntests = b.ntests;
    p->groups = b.groups;
    p->ngroups = b.ngroups;
    return 0;
}
