/* SPDX-License-Identifier: MIT
 *
 * What the submission store promises, on the engine that TRIBUNAL_STORE_URL names.
 */
#include "store_test.h"

#include "store/keys.h"
#include "store/marks.h"

struct tr_store *st, *st2;
struct tr_err err;
struct tr_arena arena;
static const char *url;

static void sql(const char *text)
{
    OK(tr_store_begin(st, &err));
    OK(tq_sql(tr_store_tx(st), text, NULL, 0, NULL, NULL, &err));
    OK(tr_store_commit(st, &err));
}

static void put_for(const char *id, const char *user, const char *key)
{
    struct tr_submission_new n = {.submit_id = id,
                                  .user_id = user,
                                  .idempotency_key = key,
                                  .source = "nats",
                                  .subject = "judge.tasks.light",
                                  .msg_seq = 17,
                                  .lang = "c17",
                                  .task = "{}",
                                  .task_len = 2};

    IS(tr_store_insert(st, &n, NULL, &err), TR_INSERT_NEW);
}

void put(const char *id)
{
    put_for(id, "u1", NULL);
}

struct tr_submission row(const char *id)
{
    struct tr_submission s;

    OK(tr_store_get(st, id, &arena, &s, &err));
    return s;
}

int64_t start(struct tr_store *by, const char *id)
{
    struct tr_start got;

    IS(tr_store_start(by, id, 0, 60 * SEC, &got, &err), TR_START_OK);
    return got.run_lease;
}

struct tr_verdict_row verdict(const char *v)
{
    return (struct tr_verdict_row){.verdict = v,
                                   .score = 100,
                                   .time_ms = 5,
                                   .memory_kb = 7,
                                   .result = "{\"a\":1}",
                                   .result_len = 7,
                                   .brief = "{\"strip\":\"A\"}"};
}

static void lease_over(const char *id)
{
    char text[256];

    (void)snprintf(text, sizeof(text),
                   "UPDATE submissions SET lease_until = 1 WHERE submit_id = '%s'", id);
    sql(text);
}

/* ---------------------------------------------------------------- promises */

static void a_submission_goes_its_way(void **state)
{
    struct tr_verdict_row v = verdict("AC");
    const char *task, *result;
    size_t task_len, result_len;

    put("s1");
    assert_int_equal(row("s1").status, TR_PENDING);
    assert_int_equal(row("s1").msg_seq, 17);
    int64_t lease = start(st, "s1");
    assert_int_equal(lease, 1);
    struct tr_submission s = row("s1");
    assert_int_equal(s.status, TR_RUNNING);
    assert_string_equal(s.worker_id, "w1");
    assert_true(s.lease_until_us > s.start_us && s.start_us > 0);
    OK(tr_store_renew(st, "s1", lease, 60 * SEC, &err));
    OK(tr_store_finish(st, "s1", lease, &v, &err));
    s = row("s1");
    assert_int_equal(s.status, TR_FINISHED);
    assert_string_equal(s.verdict, "AC");
    assert_int_equal(s.score, 100);
    assert_string_equal(s.brief, "{\"strip\":\"A\"}");
    assert_true(s.finish_us > 0 && s.lease_until_us == 0);
    OK(tr_store_texts(st, "s1", &arena, &task, &task_len, &result, &result_len, &err));
    assert_string_equal(task, "{}");
    assert_string_equal(result, "{\"a\":1}");
    assert_int_equal(result_len, 7);
}

static void a_verdict_is_written_once(void **state)
{
    struct tr_verdict_row v = verdict("AC"), w = verdict("WA");

    put("s1");
    int64_t first = start(st, "s1");
    lease_over("s1");
    int64_t second = start(st2, "s1");
    assert_true(second > first);
    IS(tr_store_finish(st, "s1", first, &w, &err), TR_E_LOST);
    IS(tr_store_renew(st, "s1", first, SEC, &err), TR_E_LOST);
    IS(tr_store_fault(st, "s1", first, "late", SEC, 3, &err), TR_E_LOST);
    IS(tr_store_release(st, "s1", first, false, &err), TR_E_LOST);
    OK(tr_store_finish(st2, "s1", second, &v, &err));
    /* its own again: the answer was lost */
    IS(tr_store_finish(st2, "s1", second, &v, &err), TR_MOVED_BEFORE);
    IS(tr_store_finish(st, "s1", first, &w, &err), TR_E_LOST);
    assert_string_equal(row("s1").verdict, "AC");
    assert_int_equal(row("s1").crashes, 1);
    struct tr_start got;
    IS(tr_store_start(st, "s1", 0, SEC, &got, &err), TR_START_FINISHED);
    assert_int_equal(got.run_lease, second);
}

static void a_live_lease_keeps_others_away(void **state)
{
    struct tr_start got;

    put("s1");
    (void)start(st, "s1");
    IS(tr_store_start(st2, "s1", 0, SEC, &got, &err), TR_START_BUSY);
    assert_in_range(got.wait_us, 30 * SEC, 61 * SEC);
    /* Also from the same handle: a redelivery while we judge is not a second start. */
    IS(tr_store_start(st, "s1", 0, SEC, &got, &err), TR_START_BUSY);
    assert_int_equal(row("s1").crashes, 0);
}

static void faults_are_retried_and_then_buried(void **state)
{
    struct tr_start got;

    put("s1");
    for (int i = 0; i < TR_STORE_RETRIES; i++) {
        int64_t lease = start(st, "s1");
        IS(tr_store_fault(st, "s1", lease, "disk full", i ? 0 : 60 * SEC, TR_STORE_RETRIES, &err),
           TR_FAULT_AGAIN);
        assert_int_equal(row("s1").status, TR_SYSTEM_ERROR);
        if (i == 0) {
            IS(tr_store_start(st, "s1", 0, SEC, &got, &err), TR_START_EARLY);
            assert_in_range(got.wait_us, 30 * SEC, 61 * SEC);
            sql("UPDATE submissions SET available_at = 1");
        }
    }
    int64_t lease = start(st, "s1");
    IS(tr_store_fault(st, "s1", lease, "disk full", 0, TR_STORE_RETRIES, &err), TR_FAULT_DEAD);
    IS(tr_store_fault(st, "s1", lease, "disk full", 0, TR_STORE_RETRIES, &err), TR_FAULT_DEAD);
    struct tr_submission s = row("s1");
    assert_int_equal(s.status, TR_DLQ);
    assert_string_equal(s.error, "disk full");
    assert_int_equal(s.retry_count, TR_STORE_RETRIES);
    IS(tr_store_start(st, "s1", 0, SEC, &got, &err), TR_START_DEAD);

    OK(tr_store_retry(st, "s1", 1, &err));
    IS(tr_store_retry(st, "s1", 1, &err), TR_E_LOST); /* repeated: it is not dead any more */
    s = row("s1");
    assert_int_equal(s.status, TR_PENDING);
    assert_int_equal(s.retry_count, 0);
    lease = start(st, "s1");
    IS(tr_store_fault(st, "s1", lease, "still", 0, 0, &err), TR_FAULT_DEAD);
    IS(tr_store_retry(st, "s1", 1, &err), TR_E_LOST); /* the old request once more */
    OK(tr_store_retry(st, "s1", -1, &err));
    assert_int_equal(row("s1").revivals, 2);
}

static void workers_that_die_do_not_cost_a_retry_but_end_some_time(void **state)
{
    struct tr_start got;

    put("s1");
    for (int i = 0; i <= TR_STORE_CRASHES; i++) {
        (void)start(st, "s1");
        assert_int_equal(row("s1").crashes, i);
        lease_over("s1");
    }
    assert_int_equal(row("s1").retry_count, 0);
    IS(tr_store_start(st, "s1", 0, SEC, &got, &err), TR_START_WORN_OUT);
    assert_int_equal(row("s1").status, TR_DLQ);
    IS(tr_store_start(st, "s1", 0, SEC, &got, &err), TR_START_DEAD);
}

static void the_same_key_is_the_same_submission(void **state)
{
    struct tr_submission_new n = {.submit_id = "s2",
                                  .user_id = "u1",
                                  .idempotency_key = "k",
                                  .source = "queue",
                                  .task = "{}",
                                  .task_len = 2};
    char other[TR_STORE_SUBMIT_ID_MAX + 1];

    put_for("s1", "u1", "k");
    IS(tr_store_insert(st, &n, other, &err), TR_INSERT_SAME_KEY);
    assert_string_equal(other, "s1");
    n.submit_id = "s1";
    IS(tr_store_insert(st, &n, other, &err), TR_INSERT_EXISTED);
    n.submit_id = "s3";
    n.user_id = "u2"; /* another user's key is another key */
    IS(tr_store_insert(st, &n, other, &err), TR_INSERT_NEW);
    n.submit_id = "s4";
    n.idempotency_key = "";
    IS(tr_store_insert(st, &n, other, &err), TR_INSERT_NEW);
    n.submit_id = "s5";
    IS(tr_store_insert(st, &n, other, &err), TR_INSERT_NEW);
}

static void a_duplicate_takes_over_the_verdict(void **state)
{
    struct tr_submission_new n = {.submit_id = "s2",
                                  .user_id = "u1",
                                  .idempotency_key = "k",
                                  .source = "nats",
                                  .task = "{}",
                                  .task_len = 2,
                                  .on_key = TR_KEY_DUPLICATE};
    struct tr_verdict_row v = verdict("WA");
    struct tr_submission_list list;
    struct tr_start got;
    char other[TR_STORE_SUBMIT_ID_MAX + 1];

    put_for("s1", "u1", "k");
    IS(tr_store_insert(st, &n, other, &err), TR_INSERT_DUPLICATE);
    assert_string_equal(other, "s1");
    IS(tr_store_insert(st, &n, other, &err), TR_INSERT_EXISTED);
    assert_string_equal(other, "s1");
    IS(tr_store_start(st, "s2", 0, SEC, &got, &err), TR_START_DUPLICATE);
    int64_t lease = start(st, "s1");
    IS(tr_store_finish(st, "s1", lease, &v, &err), TR_MOVED_COPIED);
    IS(tr_store_finish(st, "s1", lease, &v, &err), TR_MOVED_BEFORE);
    assert_int_equal(row("s2").status, TR_FINISHED);
    assert_string_equal(row("s2").verdict, "WA");
    assert_non_null(row("s2").brief);
    n.submit_id = "s3"; /* after the end */
    IS(tr_store_insert(st, &n, other, &err), TR_INSERT_DUPLICATE);
    assert_int_equal(row("s3").status, TR_FINISHED);
    assert_non_null(row("s3").brief);
    OK(tr_store_duplicates(st, "s1", &arena, &list, &err));
    assert_int_equal(list.count, 2);
}

struct late {
    pthread_mutex_t lock;
    pthread_cond_t cond;
    bool done;
    int result;
};

static void *finish_late(void *arg)
{
    struct tr_store_conf conf = {.url = url, .worker_id = "late"};
    TR_CLEANUP(tr_store_closep) struct tr_store *mine = NULL;
    struct tr_verdict_row v = verdict("AC");
    struct tr_err e = TR_ERR_INIT;
    struct late *me = arg;
    int r = tr_store_open(&conf, &mine, &e);

    if (r >= 0)
        r = tr_store_finish(mine, "s1", 1, &v, &e);
    (void)pthread_mutex_lock(&me->lock);
    me->result = r;
    me->done = true;
    (void)pthread_cond_signal(&me->cond);
    (void)pthread_mutex_unlock(&me->lock);
    return NULL;
}

/* The verdict comes between the duplicate and its commit. It has to wait: neither would see the
 * other. */
static void a_duplicate_that_comes_with_the_verdict_has_it(void **state)
{
    struct tr_submission_new n = {.submit_id = "s2",
                                  .user_id = "u1",
                                  .idempotency_key = "k",
                                  .source = "nats",
                                  .task = "{}",
                                  .task_len = 2,
                                  .on_key = TR_KEY_DUPLICATE};
    struct late late = {.lock = PTHREAD_MUTEX_INITIALIZER, .cond = PTHREAD_COND_INITIALIZER};
    struct timespec until;
    pthread_t thread;
    int timed_out = 0;

    put_for("s1", "u1", "k");
    assert_int_equal(start(st, "s1"), 1);
    OK(tr_store_begin(st, &err));
    IS(tr_store_insert(st, &n, NULL, &err), TR_INSERT_DUPLICATE);
    assert_int_equal(pthread_create(&thread, NULL, finish_late, &late), 0);
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec++; /* time enough to go wrong */
    (void)pthread_mutex_lock(&late.lock);
    while (!late.done && !timed_out)
        timed_out = pthread_cond_timedwait(&late.cond, &late.lock, &until);
    (void)pthread_mutex_unlock(&late.lock);
    OK(tr_store_commit(st, &err));
    (void)pthread_join(thread, NULL);
    assert_int_equal(late.result, TR_MOVED_COPIED);
    assert_int_equal(row("s2").status, TR_FINISHED);
    assert_string_equal(row("s2").verdict, "AC");
}

static void a_rejudge_keeps_the_old_result(void **state)
{
    struct tr_verdict_row v = verdict("WA"), w = verdict("AC");
    struct tr_generation *old;
    struct tr_start got;
    size_t n;

    put("s1");
    IS(tr_store_rejudge(st, "s1", NULL, 0, &err), TR_E_LOST); /* not at an end */
    int64_t lease = start(st, "s1");
    OK(tr_store_finish(st, "s1", lease, &v, &err));
    IS(tr_store_rejudge(st, "s1", "{2}", 3, &err), 1);
    assert_null(row("s1").brief);
    IS(tr_store_start(st, "s1", 0, SEC, &got, &err), TR_START_STALE); /* the old message */
    IS(tr_store_finish(st, "s1", lease, &v, &err), TR_E_LOST);
    IS(tr_store_start(st, "s1", 1, SEC, &got, &err), TR_START_OK);
    assert_true(got.run_lease > lease);
    OK(tr_store_finish(st, "s1", got.run_lease, &w, &err));
    assert_string_equal(row("s1").verdict, "AC");
    OK(tr_store_history(st, "s1", &arena, &old, &n, &err));
    assert_int_equal(n, 1);
    assert_string_equal(old[0].verdict, "WA");
    assert_int_equal(old[0].generation, 0);
    assert_string_equal(old[0].result, "{\"a\":1}");
    IS(tr_store_rejudge(st, "nobody", NULL, 0, &err), TR_E_NOTFOUND);
}

static void a_cancelled_run_is_lost(void **state)
{
    struct tr_start got;

    put("s1");
    int64_t lease = start(st, "s1");
    OK(tr_store_cancel(st2, "s1", "not wanted", &err));
    IS(tr_store_renew(st, "s1", lease, SEC, &err), TR_E_LOST);
    IS(tr_store_start(st, "s1", 0, SEC, &got, &err), TR_START_CANCELLED);
    IS(tr_store_cancel(st2, "s1", "again", &err), TR_E_LOST);
    IS(tr_store_cancel(st2, "nobody", "again", &err), TR_E_NOTFOUND);
}

static void a_released_run_waits_again(void **state)
{
    put("s1");
    int64_t lease = start(st, "s1");
    OK(tr_store_release(st, "s1", lease, false, &err));
    assert_int_equal(row("s1").status, TR_PENDING);
    assert_int_equal(row("s1").crashes, 0);
    assert_true(start(st, "s1") > lease);
}

static void the_watchdog_takes_only_what_is_dead_and_its_own(void **state)
{
    struct tr_submission_list list;

    put("live");
    put("dead");
    put("other");
    int64_t a = start(st, "live"), b = start(st, "dead");
    (void)start(st, "other");
    sql("UPDATE submissions SET source = 'queue' WHERE submit_id = 'other'");
    lease_over("dead");
    lease_over("other");
    OK(tr_store_expired(st, "nats", SEC, 10, &arena, &list, &err));
    assert_int_equal(list.count, 1);
    assert_string_equal(list.rows[0].submit_id, "dead");
    IS(tr_store_expire(st, "live", a, SEC, &err), TR_E_LOST);
    OK(tr_store_expire(st, "dead", b, SEC, &err));
    IS(row("dead").status, TR_PENDING);
    IS(row("dead").crashes, 1);
    OK(tr_store_waiting(st, "nats", -SEC, 0, 10, &arena, &list, &err));
    assert_int_equal(list.count, 1);
    OK(tr_store_carried(st, "dead", "judge.tasks.heavy", 17, &err));
    assert_int_equal(row("dead").msg_seq, 17);
    assert_string_equal(row("dead").subject, "judge.tasks.heavy");
}

static void lists_are_filtered_and_paged(void **state)
{
    struct tr_submission_list list;
    struct tr_verdict_row v = verdict("AC");
    int64_t counts[TR_STATES];
    char id[16];

    for (int i = 0; i < 7; i++) {
        (void)snprintf(id, sizeof(id), "s%d", i);
        put_for(id, i % 2 ? "odd" : "even", NULL);
    }
    OK(tr_store_finish(st, "s3", start(st, "s3"), &v, &err));
    OK(tr_store_list(st, &(struct tr_store_filter){.limit = 3}, &arena, &list, &err));
    assert_int_equal(list.count, 3);
    assert_string_equal(list.rows[0].submit_id, "s6");
    OK(tr_store_list(st, &(struct tr_store_filter){.before_id = list.rows[2].id}, &arena, &list,
                     &err));
    assert_int_equal(list.count, 4);
    assert_string_equal(list.rows[0].submit_id, "s3");
    OK(tr_store_list(st, &(struct tr_store_filter){.user_id = "odd", .status = "PENDING"}, &arena,
                     &list, &err));
    assert_int_equal(list.count, 2);
    OK(tr_store_list(st, &(struct tr_store_filter){.verdict = "AC"}, &arena, &list, &err));
    assert_int_equal(list.count, 1);
    IS(tr_store_list(st, &(struct tr_store_filter){.limit = 100000}, &arena, &list, &err),
       TR_E_LIMIT);
    OK(tr_store_counts(st, counts, &err));
    assert_int_equal(counts[TR_PENDING], 6);
    assert_int_equal(counts[TR_FINISHED], 1);
    assert_int_equal(counts[TR_RUNNING], 0);
}

static void odd_names_stay_what_they_are(void **state)
{
    static const char *const ids[] = {
        "a'b", "a\\b", "?1", "Ä", "a", "A", "x; DROP TABLE submissions"};
    char longer[TR_STORE_SUBMIT_ID_MAX + 2];

    for (size_t i = 0; i < TR_ARRAY_LEN(ids); i++)
        put(ids[i]);
    for (size_t i = 0; i < TR_ARRAY_LEN(ids); i++)
        assert_string_equal(row(ids[i]).submit_id, ids[i]);
    memset(longer, 'x', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    struct tr_submission_new n = {.submit_id = longer, .source = "nats"};
    IS(tr_store_insert(st, &n, NULL, &err), TR_E_LIMIT);
    n.submit_id = "";
    IS(tr_store_insert(st, &n, NULL, &err), TR_E_USAGE);
}

/* ---------------------------------------------------------------- with the queue */

static int64_t enqueue(const char *id)
{
    struct tq_item item = TQ_ITEM_INIT;
    struct tq_enqueued e;

    item.payload = id;
    item.payload_len = strlen(id);
    item.max_attempts = 1;
    OK(tr_store_begin(st, &err));
    OK(tq_enqueue(tr_store_queue(st), &item, &e, &err));
    put(id);
    OK(tr_store_set_job(st, id, e.id, &err));
    OK(tr_store_commit(st, &err));
    return e.id;
}

static void claim_and_start_commit_together(void **state)
{
    tq *q = tr_store_queue(st);
    tq_batch *b = NULL;
    struct tr_start got;

    (void)enqueue("s1");
    OK(tr_store_begin(st, &err));
    IS(tq_claim(q, "default", 1, 60 * SEC, &b, &err), 1);
    IS(tr_store_start(st, "s1", 0, SEC, &got, &err), TR_START_OK);
    tr_store_rollback(st);
    tq_batch_free(b);
    b = NULL;
    assert_int_equal(row("s1").status, TR_PENDING);
    assert_int_equal(row("s1").run_lease, 0);
    OK(tr_store_begin(st, &err));
    IS(tq_claim(q, "default", 1, 60 * SEC, &b, &err), 1);
    IS(tr_store_start(st, "s1", 0, SEC, &got, &err), TR_START_OK);
    OK(tr_store_commit(st, &err));
    struct tq_ref ref = tq_batch_job(b, 0)->ref;
    tq_batch_free(b);
    /* Ack and verdict: the stale ack takes the verdict with it. */
    struct tr_verdict_row v = verdict("AC");
    OK(tr_store_begin(st, &err));
    OK(tr_store_finish(st, "s1", got.run_lease, &v, &err));
    IS(tq_ack(q, (struct tq_ref){ref.id, ref.run_lease + 1}, NULL, 0, &err), TR_E_LOST);
    tr_store_rollback(st);
    assert_int_equal(row("s1").status, TR_RUNNING);
    OK(tr_store_begin(st, &err));
    OK(tr_store_finish(st, "s1", got.run_lease, &v, &err));
    OK(tq_ack(q, ref, NULL, 0, &err));
    OK(tr_store_commit(st, &err));
    assert_int_equal(row("s1").status, TR_FINISHED);
}

static void what_the_queue_does_alone_moves_the_submission(void **state)
{
    tq *q = tr_store_queue(st);
    tq_batch *b = NULL;
    struct tr_start got;

    int64_t id = enqueue("s1");
    IS(tq_claim(q, "default", 1, 60 * SEC, &b, &err), 1);
    IS(tr_store_start(st, "s1", 0, SEC, &got, &err), TR_START_OK);
    OK(tq_bury(q, tq_batch_job(b, 0)->ref, "no compiler", 11, &err));
    tq_batch_free(b);
    assert_int_equal(row("s1").status, TR_DLQ);
    assert_non_null(row("s1").error);
    id = enqueue("s2");
    IS(tq_cancel(q, id, 0, &err), TQ_CANCELLED);
    assert_int_equal(row("s2").status, TR_CANCELLED);
}

/* ---------------------------------------------------------------- many at once */

enum {
    CROWD = 4,
    CROWD_ROWS = 40
};

struct one {
    int wins, bad;
};

static void *race(void *arg)
{
    struct tr_store_conf conf = {.url = url, .worker_id = "racer"};
    struct tr_verdict_row v = verdict("AC");
    struct one *me = arg;
    struct tr_store *mine = NULL;
    struct tr_err e = TR_ERR_INIT;
    char id[16];

    if (tr_store_open(&conf, &mine, &e) < 0) {
        me->bad++;
        return NULL;
    }
    for (int i = 0; i < CROWD_ROWS; i++) {
        struct tr_start got;

        (void)snprintf(id, sizeof(id), "s%d", i);
        int r = tr_store_start(mine, id, 0, 60 * SEC, &got, &e);
        if (r == TR_START_OK && tr_store_finish(mine, id, got.run_lease, &v, &e) == 0)
            me->wins++;
        else if (r < 0)
            me->bad++;
    }
    tr_store_close(mine);
    return NULL;
}

static void of_many_starts_one_wins(void **state)
{
    pthread_t threads[CROWD];
    struct one ones[CROWD] = {{0}};
    int64_t counts[TR_STATES];
    int wins = 0;
    char id[16];

    for (int i = 0; i < CROWD_ROWS; i++) {
        (void)snprintf(id, sizeof(id), "s%d", i);
        put(id);
    }
    for (int i = 0; i < CROWD; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, race, &ones[i]), 0);
    for (int i = 0; i < CROWD; i++) {
        (void)pthread_join(threads[i], NULL);
        wins += ones[i].wins;
        assert_int_equal(ones[i].bad, 0);
    }
    assert_int_equal(wins, CROWD_ROWS);
    OK(tr_store_counts(st, counts, &err));
    assert_int_equal(counts[TR_FINISHED], CROWD_ROWS);
}

static void migrations_go_up_down_and_up(void **state)
{
    IS(tr_store_migrate(st, 0, &err), 0);
    IS(tr_store_schema_version(st, &err), 0);
    IS(tr_store_check_schema(st, &err), TR_E_FATAL);
    IS(tr_store_migrate(st2, -1, &err), tr_store_schema_newest());
    IS(tr_store_check_schema(st, &err), 0);
    put("s1");
}

/* ---------------------------------------------------------------- */

static int before(void **state)
{
    sql("DELETE FROM submissions");
    sql("DELETE FROM submission_history");
    sql("DELETE FROM job_queue");
    tr_arena_init(&arena, 64 << 20);
    return 0;
}

static int after(void **state)
{
    tr_store_rollback(st);
    tr_arena_done(&arena);
    return 0;
}

static int open_all(void **state)
{
    struct tr_store_conf conf = {.url = url, .worker_id = "w1"};

    if (tr_store_open(&conf, &st, &err) < 0 || tr_store_migrate(st, -1, &err) < 0 ||
        tr_store_open(&conf, &st2, &err) < 0) {
        (void)fprintf(stderr, "%s\n", err.msg);
        return -1;
    }
    return 0;
}

static int close_all(void **state)
{
    tr_store_close(st);
    tr_store_close(st2);
    return 0;
}

static void an_adopted_run_goes_on_under_a_new_fence(void **state)
{
    struct tr_verdict_row v = verdict("AC");
    int64_t now = 0;

    put("s1");
    int64_t lease = start(st, "s1");
    OK(tr_store_adopt(st2, "s1", lease, 60 * SEC, &now, &err));
    assert_int_equal(now, lease + 1);
    IS(tr_store_finish(st, "s1", lease, &v, &err), TR_E_LOST);
    IS(tr_store_adopt(st, "s1", lease, 60 * SEC, &now, &err), TR_E_LOST);
    OK(tr_store_finish(st2, "s1", lease + 1, &v, &err));
    IS(tr_store_adopt(st, "s1", lease + 1, 60 * SEC, &now, &err), TR_E_LOST);
}

static void keys_are_listed_and_revoked_once(void **state)
{
    const struct tr_key_row k = {.key_id = "k00000000001",
                                 .role = "judge",
                                 .name = "rack",
                                 .secret_hash = "aa",
                                 .server_key = "bb"};
    struct tr_key_row *rows;
    size_t n;

    OK(tr_store_key_add(st, &k, &err));
    OK(tr_store_key_used(st, k.key_id, &err));
    OK(tr_store_key_revoke(st, k.key_id, &err));
    IS(tr_store_key_revoke(st, k.key_id, &err), TR_E_NOTFOUND);
    OK(tr_store_key_list(st, &arena, &rows, &n, &err));
    assert_int_equal(n, 1);
    assert_string_equal(rows[0].server_key, "bb");
    assert_true(rows[0].created_us > 0 && rows[0].used_us > 0 && rows[0].revoked_us > 0);
    sql("DELETE FROM api_keys");
}

static void marks_are_there_once_and_go(void **state)
{
    struct tr_mark m = {.kind = "drain", .name = "judge-1", .note = "first", .faults = 1};
    struct tr_mark other = {.kind = "problem", .name = "judge-1"}, *rows;
    size_t n;

    OK(tr_store_mark_set(st, &m, &err));
    m.note = "second";
    OK(tr_store_mark_set(st, &m, &err));
    OK(tr_store_mark_set(st2, &other, &err));
    OK(tr_store_mark_list(st2, &arena, &rows, &n, &err));
    assert_int_equal(n, 2);
    assert_string_equal(rows[0].note, "second");
    assert_int_equal(rows[0].faults, 1);
    assert_string_equal(rows[1].note, "");
    assert_true(rows[0].created_us > 0);
    IS(tr_store_mark_clear(st, "drain", "judge-1", &err), 1);
    IS(tr_store_mark_clear(st, "drain", "judge-1", &err), 0);
    OK(tr_store_mark_list(st, &arena, &rows, &n, &err));
    assert_int_equal(n, 1);
}

static void what_is_ahead_counts_those_that_wait_before(void **state)
{
    struct tr_submission s;
    int64_t ahead = -1;

    put("s1");
    put("s2");
    put("s3");
    s = row("s3");
    OK(tr_store_ahead(st, &s, &ahead, &err));
    assert_int_equal(ahead, 2);
    (void)start(st, "s1"); /* does not wait any more */
    sql("UPDATE submissions SET priority = -1 WHERE submit_id = 's2'");
    OK(tr_store_ahead(st, &s, &ahead, &err));
    assert_int_equal(ahead, 0);
    s = row("s2");
    OK(tr_store_ahead(st, &s, &ahead, &err));
    assert_int_equal(ahead, 0);
}

static void events_are_undone_with_their_change(void **state)
{
    struct tr_event_list l;
    int64_t first, last;

    OK(tr_store_begin(st, &err));
    OK(tr_store_event_add(st, "result", "s1", "{}", 2, &err));
    tr_store_rollback(st);
    OK(tr_store_event_add(st, "result", "s2", "{\"a\":1}", 7, &err));
    OK(tr_store_event_add(st, "status_change", "s3", "{}", 2, &err));
    OK(tr_store_events_after(st2, 0, 10, &arena, &l, &err));
    assert_int_equal(l.count, 2);
    assert_string_equal(l.rows[0].submit_id, "s2");
    assert_string_equal(l.rows[0].body, "{\"a\":1}");
    OK(tr_store_events_of(st, "s3", 10, &arena, &l, &err));
    assert_int_equal(l.count, 1);
    OK(tr_store_events_ends(st, &first, &last, &err));
    assert_true(first > 0 && last > first);
    OK(tr_store_events_prune(st, last, &err));
    OK(tr_store_events_after(st, 0, 10, &arena, &l, &err));
    assert_int_equal(l.count, 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, before, after)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        T(an_adopted_run_goes_on_under_a_new_fence),
        T(keys_are_listed_and_revoked_once),
        T(marks_are_there_once_and_go),
        T(what_is_ahead_counts_those_that_wait_before),
        T(events_are_undone_with_their_change),
        T(a_submission_goes_its_way),
        T(a_verdict_is_written_once),
        T(a_live_lease_keeps_others_away),
        T(faults_are_retried_and_then_buried),
        T(workers_that_die_do_not_cost_a_retry_but_end_some_time),
        T(the_same_key_is_the_same_submission),
        T(a_duplicate_takes_over_the_verdict),
        T(a_duplicate_that_comes_with_the_verdict_has_it),
        T(a_rejudge_keeps_the_old_result),
        T(a_cancelled_run_is_lost),
        T(a_released_run_waits_again),
        T(the_watchdog_takes_only_what_is_dead_and_its_own),
        T(lists_are_filtered_and_paged),
        T(odd_names_stay_what_they_are),
        T(claim_and_start_commit_together),
        T(what_the_queue_does_alone_moves_the_submission),
        T(of_many_starts_one_wins),
        T(a_reader_waits_for_no_writer),
        T(a_reader_finds_a_new_connection),
        T(many_give_what_each_alone_would_give),
        T(many_of_any_size_are_all_done),
        T(many_are_undone_together),
        T(jobs_of_many_are_noted),
        T(of_many_starts_of_many_one_each_wins),
        T(events_of_a_transaction_come_in_their_order),
        T(migrations_go_up_down_and_up),
    };

    if (argc > 1 && strcmp(argv[1], "--list") == 0) {
        for (size_t i = 0; i < TR_ARRAY_LEN(tests); i++)
            (void)puts(tests[i].name);
        return 0;
    }
    url = getenv("TRIBUNAL_STORE_URL");
    if (!url) {
        (void)fprintf(stderr, "TRIBUNAL_STORE_URL names no database\n");
        return 2;
    }
    return cmocka_run_group_tests(tests, open_all, close_all);
}
