/* SPDX-License-Identifier: MIT
 *
 * net/tls_pair.h - a certificate and its key, looked at before a server is given them.
 */
#ifndef NET_TLS_PAIR_H
#define NET_TLS_PAIR_H

#include "base/err.h"

/* Both are PEM files that can be read, and they belong together: 0, or TR_E_USAGE's class and a
 * sentence that names the file. A key with a passphrase is refused: nobody is there to type it. */
int tr_tls_pair_check(const char *cert_path, const char *key_path, struct tr_err *err);

#endif
