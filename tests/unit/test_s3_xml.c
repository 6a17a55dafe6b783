/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/cleanup.h"
#include "net/s3_xml.h"
#include "unit.h"

struct seen {
    char text[512];
};

static int note(void *arg, const char *key, uint64_t size, struct tr_err *err)
{
    struct seen *s = arg;
    size_t used = strlen(s->text);

    (void)snprintf(s->text + used, sizeof(s->text) - used, "%s=%llu;", key,
                   (unsigned long long)size);
    return strcmp(key, "stop") == 0 ? TR_E_LOST : 0;
}

#define LIST(x) "<?xml version=\"1.0\"?>\n<ListBucketResult xmlns=\"a>b\">" x "</ListBucketResult>"
#define ONE(key, size) "<Contents><Key>" key "</Key><Size>" size "</Size></Contents>"

static void lists_give_their_keys(void **state)
{
    static const struct {
        const char *xml;
        const char *want;
        bool truncated;
        const char *next;
    } rows[] = {
        {LIST(""), "", false, ""},
        {"<ListBucketResult/>", "", false, ""},
        {LIST(ONE("a", "1") "<!-- x --> " ONE("b/c", "22")), "a=1;b/c=22;", false, ""},
        {LIST(ONE("a&amp;&lt;&#x9898;&#38;", "0")), "a&<\xe9\xa2\x98&=0;", false, ""},
        {LIST("<IsTruncated>true</IsTruncated><NextContinuationToken>t=="
              "</NextContinuationToken>" ONE("k", "5")),
         "k=5;", true, "t=="},
        {LIST("<x:Other a='>'><Key>no</Key></x:Other><Key>no</Key>" ONE("y", "1")), "y=1;", false,
         ""},
    };

    for (size_t i = 0; i < TR_ARRAY_LEN(rows); i++) {
        struct tr_s3_list_end end;
        struct seen seen = {""};
        struct tr_err err = TR_ERR_INIT;

        ROW(rows[i].xml);
        assert_int_equal(
            tr_s3_parse_list(rows[i].xml, strlen(rows[i].xml), note, &seen, &end, &err), 0);
        assert_string_equal(seen.text, rows[i].want);
        assert_int_equal(end.truncated, rows[i].truncated);
        assert_string_equal(end.next, rows[i].next);
    }
}

static void broken_lists_are_refused(void **state)
{
    static const char *const rows[] = {
        "",
        "hello",
        "<html></html>",
        "<ListBucketResult>",
        "<ListBucketResult></Other>",
        "<ListBucketResult",
        "<ListBucketResult a=\"",
        "<!DOCTYPE x [<!ENTITY a \"b\">]><ListBucketResult/>",
        LIST(ONE("&nbsp;", "1")),
        LIST(ONE("&#xd800;", "1")),
        LIST(ONE("&#0;", "1")),
        LIST(ONE("&#10;", "1")),
        LIST(ONE("a", "-1")),
        LIST(ONE("a", "1x")),
        LIST(ONE("\xff", "1")),
        LIST("<a><b><c><d><e><f><g><h></h></g></f></e></d></c></b></a>"),
        LIST("<a12345678901234567890123456789012345678901234567890/>"),
        LIST(ONE("stop", "1")),
    };

    for (size_t i = 0; i < TR_ARRAY_LEN(rows); i++) {
        struct tr_s3_list_end end = {.next = "untouched"};
        struct seen seen = {""};
        struct tr_err err = TR_ERR_INIT;

        ROW(rows[i]);
        assert_true(tr_s3_parse_list(rows[i], strlen(rows[i]), note, &seen, &end, &err) < 0);
        assert_string_equal(end.next, "untouched");
    }
}

static void problems_are_told_even_when_cut(void **state)
{
    static const struct {
        const char *xml, *code, *message;
    } rows[] = {
        {"<?xml version='1.0'?><Error><Code>NoSuchKey</Code><Message>no\nkey</Message></Error>",
         "NoSuchKey", "no key"},
        {"<Error><Code>SlowDown</Code><Mess", "SlowDown", ""},
        {"<html><Error><Code>x</Code></Error></html>", "", ""},
        {"Service Unavailable", "", ""},
        {"", "", ""},
    };

    for (size_t i = 0; i < TR_ARRAY_LEN(rows); i++) {
        struct tr_s3_problem p;

        ROW(rows[i].xml);
        tr_s3_parse_problem(rows[i].xml, strlen(rows[i].xml), &p);
        assert_string_equal(p.code, rows[i].code);
        assert_string_equal(p.message, rows[i].message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_give_their_keys),
        cmocka_unit_test(broken_lists_are_refused),
        cmocka_unit_test(problems_are_told_even_when_cut),
    };
    return RUN(tests);
}
