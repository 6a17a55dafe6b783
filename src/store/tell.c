/* SPDX-License-Identifier: MIT
 *
 * tell.c - see tell.h.
 */
#include "store/tell.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "codec/json.h"
#include "store/events.h"

int tr_store_tell(struct tr_store *st, const struct tr_tell *t, struct tr_err *err)
{
    const char *type = t->result ? "result" : "status_change";
    char when[TR_TIME_TEXT];
    TR_CLEANUP(tr_json_unrefp)
    json_t *j = json_pack("{s:s, s:s, s:s, s:I, s:s*, s:s*, s:s*, s:s*, s:s, s:s*}", "type", type,
                          "submit_id", t->submit_id, "status", t->status, "generation",
                          (json_int_t)t->generation, "worker_id", t->worker_id, "problem",
                          t->problem, "language", t->language, "user", t->user, "timestamp",
                          tr_clock_text(tr_clock_real_us(), when), "message", t->message);

    if (j && t->result) {
        (void)json_object_set(j, "result", t->result);
        (void)json_object_set_new(j, "score", json_real((double)t->score / 1e6));
    }
    tr_autofree char *text = j ? json_dumps(j, JSON_COMPACT) : NULL;
    if (!text)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory for an event");
    return tr_store_event_add(st, type, t->submit_id, text, strlen(text), err);
}

int64_t tr_store_fault_delay_us(bool heavy, int64_t retry_count)
{
    static const int64_t light_s[] = {5, 10, 30}, heavy_s[] = {10, 30, 60};
    size_t i = retry_count < 3 ? (size_t)retry_count : 2;

    return (heavy ? heavy_s[i] : light_s[i]) * 1000000;
}
