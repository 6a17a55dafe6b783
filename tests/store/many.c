/* SPDX-License-Identifier: MIT
 *
 * Many at once is only faster: the same answers and the same rows as one by one.
 */
#include "store_test.h"

enum {
    MIX_MAX = 16,
    RACE_ROWS = 60,
    RACERS = 3
};

/* ---------------------------------------------------------------- alone and together */

/* One world alone ("a-"), one together ("b-"), that go the same way. */
struct world {
    char prefix;
    char ids[MIX_MAX][160];
    int results[MIX_MAX];
};

static const char *name(struct world *w, size_t i, const char *id)
{
    (void)snprintf(w->ids[i], sizeof(w->ids[i]), "%c-%s", w->prefix, id);
    return w->ids[i];
}

static const char *user(const struct world *w)
{
    return w->prefix == 'a' ? "ua" : "ub";
}

static const char long_id[] =
    "0123456789012345678901234567890123456789012345678901234567890123456789"
    "0123456789012345678901234567890123456789012345678901234567890123456789";

static void insert_all(struct world *w)
{
    static const struct {
        const char *id, *key;
        enum tr_on_key on_key;
    } mix[] = {
        {"new", NULL, TR_KEY_SAME},       {"known", NULL, TR_KEY_SAME},
        {"twice", NULL, TR_KEY_SAME},     {"twice", NULL, TR_KEY_SAME},
        {"keyed", "k1", TR_KEY_SAME},     {"same", "k1", TR_KEY_SAME},
        {"copy", "k1", TR_KEY_DUPLICATE}, {"known key", "k0", TR_KEY_SAME},
        {long_id, NULL, TR_KEY_SAME},     {"busy", NULL, TR_KEY_SAME},
        {"gone", NULL, TR_KEY_SAME},      {"", NULL, TR_KEY_SAME},
    };
    struct tr_submission_new rows[TR_ARRAY_LEN(mix)];
    struct tr_insert_item items[TR_ARRAY_LEN(mix)];
    char others[TR_ARRAY_LEN(mix)][TR_STORE_SUBMIT_ID_MAX + 1];
    size_t n = TR_ARRAY_LEN(mix);

    for (size_t i = 0; i < n; i++) {
        rows[i] = (struct tr_submission_new){.submit_id = *mix[i].id ? name(w, i, mix[i].id) : "",
                                             .user_id = user(w),
                                             .idempotency_key = mix[i].key,
                                             .on_key = mix[i].on_key,
                                             .source = "nats",
                                             .priority = 3,
                                             .msg_seq = (int64_t)i,
                                             .task = mix[i].id,
                                             .task_len = strlen(mix[i].id)};
        others[i][0] = '\0';
        items[i] = (struct tr_insert_item){.row = &rows[i], .other = others[i], .of.err = &err};
    }
    if (w->prefix == 'b') {
        OK(tr_store_begin(st, &err));
        OK(tr_store_insert_many(st, items, n, &err));
        OK(tr_store_commit(st, &err));
    }
    for (size_t i = 0; i < n; i++) {
        w->results[i] =
            w->prefix == 'b' ? items[i].of.result : tr_store_insert(st, &rows[i], others[i], &err);
        if (w->results[i] == TR_INSERT_SAME_KEY || w->results[i] == TR_INSERT_DUPLICATE)
            assert_true(others[i][0] == w->prefix);
        else
            assert_string_equal(others[i], "");
    }
}

static void start_all(struct world *w, int64_t *leases)
{
    static const struct {
        const char *id;
        int64_t generation;
    } mix[] = {
        {"new", 0},   {"busy", 0},   {"gone", 0}, {"twice", 0}, {"twice", 0},
        {"keyed", 0}, {"copy", 0},   {"none", 0}, {"known", 1}, {"known", 0},
        {"done", 0},  {"faulty", 0}, {"new", -1},
    };
    struct tr_start_item items[TR_ARRAY_LEN(mix)];
    size_t n = TR_ARRAY_LEN(mix);

    for (size_t i = 0; i < n; i++)
        items[i] = (struct tr_start_item){.of.submit_id = name(w, i, mix[i].id),
                                          .generation = mix[i].generation};
    if (w->prefix == 'b') {
        OK(tr_store_begin(st, &err));
        OK(tr_store_start_many(st, items, n, 60 * SEC, &err));
        OK(tr_store_commit(st, &err));
    }
    for (size_t i = 0; i < n; i++) {
        w->results[i] = w->prefix == 'b'
                            ? items[i].of.result
                            : tr_store_start(st, items[i].of.submit_id, items[i].generation,
                                             60 * SEC, &items[i].got, &err);
        leases[i] = items[i].got.run_lease;
        assert_true(items[i].got.wait_us == 0 || w->results[i] != TR_START_OK);
    }
}

static void finish_all(struct world *w)
{
    static const struct {
        const char *id;
        int64_t lease;
    } mix[] = {
        {"new", 1},   {"new", 1},  {"twice", 7}, {"busy", 1},
        {"keyed", 1}, {"none", 1}, {"gone", 1},  {"known", 1},
    };
    struct tr_verdict_row v[TR_ARRAY_LEN(mix)];
    struct tr_err errs[TR_ARRAY_LEN(mix)];
    struct tr_finish_item items[TR_ARRAY_LEN(mix)];
    size_t n = TR_ARRAY_LEN(mix);

    for (size_t i = 0; i < n; i++) {
        v[i] = verdict(i % 2 ? "WA" : "AC");
        v[i].score = (int64_t)i;
        v[i].brief = i == 3 ? NULL : v[i].brief;
        errs[i] = (struct tr_err)TR_ERR_INIT;
        items[i] = (struct tr_finish_item){.of.submit_id = name(w, i, mix[i].id),
                                           .of.err = &errs[i],
                                           .run_lease = mix[i].lease,
                                           .verdict = &v[i]};
    }
    if (w->prefix == 'b') {
        OK(tr_store_begin(st, &err));
        OK(tr_store_finish_many(st, items, n, &err));
        OK(tr_store_commit(st, &err));
    }
    for (size_t i = 0; i < n; i++) {
        w->results[i] = w->prefix == 'b' ? items[i].of.result
                                         : tr_store_finish(st, items[i].of.submit_id, mix[i].lease,
                                                           &v[i], &errs[i]);
        assert_true((w->results[i] < 0) == (errs[i].msg[0] != '\0'));
    }
}

/* What is there before: known, a key, one that another runs, one that is cancelled … */
static void prepare(struct world *w)
{
    struct tr_submission_new n = {.user_id = user(w), .source = "nats", .task = "x", .task_len = 1};
    struct tr_verdict_row v = verdict("AC");
    struct tr_start got;
    const char *ids[] = {"known", "busy", "gone", "first", "done", "faulty"};

    for (size_t i = 0; i < TR_ARRAY_LEN(ids); i++) {
        n.submit_id = name(w, i, ids[i]);
        n.idempotency_key = i == 3 ? "k0" : NULL;
        IS(tr_store_insert(st, &n, NULL, &err), TR_INSERT_NEW);
    }
    IS(tr_store_start(st2, w->ids[1], 0, 60 * SEC, &got, &err), TR_START_OK);
    OK(tr_store_cancel(st, w->ids[2], "no", &err));
    IS(tr_store_start(st, w->ids[4], 0, 60 * SEC, &got, &err), TR_START_OK);
    OK(tr_store_finish(st, w->ids[4], got.run_lease, &v, &err));
    IS(tr_store_start(st, w->ids[5], 0, 60 * SEC, &got, &err), TR_START_OK);
    IS(tr_store_fault(st, w->ids[5], got.run_lease, "x", 60 * SEC, 3, &err), TR_FAULT_AGAIN);
}

static void same_rows(void)
{
    const struct tr_store_filter fa = {.user_id = "ua"}, fb = {.user_id = "ub"};
    struct tr_submission_list a, b;

    OK(tr_store_list(st, &fa, &arena, &a, &err));
    OK(tr_store_list(st, &fb, &arena, &b, &err));
    assert_int_equal(a.count, b.count);
    for (size_t i = 0; i < a.count; i++) {
        size_t k = 0; /* the order of ids may differ */

        while (k < b.count && strcmp(a.rows[i].submit_id + 1, b.rows[k].submit_id + 1) != 0)
            k++;
        assert_true(k < b.count);
        const struct tr_submission *x = &a.rows[i], *y = &b.rows[k];
        assert_int_equal(x->status, y->status);
        assert_int_equal(x->run_lease, y->run_lease);
        assert_int_equal(x->crashes, y->crashes);
        assert_int_equal(x->msg_seq, y->msg_seq);
        assert_int_equal(x->priority, y->priority);
        assert_int_equal(x->score, y->score);
        assert_int_equal(x->lease_until_us > 0, y->lease_until_us > 0);
        assert_int_equal(x->finish_us > 0, y->finish_us > 0);
        assert_string_equal(x->verdict ? x->verdict : "", y->verdict ? y->verdict : "");
        assert_string_equal(x->brief ? x->brief : "", y->brief ? y->brief : "");
        assert_string_equal(x->worker_id ? x->worker_id : "", y->worker_id ? y->worker_id : "");
    }
}

void many_give_what_each_alone_would_give(void **state)
{
    struct world a = {.prefix = 'a'}, b = {.prefix = 'b'};
    int64_t la[MIX_MAX] = {0}, lb[MIX_MAX] = {0};

    prepare(&a);
    prepare(&b);
    insert_all(&a);
    insert_all(&b);
    assert_memory_equal(a.results, b.results, sizeof(a.results));
    same_rows();
    start_all(&a, la);
    start_all(&b, lb);
    assert_memory_equal(a.results, b.results, sizeof(a.results));
    assert_memory_equal(la, lb, sizeof(la));
    same_rows();
    finish_all(&a);
    finish_all(&b);
    assert_memory_equal(a.results, b.results, sizeof(a.results));
    assert_int_equal(b.results[4], TR_MOVED_COPIED);
    same_rows();
}

/* ---------------------------------------------------------------- sizes */

/* Inserts, starts and finishes `n` with these tasks in one transaction; returns how many were new,
 * taken and finished together. */
static size_t go(const char *prefix, size_t n, const char *task, size_t (*len)(size_t i))
{
    struct tr_submission_new *rows = calloc(n, sizeof(*rows));
    struct tr_insert_item *in = calloc(n, sizeof(*in));
    struct tr_start_item *run = calloc(n, sizeof(*run));
    struct tr_finish_item *end = calloc(n, sizeof(*end));
    char(*ids)[32] = calloc(n, sizeof(*ids));
    struct tr_verdict_row v = verdict("AC");
    size_t good = 0;

    assert_true(rows && in && run && end && ids);
    for (size_t i = 0; i < n; i++) {
        (void)snprintf(ids[i], sizeof(ids[i]), "%s%zu", prefix, i);
        rows[i] = (struct tr_submission_new){
            .submit_id = ids[i], .source = "nats", .task = task, .task_len = len(i)};
        in[i].row = &rows[i];
        run[i].of.submit_id = end[i].of.submit_id = ids[i];
        end[i].verdict = &v;
    }
    OK(tr_store_begin(st, &err));
    OK(tr_store_insert_many(st, in, n, &err));
    OK(tr_store_start_many(st, run, n, 60 * SEC, &err));
    for (size_t i = 0; i < n; i++)
        end[i].run_lease = run[i].got.run_lease;
    OK(tr_store_finish_many(st, end, n, &err));
    for (size_t i = 0; i < n; i++)
        good += in[i].of.result == TR_INSERT_NEW && run[i].of.result == TR_START_OK &&
                end[i].of.result == TR_MOVED;
    free(rows);
    free(in);
    free(run);
    free(end);
    free(ids);
    return good;
}

static size_t small(size_t i)
{
    return 2;
}

static size_t large(size_t i) /* two go together, the last is larger than any set */
{
    return i == 4 ? 3 << 20 : 1 << 20;
}

void many_of_any_size_are_all_done(void **state)
{
    int64_t counts[TR_STATES];
    const char *task, *result;
    size_t task_len, result_len;
    char *big = malloc(3 << 20);

    assert_non_null(big);
    memset(big, 'x', 3 << 20);
    assert_int_equal(go("none", 0, "", small), 0);
    OK(tr_store_commit(st, &err));
    assert_int_equal(go("one", 1, "{}", small), 1);
    OK(tr_store_commit(st, &err));
    assert_int_equal(go("many", 300, "{}", small), 300);
    OK(tr_store_commit(st, &err));
    assert_int_equal(go("large", 5, big, large), 5);
    OK(tr_store_commit(st, &err));
    OK(tr_store_counts(st, counts, &err));
    assert_int_equal(counts[TR_FINISHED], 306);
    OK(tr_store_texts(st, "large4", &arena, &task, &task_len, &result, &result_len, &err));
    assert_int_equal(task_len, 3 << 20);
    assert_memory_equal(task, big, task_len);
    free(big);
}

void many_are_undone_together(void **state)
{
    struct tr_start_item none = {.of.submit_id = "s1"};
    int64_t counts[TR_STATES];

    assert_int_equal(go("undone", 20, "{}", small), 20);
    tr_store_rollback(st);
    OK(tr_store_counts(st, counts, &err));
    assert_int_equal(counts[TR_FINISHED], 0);
    IS(tr_store_start_many(st, &none, 1, SEC, &err), TR_E_USAGE); /* without a transaction */
}

void jobs_of_many_are_noted(void **state)
{
    const struct tr_job_item jobs[] = {{"s1", 11}, {"none", 12}, {"s2", 0}, {"s3", 13}};

    put("s1");
    put("s2");
    put("s3");
    OK(tr_store_set_job(st, "s2", 7, &err));
    OK(tr_store_begin(st, &err));
    OK(tr_store_set_job_many(st, jobs, TR_ARRAY_LEN(jobs), &err));
    OK(tr_store_commit(st, &err));
    assert_int_equal(row("s1").job_id, 11);
    assert_int_equal(row("s2").job_id, 0);
    assert_int_equal(row("s3").job_id, 13);
}

/* ---------------------------------------------------------------- races */

struct racer {
    struct tr_store *mine;
    int wins, bad;
};

static int take_all(struct racer *me, struct tr_start_item *items, struct tr_err *e)
{
    int r = tr_store_begin(me->mine, e);

    if (r >= 0)
        r = tr_store_start_many(me->mine, items, RACE_ROWS, 60 * SEC, e);
    if (r >= 0)
        return tr_store_commit(me->mine, e);
    tr_store_rollback(me->mine);
    return r;
}

static void *take_many(void *arg)
{
    struct racer *me = arg;
    struct tr_err e = TR_ERR_INIT;
    struct tr_start_item items[RACE_ROWS] = {0};
    char ids[RACE_ROWS][16];
    int r = TR_E_ABORT;

    for (int i = 0; i < RACE_ROWS; i++) {
        (void)snprintf(ids[i], sizeof(ids[i]), "r%d", i);
        items[i].of.submit_id = ids[i];
    }
    /* A deadlock is no failure: nothing of it remains, and it is done again. */
    for (int tries = 0; r == TR_E_ABORT && tries < 20; tries++)
        r = take_all(me, items, &e);
    me->bad = r < 0;
    for (int i = 0; r >= 0 && i < RACE_ROWS; i++) {
        me->wins += items[i].of.result == TR_START_OK;
        me->bad += items[i].of.result != TR_START_OK && items[i].of.result != TR_START_BUSY;
    }
    return NULL;
}

void of_many_starts_of_many_one_each_wins(void **state)
{
    const struct tr_store_conf conf = {.url = getenv("TRIBUNAL_STORE_URL"), .worker_id = "crowd"};
    struct racer racers[RACERS] = {{0}};
    pthread_t threads[RACERS];
    int wins = 0;

    for (int i = 0; i < RACE_ROWS; i++) {
        char id[16];

        (void)snprintf(id, sizeof(id), "r%d", i);
        put(id);
    }
    for (int i = 0; i < RACERS; i++)
        OK(tr_store_open(&conf, &racers[i].mine, &err));
    for (int i = 0; i < RACERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, take_many, &racers[i]), 0);
    for (int i = 0; i < RACERS; i++)
        (void)pthread_join(threads[i], NULL);
    for (int i = 0; i < RACERS; i++) {
        wins += racers[i].wins;
        assert_int_equal(racers[i].bad, 0);
        tr_store_close(racers[i].mine);
    }
    assert_int_equal(wins, RACE_ROWS);
}

/* ---------------------------------------------------------------- events */

static void check_events(size_t n, size_t big)
{
    struct tr_event_list l;

    OK(tr_store_events_of(st, "e1", (int)n + 10, &arena, &l, &err));
    assert_int_equal(l.count, n);
    for (size_t i = 0; i < n; i++) {
        char want[16];

        (void)snprintf(want, sizeof(want), "%zu", i);
        assert_int_equal(l.rows[i].body_len, i == big ? 3 << 20 : strlen(want));
        assert_true(i == big || strcmp(l.rows[i].body, want) == 0);
        assert_true(i == 0 || l.rows[i].id > l.rows[i - 1].id);
    }
}

void events_of_a_transaction_come_in_their_order(void **state)
{
    enum {
        EVENTS = 300,
        BIG = 200
    };
    char *big = calloc(1, (3 << 20) + 1);

    assert_non_null(big);
    memset(big, 'x', 3 << 20);
    OK(tr_store_events_prune(st, INT64_MAX, &err));
    OK(tr_store_begin(st, &err));
    for (size_t i = 0; i < EVENTS; i++) {
        char body[16];

        (void)snprintf(body, sizeof(body), "%zu", i);
        const char *text = i == BIG ? big : body;
        OK(tr_store_event_add(st, "status_change", "e1", text, strlen(text), &err));
        if (i == 9) /* also for the one who adds them */
            check_events(10, BIG);
    }
    OK(tr_store_commit(st, &err));
    check_events(EVENTS, BIG);
    OK(tr_store_begin(st, &err));
    OK(tr_store_event_add(st, "status_change", "e1", "no", 2, &err));
    tr_store_rollback(st);
    OK(tr_store_begin(st, &err));
    OK(tr_store_commit(st, &err));
    check_events(EVENTS, BIG);
    free(big);
}
