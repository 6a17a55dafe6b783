/* SPDX-License-Identifier: MIT
 *
 * nkey.c - base32, a check sum and one Ed25519 derivation.
 *
 * libnats 3.4 wants the public key beside the seed file; people have only the seed. A seed is
 * base32 of two prefix bytes (five bits "seed", five bits "user", and so on), 32 bytes of secret
 * and a CRC-16 of all that, low byte first.
 */
#include "net/nkey.h"

#include <openssl/evp.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"

enum {
    PREFIX_SEED = 18 << 3, /* 'S' */
    PREFIX_USER = 20 << 3, /* 'U' */
    SEED_TEXT = 58,
    SEED_BYTES = 36,
    PUBLIC_BYTES = 35,
    KEY_BYTES = 32
};

static const char base32[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/* XMODEM: polynomial 0x1021, start 0. */
static uint16_t crc16(const uint8_t *bytes, size_t len)
{
    unsigned crc = 0;

    for (size_t i = 0; i < len; i++) {
        crc ^= (unsigned)bytes[i] << 8;
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1;
    }
    return (uint16_t)crc;
}

static bool decode(const char *text, size_t len, uint8_t *out)
{
    unsigned hold = 0;
    int bits = 0;

    for (size_t i = 0; i < len; i++) {
        const char *d = strchr(base32, text[i]); /* never the closing 0: see the caller */

        if (!d)
            return false;
        hold = (hold << 5) | (unsigned)(d - base32);
        bits += 5;
        if (bits >= 8) {
            bits -= 8;
            *out++ = (uint8_t)(hold >> bits);
        }
    }
    return true;
}

static void encode(const uint8_t *bytes, size_t len, char *out)
{
    unsigned hold = 0;
    int bits = 0;

    for (size_t i = 0; i < len; i++) {
        hold = (hold << 8) | bytes[i];
        for (bits += 8; bits >= 5; bits -= 5)
            *out++ = base32[(hold >> (bits - 5)) & 31];
    }
    if (bits > 0)
        *out++ = base32[(hold << (5 - bits)) & 31];
    *out = '\0';
}

static int derive(const uint8_t secret[static KEY_BYTES], uint8_t out[static KEY_BYTES],
                  struct tr_err *err)
{
    size_t len = KEY_BYTES;
    EVP_PKEY *key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, secret, KEY_BYTES);
    int ok = key && EVP_PKEY_get_raw_public_key(key, out, &len) == 1 && len == KEY_BYTES;

    EVP_PKEY_free(key);
    return ok ? 0 : tr_fail(err, TR_E_FATAL, 0, "OpenSSL cannot derive an Ed25519 key");
}

int tr_nkey_public(const char *seed, char out[static TR_NKEY_TEXT], struct tr_err *err)
{
    uint8_t raw[SEED_BYTES];
    uint8_t public[PUBLIC_BYTES] = {PREFIX_USER};
    size_t start = strspn(seed, " \t\r\n");
    size_t len = strcspn(seed + start, " \t\r\n");

    if (len != SEED_TEXT || !decode(seed + start, len, raw))
        return tr_fail(err, TR_E_PARSE, 0, "not an nkey seed: expected 58 characters from SU…");
    unsigned sum = (unsigned)raw[SEED_BYTES - 2] | (unsigned)raw[SEED_BYTES - 1] << 8;
    if (crc16(raw, SEED_BYTES - 2) != sum)
        return tr_fail(err, TR_E_PARSE, 0, "not an nkey seed: its check sum is wrong");
    if ((raw[0] & 0xf8) != PREFIX_SEED || ((raw[0] & 7) << 5 | raw[1] >> 3) != PREFIX_USER)
        return tr_fail(err, TR_E_PARSE, 0, "not the seed of a user (those begin with SU)");
    int r = derive(raw + 2, public + 1, err);
    explicit_bzero(raw, sizeof(raw));
    if (r < 0)
        return r;
    uint16_t crc = crc16(public, PUBLIC_BYTES - 2);
    public[PUBLIC_BYTES - 2] = (uint8_t)(crc & 0xff);
    public[PUBLIC_BYTES - 1] = (uint8_t)(crc >> 8);
    encode(public, sizeof(public), out);
    return 0;
}
