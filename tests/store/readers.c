/* SPDX-License-Identifier: MIT
 *
 * A store that only reads: beside a writer, and when its connection is lost.
 */
#include "store_test.h"

static struct tr_store *open_reader(void)
{
    const struct tr_store_conf conf = {
        .url = getenv("TRIBUNAL_STORE_URL"), .reader = true, .timeout_us = SEC};
    struct tr_store *reader = NULL;

    OK(tr_store_open(&conf, &reader, &err));
    return reader;
}

static enum tr_state seen_by(struct tr_store *reader, const char *id)
{
    struct tr_submission s;

    OK(tr_store_get(reader, id, &arena, &s, &err));
    return s.status;
}

void a_reader_waits_for_no_writer(void **state)
{
    struct tr_store *reader = open_reader();
    struct tr_start got;

    put("s1");
    assert_int_equal(seen_by(reader, "s1"), TR_PENDING);
    OK(tr_store_begin(st, &err));
    IS(tr_store_start(st, "s1", 0, 60 * SEC, &got, &err), TR_START_OK);
    assert_int_equal(seen_by(reader, "s1"), TR_PENDING);
    assert_int_equal(tr_store_tx(reader).driver->state(tr_store_tx(reader).conn), TQ_CONN_IDLE);
    OK(tr_store_commit(st, &err));
    assert_int_equal(seen_by(reader, "s1"), TR_RUNNING);
    tr_store_close(reader);
}

/* The server ends every other connection. MySQL needs a number for each, SQLite has none. */
static bool cut_all_others(void)
{
    static const char text[] = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE "
                               "datname = current_database() AND pid <> pg_backend_pid()";

    if (strncmp(getenv("TRIBUNAL_STORE_URL"), "postgres", 8) != 0)
        return false;
    OK(tr_store_begin(st, &err));
    OK(tq_sql(tr_store_tx(st), text, NULL, 0, NULL, NULL, &err));
    OK(tr_store_commit(st, &err));
    return true;
}

void a_reader_finds_a_new_connection(void **state)
{
    struct tr_store *reader = open_reader();
    struct tq_config c = {.size = sizeof(c)};
    int64_t counts[TR_STATES];

    put("s1");
    assert_int_equal(seen_by(reader, "s1"), TR_PENDING);
    if (cut_all_others())
        assert_int_equal(seen_by(reader, "s1"), TR_PENDING); /* the store made a new one */
    if (cut_all_others()) {
        OK(tq_config_get(tr_store_queue(reader), "q", &c, &err)); /* the queue did */
        OK(tr_store_counts(reader, counts, &err));
        assert_int_equal(counts[TR_PENDING], 1);
    }
    tr_store_close(reader);
}
