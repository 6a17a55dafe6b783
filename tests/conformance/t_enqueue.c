/* SPDX-License-Identifier: MIT
 *
 * t_enqueue.c - what goes in comes out, byte for byte, in its order and at its time.
 */
#include "conf.h"

static void a_job_comes_out_as_it_went_in(void **state)
{
    struct tq_item it = job("in", "hello");

    it.kind = "greet";
    it.priority = 7;
    it.max_attempts = 3;
    it.max_crashes = 4;
    it.group_key = "alice";
    it.json = 1;
    int64_t id = put_item(&it);
    const struct tq_job *j = take(E.q, "in");
    assert_int_equal(j->ref.id, id);
    assert_string_equal(j->queue, "in");
    assert_string_equal(j->kind, "greet");
    assert_string_equal(j->group_key, "alice");
    assert_int_equal(j->priority, 7);
    assert_int_equal(j->max_attempts, 3);
    assert_int_equal(j->max_crashes, 4);
    assert_int_equal(j->json, 1);
    assert_int_equal(j->payload_len, 5);
    assert_memory_equal(j->payload, "hello", 5);
}

static void missing_values_have_the_documented_defaults(void **state)
{
    struct tq_item it = TQ_ITEM_INIT;

    (void)put_item(&it);
    const struct tq_job *j = take(E.q, "default");
    assert_int_equal(j->max_attempts, 5);
    assert_int_equal(j->priority, 0);
    assert_int_equal(j->payload_len, 0);
    assert_string_equal(j->kind, "");
    assert_null(j->group_key);
    assert_null(j->progress);
    assert_int_equal(j->json, 0);
}

static void payloads_keep_nul_and_invalid_utf8(void **state)
{
    unsigned char raw[256];
    struct tq_item it = TQ_ITEM_INIT;

    for (int i = 0; i < 256; i++)
        raw[i] = (unsigned char)i;
    it.queue = "bytes";
    it.payload = raw;
    it.payload_len = sizeof(raw);
    (void)put_item(&it);
    const struct tq_job *j = take(E.q, "bytes");
    assert_int_equal(j->payload_len, 256);
    assert_memory_equal(j->payload, raw, 256);
}

static void a_payload_of_a_mebibyte_round_trips(void **state)
{
    size_t len = 1 << 20;
    char *raw = malloc(len);
    struct tq_item it = TQ_ITEM_INIT;

    for (size_t i = 0; i < len; i++)
        raw[i] = (char)(i * 2654435761U >> 13);
    it.queue = "big";
    it.payload = raw;
    it.payload_len = len;
    (void)put_item(&it);
    const struct tq_job *j = take(E.q, "big");
    assert_int_equal(j->payload_len, len);
    assert_memory_equal(j->payload, raw, len);
    OK(tq_ack(E.q, j->ref, raw, len, &E.err));
    free(raw);
}

static void json_text_keeps_its_bytes(void **state)
{
    static const char text[] = "{\"b\":1, \"a\":1.10,\"a\":\"\\u0000\"}";
    struct tq_item it = job("json", text);

    it.json = 1;
    (void)put_item(&it);
    const struct tq_job *j = take(E.q, "json");
    assert_memory_equal(j->payload, text, sizeof(text) - 1);
    assert_int_equal(j->json, 1);
}

static void many_are_numbered_in_their_order(void **state)
{
    enum {
        N = 500
    };
    static struct tq_item items[N];
    static struct tq_enqueued out[N];
    static char text[N][8];
    tq_batch *b;

    for (int i = 0; i < N; i++) {
        (void)snprintf(text[i], sizeof(text[i]), "%d", i);
        items[i] = job("many", text[i]);
    }
    OK(tq_enqueue_many(E.q, items, N, out, &E.err));
    for (int i = 1; i < N; i++)
        assert_true(out[i].id > out[i - 1].id);
    assert_int_equal(take_n(E.q, "many", N, &b), N);
    for (int i = 0; i < N; i++) {
        assert_int_equal(tq_batch_job(b, i)->ref.id, out[i].id);
        assert_string_equal(tq_batch_job(b, i)->payload, text[i]);
    }
}

static void many_write_all_or_nothing(void **state)
{
    struct tq_item items[3] = {job("all", "a"), job("all", "b"), job("all", "c")};

    items[2].priority = 1 << 20;
    FAILS(tq_enqueue_many(E.q, items, 3, NULL, &E.err), TR_E_LIMIT);
    assert_int_equal(num("SELECT count(*) FROM job_queue"), 0);
}

static void many_may_mix_queues_keys_and_groups(void **state)
{
    struct tq_item items[4] = {job("a", "1"), job("b", "2"), job("a", "3"), job("a", "4")};
    struct tq_enqueued out[4];
    tq_batch *b;

    items[1].unique_key = "k";
    items[1].unique_len = 1;
    items[2].group_key = "g";
    OK(tq_enqueue_many(E.q, items, 4, out, &E.err));
    assert_int_equal(take_n(E.q, "a", 10, &b), 3);
    assert_int_equal(take_n(E.q, "b", 10, &b), 1);
    assert_int_equal(tq_batch_job(b, 0)->ref.id, out[1].id);
}

static void a_delayed_job_is_not_claimed_before_its_time(void **state)
{
    struct tq_item it = job("later", "x");

    it.delay_us = 3600LL * SEC;
    (void)put_item(&it);
    assert_true(nothing_in(E.q, "later"));
    assert_int_equal(num("SELECT state FROM job_queue"), TQ_SCHEDULED);
}

static void a_delayed_job_is_claimed_when_due(void **state)
{
    struct tq_item it = job("later", "x");

    it.delay_us = 3600LL * SEC;
    int64_t id = put_item(&it);
    all_due();
    assert_int_equal(take(E.q, "later")->ref.id, id);
}

static void a_short_delay_ends_by_itself(void **state)
{
    struct tq_item it = job("soon", "x");
    tq_batch *b;

    it.delay_us = 20000;
    (void)put_item(&it);
    UNTIL(take_n(E.q, "soon", 1, &b) == 1);
    const struct tq_job *j = tq_batch_job(b, 0);
    assert_true(j->started_us >= j->created_us + 19000);
}

static void an_absolute_time_is_kept(void **state)
{
    struct tq_item it = job("at", "x");

    it.run_at_us = db_now() + 7200LL * SEC;
    int64_t id = put_item(&it);
    assert_int_equal(num("SELECT available_at FROM job_queue WHERE id = %lld", (long long)id),
                     it.run_at_us);
    assert_true(nothing_in(E.q, "at"));
}

static void a_time_in_the_past_means_now(void **state)
{
    struct tq_item it = job("past", "x");

    it.run_at_us = 1000;
    int64_t id = put_item(&it);
    assert_int_equal(take(E.q, "past")->ref.id, id);
}

static void a_time_after_2038_works(void **state)
{
    struct tq_item it = job("far", "x");

    it.run_at_us = 4102444800LL * SEC; /* 2100 */
    int64_t id = put_item(&it);
    assert_int_equal(num("SELECT available_at FROM job_queue WHERE id = %lld", (long long)id),
                     it.run_at_us);
}

static void ids_are_never_reused(void **state)
{
    int64_t last = 0;

    for (int i = 0; i < 5; i++) {
        int64_t id = put("ids", "x");

        assert_true(id > last);
        last = id;
        OK(tq_ack(E.q, take(E.q, "ids")->ref, NULL, 0, &E.err));
    }
    assert_int_equal(num("SELECT count(*) FROM job_history"), 5);
}

static void ids_are_not_reused_after_history_is_pruned(void **state)
{
    int64_t id = put("ids", "x");

    OK(tq_ack(E.q, take(E.q, "ids")->ref, NULL, 0, &E.err));
    sql(caller(), "DELETE FROM job_history");
    assert_true(put("ids", "x") > id);
}

static void queue_names_are_case_sensitive(void **state)
{
    (void)put("Case", "upper");
    assert_true(nothing_in(E.q, "case"));
    assert_string_equal(take(E.q, "Case")->payload, "upper");
}

static void queue_names_keep_trailing_spaces(void **state)
{
    (void)put("q ", "space");
    assert_true(nothing_in(E.q, "q"));
    assert_string_equal(take(E.q, "q ")->payload, "space");
}

static void names_may_be_any_utf8(void **state)
{
    (void)put("очередь-队列-'\"\\", "x");
    assert_string_equal(take(E.q, "очередь-队列-'\"\\")->queue, "очередь-队列-'\"\\");
}

static void payloads_cannot_become_sql(void **state)
{
    static const char evil[] = "'); DROP TABLE job_queue; --\\";
    struct tq_item it = job(evil, evil);

    it.kind = evil;
    it.group_key = evil;
    it.unique_key = evil;
    it.unique_len = strlen(evil);
    (void)put_item(&it);
    const struct tq_job *j = take(E.q, evil);
    assert_string_equal(j->payload, evil);
    assert_string_equal(j->kind, evil);
    assert_string_equal(j->group_key, evil);
    OK(tq_ack(E.q, j->ref, evil, strlen(evil), &E.err));
}

static void a_plain_insert_by_sql_is_a_job(void **state)
{
    sql(caller(), "INSERT INTO job_queue (queue_name, payload) VALUES ('plain', 'by hand')");
    const struct tq_job *j = take(E.q, "plain");
    assert_memory_equal(j->payload, "by hand", 7);
    assert_true(j->created_us > 0);
    OK(tq_ack(E.q, j->ref, NULL, 0, &E.err));
}

static void created_at_is_the_databases_clock(void **state)
{
    int64_t before = db_now();

    (void)put("clock", "x");
    int64_t at = take(E.q, "clock")->created_us;
    assert_true(at >= before && at <= db_now());
}

static void enqueue_through_own_transaction_commits_together(void **state)
{
    struct tq_tx tx;
    struct tq_item it = job("own", "x");

    OK(tq_begin(E.q, &tx, &E.err));
    OK(tq_enqueue(E.q, &it, NULL, &E.err));
    OK(tq_tx_enqueue(E.q, tx, &it, NULL, &E.err));
    tq_rollback(E.q);
    assert_true(nothing_in(E.q, "own"));
    OK(tq_begin(E.q, &tx, &E.err));
    OK(tq_enqueue(E.q, &it, NULL, &E.err));
    OK(tq_commit(E.q, &E.err));
    (void)take(E.q, "own");
}

const struct promise enqueue_promises[] = {
    PROMISE(a_job_comes_out_as_it_went_in),
    PROMISE(missing_values_have_the_documented_defaults),
    PROMISE(payloads_keep_nul_and_invalid_utf8),
    PROMISE(a_payload_of_a_mebibyte_round_trips),
    PROMISE(json_text_keeps_its_bytes),
    PROMISE(many_are_numbered_in_their_order),
    PROMISE(many_write_all_or_nothing),
    PROMISE(many_may_mix_queues_keys_and_groups),
    PROMISE(a_delayed_job_is_not_claimed_before_its_time),
    PROMISE(a_delayed_job_is_claimed_when_due),
    PROMISE(a_short_delay_ends_by_itself),
    PROMISE(an_absolute_time_is_kept),
    PROMISE(a_time_in_the_past_means_now),
    PROMISE(a_time_after_2038_works),
    PROMISE(ids_are_never_reused),
    PROMISE(ids_are_not_reused_after_history_is_pruned),
    PROMISE(queue_names_are_case_sensitive),
    PROMISE(queue_names_keep_trailing_spaces),
    PROMISE(names_may_be_any_utf8),
    PROMISE(payloads_cannot_become_sql),
    PROMISE(a_plain_insert_by_sql_is_a_job),
    PROMISE(created_at_is_the_databases_clock),
    PROMISE(enqueue_through_own_transaction_commits_together),
    {NULL, NULL}};
