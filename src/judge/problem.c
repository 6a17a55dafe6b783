/* SPDX-License-Identifier: MIT
 *
 * problem.c - which format is it, and the small tools that all readers use.
 */
#include "judge/problem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/parse.h"
#include "judge/problem_private.h"
#include "model/score.h"

static void closedirp(DIR **d)
{
    if (*d)
        (void)closedir(*d);
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int pkg_nomem(struct pkg *k)
{
    return tr_fail(k->err, TR_E_NOMEM, 0, "the problem is too large to be read");
}

int pkg_list(struct pkg *k, const char *path, struct names *ret)
{
    tr_autoclose int fd =
        tr_fs_open_beneath(k->dirfd, *path ? path : ".", O_RDONLY | O_DIRECTORY, 0, k->err);
    if (fd < 0)
        return fd;
    TR_CLEANUP(closedirp) DIR *d = fdopendir(fd);
    if (!d)
        return tr_fail(k->err, TR_E_IO, errno, "list '%s'", path);
    (void)tr_take_fd(&fd);
    size_t cap = 64;
    struct names n = {.list = tr_arena_array(k->arena, cap, sizeof(*n.list))};

    if (!n.list)
        return pkg_nomem(k);
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is ours */
    for (struct dirent *e = readdir(d); e; e = readdir(d)) {
        if (e->d_name[0] == '.')
            continue;
        if (n.count == TR_PROBLEM_FILES_MAX)
            return tr_fail(k->err, TR_E_LIMIT, 0, "'%s' has more than %d entries", path,
                           TR_PROBLEM_FILES_MAX);
        if (n.count == cap) {
            const char **more = tr_arena_array(k->arena, 2 * cap, sizeof(*more));

            if (!more)
                return pkg_nomem(k);
            memcpy(more, n.list, cap * sizeof(*more));
            n.list = more;
            cap *= 2;
        }
        char *name = tr_arena_strdup(k->arena, e->d_name);
        if (!name)
            return pkg_nomem(k);
        n.list[n.count++] = name;
    }
    qsort(n.list, n.count, sizeof(*n.list), by_bytes);
    *ret = n;
    return 0;
}

static bool is_kind(struct pkg *k, const char *path, mode_t kind)
{
    struct stat st;
    tr_autoclose int fd = tr_fs_open_beneath(k->dirfd, path, O_PATH, 0, NULL);

    return fd >= 0 && fstat(fd, &st) == 0 && (st.st_mode & S_IFMT) == kind;
}

bool pkg_is_folder(struct pkg *k, const char *path)
{
    return is_kind(k, path, S_IFDIR);
}

bool pkg_is_file(struct pkg *k, const char *path)
{
    return is_kind(k, path, S_IFREG);
}

int pkg_text(struct pkg *k, const char *path, size_t max, const char **ret, size_t *ret_len)
{
    uint64_t size = 0;
    tr_autoclose int fd = tr_fs_open_regular(k->dirfd, path, max, &size, k->err);

    if (fd < 0)
        return fd;
    TR_CLEANUP(tr_buf_done) struct tr_buf b;
    tr_buf_init(&b, max);
    int r = tr_fs_read_all(fd, &b, path, k->err);
    if (r < 0)
        return r;
    *ret = tr_arena_strndup(k->arena, b.data ? b.data : "", b.len);
    if (!*ret)
        return pkg_nomem(k);
    *ret_len = b.len;
    return 0;
}

int pkg_yaml(struct pkg *k, const char *path, const struct tr_yaml **ret)
{
    const char *text = NULL;
    size_t len = 0;

    *ret = NULL;
    if (!pkg_is_file(k, path))
        return 0;
    int r = pkg_text(k, path, TR_YAML_BYTES_MAX, &text, &len);
    if (r < 0)
        return r;
    r = tr_yaml_parse(text, len, path, k->arena, ret, k->err);
    if (r == 0 && (*ret)->kind != TR_YAML_MAP)
        return tr_fail(k->err, TR_E_PARSE, 0, "%s: expected a map", path);
    return r;
}

void pkg_note(struct pkg *k, const char *fmt, ...)
{
    char line[512];
    va_list ap;

    if (!k->notes)
        return;
    va_start(ap, fmt);
    (void)vsnprintf(line, sizeof(line), fmt, ap);
    va_end(ap);
    tr_buf_adds(k->notes, line);
    tr_buf_addc(k->notes, '\n');
}

char *pkg_join(struct pkg *k, const char *a, const char *b)
{
    return *a ? tr_arena_printf(k->arena, "%s/%s", a, b) : tr_arena_strdup(k->arena, b);
}

int pkg_bad(struct pkg *k, const char *file, const struct tr_yaml *node, const char *expected)
{
    return tr_fail(k->err, TR_E_PARSE, 0, "%s:%u: %s: expected %s", file, node->line,
                   node->key ? node->key : "this", expected);
}

int pkg_int(struct pkg *k, const char *file, const struct tr_yaml *node, int64_t min, int64_t max,
            int64_t *ret)
{
    if (node->kind != TR_YAML_SCALAR)
        return pkg_bad(k, file, node, "a number");
    if (tr_parse_i64(node->text, min, max, ret, k->err) < 0)
        return tr_fail_wrap(k->err, "%s:%u: %s", file, node->line, node->key);
    return 0;
}

int pkg_milli(struct pkg *k, const char *file, const struct tr_yaml *node, int64_t min, int64_t max,
              int64_t *ret)
{
    if (node->kind != TR_YAML_SCALAR)
        return pkg_bad(k, file, node, "a number");
    if (tr_parse_milli(node->text, min, max, ret, k->err) < 0)
        return tr_fail_wrap(k->err, "%s:%u: %s", file, node->line, node->key);
    return 0;
}

static int split(struct pkg *k, const char *text, const char ***ret, size_t *ret_count)
{
    const char **words = tr_arena_array(k->arena, strlen(text) / 2 + 2, sizeof(*words));
    size_t n = 0;

    for (const char *s = text + strspn(text, " \t"); words && *s; s += strspn(s, " \t")) {
        size_t len = strcspn(s, " \t");

        words[n] = tr_arena_strndup(k->arena, s, len);
        if (!words[n++])
            return pkg_nomem(k);
        s += len;
    }
    if (!words)
        return pkg_nomem(k);
    *ret = words;
    *ret_count = n;
    return 0;
}

int pkg_words(struct pkg *k, const char *file, const struct tr_yaml *node, const char ***ret,
              size_t *ret_count)
{
    size_t n = 0;

    if (tr_yaml_is_null(node))
        return 0;
    if (node->kind == TR_YAML_SCALAR)
        return split(k, node->text, ret, ret_count);
    if (node->kind != TR_YAML_LIST)
        return pkg_bad(k, file, node, "a list of words");
    const char **words = tr_arena_array(k->arena, node->count + 1, sizeof(*words));
    if (!words)
        return pkg_nomem(k);
    for (const struct tr_yaml *c = node->first; c; c = c->next) {
        if (c->kind != TR_YAML_SCALAR)
            return pkg_bad(k, file, c, "a word");
        words[n++] = c->text;
    }
    *ret = words;
    *ret_count = n;
    return 0;
}

int builder_init(struct pkg *k, struct builder *b)
{
    *b = (struct builder){
        .tests = tr_arena_array(k->arena, TR_TESTS_MAX, sizeof(*b->tests)),
        .groups = tr_arena_array(k->arena, TR_GROUPS_MAX, sizeof(*b->groups)),
    };
    return b->tests && b->groups ? 0 : pkg_nomem(k);
}

int builder_group(struct pkg *k, struct builder *b, const char *name, size_t *ret)
{
    if (b->ngroups == TR_GROUPS_MAX)
        return tr_fail(k->err, TR_E_LIMIT, 0, "more than %d groups of tests", TR_GROUPS_MAX);
    b->groups[b->ngroups] = (struct tr_group){.name = name};
    *ret = b->ngroups++;
    return 0;
}

int builder_test(struct pkg *k, struct builder *b, size_t group, const char *name,
                 const char *input, const char *answer)
{
    if (b->ntests == TR_TESTS_MAX)
        return tr_fail(k->err, TR_E_LIMIT, 0, "more than %d tests", TR_TESTS_MAX);
    if (!name || !input)
        return pkg_nomem(k);
    b->tests[b->ntests++] =
        (struct tr_test){.name = name, .input = input, .answer = answer, .group = group};
    return 0;
}

int natural_order(const char *a, const char *b)
{
    while (*a && *b) {
        bool da = *a >= '0' && *a <= '9', db = *b >= '0' && *b <= '9';

        if (da && db) {
            a += strspn(a, "0");
            b += strspn(b, "0");
            size_t la = strspn(a, "0123456789"), lb = strspn(b, "0123456789");

            if (la != lb)
                return la < lb ? -1 : 1;
            int c = memcmp(a, b, la);
            if (c != 0)
                return c;
            a += la;
            b += lb;
            continue;
        }
        if (*a != *b)
            return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
        a++;
        b++;
    }
    return (*a != 0) - (*b != 0);
}

/* An archive often holds one folder that holds the problem. */
static int enter_single_folder(struct pkg *k, int *ret_dirfd)
{
    struct names n = {0};
    int r = pkg_list(k, "", &n);

    if (r < 0)
        return r;
    const char *into = n.count == 1 && pkg_is_folder(k, n.list[0]) && strcmp(n.list[0], "data") != 0
                           ? n.list[0]
                           : ".";
    int fd = tr_fs_open_beneath(k->dirfd, into, O_RDONLY | O_DIRECTORY, 0, k->err);
    if (fd < 0)
        return fd;
    *ret_dirfd = fd;
    return 0;
}

/* Where a plain folder's tests are: in it, or in one of the usual folders below. */
static const char *plain_folder(struct pkg *k)
{
    static const char *const usual[] = {"testdata", "tests", "testcase", "data"};

    for (size_t i = 0; i < TR_ARRAY_LEN(usual); i++) {
        if (pkg_is_folder(k, usual[i]))
            return usual[i];
    }
    return "";
}

int tr_problem_read(int dirfd, struct tr_arena *arena, struct tr_problem *ret, int *ret_dirfd,
                    struct tr_buf *notes, struct tr_err *err)
{
    struct pkg k = {.dirfd = dirfd, .arena = arena, .notes = notes, .err = err};
    struct tr_problem p = {.name = "", .code_max = TR_SOURCE_MAX};
    tr_autoclose int in = -1;
    int r = enter_single_folder(&k, &in);

    if (r < 0)
        return r;
    k.dirfd = in;
    p.compare = (struct tr_compare){.mode = TR_COMPARE_LINES, .abs = -1, .rel = -1};
    tr_limits_default(&p.limits);
    if (pkg_is_folder(&k, "data/secret") || pkg_is_folder(&k, "data/sample"))
        r = problem_read_kattis(&k, &p);
    else
        r = problem_read_plain(&k, plain_folder(&k), &p);
    if (r == 0)
        r = tr_limits_check(&p.limits, err);
    if (r < 0)
        return r;
    if (p.scoring == TR_SCORING_ACM)
        p.full_points = 100 * TR_POINT;
    else
        for (size_t g = 0; g < p.ngroups; g++)
            p.full_points += p.groups[g].points;
    *ret = p;
    *ret_dirfd = tr_take_fd(&in);
    return 0;
}

int tr_problem_find_spj(int dirfd, struct tr_arena *arena, struct tr_problem *p, struct tr_err *err)
{
    static const struct {
        const char *stem;
        enum tr_checker_kind kind;
    } places[] = {{"checker", TR_CHECKER_TESTLIB}, {"spj", TR_CHECKER_QDUOJ}};
    struct pkg k = {.dirfd = dirfd, .arena = arena, .err = err};
    struct names n = {0};

    if (p->checker.kind != TR_CHECKER_NONE)
        return 0;
    int r = pkg_list(&k, "", &n);
    if (r < 0)
        return r;
    for (size_t i = 0; i < TR_ARRAY_LEN(places); i++) {
        size_t len = strlen(places[i].stem);

        for (size_t f = 0; f < n.count; f++) {
            if (strncmp(n.list[f], places[i].stem, len) == 0 &&
                (n.list[f][len] == '.' || n.list[f][len] == 0)) {
                p->checker = (struct tr_helper){.kind = places[i].kind, .source = n.list[f]};
                return 0;
            }
        }
    }
    return tr_fail(err, TR_E_NOTFOUND, 0,
                   "the problem has a special judge, but the package has no checker.* or spj.*");
}

int tr_problem_inline(const struct tr_test *tests, size_t ntests, bool scored,
                      struct tr_arena *arena, struct tr_problem *ret, struct tr_err *err)
{
    struct tr_problem p = {
        .name = "", .format = "inline", .code_max = TR_SOURCE_MAX, .ntests = ntests, .ngroups = 1};

    p.compare = (struct tr_compare){.mode = TR_COMPARE_LINES, .abs = -1, .rel = -1};
    tr_limits_default(&p.limits);
    p.tests = tr_arena_array(arena, ntests, sizeof(*p.tests));
    p.groups = tr_arena_array(arena, 1, sizeof(*p.groups));
    if (!p.tests || !p.groups)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory for the tests");
    p.scoring = scored ? TR_SCORING_OI : TR_SCORING_ACM;
    p.groups[0] = (struct tr_group){.name = "all"};
    for (size_t i = 0; i < ntests; i++) {
        p.tests[i] = tests[i];
        if (!scored)
            p.tests[i].points = tr_score_share(100 * TR_POINT, ntests, i);
        p.groups[0].points += p.tests[i].points;
    }
    p.full_points = p.groups[0].points;
    *ret = p;
    return 0;
}
