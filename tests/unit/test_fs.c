/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fs.h"
#include "unit.h"

struct place {
    char *path;
    int fd;
};

static int make_place(void **state)
{
    struct place *p = calloc(1, sizeof(*p));

    if (tr_fs_temp_dir("unit", &p->path, &p->fd, NULL) < 0)
        return -1;
    *state = p;
    return 0;
}

static int drop_place(void **state)
{
    struct place *p = *state;
    int64_t r = tr_fs_remove_tree(AT_FDCWD, p->path, NULL);

    close(p->fd);
    free(p->path);
    free(p);
    return r < 0 ? -1 : 0;
}

static void put(int dirfd, const char *name, const char *text)
{
    tr_autoclose int fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

    assert_true(fd >= 0);
    assert_int_equal(tr_fs_write_all(fd, text, strlen(text), NULL), 0);
}

static void nothing_outside_the_folder_can_be_opened(void **state)
{
    static const struct {
        const char *label;
        const char *path;
        int want;
    } rows[] = {
        {"a file", "file", 0},
        {"a file in a folder", "sub/file", 0},
        {"missing", "nope", TR_E_NOTFOUND},
        {"through a file", "file/x", TR_E_NOTFOUND},
        {"parent", "../x", TR_E_DENIED},
        {"parent, hidden in the middle", "sub/../../etc/passwd", TR_E_DENIED},
        {"absolute", "/etc/passwd", TR_E_DENIED},
        {"link to a file", "link", TR_E_DENIED},
        {"link that leaves", "out", TR_E_DENIED},
        {"folder link", "sublink/file", TR_E_DENIED},
        {"a folder", "sub", TR_E_USAGE},
        {"a fifo does not block", "fifo", TR_E_USAGE},
        {"too large", "large", TR_E_LIMIT},
    };
    struct place *p = *state;

    put(p->fd, "file", "hello");
    put(p->fd, "large", "0123456789-too-much");
    assert_int_equal(mkdirat(p->fd, "sub", 0755), 0);
    put(p->fd, "sub/file", "hello");
    assert_int_equal(symlinkat("file", p->fd, "link"), 0);
    assert_int_equal(symlinkat("/etc/passwd", p->fd, "out"), 0);
    assert_int_equal(symlinkat("sub", p->fd, "sublink"), 0);
    assert_int_equal(mkfifoat(p->fd, "fifo", 0644), 0);
    for (size_t i = 0; i < TR_ARRAY_LEN(rows); i++) {
        uint64_t size = 99;
        tr_autoclose int fd = tr_fs_open_regular(p->fd, rows[i].path, 10, &size, NULL);

        ROW(rows[i].label);
        if (rows[i].want == 0) {
            assert_true(fd >= 0);
            assert_int_equal(size, 5);
        } else {
            assert_int_equal(fd, rows[i].want);
        }
    }
}

static void a_file_is_read_whole_or_refused(void **state)
{
    struct place *p = *state;
    TR_CLEANUP(tr_buf_done) struct tr_buf b;
    tr_autofree char *path = NULL;
    struct tr_err err = TR_ERR_INIT;

    assert_true(asprintf(&path, "%s/f", p->path) > 0);
    put(p->fd, "f", "12345");
    tr_buf_init(&b, 5);
    assert_int_equal(tr_fs_read_file(path, &b, &err), 0);
    assert_string_equal(b.data, "12345");
    tr_buf_done(&b);
    tr_buf_init(&b, 4);
    assert_int_equal(tr_fs_read_file(path, &b, &err), TR_E_LIMIT);
    /* A file that grows between stat and read meets the same ceiling. */
    tr_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(tr_fs_read_all(fd, &b, "f", &err), TR_E_LIMIT);
    assert_int_equal(tr_fs_read_file(p->path, &b, &err), TR_E_USAGE);
    assert_non_null(strstr(err.msg, "is a folder, expected a file"));
}

static void replacing_leaves_old_or_new_and_no_rest(void **state)
{
    struct place *p = *state;
    struct stat st;

    assert_int_equal(tr_fs_replace(p->fd, "f", "old", 3, 0600, NULL), 0);
    assert_int_equal(tr_fs_replace(p->fd, "f", "newer", 5, 0600, NULL), 0);
    assert_int_equal(fstatat(p->fd, "f", &st, 0), 0);
    assert_int_equal(st.st_size, 5);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(tr_fs_replace(p->fd, "no/f", "x", 1, 0600, NULL), TR_E_IO);
    assert_int_equal(mkdirat(p->fd, "d", 0755), 0);
    assert_int_equal(tr_fs_replace(p->fd, "d", "x", 1, 0600, NULL), TR_E_IO);
    assert_int_equal(tr_fs_empty_dir(p->fd, NULL), 2); /* f and d: no temporary file was left */
}

static void folders_are_made_along_the_way(void **state)
{
    struct place *p = *state;

    assert_int_equal(tr_fs_mkdirs(p->fd, "a/b//c/", 0755, NULL), 0);
    assert_int_equal(tr_fs_mkdirs(p->fd, "a/b/c", 0755, NULL), 0);
    put(p->fd, "file", "");
    assert_int_equal(tr_fs_mkdirs(p->fd, "file", 0755, NULL), TR_E_USAGE);
    assert_int_equal(tr_fs_mkdirs(p->fd, "file/x", 0755, NULL), TR_E_NOTFOUND);
}

static void a_hostile_tree_is_removed_whole(void **state)
{
    struct place *p = *state;

    /* 5,000 levels: longer than PATH_MAX, so made by walking down. */
    int dir = openat(p->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; i < 5000; i++) {
        assert_int_equal(mkdirat(dir, "d", 0700), 0);
        int next = openat(dir, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(next >= 0);
        if (i % 100 == 0) {
            put(dir, "file with\nnewline", "");
            assert_int_equal(fchmod(dir, i == 0 ? 0700 : 0), 0);
        }
        close(dir);
        dir = next;
    }
    close(dir);
    assert_int_equal(mkdirat(p->fd, "closed", 0700), 0);
    put(p->fd, "closed/x", "");
    assert_int_equal(mkdirat(p->fd, "closed/inner", 0700), 0);
    put(p->fd, "closed/inner/y", "");
    put(p->fd, ".tribunal-lifted-0", "in the way");
    assert_int_equal(symlinkat("/", p->fd, "root"), 0);
    assert_int_equal(symlinkat(".", p->fd, "closed/self"), 0);
    assert_int_equal(mkfifoat(p->fd, "fifo", 0), 0);
    assert_int_equal(fchmodat(p->fd, "closed", 0, 0), 0);
    assert_true(tr_fs_empty_dir(p->fd, NULL) >= 5000);
    assert_int_equal(tr_fs_empty_dir(p->fd, NULL), 0);
    assert_int_equal(access("/etc/passwd", F_OK), 0);
}

static void removing_what_is_not_there_is_fine(void **state)
{
    struct place *p = *state;

    assert_int_equal(tr_fs_remove_tree(p->fd, "nope", NULL), 0);
    put(p->fd, "file", "");
    assert_int_equal(tr_fs_remove_tree(p->fd, "file", NULL), 1);
    assert_int_equal(symlinkat("/etc", p->fd, "link"), 0);
    assert_int_equal(tr_fs_remove_tree(p->fd, "link", NULL), 1);
    assert_int_equal(access("/etc/passwd", F_OK), 0);
}

int main(void)
{
#define IN_PLACE(f) cmocka_unit_test_setup_teardown(f, make_place, drop_place)
    const struct CMUnitTest tests[] = {
        IN_PLACE(nothing_outside_the_folder_can_be_opened),
        IN_PLACE(a_file_is_read_whole_or_refused),
        IN_PLACE(replacing_leaves_old_or_new_and_no_rest),
        IN_PLACE(folders_are_made_along_the_way),
        IN_PLACE(a_hostile_tree_is_removed_whole),
        IN_PLACE(removing_what_is_not_there_is_fine),
    };
    return RUN(tests);
}
