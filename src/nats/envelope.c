/* SPDX-License-Identifier: MIT
 *
 * envelope.c - route and name a task. The task itself is the codec's business.
 */
#include "nats/envelope.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "codec/task.h"
#include "nats/names.h"

enum {
    ARENA_MAX = 16 * 1024 * 1024, /* a message of 1 MB, decoded */
    COUNT_MAX = 1000000
};

bool tr_slug_in(const char *slug, const char *list)
{
    size_t len = strlen(slug);

    for (const char *p = list; *p;) {
        p += strspn(p, ", ");
        size_t n = strcspn(p, ", ");

        if (n > 0 && n == len && memcmp(p, slug, n) == 0)
            return true;
        p += n;
    }
    return false;
}

/* The fields that only the transport knows. */
static int read_extra(const char *bytes, size_t len, struct tr_arena *a, struct tr_envelope *e,
                      const char **ret_type, struct tr_err *err)
{
    TR_CLEANUP(tr_json_unrefp) json_t *root = NULL;
    int r = tr_json_parse(bytes, len, TR_NATS_TASK_MAX, &root, err);

    if (r >= 0)
        r = tr_json_int(root, "", "generation", 0, COUNT_MAX, &e->generation, err);
    if (r >= 0)
        r = tr_json_int(root, "", "crashes", 0, COUNT_MAX, &e->crashes, err);
    if (r >= 0)
        r = tr_json_int(root, "", "revivals", 0, COUNT_MAX, &e->revivals, err);
    if (r >= 0)
        r = tr_json_text(root, "", "type", a, ret_type, err);
    return r < 0 ? r : 0;
}

static int route(struct tr_envelope *e, const char *type, const char *slug, const char *heavy,
                 struct tr_err *err)
{
    if (type && strcmp(type, "light") != 0 && strcmp(type, "heavy") != 0)
        return tr_fail(err, TR_E_PARSE, 0, "type: expected \"light\" or \"heavy\"");
    e->heavy = type ? type[0] == 'h' : tr_slug_in(slug, heavy);
    return 0;
}

static int read_task(const char *bytes, size_t len, const char *heavy, struct tr_arena *a,
                     struct tr_envelope *e, struct tr_err *err)
{
    struct tr_task task;
    const char *type = NULL;
    int r = tr_task_parse(bytes, len, a, &task, err);

    if (r == 0)
        r = read_extra(bytes, len, a, e, &type, err);
    if (r == 0)
        r = route(e, type, task.lang_slug, heavy, err);
    if (r < 0)
        return r;
    e->retry_count = task.retry_count;
    if (snprintf(e->submit_id, sizeof(e->submit_id), "%s", task.submit_id) >=
        (int)sizeof(e->submit_id))
        return tr_fail(err, TR_E_LIMIT, 0, "submit_id is longer than %d bytes", TR_SUBMIT_ID_MAX);
    return 0;
}

int tr_envelope_read(const char *bytes, size_t len, const char *heavy_languages,
                     struct tr_envelope *ret, struct tr_err *err)
{
    struct tr_envelope e = {.generation = 0};
    struct tr_arena a;

    if (len > TR_NATS_TASK_MAX)
        return tr_fail(err, TR_E_LIMIT, 0,
                       "the task has %zu bytes; at most %d go over NATS. Put test data into "
                       "problem.test_data_zip instead of problem.test_cases",
                       len, TR_NATS_TASK_MAX);
    tr_arena_init(&a, ARENA_MAX);
    int r = read_task(bytes, len, heavy_languages, &a, &e, err);
    tr_arena_done(&a);
    if (r < 0)
        return r;
    *ret = e;
    return 0;
}

const char *tr_envelope_subject(const struct tr_envelope *e)
{
    return e->heavy ? TR_SUBJECT_TASKS ".heavy" : TR_SUBJECT_TASKS ".light";
}

const char *tr_envelope_id(const struct tr_envelope *e, char out[static TR_MSG_ID_MAX])
{
    (void)snprintf(out, TR_MSG_ID_MAX, "%s:%lld:%lld:%lld", e->submit_id, (long long)e->generation,
                   (long long)e->retry_count, (long long)e->crashes); /* at most 192 bytes */
    return out;
}
