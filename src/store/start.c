/* SPDX-License-Identifier: MIT
 *
 * start.c - a run begins, or why it does not.
 *
 * One conditional update takes the row; only when it takes none is the row looked at, to say why.
 * (On MySQL always: an update there tells nothing of the row.)
 */
#include <string.h>

#include "store/private.h"

enum {
    ARENA_MAX = 1 << 20,
    WAIT_MIN_US = 10000 /* clocks of the database and of the transport differ a little */
};

struct starting {
    const char *submit_id;
    int64_t generation, lease_us;
    char owner[TS_START_NAME]; /* of this run and no other: how we know our own start again
                                          when the answer of its commit was lost */
    struct tr_start got;
};

void ts_name_start(struct tr_store *st, char *out, size_t size)
{
    (void)snprintf(out, size, "%s#%llu", st->owner, (unsigned long long)++st->starts);
}

static int64_t at_least(int64_t us)
{
    return us > WAIT_MIN_US ? us : WAIT_MIN_US;
}

/* What a row that could not be taken means. RUNNING with a dead lease and no crashes left is for
 * the caller. */
static int explain(const struct tr_submission *s, const struct starting *want, int64_t now,
                   struct tr_start *got)
{
    if (s->duplicate_of)
        return TR_START_DUPLICATE;
    if (s->generation > want->generation)
        return TR_START_STALE;
    switch (s->status) {
    case TR_FINISHED:
        return TR_START_FINISHED;
    case TR_CANCELLED:
        return TR_START_CANCELLED;
    case TR_DLQ:
        return TR_START_DEAD;
    case TR_RUNNING:
        got->wait_us = at_least(s->lease_until_us - now);
        return s->lease_until_us < now ? TR_START_WORN_OUT : TR_START_BUSY;
    case TR_PENDING:
    case TR_SYSTEM_ERROR:
    case TR_STATES:
    default:
        got->wait_us = at_least(s->available_us - now);
        return TR_START_EARLY;
    }
}

static int wear_out(struct tr_store *st, const struct starting *w, struct tr_err *err)
{
    struct tq_val p[] = {
        ts_text(w->submit_id),
        ts_int(w->generation),
        ts_int(TR_STORE_CRASHES),
        ts_text("the workers that judged it died, too many times in a row"),
    };
    int64_t r = ts_exec(st, TS_WEAR_OUT, TS_NO_MOVE, p, TR_ARRAY_LEN(p), NULL, NULL, err);

    if (r == 0) /* somebody moved it between the two statements: look again */
        return tr_fail(err, TR_E_ABORT, 0, "submission '%.128s' moved meanwhile", w->submit_id);
    return r < 0 ? (int)r : TR_START_WORN_OUT;
}

static void note(struct tr_start *got, const struct tr_submission *s)
{
    got->run_lease = s->run_lease;
    got->retry_count = s->retry_count;
    got->crashes = s->crashes;
    got->revivals = s->revivals;
    got->generation = s->generation;
}

struct owner {
    int64_t now;
    char name[TS_START_NAME];
};

static int owner_row(void *arg, const struct tq_val *c, int ncols)
{
    struct owner *o = arg;

    o->now = ts_val_int(&c[3]);
    if (c[2].p && c[2].len < sizeof(o->name)) {
        memcpy(o->name, c[2].p, c[2].len);
        o->name[c[2].len] = '\0';
    }
    return 0;
}

static int look(struct tr_store *st, struct starting *w, struct tr_err *err)
{
    struct tr_submission s = {0};
    struct tr_arena arena;
    struct owner o = {0};
    struct tq_val id = ts_text(w->submit_id);

    tr_arena_init(&arena, ARENA_MAX);
    int64_t r = ts_exec(st, TS_OWNER, TS_NO_MOVE, &id, 1, owner_row, &o, err);
    if (r >= 0)
        r = ts_get(st, w->submit_id, &arena, &s, err);
    if (r >= 0) {
        note(&w->got, &s);
        bool ours = s.status == TR_RUNNING && !strcmp(o.name, w->owner);
        r = ours ? TR_START_OK : explain(&s, w, o.now, &w->got);
    }
    tr_arena_done(&arena);
    if (r == TR_E_NOTFOUND)
        return TR_START_UNKNOWN;
    return r == TR_START_WORN_OUT ? wear_out(st, w, err) : (int)r;
}

static int run_row(void *arg, const struct tq_val *c, int ncols)
{
    struct tr_start *got = arg;

    got->run_lease = ts_val_int(&c[0]);
    got->retry_count = ts_val_int(&c[1]);
    got->crashes = ts_val_int(&c[2]);
    got->revivals = ts_val_int(&c[3]);
    got->generation = ts_val_int(&c[4]);
    return 0;
}

static int start_op(struct tr_store *st, void *arg, struct tr_err *err)
{
    struct starting *w = arg;
    struct tq_val p[] = {
        ts_text(w->submit_id),  ts_int(w->generation), ts_int(w->lease_us),
        ts_text(st->worker_id), ts_text(w->owner),     ts_int(TR_STORE_CRASHES),
    };

    w->got = (struct tr_start){0};
    int64_t r = ts_exec(st, TS_START, TR_MOVE_START, p, TR_ARRAY_LEN(p), run_row, &w->got, err);
    if (r < 0)
        return (int)r;
    return w->got.run_lease > 0 ? TR_START_OK : look(st, w, err);
}

int tr_store_start(struct tr_store *st, const char *submit_id, int64_t generation, int64_t lease_us,
                   struct tr_start *ret, struct tr_err *err)
{
    struct starting w = {.submit_id = submit_id, .generation = generation, .lease_us = lease_us};

    ts_name_start(st, w.owner, sizeof(w.owner));
    int r = ts_run(st, start_op, &w, err);

    if (r >= 0)
        *ret = w.got;
    return r;
}
