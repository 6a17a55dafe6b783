/* SPDX-License-Identifier: MIT
 *
 * work.c - what is put into the work folder, what is taken out, and that nothing stays.
 *
 * Runs in the first process while no program is alive, so there is nobody to race with; all the
 * same every name is opened below a folder fd with nothing followed.
 */
#include "box/work.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fs.h"

enum {
    /* Removing a file costs about 6 us, a new container 2 ms: beyond this many a new one wins. */
    CLEAN_FILES_MAX = 512,
    SCAN_MAX = 4096
};

static void cleanup_closedir(DIR **d)
{
    if (*d)
        (void)closedir(*d);
}

static int remember(struct box_work *work, struct tr_err *err)
{
    struct statfs fs;

    if (fstatfs(work->store, &fs) < 0)
        return tr_fail(err, TR_E_IO, errno, "statfs of the work folder");
    work->blocks_free = fs.f_bfree;
    work->files_free = fs.f_ffree;
    return 0;
}

static int make_folder(int top, const char *name, mode_t mode, int *ret_fd, struct tr_err *err)
{
    if (mkdirat(top, name, 0700) < 0)
        return tr_fail(err, TR_E_IO, errno, "make work folder '%s'", name);
    int fd = openat(top, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fchmod(fd, mode) < 0) {
        tr_close(&fd);
        return tr_fail(err, TR_E_IO, errno, "open work folder '%s'", name);
    }
    *ret_fd = fd;
    return 0;
}

int box_work_make(struct box_work *work, int top, bool links, struct tr_err *err)
{
    /* Sticky: the program may add names and remove its own, not those of another uid. */
    int r = make_folder(top, "w", 01777, &work->w, err);

    if (r == 0)
        r = make_folder(top, "tmp", 01777, &work->tmp, err);
    if (r == 0)
        r = make_folder(top, "shm", 01777, &work->shm, err);
    if (r == 0)
        r = make_folder(top, "store", 0700, &work->store, err);
    if (r < 0)
        return r;
    work->links = links;
    work->fresh = true;
    return remember(work, err);
}

static int copy_bytes(int from, int to, const char *name, struct tr_err *err)
{
    off_t at = 0;

    for (;;) {
        char chunk[65536 / 4];
        ssize_t n = pread(from, chunk, sizeof(chunk), at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return tr_fail(err, TR_E_IO, errno, "read '%s'", name);
        if (n == 0)
            return 0;
        int r = tr_fs_write_all(to, chunk, (size_t)n, err);
        if (r < 0)
            return tr_fail_wrap(err, "put '%s' into the work folder", name);
        at += n;
    }
}

static int copy_file(int from, int dir, const char *name, mode_t mode, struct tr_err *err)
{
    if (unlinkat(dir, name, 0) < 0 && errno != ENOENT)
        return tr_fail(err, TR_E_IO, errno, "replace '%s'", name);
    tr_autoclose int to =
        openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (to < 0)
        return tr_fail(err, TR_E_IO, errno, "put '%s' into the work folder", name);
    int r = copy_bytes(from, to, name, err);
    if (r < 0)
        return r;
    if (fchmod(to, mode) < 0)
        return tr_fail(err, TR_E_IO, errno, "mode of '%s'", name);
    return 0;
}

static int show(struct box_work *work, const char *name, struct tr_err *err)
{
    if (unlinkat(work->w, name, 0) < 0 && errno != ENOENT)
        return tr_fail(err, TR_E_IO, errno, "replace '%s'", name);
    if (work->links) {
        if (linkat(work->store, name, work->w, name, 0) < 0)
            return tr_fail(err, TR_E_IO, errno, "link '%s' into the work folder", name);
        return 0;
    }
    struct stat st;
    tr_autoclose int from = openat(work->store, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (from < 0 || fstat(from, &st) < 0)
        return tr_fail(err, TR_E_IO, errno, "open '%s' in the store", name);
    return copy_file(from, work->w, name, st.st_mode & 0777, err);
}

int box_work_put(struct box_work *work, int fd, const char *name, unsigned mode, struct tr_err *err)
{
    struct stat st;

    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return tr_fail(err, TR_E_USAGE, 0, "'%s' is not a regular file", name);
    /* Never writable and always readable: the program is "other" to it, or its owner. */
    int r = copy_file(fd, work->store, name, (mode & 0111U) | 0444U, err);
    if (r == 0 && work->links)
        r = show(work, name, err);
    if (r < 0)
        return r;
    return remember(work, err);
}

static int show_all(struct box_work *work, struct tr_err *err)
{
    int copy = openat(work->store, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    TR_CLEANUP(cleanup_closedir) DIR *d = copy >= 0 ? fdopendir(copy) : NULL;

    if (!d) {
        tr_close(&copy);
        return tr_fail(err, TR_E_IO, errno, "read the store");
    }
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is ours */
    for (const struct dirent *e; (e = readdir(d)) != NULL;) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        int r = show(work, e->d_name, err);
        if (r < 0)
            return r;
    }
    return 0;
}

int box_work_ready(struct box_work *work, struct tr_err *err)
{
    int r = 0;

    if (!work->fresh)
        r = box_work_clean(work, err);
    /* With one uid the program owns what it is given and may have changed it. */
    if (r == 0 && !work->links)
        r = show_all(work, err);
    work->fresh = false;
    return r;
}

uint64_t box_work_bytes(const struct box_work *work)
{
    struct statfs fs;

    if (fstatfs(work->store, &fs) < 0)
        return 0;
    return (uint64_t)(fs.f_blocks - fs.f_bfree) * (uint64_t)fs.f_bsize;
}

/* The folders themselves carry marks too: times, and with one uid modes, which it may even have
 * taken from itself and so from us. */
static int restore_folders(struct box_work *work, struct tr_err *err)
{
    const int folders[] = {work->w, work->tmp, work->shm};

    for (size_t i = 0; i < TR_ARRAY_LEN(folders); i++) {
        if (fchmod(folders[i], 01777) < 0 || futimens(folders[i], NULL) < 0)
            return tr_fail(err, TR_E_IO, errno, "mode and times of the work folders");
    }
    return 0;
}

int box_work_clean(struct box_work *work, struct tr_err *err)
{
    struct statfs fs;

    if (fstatfs(work->store, &fs) < 0)
        return tr_fail(err, TR_E_IO, errno, "statfs of the work folder");
    /* tmpfs counts every name as a file, so equal numbers mean that nothing was added, and with two
     * uids nothing of ours can be removed. */
    if (work->links && fs.f_bfree == work->blocks_free && fs.f_ffree == work->files_free) {
        work->fresh = true;
        return 0;
    }
    if (work->files_free > fs.f_ffree && work->files_free - fs.f_ffree > CLEAN_FILES_MAX)
        return tr_fail(err, TR_E_LIMIT, 0, "the program left %" PRIu64 " files",
                       work->files_free - fs.f_ffree);
    int r = restore_folders(work, err);
    if (r < 0)
        return r;
    int64_t n = tr_fs_empty_dir(work->w, err);
    if (n >= 0)
        n = tr_fs_empty_dir(work->tmp, err);
    if (n >= 0)
        n = tr_fs_empty_dir(work->shm, err);
    if (n < 0)
        return (int)n;
    r = work->links ? show_all(work, err) : 0;
    if (r == 0)
        r = restore_folders(work, err);
    if (r < 0)
        return r;
    if (fstatfs(work->store, &fs) < 0)
        return tr_fail(err, TR_E_IO, errno, "statfs of the work folder");
    /* More bytes than before, with nothing left to see: something holds them. */
    if (fs.f_bfree < work->blocks_free || fs.f_ffree < work->files_free)
        return tr_fail(err, TR_E_FATAL, 0, "the work folder does not become empty");
    work->fresh = true;
    return 0;
}

int box_work_get(struct box_work *work, const char *name, uint64_t max, uint64_t *ret_size,
                 struct tr_err *err)
{
    return tr_fs_open_regular(work->w, name, max, ret_size, err);
}

static bool folder_has_full(int dir, uint64_t ceiling)
{
    int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    TR_CLEANUP(cleanup_closedir) DIR *d = copy >= 0 ? fdopendir(copy) : NULL;
    int left = SCAN_MAX;

    if (!d) {
        tr_close(&copy);
        return false;
    }
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is ours */
    for (const struct dirent *e; left-- > 0 && (e = readdir(d)) != NULL;) {
        struct stat st;

        if (fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
            (uint64_t)st.st_size >= ceiling)
            return true;
    }
    return false;
}

bool box_work_file_full(const struct box_work *work, uint64_t ceiling)
{
    return folder_has_full(work->w, ceiling) || folder_has_full(work->tmp, ceiling) ||
           folder_has_full(work->shm, ceiling);
}
