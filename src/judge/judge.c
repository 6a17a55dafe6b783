/* SPDX-License-Identifier: MIT
 *
 * judge.c - a slot: its languages, caches and boxes; and the small questions beside judging.
 */
#include "judge/judge.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "judge/judge_private.h"

enum {
    ARENA_MAX = 32 * 1024 * 1024,
    IDLE_US = 1000000 /* disks and schedulers make nobody wait this long */
};

static const char *cache_path(const char *said, struct tr_arena *arena)
{
    const char *xdg = secure_getenv("XDG_CACHE_HOME"), *home = secure_getenv("HOME");

    if (said)
        return said;
    if (xdg && *xdg == '/')
        return tr_arena_printf(arena, "%s/tribunal", xdg);
    if (home && *home == '/')
        return tr_arena_printf(arena, "%s/.cache/tribunal", home);
    return "/var/cache/tribunal";
}

/* In a build folder the helper lies in a folder beside ours; installed, the box finds it itself. */
static const char *build_helper(struct tr_arena *arena)
{
    char exe[4096];
    ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

    if (secure_getenv("TRIBUNAL_BOX") || n <= 0)
        return NULL;
    exe[n] = 0;
    char *slash = strrchr(exe, '/');
    if (slash)
        *slash = 0;
    const char *path = tr_arena_printf(arena, "%s/../boxd/tribunal-box", exe);
    return path && access(path, X_OK) == 0 ? path : NULL;
}

/* What follows from the options alone. */
static int describe(struct tr_judge *j, const struct tr_judge_options *options, struct tr_err *err)
{
    j->o = *options;
    tr_arena_init(&j->arena, ARENA_MAX);
    if (j->o.jobs > TR_JUDGE_JOBS_MAX)
        return tr_fail(err, TR_E_LIMIT, 0, "at most %d tests run at once", TR_JUDGE_JOBS_MAX);
    if (j->o.idle_us == 0)
        j->o.idle_us = IDLE_US;
    if (!j->o.helper)
        j->o.helper = build_helper(&j->arena);
    j->cache_path = cache_path(options->cache, &j->arena);
    if (j->cache_path) {
        j->pch_path = tr_arena_printf(&j->arena, "%s/headers", j->cache_path);
        j->pch_dir = tr_arena_printf(&j->arena, "%s/headers:" PCH_INSIDE, j->cache_path);
    }
    j->include_dir =
        tr_arena_printf(&j->arena, "%s:" INCLUDE_INSIDE, j->o.include ? j->o.include : "");
    return j->pch_path && j->pch_dir && j->include_dir
               ? 0
               : tr_fail(err, TR_E_NOMEM, 0, "no memory for a judge");
}

/* The folder of precompiled headers is looked into from inside the box, by another uid. */
static int make_folders(struct tr_judge *j, struct tr_err *err)
{
    const char *compiled = tr_arena_printf(&j->arena, "%s/compiled", j->cache_path);
    uint64_t bytes = j->o.cache_bytes ? j->o.cache_bytes : UINT64_C(2) << 30;

    if (!compiled)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory");
    int r = tr_fs_mkdirs(AT_FDCWD, j->pch_path, 0755, err);
    if (r < 0 || j->o.no_cache)
        return r;
    return tr_cache_open(compiled, bytes, &j->cache, err);
}

int tr_judge_open(const struct tr_judge_options *options, struct tr_judge **ret, struct tr_err *err)
{
    TR_CLEANUP(tr_judge_closep) struct tr_judge *j = calloc(1, sizeof(*j));

    if (!j)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory for a judge");
    int r = describe(j, options, err);
    const char *folder = r < 0 ? NULL : tr_langs_folder(options->languages, &j->arena);
    if (r == 0 && !folder)
        r = tr_fail(err, TR_E_NOMEM, 0, "no memory for a judge");
    if (r == 0)
        r = make_folders(j, err);
    if (r == 0)
        r = tr_langs_load(folder, &j->arena, &j->langs, err);
    if (r == 0)
        r = boxes_new(j, &j->boxes, err);
    if (r < 0)
        return r;
    *ret = TR_TAKE(j);
    return 0;
}

int tr_judge_launcher(const struct tr_judge_options *options, struct tr_arena *arena,
                      const char **ret_cache, int *ret, struct tr_err *err)
{
    TR_CLEANUP(tr_judge_closep) struct tr_judge *j = calloc(1, sizeof(*j));

    if (!j)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory for a judge");
    int r = describe(j, options, err);
    if (r == 0 && !(*ret_cache = tr_arena_strdup(arena, j->cache_path)))
        r = tr_fail(err, TR_E_NOMEM, 0, "no memory for a judge");
    return r < 0 ? r : boxes_launcher(j, ret, err);
}

void tr_judge_close(struct tr_judge *j)
{
    if (!j)
        return;
    boxes_free(j->boxes);
    tr_cache_close(j->cache);
    tr_arena_done(&j->arena);
    free(j);
}

const struct tr_langs *tr_judge_langs(const struct tr_judge *j)
{
    return &j->langs;
}

int judge_root(const struct tr_judge *j, const struct tr_lang *lang, const char **ret,
               struct tr_err *err)
{
    (void)err;
    *ret = NULL;
    for (size_t i = 0; lang->root && i < j->o.nroots; i++) {
        if (strcmp(j->o.roots[i].name, lang->root) == 0) {
            *ret = j->o.roots[i].folder;
            return 0;
        }
    }
    return 0; /* an image that the configuration does not name: the host's own folders */
}

int tr_judge_version(struct tr_judge *j, const struct tr_lang *lang, char *version, size_t size,
                     struct tr_err *err)
{
    tr_autoclose int out = -1;
    const char *root = NULL;
    struct tbox_report report;
    tbox *box = NULL;
    struct tbox_spec spec = {.size = sizeof(spec),
                             .argv = lang->version.words,
                             .env = lang->env.count ? lang->env.words : NULL,
                             .fd = {-1, -1, -1},
                             .cpu = -1};
    int r = judge_root(j, lang, &root, err);

    if (r == 0)
        r = empty_memory_file("version", &out, err);
    if (r == 0)
        r = boxes_get(j->boxes, TBOX_COMPILE, root, 0, &box, err);
    if (r < 0)
        return r;
    tbox_limits_default(TBOX_COMPILE, &spec.limits);
    spec.fd[1] = out;
    spec.fd[2] = out;
    r = tbox_run(box, &spec, &report, err);
    if (r < 0)
        return r;
    if (report.cause != TBOX_EXIT || report.exit_code != 0)
        return tr_fail(err, TR_E_UNSUPPORTED, 0, "'%s' fails in the box: %s",
                       lang->version.words[0], report.note);
    ssize_t n = pread(out, version, size - 1, 0);
    version[n > 0 ? n : 0] = 0;
    version[strcspn(version, "\r\n")] = 0;
    return 0;
}

int tr_judge_compile(struct tr_judge *j, const struct tr_lang *lang, const char *code, size_t len,
                     struct tr_arena *arena, struct tr_compile_report *ret, struct tr_err *err)
{
    struct source s = {.name = lang->source, .bytes = code, .len = len};
    struct compile_job job = {
        .lang = lang, .sources = &s, .nsources = 1, .artifact_max = 128 << 20, .keep = true};
    struct compiled c = {.artifact = -1};

    boxes_next_submission(j->boxes);
    int r = stage_compile(j, &job, arena, &c, err);
    if (r < 0)
        return r;
    tr_close(&c.artifact);
    *ret = c.report;
    ret->verdict = c.verdict;
    return 0;
}
