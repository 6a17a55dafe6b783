/* SPDX-License-Identifier: MIT
 *
 * net/nkey.h - the public half of a NATS nkey, from its seed.
 */
#ifndef NET_NKEY_H
#define NET_NKEY_H

#include "base/err.h"

enum {
    TR_NKEY_TEXT = 57 /* 35 bytes in base32, and the closing 0 */
};

/* "SUA…" (58 characters, blanks around it are fine) -> "U…". TR_E_PARSE when it is not a user's
 * seed or a character is wrong; the sentence never shows the seed. */
int tr_nkey_public(const char *seed, char out[static TR_NKEY_TEXT], struct tr_err *err);

#endif
