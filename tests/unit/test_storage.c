/* SPDX-License-Identifier: MIT
 *
 * test_storage.c - the controller's storage on a real SQLite file: who goes first, who is refused,
 * who is asked again.
 */
#include "controller/storage.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "controller/ctl.h"
#include "unit.h"

enum {
    LOAD = 3,            /* operations that keep coming */
    DEADLINE_MS = 60000, /* of a test: a busy machine may take long */
    AWAY = 1000000       /* failures: more than there will be tries */
};

static struct {
    char folder[64];
    char url[128];
    struct ctl ctl;
    uv_timer_t deadline;
    int done;   /* operations that came back */
    int wanted; /* so many, and the loop ends */
} t;

struct
try {
    struct op op;
    int failures; /* how often it still fails */
    int tries;
    int place; /* came back as the how manyth */
    bool endless;
};

static void late(uv_timer_t *timer)
{
    fail_msg("%d operations came back, %d were wanted", t.done, t.wanted);
}

static int run_try(struct op *op, struct tr_store *st, struct tr_err *err)
{
    struct try *o = (struct try *)op;

    o->tries++;
    if (o->failures == 0)
        return 0;
    o->failures--;
    return tr_fail(err, TR_E_RETRY, 0, "not now");
}

static void try_done(struct op *op)
{
    struct try *o = (struct try *)op;

    if (o->endless) { /* load that never pauses */
        if (t.done < t.wanted)
            storage_do(t.ctl.storage, op);
        return;
    }
    o->place = ++t.done;
    if (t.done == t.wanted)
        tr_loop_stop(t.ctl.loop);
}

static void hand_over(struct try *o, enum op_lane lane, bool must)
{
    o->op = (struct op){.run = run_try, .done = try_done, .lane = lane, .must = must};
    storage_do(t.ctl.storage, &o->op);
}

static int set_up(void **state)
{
    memset(&t, 0, sizeof(t));
    (void)snprintf(t.folder, sizeof(t.folder), "/tmp/tribunal-storage-XXXXXX");
    if (!mkdtemp(t.folder) || tr_loop_new(&t.ctl.loop, NULL) < 0)
        return -1;
    (void)snprintf(t.url, sizeof(t.url), "sqlite:%s/t.db", t.folder);
    t.ctl.conf.db = t.url;
    t.ctl.conf.controller_id = "test";
    uv_timer_init(tr_loop_uv(t.ctl.loop), &t.deadline);
    uv_timer_start(&t.deadline, late, DEADLINE_MS, 0);
    return storage_start(&t.ctl, &t.ctl.storage, NULL);
}

static int tear_down(void **state)
{
    t.wanted = 0;
    storage_stop(t.ctl.storage);
    tr_loop_free(t.ctl.loop);
    return tr_fs_remove_tree(AT_FDCWD, t.folder, NULL) < 0 ? -1 : 0;
}

static void run_until(int wanted)
{
    t.wanted = wanted;
    tr_loop_run(t.ctl.loop);
}

/* Six tries at once, then between the others: also when there are always others. */
static void what_must_happen_is_not_put_off_by_load(void **state)
{
    struct try load[LOAD] = {0}, verdict = {.failures = 12};

    for (int i = 0; i < LOAD; i++) {
        load[i].endless = true;
        hand_over(&load[i], OP_NORMAL, false);
    }
    hand_over(&verdict, OP_URGENT, true);
    run_until(1);
    assert_int_equal(verdict.op.result, 0);
    assert_int_equal(verdict.failures, 0);
    storage_stop(t.ctl.storage); /* before the operations leave the stack */
    t.ctl.storage = NULL;
}

static void what_may_be_refused_is_refused_alone(void **state)
{
    struct try bad = {.failures = AWAY}, good[LOAD] = {0};

    hand_over(&bad, OP_NORMAL, false);
    for (int i = 0; i < LOAD; i++)
        hand_over(&good[i], OP_NORMAL, false);
    run_until(1 + LOAD);
    assert_int_equal(bad.op.result, TR_E_RETRY);
    assert_string_equal(bad.op.err.msg, "not now");
    assert_false(bad.op.away); /* the database did answer */
    for (int i = 0; i < LOAD; i++)
        assert_int_equal(good[i].op.result, 0);
}

static void what_cannot_happen_does_not_keep_the_end_waiting(void **state)
{
    struct try verdict = {.failures = AWAY};

    uv_unref((uv_handle_t *)&t.deadline); /* nothing but the threads keeps the loop alive */
    hand_over(&verdict, OP_URGENT, true);
    t.wanted = 1;
    storage_stop(t.ctl.storage);
    t.ctl.storage = NULL;
    assert_int_equal(t.done, 1);
    assert_int_equal(verdict.op.result, TR_E_RETRY);
}

static void one_that_waits_again_keeps_nobody_waiting(void **state)
{
    struct try verdict = {.failures = 8}, after = {0};

    hand_over(&verdict, OP_URGENT, true);
    hand_over(&after, OP_NORMAL, false);
    run_until(2);
    assert_int_equal(after.place, 1);
    assert_int_equal(verdict.place, 2);
    assert_int_equal(verdict.op.result, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_must_happen_is_not_put_off_by_load, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_may_be_refused_is_refused_alone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_cannot_happen_does_not_keep_the_end_waiting, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(one_that_waits_again_keeps_nobody_waiting, set_up,
                                        tear_down),
    };
    return RUN(tests);
}
