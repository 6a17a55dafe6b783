/* SPDX-License-Identifier: MIT
 *
 * tls_pair.c - see tls_pair.h.
 */
#include "net/tls_pair.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <stdio.h>

/* NOLINTNEXTLINE(readability-non-const-parameter): OpenSSL gives the type */
static int no_passphrase(char *buf, int size, int writing, void *arg)
{
    (void)buf, (void)size, (void)writing, (void)arg;
    return 0;
}

static FILE *open_pem(const char *what, const char *path, struct tr_err *err)
{
    FILE *f = fopen(path, "re");

    if (!f)
        (void)tr_fail(err, TR_E_PARSE, errno, "open the %s '%.200s'", what, path);
    return f;
}

static X509 *read_cert(const char *path, struct tr_err *err)
{
    FILE *f = open_pem("certificate", path, err);
    X509 *cert = f ? PEM_read_X509(f, NULL, no_passphrase, NULL) : NULL;

    if (f && !cert)
        (void)tr_fail(err, TR_E_PARSE, 0, "'%.200s' holds no certificate in PEM", path);
    if (f)
        (void)fclose(f);
    return cert;
}

static EVP_PKEY *read_key(const char *path, struct tr_err *err)
{
    FILE *f = open_pem("key", path, err);
    EVP_PKEY *key = f ? PEM_read_PrivateKey(f, NULL, no_passphrase, NULL) : NULL;

    if (f && !key)
        (void)tr_fail(err, TR_E_PARSE, 0,
                      "'%.200s' holds no private key in PEM, or one with a passphrase", path);
    if (f)
        (void)fclose(f);
    return key;
}

int tr_tls_pair_check(const char *cert_path, const char *key_path, struct tr_err *err)
{
    X509 *cert = read_cert(cert_path, err);
    EVP_PKEY *key = cert ? read_key(key_path, err) : NULL;
    int r = key ? 0 : TR_E_PARSE;

    if (key && X509_check_private_key(cert, key) != 1)
        r = tr_fail(err, TR_E_PARSE, 0, "the key '%.200s' is not that of the certificate '%.200s'",
                    key_path, cert_path);
    X509_free(cert);
    EVP_PKEY_free(key);
    ERR_clear_error();
    return r;
}
