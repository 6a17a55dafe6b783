/* SPDX-License-Identifier: MIT
 *
 * memfile.c - small files that never touch a disk.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fs.h"
#include "judge/judge_private.h"
#include "judge/stream.h"

int empty_memory_file(const char *name, int *ret_fd, struct tr_err *err)
{
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

    if (fd < 0)
        return tr_fail(err, TR_E_IO, errno, "make a memory file");
    *ret_fd = fd;
    return 0;
}

int memory_file(const char *name, const void *bytes, size_t len, int *ret_fd, struct tr_err *err)
{
    tr_autoclose int fd = -1;
    int r = empty_memory_file(name, &fd, err);

    if (r == 0)
        r = tr_fs_write_all(fd, bytes, len, err);
    if (r < 0)
        return r;
    if (lseek(fd, 0, SEEK_SET) < 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) < 0)
        return tr_fail(err, TR_E_IO, errno, "seal a memory file");
    *ret_fd = tr_take_fd(&fd);
    return 0;
}

int file_text(int fd, size_t max, struct tr_arena *arena, const char **ret, size_t *ret_len,
              struct tr_err *err)
{
    char *text = tr_arena_alloc(arena, max + 1);

    if (!text)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory to read a file");
    size_t n = tr_bytes_at((struct tr_bytes){.fd = fd}, 0, text, max);
    text[n] = 0;
    *ret = text;
    *ret_len = n;
    return 0;
}
