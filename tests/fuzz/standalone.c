/* SPDX-License-Identifier: MIT
 *
 * standalone.c - feed every file of a corpus folder to a fuzz target once.
 *
 * Linked instead of libFuzzer in ordinary builds, so that everything the fuzzer ever found is
 * replayed by `make test`, with gcc, clang and the sanitizers alike.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay(int dirfd, const char *name)
{
    struct tr_err err = TR_ERR_INIT;
    TR_CLEANUP(tr_buf_done) struct tr_buf b;
    tr_autoclose int fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC);

    tr_buf_init(&b, 16 << 20);
    if (fd < 0 || tr_fs_read_all(fd, &b, name, &err) < 0) {
        (void)fprintf(stderr, "%s: %s\n", name, err.msg);
        return -1;
    }
    (void)fprintf(stderr, "# %s\n", name);
    (void)LLVMFuzzerTestOneInput((const uint8_t *)b.data, b.len);
    return 0;
}

int main(int argc, char **argv)
{
    DIR *d = argc == 2 ? opendir(argv[1]) : NULL;
    int files = 0;

    if (!d) {
        (void)fprintf(stderr, "usage: %s CORPUS_FOLDER\n", argv[0]);
        return 2;
    }
    for (struct dirent *e = readdir(d); e; e = readdir(d)) {
        if (e->d_name[0] == '.')
            continue;
        if (replay(dirfd(d), e->d_name) < 0)
            return 1;
        files++;
    }
    (void)closedir(d);
    (void)fprintf(stderr, "%d inputs replayed\n", files);
    return files > 0 ? 0 : 1; /* an empty corpus proves nothing */
}
