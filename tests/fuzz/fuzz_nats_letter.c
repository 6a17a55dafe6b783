/* SPDX-License-Identifier: MIT
 *
 * Property: any bytes can be put into a dead letter that fits a message and is read back; a letter
 * made of any bytes gives a task for one of the tasks' subjects, or a sentence; an envelope that is
 * read has an id without blanks or line breaks.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "nats/envelope.h"
#include "nats/letter.h"
#include "nats/names.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_write(const char *bytes, size_t len)
{
    const struct tr_letter letter = {.original_subject = "judge.tasks.light",
                                     .submit_id = "",
                                     .error = "not a task",
                                     .payload = bytes,
                                     .payload_len = len};
    tr_autofree char *text = NULL;
    json_t *back = NULL;

    if (tr_letter_write(&letter, &text, NULL) < 0)
        return; /* JSON that grows over a message when it is written anew */
    assert(strlen(text) <= TR_NATS_MESSAGE_MAX);
    assert(tr_letter_read(text, strlen(text), &back, NULL) == 0);
    json_decref(back);
}

static void check_read(const char *bytes, size_t len)
{
    struct tr_err err = TR_ERR_INIT;
    tr_autofree char *task = NULL;
    const char *subject = NULL;
    json_t *j = NULL;
    int r = tr_letter_read(bytes, len, &j, &err);

    assert((r < 0) == (err.msg[0] != '\0'));
    if (r == 0 && tr_letter_task(j, &task, &subject, NULL) == 0)
        assert(strncmp(subject, "judge.tasks.", 12) == 0 && !strpbrk(subject + 12, ".*> \r\n"));
    json_decref(j);
}

static void check_envelope(const char *bytes, size_t len)
{
    struct tr_err err = TR_ERR_INIT;
    struct tr_envelope e;
    char id[TR_MSG_ID_MAX];
    int r = tr_envelope_read(bytes, len, TR_HEAVY_LANGUAGES, &e, &err);

    assert((r < 0) == (err.msg[0] != '\0'));
    if (r == 0)
        assert(!strpbrk(tr_envelope_id(&e, id), " \t\r\n") && strlen(id) < sizeof(id) - 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *bytes = size ? (const char *)data : "";

    if (size > TR_NATS_TASK_MAX)
        return 0;
    check_write(bytes, size);
    check_read(bytes, size);
    check_envelope(bytes, size);
    return 0;
}
