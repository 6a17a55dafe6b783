/* SPDX-License-Identifier: MIT
 *
 * t_crowd.c - many at once: no duplicate, no loss, no deadlock that a caller would see.
 */
#include "conf.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
    CLAIMERS = 16,
    PRODUCERS = 2,
    JOBS_MAX = 2000000
};

struct crowd {
    pthread_t thread;
    tq *q;
    struct tr_err err;
    int failed;
    int64_t done;
};

static atomic_uchar *seen; /* by id - first_id */
static int64_t first_id;
static atomic_int duplicates, running, most_running;
static atomic_llong produced;
static atomic_bool stop_producing, stop_claiming;
static int64_t until_us;

static void open_all(struct crowd *c, int n)
{
    struct tq_opts o = opts();

    o.timeout_us = 20LL * SEC;
    memset(c, 0, (size_t)n * sizeof(*c));
    for (int i = 0; i < n; i++)
        c[i].q = open_with(&o);
}

static void start(struct crowd *c, int n, void *(*fn)(void *))
{
    for (int i = 0; i < n; i++)
        assert_int_equal(pthread_create(&c[i].thread, NULL, fn, &c[i]), 0);
}

static void join(struct crowd *c, int n)
{
    for (int i = 0; i < n; i++)
        assert_int_equal(pthread_join(c[i].thread, NULL), 0);
    for (int i = 0; i < n; i++)
        if (c[i].failed)
            fail_msg("thread %d: %d %s", i, c[i].failed, c[i].err.msg);
}

static void *produce(void *arg)
{
    struct crowd *c = arg;
    struct tq_item items[20];

    for (int i = 0; i < 20; i++)
        items[i] = job("q", "x");
    while (!stop_producing && mono_us() < until_us && produced < JOBS_MAX - 100) {
        int r = tq_enqueue_many(c->q, items, 20, NULL, &c->err);

        if (r < 0) {
            c->failed = r;
            return NULL;
        }
        produced += 20;
    }
    return NULL;
}

static int settle_all(struct crowd *c, const tq_batch *b)
{
    struct tq_settlement s[8];
    int n = tq_batch_count(b);

    for (int i = 0; i < n; i++) {
        int64_t at = tq_batch_job(b, i)->ref.id - first_id;

        if (at < 0 || at >= JOBS_MAX || atomic_fetch_add(&seen[at], 1) != 0)
            duplicates++;
        s[i] = (struct tq_settlement)TQ_SETTLEMENT_INIT;
        s[i].ref = tq_batch_job(b, i)->ref;
        s[i].end = TQ_ACK;
    }
    return tq_settle(c->q, s, (size_t)n, &c->err);
}

static void *consume(void *arg)
{
    struct crowd *c = arg;

    while (!c->failed) {
        tq_batch *b = NULL;
        bool last = stop_claiming;
        int n = tq_claim(c->q, "q", 7, 600LL * SEC, &b, &c->err);

        if (n > 0) {
            int r = settle_all(c, b);
            if (r != n)
                c->failed = r < 0 ? r : TR_E_LOST;
            c->done += n;
        } else if (n < 0) {
            c->failed = n;
        } else if (last) {
            return NULL;
        } else {
            pause_us(500);
        }
        tq_batch_free(b);
    }
    return NULL;
}

static void sixteen_claimers_share_without_duplicate_or_deadlock(void **state)
{
    struct crowd claimers[CLAIMERS], producers[PRODUCERS];
    int64_t total = 0;

    seen = calloc(JOBS_MAX, sizeof(*seen));
    first_id = put("q", "first");
    duplicates = 0;
    produced = 1;
    stop_claiming = stop_producing = false;
    until_us = mono_us() + (E.soak ? 30LL : 2LL) * SEC;
    open_all(claimers, CLAIMERS);
    open_all(producers, PRODUCERS);
    start(producers, PRODUCERS, produce);
    start(claimers, CLAIMERS, consume);
    join(producers, PRODUCERS);
    stop_claiming = true;
    join(claimers, CLAIMERS);
    for (int i = 0; i < CLAIMERS; i++)
        total += claimers[i].done;
    free(seen);
    print_message("# %lld jobs\n", (long long)total);
    assert_int_equal(duplicates, 0);
    assert_int_equal(total, produced);
    assert_int_equal(num("SELECT count(*) FROM job_history"), total);
    assert_int_equal(num("SELECT count(*) FROM job_queue"), 0);
}

static void *run_limited(void *arg)
{
    struct crowd *c = arg;

    while (mono_us() < until_us && !c->failed) {
        tq_batch *b = NULL;
        int n = tq_claim(c->q, "limited", 2, 600LL * SEC, &b, &c->err);

        if (n < 0)
            c->failed = n;
        if (n <= 0)
            continue;
        int now = atomic_fetch_add(&running, n) + n;
        for (int most = most_running; now > most;)
            if (atomic_compare_exchange_strong(&most_running, &most, now))
                break;
        pause_us(1000);
        for (int i = 0; i < n; i++) {
            running--;
            int r = tq_ack(c->q, tq_batch_job(b, i)->ref, NULL, 0, &c->err);
            if (r < 0)
                c->failed = r;
        }
        tq_batch_free(b);
    }
    return NULL;
}

static void a_concurrency_limit_is_exact_under_pressure(void **state)
{
    enum {
        N = 6,
        JOBS = 400
    };
    struct tq_config cfg = TQ_CONFIG_INIT;
    static struct tq_item items[JOBS];
    struct crowd c[N];

    cfg.concurrency_limit = 3;
    OK(tq_config_set(E.q, "limited", &cfg, &E.err));
    for (int i = 0; i < JOBS; i++)
        items[i] = job("limited", "x");
    OK(tq_enqueue_many(E.q, items, JOBS, NULL, &E.err));
    running = most_running = 0;
    until_us = mono_us() + (E.soak ? 10LL : 1LL) * SEC;
    open_all(c, N);
    start(c, N, run_limited);
    join(c, N);
    assert_true(most_running >= 1 && most_running <= 3);
    assert_true(num("SELECT count(*) FROM job_history") > 0);
    assert_int_equal(num("SELECT count(*) FROM job_slot WHERE job_id IS NOT NULL"),
                     num("SELECT count(*) FROM job_queue WHERE state = 2"));
}

static atomic_int created;

static void *add_keyed(void *arg)
{
    struct crowd *c = arg;

    for (int i = 0; i < 20 && !c->failed; i++) {
        struct tq_item it = job("q", "x");
        struct tq_enqueued out;

        it.unique_key = &i;
        it.unique_len = sizeof(i);
        int r = tq_enqueue(c->q, &it, &out, &c->err);
        if (r < 0)
            c->failed = r;
        else
            created += out.existed == TQ_NEW;
    }
    return NULL;
}

static void racing_enqueues_of_one_key_make_one_job(void **state)
{
    struct crowd c[6];

    created = 0;
    open_all(c, 6);
    start(c, 6, add_keyed);
    join(c, 6);
    assert_int_equal(created, 20);
    assert_int_equal(num("SELECT count(*) FROM job_queue"), 20);
}

static void *add_windowed(void *arg)
{
    struct crowd *c = arg;

    for (int i = 0; i < 10 && !c->failed; i++) {
        struct tq_item it = job("q", "x");
        struct tq_enqueued out;

        it.unique_key = &i;
        it.unique_len = sizeof(i);
        it.unique_scope = TQ_UNIQUE_WINDOW;
        it.unique_window_us = 3600LL * SEC;
        int r = tq_enqueue(c->q, &it, &out, &c->err);
        if (r < 0)
            c->failed = r;
        else
            created += out.existed == TQ_NEW;
    }
    return NULL;
}

static void racing_enqueues_of_one_window_make_one_job(void **state)
{
    struct crowd c[6];

    created = 0;
    open_all(c, 6);
    start(c, 6, add_windowed);
    join(c, 6);
    assert_int_equal(created, 10);
}

static atomic_int reclaimed;

static void *reclaim_some(void *arg)
{
    struct crowd *c = arg;

    for (int i = 0; i < 10 && !c->failed; i++) {
        int r = tq_reclaim(c->q, 7, &c->err);

        if (r < 0)
            c->failed = r;
        else
            reclaimed += r;
    }
    return NULL;
}

static void racing_reclaimers_take_each_job_once(void **state)
{
    struct crowd c[6];
    tq *victim = open_another();
    tq_batch *b = NULL;

    for (int i = 0; i < 100; i++)
        (void)put("q", "x");
    OK(tq_claim(victim, "q", 100, 1, &b, &E.err));
    tq_batch_free(b);
    close_handle(victim);
    UNTIL(db_now() > num("SELECT max(lease_until) FROM job_queue"));
    reclaimed = 0;
    open_all(c, 6);
    start(c, 6, reclaim_some);
    join(c, 6);
    int all = reclaimed;
    UNTIL((all += OK(tq_reclaim(E.q, 100, &E.err))) >= 100);
    assert_int_equal(all, 100);
    assert_int_equal(num("SELECT count(*) FROM job_queue WHERE crashes = 1"), 100);
}

static void *follow_key(void *arg)
{
    struct crowd *c = arg;

    for (int i = 0; i < 30 && !c->failed; i++) {
        struct tq_item it = job("q", "x");

        it.unique_key = "one";
        it.unique_len = 3;
        it.on_conflict = TQ_CONFLICT_AFTER_RUNNING;
        int r = tq_enqueue(c->q, &it, NULL, &c->err);
        if (r < 0)
            c->failed = r;
    }
    return NULL;
}

static void *work_key(void *arg)
{
    struct crowd *c = arg;

    while (!c->failed && (!stop_claiming || c->done == 0)) {
        tq_batch *b = NULL;
        int n = tq_claim(c->q, "q", 5, 600LL * SEC, &b, &c->err);

        if (n > 1)
            duplicates++; /* never two of one key at once */
        if (n > 0) {
            int r = tq_ack(c->q, tq_batch_job(b, 0)->ref, NULL, 0, &c->err);
            c->failed = r < 0 ? r : 0;
            c->done++;
        } else if (n < 0) {
            c->failed = n;
        }
        tq_batch_free(b);
    }
    return NULL;
}

static void followers_never_overtake_or_get_lost(void **state)
{
    struct crowd p[3], w[1];

    duplicates = 0;
    stop_claiming = false;
    open_all(p, 3);
    open_all(w, 1);
    start(w, 1, work_key);
    start(p, 3, follow_key);
    join(p, 3);
    stop_claiming = true;
    join(w, 1);
    assert_int_equal(duplicates, 0);
    for (tq_batch *b; take_n(E.q, "q", 5, &b) > 0;)
        OK(tq_ack(E.q, tq_batch_job(b, 0)->ref, NULL, 0, &E.err));
    assert_int_equal(num("SELECT count(*) FROM job_queue"), 0);
}

static void *migrate_up(void *arg)
{
    struct crowd *c = arg;
    int r = tq_migrate(c->q, -1, &c->err);

    c->failed = r < 0 ? r : 0;
    return NULL;
}

static void racing_migrations_are_fine(void **state)
{
    struct crowd c[4];

    OK(tq_migrate(E.q, 0, &E.err));
    open_all(c, 4);
    start(c, 4, migrate_up);
    for (int i = 0; i < 4; i++)
        (void)pthread_join(c[i].thread, NULL);
    OK(tq_migrate(E.q, -1, &E.err)); /* the next test needs it, whatever happened */
    for (int i = 0; i < 4; i++)
        if (c[i].failed)
            fail_msg("%s", c[i].err.msg);
    (void)put("q", "x");
    (void)take(E.q, "q");
}

const struct promise crowd_promises[] = {
    PROMISE(sixteen_claimers_share_without_duplicate_or_deadlock),
    PROMISE(a_concurrency_limit_is_exact_under_pressure),
    PROMISE(racing_enqueues_of_one_key_make_one_job),
    PROMISE(racing_enqueues_of_one_window_make_one_job),
    PROMISE(racing_reclaimers_take_each_job_once),
    PROMISE(followers_never_overtake_or_get_lost),
    PROMISE(racing_migrations_are_fine),
    {NULL, NULL}};
