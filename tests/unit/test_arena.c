/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "unit.h"

static void pieces_are_zeroed_aligned_and_apart(void **state)
{
    struct tr_arena a;
    unsigned char *before = NULL;

    tr_arena_init(&a, 1 << 20);
    for (size_t i = 0; i < 2000; i++) {
        unsigned char *p = tr_arena_alloc(&a, i % 97);

        assert_non_null(p);
        assert_int_equal((uintptr_t)p % _Alignof(max_align_t), 0);
        for (size_t j = 0; j < i % 97; j++)
            assert_int_equal(p[j], 0);
        memset(p, 0xff, i % 97);
        assert_ptr_not_equal(p, before);
        before = p;
    }
    tr_arena_done(&a);
}

static void the_ceiling_ends_in_null_and_small_ones_still_fit(void **state)
{
    struct tr_arena a;

    tr_arena_init(&a, 64 * 1024);
    assert_null(tr_arena_alloc(&a, 64 * 1024));
    volatile size_t absurd = SIZE_MAX; /* volatile: the compiler would refuse it at sight */
    assert_null(tr_arena_alloc(&a, absurd));
    assert_null(tr_arena_alloc(&a, absurd - 8));
    assert_null(tr_arena_array(&a, SIZE_MAX / 2, 3));
    assert_non_null(tr_arena_alloc(&a, 100));
    size_t n = 0;
    while (tr_arena_alloc(&a, 1000))
        n++;
    assert_in_range(n, 45, 64);
    assert_true(a.held <= a.max);
    tr_arena_done(&a);
    assert_int_equal(a.held, 0);
}

static void a_large_piece_leaves_the_current_chunk_in_use(void **state)
{
    struct tr_arena a;

    tr_arena_init(&a, 1 << 20);
    char *first = tr_arena_alloc(&a, 16);
    assert_non_null(tr_arena_alloc(&a, 100 * 1024));
    char *second = tr_arena_alloc(&a, 16);
    assert_ptr_equal(second, first + 16);
    tr_arena_done(&a);
}

static void texts_are_copied_whole(void **state)
{
    struct tr_arena a;

    tr_arena_init(&a, 1 << 20);
    assert_string_equal(tr_arena_strdup(&a, "héllo"), "héllo");
    assert_string_equal(tr_arena_strndup(&a, "abcdef", 3), "abc");
    assert_string_equal(tr_arena_printf(&a, "%s-%d", "x", 42), "x-42");
    tr_arena_done(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_zeroed_aligned_and_apart),
        cmocka_unit_test(the_ceiling_ends_in_null_and_small_ones_still_fit),
        cmocka_unit_test(a_large_piece_leaves_the_current_chunk_in_use),
        cmocka_unit_test(texts_are_copied_whole),
    };
    return RUN(tests);
}
