/* SPDX-License-Identifier: MIT
 *
 * worker_wire.c - a job on its way to a child: the struct as it is, then what it points at.
 *
 * Both ends are the same program, forked: the layout is one, and nothing here is hostile. Lengths
 * are checked all the same.
 */
#include <string.h>

#include "queue/worker.h"

struct field {
    const void *p; /* NULL stays NULL */
    size_t len;
};

enum {
    FIELDS = 8
};

static size_t text_len(const char *s)
{
    return s ? strlen(s) : 0;
}

static void fields_of(const struct tq_job *j, struct field f[FIELDS])
{
    f[0] = (struct field){j->queue, text_len(j->queue)};
    f[1] = (struct field){j->kind, text_len(j->kind)};
    f[2] = (struct field){j->group_key, text_len(j->group_key)};
    f[3] = (struct field){j->locked_by, text_len(j->locked_by)};
    f[4] = (struct field){j->unique_key, j->unique_len};
    f[5] = (struct field){j->payload, j->payload_len};
    f[6] = (struct field){j->progress, j->progress_len};
    f[7] = (struct field){j->result, j->result_len};
}

void tqw_wire_job(struct tr_buf *out, const struct tq_job *job)
{
    struct field f[FIELDS];
    size_t lens[FIELDS], total = sizeof(*job) + sizeof(lens);

    fields_of(job, f);
    for (int i = 0; i < FIELDS; i++) {
        lens[i] = f[i].p ? f[i].len + 1 : 0; /* 0: NULL */
        total += lens[i];
    }
    struct tqw_frame frame = {.type = FRAME_JOB, .len = total};
    tr_buf_add(out, &frame, sizeof(frame));
    tr_buf_add(out, job, sizeof(*job));
    tr_buf_add(out, lens, sizeof(lens));
    for (int i = 0; i < FIELDS; i++)
        if (f[i].p) {
            tr_buf_add(out, f[i].p, f[i].len);
            tr_buf_addc(out, '\0');
        }
}

bool tqw_unwire_job(char *bytes, size_t len, struct tq_job *ret)
{
    size_t lens[FIELDS], at = sizeof(*ret) + sizeof(lens);
    char *p[FIELDS] = {NULL};

    if (len < at)
        return false;
    memcpy(ret, bytes, sizeof(*ret));
    memcpy(lens, bytes + sizeof(*ret), sizeof(lens));
    for (int i = 0; i < FIELDS; i++) {
        if (!lens[i])
            continue;
        if (lens[i] > len - at)
            return false;
        p[i] = bytes + at;
        at += lens[i];
    }
    ret->queue = p[0];
    ret->kind = p[1];
    ret->group_key = p[2];
    ret->locked_by = p[3];
    ret->unique_key = p[4];
    ret->payload = p[5];
    ret->progress = p[6];
    ret->result = p[7];
    return at == len;
}
