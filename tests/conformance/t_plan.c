/* SPDX-License-Identifier: MIT
 *
 * t_plan.c - the cost of a call depends on its batch, not on what lies in the tables.
 *
 * The tables are filled with ready, scheduled and leased jobs and history (a million each with
 * TRIBUNAL_SOAK=1, else a fiftieth), every statement of the hot calls is caught, and the engine is
 * asked how it would run it on a connection without any setting of ours.
 */
#include "conf.h"

#include <ctype.h>

struct caught {
    char *sql;
    struct tq_val params[32];
    int nparams;
};
static struct caught caught[64];
static int ncaught;

static void catch (const struct tq_call *call)
{
    for (int i = 0; i < ncaught; i++)
        if (!strncmp(caught[i].sql, call->sql, 60) && strlen(caught[i].sql) == call->sql_len)
            return;
    if (ncaught == 64 || call->nparams > 32)
        return;
    struct caught *c = &caught[ncaught++];
    c->sql = strndup(call->sql, call->sql_len);
    c->nparams = call->nparams;
    for (int i = 0; i < call->nparams; i++) {
        c->params[i] = call->params[i];
        if (call->params[i].p) {
            void *p = malloc(call->params[i].len + 1);
            memcpy(p, call->params[i].p, call->params[i].len);
            c->params[i].p = p;
        }
    }
}

static void forget_caught(void)
{
    for (int i = 0; i < ncaught; i++) {
        for (int k = 0; k < caught[i].nparams; k++)
            free((void *)(uintptr_t)caught[i].params[k].p);
        free(caught[i].sql);
    }
    ncaught = 0;
}

static char plan[65536];

static int plan_row(void *arg, const struct tq_val *c, int n)
{
    size_t used = strlen(plan);

    (void)arg;
    for (int i = 0; i < n; i++) {
        if (c[i].type == TQ_INT)
            used += (size_t)snprintf(plan + used, sizeof(plan) - used, "%lld|", (long long)c[i].i);
        else if (c[i].type != TQ_NULL)
            used += (size_t)snprintf(plan + used, sizeof(plan) - used, "%.*s|", (int)c[i].len,
                                     (const char *)c[i].p);
        else
            used += (size_t)snprintf(plan + used, sizeof(plan) - used, "|");
        if (used >= sizeof(plan) - 1)
            return 0;
    }
    (void)snprintf(plan + used, sizeof(plan) - used, "\n");
    return 0;
}

static void explain(struct tq_tx tx, const struct caught *c)
{
    size_t room = strlen(c->sql) + 64;
    char *text = malloc(room);
    struct tq_call call = {.params = c->params, .nparams = c->nparams, .nsets = 1, .row = plan_row};

    assert_non_null(text);
    (void)snprintf(text, room, "%s%s", E.lite ? "EXPLAIN QUERY PLAN " : "EXPLAIN ", c->sql);
    plan[0] = '\0';
    call.sql = text;
    call.sql_len = strlen(text);
    if (E.real->exec(tx.conn, &call, &E.err) < 0)
        fail_msg("%s: %s", text, E.err.msg);
    free(text);
}

static bool is_query(const char *s)
{
    static const char *const words[] = {"SELECT", "UPDATE", "DELETE", "INSERT", "WITH"};

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (!strncmp(s, words[i], strlen(words[i])))
            return strstr(s, "pg_notify") == NULL && strstr(s, "LAST_INSERT_ID") == NULL;
    return false;
}

/* No statement may read a whole table, whatever engine. */
static void check_caught(void)
{
    static const char *const big[] = {"job_queue", "job_history", "job_attempt"};
    struct tq_tx tx = caller();

    for (int i = 0; i < ncaught; i++) {
        if (!is_query(caught[i].sql))
            continue;
        explain(tx, &caught[i]);
        for (int t = 0; t < 3; t++) {
            char bad[64];

            (void)snprintf(bad, sizeof(bad), E.pg ? "Seq Scan on %s" : "SCAN %s", big[t]);
            /* MySQL: type ALL or index on the table's line */
            if (E.my)
                (void)snprintf(bad, sizeof(bad), "|%s||ALL|", big[t]);
            if (strstr(plan, bad))
                fail_msg("%s\n%s", caught[i].sql, plan);
        }
        bool claim = strstr(caught[i].sql, "attempts = attempts + 1") ||
                     strstr(caught[i].sql, "attempts = j.attempts + 1");
        if (claim &&
            (strstr(plan, "Sort") || strstr(plan, "filesort") || strstr(plan, "TEMP B-TREE")))
            fail_msg("a claim sorts: %s\n%s", caught[i].sql, plan);
    }
}

static void fill(const char *queue, int state, long n)
{
    struct tq_tx tx = caller();
    const char *cols = "queue_name, state, priority, available_at, lease_until, run_lease, payload";
    char value[256];

    (void)snprintf(value, sizeof(value), "'%s', %d, i %% 3, %lld, %s, %d, 'x'", queue, state,
                   state == 0 ? 4102444800000000LL : 1LL, state == 2 ? "4102444800000000" : "NULL",
                   state == 2);
    begin(tx);
    if (E.pg)
        sql(tx, "INSERT INTO job_queue (%s) SELECT %s FROM generate_series(1, %ld) AS i", cols,
            value, n);
    else if (E.lite)
        sql(tx,
            "INSERT INTO job_queue (%s) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 "
            "FROM n WHERE i < %ld) SELECT %s FROM n",
            cols, n, value);
    else
        for (long done = 0; done < n; done += 1000)
            sql(tx,
                "INSERT INTO job_queue (%s) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + "
                "1 "
                "FROM n WHERE i < 1000) SELECT %s FROM n",
                cols, value);
    commit(tx);
}

static void fill_all(void)
{
    long n = E.soak ? 1000000 : 20000;

    fill("q", 1, n);
    fill("q", 0, n);
    fill("q", 2, n / 10);
    sql(caller(),
        "INSERT INTO job_attempt (id, run_lease, ended_at, ended_as) SELECT id, 999999, 1, 2 FROM "
        "job_queue");
    sql(caller(),
        "INSERT INTO job_history (id, run_lease, created_at, finished_at, priority, attempts, "
        "max_attempts, crashes, max_crashes, payload_kind, unique_scope, queue_name, kind, "
        "status_final, payload) SELECT id, 999999, 1, 4102444800000000, 0, 1, 5, 0, 0, 0, 0, "
        "queue_name, '', 'completed', payload FROM job_queue");
    sql(caller(), "%s",
        E.my   ? "ANALYZE TABLE job_queue, job_attempt, job_history"
        : E.pg ? "VACUUM ANALYZE"
               : "ANALYZE");
}

/* What fill_all() filled, at once: row by row it would take longer than to fill it. */
static void empty_all(void)
{
    static const char *const tables[] = {"job_queue", "job_attempt", "job_history"};

    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
        sql(caller(), "%s %s", E.lite ? "DELETE FROM" : "TRUNCATE TABLE", tables[i]);
}

/* One round of everything that is done for every job. */
static void one_round(void)
{
    struct tq_item it = job("q", "x");
    struct tq_ref refs[20];
    unsigned char beats[20];
    tq_batch *b;

    for (int i = 0; i < 3; i++) { /* the second and third claim start at a mark */
        assert_int_equal(take_n(E.q, "q", 20, &b), 20);
        for (int k = 0; k < 20; k++)
            refs[k] = tq_batch_job(b, k)->ref;
        OK(tq_heartbeat(E.q, refs, 20, 60LL * SEC, beats, &E.err));
        OK(tq_progress(E.q, refs[2], "p", 1, &E.err));
        OK(tq_ack(E.q, refs[0], NULL, 0, &E.err));
        OK(tq_nack(E.q, refs[1], 0, "e", 1, &E.err));
        OK(tq_verify(E.q, refs[0], &E.err));
    }
    it.group_key = "g";
    OK(tq_enqueue(E.q, &it, NULL, &E.err));
    it.unique_key = "k";
    it.unique_len = 1;
    OK(tq_enqueue(E.q, &it, NULL, &E.err));
    it.on_conflict = TQ_CONFLICT_REPLACE;
    OK(tq_enqueue(E.q, &it, NULL, &E.err));
    OK(tq_reclaim(E.q, 10, &E.err));
    OK(tq_prune(E.q, 3600LL * SEC, 0, 10, &E.err));
    OK(tq_wait(E.q, "q", 0, &E.err));
}

static void no_statement_reads_a_whole_table(void **state)
{
    fill_all();
    S.spy = catch;
    one_round();
    S.spy = NULL;
    assert_true(ncaught >= 10);
    check_caught();
    forget_caught();
    empty_all();
}

static const char pg_index_reads[] =
    "SELECT sum(pg_stat_get_xact_tuples_returned(c.oid))::bigint FROM pg_class c JOIN pg_index i "
    "ON "
    "i.indexrelid = c.oid WHERE i.indrelid = 'job_queue'::regclass";

/* While a snapshot is held, thousands of dead entries lie in the index of leases, and few rows
 * live: just when the planner would like to read that index from its start. */
static void a_held_snapshot_does_not_slow_settlements(void **state)
{
    struct tq_tx holder = caller(), tx;
    struct tq_ref refs[20];
    unsigned char beats[20];
    tq_batch *b;

    if (!E.pg)
        return;
    begin(holder);
    (void)num_in(holder, "SELECT txid_current()::bigint");
    fill("q", 2, 20000);
    sql(caller(), "DELETE FROM job_queue");
    for (int i = 0; i < 20; i++)
        (void)put("q", "x");
    sql(caller(), "ANALYZE job_queue");
    assert_int_equal(take_n(E.q, "q", 20, &b), 20);
    OK(tq_begin(E.q, &tx, &E.err));
    int64_t before = num_in(tx, pg_index_reads);
    for (int i = 0; i < 20; i++)
        refs[i] = tq_batch_job(b, i)->ref;
    OK(tq_heartbeat(E.q, refs, 20, 60LL * SEC, beats, &E.err));
    OK(tq_progress(E.q, refs[0], "p", 1, &E.err));
    OK(tq_ack(E.q, refs[0], NULL, 0, &E.err));
    OK(tq_nack(E.q, refs[1], 0, "e", 1, &E.err));
    int64_t rows = num_in(tx, pg_index_reads) - before;
    OK(tq_commit(E.q, &E.err));
    print_message("# %lld index entries for 23 jobs\n", (long long)rows);
    assert_true(rows < 1000);
    rollback(holder);
}

static void a_held_snapshot_slows_one_reclaim_not_all(void **state)
{
    struct tq_tx holder = caller(), tx;

    if (!E.pg)
        return;
    begin(holder);
    (void)num_in(holder, "SELECT txid_current()::bigint");
    fill("q", 2, 20000);
    sql(caller(), "UPDATE job_queue SET lease_until = id");
    sql(caller(), "DELETE FROM job_queue");
    assert_int_equal(OK(tq_reclaim(E.q, 10, &E.err)), 0); /* finds that out */
    OK(tq_begin(E.q, &tx, &E.err));
    int64_t before = num_in(tx, pg_index_reads);
    assert_int_equal(OK(tq_reclaim(E.q, 10, &E.err)), 0);
    int64_t rows = num_in(tx, pg_index_reads) - before;
    OK(tq_commit(E.q, &E.err));
    assert_true(rows < 1000);
    rollback(holder);
    (void)put("q", "x"); /* and what runs out now is found at once */
    struct tq_ref lost = lost_job("q");
    assert_int_equal(OK(tq_reclaim(E.q, 10, &E.err)), 1);
    assert_int_equal(OK(tq_verify(E.q, lost, &E.err)), TQ_WAS_LOST);
}

static int64_t examined(struct tq_tx tx)
{
    return num_in(tx,
                  "SELECT sum(VARIABLE_VALUE) FROM %s.session_status WHERE VARIABLE_NAME LIKE "
                  "'Handler_read%%'",
                  strstr(E.url, "mysql") && num("SELECT count(*) FROM information_schema.tables "
                                                "WHERE table_schema = 'performance_schema' AND "
                                                "table_name = 'session_status' AND @@version NOT "
                                                "LIKE '%%MariaDB%%'") > 0
                      ? "performance_schema"
                      : "information_schema");
}

static void a_claim_examines_as_many_rows_as_it_takes(void **state)
{
    struct tq_tx tx = caller();
    tq_batch *b = NULL;

    fill_all();
    if (E.my) {
        int64_t idle = examined(tx);
        idle = examined(tx) - idle; /* what the question itself costs */
        begin(tx);
        int64_t before = examined(tx);
        assert_int_equal(OK(tq_tx_claim(E.q, tx, "q", 100, SEC, &b, &E.err)), 100);
        int64_t rows = examined(tx) - before - idle;
        print_message("# %lld rows for 100 jobs\n", (long long)rows);
        assert_true(rows < 1000);
        rollback(tx);
        tq_batch_free(b);
    }
    if (E.pg) {
        begin(tx);
        int64_t before = num_in(tx, pg_index_reads);
        assert_int_equal(OK(tq_tx_claim(E.q, tx, "q", 100, SEC, &b, &E.err)), 100);
        int64_t rows = num_in(tx, pg_index_reads) - before;
        print_message("# %lld index entries for 100 jobs\n", (long long)rows);
        assert_true(rows >= 100 && rows < 1000);
        rollback(tx);
        tq_batch_free(b);
    }
    if (E.lite) { /* no counters: compare the time with that of a nearly empty queue */
        int64_t start = mono_us();
        assert_int_equal(take_n(E.q, "q", 100, &b), 100);
        assert_true(mono_us() - start < SEC);
    }
    empty_all();
}

const struct promise plan_promises[] = {PROMISE(no_statement_reads_a_whole_table),
                                        PROMISE(a_claim_examines_as_many_rows_as_it_takes),
                                        PROMISE(a_held_snapshot_does_not_slow_settlements),
                                        PROMISE(a_held_snapshot_slows_one_reclaim_not_all),
                                        {NULL, NULL}};
