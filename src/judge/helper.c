/* SPDX-License-Identifier: MIT
 *
 * helper.c - compile a problem's checker or interactor, once: the cache keeps it.
 *
 * A helper is one source file with the headers beside it, or a folder with one main source
 * (validate.*, main.*, or the only one of a known language) and whatever it includes. It was
 * written by the problem's author and is boxed all the same: it reads hostile output.
 */
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "judge/judge_private.h"
#include "judge/problem.h"

enum {
    HELPER_FILES_MAX = 64,
    HELPER_FILE_MAX = 1024 * 1024,
    HELPER_ARTIFACT_MAX = 256 << 20
};

static int read_source(int dirfd, const char *path, const char *name, struct tr_arena *arena,
                       struct source *ret, struct tr_err *err)
{
    uint64_t size = 0;
    tr_autoclose int fd = tr_fs_open_regular(dirfd, path, HELPER_FILE_MAX, &size, err);

    if (fd < 0)
        return fd;
    ret->name = tr_arena_strdup(arena, name);
    int r = file_text(fd, (size_t)size, arena, &ret->bytes, &ret->len, err);
    return r == 0 && !ret->name ? tr_fail(err, TR_E_NOMEM, 0, "no memory for a checker") : r;
}

/* How good a main file this name is; 0: none at all. */
static int main_rank(const struct tr_judge *j, const char *name)
{
    static const char *const stems[] = {"validate.", "validator.", "checker.", "interactor.",
                                        "interact.", "main.",      "Main.",    "spj."};

    if (!tr_langs_by_name(&j->langs, name))
        return 0;
    for (size_t i = 0; i < TR_ARRAY_LEN(stems); i++) {
        if (strncmp(name, stems[i], strlen(stems[i])) == 0)
            return 2;
    }
    return 1;
}

static void closedirp(DIR **d)
{
    if (*d)
        (void)closedir(*d);
}

static bool is_header(const char *name)
{
    const char *dot = strrchr(name, '.');

    return dot && (strcmp(dot, ".h") == 0 || strcmp(dot, ".hpp") == 0 || strcmp(dot, ".hh") == 0);
}

/* Files of a folder behind those in the list: all, the main one first; or with `headers` only
 * those. */
/* NOLINTNEXTLINE(readability-function-size): which folder, which of its files, where they go */
static int read_folder(const struct tr_judge *j, int dirfd, const char *path, bool headers,
                       struct tr_arena *arena, struct source *list, size_t *count,
                       struct tr_err *err)
{
    int best = 0;
    size_t n = *count;
    tr_autoclose int fd = tr_fs_open_beneath(dirfd, path, O_RDONLY | O_DIRECTORY, 0, err);

    if (fd < 0)
        return fd;
    int own = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    TR_CLEANUP(closedirp) DIR *d = own < 0 ? NULL : fdopendir(own);
    if (!d) {
        tr_close(&own);
        return tr_fail(err, TR_E_IO, 0, "list '%s'", path);
    }
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is ours */
    for (struct dirent *e = readdir(d); e; e = readdir(d)) {
        if (e->d_name[0] == '.' || (headers && !is_header(e->d_name)))
            continue;
        if (n == HELPER_FILES_MAX)
            return tr_fail(err, TR_E_LIMIT, 0, "'%s' has more than %d files", path,
                           HELPER_FILES_MAX);
        int r = read_source(fd, e->d_name, e->d_name, arena, &list[n], err);
        if (r < 0)
            return r;
        int rank = headers ? 0 : main_rank(j, e->d_name);
        if (rank > best) {
            struct source main = list[n];

            list[n] = list[0];
            list[0] = main;
            best = rank;
        }
        n++;
    }
    if (best == 0 && !headers)
        return tr_fail(err, TR_E_NOTFOUND, 0, "'%s' has no source in a known language", path);
    *count = n;
    return 0;
}

static int read_sources(const struct tr_judge *j, int dirfd, const char *path,
                        struct tr_arena *arena, struct source *list, size_t *ret_count,
                        struct tr_err *err)
{
    const char *slash = strrchr(path, '/');
    int r = read_source(dirfd, path, slash ? slash + 1 : path, arena, &list[0], NULL);

    *ret_count = r == 0;
    if (r < 0)
        return read_folder(j, dirfd, path, false, arena, list, ret_count, err);
    const char *folder = slash ? tr_arena_strndup(arena, path, (size_t)(slash - path)) : ".";
    if (!folder)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory for a checker");
    return read_folder(j, dirfd, folder, true, arena, list, ret_count, err);
}

/* Why it does not compile: what a person can do about it when a header is missing, which is most
 * often testlib.h, else the compiler's words. */
static int does_not_compile(const struct tr_judge *j, const char *source, const char *log,
                            struct tr_err *err)
{
    static const char before[] = ": fatal error: ", after[] = ": No such file";
    const char *at = strstr(log, before);
    const char *name = at ? at + strlen(before) : NULL;
    const char *end = name ? strstr(name, after) : NULL;

    if (end && !memchr(name, '\n', (size_t)(end - name)))
        return tr_fail(err, TR_E_NOTFOUND, 0,
                       "the checker '%s' includes '%.*s', which is not here: put it beside the "
                       "checker in the package, or into a folder for all problems and name that "
                       "with --include%s%s",
                       source, (int)(end - name > 64 ? 64 : end - name), name,
                       j->o.include ? "; it is not in " : "", j->o.include ? j->o.include : "");
    return tr_fail(err, TR_E_PARSE, 0, "the checker '%s' does not compile: %.300s", source, log);
}

int stage_helper(struct tr_judge *j, const struct tr_helper *what, int dirfd,
                 const struct tr_judge_events *events, struct tr_arena *arena, struct helper *ret,
                 struct tr_err *err)
{
    struct source *list = tr_arena_array(arena, HELPER_FILES_MAX, sizeof(*list));
    struct compiled c = {.artifact = -1};
    size_t n = 0;

    if (!list)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory for a checker");
    int r = read_sources(j, dirfd, what->source, arena, list, &n, err);
    if (r < 0)
        return tr_fail_wrap(err, "the checker '%s'", what->source);
    const struct tr_lang *lang = what->lang ? tr_langs_find(&j->langs, what->lang)
                                            : tr_langs_by_name(&j->langs, list[0].name);
    if (!lang)
        return tr_fail(err, TR_E_NOTFOUND, 0, "the checker '%s' is in an unknown language",
                       what->source);
    struct compile_job job = {.lang = lang,
                              .sources = list,
                              .nsources = n,
                              .artifact_max = HELPER_ARTIFACT_MAX,
                              .helper = true,
                              .keep = true,
                              .events = events};
    r = stage_compile(j, &job, arena, &c, err);
    boxes_next_submission(j->boxes); /* what compiles the submission next sees nothing of it */
    if (r < 0)
        return r;
    if (c.verdict != TR_V_AC)
        return does_not_compile(j, what->source, c.report.log, err);
    *ret = (struct helper){.kind = what->kind,
                           .lang = *lang,
                           .artifact = c.artifact,
                           .args = (const char *const *)what->args};
    return judge_root(j, lang, &ret->root, err);
}
