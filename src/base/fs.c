/* SPDX-License-Identifier: MIT
 *
 * fs.c - open, read, write and create, with hostile folders in mind.
 */
#include "base/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/rand.h"

static int open_code(int sys)
{
    switch (sys) {
    case ENOENT:
    case ENOTDIR:
        return TR_E_NOTFOUND;
    case EXDEV: /* leaves the folder or the mount */
    case ELOOP: /* a link */
    case EACCES:
    case EPERM:
        return TR_E_DENIED;
    default:
        return TR_E_IO;
    }
}

static int openat2_retry(int dirfd, const char *path, const struct open_how *how)
{
    /* EAGAIN means that a rename raced with the walk: the kernel asks to be called again. A few
     * times only, since the one who renames may be hostile. */
    for (int tries = 0;; tries++) {
        int fd = (int)syscall(SYS_openat2, dirfd, path, how, sizeof(*how));

        if (fd >= 0 || (errno != EAGAIN && errno != EINTR) || tries == 32)
            return fd;
    }
}

int tr_fs_open_beneath(int dirfd, const char *path, int flags, mode_t mode, struct tr_err *err)
{
    struct open_how how = {
        .flags = (uint64_t)(unsigned)(flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK),
        .mode = mode,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV,
    };

    if (flags & O_PATH)
        how.flags &= ~(uint64_t)O_NONBLOCK; /* openat2 refuses what O_PATH ignores */
    int fd = openat2_retry(dirfd, path, &how);
    if (fd < 0)
        return tr_fail(err, open_code(errno), errno, "open '%s'", path);
    return fd;
}

static const char *file_kind(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFDIR:
        return "a folder";
    case S_IFLNK:
        return "a symbolic link";
    case S_IFIFO:
        return "a FIFO";
    case S_IFSOCK:
        return "a socket";
    case S_IFCHR:
    case S_IFBLK:
        return "a device";
    default:
        return "not a regular file";
    }
}

/* Takes over `fd`: returns it when it is a regular file within the ceiling. */
static int check_regular(int fd, const char *path, uint64_t max, uint64_t *ret_size,
                         struct tr_err *err)
{
    tr_autoclose int owned = fd;
    struct stat st;

    if (fstat(owned, &st) < 0)
        return tr_fail(err, TR_E_IO, errno, "stat '%s'", path);
    if (!S_ISREG(st.st_mode))
        return tr_fail(err, TR_E_USAGE, 0, "'%s' is %s, expected a file", path,
                       file_kind(st.st_mode));
    if ((uint64_t)st.st_size > max)
        return tr_fail(err, TR_E_LIMIT, 0, "'%s' has %lld bytes, more than the limit of %llu", path,
                       (long long)st.st_size, (unsigned long long)max);
    if (ret_size)
        *ret_size = (uint64_t)st.st_size;
    return tr_take_fd(&owned);
}

int tr_fs_open_regular(int dirfd, const char *path, uint64_t max, uint64_t *ret_size,
                       struct tr_err *err)
{
    int fd = tr_fs_open_beneath(dirfd, path, O_RDONLY, 0, err);

    return fd < 0 ? fd : check_regular(fd, path, max, ret_size, err);
}

int tr_fs_open_regular_trusted(const char *path, uint64_t max, uint64_t *ret_size,
                               struct tr_err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    if (fd < 0)
        return tr_fail(err, open_code(errno), errno, "open '%s'", path);
    return check_regular(fd, path, max, ret_size, err);
}

int tr_fs_read_all(int fd, struct tr_buf *b, const char *what, struct tr_err *err)
{
    for (;;) {
        size_t left = b->max - b->len;
        /* One byte past the ceiling is asked for, to tell "full" from "too much". */
        size_t want = left < 65536 ? left : 65536;
        char extra = 0;
        char *room = want ? tr_buf_room(b, want) : &extra;

        if (!room)
            return tr_buf_check(b, what, err);
        ssize_t n = read(fd, room, want ? want : 1);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return tr_fail(err, TR_E_IO, errno, "read %s", what);
        if (n == 0)
            return tr_buf_room(b, 0) ? 0 : tr_buf_check(b, what, err);
        if (!want) {
            b->failed = TR_E_LIMIT;
            return tr_buf_check(b, what, err);
        }
        tr_buf_grow(b, (size_t)n);
    }
}

int tr_fs_read_file(const char *path, struct tr_buf *b, struct tr_err *err)
{
    tr_autoclose int fd = tr_fs_open_regular_trusted(path, b->max, NULL, err);

    if (fd < 0)
        return fd;
    return tr_fs_read_all(fd, b, path, err);
}

int tr_fs_write_all(int fd, const void *bytes, size_t len, struct tr_err *err)
{
    const char *p = bytes;

    while (len > 0) {
        ssize_t n = write(fd, p, len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return tr_fail(err, TR_E_IO, errno, "write");
        p += n;
        len -= (size_t)n;
    }
    return 0;
}

static int write_temp(int dirfd, const char *temp, const void *bytes, size_t len, mode_t mode,
                      struct tr_err *err)
{
    tr_autoclose int fd = openat(dirfd, temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);

    if (fd < 0)
        return tr_fail(err, TR_E_IO, errno, "create '%s'", temp);
    int r = tr_fs_write_all(fd, bytes, len, err);
    if (r < 0)
        return tr_fail_wrap(err, "'%s'", temp);
    if (fsync(fd) < 0)
        return tr_fail(err, TR_E_IO, errno, "fsync '%s'", temp);
    return 0;
}

int tr_fs_replace(int dirfd, const char *name, const void *bytes, size_t len, mode_t mode,
                  struct tr_err *err)
{
    tr_autofree char *temp = NULL;

    if (asprintf(&temp, "%s.new-%016llx", name, (unsigned long long)tr_random_u64()) < 0)
        return tr_fail(err, TR_E_NOMEM, 0, "out of memory");
    int r = write_temp(dirfd, temp, bytes, len, mode, err);
    if (r == 0 && renameat(dirfd, temp, dirfd, name) < 0)
        r = tr_fail(err, TR_E_IO, errno, "rename '%s' to '%s'", temp, name);
    if (r < 0) {
        (void)unlinkat(dirfd, temp, 0); /* the first failure is the one to tell */
        return r;
    }
    /* The rename is durable only once the folder is on disk. dirfd may be O_PATH or AT_FDCWD. */
    tr_autoclose int dir = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0 || fsync(dir) < 0)
        return tr_fail(err, TR_E_IO, errno, "fsync the folder of '%s'", name);
    return 0;
}

int tr_fs_mkdirs(int dirfd, const char *path, mode_t mode, struct tr_err *err)
{
    char copy[PATH_MAX];

    if (snprintf(copy, sizeof(copy), "%s", path) >= (int)sizeof(copy))
        return tr_fail(err, TR_E_LIMIT, ENAMETOOLONG, "mkdir '%.64s…'", path);
    for (char *p = copy + 1; *copy; p++) {
        char c = *p;

        if (c != '/' && c != '\0')
            continue;
        *p = '\0';
        if (mkdirat(dirfd, copy, mode) < 0 && errno != EEXIST)
            return tr_fail(err, open_code(errno), errno, "mkdir '%s'", copy);
        if (c == '\0')
            break;
        *p = c;
    }
    struct stat st;
    if (fstatat(dirfd, path, &st, 0) < 0)
        return tr_fail(err, open_code(errno), errno, "stat '%s'", path);
    if (!S_ISDIR(st.st_mode))
        return tr_fail(err, TR_E_USAGE, 0, "'%s' is %s, expected a folder", path,
                       file_kind(st.st_mode));
    return 0;
}

int tr_fs_temp_dir(const char *purpose, char **ret_path, int *ret_fd, struct tr_err *err)
{
    const char *base = secure_getenv("TMPDIR");
    tr_autofree char *path = NULL;

    if (!base || base[0] != '/')
        base = "/tmp";
    if (asprintf(&path, "%s/tribunal-%s-XXXXXX", base, purpose) < 0)
        return tr_fail(err, TR_E_NOMEM, 0, "out of memory");
    if (!mkdtemp(path))
        return tr_fail(err, TR_E_IO, errno, "make a folder below '%s'", base);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        int sys = errno;

        (void)rmdir(path); /* empty and ours */
        return tr_fail(err, TR_E_IO, sys, "open '%s'", path);
    }
    *ret_path = TR_TAKE(path);
    *ret_fd = fd;
    return 0;
}
