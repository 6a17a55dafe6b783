/* SPDX-License-Identifier: MIT
 *
 * periodic.c - jobs that come back, and who looks after the queue.
 *
 * The last tick of a schedule is a row; moving it on and enqueueing the job are one transaction
 * that holds the row. So a tick fires once whoever calls, however often, and a clock that steps
 * back finds its ticks already fired. A schedule that was never seen starts now, not in 1970.
 */
#include <stdio.h>
#include <string.h>

#include "base/rand.h"
#include "queue/worker.h"

enum {
    AT_ONCE_MAX = 100 /* ticks of one schedule in one transaction */
};
#define CATCH_UP_US ((int64_t)3600 * 1000000)

struct tick {
    const struct tq_periodic *p;
    int64_t last, now;
    bool found;
};

static int tick_row(void *arg, const struct tq_val *c, int ncols)
{
    struct tick *t = arg;

    if (ncols < 2)
        return TR_E_FATAL;
    t->last = tqi_val_int(&c[0]);
    t->now = tqi_val_int(&c[1]);
    t->found = true;
    return 0;
}

static int get_op(struct tqi_link *l, void *arg, struct tr_err *err)
{
    struct tick *t = arg;
    struct tq_val name = tqi_text(t->p->name);

    t->found = false;
    return tqi_exec(l, S_PERIODIC_GET, &name, 1, tick_row, t, NULL, err);
}

static int lock_op(struct tqi_link *l, void *arg, struct tr_err *err)
{
    struct tick *t = arg;
    struct tq_val name = tqi_text(t->p->name);

    t->found = false;
    return tqi_exec(l, S_PERIODIC_LOCK, &name, 1, tick_row, t, NULL, err);
}

static int make_op(struct tqi_link *l, void *arg, struct tr_err *err)
{
    const struct tick *t = arg;
    struct tq_val name = tqi_text(t->p->name);

    return tqi_exec(l, S_PERIODIC_MAKE, &name, 1, NULL, NULL, NULL, err);
}

static int move_op(struct tqi_link *l, void *arg, struct tr_err *err)
{
    const struct tick *t = arg;
    struct tq_val p[] = {tqi_text(t->p->name), tqi_int(t->last)};

    return tqi_exec(l, S_PERIODIC_MOVE, p, 2, NULL, NULL, NULL, err);
}

static int after(const struct tq_periodic *p, int64_t last, int64_t *ret, struct tr_err *err)
{
    if (p->cron)
        return tq_cron_next(p->cron, last, ret, err);
    *ret = (last / p->every_us + 1) * p->every_us;
    return 0;
}

/* Enqueue what is due; the row is locked. Returns how many. */
static int fire_locked(tq *q, struct tick *t, struct tr_err *err)
{
    int64_t catch_up = t->p->catch_up_us > 0 ? t->p->catch_up_us : CATCH_UP_US, next;
    int64_t before = t->last;
    int n = 0;

    if (t->last < t->now - catch_up)
        t->last = t->now - catch_up;
    for (; n < AT_ONCE_MAX; n++) {
        int r = after(t->p, t->last, &next, err);
        if (r < 0)
            return r;
        if (next > t->now)
            break;
        struct tq_item item = t->p->item;
        item.run_at_us = next; /* due already, so ready at once; tells the job which tick it is */
        r = tq_enqueue(q, &item, NULL, err);
        if (r < 0)
            return r;
        t->last = next;
    }
    if (t->last == before)
        return 0;
    int r = tqi_run(q, OP_ONE, move_op, t, err);
    return r < 0 ? r : n;
}

static int fire_one(tq *q, struct tick *t, struct tr_err *err)
{
    int r = tq_begin(q, NULL, err);

    if (r < 0)
        return r;
    r = tqi_run(q, OP_ONE, lock_op, t, err);
    int n = r >= 0 && t->found ? fire_locked(q, t, err) : r;
    if (n < 0) {
        tq_rollback(q);
        return n;
    }
    r = tq_commit(q, err);
    return r < 0 ? r : n;
}

static int check(const struct tq_periodic *p, struct tr_err *err)
{
    int r = tqi_check_name("name of the schedule", p->name, false, err);

    if (r >= 0 && !p->cron && p->every_us < 1000000)
        return tr_fail(err, TR_E_USAGE, 0,
                       "schedule '%s' needs a cron expression or an interval of at least 1 s",
                       p->name);
    return r;
}

static int fire(tq *q, const struct tq_periodic *p, int64_t *ret_next, struct tr_err *err)
{
    struct tick t = {.p = p};
    int n = 0;

    int r = check(p, err);
    if (r >= 0)
        r = tqi_run(q, OP_READ, get_op, &t, err);
    if (r >= 0 && !t.found) {
        r = tqi_run(q, OP_TX, make_op, &t, err);
        if (r >= 0)
            r = tqi_run(q, OP_READ, get_op, &t, err);
    }
    if (r >= 0)
        r = after(p, t.last, ret_next, err);
    while (r >= 0 && *ret_next <= t.now) {
        r = fire_one(q, &t, err);
        if (r >= 0) {
            n += r;
            r = after(p, t.last, ret_next, err);
        }
    }
    return r < 0 ? r : n;
}

int tq_periodic_fire(tq *q, const struct tq_periodic *list, size_t n, int64_t *ret_next_us,
                     struct tr_err *err)
{
    int64_t next = INT64_MAX, at = INT64_MAX;
    int fired = 0;

    for (size_t i = 0; i < n; i++) {
        int r = fire(q, &list[i], &at, err);
        if (r < 0)
            return r;
        fired += r;
        next = at < next ? at : next;
    }
    if (ret_next_us)
        *ret_next_us = next;
    return fired;
}

/* ---------------------------------------------------------------- the leader */

struct leader {
    const char *role;
    int64_t lease_us;
    char holder[TQ_NAME_MAX + 1];
};

static int lead_op(struct tqi_link *l, void *arg, struct tr_err *err)
{
    const struct leader *a = arg;
    struct tq_val p[] = {tqi_text(a->role), tqi_text(a->holder), tqi_int(a->lease_us)};
    int64_t changed = 0;

    int r = tqi_exec(l, S_LEADER_TAKE, p, 3, NULL, NULL, &changed, err);
    return r < 0 ? r : changed > 0;
}

static int lead_make_op(struct tqi_link *l, void *arg, struct tr_err *err)
{
    const struct leader *a = arg;
    struct tq_val role = tqi_text(a->role);

    return tqi_exec(l, S_LEADER_MAKE, &role, 1, NULL, NULL, NULL, err);
}

int tq_leader(tq *q, const char *role, int64_t lease_us, struct tr_err *err)
{
    struct leader a = {.role = role, .lease_us = lease_us};

    int r = tqi_check_name("role", role, false, err);
    if (r < 0)
        return r;
    if (lease_us < 0)
        return tr_fail(err, TR_E_USAGE, 0, "a leader's lease needs a length");
    if (!q->leader_token) /* two handles may have one name */
        q->leader_token = tr_random_u64() | 1;
    (void)snprintf(a.holder, sizeof(a.holder), "%.160s#%016llx", q->worker,
                   (unsigned long long)q->leader_token);
    r = tqi_run(q, OP_ONE, lead_op, &a, err);
    if (r != 0 || lease_us == 0)
        return r < 0 ? r : r > 0 && lease_us > 0;
    r = tqi_run(q, OP_ONE, lead_make_op, &a, err); /* 0: somebody leads, or the row is missing */
    return r < 0 ? r : tqi_run(q, OP_ONE, lead_op, &a, err);
}
