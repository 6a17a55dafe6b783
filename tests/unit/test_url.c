/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/cleanup.h"
#include "net/url.h"
#include "unit.h"

static void good_addresses_come_apart(void **state)
{
    static const struct {
        const char *text;
        enum tr_url_scheme scheme;
        const char *host;
        int port;
        const char *path;
    } rows[] = {
        {"file:///srv/data/1.zip", TR_URL_FILE, "", 0, "/srv/data/1.zip"},
        {"file://localhost/a%20b", TR_URL_FILE, "", 0, "/a b"},
        {"http://h", TR_URL_HTTP, "h", 80, "/"},
        {"http://h?x=1", TR_URL_HTTP, "h", 80, "/?x=1"},
        {"https://data.example:8443/1.zip?sig=a%2Fb", TR_URL_HTTPS, "data.example", 8443,
         "/1.zip?sig=a%2Fb"},
        {"http://[::1]:9000/x", TR_URL_HTTP, "[::1]", 9000, "/x"},
        {"s3://bucket/testdata/1.zip", TR_URL_S3, "bucket", 0, "testdata/1.zip"},
        {"minio://bucket/a b+c=d%20?#.zip", TR_URL_S3, "bucket", 0, "a b+c=d%20?#.zip"},
        {"minio://bucket/\xe9\xa2\x98/1.zip", TR_URL_S3, "bucket", 0, "\xe9\xa2\x98/1.zip"},
    };

    for (size_t i = 0; i < TR_ARRAY_LEN(rows); i++) {
        struct tr_err err = TR_ERR_INIT;
        struct tr_url u;

        ROW(rows[i].text);
        assert_int_equal(tr_url_parse(rows[i].text, strlen(rows[i].text), &u, &err), 0);
        assert_int_equal(u.scheme, rows[i].scheme);
        assert_string_equal(u.host, rows[i].host);
        assert_int_equal(u.port, rows[i].port);
        assert_string_equal(u.path, rows[i].path);
    }
}

static void what_is_not_plainly_an_address_is_refused_with_a_sentence(void **state)
{
    static const struct {
        const char *text;
        const char *says;
    } rows[] = {
        {"", "expected file://, http://"},
        {"/srv/data/1.zip", "expected file://, http://"},
        {"ftp://h/x", "expected file://, http://"},
        {"HTTP://h/x", "expected file://, http://"},
        {"file://host/x", "expected file:///path"},
        {"file:///a%zz", "without two hex digits"},
        {"file:///a%2", "without two hex digits"},
        {"file:///a%00b", "a control character"},
        {"http://", "without a usable host"},
        {"http:///x", "without a usable host"},
        {"http://user:secret@h/x", "credentials do not belong"},
        {"http://h:0/", "the port of an address"},
        {"http://h:99999/", "the port of an address"},
        {"http://h:/", "the port of an address"},
        {"http://h/a b", "must be written as %XX"},
        {"http://h/#x", "a fragment"},
        {"http://h\\evil/", "is not a host name"},
        {"http://[::1/", "is not an IPv6 address"},
        {"s3://", "is not a bucket"},
        {"s3://ab/x", "is not a bucket"},
        {"s3://bucket", "a key of 0 bytes"},
        {"s3://bucket/", "a key of 0 bytes"},
        {"s3://../x", "is not a bucket"},
        {"minio://buck et/x", "is not a bucket"},
        {"s3://bucket/a\nb", "control character"},
        {"s3://bucket/\xff", "not UTF-8"},
    };

    for (size_t i = 0; i < TR_ARRAY_LEN(rows); i++) {
        struct tr_err err = TR_ERR_INIT;
        struct tr_url u;

        ROW(rows[i].text);
        assert_int_equal(tr_err_class(tr_url_parse(rows[i].text, strlen(rows[i].text), &u, &err)),
                         TR_E_USAGE);
        if (!strstr(err.msg, rows[i].says))
            assert_string_equal(err.msg, rows[i].says);
    }
}

static void an_address_over_the_ceiling_is_refused(void **state)
{
    char text[TR_URL_MAX + 1];
    struct tr_url u;

    memset(text, 'a', sizeof(text));
    memcpy(text, "http://h/", 9);
    assert_int_equal(tr_url_parse(text, TR_URL_MAX - 1, &u, NULL), 0);
    assert_int_equal(strlen(u.path), TR_URL_MAX - 1 - 8);
    assert_int_equal(tr_url_parse(text, TR_URL_MAX, &u, NULL), TR_E_LIMIT);
    memcpy(text, "s3://bbb/", 9);
    assert_int_equal(tr_url_parse(text, 9 + TR_S3_KEY_MAX, &u, NULL), 0);
    assert_int_equal(tr_url_parse(text, 9 + TR_S3_KEY_MAX + 1, &u, NULL), TR_E_PARSE);
}

static void a_bucket_alone_is_a_place_for_logs(void **state)
{
    struct tr_url u;

    assert_int_equal(tr_url_parse_bucket("s3://oj-logs", 12, &u, NULL), 0);
    assert_string_equal(u.host, "oj-logs");
    assert_string_equal(u.path, "");
    assert_int_equal(tr_url_parse_bucket("s3://oj-logs/2026/", 18, &u, NULL), 0);
    assert_string_equal(u.path, "2026/");
    assert_int_equal(tr_url_parse_bucket("http://oj-logs", 14, &u, NULL), TR_E_PARSE);
}

static void encoding_leaves_only_what_sigv4_leaves(void **state)
{
    TR_CLEANUP(tr_buf_done) struct tr_buf out;

    tr_buf_init(&out, 256);
    tr_url_encode(&out, "a/b c+d=e%~\xc3\xa9\0z", 14, 1);
    assert_string_equal(out.data, "a/b%20c%2Bd%3De%25~%C3%A9%00");
    tr_buf_clear(&out);
    tr_url_encode(&out, "a/b", 3, 0);
    assert_string_equal(out.data, "a%2Fb");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_addresses_come_apart),
        cmocka_unit_test(what_is_not_plainly_an_address_is_refused_with_a_sentence),
        cmocka_unit_test(an_address_over_the_ceiling_is_refused),
        cmocka_unit_test(a_bucket_alone_is_a_place_for_logs),
        cmocka_unit_test(encoding_leaves_only_what_sigv4_leaves),
    };
    return RUN(tests);
}
