/* SPDX-License-Identifier: MIT
 *
 * judge_auth.c - keys, nonces and proofs; see doc/protocol.md §2.1.
 *
 * Never compares secrets with memcmp, never puts one into a message.
 */
#include "net/judge_auth.h"

#include <ctype.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <string.h>

#include "base/rand.h"

static const char judge_label[] = "tribunal judge";
static const char controller_label[] = "tribunal controller";

enum {
    TALK_MAX = 512 /* label, two nonces, id and name: 17 + 64 + 64 + 12 + 64 and four newlines */
};

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Exactly 64 lower-case digits. */
static bool unhex(const char *text, uint8_t out[static TR_SHA256_BYTES])
{
    if (strnlen(text, TR_SHA256_HEX) != TR_SHA256_HEX - 1)
        return false;
    for (size_t i = 0; i < TR_SHA256_BYTES; i++) {
        int high = hex_value(text[2 * i]), low = hex_value(text[2 * i + 1]);

        if (high < 0 || low < 0)
            return false;
        out[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

static void new_id(char out[static TR_KEY_ID])
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";

    for (size_t i = 0; i + 1 < TR_KEY_ID; i++)
        out[i] = letters[tr_random_below(sizeof(letters) - 1)];
    out[TR_KEY_ID - 1] = '\0';
}

/* "<prefix><id>_<digits>" */
static bool split_key(const char *text, const char *prefix, char id[static TR_KEY_ID],
                      uint8_t secret[static TR_SHA256_BYTES])
{
    if (strlen(text) != strlen(prefix) + TR_KEY_ID - 1 + 1 + 64 ||
        strncmp(text, prefix, strlen(prefix)) != 0)
        return false;
    text += strlen(prefix);
    for (size_t i = 0; i + 1 < TR_KEY_ID; i++)
        if (!isdigit((unsigned char)text[i]) && !(text[i] >= 'a' && text[i] <= 'z'))
            return false;
    if (text[TR_KEY_ID - 1] != '_' || !unhex(text + TR_KEY_ID, secret))
        return false;
    memcpy(id, text, TR_KEY_ID - 1);
    id[TR_KEY_ID - 1] = '\0';
    return true;
}

int tr_judge_key_parse(const char *text, struct tr_judge_key *ret, struct tr_err *err)
{
    char word[TR_KEY_TEXT];
    size_t n = 0;

    while (isspace((unsigned char)*text))
        text++;
    while (text[n] && !isspace((unsigned char)text[n]) && n < sizeof(word) - 1) {
        word[n] = text[n];
        n++;
    }
    word[n] = '\0';
    while (isspace((unsigned char)text[n]))
        n++;
    struct tr_judge_key key = {0};
    if (text[n] || !split_key(word, "tj_", key.key_id, key.secret))
        return tr_fail(err, TR_E_PARSE, 0,
                       "this is not a judge's key; 'tribunal keys new --role judge' makes one");
    *ret = key;
    return 0;
}

void tr_judge_key_new(struct tr_judge_key *ret, char text[static TR_KEY_TEXT])
{
    char digits[TR_SHA256_HEX];

    new_id(ret->key_id);
    tr_random_bytes(ret->secret, sizeof(ret->secret));
    tr_hex(ret->secret, sizeof(ret->secret), digits);
    (void)snprintf(text, TR_KEY_TEXT, "tj_%s_%s", ret->key_id, digits);
}

void tr_api_key_new(char key_id[static TR_KEY_ID], char text[static TR_KEY_TEXT])
{
    char digits[TR_NONCE_HEX];

    new_id(key_id);
    tr_nonce_new(digits);
    (void)snprintf(text, TR_KEY_TEXT, "tk_%s_%s", key_id, digits);
}

bool tr_api_key_id(const char *text, char key_id[static TR_KEY_ID])
{
    uint8_t secret[TR_SHA256_BYTES];

    return split_key(text, "tk_", key_id, secret);
}

void tr_nonce_new(char out[static TR_NONCE_HEX])
{
    uint8_t bytes[TR_SHA256_BYTES];

    tr_random_bytes(bytes, sizeof(bytes));
    tr_hex(bytes, sizeof(bytes), out);
}

static void client_key(const struct tr_judge_key *key, uint8_t out[static TR_SHA256_BYTES])
{
    tr_hmac_sha256(key->secret, sizeof(key->secret), judge_label, sizeof(judge_label) - 1, out);
}

void tr_judge_verifier_of(const struct tr_judge_key *key, struct tr_judge_verifier *ret)
{
    uint8_t bytes[TR_SHA256_BYTES];

    client_key(key, bytes);
    tr_sha256_hex(bytes, sizeof(bytes), ret->stored_key);
    tr_hmac_sha256(key->secret, sizeof(key->secret), controller_label, sizeof(controller_label) - 1,
                   bytes);
    tr_hex(bytes, sizeof(bytes), ret->server_key);
}

static void sign(const uint8_t key[static TR_SHA256_BYTES], const struct tr_judge_talk *t,
                 uint8_t out[static TR_SHA256_BYTES])
{
    char text[TALK_MAX];
    int n = snprintf(text, sizeof(text), "tribunal.judge.v1\n%.64s\n%.64s\n%.12s\n%.64s",
                     t->challenge, t->nonce, t->key_id, t->judge_id);

    tr_hmac_sha256(key, TR_SHA256_BYTES, text, (size_t)n, out);
}

void tr_judge_prove(const struct tr_judge_key *key, const struct tr_judge_talk *talk,
                    char out[static TR_SHA256_HEX])
{
    struct tr_judge_verifier v;
    uint8_t mine[TR_SHA256_BYTES], stored[TR_SHA256_BYTES], mask[TR_SHA256_BYTES];

    tr_judge_verifier_of(key, &v);
    (void)unhex(v.stored_key, stored); /* made by tr_hex just now */
    client_key(key, mine);
    sign(stored, talk, mask);
    for (size_t i = 0; i < sizeof(mine); i++)
        mine[i] ^= mask[i];
    tr_hex(mine, sizeof(mine), out);
}

bool tr_judge_check(const struct tr_judge_verifier *v, const struct tr_judge_talk *talk,
                    const char *proof)
{
    uint8_t claim[TR_SHA256_BYTES], stored[TR_SHA256_BYTES], mask[TR_SHA256_BYTES];
    char hash[TR_SHA256_HEX];

    if (!unhex(proof, claim) || !unhex(v->stored_key, stored))
        return false;
    sign(stored, talk, mask);
    for (size_t i = 0; i < sizeof(claim); i++)
        claim[i] ^= mask[i];
    tr_sha256_hex(claim, sizeof(claim), hash);
    return tr_same_secret(hash, v->stored_key);
}

int tr_judge_answer(const struct tr_judge_verifier *v, const struct tr_judge_talk *talk,
                    char out[static TR_SHA256_HEX], struct tr_err *err)
{
    uint8_t key[TR_SHA256_BYTES], proof[TR_SHA256_BYTES];

    if (!unhex(v->server_key, key))
        return tr_fail(err, TR_E_FATAL, 0, "the stored key of a judge is damaged");
    sign(key, talk, proof);
    tr_hex(proof, sizeof(proof), out);
    return 0;
}

bool tr_judge_check_controller(const struct tr_judge_key *key, const struct tr_judge_talk *talk,
                               const char *proof)
{
    struct tr_judge_verifier v;
    char want[TR_SHA256_HEX];

    tr_judge_verifier_of(key, &v);
    return tr_judge_answer(&v, talk, want, NULL) == 0 && tr_same_secret(want, proof);
}

bool tr_judge_id_ok(const char *judge_id)
{
    size_t n = strnlen(judge_id, TR_JUDGE_ID_MAX + 1);

    return n > 0 && n <= TR_JUDGE_ID_MAX && isalnum((unsigned char)judge_id[0]) &&
           strspn(judge_id, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ._-") ==
               n;
}

bool tr_same_secret(const char *a, const char *b)
{
    size_t n = strlen(a);

    return n == strlen(b) && CRYPTO_memcmp(a, b, n) == 0;
}
