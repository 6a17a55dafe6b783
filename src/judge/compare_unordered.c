/* SPDX-License-Identifier: MIT
 *
 * compare_unordered.c - the same lines or words in any order, without keeping them.
 *
 * Each item is hashed with a key drawn for this comparison, and the hashes are added up: two
 * collections with the same count and the same sum are the same but for one chance in 2^64, and
 * nobody can aim at a key that does not exist yet. SipHash-2-4 (Aumasson, Bernstein) is the hash:
 * made for keys and short inputs.
 */
#include <string.h>

#include "base/rand.h"
#include "judge/compare_private.h"

struct hash {
    uint64_t v[4];
    uint64_t word; /* bytes not mixed in yet */
    uint64_t count;
};

static uint64_t rotate(uint64_t x, unsigned by)
{
    return x << by | x >> (64 - by);
}

static void mix(uint64_t v[4], int rounds)
{
    for (; rounds > 0; rounds--) {
        v[0] += v[1];
        v[2] += v[3];
        v[1] = rotate(v[1], 13) ^ v[0];
        v[3] = rotate(v[3], 16) ^ v[2];
        v[0] = rotate(v[0], 32);
        v[2] += v[1];
        v[0] += v[3];
        v[1] = rotate(v[1], 17) ^ v[2];
        v[3] = rotate(v[3], 21) ^ v[0];
        v[2] = rotate(v[2], 32);
    }
}

static void hash_begin(struct hash *h, const uint64_t key[2])
{
    *h = (struct hash){
        .v = {key[0] ^ UINT64_C(0x736f6d6570736575), key[1] ^ UINT64_C(0x646f72616e646f6d),
              key[0] ^ UINT64_C(0x6c7967656e657261), key[1] ^ UINT64_C(0x7465646279746573)}};
}

static void hash_byte(struct hash *h, int c)
{
    h->word |= (uint64_t)(unsigned char)c << (8 * (h->count & 7));
    if ((++h->count & 7) == 0) {
        h->v[3] ^= h->word;
        mix(h->v, 2);
        h->v[0] ^= h->word;
        h->word = 0;
    }
}

static uint64_t hash_end(struct hash h)
{
    uint64_t last = h.word | h.count << 56;

    h.v[3] ^= last;
    mix(h.v, 2);
    h.v[0] ^= last;
    h.v[2] ^= 0xff;
    mix(h.v, 4);
    return h.v[0] ^ h.v[1] ^ h.v[2] ^ h.v[3];
}

struct sum {
    uint64_t items;
    uint64_t hashes;
};

/* Blanks at the end of an item do not count: the state before them is kept until a byte follows. */
static struct sum sum_up(struct tr_stream *s, const uint64_t key[2], bool by_lines,
                         bool ignore_case)
{
    struct sum sum = {0};
    struct hash now, solid;
    bool any = false;

    hash_begin(&now, key);
    solid = now;
    for (;;) {
        int c = tr_stream_peek(s);
        bool ends = c < 0 || c == '\n' || (!by_lines && is_space(c));

        if (ends && any) {
            sum.items++;
            sum.hashes += hash_end(solid);
        }
        if (c < 0)
            return sum;
        tr_stream_skip(s);
        if (ends) {
            any = false;
            hash_begin(&now, key);
            solid = now;
            continue;
        }
        hash_byte(&now, ignore_case ? fold(c) : c);
        if (c != ' ' && c != '\t' && c != '\r') {
            any = true;
            solid = now;
        }
    }
}

bool compare_unordered(struct pair *p, bool by_lines)
{
    uint64_t key[2];

    tr_random_bytes(key, sizeof(key));
    struct sum got = sum_up(&p->got, key, by_lines, p->how->ignore_case);
    struct sum want = sum_up(&p->want, key, by_lines, p->how->ignore_case);

    if (got.items == want.items && got.hashes == want.hashes)
        return true;
    /* Which one is wrong has no answer when order does not matter: only how many there are. */
    if (got.items != want.items)
        return differ(p, got.items < want.items ? "too few items" : "too many items");
    return differ(p, "as many items, but not the same ones");
}
