/* SPDX-License-Identifier: MIT
 *
 * t_settle.c - how runs end on the library's own connection.
 */
#include "conf.h"

static void ack_moves_the_job_to_history(void **state)
{
    int64_t id = put("q", "in");

    OK(tq_ack(E.q, take(E.q, "q")->ref, "out", 3, &E.err));
    assert_int_equal(num("SELECT count(*) FROM job_queue"), 0);
    assert_int_equal(num("SELECT count(*) FROM job_history WHERE id = %lld AND status_final = "
                         "'completed' AND attempts = 1",
                         (long long)id),
                     1);
    tq_batch *b = NULL;
    OK(tq_show(E.q, id, &b, &E.err));
    const struct tq_job *j = tq_batch_job(b, 0);
    assert_int_equal(j->state, TQ_COMPLETED);
    assert_memory_equal(j->result, "out", 3);
    assert_memory_equal(j->payload, "in", 2);
    assert_true(j->finished_us >= j->started_us && j->started_us >= j->created_us);
    tq_batch_free(b);
}

static void results_are_bytes(void **state)
{
    static const char raw[] = "\0\xff'\\\n";
    int64_t id = put("q", "x");
    tq_batch *b = NULL;

    OK(tq_ack(E.q, take(E.q, "q")->ref, raw, sizeof(raw), &E.err));
    OK(tq_show(E.q, id, &b, &E.err));
    assert_int_equal(tq_batch_job(b, 0)->result_len, sizeof(raw));
    assert_memory_equal(tq_batch_job(b, 0)->result, raw, sizeof(raw));
    tq_batch_free(b);
}

static void a_second_ack_is_lost(void **state)
{
    (void)put("q", "x");
    struct tq_ref ref = take(E.q, "q")->ref;
    OK(tq_ack(E.q, ref, NULL, 0, &E.err));
    FAILS(tq_ack(E.q, ref, NULL, 0, &E.err), TR_E_LOST);
    assert_int_equal(num("SELECT count(*) FROM job_history"), 1);
}

static void ack_of_an_unknown_job_is_lost(void **state)
{
    struct tq_ref ref = {987654321, 1};

    FAILS(tq_ack(E.q, ref, NULL, 0, &E.err), TR_E_LOST);
}

static void a_wrong_run_lease_changes_nothing(void **state)
{
    (void)put("q", "x");
    struct tq_ref ref = take(E.q, "q")->ref;
    ref.run_lease++;
    FAILS(tq_ack(E.q, ref, NULL, 0, &E.err), TR_E_LOST);
    FAILS(tq_nack(E.q, ref, 0, NULL, 0, &E.err), TR_E_LOST);
    FAILS(tq_bury(E.q, ref, NULL, 0, &E.err), TR_E_LOST);
    FAILS(tq_discard(E.q, ref, NULL, 0, &E.err), TR_E_LOST);
    FAILS(tq_snooze(E.q, ref, 0, &E.err), TR_E_LOST);
    FAILS(tq_release(E.q, ref, &E.err), TR_E_LOST);
    FAILS(tq_progress(E.q, ref, "x", 1, &E.err), TR_E_LOST);
    ref.run_lease--;
    assert_int_equal(tq_verify(E.q, ref, &E.err), TQ_STILL_MINE);
}

static void nack_tries_again_after_the_delay(void **state)
{
    (void)put("q", "x");
    const struct tq_job *j = take(E.q, "q");
    assert_int_equal(tq_nack(E.q, j->ref, 3600LL * SEC, "boom", 4, &E.err), TQ_SETTLED_AGAIN);
    assert_true(nothing_in(E.q, "q"));
    all_due();
    j = take(E.q, "q");
    assert_int_equal(j->attempts, 2);
    assert_memory_equal(j->result, "boom", 4);
}

static void nack_without_delay_is_ready_at_once(void **state)
{
    (void)put("q", "x");
    assert_int_equal(tq_nack(E.q, take(E.q, "q")->ref, 0, NULL, 0, &E.err), TQ_SETTLED_AGAIN);
    assert_int_equal(take(E.q, "q")->attempts, 2);
}

static void nack_on_the_last_attempt_buries(void **state)
{
    struct tq_item it = job("q", "x");

    it.max_attempts = 2;
    int64_t id = put_item(&it);
    assert_int_equal(tq_nack(E.q, take(E.q, "q")->ref, 0, NULL, 0, &E.err), TQ_SETTLED_AGAIN);
    assert_int_equal(tq_nack(E.q, take(E.q, "q")->ref, 0, "last", 4, &E.err), TQ_SETTLED_BURIED);
    assert_true(nothing_in(E.q, "q"));
    assert_int_equal(
        num("SELECT count(*) FROM job_dead_letter WHERE id = %lld AND attempts = 2", (long long)id),
        1);
}

static void max_attempts_of_one_means_one_run(void **state)
{
    struct tq_item it = job("q", "x");

    it.max_attempts = 1;
    (void)put_item(&it);
    assert_int_equal(tq_nack(E.q, take(E.q, "q")->ref, 0, NULL, 0, &E.err), TQ_SETTLED_BURIED);
}

static void backoff_doubles_within_its_jitter(void **state)
{
    struct tq_item it = job("q", "x");

    it.max_attempts = 100;
    int64_t id = put_item(&it);
    for (int i = 1; i <= 6; i++) {
        struct tq_settlement s = TQ_SETTLEMENT_INIT;

        s.ref = take(E.q, "q")->ref;
        s.end = TQ_NACK;
        s.base_us = 10LL * SEC;
        s.jitter_percent = 10;
        int64_t before = db_now();
        assert_int_equal(OK(tq_settle(E.q, &s, 1, &E.err)), 1);
        int64_t delay =
            num("SELECT available_at FROM job_queue WHERE id = %lld", (long long)id) - before;
        int64_t want = 10LL * SEC << (i - 1);
        assert_true(delay >= want * 89 / 100 && delay <= want * 111 / 100 + SEC);
        all_due();
    }
}

static void backoff_has_a_ceiling(void **state)
{
    struct tq_item it = job("q", "x");

    it.max_attempts = 1000;
    int64_t id = put_item(&it);
    for (int i = 0; i < 3; i++) {
        struct tq_settlement s = TQ_SETTLEMENT_INIT;

        sql(caller(), "UPDATE job_queue SET attempts = 500");
        s.ref = take(E.q, "q")->ref;
        s.end = TQ_NACK;
        assert_int_equal(OK(tq_settle(E.q, &s, 1, &E.err)), 1);
        int64_t at = num("SELECT available_at FROM job_queue WHERE id = %lld", (long long)id);
        assert_true(at > db_now() && at < db_now() + 2 * 3600LL * SEC);
        all_due();
    }
}

static void the_queues_backoff_is_used(void **state)
{
    struct tq_config c = TQ_CONFIG_INIT;

    c.base_backoff_us = 100LL * SEC;
    c.jitter_percent = 0;
    OK(tq_config_set(E.q, "q", &c, &E.err));
    int64_t id = put("q", "x");
    struct tq_ref ref = take(E.q, "q")->ref;
    int64_t before = db_now();
    OK(tq_nack(E.q, ref, -1, NULL, 0, &E.err));
    int64_t delay =
        num("SELECT available_at FROM job_queue WHERE id = %lld", (long long)id) - before;
    assert_true(delay >= 99LL * SEC && delay <= 102LL * SEC);
}

static void bury_goes_to_the_dead_letters(void **state)
{
    int64_t id = put("q", "x");

    OK(tq_bury(E.q, take(E.q, "q")->ref, "why", 3, &E.err));
    assert_int_equal(num("SELECT count(*) FROM job_dead_letter WHERE id = %lld", (long long)id), 1);
    assert_int_equal(num("SELECT count(*) FROM job_queue"), 0);
}

static void discard_is_history_but_no_dead_letter(void **state)
{
    (void)put("q", "x");
    OK(tq_discard(E.q, take(E.q, "q")->ref, NULL, 0, &E.err));
    assert_int_equal(num("SELECT count(*) FROM job_history WHERE status_final = 'discarded'"), 1);
    assert_int_equal(num("SELECT count(*) FROM job_dead_letter"), 0);
}

static void snooze_costs_no_attempt(void **state)
{
    struct tq_item it = job("q", "x");

    it.max_attempts = 1;
    (void)put_item(&it);
    for (int i = 0; i < 5; i++) {
        const struct tq_job *j = take(E.q, "q");

        assert_int_equal(j->attempts, 1);
        OK(tq_snooze(E.q, j->ref, 3600LL * SEC, &E.err));
        assert_true(nothing_in(E.q, "q"));
        all_due();
    }
}

static void release_is_ready_at_once_and_costs_no_attempt(void **state)
{
    int64_t id = put("q", "x");

    (void)put("q", "y");
    OK(tq_release(E.q, take(E.q, "q")->ref, &E.err));
    const struct tq_job *j = take(E.q, "q");
    assert_int_equal(j->ref.id, id);
    assert_int_equal(j->attempts, 1);
}

static void a_batch_settles_each_as_it_says(void **state)
{
    struct tq_settlement s[6];
    tq_batch *b;

    for (int i = 0; i < 6; i++)
        (void)put("q", "x");
    assert_int_equal(take_n(E.q, "q", 6, &b), 6);
    for (int i = 0; i < 6; i++) {
        s[i] = (struct tq_settlement)TQ_SETTLEMENT_INIT;
        s[i].ref = tq_batch_job(b, i)->ref;
        s[i].end = TQ_ACK + i;
        s[i].delay_us = 3600LL * SEC;
    }
    assert_int_equal(OK(tq_settle(E.q, s, 6, &E.err)), 6);
    assert_int_equal(num("SELECT count(*) FROM job_history"), 3);
    assert_int_equal(num("SELECT count(*) FROM job_queue WHERE state = 0"), 2);
    assert_int_equal(num("SELECT count(*) FROM job_queue WHERE state = 1"), 1);
}

static void a_stale_item_does_not_disturb_its_batch(void **state)
{
    struct tq_settlement s[3];
    tq_batch *b;

    for (int i = 0; i < 3; i++)
        (void)put("q", "x");
    assert_int_equal(take_n(E.q, "q", 3, &b), 3);
    for (int i = 0; i < 3; i++) {
        s[i] = (struct tq_settlement)TQ_SETTLEMENT_INIT;
        s[i].ref = tq_batch_job(b, i)->ref;
        s[i].end = TQ_ACK;
    }
    s[1].ref.run_lease += 5;
    assert_int_equal(OK(tq_settle(E.q, s, 3, &E.err)), 2);
    assert_int_equal(s[0].result, TQ_SETTLED_FINAL);
    assert_int_equal(s[1].result, TR_E_LOST);
    assert_int_equal(s[2].result, TQ_SETTLED_FINAL);
    assert_int_equal(num("SELECT count(*) FROM job_queue WHERE state = 2"), 1);
}

static void a_thousand_acks_fit_in_one_call(void **state)
{
    enum {
        N = 1000
    };
    static struct tq_item items[N];
    static struct tq_settlement s[N];
    tq_batch *b;

    for (int i = 0; i < N; i++)
        items[i] = job("q", "x");
    OK(tq_enqueue_many(E.q, items, N, NULL, &E.err));
    assert_int_equal(take_n(E.q, "q", N, &b), N);
    for (int i = 0; i < N; i++) {
        s[i] = (struct tq_settlement)TQ_SETTLEMENT_INIT;
        s[i].ref = tq_batch_job(b, i)->ref;
        s[i].end = TQ_ACK;
        s[i].data = &s[i].ref;
        s[i].data_len = sizeof(s[i].ref);
    }
    assert_int_equal(OK(tq_settle(E.q, s, N, &E.err)), N);
    assert_int_equal(num("SELECT count(*) FROM job_history"), N);
}

static void progress_survives_a_nack(void **state)
{
    (void)put("q", "x");
    struct tq_ref ref = take(E.q, "q")->ref;
    OK(tq_progress(E.q, ref, "half\0way", 8, &E.err));
    OK(tq_progress(E.q, ref, "half\0way", 8, &E.err)); /* the same again is no loss */
    OK(tq_nack(E.q, ref, 0, NULL, 0, &E.err));
    const struct tq_job *j = take(E.q, "q");
    assert_int_equal(j->progress_len, 8);
    assert_memory_equal(j->progress, "half\0way", 8);
}

/* Claim n jobs and make a checkpoint for each: "0", "1", … */
static void notes_for(struct tq_note *notes, int n)
{
    static const char digits[] = "0123456789";
    tq_batch *b;

    for (int i = 0; i < n; i++)
        (void)put("q", "x");
    assert_int_equal(take_n(E.q, "q", n, &b), n);
    for (int i = 0; i < n; i++) {
        notes[i] = (struct tq_note)TQ_NOTE_INIT;
        notes[i].ref = tq_batch_job(b, i)->ref;
        notes[i].data = digits + i;
        notes[i].data_len = 1;
    }
}

static void progress_of_many_goes_to_each_its_own(void **state)
{
    struct tq_note notes[4];
    const struct tq_job *j;

    notes_for(notes, 4);
    notes[2].data = "a\0\xff";
    notes[2].data_len = 3;
    notes[3].data = NULL;
    for (int again = 0; again < 2; again++) /* the same again is no loss */
        assert_int_equal(OK(tq_progress_many(E.q, notes, 4, &E.err)), 4);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(notes[i].result, 0);
        OK(tq_nack(E.q, notes[i].ref, 0, NULL, 0, &E.err));
        j = take(E.q, "q");
        assert_int_equal(j->ref.id, notes[i].ref.id);
        assert_non_null(j->progress);
        assert_int_equal(j->progress_len, i == 3 ? 0 : notes[i].data_len);
        if (i < 3)
            assert_memory_equal(j->progress, notes[i].data, notes[i].data_len);
    }
}

static void stale_progress_among_many_stops_nothing(void **state)
{
    struct tq_note notes[3];

    notes_for(notes, 3);
    notes[1].ref.run_lease--; /* an earlier run of a job that runs */
    OK(tq_ack(E.q, notes[2].ref, NULL, 0, &E.err));
    assert_int_equal(OK(tq_progress_many(E.q, notes, 3, &E.err)), 1);
    assert_int_equal(notes[0].result, 0);
    assert_int_equal(notes[1].result, TR_E_LOST);
    assert_int_equal(notes[2].result, TR_E_LOST);
    assert_int_equal(num("SELECT count(*) FROM job_queue WHERE progress IS NOT NULL"), 1);
}

static void progress_of_many_rolls_back_with_the_caller(void **state)
{
    struct tq_note notes[3];
    struct tq_tx tx = caller();

    notes_for(notes, 3);
    begin(tx);
    assert_int_equal(OK(tq_tx_progress_many(E.q, tx, notes, 3, &E.err)), 3);
    rollback(tx);
    assert_int_equal(num("SELECT count(*) FROM job_queue WHERE progress IS NOT NULL"), 0);
    begin(tx);
    assert_int_equal(OK(tq_tx_progress_many(E.q, tx, notes, 3, &E.err)), 3);
    commit(tx);
    assert_int_equal(num("SELECT count(*) FROM job_queue WHERE progress IS NOT NULL"), 3);
}

static void progress_of_none_or_unsized_notes_is_refused(void **state)
{
    struct tq_note notes[1];

    notes_for(notes, 1);
    FAILS(tq_progress_many(E.q, notes, 0, &E.err), TR_E_USAGE);
    FAILS(tq_progress_many(E.q, notes, TQ_BATCH_MAX + 1, &E.err), TR_E_LIMIT);
    notes[0].size = 0;
    FAILS(tq_progress_many(E.q, notes, 1, &E.err), TR_E_USAGE);
    assert_int_equal(num("SELECT count(*) FROM job_queue WHERE progress IS NOT NULL"), 0);
}

static void history_keeps_every_archive_of_one_id(void **state)
{
    int64_t id = put("q", "x");

    for (int i = 0; i < 3; i++) {
        OK(tq_bury(E.q, take(E.q, "q")->ref, NULL, 0, &E.err));
        OK(tq_retry(E.q, id, &E.err));
    }
    OK(tq_ack(E.q, take(E.q, "q")->ref, NULL, 0, &E.err));
    assert_int_equal(num("SELECT count(*) FROM job_history WHERE id = %lld", (long long)id), 4);
    assert_int_equal(num("SELECT count(*) FROM job_dead_letter"), 0);
}

static void ack_and_claim_share_one_transaction(void **state)
{
    struct tq_tx tx;

    (void)put("q", "1");
    (void)put("q", "2");
    struct tq_ref first = take(E.q, "q")->ref;
    OK(tq_begin(E.q, &tx, &E.err));
    OK(tq_ack(E.q, first, NULL, 0, &E.err));
    struct tq_ref second = take(E.q, "q")->ref;
    tq_rollback(E.q);
    assert_int_equal(tq_verify(E.q, first, &E.err), TQ_STILL_MINE);
    assert_true(tq_verify(E.q, second, &E.err) != TQ_STILL_MINE);
    OK(tq_begin(E.q, &tx, &E.err));
    OK(tq_ack(E.q, first, NULL, 0, &E.err));
    second = take(E.q, "q")->ref;
    OK(tq_commit(E.q, &E.err));
    assert_int_equal(tq_verify(E.q, first, &E.err), TQ_WAS_SETTLED);
    assert_int_equal(tq_verify(E.q, second, &E.err), TQ_STILL_MINE);
}

static void errors_of_every_attempt_are_kept(void **state)
{
    int64_t id = put("q", "x");

    for (int i = 0; i < 3; i++)
        OK(tq_nack(E.q, take(E.q, "q")->ref, 0, "abc", (size_t)i + 1, &E.err));
    assert_int_equal(
        num("SELECT count(*) FROM job_attempt WHERE id = %lld AND ended_as = 2", (long long)id), 3);
}

const struct promise settle_promises[] = {PROMISE(ack_moves_the_job_to_history),
                                          PROMISE(results_are_bytes),
                                          PROMISE(a_second_ack_is_lost),
                                          PROMISE(ack_of_an_unknown_job_is_lost),
                                          PROMISE(a_wrong_run_lease_changes_nothing),
                                          PROMISE(nack_tries_again_after_the_delay),
                                          PROMISE(nack_without_delay_is_ready_at_once),
                                          PROMISE(nack_on_the_last_attempt_buries),
                                          PROMISE(max_attempts_of_one_means_one_run),
                                          PROMISE(backoff_doubles_within_its_jitter),
                                          PROMISE(backoff_has_a_ceiling),
                                          PROMISE(the_queues_backoff_is_used),
                                          PROMISE(bury_goes_to_the_dead_letters),
                                          PROMISE(discard_is_history_but_no_dead_letter),
                                          PROMISE(snooze_costs_no_attempt),
                                          PROMISE(release_is_ready_at_once_and_costs_no_attempt),
                                          PROMISE(a_batch_settles_each_as_it_says),
                                          PROMISE(a_stale_item_does_not_disturb_its_batch),
                                          PROMISE(a_thousand_acks_fit_in_one_call),
                                          PROMISE(progress_survives_a_nack),
                                          PROMISE(progress_of_many_goes_to_each_its_own),
                                          PROMISE(stale_progress_among_many_stops_nothing),
                                          PROMISE(progress_of_many_rolls_back_with_the_caller),
                                          PROMISE(progress_of_none_or_unsized_notes_is_refused),
                                          PROMISE(history_keeps_every_archive_of_one_id),
                                          PROMISE(ack_and_claim_share_one_transaction),
                                          PROMISE(errors_of_every_attempt_are_kept),
                                          {NULL, NULL}};
