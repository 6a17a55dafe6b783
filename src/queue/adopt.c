/* SPDX-License-Identifier: MIT
 *
 * adopt.c - a running job changes hands without being stopped.
 *
 * For brokers: a judge whose connection broke comes back to another controller and goes on. The
 * fence grows, so the one who had it before cannot settle it any more.
 */
#include "queue/internal.h"

struct adopt {
    struct tq_ref ref;
    int64_t lease_us;
};

static int adopt_op(struct tqi_link *l, void *arg, struct tr_err *err)
{
    const struct adopt *a = arg;
    struct tq_val p[] = {
        tqi_int(a->ref.id),
        tqi_int(a->ref.run_lease),
        tqi_int(a->lease_us),
        tqi_text(l->q->worker),
        l->q->executor ? tqi_int(l->q->executor) : (struct tq_val){.type = TQ_NULL, .oid = 20},
    };
    int64_t changed = 0;
    int r = tqi_exec(l, S_ADOPT, p, 5, NULL, NULL, &changed, err);

    if (r >= 0 && !changed)
        return tr_fail(err, TR_E_LOST, 0, "job %lld is no longer held under run_lease %lld",
                       (long long)a->ref.id, (long long)a->ref.run_lease);
    return r < 0 ? r : 0;
}

int tq_adopt(tq *q, struct tq_ref *ref, int64_t lease_us, struct tr_err *err)
{
    struct adopt a = {.ref = *ref, .lease_us = lease_us};

    if (lease_us < 1)
        return tr_fail(err, TR_E_USAGE, 0, "a lease needs a length");
    int r = q->executor ? 0 : tqi_live_begin(q, err);
    if (r >= 0)
        r = tqi_run(q, OP_TX, adopt_op, &a, err);
    if (r < 0)
        return r;
    ref->run_lease++;
    return 0;
}
