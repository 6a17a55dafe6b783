/* SPDX-License-Identifier: MIT
 *
 * rand.c - getrandom(2), replaceable by a seeded stream in tests.
 */
#include "base/rand.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static bool seeded;
static uint64_t seed_state;

static uint64_t splitmix64(void)
{
    uint64_t z = seed_state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static void seeded_bytes(unsigned char *out, size_t len)
{
    while (len > 0) {
        uint64_t v = splitmix64();
        size_t n = len < sizeof(v) ? len : sizeof(v);

        memcpy(out, &v, n);
        out += n;
        len -= n;
    }
}

void tr_random_bytes(void *out, size_t len)
{
    unsigned char *p = out;

    if (seeded) {
        seeded_bytes(p, len);
        return;
    }
    while (len > 0) {
        ssize_t n = getrandom(p, len, 0);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            abort(); /* keys and nonces come from here: no answer is better than a weak one */
        p += n;
        len -= (size_t)n;
    }
}

uint64_t tr_random_u64(void)
{
    uint64_t v = 0;

    tr_random_bytes(&v, sizeof(v));
    return v;
}

uint64_t tr_random_below(uint64_t below)
{
    assert(below > 0);
    /* Values above the largest multiple of `below` would make the low ones likelier. */
    uint64_t usable = UINT64_MAX - UINT64_MAX % below;
    uint64_t v = tr_random_u64();

    while (v >= usable)
        v = tr_random_u64();
    return v % below;
}

void tr_random_seed_for_tests(uint64_t seed)
{
    seeded = true;
    seed_state = seed;
}

void tr_random_restore(void)
{
    seeded = false;
}
