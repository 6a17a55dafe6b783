/* SPDX-License-Identifier: MIT
 *
 * row.c - from a task to what the store keeps of it.
 */
#include "nats/row.h"

#include "base/cleanup.h"
#include "codec/task.h"

/* An id inside a block such as "user": a number or a text, as a text; "" when there is none. */
static const char *member(struct tr_arena *a, const char *block, const char *name)
{
    TR_CLEANUP(tr_json_unrefp) json_t *o = block ? json_loads(block, JSON_DECODE_ANY, NULL) : NULL;
    const json_t *v = json_object_get(o, name);
    const char *text = NULL;

    if (json_is_string(v))
        text = tr_arena_strdup(a, json_string_value(v));
    else if (json_is_integer(v))
        text = tr_arena_printf(a, "%lld", (long long)json_integer_value(v));
    return text ? text : "";
}

int tr_nats_row(const char *bytes, size_t len, const char *subject, const char *heavy_languages,
                struct tr_arena *arena, struct tr_nats_row *ret, struct tr_err *err)
{
    struct tr_task t;
    int r = tr_envelope_read(bytes, len, heavy_languages, &ret->env, err);

    if (r >= 0)
        r = tr_task_parse(bytes, len, arena, &t, err);
    if (r < 0)
        return r;
    ret->contest = t.contest;
    ret->user = t.user;
    ret->row = (struct tr_submission_new){
        .submit_id = ret->env.submit_id,
        .user_id = member(arena, t.user, "id"),
        .user_name = member(arena, t.user, "username"),
        .idempotency_key = t.idempotency_key,
        .source = "nats",
        .subject = subject ? subject : tr_envelope_subject(&ret->env),
        .problem_id = tr_arena_printf(arena, "%lld", (long long)t.problem.id),
        .contest_id = member(arena, t.contest, "id"),
        .lang = t.lang_slug,
        .generation = ret->env.generation,
        .retry_count = ret->env.retry_count,
        .crashes = ret->env.crashes,
        .task = bytes,
        .task_len = len,
        .on_key = TR_KEY_DUPLICATE,
    };
    return 0;
}
