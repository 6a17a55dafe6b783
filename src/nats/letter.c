/* SPDX-License-Identifier: MIT
 *
 * letter.c - the dead letter's codec. Letters come from a stream that others can write to.
 */
#include "nats/letter.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "codec/json.h"
#include "nats/names.h"

enum {
    TEXT_PAYLOAD_MAX = TR_NATS_MESSAGE_MAX / 8, /* JSON may write a byte as six: \u0001 */
    ERROR_MAX = 4096,
    ID_MAX = 256
};

const char *tr_letter_subject(const char *original_subject)
{
    if (strcmp(original_subject, TR_SUBJECT_TASKS ".light") == 0)
        return TR_SUBJECT_DLQ ".light";
    if (strcmp(original_subject, TR_SUBJECT_TASKS ".heavy") == 0)
        return TR_SUBJECT_DLQ ".heavy";
    return TR_SUBJECT_DLQ ".other";
}

static int set_payload(json_t *letter, const struct tr_letter *l)
{
    json_t *task = NULL;

    if (tr_json_parse(l->payload, l->payload_len, TR_NATS_TASK_MAX, &task, NULL) == 0)
        return json_object_set_new(letter, "payload", task);
    return json_object_set_new(letter, "payload_text",
                               tr_json_clean(l->payload, l->payload_len, TEXT_PAYLOAD_MAX)) |
           json_object_set_new(letter, "payload", json_null());
}

int tr_letter_write(const struct tr_letter *letter, char **ret, struct tr_err *err)
{
    TR_CLEANUP(tr_json_unrefp) json_t *j = json_object();
    char time[TR_TIME_TEXT];
    int bad = 0;

    (void)tr_clock_text(letter->failed_at_us, time);
    bad |= json_object_set_new(
        j, "original_subject",
        tr_json_clean(letter->original_subject, strlen(letter->original_subject), ID_MAX));
    bad |= json_object_set_new(j, "submit_id",
                               tr_json_clean(letter->submit_id, strlen(letter->submit_id), ID_MAX));
    bad |= json_object_set_new(j, "error",
                               tr_json_clean(letter->error, strlen(letter->error), ERROR_MAX));
    bad |= json_object_set_new(j, "retry_count", json_integer(letter->retry_count));
    bad |= json_object_set_new(j, "failed_at", json_string(time));
    bad |= set_payload(j, letter);
    tr_autofree char *text = bad ? NULL : json_dumps(j, JSON_COMPACT);
    if (!text)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory for a dead letter");
    if (strlen(text) > TR_NATS_MESSAGE_MAX)
        return tr_fail(err, TR_E_LIMIT, 0, "a dead letter of %zu bytes; NATS takes %d",
                       strlen(text), TR_NATS_MESSAGE_MAX);
    *ret = TR_TAKE(text);
    return 0;
}

int tr_letter_read(const void *bytes, size_t len, json_t **ret, struct tr_err *err)
{
    json_t *j = NULL;
    int r = tr_json_parse(bytes, len, 2 * (size_t)TR_NATS_MESSAGE_MAX, &j, err);

    if (r < 0)
        return r;
    if (!json_is_string(json_object_get(j, "original_subject")) ||
        !json_is_string(json_object_get(j, "error"))) {
        json_decref(j);
        return tr_fail(err, TR_E_PARSE, 0, "not a dead letter: no original_subject or no error");
    }
    *ret = j;
    return 0;
}

const char *tr_letter_text(const json_t *letter, const char *field)
{
    const char *text = json_string_value(json_object_get(letter, field));

    return text ? text : "";
}

int tr_letter_task(const json_t *letter, char **ret_task, const char **ret_subject,
                   struct tr_err *err)
{
    json_t *payload = json_object_get(letter, "payload");
    const char *subject = tr_letter_text(letter, "original_subject");
    TR_CLEANUP(tr_json_unrefp) json_t *task = NULL;

    if (!json_is_object(payload))
        return tr_fail(err, TR_E_PARSE, 0,
                       "this dead letter holds no task; it can only be dropped");
    if (strncmp(subject, TR_SUBJECT_TASKS ".", strlen(TR_SUBJECT_TASKS) + 1) != 0 ||
        strpbrk(subject + strlen(TR_SUBJECT_TASKS) + 1, ".*> \t\r\n"))
        return tr_fail(err, TR_E_PARSE, 0, "this dead letter came from '%.64s', no task's subject",
                       subject);
    task = json_copy(payload);
    if (!task || json_object_set_new(task, "retry_count", json_integer(0)) < 0 ||
        json_object_set_new(task, "crashes", json_integer(0)) < 0 ||
        /* How the worker tells a retry from a late redelivery of the message that died. */
        json_object_set_new(
            task, "revivals",
            json_integer(json_integer_value(json_object_get(payload, "revivals")) + 1)) < 0)
        return tr_fail(err, TR_E_NOMEM, 0, "out of memory");
    char *text = json_dumps(task, JSON_COMPACT);
    if (!text)
        return tr_fail(err, TR_E_NOMEM, 0, "out of memory");
    *ret_task = text;
    *ret_subject = subject;
    return 0;
}
