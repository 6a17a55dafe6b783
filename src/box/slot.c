/* SPDX-License-Identifier: MIT
 *
 * slot.c - a number that no other helper on this host has.
 *
 * From it come the uids of a container and the name of its cgroup. Two boxes with one uid could
 * signal each other and would share RLIMIT_NPROC. The lock is an open file, so it vanishes with its
 * holder however that ends; who gets the number next clears what was left under it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fs.h"
#include "box/container.h"

enum {
    SLOTS_MAX = 4096
};

/* A folder that is ours alone, made if need be. */
static int open_own(const char *path, struct tr_err *err)
{
    struct stat st;

    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return tr_fail(err, TR_E_IO, errno, "make '%s'", path);
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    /* In /tmp somebody else may have been first: then it is not ours to trust. */
    if (dir < 0 || fstat(dir, &st) < 0 || st.st_uid != geteuid() || (st.st_mode & 022) != 0) {
        tr_close(&dir);
        return tr_fail(err, TR_E_DENIED, 0, "'%s' is not a folder of ours alone", path);
    }
    return dir;
}

/* Root: one place for the host. Others: their own runtime folder, since uids are their own too.
 * /tmp where neither can be written. */
static int open_folder(struct tr_err *err)
{
    const char *runtime = secure_getenv("XDG_RUNTIME_DIR");
    char path[256] = "";
    int dir = TR_E_IO;

    if (geteuid() == 0)
        (void)snprintf(path, sizeof(path), "/run/tribunal-box");
    else if (runtime && runtime[0] == '/')
        (void)snprintf(path, sizeof(path), "%.200s/tribunal-box", runtime);
    if (*path)
        dir = open_own(path, err);
    if (dir >= 0)
        return dir;
    (void)snprintf(path, sizeof(path), "/tmp/tribunal-box-%u", geteuid());
    return open_own(path, err);
}

int box_slot_take(struct box_slot *ret, struct tr_err *err)
{
    tr_autoclose int dir = open_folder(err);

    if (dir < 0)
        return dir;
    for (unsigned n = 0; n < SLOTS_MAX; n++) {
        char name[16];

        (void)snprintf(name, sizeof(name), "slot-%u", n);
        int fd = openat(dir, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd < 0)
            return tr_fail(err, TR_E_IO, errno, "open lock '%s'", name);
        if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
            *ret = (struct box_slot){.number = n, .lock = fd};
            return 0;
        }
        tr_close(&fd);
    }
    return tr_fail(err, TR_E_BUSY, 0, "all %d slots are taken", SLOTS_MAX);
}
