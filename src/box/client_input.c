/* SPDX-License-Identifier: MIT
 *
 * client_input.c - standard input that the program can read and nothing else.
 *
 * A descriptor is more than its bytes: /proc/self/fd/0 opens the file behind it again, with the
 * rights of the program's uid. A file that anybody may write, or that belongs to the very uid the
 * program runs under (a box without uids of its own), could be rewritten for the tests that follow.
 * Such a file is copied into a sealed memory file first. A folder would be a way out of the box.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fs.h"
#include "box/client.h"

/* Whether somebody with the program's uid could change the file, now or after a chmod. */
static bool writable_inside(const tbox *box, int fd, const struct stat *st)
{
    int seals = fcntl(fd, F_GET_SEALS);
    int mode = fcntl(fd, F_GETFL) & O_ACCMODE;

    if (seals >= 0 && (seals & F_SEAL_WRITE))
        return false;
    if (mode != O_RDONLY || (st->st_mode & S_IWOTH))
        return true;
    if (!box->two_uids && st->st_uid == geteuid())
        return true;
    if (!box->two_uids && (st->st_mode & S_IWGRP))
        return true;
    /* An access list may name anybody; it is too rare to be read. */
    return fgetxattr(fd, "system.posix_acl_access", NULL, 0) > 0;
}

/* From where the caller's descriptor stands to the end. */
static int copy_rest(int from, int to, struct tr_err *err)
{
    off_t at = lseek(from, 0, SEEK_CUR);
    char chunk[16384];

    for (;;) {
        ssize_t n = pread(from, chunk, sizeof(chunk), at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return tr_fail(err, TR_E_USAGE, errno, "read the input");
        if (n == 0)
            return 0;
        int r = tr_fs_write_all(to, chunk, (size_t)n, err);
        if (r < 0)
            return tr_fail_wrap(err, "copy the input");
        at += n;
    }
}

static int sealed_copy(int fd, int *ret, struct tr_err *err)
{
    tr_autoclose int copy = memfd_create("input", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    if (copy < 0)
        return tr_fail(err, TR_E_IO, errno, "memfd_create");
    int r = copy_rest(fd, copy, err);
    if (r < 0)
        return r;
    if (fcntl(copy, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) < 0 ||
        lseek(copy, 0, SEEK_SET) < 0)
        return tr_fail(err, TR_E_IO, errno, "seal the input");
    *ret = tr_take_fd(&copy);
    return 0;
}

int box_input_check(const tbox *box, int fd, int *ret_copy, struct tr_err *err)
{
    struct stat st;

    *ret_copy = -1;
    if (fd < 0)
        return 0;
    if (fstat(fd, &st) < 0 || (fcntl(fd, F_GETFL) & O_ACCMODE) == O_WRONLY)
        return tr_fail(err, TR_E_USAGE, 0, "standard input is not a descriptor open for reading");
    if (fcntl(fd, F_GETFL) & O_PATH)
        return tr_fail(err, TR_E_USAGE, 0, "standard input is opened with O_PATH");
    if (S_ISREG(st.st_mode))
        return writable_inside(box, fd, &st) ? sealed_copy(fd, ret_copy, err) : 0;
    if (S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode))
        return 0;
    return tr_fail(err, TR_E_USAGE, 0, "standard input is neither a file nor a pipe");
}
