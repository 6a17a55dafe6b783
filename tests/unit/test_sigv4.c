/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/cleanup.h"
#include "codec/sha256.h"
#include "net/sigv4.h"
#include "unit.h"

#define EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

/* The credential of AWS's test suite, and the one of the examples in the S3 manual. */
static const struct tr_sigv4_key suite = {
    .access = "AKIDEXAMPLE",
    .secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
    .region = "us-east-1",
    .service = "service",
};
static const struct tr_sigv4_key manual = {
    .access = "AKIAIOSFODNN7EXAMPLE",
    .secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    .region = "us-east-1",
    .service = "s3",
};

struct row {
    const char *label;
    const struct tr_sigv4_key *key;
    const char *time;
    const char *method, *path;
    struct tr_pair query[3];
    struct tr_pair headers[6];
    const char *payload_hash;
    const char *want;
};

#define SUITE_TIME                                                                                 \
    {"host", "example.amazonaws.com"},                                                             \
    {                                                                                              \
        "x-amz-date", "20150830T123600Z"                                                           \
    }
#define BUCKET                                                                                     \
    {                                                                                              \
        "host", "examplebucket.s3.amazonaws.com"                                                   \
    }

static const struct row rows[] = {
    {"suite: get-vanilla",
     &suite,
     "20150830T123600Z",
     "GET",
     "/",
     {{0}},
     {SUITE_TIME},
     EMPTY,
     "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
    {"suite: get-vanilla-query-order-key-case",
     &suite,
     "20150830T123600Z",
     "GET",
     "/",
     {{"Param2", "value2"}, {"Param1", "value1"}},
     {SUITE_TIME},
     EMPTY,
     "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"},
    {"suite: post-vanilla",
     &suite,
     "20150830T123600Z",
     "POST",
     "/",
     {{0}},
     {SUITE_TIME},
     EMPTY,
     "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"},
    {"suite: get-header-value-trim",
     &suite,
     "20150830T123600Z",
     "GET",
     "/",
     {{0}},
     {{"my-header1", " value1"}, {"my-header2", " \"a   b   c\""}, SUITE_TIME},
     EMPTY,
     "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736"},
    {"manual: get an object with a range",
     &manual,
     "20130524T000000Z",
     "GET",
     "/test.txt",
     {{0}},
     {BUCKET,
      {"x-amz-date", "20130524T000000Z"},
      {"range", "bytes=0-9"},
      {"x-amz-content-sha256", EMPTY}},
     EMPTY,
     "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"},
    {"manual: put an object",
     &manual,
     "20130524T000000Z",
     "PUT",
     "/test%24file.text",
     {{0}},
     {BUCKET,
      {"x-amz-date", "20130524T000000Z"},
      {"date", "Fri, 24 May 2013 00:00:00 GMT"},
      {"x-amz-storage-class", "REDUCED_REDUNDANCY"},
      {"x-amz-content-sha256", "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072"}},
     "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072",
     "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"},
    {"manual: a query without a value",
     &manual,
     "20130524T000000Z",
     "GET",
     "/",
     {{"lifecycle", ""}},
     {BUCKET, {"x-amz-date", "20130524T000000Z"}, {"x-amz-content-sha256", EMPTY}},
     EMPTY,
     "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"},
    {"manual: list objects",
     &manual,
     "20130524T000000Z",
     "GET",
     "/",
     {{"prefix", "J"}, {"max-keys", "2"}},
     {BUCKET, {"x-amz-date", "20130524T000000Z"}, {"x-amz-content-sha256", EMPTY}},
     EMPTY,
     "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"},
};

static size_t count(const struct tr_pair *pairs, size_t max)
{
    size_t n = 0;

    while (n < max && pairs[n].name)
        n++;
    return n;
}

static void signatures_are_those_that_aws_publishes(void **state)
{
    for (size_t i = 0; i < TR_ARRAY_LEN(rows); i++) {
        const struct row *row = &rows[i];
        TR_CLEANUP(tr_buf_done) struct tr_buf query;
        TR_CLEANUP(tr_buf_done) struct tr_buf out;
        struct tr_err err = TR_ERR_INIT;

        ROW(row->label);
        tr_buf_init(&query, 4096);
        tr_buf_init(&out, 4096);
        assert_int_equal(tr_sigv4_query(row->query, count(row->query, 3), &query, &err), 0);
        struct tr_sigv4_request req = {.method = row->method,
                                       .path = row->path,
                                       .query = query.data ? query.data : "",
                                       .headers = row->headers,
                                       .nheaders = count(row->headers, 6),
                                       .payload_hash = row->payload_hash};
        assert_int_equal(tr_sigv4_authorize(row->key, &req, row->time, &out, &err), 0);
        const char *signature = strstr(out.data, "Signature=");
        assert_non_null(signature);
        assert_string_equal(signature + 10, row->want);
    }
}

static void the_header_names_key_scope_and_headers_in_order(void **state)
{
    TR_CLEANUP(tr_buf_done) struct tr_buf out;
    struct tr_err err = TR_ERR_INIT;
    struct tr_pair headers[] = {{"x-amz-date", "20150830T123600Z"},
                                {"host", "example.amazonaws.com"}};
    struct tr_sigv4_request req = {.method = "GET",
                                   .path = "/",
                                   .query = "",
                                   .headers = headers,
                                   .nheaders = 2,
                                   .payload_hash = EMPTY};

    tr_buf_init(&out, 4096);
    assert_int_equal(tr_sigv4_authorize(&suite, &req, "20150830T123600Z", &out, &err), 0);
    assert_string_equal(
        out.data,
        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, "
        "SignedHeaders=host;x-amz-date, "
        "Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31");
}

static void a_presigned_address_is_the_one_in_the_manual(void **state)
{
    TR_CLEANUP(tr_buf_done) struct tr_buf out;
    struct tr_err err = TR_ERR_INIT;

    tr_buf_init(&out, 4096);
    const struct tr_pair host = {"host", "examplebucket.s3.amazonaws.com"};
    const struct tr_sigv4_request req = {
        .method = "GET", .path = "/test.txt", .headers = &host, .nheaders = 1};
    assert_int_equal(tr_sigv4_presign(&manual, &req, "20130524T000000Z", 86400, &out, &err), 0);
    assert_string_equal(
        out.data,
        "X-Amz-Algorithm=AWS4-HMAC-SHA256"
        "&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request"
        "&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host"
        "&X-Amz-Signature="
        "aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404");
}

static void more_headers_than_the_ceiling_are_refused(void **state)
{
    struct tr_pair many[TR_SIGV4_PAIRS_MAX + 1];
    TR_CLEANUP(tr_buf_done) struct tr_buf out;
    struct tr_err err = TR_ERR_INIT;

    for (size_t i = 0; i < TR_ARRAY_LEN(many); i++)
        many[i] = (struct tr_pair){"a", "b"};
    tr_buf_init(&out, 4096);
    assert_int_equal(tr_sigv4_query(many, TR_ARRAY_LEN(many), &out, &err), TR_E_LIMIT);
}

static void the_time_is_spelled_as_aws_wants(void **state)
{
    char out[TR_SIGV4_TIME];

    tr_sigv4_time(INT64_C(1440938160) * 1000000 + 999999, out);
    assert_string_equal(out, "20150830T123600Z");
}

static void hashes_are_parsed_strictly(void **state)
{
    static const struct {
        const char *text;
        int want;
    } hashes[] = {
        {EMPTY, 0},
        {"sha256:" EMPTY, 0},
        {"E3B0C44298FC1C149AFBF4C8996FB92427AE41E4649B934CA495991B7852B855", 0},
        {"", TR_E_PARSE},
        {"sha256...", TR_E_PARSE},
        {EMPTY "0", TR_E_PARSE},
        {"g3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", TR_E_PARSE},
    };

    for (size_t i = 0; i < TR_ARRAY_LEN(hashes); i++) {
        char out[TR_SHA256_HEX] = "untouched";

        ROW(hashes[i].text);
        assert_int_equal(tr_sha256_parse(hashes[i].text, out, NULL), hashes[i].want);
        assert_string_equal(out, hashes[i].want == 0 ? EMPTY : "untouched");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signatures_are_those_that_aws_publishes),
        cmocka_unit_test(the_header_names_key_scope_and_headers_in_order),
        cmocka_unit_test(a_presigned_address_is_the_one_in_the_manual),
        cmocka_unit_test(more_headers_than_the_ceiling_are_refused),
        cmocka_unit_test(the_time_is_spelled_as_aws_wants),
        cmocka_unit_test(hashes_are_parsed_strictly),
    };
    return RUN(tests);
}
