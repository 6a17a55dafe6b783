/* SPDX-License-Identifier: MIT
 *
 * cache.c - content by name, shared by processes through the file system alone.
 *
 * Nothing a submission wrote is trusted here but its bytes: names are hashes that we computed.
 */
#include "data/cache.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/rand.h"
#include "codec/sha256.h"

struct tr_cache {
    int root;
    uint64_t max_bytes;
};

enum {
    PATH = 80,             /* "ab/" + 64 digits + ".lock" */
    STALE_S = 3600,        /* something half made that old belongs to nobody alive */
    TRIM_TO_PERCENT = 90,  /* trimming costs a walk: make room for a while */
    ENTRIES_MAX = 1 << 20, /* of one walk */
};

int tr_cache_open(const char *path, uint64_t max_bytes, struct tr_cache **ret, struct tr_err *err)
{
    int r = tr_fs_mkdirs(AT_FDCWD, path, 0700, err);

    if (r < 0)
        return r;
    tr_autoclose int root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (root < 0)
        return tr_fail(err, TR_E_IO, errno, "open the cache folder '%s'", path);
    struct tr_cache *c = calloc(1, sizeof(*c));
    if (!c)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory for a cache");
    *c = (struct tr_cache){.root = tr_take_fd(&root), .max_bytes = max_bytes};
    *ret = c;
    return 0;
}

void tr_cache_close(struct tr_cache *c)
{
    if (!c)
        return;
    tr_close(&c->root);
    free(c);
}

static void entry_path(const char *key, const char *suffix, char out[static PATH])
{
    assert(strlen(key) == TR_SHA256_HEX - 1);
    (void)snprintf(out, PATH, "%.2s/%s%s", key, key, suffix);
}

static int make_shelf(struct tr_cache *c, const char *key, struct tr_err *err)
{
    char shelf[3] = {key[0], key[1], 0};

    if (mkdirat(c->root, shelf, 0700) < 0 && errno != EEXIST)
        return tr_fail(err, TR_E_IO, errno, "make a folder in the cache");
    return 0;
}

int tr_cache_get(struct tr_cache *c, const char *key, int *ret_fd, struct tr_err *err)
{
    char path[PATH];

    entry_path(key, "", path);
    int fd = openat(c->root, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return tr_fail(err, TR_E_NOTFOUND, 0, "not in the cache");
    if (fd < 0)
        return tr_fail(err, TR_E_IO, errno, "open an entry of the cache");
    (void)futimens(fd, NULL); /* used now; a cache on a read-only disk still works */
    *ret_fd = fd;
    return 0;
}

int tr_cache_lock(struct tr_cache *c, const char *key, int *ret_lock, struct tr_err *err)
{
    char path[PATH];
    int r = make_shelf(c, key, err);

    if (r < 0)
        return r;
    entry_path(key, ".lock", path);
    /* The holder removes the file as it lets go of it only when trimming; a lock on a removed file
     * would guard nothing, so look again until the locked file is the named one. */
    for (int tries = 0; tries < 100; tries++) {
        struct stat held, named;
        tr_autoclose int fd =
            openat(c->root, path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

        if (fd < 0)
            return tr_fail(err, TR_E_IO, errno, "open a lock of the cache");
        while (flock(fd, LOCK_EX) < 0) {
            if (errno != EINTR)
                return tr_fail(err, TR_E_IO, errno, "lock an entry of the cache");
        }
        if (fstat(fd, &held) == 0 && fstatat(c->root, path, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
            held.st_ino == named.st_ino) {
            *ret_lock = tr_take_fd(&fd);
            return 0;
        }
    }
    return tr_fail(err, TR_E_BUSY, 0, "an entry of the cache stays busy");
}

static int copy_all(int from, int to, struct tr_err *err)
{
    off_t at = 0;

    for (;;) {
        ssize_t n = sendfile(to, from, &at, 1 << 30);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return tr_fail(err, TR_E_IO, errno, "copy into the cache");
        if (n == 0)
            return 0;
    }
}

static void temp_name(const char *key, char out[static TR_CACHE_NAME])
{
    (void)snprintf(out, TR_CACHE_NAME, "%.2s/%.64s.%08x", key, key,
                   (unsigned)tr_random_below(UINT64_C(1) << 32));
}

int tr_cache_put(struct tr_cache *c, const char *key, int fd, int *ret_fd, struct tr_err *err)
{
    char path[PATH], temp[TR_CACHE_NAME];
    int r = make_shelf(c, key, err);

    if (r < 0)
        return r;
    entry_path(key, "", path);
    temp_name(key, temp);
    tr_autoclose int to =
        openat(c->root, temp, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0400);
    if (to < 0)
        return tr_fail(err, TR_E_IO, errno, "write into the cache");
    r = copy_all(fd, to, err);
    if (r == 0 && renameat(c->root, temp, c->root, path) < 0)
        r = tr_fail(err, TR_E_IO, errno, "name an entry of the cache");
    if (r < 0) {
        (void)unlinkat(c->root, temp, 0);
        return r;
    }
    if (ret_fd)
        *ret_fd = tr_take_fd(&to);
    return 0;
}

int tr_cache_begin(struct tr_cache *c, const char *key, char name[static TR_CACHE_NAME],
                   int *ret_fd, struct tr_err *err)
{
    int r = make_shelf(c, key, err);

    if (r < 0)
        return r;
    temp_name(key, name);
    if (mkdirat(c->root, name, 0755) < 0)
        return tr_fail(err, TR_E_IO, errno, "make a folder in the cache");
    int fd = openat(c->root, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return tr_fail(err, TR_E_IO, errno, "open a folder in the cache");
    *ret_fd = fd;
    return 0;
}

int tr_cache_commit(struct tr_cache *c, const char *key, const char *name, struct tr_err *err)
{
    char path[PATH];

    entry_path(key, "", path);
    if (renameat2(c->root, name, c->root, path, RENAME_NOREPLACE) == 0)
        return 0;
    int sys = errno;
    tr_cache_abandon(c, key, name);
    if (sys == EEXIST)
        return 0; /* somebody made the same from the same: as good as ours */
    return tr_fail(err, TR_E_IO, sys, "name a folder of the cache");
}

void tr_cache_abandon(struct tr_cache *c, const char *key, const char *name)
{
    (void)key;
    (void)tr_fs_remove_tree(c->root, name, NULL); /* best effort; trimming takes the rest */
}

struct found {
    char path[TR_CACHE_NAME];
    int64_t used_s;
    uint64_t bytes;
    bool part; /* not an entry: a lock, or something half made */
};

struct walk {
    struct found *list;
    size_t count, cap;
    uint64_t bytes;
};

/* Space of all files below a folder entry; packages have folders in folders. */
static uint64_t folder_bytes(int root, const char *path)
{
    char full[TR_CACHE_NAME + 32];
    char *const paths[] = {full, NULL};
    uint64_t sum = 0;

    (void)snprintf(full, sizeof(full), "/proc/self/fd/%d/%s", root, path);
    FTS *walk = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    if (!walk)
        return 0;
    for (FTSENT *e = fts_read(walk); e; e = fts_read(walk)) {
        if (e->fts_info == FTS_F)
            sum += (uint64_t)e->fts_statp->st_blocks * 512;
    }
    (void)fts_close(walk);
    return sum;
}

static void note(struct walk *w, int root, const char *shelf, const char *name)
{
    struct found f = {.part = strlen(name) != TR_SHA256_HEX - 1};
    struct stat st;

    if (w->count == ENTRIES_MAX)
        return;
    (void)snprintf(f.path, sizeof(f.path), "%.2s/%.90s", shelf, name);
    if (fstatat(root, f.path, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return;
    f.used_s = st.st_mtime;
    f.bytes = S_ISDIR(st.st_mode) ? folder_bytes(root, f.path) : (uint64_t)st.st_blocks * 512;
    if (w->count == w->cap) {
        size_t cap = w->cap ? 2 * w->cap : 256;
        struct found *more = realloc(w->list, cap * sizeof(*more));

        if (!more)
            return; /* trims what it has seen */
        w->list = more;
        w->cap = cap;
    }
    w->list[w->count++] = f;
    w->bytes += f.part ? 0 : f.bytes;
}

static void walk_all(struct walk *w, int root)
{
    for (unsigned s = 0; s < 256; s++) {
        char shelf[3];

        (void)snprintf(shelf, sizeof(shelf), "%02x", s);
        int fd = openat(root, shelf, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        DIR *d = fd < 0 ? NULL : fdopendir(fd);

        if (!d) {
            tr_close(&fd);
            continue;
        }
        /* NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is ours */
        for (struct dirent *e = readdir(d); e; e = readdir(d)) {
            if (e->d_name[0] != '.')
                note(w, root, shelf, e->d_name);
        }
        (void)closedir(d);
    }
}

static int by_use(const void *a, const void *b)
{
    const struct found *x = a, *y = b;

    return (x->used_s > y->used_s) - (x->used_s < y->used_s);
}

int tr_cache_trim(struct tr_cache *c, struct tr_err *err)
{
    struct walk w = {0};
    int64_t now_s = tr_clock_real_us() / 1000000;
    int gone = 0;

    (void)err;
    walk_all(&w, c->root);
    if (w.count > 0)
        qsort(w.list, w.count, sizeof(*w.list), by_use);
    bool over = w.bytes > c->max_bytes;
    for (size_t i = 0; i < w.count; i++) {
        const struct found *f = &w.list[i];
        bool stale = f->part && now_s - f->used_s > STALE_S;
        bool drop = !f->part && over && w.bytes > c->max_bytes / 100 * TRIM_TO_PERCENT;

        if ((stale || drop) && tr_fs_remove_tree(c->root, f->path, NULL) > 0) {
            w.bytes -= drop ? f->bytes : 0;
            gone += drop;
        }
    }
    free(w.list);
    return gone;
}

void tr_cache_look(struct tr_cache *c, struct tr_cache_stats *ret, char (*keys)[65], size_t most)
{
    struct walk w = {0};

    *ret = (struct tr_cache_stats){0};
    walk_all(&w, c->root);
    if (w.count > 0)
        qsort(w.list, w.count, sizeof(*w.list), by_use);
    for (size_t i = w.count; i-- > 0;) {
        const struct found *f = &w.list[i];

        if (f->part)
            continue;
        if (keys && ret->entries < most)
            (void)snprintf(keys[ret->entries], sizeof(keys[0]), "%.64s", f->path + 3);
        ret->entries++;
        ret->bytes += f->bytes;
    }
    free(w.list);
}
