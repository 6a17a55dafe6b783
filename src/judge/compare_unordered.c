/* SPDX-License-Identifier: MIT
 *
 * compare_unordered.c - the same lines or words in any order, without keeping them.
 *
 * Each item is hashed with a key drawn for this comparison, and the hashes are added up: two
 * collections with the same count and the same sum are the same but for one chance in 2^64, and
 * nobody can aim at a key that does not exist yet. SipHash-2-4 (Aumasson, Bernstein) is the hash:
 * made for keys and short inputs.
 *
 * Which item is wrong is found by narrowing down: the items are counted by the first bits of their
 * hashes, then those of one part that does not agree by the next bits, until one hash is left. For
 * that the key is a fixed one, so that everybody is shown the same difference each time.
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

/* How items are read. */
struct reading {
    uint64_t key[2];
    bool by_lines;
    bool ignore_case;
};

/* The next item's hash and where it begins; false at the end. Blanks at the end of an item do not
 * count: the state before them is kept until a byte follows. */
static bool next_item(struct tr_stream *s, const struct reading *how, uint64_t *ret_hash,
                      uint64_t *ret_at)
{
    struct hash now, solid;
    bool any = false;

    hash_begin(&now, how->key);
    solid = now;
    *ret_at = 0;
    for (;;) {
        int c = tr_stream_peek(s);
        bool ends = c < 0 || c == '\n' || (!how->by_lines && is_space(c));

        if (ends && any) {
            *ret_hash = hash_end(solid);
            return true;
        }
        if (c < 0)
            return false;
        if (now.count == 0)
            *ret_at = tr_stream_offset(s);
        tr_stream_skip(s);
        if (ends) {
            hash_begin(&now, how->key);
            solid = now;
            continue;
        }
        hash_byte(&now, how->ignore_case ? fold(c) : c);
        if (c != ' ' && c != '\t' && c != '\r') {
            any = true;
            solid = now;
        }
    }
}

static struct sum sum_up(struct tr_stream *s, const struct reading *how)
{
    struct sum sum = {0};
    uint64_t hash = 0, at = 0;

    while (next_item(s, how, &hash, &at)) {
        sum.items++;
        sum.hashes += hash;
    }
    return sum;
}

/* ---- which one? */

enum {
    BITS = 10,
    PARTS = 1 << BITS
};

/* The hashes that begin with `known` bits of `prefix`, counted by the bits after those. */
struct narrowing {
    uint64_t prefix;
    unsigned known;
    uint64_t lowest, highest;
    struct sum parts[PARTS]; /* of one text less those of the other: they may wrap around */
};

static void count_parts(struct tr_stream *s, const struct reading *how, uint64_t times,
                        struct narrowing *n)
{
    unsigned bits = 64 - n->known < BITS ? 64 - n->known : BITS;
    uint64_t hash = 0, at = 0;

    tr_stream_rewind(s);
    while (next_item(s, how, &hash, &at)) {
        if (n->known > 0 && hash >> (64 - n->known) != n->prefix)
            continue;
        struct sum *part = &n->parts[hash >> (64 - n->known - bits) & ((1U << bits) - 1)];

        part->items += times;
        part->hashes += times * hash;
        n->lowest = hash < n->lowest ? hash : n->lowest;
        n->highest = hash > n->highest ? hash : n->highest;
    }
}

/* A hash that one text has more often than the other; false when there is none. */
static bool odd_hash(struct pair *p, const struct reading *how, uint64_t *ret)
{
    struct narrowing n = {0};

    while (n.known < 64) {
        unsigned bits = 64 - n.known < BITS ? 64 - n.known : BITS, i = 0;

        memset(n.parts, 0, sizeof(n.parts));
        n.lowest = UINT64_MAX;
        n.highest = 0;
        count_parts(&p->got, how, 1, &n);
        count_parts(&p->want, how, UINT64_MAX, &n); /* minus one */
        while (i < PARTS && n.parts[i].items == 0 && n.parts[i].hashes == 0)
            i++;
        if (i == PARTS)
            return false;
        n.prefix = n.prefix << bits | i;
        n.known += bits;
        if (n.lowest == n.highest) { /* only one is left: no need to know its last bits */
            n.prefix = n.lowest;
            break;
        }
    }
    *ret = n.prefix;
    return true;
}

/* How often a hash occurs, or where it does for the `which`-th time (from 1). */
static uint64_t occurrence(struct tr_stream *s, const struct reading *how, uint64_t hash,
                           uint64_t which, uint64_t *ret_at)
{
    uint64_t seen = 0, this = 0, at = 0;

    tr_stream_rewind(s);
    while ((which == 0 || seen < which) && next_item(s, how, &this, &at)) {
        if (this == hash) {
            seen++;
            *ret_at = at;
        }
    }
    return seen;
}

/* Show the first item that one text has too often; the other text has no place for it: its end. */
static bool show_odd(struct pair *p, const struct reading *how, uint64_t hash)
{
    uint64_t nothing = 0;
    uint64_t got = occurrence(&p->got, how, hash, 0, &nothing);
    uint64_t want = occurrence(&p->want, how, hash, 0, &nothing);

    if (got == want)
        return false;
    (void)differ(p, got > want      ? how->by_lines ? "a line that is not expected (in any order)"
                                                    : "a word that is not expected (in any order)"
                    : how->by_lines ? "an expected line is nowhere"
                                    : "an expected word is nowhere");
    if (got > want)
        (void)occurrence(&p->got, how, hash, want + 1, &p->got_at);
    else
        (void)occurrence(&p->want, how, hash, got + 1, &p->want_at);
    return true;
}

bool compare_unordered(struct pair *p, bool by_lines)
{
    struct reading how = {.by_lines = by_lines, .ignore_case = p->how->ignore_case};
    uint64_t hash = 0;

    tr_random_bytes(how.key, sizeof(how.key));
    struct sum got = sum_up(&p->got, &how);
    struct sum want = sum_up(&p->want, &how);

    if (got.items == want.items && got.hashes == want.hashes)
        return true;
    memset(how.key, 0, sizeof(how.key));
    if (odd_hash(p, &how, &hash) && show_odd(p, &how, hash))
        return false;
    /* Somebody aimed at the fixed key: it is wrong all the same. */
    return differ(p, "not the same items");
}
