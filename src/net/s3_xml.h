/* SPDX-License-Identifier: MIT
 *
 * net/s3_xml.h - the two documents that an S3 server sends: an error and a list of keys.
 */
#ifndef NET_S3_XML_H
#define NET_S3_XML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum {
    TR_S3_XML_DEPTH_MAX = 8,       /* S3 nests four deep */
    TR_S3_XML_TEXT_MAX = 4 * 1024, /* a key has 1,024 bytes, a continuation token some hundred */
    TR_S3_LIST_BYTES_MAX = 8 * 1024 * 1024
};

struct tr_s3_problem {
    char code[64];     /* "NoSuchKey"; "" when the body is not such a document */
    char message[256]; /* made printable */
};

/* Never fails: a body that is no error document gives empty texts. */
void tr_s3_parse_problem(const char *xml, size_t len, struct tr_s3_problem *ret);

struct tr_s3_list_end {
    bool truncated;
    char next[TR_S3_XML_TEXT_MAX]; /* the token for the next page, "" on the last */
};

/* Calls each(key, size) for every object of a ListBucketResult; a negative result of it ends the
 * walk. Keys are decoded and valid UTF-8 without control characters. TR_E_PARSE when the document
 * is broken, is no list, or declares entities. */
int tr_s3_parse_list(const char *xml, size_t len,
                     int (*each)(void *arg, const char *key, uint64_t size, struct tr_err *err),
                     void *arg, struct tr_s3_list_end *ret, struct tr_err *err);

#endif
