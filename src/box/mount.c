/* SPDX-License-Identifier: MIT
 *
 * mount.c - the file system of a container.
 *
 * A tmpfs root in which only what is listed here exists: nothing has to be masked because nothing
 * else is there. Everything from the host is a read-only, nosuid, nodev clone of a mount tree.
 *
 * Two steps, because of who may look where: the trees are cloned while the process still has the
 * caller's uid (an image folder may lie below a home), the root is built as the container's own
 * uid, without which the tmpfs would refuse to make files.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <linux/mount.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fs.h"
#include "box/container.h"
#include "box/work.h"

#ifndef MOUNT_ATTR_NOSYMFOLLOW
#define MOUNT_ATTR_NOSYMFOLLOW 0x00200000
#endif

enum {
    SOURCES_MAX = 96,
    DEST_MAX = 256
};

struct source {
    char dest[DEST_MAX]; /* below the new root, no leading slash */
    char link[DEST_MAX]; /* a symbolic link to this; empty: a mount */
    int tree;            /* detached clone */
    bool folder;
};

struct box_mounts {
    struct source at[SOURCES_MAX];
    size_t n;
};

/* Everything a compiled program, an interpreter or a compiler reads, and nothing that is secret or
 * about people. Patterns; what does not exist is skipped. */
static const char *const host_paths[] = {
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/etc/alternatives",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/java-*-openjdk",
    "/etc/mono",
    "/etc/python3*",
    "/etc/perl",
    "/etc/php",
    "/etc/ghc",
    "/etc/magic",
    "/etc/mime.types",
};

static const char *const devices[] = {"null", "zero", "full", "random", "urandom"};

/* Of an image all but what is made fresh, and what a running system fills. */
static const char *const image_skips[] = {"proc", "sys", "dev",   "tmp",  "w",
                                          "run",  "mnt", "media", "boot", "lost+found"};

static int clone_tree(const char *path)
{
    return (int)syscall(SYS_open_tree, AT_FDCWD, path,
                        OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE | AT_SYMLINK_NOFOLLOW);
}

static int set_attr(int tree, const char *path, unsigned flags, uint64_t set)
{
    struct mount_attr attr = {.attr_set = set};

    return (int)syscall(SYS_mount_setattr, tree, path, flags, &attr, sizeof(attr));
}

/* One path of the host (or image) to appear as `dest`; links are made again, not followed. */
static int collect(struct box_mounts *m, const char *path, const char *dest, struct tr_err *err)
{
    struct source *s = &m->at[m->n];
    struct stat st;

    if (lstat(path, &st) < 0)
        return errno == ENOENT ? 0 : tr_fail(err, TR_E_IO, errno, "look at '%s'", path);
    if (m->n == SOURCES_MAX || strlen(dest) >= DEST_MAX)
        return tr_fail(err, TR_E_LIMIT, 0, "too many folders for the box, or too long: '%s'", dest);
    *s = (struct source){.tree = -1, .folder = S_ISDIR(st.st_mode)};
    (void)snprintf(s->dest, sizeof(s->dest), "%s", dest);
    if (S_ISLNK(st.st_mode)) {
        ssize_t n = readlink(path, s->link, sizeof(s->link) - 1);

        if (n <= 0)
            return tr_fail(err, TR_E_IO, errno, "read link '%s'", path);
        s->link[n] = 0;
        m->n++;
        return 0;
    }
    s->tree = clone_tree(path);
    if (s->tree < 0)
        return tr_fail(err, TR_E_IO, errno, "clone mount of '%s'", path);
    m->n++;
    return 0;
}

static int collect_pattern(struct box_mounts *m, const char *pattern, struct tr_err *err)
{
    glob_t found = {0};
    int r = 0;

    /* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread */
    if (glob(pattern, GLOB_NOSORT, NULL, &found) == 0) {
        for (size_t i = 0; r == 0 && i < found.gl_pathc; i++)
            r = collect(m, found.gl_pathv[i], found.gl_pathv[i] + 1, err);
    }
    globfree(&found);
    return r;
}

static bool skipped(const char *name)
{
    for (size_t i = 0; i < TR_ARRAY_LEN(image_skips); i++) {
        if (strcmp(name, image_skips[i]) == 0)
            return true;
    }
    return false;
}

static int collect_image(struct box_mounts *m, const char *root, struct tr_err *err)
{
    char pattern[DEST_MAX + 4];
    glob_t found = {0};
    int r = 0;

    if (snprintf(pattern, sizeof(pattern), "%s/*", root) >= (int)sizeof(pattern))
        return tr_fail(err, TR_E_LIMIT, 0, "path of the image is too long: '%s'", root);
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread */
    if (glob(pattern, GLOB_NOSORT, NULL, &found) != 0)
        r = tr_fail(err, TR_E_NOTFOUND, 0, "image folder '%s' is missing or empty", root);
    for (size_t i = 0; r == 0 && i < found.gl_pathc; i++) {
        const char *name = strrchr(found.gl_pathv[i], '/') + 1;

        if (!skipped(name))
            r = collect(m, found.gl_pathv[i], name, err);
    }
    globfree(&found);
    return r;
}

/* One more folder of the host: "/path" or "/path:/inside". */
static int collect_dir(struct box_mounts *m, const char *spec, struct tr_err *err)
{
    static const char *const ours[] = {"/w", "/tmp", "/dev", "/proc"};
    const char *colon = NULL;

    for (const char *c = strstr(spec, ":/"); c; c = strstr(c + 1, ":/"))
        colon = c; /* the last: the host's path may hold one */
    const char *inside = colon ? colon + 1 : spec;
    tr_autofree char *path = strndup(spec, colon ? (size_t)(colon - spec) : strlen(spec));

    if (!path)
        return tr_fail(err, TR_E_NOMEM, 0, "out of memory");
    for (size_t i = 0; i < TR_ARRAY_LEN(ours); i++) {
        size_t n = strlen(ours[i]);

        /* A folder there would be hidden by the box's own, or be emptied after the first run. */
        if (strncmp(inside, ours[i], n) == 0 && (inside[n] == '/' || inside[n] == '\0'))
            return tr_fail(err, TR_E_USAGE, 0,
                           "folder '%s' cannot be shown below %s of the box; name another place: "
                           "%s:/somewhere",
                           path, ours[i], path);
    }
    if (inside[1] == '\0' || strstr(inside, "/../"))
        return tr_fail(err, TR_E_USAGE, 0, "'%s' is no place for a folder in the box", inside);
    return collect(m, path, inside + 1, err);
}

int box_mounts_collect(const struct box_config *cfg, struct box_mounts **ret, struct tr_err *err)
{
    static struct box_mounts all; /* one container per process: this process becomes it */
    struct box_mounts *m = &all;
    int r = 0;

    /* Nothing we mount may appear outside, nothing mounted outside may appear here. */
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        return tr_fail(err, TR_E_IO, errno, "make mounts private");
    if (cfg->root)
        r = collect_image(m, cfg->root, err);
    for (size_t i = 0; r == 0 && !cfg->root && i < TR_ARRAY_LEN(host_paths); i++)
        r = collect_pattern(m, host_paths[i], err);
    for (size_t i = 0; r == 0 && i < cfg->ndirs; i++)
        r = collect_dir(m, cfg->dirs[i], err);
    for (size_t i = 0; r == 0 && i < TR_ARRAY_LEN(devices); i++) {
        char path[32];

        (void)snprintf(path, sizeof(path), "/dev/%s", devices[i]);
        r = collect(m, path, path + 1, err);
    }
    if (r < 0)
        return r;
    *ret = m;
    return 0;
}

/* Put one source into the new root, which is the current folder. */
static int place(const struct source *s, struct tr_err *err)
{
    char parent[DEST_MAX];

    (void)snprintf(parent, sizeof(parent), "%s", s->dest);
    char *slash = strrchr(parent, '/');
    if (slash) {
        *slash = 0;
        int r = tr_fs_mkdirs(AT_FDCWD, parent, 0755, err);
        if (r < 0)
            return r;
    }
    if (s->tree < 0) {
        if (symlink(s->link, s->dest) < 0)
            return tr_fail(err, TR_E_IO, errno, "make link '%s'", s->dest);
        return 0;
    }
    int made = s->folder ? mkdir(s->dest, 0755)
                         : open(s->dest, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (made < 0 && errno != EEXIST)
        return tr_fail(err, TR_E_IO, errno, "make place for '%s'", s->dest);
    if (!s->folder)
        tr_close(&made);
    bool device = strncmp(s->dest, "dev/", 4) == 0;
    uint64_t attr =
        MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | (device ? MOUNT_ATTR_NOEXEC : MOUNT_ATTR_NODEV);
    if (set_attr(s->tree, "", AT_EMPTY_PATH | AT_RECURSIVE, attr) < 0)
        return tr_fail(err, TR_E_IO, errno, "make '%s' read-only", s->dest);
    if (syscall(SYS_move_mount, s->tree, "", AT_FDCWD, s->dest, MOVE_MOUNT_F_EMPTY_PATH) < 0)
        return tr_fail(err, TR_E_IO, errno, "mount '%s'", s->dest);
    return 0;
}

/* A folder of the work file system at its place inside, with flags of its own. */
static int show_work(const char *from, const char *dest, uint64_t attr, struct tr_err *err)
{
    tr_autoclose int tree =
        (int)syscall(SYS_open_tree, AT_FDCWD, from, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

    if (tree < 0)
        return tr_fail(err, TR_E_IO, errno, "clone '%s'", from);
    /* nosymfollow came with Linux 5.14's mount_setattr; without it openat2 still follows nothing.
     */
    if (set_attr(tree, "", AT_EMPTY_PATH, attr) < 0 &&
        set_attr(tree, "", AT_EMPTY_PATH, attr & ~(uint64_t)MOUNT_ATTR_NOSYMFOLLOW) < 0)
        return tr_fail(err, TR_E_IO, errno, "flags of '%s'", dest);
    if (syscall(SYS_move_mount, tree, "", AT_FDCWD, dest, MOVE_MOUNT_F_EMPTY_PATH) < 0)
        return tr_fail(err, TR_E_IO, errno, "mount '%s'", dest);
    return 0;
}

static int mount_work(const struct box_config *cfg, const struct box_ids *ids,
                      struct box_work *work, struct tr_err *err)
{
    const uint64_t plain = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
    char options[128];

    if (mkdir("w", 0755) < 0 || mkdir("tmp", 0755) < 0 || mkdir("dev/shm", 0755) < 0 ||
        mkdir("mnt", 0700) < 0)
        return tr_fail(err, TR_E_IO, errno, "make the work folders");
    /* Our own six names (root, four folders, and one being replaced) come on top. */
    (void)snprintf(options, sizeof(options), "mode=0700,size=%llu,nr_inodes=%llu",
                   (unsigned long long)cfg->work_bytes, (unsigned long long)cfg->work_files + 6);
    if (mount("tribunal", "mnt", "tmpfs", MS_NOSUID | MS_NODEV, options) < 0)
        return tr_fail(err, TR_E_IO, errno, "mount the work folder");
    tr_autoclose int top = open("mnt", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (top < 0)
        return tr_fail(err, TR_E_IO, errno, "open the work folder");
    int r = box_work_make(work, top, ids->two, err);
    if (r == 0)
        r = show_work("mnt/w", "w", plain | MOUNT_ATTR_NOSYMFOLLOW, err);
    if (r == 0)
        r = show_work("mnt/tmp", "tmp", plain | MOUNT_ATTR_NOEXEC, err);
    if (r == 0)
        r = show_work("mnt/shm", "dev/shm", plain | MOUNT_ATTR_NOEXEC, err);
    if (r < 0)
        return r;
    if (umount2("mnt", MNT_DETACH) < 0 || rmdir("mnt") < 0)
        return tr_fail(err, TR_E_IO, errno, "hide the store");
    return 0;
}

/* The first process's own view: detached, so no path leads there, and with the program's processes,
 * which the one inside hides from everybody but their owner. */
static int own_proc(void)
{
    tr_autoclose int fs = (int)syscall(SYS_fsopen, "proc", FSOPEN_CLOEXEC);

    if (fs < 0 || syscall(SYS_fsconfig, fs, FSCONFIG_SET_STRING, "subset", "pid", 0) < 0 ||
        syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
        return -1;
    return (int)syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC,
                        MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
}

/* Read-only to the program. Where the kernel refuses a new /proc (a container whose own one is
 * masked) the folder stays empty. */
static int mount_proc(int *ret_proc, struct tr_err *err)
{
    const unsigned long flags = MS_NOSUID | MS_NODEV | MS_NOEXEC;

    *ret_proc = -1;
    if (mkdir("proc", 0555) < 0)
        return tr_fail(err, TR_E_IO, errno, "make /proc");
    if (mount("proc", "proc", "proc", flags, "hidepid=2,subset=pid") < 0) {
        if (errno == EPERM)
            return 0;
        return tr_fail(err, TR_E_IO, errno, "mount /proc");
    }
    *ret_proc = own_proc();
    if (*ret_proc < 0 || set_attr(AT_FDCWD, "proc", 0, MOUNT_ATTR_RDONLY) < 0)
        return tr_fail(err, TR_E_IO, errno, "make /proc read-only");
    return 0;
}

static int make_dev_links(struct tr_err *err)
{
    if (symlink("/proc/self/fd", "dev/fd") < 0 || symlink("/proc/self/fd/0", "dev/stdin") < 0 ||
        symlink("/proc/self/fd/1", "dev/stdout") < 0 ||
        symlink("/proc/self/fd/2", "dev/stderr") < 0)
        return tr_fail(err, TR_E_IO, errno, "make links in /dev");
    return 0;
}

/* Into a tmpfs that covers some folder; any will do, it is our own mount namespace. */
static int enter_new_root(struct tr_err *err)
{
    static const char *const places[] = {"/tmp", "/mnt", "/var", "/usr"};

    for (size_t i = 0; i < TR_ARRAY_LEN(places); i++) {
        if (mount("tribunal", places[i], "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=1M") < 0) {
            if (errno == ENOENT)
                continue;
            return tr_fail(err, TR_E_IO, errno, "mount the new root");
        }
        if (chdir(places[i]) < 0)
            return tr_fail(err, TR_E_IO, errno, "enter the new root");
        return 0;
    }
    return tr_fail(err, TR_E_FATAL, 0, "no folder to mount the new root on");
}

static int leave_old_root(struct tr_err *err)
{
    /* The old root ends up on top of the new one and is detached: no path leads back. */
    if (syscall(SYS_pivot_root, ".", ".") < 0)
        return tr_fail(err, TR_E_IO, errno, "pivot_root");
    if (umount2(".", MNT_DETACH) < 0)
        return tr_fail(err, TR_E_IO, errno, "detach the old root");
    if (set_attr(AT_FDCWD, "/", 0, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV) < 0)
        return tr_fail(err, TR_E_IO, errno, "make the root read-only");
    if (chdir("/w") < 0)
        return tr_fail(err, TR_E_IO, errno, "enter /w");
    return 0;
}

int box_mounts_build(struct box_mounts *m, const struct box_config *cfg, const struct box_ids *ids,
                     struct box_work *work, int *ret_proc, struct tr_err *err)
{
    (void)umask(022);
    int r = enter_new_root(err);
    for (size_t i = 0; r == 0 && i < m->n; i++)
        r = place(&m->at[i], err);
    if (r == 0)
        r = mount_work(cfg, ids, work, err);
    if (r == 0)
        r = mount_proc(ret_proc, err);
    if (r == 0)
        r = make_dev_links(err);
    if (r == 0)
        r = leave_old_root(err);
    for (size_t i = 0; i < m->n; i++)
        tr_close(&m->at[i].tree);
    return r;
}
