/* SPDX-License-Identifier: MIT
 *
 * fs_remove.c - remove a tree that somebody hostile made.
 *
 * Flattening instead of recursion: a folder found inside is renamed up into the top folder under a
 * name of ours and emptied later. So the walk holds two fds and no stack however deep the tree is,
 * never needs "..", and a folder swapped for a link is only ever unlinked. Folders without
 * permission bits are opened by giving them mode 0700 through an O_PATH fd.
 *
 * Assumes that nobody creates entries while it runs (all processes of the box are gone); if one
 * does, it ends with an error, not in a loop.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fs.h"

/* Names given to folders on their way up; no file of a submission can be in the way for long, since
 * a taken name is simply skipped. */
#define LIFTED ".tribunal-lifted-%u"

/* A folder whose removal fails this often in a row is being filled by somebody. */
enum {
    PASSES_MAX = 8
};

struct walk {
    int top;         /* the folder that is being emptied */
    unsigned lifted; /* next number for LIFTED */
    int64_t removed;
};

static void cleanup_closedir(DIR **d)
{
    if (*d)
        (void)closedir(*d);
}

static int open_dir(int dirfd, const char *name)
{
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int fd = openat(dirfd, name, flags);

    if (fd >= 0 || errno != EACCES)
        return fd;
    tr_autoclose int path = openat(dirfd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    char self[64];
    if (path < 0)
        return -1;
    (void)snprintf(self, sizeof(self), "/proc/self/fd/%d", path); /* always fits */
    if (chmod(self, 0700) < 0)
        return -1;
    return openat(dirfd, name, flags);
}

/* Remove one entry that is no folder, or move the folder up. Returns 1 when a folder was lifted. */
static int remove_or_lift(struct walk *w, int dirfd, const char *name, struct tr_err *err)
{
    if (unlinkat(dirfd, name, 0) == 0 || errno == ENOENT) {
        w->removed++;
        return 0;
    }
    if (errno != EISDIR && errno != EPERM)
        return tr_fail(err, TR_E_IO, errno, "remove '%s'", name);
    if (unlinkat(dirfd, name, AT_REMOVEDIR) == 0 || errno == ENOENT) {
        w->removed++;
        return 0;
    }
    if (errno != ENOTEMPTY && errno != EEXIST && errno != EACCES)
        return tr_fail(err, TR_E_IO, errno, "remove '%s'", name);
    if (dirfd == w->top)
        return 1; /* already as high as it goes */
    /* Moving a folder rewrites its "..", which needs write permission on it. */
    tr_autoclose int opened = open_dir(dirfd, name);
    if (opened >= 0)
        (void)fchmod(opened, 0700); /* if it fails, the rename says why */
    for (int tries = 0; tries < 1024; tries++) {
        char up[64];

        (void)snprintf(up, sizeof(up), LIFTED, w->lifted++); /* always fits */
        if (renameat2(dirfd, name, w->top, up, RENAME_NOREPLACE) == 0)
            return 1;
        if (errno != EEXIST)
            break;
    }
    return tr_fail(err, TR_E_IO, errno, "move '%s' up", name);
}

/* Empty the folder `dirfd` (taken over) of all but folders that were lifted or, at the top, remain.
 */
static int sweep(struct walk *w, int dirfd, bool *ret_left, struct tr_err *err)
{
    TR_CLEANUP(cleanup_closedir) DIR *d = fdopendir(dirfd);

    if (!d) {
        int sys = errno;

        (void)close(dirfd);
        return tr_fail(err, TR_E_IO, sys, "read a folder");
    }
    for (;;) {
        errno = 0;
        struct dirent *e = readdir(d); /* NOLINT(concurrency-mt-unsafe): the stream is ours */
        if (!e)
            return errno ? tr_fail(err, TR_E_IO, errno, "read a folder") : 0;
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        int r = remove_or_lift(w, dirfd, e->d_name, err);
        if (r < 0)
            return r;
        if (r > 0)
            *ret_left = true;
    }
}

/* Empty one folder standing in the top folder, then remove it. */
static int remove_top_folder(struct walk *w, const char *name, struct tr_err *err)
{
    for (int pass = 0; pass < PASSES_MAX; pass++) {
        int fd = open_dir(w->top, name);
        bool left = false;

        if (fd < 0)
            return errno == ENOENT ? 0 : tr_fail(err, TR_E_IO, errno, "open '%s'", name);
        (void)fchmod(fd, 0700); /* entries of a read-only folder cannot be removed */
        int r = sweep(w, fd, &left, err);
        if (r < 0)
            return r;
        if (unlinkat(w->top, name, AT_REMOVEDIR) == 0) {
            w->removed++;
            return 0;
        }
        if (errno != ENOTEMPTY && errno != EEXIST)
            return tr_fail(err, TR_E_IO, errno, "remove '%s'", name);
    }
    return tr_fail(err, TR_E_BUSY, 0, "'%s' is being filled while it is removed", name);
}

/* One pass over the top folder's own entries: files go, folders are emptied and go. */
static int pass_over_top(struct walk *w, bool *ret_seen, struct tr_err *err)
{
    int fd = openat(w->top, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return tr_fail(err, TR_E_IO, errno, "open a folder");
    TR_CLEANUP(cleanup_closedir) DIR *d = fdopendir(fd);
    if (!d) {
        int sys = errno;

        (void)close(fd);
        return tr_fail(err, TR_E_IO, sys, "read a folder");
    }
    for (;;) {
        errno = 0;
        struct dirent *e = readdir(d); /* NOLINT(concurrency-mt-unsafe): the stream is ours */
        if (!e)
            return errno ? tr_fail(err, TR_E_IO, errno, "read a folder") : 0;
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        *ret_seen = true;
        int r = remove_or_lift(w, w->top, e->d_name, err);
        if (r > 0)
            r = remove_top_folder(w, e->d_name, err);
        if (r < 0)
            return r;
    }
}

int64_t tr_fs_empty_dir(int dirfd, struct tr_err *err)
{
    struct walk w = {.top = dirfd};

    /* readdir may or may not show what was lifted while it ran, so passes are made until one finds
     * nothing. Every pass but the last removes something: a tree that is not growing ends. */
    for (;;) {
        bool seen = false;
        int64_t before = w.removed;
        int r = pass_over_top(&w, &seen, err);

        if (r < 0)
            return r;
        if (!seen)
            return w.removed;
        if (w.removed == before)
            return tr_fail(err, TR_E_BUSY, 0, "a folder is being filled while it is emptied");
    }
}

int64_t tr_fs_remove_tree(int dirfd, const char *name, struct tr_err *err)
{
    if (unlinkat(dirfd, name, 0) == 0)
        return 1;
    if (errno == ENOENT)
        return 0;
    if (errno != EISDIR && errno != EPERM)
        return tr_fail(err, TR_E_IO, errno, "remove '%s'", name);
    tr_autoclose int fd = open_dir(dirfd, name);
    if (fd < 0)
        return tr_fail(err, TR_E_IO, errno, "open '%s'", name);
    (void)fchmod(fd, 0700); /* entries of a read-only folder cannot be removed */
    int64_t n = tr_fs_empty_dir(fd, err);
    if (n < 0)
        return n;
    if (unlinkat(dirfd, name, AT_REMOVEDIR) < 0)
        return tr_fail(err, TR_E_IO, errno, "remove '%s'", name);
    return n + 1;
}
