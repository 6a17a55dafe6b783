/* SPDX-License-Identifier: MIT
 *
 * nats/conf.h - where NATS is and who we are there.
 */
#ifndef NATS_CONF_H
#define NATS_CONF_H

#include <stdbool.h>
#include <stdint.h>

struct tr_nats_conf {
    const char *server; /* "nats://a:4222,nats://b:4222"; tls:// too */
    const char *name;   /* shown by the server's monitoring, or NULL */
    const char *user;   /* with password; or … */
    const char *password;
    const char *nkey_file;  /* … a file with an nkey seed (SU…); or … */
    const char *creds_file; /* … a .creds file with JWT and seed */
    const char *ca_file;    /* any of these three switches TLS on */
    const char *cert_file;
    const char *key_file;
    int64_t timeout_us; /* connecting, and one request; 0: 5 s */
    bool wait;          /* see tr_nats_open() */
};

#endif
