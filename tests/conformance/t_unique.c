/* SPDX-License-Identifier: MIT
 *
 * t_unique.c - unique keys: which jobs count as one, for how long, and what a second one does.
 */
#include "conf.h"

static struct tq_item keyed(const char *key, const char *payload, int scope, int on_conflict)
{
    struct tq_item it = job("q", payload);

    it.unique_key = key;
    it.unique_len = strlen(key);
    it.unique_scope = scope;
    it.on_conflict = on_conflict;
    return it;
}

static struct tq_enqueued add(const struct tq_item *it)
{
    struct tq_enqueued out = {0, -1};

    OK(tq_enqueue(E.q, it, &out, &E.err));
    return out;
}

static void a_second_job_with_the_key_is_the_first(void **state)
{
    struct tq_item it = keyed("k", "1", TQ_UNIQUE_ACTIVE, TQ_CONFLICT_KEEP);
    struct tq_enqueued a = add(&it), b = add(&it);

    assert_int_equal(a.existed, TQ_NEW);
    assert_int_equal(b.existed, TQ_EXISTED);
    assert_int_equal(a.id, b.id);
    assert_int_equal(num("SELECT count(*) FROM job_queue"), 1);
}

static void keys_differ_by_case_and_trailing_space(void **state)
{
    static const char *const keys[] = {"Abc", "aBC", "abc", "abc ", "äbc"};

    for (int i = 0; i < 5; i++) {
        struct tq_item it = keyed(keys[i], "x", TQ_UNIQUE_ACTIVE, TQ_CONFLICT_KEEP);
        assert_int_equal(add(&it).existed, TQ_NEW);
    }
}

static void keys_may_be_any_bytes(void **state)
{
    struct tq_item it = job("q", "x");

    it.unique_key = "\0\xff\x80";
    it.unique_len = 3;
    assert_int_equal(add(&it).existed, TQ_NEW);
    it.unique_len = 2;
    assert_int_equal(add(&it).existed, TQ_NEW);
    it.unique_len = 3;
    assert_int_equal(add(&it).existed, TQ_EXISTED);
    assert_int_equal(take(E.q, "q")->unique_len, 3);
}

static void keys_belong_to_their_queue(void **state)
{
    struct tq_item it = keyed("k", "x", TQ_UNIQUE_ACTIVE, TQ_CONFLICT_KEEP);

    (void)add(&it);
    it.queue = "other";
    assert_int_equal(add(&it).existed, TQ_NEW);
}

static void active_scope_holds_while_running(void **state)
{
    struct tq_item it = keyed("k", "x", TQ_UNIQUE_ACTIVE, TQ_CONFLICT_KEEP);

    (void)add(&it);
    struct tq_ref ref = take(E.q, "q")->ref;
    assert_int_equal(add(&it).existed, TQ_EXISTED);
    OK(tq_nack(E.q, ref, 0, NULL, 0, &E.err));
    assert_int_equal(add(&it).existed, TQ_EXISTED);
    OK(tq_ack(E.q, take(E.q, "q")->ref, NULL, 0, &E.err));
    assert_int_equal(add(&it).existed, TQ_NEW);
}

static void queued_scope_ends_at_the_claim(void **state)
{
    struct tq_item it = keyed("k", "x", TQ_UNIQUE_QUEUED, TQ_CONFLICT_KEEP);

    (void)add(&it);
    assert_int_equal(add(&it).existed, TQ_EXISTED);
    struct tq_ref ref = take(E.q, "q")->ref;
    assert_int_equal(add(&it).existed, TQ_NEW);
    assert_int_equal(add(&it).existed, TQ_EXISTED);
    assert_int_equal(OK(tq_nack(E.q, ref, 0, NULL, 0, &E.err)), TQ_SETTLED_AGAIN);
    assert_int_equal(num("SELECT count(*) FROM job_queue WHERE state = 1"), 2);
}

static void window_scope_outlives_the_job(void **state)
{
    struct tq_item it = keyed("k", "x", TQ_UNIQUE_WINDOW, TQ_CONFLICT_KEEP);

    it.unique_window_us = 3600LL * SEC;
    int64_t id = add(&it).id;
    OK(tq_ack(E.q, take(E.q, "q")->ref, NULL, 0, &E.err));
    struct tq_enqueued again = add(&it);
    assert_int_equal(again.existed, TQ_EXISTED);
    assert_int_equal(again.id, id);
}

static void window_scope_ends_with_its_window(void **state)
{
    struct tq_item it = keyed("k", "x", TQ_UNIQUE_WINDOW, TQ_CONFLICT_KEEP);

    it.unique_window_us = 3600LL * SEC;
    (void)add(&it);
    S.clock_us = 3601LL * SEC;
    assert_int_equal(add(&it).existed, TQ_NEW);
    assert_int_equal(add(&it).existed, TQ_EXISTED);
    assert_int_equal(num("SELECT count(*) FROM job_queue"), 2);
}

static void a_rolled_back_key_is_free(void **state)
{
    struct tq_tx tx = caller();
    struct tq_item a = keyed("k", "x", TQ_UNIQUE_ACTIVE, TQ_CONFLICT_KEEP);
    struct tq_item w = keyed("w", "x", TQ_UNIQUE_WINDOW, TQ_CONFLICT_KEEP);

    w.unique_window_us = 3600LL * SEC;
    begin(tx);
    OK(tq_tx_enqueue(E.q, tx, &a, NULL, &E.err));
    OK(tq_tx_enqueue(E.q, tx, &w, NULL, &E.err));
    rollback(tx);
    assert_int_equal(add(&a).existed, TQ_NEW);
    assert_int_equal(add(&w).existed, TQ_NEW);
}

static void replace_changes_the_queued_job(void **state)
{
    struct tq_item it = keyed("k", "old", TQ_UNIQUE_ACTIVE, TQ_CONFLICT_REPLACE);
    int64_t id = add(&it).id;

    it.payload = "new";
    it.priority = 4;
    struct tq_enqueued out = add(&it);
    assert_int_equal(out.existed, TQ_REPLACED);
    assert_int_equal(out.id, id);
    const struct tq_job *j = take(E.q, "q");
    assert_string_equal(j->payload, "new");
    assert_int_equal(j->priority, 4);
}

static void replace_moves_the_time(void **state)
{
    struct tq_item it = keyed("k", "x", TQ_UNIQUE_ACTIVE, TQ_CONFLICT_REPLACE);

    it.delay_us = 3600LL * SEC;
    (void)add(&it);
    it.delay_us = 0;
    assert_int_equal(add(&it).existed, TQ_REPLACED);
    (void)take(E.q, "q");
}

static void replace_leaves_a_running_job_alone(void **state)
{
    struct tq_item it = keyed("k", "old", TQ_UNIQUE_ACTIVE, TQ_CONFLICT_REPLACE);

    (void)add(&it);
    struct tq_ref ref = take(E.q, "q")->ref;
    it.payload = "new";
    assert_int_equal(add(&it).existed, TQ_EXISTED);
    OK(tq_nack(E.q, ref, 0, NULL, 0, &E.err));
    assert_string_equal(take(E.q, "q")->payload, "old");
}

static void after_running_waits_for_the_running_one(void **state)
{
    struct tq_item it = keyed("k", "1", TQ_UNIQUE_ACTIVE, TQ_CONFLICT_AFTER_RUNNING);
    int64_t first = add(&it).id;
    struct tq_ref ref = take(E.q, "q")->ref;

    it.payload = "2";
    struct tq_enqueued out = add(&it);
    assert_int_equal(out.existed, TQ_FOLLOWS);
    assert_true(out.id != first);
    assert_true(nothing_in(E.q, "q"));
    OK(tq_ack(E.q, ref, NULL, 0, &E.err));
    const struct tq_job *j = take(E.q, "q");
    assert_int_equal(j->ref.id, out.id);
    assert_string_equal(j->payload, "2");
}

static void after_running_keeps_only_the_newest(void **state)
{
    struct tq_item it = keyed("k", "1", TQ_UNIQUE_ACTIVE, TQ_CONFLICT_AFTER_RUNNING);

    (void)add(&it);
    struct tq_ref ref = take(E.q, "q")->ref;
    it.payload = "2";
    int64_t next = add(&it).id;
    it.payload = "3";
    assert_int_equal(add(&it).id, next);
    OK(tq_ack(E.q, ref, NULL, 0, &E.err));
    assert_string_equal(take(E.q, "q")->payload, "3");
    assert_true(nothing_in(E.q, "q"));
}

static void after_running_waits_through_retries(void **state)
{
    struct tq_item it = keyed("k", "1", TQ_UNIQUE_ACTIVE, TQ_CONFLICT_AFTER_RUNNING);
    int64_t first = add(&it).id;
    struct tq_ref ref = take(E.q, "q")->ref;

    (void)add(&it);
    OK(tq_nack(E.q, ref, 0, NULL, 0, &E.err));
    const struct tq_job *j = take(E.q, "q");
    assert_int_equal(j->ref.id, first);
    assert_true(nothing_in(E.q, "q"));
    OK(tq_bury(E.q, j->ref, NULL, 0, &E.err));
    (void)take(E.q, "q");
}

static void after_running_is_released_by_an_ack_in_a_transaction(void **state)
{
    struct tq_item it = keyed("k", "1", TQ_UNIQUE_ACTIVE, TQ_CONFLICT_AFTER_RUNNING);
    struct tq_tx tx = caller();

    (void)add(&it);
    struct tq_ref ref = take(E.q, "q")->ref;
    (void)add(&it);
    begin(tx);
    OK(tq_tx_ack(E.q, tx, ref, NULL, 0, &E.err));
    commit(tx);
    (void)take(E.q, "q");
}

static void the_follower_holds_the_key_in_its_turn(void **state)
{
    struct tq_item it = keyed("k", "1", TQ_UNIQUE_ACTIVE, TQ_CONFLICT_AFTER_RUNNING);

    (void)add(&it);
    struct tq_ref ref = take(E.q, "q")->ref;
    int64_t next = add(&it).id;
    OK(tq_ack(E.q, ref, NULL, 0, &E.err));
    struct tq_enqueued out = add(&it);
    assert_int_equal(out.existed, TQ_REPLACED);
    assert_int_equal(out.id, next);
}

static void a_duplicate_in_the_callers_transaction_does_not_break_it(void **state)
{
    struct tq_tx tx = caller();
    struct tq_item it = keyed("k", "x", TQ_UNIQUE_ACTIVE, TQ_CONFLICT_KEEP);
    struct tq_enqueued out;

    (void)add(&it);
    begin(tx);
    sql(tx, "INSERT INTO biz VALUES (1, 1)");
    OK(tq_tx_enqueue(E.q, tx, &it, &out, &E.err));
    assert_int_equal(out.existed, TQ_EXISTED);
    commit(tx);
    assert_int_equal(num("SELECT count(*) FROM biz"), 1);
}

static void duplicates_in_one_batch_become_one_job(void **state)
{
    struct tq_item items[3] = {keyed("k", "1", 0, 0), keyed("k", "2", 0, 0), keyed("l", "3", 0, 0)};
    struct tq_enqueued out[3];

    OK(tq_enqueue_many(E.q, items, 3, out, &E.err));
    assert_int_equal(out[0].existed, TQ_NEW);
    assert_int_equal(out[1].existed, TQ_EXISTED);
    assert_int_equal(out[1].id, out[0].id);
    assert_int_equal(out[2].existed, TQ_NEW);
}

static void a_buried_jobs_key_is_free_and_blocks_its_retry(void **state)
{
    struct tq_item it = keyed("k", "x", TQ_UNIQUE_ACTIVE, TQ_CONFLICT_KEEP);
    int64_t id = add(&it).id;

    OK(tq_bury(E.q, take(E.q, "q")->ref, NULL, 0, &E.err));
    assert_int_equal(add(&it).existed, TQ_NEW);
    FAILS(tq_retry(E.q, id, &E.err), TR_E_EXISTS);
    OK(tq_ack(E.q, take(E.q, "q")->ref, NULL, 0, &E.err));
    OK(tq_retry(E.q, id, &E.err));
    assert_int_equal(add(&it).existed, TQ_EXISTED);
}

const struct promise unique_promises[] = {
    PROMISE(a_second_job_with_the_key_is_the_first),
    PROMISE(keys_differ_by_case_and_trailing_space),
    PROMISE(keys_may_be_any_bytes),
    PROMISE(keys_belong_to_their_queue),
    PROMISE(active_scope_holds_while_running),
    PROMISE(queued_scope_ends_at_the_claim),
    PROMISE(window_scope_outlives_the_job),
    PROMISE(window_scope_ends_with_its_window),
    PROMISE(a_rolled_back_key_is_free),
    PROMISE(replace_changes_the_queued_job),
    PROMISE(replace_moves_the_time),
    PROMISE(replace_leaves_a_running_job_alone),
    PROMISE(after_running_waits_for_the_running_one),
    PROMISE(after_running_keeps_only_the_newest),
    PROMISE(after_running_waits_through_retries),
    PROMISE(after_running_is_released_by_an_ack_in_a_transaction),
    PROMISE(the_follower_holds_the_key_in_its_turn),
    PROMISE(a_duplicate_in_the_callers_transaction_does_not_break_it),
    PROMISE(duplicates_in_one_batch_become_one_job),
    PROMISE(a_buried_jobs_key_is_free_and_blocks_its_retry),
    {NULL, NULL}};
