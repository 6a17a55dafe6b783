/* SPDX-License-Identifier: MIT
 *
 * net/judge_auth.h - how a judge and a controller prove themselves to each other.
 *
 * doc/protocol.md §2.1 has the formulas. Both sides use this file, so they cannot drift apart. What
 * the controller keeps (struct tr_judge_verifier) lets it check a judge, not play one.
 */
#ifndef NET_JUDGE_AUTH_H
#define NET_JUDGE_AUTH_H

#include <stdbool.h>

#include "base/err.h"
#include "codec/sha256.h"

enum {
    TR_KEY_ID = 13,       /* 12 characters and the closing 0 */
    TR_KEY_TEXT = 96,     /* "tj_" id "_" 64 digits, or "tk_…", and the closing 0 */
    TR_NONCE_HEX = 65,    /* 64 digits and the closing 0 */
    TR_JUDGE_ID_MAX = 64, /* bytes of a judge's name */
};

struct tr_judge_key {
    char key_id[TR_KEY_ID];
    uint8_t secret[TR_SHA256_BYTES];
};

struct tr_judge_verifier {
    char stored_key[TR_SHA256_HEX];
    char server_key[TR_SHA256_HEX];
};

/* What both proofs are about. */
struct tr_judge_talk {
    const char *challenge; /* the controller's nonce */
    const char *nonce;     /* the judge's */
    const char *key_id;
    const char *judge_id;
};

/* "tj_<id>_<64 hex digits>", blanks and a newline around it are fine. The sentence of a failure
 * never shows the key. */
int tr_judge_key_parse(const char *text, struct tr_judge_key *ret, struct tr_err *err);
/* A new key and its text. */
void tr_judge_key_new(struct tr_judge_key *ret, char text[static TR_KEY_TEXT]);

void tr_judge_verifier_of(const struct tr_judge_key *key, struct tr_judge_verifier *ret);
void tr_nonce_new(char out[static TR_NONCE_HEX]);

/* The judge: its proof, and is the controller's right? */
void tr_judge_prove(const struct tr_judge_key *key, const struct tr_judge_talk *talk,
                    char out[static TR_SHA256_HEX]);
bool tr_judge_check_controller(const struct tr_judge_key *key, const struct tr_judge_talk *talk,
                               const char *proof);

/* The controller: is the judge's proof right, and its own. */
bool tr_judge_check(const struct tr_judge_verifier *v, const struct tr_judge_talk *talk,
                    const char *proof);
int tr_judge_answer(const struct tr_judge_verifier *v, const struct tr_judge_talk *talk,
                    char out[static TR_SHA256_HEX], struct tr_err *err);

/* A name of 1 … 64 letters, digits, '.', '_' or '-' that begins with a letter or digit. */
bool tr_judge_id_ok(const char *judge_id);

/* Secrets: an API key's text "tk_<id>_<64 hex digits>" and the hash of it that is kept. */
void tr_api_key_new(char key_id[static TR_KEY_ID], char text[static TR_KEY_TEXT]);
/* The id inside such a text, or false when it has not that form. */
bool tr_api_key_id(const char *text, char key_id[static TR_KEY_ID]);

/* In a time that does not depend on where they differ. */
bool tr_same_secret(const char *a, const char *b);

#endif
