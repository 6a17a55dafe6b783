/* SPDX-License-Identifier: MIT
 *
 * Property: whatever archive a stranger uploads, it is unpacked under its ceilings or refused with
 * a sentence; nothing appears outside the folder, and nothing in it but files and folders with the
 * modes that were promised.
 */
#include <assert.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fs.h"
#include "data/unzip.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    ENTRIES = 64,
    BYTES = 1 << 20
};

static struct {
    uint64_t entries, bytes;
} seen;

static int look(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)path;
    if (at->level == 0)
        return 0;
    assert((type == FTW_F && (st->st_mode & 07777) == 0644) ||
           (type == FTW_D && (st->st_mode & 07777) == 0755));
    seen.entries += 1;
    seen.bytes += type == FTW_F ? (uint64_t)st->st_size : 0;
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct tr_unzip_limits limits = {.entries = ENTRIES, .bytes = BYTES, .ratio = 100};
    char folder[] = "/dev/shm/tribunal-fuzz-XXXXXX";
    struct tr_err err = TR_ERR_INIT;
    tr_autoclose int fd = memfd_create("zip", MFD_CLOEXEC);

    if (fd < 0 || tr_fs_write_all(fd, data, size, &err) < 0 || !mkdtemp(folder))
        abort();
    tr_autoclose int dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert(dir >= 0);
    int r = tr_unzip(fd, dir, &limits, &err);
    assert(r == 0 || err.msg[0]);
    seen.entries = seen.bytes = 0;
    (void)nftw(folder, look, 8, FTW_PHYS);
    /* folders on the way to a file are not entries of the archive: at most as deep as names go */
    assert(seen.bytes <= BYTES && seen.entries <= ENTRIES * 16);
    (void)tr_fs_remove_tree(AT_FDCWD, folder, NULL);
    return 0;
}
