/* SPDX-License-Identifier: MIT
 *
 * problem_scan.c - read problem folders, pack each new version once, install uploads.
 */
#include "controller/problem_scan.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/rand.h"
#include "codec/json.h"
#include "data/pack.h"
#include "data/unzip.h"
#include "judge/problem.h"

enum {
    PATH_LEN = 2048 /* longer ones are refused: four of them fit on the stack */
};

bool problem_id_ok(const char *id)
{
    size_t n = strlen(id);

    return n > 0 && n <= PROBLEM_ID_MAX && id[0] != '.' && id[0] != '-' &&
           strspn(id, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ._-") == n;
}

/* As many whole lines as fit. */
static void keep_notes(const struct tr_buf *notes, char ret[static PROBLEM_FINDINGS_MAX])
{
    size_t n = notes->len < PROBLEM_FINDINGS_MAX ? notes->len : PROBLEM_FINDINGS_MAX - 1;

    while (n > 0 && notes->data[n - 1] != '\n')
        n--;
    if (n)
        memcpy(ret, notes->data, n);
    ret[n] = '\0';
}

/* What the judge will read of it; a package with faults is refused here and not in a judging. */
static int read_facts(const char *path, struct problem *p, struct tr_err *err)
{
    struct tr_arena arena;
    struct tr_problem got;
    TR_CLEANUP(tr_buf_done) struct tr_buf notes;
    tr_autoclose int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), top = -1;

    tr_buf_init(&notes, TR_PROBLEM_NOTES_MAX);
    if (dir < 0)
        return tr_fail(err, TR_E_IO, errno, "open '%s'", path);
    tr_arena_init(&arena, TR_PROBLEM_ARENA_MAX);
    int r = tr_problem_read(dir, &arena, &got, &top, &notes, err);
    keep_notes(&notes, p->findings);
    if (r == 0) {
        (void)snprintf(p->name, sizeof(p->name), "%s", got.name && *got.name ? got.name : p->id);
        (void)snprintf(p->format, sizeof(p->format), "%s", got.format ? got.format : "folder");
        p->tests = (int64_t)got.ntests;
        p->time_ms = got.limits.time_us / 1000;
        p->memory_kib = got.limits.memory_kib;
        p->oi = got.scoring == TR_SCORING_OI;
        p->interactive = got.interactive;
    }
    tr_arena_done(&arena);
    return r;
}

/* The note about a version that was packed before. */
static bool known_version(const char *note, struct problem *p)
{
    TR_CLEANUP(tr_buf_done) struct tr_buf text;
    TR_CLEANUP(tr_json_unrefp) json_t *j = NULL;
    const char *data = NULL;
    json_int_t size = 0, at = 0;

    tr_buf_init(&text, 64 * 1024);
    if (tr_fs_read_file(note, &text, NULL) < 0 ||
        tr_json_parse(text.data, text.len, text.max, &j, NULL) < 0 ||
        json_unpack(j, "{s:s, s:I, s:I}", "data", &data, "size", &size, "created_us", &at) < 0 ||
        strlen(data) != TR_SHA256_HEX - 1)
        return false;
    (void)snprintf(p->data, sizeof(p->data), "%s", data);
    p->size = (uint64_t)size;
    p->updated_us = at;
    return true;
}

static int write_note(const char *packages, const struct problem *p, struct tr_err *err)
{
    char name[PATH_LEN];
    tr_autofree char *text = NULL;
    json_t *j = json_pack("{s:s, s:s, s:I, s:I, s:I}", "version", p->version, "data", p->data,
                          "size", (json_int_t)p->size, "created_us", (json_int_t)p->updated_us,
                          "tests", (json_int_t)p->tests);

    text = j ? json_dumps(j, JSON_INDENT(1)) : NULL;
    json_decref(j);
    if (!text)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory for a version");
    (void)snprintf(name, sizeof(name), "%s/%s", packages, p->id);
    int r = tr_fs_mkdirs(AT_FDCWD, name, 0755, err);
    tr_autoclose int dir = r < 0 ? -1 : open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (r < 0 || dir < 0)
        return r < 0 ? r : tr_fail(err, TR_E_IO, errno, "open '%s'", name);
    (void)snprintf(name, sizeof(name), "%s.json", p->version);
    return tr_fs_replace(dir, name, text, strlen(text), 0644, err);
}

static int pack_version(const char *folder, const char *packages, struct problem *p,
                        struct tr_err *err)
{
    char temp[PATH_LEN], final[PATH_LEN];

    (void)snprintf(temp, sizeof(temp), "%s/.pack-%016llx", packages,
                   (unsigned long long)tr_random_u64());
    int r = tr_pack_zip(folder, temp, p->data, &p->size, err);
    (void)snprintf(final, sizeof(final), "%s/%s.zip", packages, p->data);
    if (r == 0 && rename(temp, final) < 0)
        r = tr_fail(err, TR_E_IO, errno, "rename to '%s'", final);
    if (r < 0) {
        (void)unlink(temp);
        return r;
    }
    p->updated_us = tr_clock_real_us();
    return write_note(packages, p, err);
}

static int load_problem(const char *path, const char *packages, struct problem *p,
                        struct tr_err *err)
{
    char note[PATH_LEN], zip[PATH_LEN];
    int r = tr_pack_manifest(path, p->version, err);

    if (r == 0)
        r = read_facts(path, p, err);
    if (r < 0)
        return r;
    (void)snprintf(note, sizeof(note), "%s/%s/%s.json", packages, p->id, p->version);
    if (known_version(note, p)) {
        (void)snprintf(zip, sizeof(zip), "%s/%s.zip", packages, p->data);
        if (access(zip, R_OK) == 0)
            return 0;
    }
    return pack_version(path, packages, p, err);
}

static const struct problem *find(const struct problem_list *l, const char *id)
{
    for (size_t i = 0; l && i < l->count; i++)
        if (strcmp(l->items[i].id, id) == 0)
            return &l->items[i];
    return NULL;
}

/* One folder; returns 1 when it differs from what was there. */
static int scan_one(const char *folder, const char *packages, const char *id,
                    const struct problem_list *old, struct problem *ret)
{
    char path[PATH_LEN];
    struct tr_err err = TR_ERR_INIT;
    const struct problem *before = find(old, id);
    struct problem p = {0};

    (void)snprintf(p.id, sizeof(p.id), "%s", id);
    (void)snprintf(p.name, sizeof(p.name), "%s", id);
    (void)snprintf(path, sizeof(path), "%s/%s", folder, id);
    int r = tr_pack_mark(path, p.mark, &err);
    if (r == 0 && before && strcmp(before->mark, p.mark) == 0) {
        *ret = *before;
        return 0;
    }
    if (r == 0)
        r = load_problem(path, packages, &p, &err);
    if (r < 0) {
        p.data[0] = p.version[0] = '\0';
        (void)snprintf(p.error, sizeof(p.error), "%.255s", err.msg);
    }
    *ret = p;
    return !before || strcmp(before->version, p.version) != 0 || *before->error || *p.error;
}

static int by_id(const void *a, const void *b)
{
    return strcmp(((const struct problem *)a)->id, ((const struct problem *)b)->id);
}

int problem_scan(const char *folder, const char *packages, const struct problem_list *old,
                 struct problem_list *ret, struct tr_err *err)
{
    struct problem_list l = {0};
    struct dirent *e;
    size_t cap = 0;
    int changed = 0;
    DIR *d = opendir(folder);

    if (!d)
        return tr_fail(err, TR_E_IO, errno, "open '%s'", folder);
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is ours */
    while ((e = readdir(d))) {
        struct stat st;

        if (!problem_id_ok(e->d_name) || fstatat(dirfd(d), e->d_name, &st, 0) < 0 ||
            !S_ISDIR(st.st_mode) || l.count == PROBLEMS_MAX)
            continue;
        if (l.count == cap) {
            cap = cap ? 2 * cap : 16;
            struct problem *more = realloc(l.items, cap * sizeof(*more));
            if (!more)
                break;
            l.items = more;
        }
        changed += scan_one(folder, packages, e->d_name, old, &l.items[l.count++]);
    }
    (void)closedir(d);
    if (l.count)
        qsort(l.items, l.count, sizeof(*l.items), by_id);
    if (old && old->count > l.count)
        changed += (int)(old->count - l.count);
    *ret = l;
    return changed;
}

static int swap_in(int root, const char *temp, const char *id, struct tr_err *err)
{
    if (renameat2(root, temp, root, id, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno == EEXIST && renameat2(root, temp, root, id, RENAME_EXCHANGE) == 0)
        return 0; /* the old one is under the temporary name now, and goes with it */
    return tr_fail(err, TR_E_IO, errno, "put '%s' in place", id);
}

int problem_install(const char *folder, const char *id, int zip_fd,
                    char ret_findings[static PROBLEM_FINDINGS_MAX], struct tr_err *err)
{
    struct tr_unzip_limits limits;
    struct problem facts = {0};
    char temp[64], path[PATH_LEN];
    tr_autoclose int root = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC), dir = -1;

    (void)snprintf(temp, sizeof(temp), ".upload-%016llx", (unsigned long long)tr_random_u64());
    if (root < 0 || mkdirat(root, temp, 0755) < 0)
        return tr_fail(err, TR_E_IO, errno, "make a folder in '%s'", folder);
    dir = openat(root, temp, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    tr_unzip_limits_default(&limits);
    int r = dir < 0 ? tr_fail(err, TR_E_IO, errno, "open '%s'", temp)
                    : tr_unzip(zip_fd, dir, &limits, err);
    (void)snprintf(path, sizeof(path), "%s/%s", folder, temp);
    if (r == 0)
        r = read_facts(path, &facts, err);
    memcpy(ret_findings, facts.findings, sizeof(facts.findings));
    if (r == 0)
        r = swap_in(root, temp, id, err);
    (void)tr_fs_remove_tree(root, temp, NULL);
    return r;
}
