/* SPDX-License-Identifier: MIT
 *
 * blob.c - payloads too large for the hot table.
 *
 * The row keeps a random name; the bytes are put before the row is inserted, so a row never points
 * at nothing. A rollback leaves a blob that no row names: tq_blobs_collect() removes those once
 * they are older than any transaction.
 */
#include <stdio.h>
#include <string.h>

#include "base/rand.h"
#include "queue/internal.h"

int tqi_blob_store(tq *q, const void *data, size_t len, char name[TQ_BLOB_NAME], struct tr_err *err)
{
    unsigned long long half[2] = {tr_random_u64(), tr_random_u64()};
    char made[TQ_BLOB_NAME];

    (void)snprintf(made, sizeof(made), "%016llx%016llx", half[0], half[1]);
    int r = q->blobs->put(q->blobs->user, made, data, len, err);
    if (r < 0)
        return r;
    memcpy(name, made, sizeof(made));
    return 0;
}

int tqi_blob_load(tq *q, tq_batch *b, int i, struct tr_err *err)
{
    struct tq_job *j = &b->jobs[i];
    void *data = NULL;
    size_t len = 0;

    if (!q->blobs)
        return tr_fail(err, TR_E_USAGE, 0,
                       "the payload of job %lld is in a blob store and this handle has none",
                       (long long)j->ref.id);
    int r = q->blobs->get(q->blobs->user, j->payload, q->max_payload, &data, &len, err);
    if (r < 0)
        return r;
    char *copy = tr_arena_alloc(&b->arena, len + 1);
    if (copy && len)
        memcpy(copy, data, len);
    free(data);
    if (!copy)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory for a payload of %zu bytes", len);
    copy[len] = '\0';
    j->payload = copy;
    j->payload_len = len;
    b->extra[i].payload_kind &= ~2;
    return 0;
}

struct names {
    char (*list)[TQ_BLOB_NAME];
    size_t n, cap;
};

static int add_name(void *arg, const char *name)
{
    struct names *s = arg;

    if (strlen(name) != TQ_BLOB_NAME - 1)
        return 0; /* not ours */
    if (s->n == s->cap) {
        size_t cap = s->cap ? 2 * s->cap : 64;
        void *list = realloc(s->list, cap * sizeof(*s->list));
        if (!list)
            return TR_E_NOMEM;
        s->list = list;
        s->cap = cap;
    }
    memcpy(s->list[s->n++], name, TQ_BLOB_NAME);
    return 0;
}

static int used_op(struct tqi_link *l, void *arg, struct tr_err *err)
{
    struct tq_val p = tqi_bytes(arg, TQ_BLOB_NAME - 1);
    int64_t one = 0;

    return tqi_scalar(l, S_BLOB_USED, &p, 1, &one, err);
}

int tq_blobs_collect(tq *q, int64_t older_us, struct tr_err *err)
{
    struct names s = {0};
    int gone = 0;

    if (!q->blobs)
        return 0;
    int r = q->blobs->list(q->blobs->user, older_us, add_name, &s, err);
    for (size_t i = 0; i < s.n && r >= 0; i++) {
        r = tqi_run(q, OP_READ, used_op, s.list[i], err);
        if (r == 0)
            r = q->blobs->del(q->blobs->user, s.list[i], err);
        else
            continue;
        gone += r >= 0;
    }
    free(s.list);
    return r < 0 ? r : gone;
}
