/* SPDX-License-Identifier: MIT
 *
 * expect.c - what a package's author expects of a submission, and whether it came so.
 */
#include "cli/expect.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/parse.h"
#include "rt/yaml.h"

#define RULES "submissions/submissions.yaml"
#define BIT(v) (1U << (v))

enum {
    POINTS_MILLI_MAX = 1000000000
};

/* ---- by the folder's name: Kattis' names, and those that it has none for */

static const struct {
    const char *folder;
    struct expect e;
} folders[] = {
    {"accepted", {.final = TR_V_AC, .words = "AC"}},
    {"partially_accepted", {.partial = true, .words = "part of the points"}},
    {"wrong_answer", {.final = TR_V_WA, .words = "WA"}},
    {"time_limit_exceeded", {.final = TR_V_TLE, .words = "TLE"}},
    {"run_time_error", {.final = TR_V_RTE, .words = "RTE"}},
    {"memory_limit_exceeded", {.final = TR_V_MLE, .words = "MLE"}},
    {"output_limit_exceeded", {.final = TR_V_OLE, .words = "OLE"}},
    {"compile_error", {.final = TR_V_CE, .words = "CE"}},
    {"rejected", {.rejected = true, .words = "not AC"}},
    /* Right, but for the limits. */
    {"brute_force",
     {.all_tests = true,
      .permitted = BIT(TR_V_AC) | BIT(TR_V_RTE) | BIT(TR_V_TLE) | BIT(TR_V_MLE),
      .required = {BIT(TR_V_RTE) | BIT(TR_V_TLE) | BIT(TR_V_MLE)},
      .nrequired = 1,
      .words = "TLE, RTE or MLE in some test, never WA"}},
};

static int64_t points_in_name(const char *file)
{
    size_t digits = strspn(file, "0123456789");
    char number[16];
    int64_t points = 0;

    (void)snprintf(number, sizeof(number), "%.*s", (int)(digits < 10 ? digits : 10), file);
    if (digits == 0 || file[digits] != '_' || tr_parse_i64(number, 0, 1000000, &points, NULL) < 0)
        return -1;
    return points * TR_POINT;
}

/* ---- submissions.yaml */

/* Verdicts of tests; 0 when there is something else. */
static unsigned read_set(const struct tr_yaml *list)
{
    unsigned set = 0;

    for (const struct tr_yaml *n = list->kind == TR_YAML_LIST ? list->first : NULL; n;
         n = n->next) {
        enum tr_verdict v = n->kind == TR_YAML_SCALAR ? tr_verdict_parse(n->text) : TR_V_NONE;

        if (v == TR_V_NONE || v == TR_V_SK || v == TR_V_JE)
            return 0;
        set |= BIT(v);
    }
    return set;
}

static bool read_points(const struct tr_yaml *n, int64_t *ret_min, int64_t *ret_max)
{
    const struct tr_yaml *low = n, *high = n;
    int64_t a = 0, b = 0;

    if (n->kind == TR_YAML_LIST && n->count == 2) {
        low = n->first;
        high = low->next;
    }
    if (low->kind != TR_YAML_SCALAR || high->kind != TR_YAML_SCALAR ||
        tr_parse_milli(low->text, 0, POINTS_MILLI_MAX, &a, NULL) < 0 ||
        tr_parse_milli(high->text, 0, POINTS_MILLI_MAX, &b, NULL) < 0)
        return false;
    *ret_min = a * (TR_POINT / 1000);
    *ret_max = b * (TR_POINT / 1000);
    return true;
}

static int check_key(const struct tr_yaml *n, struct tr_buf *notes, struct tr_err *err)
{
    int64_t low = 0, high = 0;
    const char *expected = NULL;

    if (strcmp(n->key, "permitted") == 0 || strcmp(n->key, "required") == 0)
        expected = read_set(n) ? NULL : "a list of AC, WA, TLE, RTE, MLE, OLE or CE";
    else if (strcmp(n->key, "score") == 0)
        expected = read_points(n, &low, &high) ? NULL : "a number or a list of two";
    else if (strcmp(n->key, "authors") != 0)
        tr_buf_addf(notes, RULES ":%u: %.60s is not used\n", n->line, n->key);
    return expected ? tr_fail(err, TR_E_PARSE, 0, RULES ":%u: %s: expected %s", n->line, n->key,
                              expected)
                    : 0;
}

static int check_rules(const struct tr_yaml *root, struct tr_buf *notes, struct tr_err *err)
{
    if (root->kind != TR_YAML_MAP)
        return tr_fail(err, TR_E_PARSE, 0, RULES ": expected a map from paths to rules");
    for (const struct tr_yaml *rule = root->first; rule; rule = rule->next) {
        if (rule->kind != TR_YAML_MAP)
            return tr_fail(err, TR_E_PARSE, 0, RULES ":%u: expected a map", rule->line);
        for (const struct tr_yaml *n = rule->first; n; n = n->next) {
            int r = check_key(n, notes, err);
            if (r < 0)
                return r;
        }
    }
    return 0;
}

int expect_read(int dirfd, struct tr_arena *arena, struct tr_buf *notes, struct expect_rules *ret,
                struct tr_err *err)
{
    TR_CLEANUP(tr_buf_done) struct tr_buf text = {0};
    struct tr_err why = TR_ERR_INIT;
    uint64_t size = 0;
    tr_autoclose int fd = tr_fs_open_regular(dirfd, RULES, TR_YAML_BYTES_MAX, &size, &why);

    *ret = (struct expect_rules){0};
    if (fd == TR_E_NOTFOUND)
        return 0;
    if (fd < 0) {
        *err = why;
        return fd;
    }
    tr_buf_init(&text, TR_YAML_BYTES_MAX);
    int r = tr_fs_read_all(fd, &text, RULES, err);
    if (r == 0)
        r = tr_yaml_parse(text.data ? text.data : "", text.len, RULES, arena, &ret->root, err);
    return r < 0 ? r : check_rules(ret->root, notes, err);
}

/* ---- one submission */

/* A pattern names a submission, or the folder it is in. */
static bool matches(const char *pattern, const char *folder, const char *file)
{
    char path[512];

    (void)snprintf(path, sizeof(path), "%s/%s", folder, file);
    return fnmatch(pattern, path, FNM_PATHNAME) == 0 || fnmatch(pattern, folder, FNM_PATHNAME) == 0;
}

static void add_rule(const struct tr_yaml *rule, struct expect *e)
{
    const struct tr_yaml *permitted = tr_yaml_get(rule, "permitted"),
                         *required = tr_yaml_get(rule, "required"),
                         *score = tr_yaml_get(rule, "score");

    if (permitted) /* of several rules all hold */
        e->permitted = (e->permitted ? e->permitted : ~0U) & read_set(permitted);
    if (required && e->nrequired < EXPECT_REQUIRED_MAX)
        e->required[e->nrequired++] = read_set(required);
    if (score)
        (void)read_points(score, &e->points_min, &e->points_max);
}

static void by_rules(const struct expect_rules *rules, const char *folder, const char *file,
                     bool *ret_known, struct expect *e)
{
    for (const struct tr_yaml *rule = rules->root ? rules->root->first : NULL; rule;
         rule = rule->next) {
        bool says = tr_yaml_get(rule, "permitted") || tr_yaml_get(rule, "required") ||
                    tr_yaml_get(rule, "score");

        if (!says || !matches(rule->key, folder, file))
            continue;
        if (e->final != TR_V_NONE || e->rejected || e->partial || !e->all_tests)
            *e = (struct expect){.all_tests = true, .points_min = -1, .points_max = -1};
        (void)snprintf(e->words, sizeof(e->words), "what " RULES ":%u says", rule->line);
        add_rule(rule, e);
        *ret_known = true;
    }
}

bool expect_for(const struct expect_rules *rules, const char *folder, const char *file,
                struct expect *ret)
{
    bool known = false;

    *ret = (struct expect){0};
    for (size_t i = 0; i < TR_ARRAY_LEN(folders); i++) {
        if (strcmp(folders[i].folder, folder) == 0) {
            *ret = folders[i].e;
            known = true;
        }
    }
    ret->points_min = ret->points_max = points_in_name(file);
    by_rules(rules, folder, file, &known, ret);
    return known;
}

static unsigned verdicts_of(const struct tr_problem *p, const struct tr_outcome *o)
{
    unsigned seen = o->cases ? 0 : BIT(o->score.verdict);

    for (size_t i = 0; o->cases && i < p->ntests; i++)
        seen |= BIT(o->cases[i].verdict);
    return seen & ~BIT(TR_V_SK);
}

bool expect_met(const struct expect *e, const struct tr_problem *p, const struct tr_outcome *o)
{
    unsigned seen = verdicts_of(p, o);
    bool met = true;

    for (size_t i = 0; i < e->nrequired; i++)
        met = met && (seen & e->required[i]) != 0;
    if (e->permitted)
        met = met && (seen & ~e->permitted) == 0;
    if (e->points_min >= 0)
        met = met && o->score.points >= e->points_min && o->score.points <= e->points_max;
    if (e->partial)
        met = met && o->score.points > 0 && o->score.points < p->full_points;
    if (e->rejected)
        met = met && o->score.verdict != TR_V_AC;
    return met && (e->final == TR_V_NONE || o->score.verdict == e->final);
}
