/* SPDX-License-Identifier: MIT
 *
 * Property: any package gives a problem whose tests, groups and needs are consistent and whose
 * limits are in range, or a sentence. The input is a package as lines "path=content" with \n in the
 * content written as '|'; paths that are not plain are left out.
 */
#include <assert.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fs.h"
#include "codec/zipname.h"
#include "judge/problem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_line(int dir, char *line)
{
    bool folder = false;
    char *eq = strchr(line, '=');

    if (!eq)
        return;
    *eq = 0;
    if (tr_zip_name_check(line, strlen(line), &folder, NULL) < 0 || folder)
        return;
    for (char *s = eq + 1; *s; s++)
        *s = *s == '|' ? '\n' : *s;
    char *slash = strrchr(line, '/');
    if (slash) {
        *slash = 0;
        if (tr_fs_mkdirs(dir, line, 0755, NULL) < 0)
            return;
        *slash = '/';
    }
    tr_autoclose int fd = tr_fs_open_beneath(dir, line, O_WRONLY | O_CREAT | O_TRUNC, 0644, NULL);
    if (fd >= 0)
        (void)tr_fs_write_all(fd, eq + 1, strlen(eq + 1), NULL);
}

static void check(const struct tr_problem *p)
{
    assert(p->ntests > 0 && p->ntests <= TR_TESTS_MAX && p->ngroups > 0);
    assert(tr_limits_check(&p->limits, NULL) == 0);
    for (size_t i = 0; i < p->ntests; i++) {
        assert(p->tests[i].group < p->ngroups && p->tests[i].input && p->tests[i].name);
        assert(p->tests[i].answer || p->interactive);
        assert(p->tests[i].points >= 0);
    }
    for (size_t g = 0; g < p->ngroups; g++) {
        assert(p->groups[g].points >= 0);
        for (size_t k = 0; k < p->groups[g].nneeds; k++)
            assert(p->groups[g].needs[k] < g);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tr_err err = TR_ERR_INIT;
    tr_autofree char *path = NULL, *text = NULL;
    tr_autoclose int dir = -1, in = -1;
    struct tr_problem p;
    struct tr_arena a;
    char *rest = NULL;

    if (size > 8192 || tr_fs_temp_dir("fuzz", &path, &dir, &err) < 0)
        return 0;
    text = strndup((const char *)data, size);
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        write_line(dir, line);
    tr_arena_init(&a, TR_PROBLEM_ARENA_MAX);
    int r = tr_problem_read(dir, &a, &p, &in, NULL, &err);
    assert((r < 0) == (err.msg[0] != 0));
    if (r == 0)
        check(&p);
    tr_arena_done(&a);
    (void)tr_fs_remove_tree(AT_FDCWD, path, NULL);
    return 0;
}
