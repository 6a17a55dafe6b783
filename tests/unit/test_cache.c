/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fs.h"
#include "codec/sha256.h"
#include "data/cache.h"
#include "unit.h"

static void key_of(unsigned n, char out[static TR_SHA256_HEX])
{
    TR_CLEANUP(tr_sha256_freep) struct tr_sha256 *h = tr_sha256_new();

    tr_sha256_add(h, &n, sizeof(n));
    tr_sha256_end_hex(h, out);
}

static int file_of(size_t len)
{
    int fd = memfd_create("x", MFD_CLOEXEC);
    static char block[64 * 1024];

    memset(block, 'x', sizeof(block));
    while (len > 0) {
        ssize_t n = write(fd, block, len < sizeof(block) ? len : sizeof(block));

        assert_true(n > 0);
        len -= (size_t)n;
    }
    return fd;
}

static void what_was_put_is_found_and_what_was_not_is_not(void **state)
{
    struct tr_err err = TR_ERR_INIT;
    tr_autofree char *path = NULL;
    tr_autoclose int dir = -1, from = file_of(1000), got = -1;
    char key[TR_SHA256_HEX], hash[TR_SHA256_HEX], again[TR_SHA256_HEX];
    struct tr_cache *c = NULL;

    assert_int_equal(tr_fs_temp_dir("cache", &path, &dir, &err), 0);
    assert_int_equal(tr_cache_open(path, 1 << 20, &c, &err), 0);
    key_of(1, key);
    assert_int_equal(tr_cache_get(c, key, &got, &err), TR_E_NOTFOUND);
    assert_int_equal(tr_cache_put(c, key, from, NULL, &err), 0);
    assert_int_equal(tr_cache_get(c, key, &got, &err), 0);
    assert_int_equal(tr_sha256_fd(from, hash, &err), 0);
    assert_int_equal(tr_sha256_fd(got, again, &err), 0);
    assert_string_equal(hash, again);
    tr_cache_close(c);
    assert_true(tr_fs_remove_tree(AT_FDCWD, path, &err) > 0);
}

static void the_longest_unused_go_first(void **state)
{
    struct tr_err err = TR_ERR_INIT;
    tr_autofree char *path = NULL;
    tr_autoclose int dir = -1, from = file_of(64 * 1024), got = -1;
    char key[TR_SHA256_HEX];
    struct tr_cache *c = NULL;

    assert_int_equal(tr_fs_temp_dir("cache", &path, &dir, &err), 0);
    assert_int_equal(tr_cache_open(path, 5 * 64 * 1024, &c, &err), 0);
    for (unsigned i = 0; i < 10; i++) {
        char name[96];
        struct timespec times[2] = {{.tv_sec = 1000000 + i}, {.tv_sec = 1000000 + i}};

        key_of(i, key);
        assert_int_equal(tr_cache_put(c, key, from, NULL, &err), 0);
        (void)snprintf(name, sizeof(name), "%.2s/%s", key, key);
        assert_int_equal(utimensat(dir, name, times, 0), 0);
    }
    key_of(0, key);
    assert_int_equal(tr_cache_get(c, key, &got, &err), 0); /* the oldest, but used now */
    assert_true(tr_cache_trim(c, &err) >= 5);
    tr_close(&got);
    assert_int_equal(tr_cache_get(c, key, &got, &err), 0);
    tr_close(&got);
    key_of(9, key);
    assert_int_equal(tr_cache_get(c, key, &got, &err), 0);
    tr_close(&got);
    key_of(1, key);
    assert_int_equal(tr_cache_get(c, key, &got, &err), TR_E_NOTFOUND);
    tr_cache_close(c);
    assert_true(tr_fs_remove_tree(AT_FDCWD, path, &err) > 0);
}

static void a_lock_is_held_by_one(void **state)
{
    struct tr_err err = TR_ERR_INIT;
    tr_autofree char *path = NULL;
    tr_autoclose int dir = -1, lock = -1;
    char key[TR_SHA256_HEX], name[96];
    struct tr_cache *c = NULL;

    assert_int_equal(tr_fs_temp_dir("cache", &path, &dir, &err), 0);
    assert_int_equal(tr_cache_open(path, 1 << 20, &c, &err), 0);
    key_of(1, key);
    assert_int_equal(tr_cache_lock(c, key, &lock, &err), 0);
    (void)snprintf(name, sizeof(name), "%.2s/%s.lock", key, key);
    tr_autoclose int other = openat(dir, name, O_RDWR | O_CLOEXEC);
    assert_true(other >= 0);
    assert_true(flock(other, LOCK_EX | LOCK_NB) < 0);
    tr_close(&lock);
    assert_int_equal(flock(other, LOCK_EX | LOCK_NB), 0);
    tr_cache_close(c);
    assert_true(tr_fs_remove_tree(AT_FDCWD, path, &err) > 0);
}

static void folders_appear_whole_or_not_at_all(void **state)
{
    struct tr_err err = TR_ERR_INIT;
    tr_autofree char *path = NULL;
    tr_autoclose int dir = -1, in = -1, got = -1;
    char key[TR_SHA256_HEX], name[TR_CACHE_NAME];
    struct tr_cache *c = NULL;

    assert_int_equal(tr_fs_temp_dir("cache", &path, &dir, &err), 0);
    assert_int_equal(tr_cache_open(path, 1 << 20, &c, &err), 0);
    key_of(7, key);
    assert_int_equal(tr_cache_begin(c, key, name, &in, &err), 0);
    assert_int_equal(tr_fs_replace(in, "1.in", "x", 1, 0644, &err), 0);
    assert_int_equal(tr_cache_get(c, key, &got, &err), TR_E_NOTFOUND);
    assert_int_equal(tr_cache_commit(c, key, name, &err), 0);
    assert_int_equal(tr_cache_get(c, key, &got, &err), 0);
    assert_int_equal(faccessat(got, "1.in", R_OK, 0), 0);
    tr_cache_close(c);
    assert_true(tr_fs_remove_tree(AT_FDCWD, path, &err) > 0);
}

static void sha256_is_sha256(void **state)
{
    TR_CLEANUP(tr_sha256_freep) struct tr_sha256 *h = tr_sha256_new();
    char hex[TR_SHA256_HEX];

    tr_sha256_add(h, "abc", 3);
    tr_sha256_end_hex(h, hex);
    assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_put_is_found_and_what_was_not_is_not),
        cmocka_unit_test(the_longest_unused_go_first),
        cmocka_unit_test(a_lock_is_held_by_one),
        cmocka_unit_test(folders_appear_whole_or_not_at_all),
        cmocka_unit_test(sha256_is_sha256),
    };

    return RUN(tests);
}
