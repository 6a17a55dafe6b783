/* SPDX-License-Identifier: MIT
 *
 * t_input.c - calls that cannot work: a class and a sentence each, and nothing broken.
 */
#include "conf.h"

#include <sys/wait.h>
#include <unistd.h>
#ifdef WITH_POSTGRES
#include <libpq-fe.h>
#endif

static void wrong_urls_are_refused(void **state)
{
    static const char *const urls[] = {"",
                                       "nonsense",
                                       "http://x/",
                                       "sqlite:",
                                       "mysql://host/",
                                       "mysql://host:99999/db",
                                       "mysql://host/db?what=1"};
    struct tq_opts o = opts();

    for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
        tq *q = NULL;
        int r = tq_open(&q, urls[i], &o, &E.err);

        print_message("# '%s': %s\n", urls[i], E.err.msg);
        assert_int_equal(tr_err_class(r), TR_E_USAGE);
        assert_null(q);
    }
}

static void a_missing_driver_is_named(void **state)
{
    struct tq_opts o = TQ_OPTS_INIT;
    tq *q = NULL;

    FAILS(tq_open(&q, E.url, &o, &E.err), TR_E_USAGE);
    o.driver = E.drv;
    FAILS(tq_open(&q, E.lite ? "postgres://x/y" : "sqlite:/nowhere", &o, &E.err), TR_E_USAGE);
}

static void no_such_database_is_fatal(void **state)
{
    struct tq_opts o = opts();
    char url[512];
    tq *q = NULL;

    (void)snprintf(url, sizeof(url), "%s%s", E.url, "_missing");
    if (E.lite)
        (void)snprintf(url, sizeof(url), "sqlite:/nonexistent/folder/q.db");
    int r = tq_open(&q, url, &o, &E.err);
    print_message("# %s\n", E.err.msg);
    assert_int_equal(tr_err_class(r), TR_E_FATAL);
    assert_true(E.err.msg[0]);
}

static void an_unreachable_server_may_be_tried_again(void **state)
{
    struct tq_opts o = opts();
    tq *q = NULL;

    if (E.lite)
        return;
    int r =
        tq_open(&q, E.pg ? "postgres://u@127.0.0.1:1/d" : "mysql://u:p@127.0.0.1:1/d", &o, &E.err);
    print_message("# %s\n", E.err.msg);
    assert_int_equal(tr_err_class(r), TR_E_RETRY);
}

static void missing_rights_are_fatal(void **state)
{
    struct tq_item it = job("q", "x");

    if (E.pg) {
        struct tq_tx tx = caller();

        begin(tx);
        sql(tx, "SET TRANSACTION READ ONLY");
        int r = tq_tx_enqueue(E.q, tx, &it, NULL, &E.err);
        print_message("# %s\n", E.err.msg);
        assert_true(r == TR_E_DENIED || r == TR_E_ABORT);
        rollback(tx);
    } else if (E.my) {
        struct tq_opts o = opts();
        char url[512];
        tq *q = NULL;
        const char *host = strchr(E.url, '@');

        (void)snprintf(url, sizeof(url), "mysql://nobody:wrong%s", host);
        FAILS(tq_open(&q, url, &o, &E.err), TR_E_DENIED);
    } else {
        struct tq_tx tx = caller();

        sql(tx, "PRAGMA query_only = ON");
        sql(tx, "BEGIN");
        FAILS(tq_tx_enqueue(E.q, tx, &it, NULL, &E.err), TR_E_DENIED);
        rollback(tx);
    }
}

static void a_caller_without_a_transaction_is_told(void **state)
{
    struct tq_tx tx = caller();
    struct tq_item it = job("q", "x");
    struct tq_ref ref = {1, 1};
    tq_batch *b = NULL;

    FAILS(tq_tx_enqueue(E.q, tx, &it, NULL, &E.err), TR_E_USAGE);
    FAILS(tq_tx_ack(E.q, tx, ref, NULL, 0, &E.err), TR_E_USAGE);
    FAILS(tq_tx_nack(E.q, tx, ref, 0, NULL, 0, &E.err), TR_E_USAGE);
    FAILS(tq_tx_claim(E.q, tx, "q", 1, SEC, &b, &E.err), TR_E_USAGE);
    FAILS(tq_tx_once(E.q, tx, "k", 1, 0, &E.err), TR_E_USAGE);
    assert_int_equal(num("SELECT count(*) FROM job_queue"), 0);
    begin(tx); /* the connection is as it was */
    rollback(tx);
}

static void a_failed_transaction_is_told_to_roll_back(void **state)
{
    struct tq_tx tx = caller();
    struct tq_item it = job("q", "x");

    if (!E.pg)
        return; /* only PostgreSQL keeps a failed transaction open */
    begin(tx);
    assert_true(try_sql(tx, "SELECT nonsense") < 0);
    FAILS(tq_tx_enqueue(E.q, tx, &it, NULL, &E.err), TR_E_ABORT);
    rollback(tx);
}

static void a_pipeline_is_refused_and_left_alone(void **state)
{
#ifdef WITH_POSTGRES
    struct tq_tx tx = caller();
    struct tq_item it = job("q", "x");

    if (!E.pg)
        return;
    begin(tx);
    assert_int_equal(PQenterPipelineMode(tx.conn), 1);
    FAILS(tq_tx_enqueue(E.q, tx, &it, NULL, &E.err), TR_E_USAGE);
    assert_int_equal(PQpipelineStatus(tx.conn), PQ_PIPELINE_ON);
    assert_int_equal(PQexitPipelineMode(tx.conn), 1);
    OK(tq_tx_enqueue(E.q, tx, &it, NULL, &E.err));
    commit(tx);
#endif
}

static void a_transaction_of_another_engine_is_refused(void **state)
{
    static struct tq_driver other;
    struct tq_tx tx = caller();
    struct tq_item it = job("q", "x");

    other = *E.real;
    other.backend = "oracle";
    tx.driver = &other;
    FAILS(tq_tx_enqueue(E.q, tx, &it, NULL, &E.err), TR_E_USAGE);
}

static void a_payload_over_the_ceiling_is_refused(void **state)
{
    struct tq_opts o = opts();
    struct tq_item it = job("q", "12345678901");

    o.max_payload = 10;
    tq *q = open_with(&o);
    FAILS(tq_enqueue(q, &it, NULL, &E.err), TR_E_LIMIT);
    it.payload_len = 10;
    OK(tq_enqueue(q, &it, NULL, &E.err));
    struct tq_ref ref = take(q, "q")->ref;
    FAILS(tq_ack(q, ref, "12345678901", 11, &E.err), TR_E_LIMIT);
    FAILS(tq_progress(q, ref, "12345678901", 11, &E.err), TR_E_LIMIT);
    OK(tq_ack(q, ref, "1234567890", 10, &E.err));
}

static void names_over_their_ceiling_are_refused(void **state)
{
    char name[TQ_NAME_MAX + 2];
    tq_batch *b = NULL;

    memset(name, 'n', sizeof(name));
    name[TQ_NAME_MAX + 1] = '\0';
    struct tq_item it = job(name, "x");
    FAILS(tq_enqueue(E.q, &it, NULL, &E.err), TR_E_LIMIT);
    FAILS(tq_claim(E.q, name, 1, SEC, &b, &E.err), TR_E_LIMIT);
    FAILS(tq_pause(E.q, name, 1, &E.err), TR_E_LIMIT);
    name[TQ_NAME_MAX] = '\0';
    it.kind = it.group_key = name;
    OK(tq_enqueue(E.q, &it, NULL, &E.err));
    (void)take(E.q, name);
}

static void numbers_outside_their_range_are_refused(void **state)
{
    struct tq_item it = job("q", "x");
    tq_batch *b = NULL;

    it.priority = TQ_PRIORITY_MAX + 1;
    FAILS(tq_enqueue(E.q, &it, NULL, &E.err), TR_E_LIMIT);
    it.priority = TQ_PRIORITY_MAX;
    it.max_attempts = -1;
    FAILS(tq_enqueue(E.q, &it, NULL, &E.err), TR_E_LIMIT);
    it.max_attempts = 1;
    it.delay_us = -1;
    FAILS(tq_enqueue(E.q, &it, NULL, &E.err), TR_E_USAGE);
    it.delay_us = 0;
    it.unique_key = "k";
    it.unique_len = 1;
    it.unique_scope = 9;
    FAILS(tq_enqueue(E.q, &it, NULL, &E.err), TR_E_USAGE);
    it.unique_scope = TQ_UNIQUE_WINDOW;
    FAILS(tq_enqueue(E.q, &it, NULL, &E.err), TR_E_USAGE);
    FAILS(tq_claim(E.q, "q", 0, SEC, &b, &E.err), TR_E_LIMIT);
    FAILS(tq_claim(E.q, "q", TQ_BATCH_MAX + 1, SEC, &b, &E.err), TR_E_LIMIT);
    FAILS(tq_claim(E.q, "q", 1, 0, &b, &E.err), TR_E_USAGE);
    assert_int_equal(num("SELECT count(*) FROM job_queue"), 0);
}

static void a_key_over_its_ceiling_is_refused(void **state)
{
    static char key[TQ_UNIQUE_MAX + 1];
    struct tq_item it = job("q", "x");

    it.unique_key = key;
    it.unique_len = TQ_UNIQUE_MAX + 1;
    FAILS(tq_enqueue(E.q, &it, NULL, &E.err), TR_E_LIMIT);
    it.unique_len = TQ_UNIQUE_MAX;
    OK(tq_enqueue(E.q, &it, NULL, &E.err));
}

static void an_unknown_queue_is_simply_empty(void **state)
{
    struct tq_config c = TQ_CONFIG_INIT;

    assert_true(nothing_in(E.q, "never heard of"));
    OK(tq_config_get(E.q, "never heard of", &c, &E.err));
    assert_int_equal(OK(tq_wait(E.q, "never heard of", 1000, &E.err)), 0);
}

static void invalid_utf8_in_a_name_is_refused(void **state)
{
    struct tq_item it = job("\xff\xfe", "x");

    FAILS(tq_enqueue(E.q, &it, NULL, &E.err), TR_E_USAGE);
}

static void a_handle_does_not_cross_fork(void **state)
{
    struct tq_item it = job("q", "x");
    int status = -1;

    pid_t pid = fork();
    if (pid == 0)
        _exit(tq_enqueue(E.q, &it, NULL, NULL) == TR_E_USAGE ? 0 : 1);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    OK(tq_enqueue(E.q, &it, NULL, &E.err));
}

static void a_null_err_is_fine(void **state)
{
    struct tq_ref ref = {1, 1};

    assert_int_equal(tq_ack(E.q, ref, NULL, 0, NULL), TR_E_LOST);
    assert_int_equal(tq_retry(E.q, 987654321, NULL), TR_E_NOTFOUND);
}

static void success_leaves_err_untouched(void **state)
{
    struct tr_err err = TR_ERR_INIT;
    struct tq_item it = job("q", "x");

    S.break_next = true; /* a retry inside must not show */
    assert_true(tq_enqueue(E.q, &it, NULL, &err) >= 0);
    assert_int_equal(err.code, 0);
    assert_string_equal(err.msg, "");
}

static void a_lost_connection_is_opened_again(void **state)
{
    (void)put("q", "x");
    S.break_next = true;
    struct tq_ref ref = {0, 0};
    tq_batch *b = NULL;
    int r = tq_claim(E.q, "q", 1, SEC, &b, &E.err);
    if (r == TR_E_UNSURE) /* one statement, sent: it may have happened */
        r = OK(tq_claim(E.q, "q", 1, SEC, &b, &E.err));
    assert_int_equal(r, 1);
    ref = tq_batch_job(b, 0)->ref;
    tq_batch_free(b);
    OK(tq_ack(E.q, ref, NULL, 0, &E.err));
}

static void abi_version_matches_the_header(void **state)
{
    assert_int_equal(tq_abi_version(), TQ_ABI_VERSION);
}

const struct promise input_promises[] = {PROMISE(wrong_urls_are_refused),
                                         PROMISE(a_missing_driver_is_named),
                                         PROMISE(no_such_database_is_fatal),
                                         PROMISE(an_unreachable_server_may_be_tried_again),
                                         PROMISE(missing_rights_are_fatal),
                                         PROMISE(a_caller_without_a_transaction_is_told),
                                         PROMISE(a_failed_transaction_is_told_to_roll_back),
                                         PROMISE(a_pipeline_is_refused_and_left_alone),
                                         PROMISE(a_transaction_of_another_engine_is_refused),
                                         PROMISE(a_payload_over_the_ceiling_is_refused),
                                         PROMISE(names_over_their_ceiling_are_refused),
                                         PROMISE(numbers_outside_their_range_are_refused),
                                         PROMISE(a_key_over_its_ceiling_is_refused),
                                         PROMISE(an_unknown_queue_is_simply_empty),
                                         PROMISE(invalid_utf8_in_a_name_is_refused),
                                         PROMISE(a_handle_does_not_cross_fork),
                                         PROMISE(a_null_err_is_fine),
                                         PROMISE(success_leaves_err_untouched),
                                         PROMISE(a_lost_connection_is_opened_again),
                                         PROMISE(abi_version_matches_the_header),
                                         {NULL, NULL}};
