/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "nats/envelope.h"
#include "nats/letter.h"
#include "nats/names.h"
#include "unit.h"

#define TASK                                                                                       \
    "{\"submit_id\":\"s1\",\"problem\":{\"id\":1},\"language\":{\"slug\":\"cpp17\"},\"code\":"     \
    "\"x\","                                                                                       \
    "\"retry_count\":3,\"crashes\":2,\"generation\":7}"

static json_t *written(const char *payload, size_t len, char **ret)
{
    const struct tr_letter letter = {.original_subject = "judge.tasks.heavy",
                                     .submit_id = "s1",
                                     .error = "disk full \xff",
                                     .retry_count = 3,
                                     .failed_at_us = 0,
                                     .payload = payload,
                                     .payload_len = len};
    struct tr_err err = TR_ERR_INIT;
    json_t *j = NULL;

    assert_int_equal(tr_letter_write(&letter, ret, &err), 0);
    assert_int_equal(tr_letter_read(*ret, strlen(*ret), &j, &err), 0);
    return j;
}

static void a_letter_holds_the_fields_of_the_seed_and_the_task_itself(void **state)
{
    tr_autofree char *text = NULL;
    json_t *j = written(TASK, strlen(TASK), &text);

    assert_string_equal(tr_letter_text(j, "original_subject"), "judge.tasks.heavy");
    assert_string_equal(tr_letter_text(j, "submit_id"), "s1");
    assert_string_equal(tr_letter_text(j, "error"), "disk full \xef\xbf\xbd");
    assert_string_equal(tr_letter_text(j, "failed_at"), "1970-01-01T00:00:00.000000Z");
    assert_int_equal(json_integer_value(json_object_get(j, "retry_count")), 3);
    assert_true(json_is_object(json_object_get(j, "payload")));
    json_decref(j);
}

static void a_task_goes_back_with_its_tries_at_0_and_its_generation(void **state)
{
    tr_autofree char *text = NULL;
    tr_autofree char *task = NULL;
    const char *subject = NULL;
    struct tr_err err = TR_ERR_INIT;
    struct tr_envelope e;
    char id[TR_MSG_ID_MAX];
    json_t *j = written(TASK, strlen(TASK), &text);

    assert_int_equal(tr_letter_task(j, &task, &subject, &err), 0);
    assert_string_equal(subject, "judge.tasks.heavy");
    assert_int_equal(tr_envelope_read(task, strlen(task), "", &e, &err), 0);
    assert_string_equal(tr_envelope_id(&e, id), "s1:7:0:0");
    json_decref(j);
}

static void a_message_that_is_no_task_fits_into_a_letter_and_stays_there(void **state)
{
    char *junk = malloc(TR_NATS_TASK_MAX);
    tr_autofree char *text = NULL;
    tr_autofree char *task = NULL;
    const char *subject = NULL;

    memset(junk, 1, TR_NATS_TASK_MAX); /* each byte is written as six */
    json_t *j = written(junk, TR_NATS_TASK_MAX, &text);
    assert_true(strlen(text) <= TR_NATS_MESSAGE_MAX);
    assert_int_equal(tr_letter_task(j, &task, &subject, NULL), TR_E_PARSE);
    json_decref(j);
    free(junk);
}

static void what_is_no_letter_is_refused(void **state)
{
    static const char *const rows[] = {
        "", "x", "[]", "{}", "{\"error\":\"x\"}", "{\"error\":1,\"original_subject\":\"x\"}"};

    for (size_t i = 0; i < TR_ARRAY_LEN(rows); i++) {
        json_t *j = NULL;

        ROW(rows[i]);
        assert_int_equal(tr_letter_read(rows[i], strlen(rows[i]), &j, NULL), TR_E_PARSE);
    }
}

static void a_letter_cannot_send_a_task_elsewhere(void **state)
{
    static const char *const rows[] = {"judge.dlq.heavy", "judge.tasks.*", "judge.tasks.a.b",
                                       "$JS.API.STREAM.DELETE.JUDGE_TASKS", "judge.tasks.a b"};

    for (size_t i = 0; i < TR_ARRAY_LEN(rows); i++) {
        json_t *j =
            json_pack("{s:s, s:s, s:{}}", "original_subject", rows[i], "error", "e", "payload");
        tr_autofree char *task = NULL;
        const char *subject = NULL;

        ROW(rows[i]);
        assert_int_equal(tr_letter_task(j, &task, &subject, NULL), TR_E_PARSE);
        json_decref(j);
    }
}

static void languages_are_looked_up_whole(void **state)
{
    static const struct {
        const char *slug, *list;
        bool want;
    } rows[] = {
        {"cpp17", TR_HEAVY_LANGUAGES, true},
        {"java17", TR_HEAVY_LANGUAGES, true},
        {"c11", TR_HEAVY_LANGUAGES, true},
        {"python3", TR_HEAVY_LANGUAGES, false},
        {"go", TR_HEAVY_LANGUAGES, false},
        {"cpp1", TR_HEAVY_LANGUAGES, false},
        {"b", " a , b,,c", true},
        {"", " a , b,,c", false},
        {"a", "", false},
    };

    for (size_t i = 0; i < TR_ARRAY_LEN(rows); i++) {
        ROW(rows[i].slug);
        assert_int_equal(tr_slug_in(rows[i].slug, rows[i].list), rows[i].want);
    }
}

static void dead_letters_go_beside_their_subject(void **state)
{
    assert_string_equal(tr_letter_subject("judge.tasks.light"), "judge.dlq.light");
    assert_string_equal(tr_letter_subject("judge.tasks.heavy"), "judge.dlq.heavy");
    assert_string_equal(tr_letter_subject("x.y"), "judge.dlq.other");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_letter_holds_the_fields_of_the_seed_and_the_task_itself),
        cmocka_unit_test(a_task_goes_back_with_its_tries_at_0_and_its_generation),
        cmocka_unit_test(a_message_that_is_no_task_fits_into_a_letter_and_stays_there),
        cmocka_unit_test(what_is_no_letter_is_refused),
        cmocka_unit_test(a_letter_cannot_send_a_task_elsewhere),
        cmocka_unit_test(languages_are_looked_up_whole),
        cmocka_unit_test(dead_letters_go_beside_their_subject),
    };
    return RUN(tests);
}
