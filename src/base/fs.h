/* SPDX-License-Identifier: MIT
 *
 * base/fs.h - files under directory descriptors.
 *
 * Whoever works in a folder that a submission could write to holds an fd of that folder and names
 * everything below it. A link, a device, a FIFO or a mount inside is never followed or opened.
 */
#ifndef BASE_FS_H
#define BASE_FS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"

/* openat2 with RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV and
 * O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK. Returns an fd that the caller closes, or TR_E_NOTFOUND,
 * TR_E_DENIED (the path tries to leave) or TR_E_IO. */
int tr_fs_open_beneath(int dirfd, const char *path, int flags, mode_t mode, struct tr_err *err);

/* A regular file for reading, of at most `max` bytes; anything else is an error. The trusted form
 * follows links on the way (for configuration and command-line arguments), the other does not. */
int tr_fs_open_regular(int dirfd, const char *path, uint64_t max, uint64_t *ret_size,
                       struct tr_err *err);
int tr_fs_open_regular_trusted(const char *path, uint64_t max, uint64_t *ret_size,
                               struct tr_err *err);

/* The rest of fd, appended to b, whose ceiling is the limit. */
int tr_fs_read_all(int fd, struct tr_buf *b, const char *what, struct tr_err *err);

/* A whole file that a person named; the ceiling is b->max. */
int tr_fs_read_file(const char *path, struct tr_buf *b, struct tr_err *err);

/* All bytes or an error; EINTR and short writes are dealt with. */
int tr_fs_write_all(int fd, const void *bytes, size_t len, struct tr_err *err);

/* Replace dirfd/name so that a reader sees the old or the new bytes and a crash leaves one of them:
 * temporary file, fsync, rename, fsync of the folder. */
int tr_fs_replace(int dirfd, const char *name, const void *bytes, size_t len, mode_t mode,
                  struct tr_err *err);

/* mkdir -p below dirfd (or AT_FDCWD); what exists already stays as it is. */
int tr_fs_mkdirs(int dirfd, const char *path, mode_t mode, struct tr_err *err);

/* Remove dirfd/name and all below it, not following links and not crossing mounts; a missing name
 * is fine. Needs a constant number of fds and no recursion, however deep the tree is, and opens
 * folders of mode 000. Returns how many entries went (>= 0) or TR_E_*. */
int64_t tr_fs_remove_tree(int dirfd, const char *name, struct tr_err *err);

/* The same for everything inside dirfd; the folder itself stays. */
int64_t tr_fs_empty_dir(int dirfd, struct tr_err *err);

/* A new private folder below $TMPDIR or /tmp, "tribunal-<purpose>-XXXXXX", mode 0700. The caller
 * frees *ret_path and removes the folder. */
int tr_fs_temp_dir(const char *purpose, char **ret_path, int *ret_fd, struct tr_err *err);

#endif
