/* SPDX-License-Identifier: MIT
 *
 * blob_folder.c - a folder as blob store: one file for each payload, two levels.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/fs.h"
#include "queue/internal.h"

struct folder {
    struct tq_blobs blobs;
    int dirfd;
};

/* "ab/abcdef…"; names are hex digits of ours, so they cannot lead elsewhere. */
static int path_of(const char *name, char out[TQ_BLOB_NAME + 3], struct tr_err *err)
{
    if (strlen(name) != TQ_BLOB_NAME - 1 || strspn(name, "0123456789abcdef") != TQ_BLOB_NAME - 1)
        return tr_fail(err, TR_E_USAGE, 0, "'%.40s' is not the name of a blob", name);
    (void)snprintf(out, TQ_BLOB_NAME + 3, "%.2s/%s", name, name);
    return 0;
}

static int put(void *user, const char *name, const void *data, size_t len, struct tr_err *err)
{
    const struct folder *f = user;
    char path[TQ_BLOB_NAME + 3], dir[3] = {0};

    int r = path_of(name, path, err);
    if (r < 0)
        return r;
    memcpy(dir, name, 2);
    r = tr_fs_mkdirs(f->dirfd, dir, 0770, err);
    if (r < 0)
        return r;
    tr_autoclose int sub = tr_fs_open_beneath(f->dirfd, dir, O_RDONLY | O_DIRECTORY, 0, err);
    return sub < 0 ? sub : tr_fs_replace(sub, name, data, len, 0660, err);
}

static int get(void *user, const char *name, size_t max, void **ret, size_t *ret_len,
               struct tr_err *err)
{
    const struct folder *f = user;
    char path[TQ_BLOB_NAME + 3];
    TR_CLEANUP(tr_buf_done) struct tr_buf b;

    tr_buf_init(&b, max);
    int r = path_of(name, path, err);
    if (r < 0)
        return r;
    tr_autoclose int fd = tr_fs_open_regular(f->dirfd, path, max, NULL, err);
    if (fd < 0)
        return fd;
    r = tr_fs_read_all(fd, &b, "blob", err);
    if (r < 0)
        return r;
    *ret_len = b.len;
    *ret = tr_buf_take(&b);
    return *ret || *ret_len == 0 ? 0 : tr_fail(err, TR_E_NOMEM, 0, "no memory for a blob");
}

static int del(void *user, const char *name, struct tr_err *err)
{
    const struct folder *f = user;
    char path[TQ_BLOB_NAME + 3];

    int r = path_of(name, path, err);
    if (r >= 0 && unlinkat(f->dirfd, path, 0) < 0 && errno != ENOENT)
        return tr_fail(err, TR_E_IO, errno, "remove blob '%s'", path);
    return r;
}

static void closedirp(DIR **d)
{
    if (*d)
        (void)closedir(*d);
}

static int list_one(int dirfd, const char *sub, int64_t before_us,
                    int (*fn)(void *arg, const char *name), void *arg)
{
    int fd = openat(dirfd, sub, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    TR_CLEANUP(closedirp) DIR *d = fd < 0 ? NULL : fdopendir(fd);
    int r = 0;

    /* NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is ours */
    for (const struct dirent *e; d && r >= 0 && (e = readdir(d)) != NULL;) {
        struct stat st;

        if (e->d_name[0] == '.' || fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
            !S_ISREG(st.st_mode))
            continue;
        if ((int64_t)st.st_mtim.tv_sec * 1000000 + st.st_mtim.tv_nsec / 1000 <= before_us)
            r = fn(arg, e->d_name);
    }
    return r;
}

static int list(void *user, int64_t older_us, int (*fn)(void *arg, const char *name), void *arg,
                struct tr_err *err)
{
    const struct folder *f = user;
    int64_t before = tr_clock_real_us() - older_us;
    int r = 0;

    for (int i = 0; i < 256 && r >= 0; i++) {
        char sub[3];

        (void)snprintf(sub, sizeof(sub), "%02x", (unsigned)i);
        r = list_one(f->dirfd, sub, before, fn, arg);
    }
    return r < 0 ? tr_fail(err, r, 0, "the list of blobs was stopped") : 0;
}

int tq_blobs_folder(const char *path, struct tq_blobs **ret, struct tr_err *err)
{
    int r = tr_fs_mkdirs(AT_FDCWD, path, 0770, err);

    if (r < 0)
        return r;
    tr_autoclose int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return tr_fail(err, TR_E_IO, errno, "open folder '%s'", path);
    struct folder *f = calloc(1, sizeof(*f));
    if (!f)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory for a blob store");
    f->dirfd = tr_take_fd(&fd);
    f->blobs = (struct tq_blobs){
        .size = sizeof(f->blobs), .put = put, .get = get, .del = del, .list = list, .user = f};
    *ret = &f->blobs;
    return 0;
}

void tq_blobs_folder_free(struct tq_blobs *b)
{
    struct folder *f = b ? b->user : NULL;

    if (!f)
        return;
    tr_close(&f->dirfd);
    free(f);
}
