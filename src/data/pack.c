/* SPDX-License-Identifier: MIT
 *
 * pack.c - walk a folder in order of names; hash it, or zip it.
 *
 * The folder is the operator's own, but an upload unpacked by us ends there too: nothing is
 * followed and everything is counted.
 */
#include "data/pack.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <zip.h>

#include "base/cleanup.h"

struct walk {
    const char *folder;
    uint64_t files, bytes;
    struct tr_sha256 *hash;
    zip_t *zip;
    bool contents; /* hash what is in the files, not their times */
};

static int by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

static void hash_number(struct tr_sha256 *h, uint64_t n)
{
    char text[24];

    (void)snprintf(text, sizeof(text), "%" PRIu64, n);
    tr_sha256_add_text(h, text);
}

static int hash_file(struct walk *w, const FTSENT *e, const char *name, struct tr_err *err)
{
    const struct stat *st = e->fts_statp;

    tr_sha256_add_text(w->hash, name);
    hash_number(w->hash, (uint64_t)st->st_size);
    if (!w->contents) {
        hash_number(w->hash, (uint64_t)st->st_mtim.tv_sec);
        hash_number(w->hash, (uint64_t)st->st_mtim.tv_nsec);
        hash_number(w->hash, (uint64_t)st->st_ino);
        return 0;
    }
    char hex[TR_SHA256_HEX];
    tr_autoclose int fd = open(e->fts_accpath, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return tr_fail(err, TR_E_IO, errno, "open '%s'", name);
    int r = tr_sha256_fd(fd, hex, err);
    if (r == 0)
        tr_sha256_add_text(w->hash, hex);
    return r;
}

static int zip_file(struct walk *w, const FTSENT *e, const char *name, struct tr_err *err)
{
    zip_source_t *src = zip_source_file(w->zip, e->fts_path, 0, 0);
    zip_int64_t i = src ? zip_file_add(w->zip, name, src, ZIP_FL_ENC_UTF_8) : -1;

    if (i < 0) {
        if (src)
            zip_source_free(src);
        return tr_fail(err, TR_E_IO, 0, "pack '%s': %s", name, zip_strerror(w->zip));
    }
    /* One time for all: the same files give the same archive. Level 1: judges are near. */
    (void)zip_file_set_mtime(w->zip, (zip_uint64_t)i, 315532800, 0);
    (void)zip_set_file_compression(w->zip, (zip_uint64_t)i, ZIP_CM_DEFLATE, 1);
    return 0;
}

static int visit(struct walk *w, const FTSENT *e, struct tr_err *err)
{
    const char *name = e->fts_path + strlen(w->folder) + 1;

    w->files++;
    w->bytes += (uint64_t)e->fts_statp->st_size;
    if (w->files > TR_PACK_FILES_MAX)
        return tr_fail(err, TR_E_LIMIT, 0, "more than %d files", TR_PACK_FILES_MAX);
    if (w->bytes > TR_PACK_BYTES_MAX)
        return tr_fail(err, TR_E_LIMIT, 0, "more than 2 GiB");
    return w->zip ? zip_file(w, e, name, err) : hash_file(w, e, name, err);
}

static int walk_tree(struct walk *w, FTS *fts, struct tr_err *err)
{
    FTSENT *e;
    int r = 0;

    while (r == 0 && (e = fts_read(fts))) {
        bool hidden = e->fts_level > 0 && e->fts_name[0] == '.';

        if (hidden) {
            if (e->fts_info == FTS_D)
                (void)fts_set(fts, e, FTS_SKIP);
            continue;
        }
        switch (e->fts_info) {
        case FTS_D:
        case FTS_DP:
            break;
        case FTS_F:
            r = visit(w, e, err);
            break;
        default:
            r = tr_fail(err, TR_E_PARSE, 0, "'%s' is neither a file nor a folder", e->fts_path);
            break;
        }
    }
    return r;
}

static int walk(struct walk *w, struct tr_err *err)
{
    tr_autofree char *top = strdup(w->folder);
    char *paths[] = {top, NULL};
    /* Absolute or not, the folder stays where it is: other threads have the same working folder. */
    FTS *fts = !top ? NULL : fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, by_name);

    if (!fts)
        return tr_fail(err, TR_E_IO, errno, "read '%s'", w->folder);
    int r = walk_tree(w, fts, err);
    (void)fts_close(fts);
    return r;
}

static int hash_folder(const char *folder, bool contents, char out[static TR_SHA256_HEX],
                       struct tr_err *err)
{
    TR_CLEANUP(tr_sha256_freep) struct tr_sha256 *h = tr_sha256_new();
    struct walk w = {.folder = folder, .hash = h, .contents = contents};

    if (!h)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory to hash '%s'", folder);
    int r = walk(&w, err);
    if (r == 0)
        tr_sha256_end_hex(h, out);
    return r;
}

int tr_pack_mark(const char *folder, char out[static TR_SHA256_HEX], struct tr_err *err)
{
    return hash_folder(folder, false, out, err);
}

int tr_pack_manifest(const char *folder, char out[static TR_SHA256_HEX], struct tr_err *err)
{
    return hash_folder(folder, true, out, err);
}

int tr_pack_zip(const char *folder, const char *path, char out[static TR_SHA256_HEX],
                uint64_t *ret_size, struct tr_err *err)
{
    int code = 0;
    struct walk w = {.folder = folder, .zip = zip_open(path, ZIP_CREATE | ZIP_TRUNCATE, &code)};

    if (!w.zip)
        return tr_fail(err, TR_E_IO, errno, "make '%s'", path);
    int r = walk(&w, err);
    if (r < 0 || w.files == 0) {
        zip_discard(w.zip);
        return r < 0 ? r : tr_fail(err, TR_E_PARSE, 0, "the folder is empty");
    }
    if (zip_close(w.zip) < 0) { /* writes a file beside and renames it */
        r = tr_fail(err, TR_E_IO, 0, "write '%s': %s", path, zip_strerror(w.zip));
        zip_discard(w.zip);
        return r;
    }
    struct stat st;
    tr_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0 || fsync(fd) < 0)
        return tr_fail(err, TR_E_IO, errno, "open '%s'", path);
    *ret_size = (uint64_t)st.st_size;
    return tr_sha256_fd(fd, out, err);
}
