/* SPDX-License-Identifier: MIT
 *
 * Operations of one kind come together, and none passes one that goes alone.
 */
#include "unit.h"

#include <string.h>

#include "base/gather.h"

static void one(void)
{
}

static void two(void)
{
}

/* "a1": kind a; "-1": alone. */
static tr_kind kind(const void *op)
{
    const char *name = op;

    return *name == 'a' ? one : *name == 'b' ? two : NULL;
}

static void gathers(const char *from, size_t want, const char *to)
{
    char words[64], got[64] = "";
    void *ops[16];
    size_t n = 0;

    (void)snprintf(words, sizeof(words), "%s", from);
    for (char *save = NULL, *w = strtok_r(words, " ", &save); w; w = strtok_r(NULL, " ", &save))
        ops[n++] = w;
    assert_int_equal(tr_gather(ops, n, kind), want);
    for (size_t i = 0; i < n; i++)
        (void)snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%s", i ? " " : "",
                       (const char *)ops[i]);
    assert_string_equal(got, to);
}

static void one_kind_comes_together(void **state)
{
    gathers("", 0, "");
    gathers("a1", 1, "a1");
    gathers("a1 a2 a3", 3, "a1 a2 a3");
    gathers("a1 b1 a2 b2 a3", 3, "a1 a2 a3 b1 b2");
    gathers("b1 a1 a2", 1, "b1 a1 a2");
}

static void none_passes_one_that_goes_alone(void **state)
{
    gathers("-1 a1 -2", 1, "-1 a1 -2");
    gathers("a1 -1 a2", 1, "a1 -1 a2");
    gathers("a1 b1 a2 -1 a3", 2, "a1 a2 b1 -1 a3");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_kind_comes_together),
        cmocka_unit_test(none_passes_one_that_goes_alone),
    };

    return RUN(tests);
}
