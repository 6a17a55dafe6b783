/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zip.h>

#include "base/cleanup.h"
#include "base/fs.h"
#include "codec/zipname.h"
#include "data/package.h"
#include "unit.h"

struct place {
    char *path;
    int fd;
};

static struct place make_place(void)
{
    struct place p = {.fd = -1};

    assert_int_equal(tr_fs_temp_dir("unzip", &p.path, &p.fd, NULL), 0);
    assert_int_equal(mkdirat(p.fd, "out", 0755), 0);
    return p;
}

static void drop_place(struct place *p)
{
    assert_true(tr_fs_remove_tree(AT_FDCWD, p->path, NULL) > 0);
    (void)close(p->fd);
    free(p->path);
}

/* One entry; `mode` 0 leaves the attributes alone. */
static int make_zip(const struct place *p, const char *name, const void *bytes, size_t len,
                    mode_t mode)
{
    char path[4200];
    int code = 0;

    (void)snprintf(path, sizeof(path), "%s/a.zip", p->path);
    zip_t *z = zip_open(path, ZIP_CREATE | ZIP_TRUNCATE, &code);
    assert_non_null(z);
    zip_source_t *s = zip_source_buffer(z, bytes, len, 0);
    zip_int64_t i = name[strlen(name) - 1] == '/' ? zip_dir_add(z, name, ZIP_FL_ENC_UTF_8)
                                                  : zip_file_add(z, name, s, ZIP_FL_ENC_UTF_8);
    assert_true(i >= 0);
    if (name[strlen(name) - 1] == '/')
        zip_source_free(s);
    if (mode)
        assert_int_equal(zip_file_set_external_attributes(z, (zip_uint64_t)i, 0, ZIP_OPSYS_UNIX,
                                                          (zip_uint32_t)mode << 16),
                         0);
    assert_int_equal(zip_close(z), 0);
    return open(path, O_RDONLY | O_CLOEXEC);
}

static int unpack(const struct place *p, int zip, const struct tr_unzip_limits *l,
                  struct tr_err *err)
{
    tr_autoclose int out = openat(p->fd, "out", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    return tr_unzip(zip, out, l, err);
}

static void names_that_could_surprise_are_refused(void **state)
{
    static const struct {
        const char *name;
        bool good;
    } rows[] = {
        {"1.in", true},
        {"data/secret/1.in", true},
        {"data/", true},
        {"..a/b", true},
        {"\xc3\xa4.in", true},
        {"", false},
        {"/etc/passwd", false},
        {"../x", false},
        {"a/../../x", false},
        {"a/./b", false},
        {"a//b", false},
        {"a\\b", false},
        {"C:x", false},
        {"a\nb", false},
        {"a\x1b[31m", false},
        {"\xff", false},
        {"a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q", false},
    };

    for (size_t i = 0; i < TR_ARRAY_LEN(rows); i++) {
        bool folder = false;
        int r = tr_zip_name_check(rows[i].name, strlen(rows[i].name), &folder, NULL);

        ROW(rows[i].name);
        assert_int_equal(r == 0, rows[i].good);
    }
    assert_int_equal(tr_zip_name_check("a\0b", 3, &(bool){false}, NULL), TR_E_PARSE);
}

static void an_ordinary_archive_is_unpacked(void **state)
{
    struct tr_err err = TR_ERR_INIT;
    struct tr_unzip_limits l;
    struct place p = make_place();
    struct stat st;
    tr_autoclose int zip = make_zip(&p, "data/secret/1.in", "1 2\n", 4, S_IFREG | 06777);

    tr_unzip_limits_default(&l);
    assert_int_equal(unpack(&p, zip, &l, &err), 0);
    assert_int_equal(fstatat(p.fd, "out/data/secret/1.in", &st, 0), 0);
    assert_int_equal(st.st_size, 4);
    assert_int_equal(st.st_mode & 07111, 0);
    drop_place(&p);
}

static void links_and_slips_are_refused(void **state)
{
    static const struct {
        const char *name;
        mode_t mode;
        const char *says;
    } rows[] = {{"../evil", 0, "leaves its folder"},
                {"link", S_IFLNK | 0777, "symbolic link"},
                {"fifo", S_IFIFO | 0666, "special file"}};

    for (size_t i = 0; i < TR_ARRAY_LEN(rows); i++) {
        struct tr_err err = TR_ERR_INIT;
        struct tr_unzip_limits l;
        struct place p = make_place();
        tr_autoclose int zip = make_zip(&p, rows[i].name, "/etc/passwd", 11, rows[i].mode);

        ROW(rows[i].name);
        tr_unzip_limits_default(&l);
        assert_int_equal(unpack(&p, zip, &l, &err), TR_E_PARSE);
        assert_non_null(strstr(err.msg, rows[i].says));
        drop_place(&p);
    }
}

static void a_bomb_stops_at_its_ceilings(void **state)
{
    static char zeros[8 << 20];
    struct place p = make_place();
    tr_autoclose int zip = make_zip(&p, "zeros", zeros, sizeof(zeros), 0);
    static const struct {
        const char *label;
        struct tr_unzip_limits l;
    } rows[] = {{"bytes", {10, 1 << 20, 100000}},
                {"ratio", {10, 1 << 30, 100}},
                {"entries", {0, 1 << 30, 100000}}};

    for (size_t i = 0; i < TR_ARRAY_LEN(rows); i++) {
        struct tr_err err = TR_ERR_INIT;

        ROW(rows[i].label);
        assert_int_equal(unpack(&p, zip, &rows[i].l, &err), TR_E_LIMIT);
        assert_true(tr_fs_remove_tree(p.fd, "out", NULL) > 0);
        assert_int_equal(mkdirat(p.fd, "out", 0755), 0);
    }
    drop_place(&p);
}

static void what_is_no_archive_is_refused(void **state)
{
    struct tr_err err = TR_ERR_INIT;
    struct tr_unzip_limits l;
    struct place p = make_place();
    tr_autoclose int fd = openat(p.fd, "x", O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    tr_unzip_limits_default(&l);
    assert_int_equal(write(fd, "PK\3\4 nonsense", 13), 13);
    assert_int_equal(unpack(&p, fd, &l, &err), TR_E_PARSE);
    drop_place(&p);
}

static void a_package_is_kept_by_its_hash_or_refused(void **state)
{
    struct tr_err err = TR_ERR_INIT;
    struct place p = make_place();
    tr_autoclose int zip = make_zip(&p, "1.in", "1 2\n", 4, 0), dir = -1;
    char hash[TR_SHA256_HEX], wrong[TR_SHA256_HEX];
    struct tr_cache *c = NULL;

    assert_int_equal(tr_cache_open(p.path, 1 << 20, &c, &err), 0);
    assert_int_equal(tr_sha256_fd(zip, hash, &err), 0);
    memcpy(wrong, hash, sizeof(wrong));
    wrong[0] = wrong[0] == '0' ? '1' : '0';
    assert_int_equal(tr_package_find(c, hash, &dir, &err), TR_E_NOTFOUND);
    assert_int_equal(tr_package_add(c, zip, wrong, &dir, &err), TR_E_PARSE);
    assert_int_equal(tr_package_find(c, hash, &dir, &err), TR_E_NOTFOUND);
    assert_int_equal(tr_package_add(c, zip, hash, &dir, &err), 0);
    assert_int_equal(faccessat(dir, "1.in", R_OK, 0), 0);
    tr_close(&dir);
    assert_int_equal(tr_package_find(c, hash, &dir, &err), 0);
    tr_cache_close(c);
    drop_place(&p);
}

/* Entries of the cache's shelves that are not locks. */
static int kept(const char *path)
{
    tr_autoclose int root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int n = 0;

    assert_true(root >= 0);
    for (unsigned s = 0; s < 256; s++) {
        char shelf[3];

        (void)snprintf(shelf, sizeof(shelf), "%02x", s);
        int fd = openat(root, shelf, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *d = fd < 0 ? NULL : fdopendir(fd);

        for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d))
            n += e->d_name[0] != '.' && !strstr(e->d_name, ".lock");
        if (d)
            (void)closedir(d);
    }
    return n;
}

/* A package that finds no room is a fault, leaves nothing, and is there when there is room. */
static void a_full_disk_leaves_nothing_behind(void **state)
{
    struct tr_err err = TR_ERR_INIT;
    struct place p = make_place();
    static char noise[300000];
    char small[4200];
    tr_autoclose int dir = -1;
    struct tr_cache *c = NULL;

    (void)snprintf(small, sizeof(small), "%s/out", p.path);
    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("tmpfs", small, "tmpfs", 0, "size=128k") < 0) {
        drop_place(&p);
        (void)fprintf(stderr, "SKIP: no tmpfs CAN BE MOUNTED HERE\n");
        skip();
    }
    tr_autoclose int zip = make_zip(&p, "1.in", noise, sizeof(noise), 0);
    assert_int_equal(tr_cache_open(small, 1 << 20, &c, &err), 0);
    int r = tr_package_add(c, zip, NULL, &dir, &err);
    assert_true(r < 0 && tr_err_class(r) != TR_E_USAGE);
    assert_true(strstr(err.msg, strerror(ENOSPC)) != NULL);
    assert_int_equal(kept(small), 0);
    assert_int_equal(mount("tmpfs", small, "tmpfs", MS_REMOUNT, "size=4m"), 0);
    assert_int_equal(tr_package_add(c, zip, NULL, &dir, &err), 0);
    assert_int_equal(faccessat(dir, "1.in", R_OK, 0), 0);
    assert_int_equal(kept(small), 1);
    tr_close(&dir);
    tr_cache_close(c);
    assert_int_equal(umount2(small, MNT_DETACH), 0);
    drop_place(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_that_could_surprise_are_refused),
        cmocka_unit_test(an_ordinary_archive_is_unpacked),
        cmocka_unit_test(links_and_slips_are_refused),
        cmocka_unit_test(a_bomb_stops_at_its_ceilings),
        cmocka_unit_test(what_is_no_archive_is_refused),
        cmocka_unit_test(a_package_is_kept_by_its_hash_or_refused),
        cmocka_unit_test(a_full_disk_leaves_nothing_behind),
    };

    return RUN(tests);
}
