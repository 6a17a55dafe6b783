/* SPDX-License-Identifier: MIT
 *
 * unzip.c - libzip inside hard ceilings.
 */
#include "data/unzip.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zip.h>

#include "base/cleanup.h"
#include "base/fs.h"
#include "codec/zipname.h"

void tr_unzip_limits_default(struct tr_unzip_limits *l)
{
    *l = (struct tr_unzip_limits){
        .entries = 10000,
        .bytes = UINT64_C(2) << 30,
        .ratio = 1000, /* deflate itself ends at 1032; text of real tests stays below 100 */
    };
}

struct job {
    zip_t *zip;
    int dirfd;
    const struct tr_unzip_limits *limits;
    uint64_t written;
    struct tr_err *err;
};

enum {
    BLOCK = 16 * 1024,       /* on the stack */
    RATIO_FROM = 1024 * 1024 /* a small file of zeros may pack as well as it likes */
};

static void closep(zip_t **z)
{
    if (*z)
        zip_discard(*z);
}

static void fclosep(zip_file_t **f)
{
    if (*f)
        (void)zip_fclose(*f);
}

static int refuse_kind(struct job *j, zip_uint64_t i, const char *name, const zip_stat_t *st)
{
    zip_uint8_t system = 0;
    zip_uint32_t attributes = 0;

    if ((st->valid & ZIP_STAT_ENCRYPTION_METHOD) && st->encryption_method != ZIP_EM_NONE)
        return tr_fail(j->err, TR_E_PARSE, 0, "the archive's '%.64s' is encrypted", name);
    if (zip_file_get_external_attributes(j->zip, i, 0, &system, &attributes) != 0 ||
        system != ZIP_OPSYS_UNIX)
        return 0;
    mode_t mode = attributes >> 16;
    if ((mode & S_IFMT) != 0 && !S_ISREG(mode) && !S_ISDIR(mode))
        return tr_fail(j->err, TR_E_PARSE, 0, "the archive's '%.64s' is %s, not a file", name,
                       S_ISLNK(mode) ? "a symbolic link" : "a special file");
    return 0;
}

/* The name was checked: it fits. */
static int make_folder(struct job *j, const char *name, size_t len)
{
    char path[TR_ZIP_NAME_MAX + 1];

    memcpy(path, name, len);
    path[len] = 0;
    return tr_fs_mkdirs(j->dirfd, path, 0755, j->err);
}

static int make_parents(struct job *j, const char *name)
{
    const char *slash = strrchr(name, '/');

    if (!slash)
        return 0;
    return make_folder(j, name, (size_t)(slash - name));
}

static int count(struct job *j, const char *name, uint64_t add, uint64_t file, uint64_t packed)
{
    j->written += add;
    if (j->written > j->limits->bytes)
        return tr_fail(j->err, TR_E_LIMIT, 0,
                       "the archive unpacks to more than %llu bytes, at '%.64s'",
                       (unsigned long long)j->limits->bytes, name);
    if (file > RATIO_FROM && file / (packed ? packed : 1) > j->limits->ratio)
        return tr_fail(j->err, TR_E_LIMIT, 0,
                       "the archive's '%.64s' grows to more than %llu times its packed size", name,
                       (unsigned long long)j->limits->ratio);
    return 0;
}

static int copy_out(struct job *j, zip_uint64_t i, const char *name, uint64_t packed)
{
    TR_CLEANUP(fclosep) zip_file_t *from = zip_fopen_index(j->zip, i, 0);
    uint64_t size = 0;
    char block[BLOCK];

    if (!from)
        return tr_fail(j->err, TR_E_PARSE, 0, "cannot unpack '%.64s': %s", name,
                       zip_strerror(j->zip));
    tr_autoclose int to =
        tr_fs_open_beneath(j->dirfd, name, O_WRONLY | O_CREAT | O_EXCL, 0644, j->err);
    if (to < 0)
        return to;
    for (;;) {
        zip_int64_t n = zip_fread(from, block, BLOCK);

        if (n < 0)
            return tr_fail(j->err, TR_E_PARSE, 0, "cannot unpack '%.64s': %s", name,
                           zip_file_strerror(from));
        if (n == 0)
            return 0;
        size += (uint64_t)n;
        int r = count(j, name, (uint64_t)n, size, packed);
        if (r == 0)
            r = tr_fs_write_all(to, block, (size_t)n, j->err);
        if (r < 0)
            return r;
    }
}

static int unpack_one(struct job *j, zip_uint64_t i)
{
    zip_stat_t st;
    bool folder = false;

    if (zip_stat_index(j->zip, i, 0, &st) != 0 || !(st.valid & ZIP_STAT_NAME))
        return tr_fail(j->err, TR_E_PARSE, 0, "the archive's entry %llu has no name",
                       (unsigned long long)i);
    const char *name = st.name;
    int r = tr_zip_name_check(name, strlen(name), &folder, j->err);
    if (r == 0)
        r = refuse_kind(j, i, name, &st);
    if (r == 0 && folder)
        return make_folder(j, name, strlen(name) - 1);
    /* The claimed size is a reason to stop early, never a reason to go on. */
    if (r == 0 && (st.valid & ZIP_STAT_SIZE) && st.size > j->limits->bytes)
        r = tr_fail(j->err, TR_E_LIMIT, 0, "the archive's '%.64s' unpacks to more than %llu bytes",
                    name, (unsigned long long)j->limits->bytes);
    if (r == 0)
        r = make_parents(j, name);
    if (r == 0)
        r = copy_out(j, i, name, st.valid & ZIP_STAT_COMP_SIZE ? st.comp_size : 0);
    return r;
}

int tr_unzip(int fd, int dirfd, const struct tr_unzip_limits *limits, struct tr_err *err)
{
    int code = 0;
    tr_autoclose int own = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    if (own < 0)
        return tr_fail(err, TR_E_IO, errno, "duplicate the archive's descriptor");
    TR_CLEANUP(closep) zip_t *zip = zip_fdopen(own, ZIP_CHECKCONS, &code);
    if (!zip)
        return tr_fail(err, TR_E_PARSE, 0, "not a zip archive that can be read");
    (void)tr_take_fd(&own); /* libzip closes it */

    struct job j = {.zip = zip, .dirfd = dirfd, .limits = limits, .err = err};
    zip_int64_t n = zip_get_num_entries(zip, 0);
    if (n < 0 || (uint64_t)n > limits->entries)
        return tr_fail(err, TR_E_LIMIT, 0, "the archive has %lld entries; at most %llu are taken",
                       (long long)n, (unsigned long long)limits->entries);
    for (zip_int64_t i = 0; i < n; i++) {
        int r = unpack_one(&j, (zip_uint64_t)i);
        if (r < 0)
            return r;
    }
    return 0;
}
