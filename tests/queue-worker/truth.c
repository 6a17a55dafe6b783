/* SPDX-License-Identifier: MIT
 *
 * truth.c - what a handler returned x how it settled x what became of its transaction.
 *
 *     tq-truth --list MODE      the rows of a mode
 *     tq-truth MODE             check all of them: "ok NAME" or "not ok NAME: why"
 *
 * The table below is that of doc/decisions/0420-the-truth-table.md. Every handler with a
 * transaction also writes one business row in it, which must be there exactly when the settlement
 * is.
 */
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "kit.h"

enum how {
    NOTHING,
    ACK,
    NACK,
    BURY
};
enum where {
    NOWHERE,
    EXECUTORS, /* tq_begin() on the executor's handle */
    MINE       /* BEGIN on a connection of the program's own */
};
enum fate {
    NO_TX,
    COMMIT,
    ROLLBACK,
    OPEN,              /* returned inside it */
    OPEN_THEN_COMMIT,  /* … and somebody commits it later (threads) */
    OPEN_THEN_ROLLBACK /* … rolls it back later (threads) */
};
enum death {
    LIVES,
    SEGFAULTS,
    ABORTS,
    EXITS,
    HANGS
};
enum {
    THREADS = 1,
    PROCESSES = 2,
    BOTH = 3,
    FAIL = TR_E_FATAL
};

struct row {
    const char *name;
    int modes;
    int ret; /* 0, enum tq_end, or TR_E_* */
    enum how how;
    enum where where;
    enum fate fate;
    enum death death;
    /* expected */
    int state;
    int attempts;      /* of a job that will run again; -1: any */
    int rows;          /* business rows */
    const char *error; /* part of the last error, or NULL */
};

#define TABLE(where_, w_)                                                                            \
    {                                                                                                \
        "ok_after_committed_ack_" w_,                                                                \
        BOTH,                                                                                        \
        0,                                                                                           \
        ACK,                                                                                         \
        where_,                                                                                      \
        COMMIT,                                                                                      \
        LIVES,                                                                                       \
        TQ_COMPLETED,                                                                                \
        -1,                                                                                          \
        1,                                                                                           \
        NULL},                                                                                       \
        {"failure_after_committed_ack_" w_,                                                          \
         BOTH,                                                                                       \
         FAIL,                                                                                       \
         ACK,                                                                                        \
         where_,                                                                                     \
         COMMIT,                                                                                     \
         LIVES,                                                                                      \
         TQ_COMPLETED,                                                                               \
         -1,                                                                                         \
         1,                                                                                          \
         NULL},                                                                                      \
        {"ok_after_committed_nack_" w_,                                                              \
         BOTH,                                                                                       \
         0,                                                                                          \
         NACK,                                                                                       \
         where_,                                                                                     \
         COMMIT,                                                                                     \
         LIVES,                                                                                      \
         TQ_SCHEDULED,                                                                               \
         1,                                                                                          \
         1,                                                                                          \
         "nacked in tx"},                                                                            \
        {"failure_after_committed_nack_" w_,                                                         \
         BOTH,                                                                                       \
         FAIL,                                                                                       \
         NACK,                                                                                       \
         where_,                                                                                     \
         COMMIT,                                                                                     \
         LIVES,                                                                                      \
         TQ_SCHEDULED,                                                                               \
         1,                                                                                          \
         1,                                                                                          \
         "nacked in tx"},                                                                            \
        {"ok_after_committed_bury_" w_, BOTH, 0, BURY, where_, COMMIT, LIVES, TQ_DEAD, -1, 1, NULL}, \
        {"ok_after_committed_work_without_ack_" w_,                                                  \
         BOTH,                                                                                       \
         0,                                                                                          \
         NOTHING,                                                                                    \
         where_,                                                                                     \
         COMMIT,                                                                                     \
         LIVES,                                                                                      \
         TQ_COMPLETED,                                                                               \
         -1,                                                                                         \
         1,                                                                                          \
         NULL},                                                                                      \
        {"ok_after_rolled_back_ack_" w_,                                                             \
         BOTH,                                                                                       \
         0,                                                                                          \
         ACK,                                                                                        \
         where_,                                                                                     \
         ROLLBACK,                                                                                   \
         LIVES,                                                                                      \
         TQ_COMPLETED,                                                                               \
         -1,                                                                                         \
         0,                                                                                          \
         NULL},                                                                                      \
        {"failure_after_rolled_back_ack_" w_,                                                        \
         BOTH,                                                                                       \
         FAIL,                                                                                       \
         ACK,                                                                                        \
         where_,                                                                                     \
         ROLLBACK,                                                                                   \
         LIVES,                                                                                      \
         TQ_SCHEDULED,                                                                               \
         1,                                                                                          \
         0,                                                                                          \
         "returned -5"},                                                                             \
        {"bury_after_rolled_back_ack_" w_,                                                           \
         BOTH,                                                                                       \
         TQ_BURY,                                                                                    \
         ACK,                                                                                        \
         where_,                                                                                     \
         ROLLBACK,                                                                                   \
         LIVES,                                                                                      \
         TQ_DEAD,                                                                                    \
         -1,                                                                                         \
         0,                                                                                          \
         NULL},                                                                                      \
        {"ok_after_rolled_back_nack_" w_,                                                            \
         BOTH,                                                                                       \
         0,                                                                                          \
         NACK,                                                                                       \
         where_,                                                                                     \
         ROLLBACK,                                                                                   \
         LIVES,                                                                                      \
         TQ_COMPLETED,                                                                               \
         -1,                                                                                         \
         0,                                                                                          \
         NULL},                                                                                      \
        {"failure_after_rolled_back_bury_" w_,                                                       \
         BOTH,                                                                                       \
         FAIL,                                                                                       \
         BURY,                                                                                       \
         where_,                                                                                     \
         ROLLBACK,                                                                                   \
         LIVES,                                                                                      \
         TQ_SCHEDULED,                                                                               \
         1,                                                                                          \
         0,                                                                                          \
         "returned -5"},                                                                             \
    {                                                                                                \
        "ok_after_rolled_back_bury_" w_, BOTH, 0, BURY, where_, ROLLBACK, LIVES, TQ_COMPLETED, -1,   \
            0, NULL                                                                                  \
    }

static const struct row table[] = {
    {"ok_acks", BOTH, 0, NOTHING, NOWHERE, NO_TX, LIVES, TQ_COMPLETED, -1, 0, NULL},
    {"nack_fails", BOTH, TQ_NACK, NOTHING, NOWHERE, NO_TX, LIVES, TQ_SCHEDULED, 1, 0, NULL},
    {"error_fails", BOTH, FAIL, NOTHING, NOWHERE, NO_TX, LIVES, TQ_SCHEDULED, 1, 0, "returned -5"},
    {"nonsense_fails", BOTH, 77, NOTHING, NOWHERE, NO_TX, LIVES, TQ_SCHEDULED, 1, 0, "returned 77"},
    {"bury_buries", BOTH, TQ_BURY, NOTHING, NOWHERE, NO_TX, LIVES, TQ_DEAD, -1, 0, NULL},
    {"discard_discards", BOTH, TQ_DISCARD, NOTHING, NOWHERE, NO_TX, LIVES, TQ_DISCARDED, -1, 0,
     NULL},
    {"snooze_spends_no_attempt", BOTH, TQ_SNOOZE, NOTHING, NOWHERE, NO_TX, LIVES, TQ_SCHEDULED, 0,
     0, NULL},
    TABLE(EXECUTORS, "on_the_executors_handle"),
    TABLE(MINE, "on_my_connection"),
    {"ok_inside_the_executors_tx_fails", BOTH, 0, ACK, EXECUTORS, OPEN, LIVES, TQ_SCHEDULED, 1, 0,
     "transaction open"},
    {"ok_inside_the_executors_tx_without_ack_fails", BOTH, 0, NOTHING, EXECUTORS, OPEN, LIVES,
     TQ_SCHEDULED, 1, 0, "transaction open"},
    {"failure_inside_the_executors_tx_fails", BOTH, FAIL, ACK, EXECUTORS, OPEN, LIVES, TQ_SCHEDULED,
     1, 0, "returned -5"},
    {"bury_inside_the_executors_tx_buries", BOTH, TQ_BURY, NACK, EXECUTORS, OPEN, LIVES, TQ_DEAD,
     -1, 0, NULL},
    {"ok_inside_my_tx_fails", PROCESSES, 0, ACK, MINE, OPEN, LIVES, TQ_SCHEDULED, 1, 0,
     "transaction open"},
    {"failure_inside_my_tx_fails", PROCESSES, FAIL, NACK, MINE, OPEN, LIVES, TQ_SCHEDULED, 1, 0,
     "returned -5"},
    {"ok_inside_my_tx_that_commits_later", THREADS, 0, ACK, MINE, OPEN_THEN_COMMIT, LIVES,
     TQ_COMPLETED, -1, 1, NULL},
    {"failure_inside_my_tx_that_commits_later", THREADS, FAIL, ACK, MINE, OPEN_THEN_COMMIT, LIVES,
     TQ_COMPLETED, -1, 1, NULL},
    {"ok_inside_my_tx_that_rolls_back_later", THREADS, 0, ACK, MINE, OPEN_THEN_ROLLBACK, LIVES,
     TQ_SCHEDULED, 1, 0, "transaction open"},
    {"failure_inside_my_tx_that_rolls_back_later", THREADS, FAIL, ACK, MINE, OPEN_THEN_ROLLBACK,
     LIVES, TQ_SCHEDULED, 1, 0, "returned -5"},
    {"segfault_costs_an_attempt", PROCESSES, 0, NOTHING, NOWHERE, NO_TX, SEGFAULTS, TQ_SCHEDULED, 1,
     0, "SIGSEGV"},
    {"abort_costs_an_attempt", PROCESSES, 0, NOTHING, NOWHERE, NO_TX, ABORTS, TQ_SCHEDULED, 1, 0,
     "SIGABRT"},
    {"exit_costs_an_attempt", PROCESSES, 0, NOTHING, NOWHERE, NO_TX, EXITS, TQ_SCHEDULED, 1, 0,
     "status 7"},
    {"hang_costs_an_attempt", PROCESSES, 0, NOTHING, NOWHERE, NO_TX, HANGS, TQ_SCHEDULED, 1, 0,
     "longer than it may"},
    {"hang_of_a_thread_costs_an_attempt", THREADS, 0, NOTHING, NOWHERE, NO_TX, HANGS, TQ_SCHEDULED,
     1, 0, "longer than it may"},
    {"segfault_after_committed_ack", PROCESSES, 0, ACK, EXECUTORS, COMMIT, SEGFAULTS, TQ_COMPLETED,
     -1, 1, NULL},
    {"segfault_after_committed_nack_on_my_connection", PROCESSES, 0, NACK, MINE, COMMIT, SEGFAULTS,
     TQ_SCHEDULED, 1, 1, "nacked in tx"},
    {"segfault_inside_the_executors_tx", PROCESSES, 0, ACK, EXECUTORS, OPEN, SEGFAULTS,
     TQ_SCHEDULED, 1, 0, "SIGSEGV"},
    {"segfault_inside_my_tx", PROCESSES, 0, ACK, MINE, OPEN, SEGFAULTS, TQ_SCHEDULED, 1, 0,
     "SIGSEGV"},
};
enum {
    ROWS = sizeof(table) / sizeof(table[0])
};

/* ---------------------------------------------------------------- the handler */

static pthread_mutex_t later_mu = PTHREAD_MUTEX_INITIALIZER;
static struct tq_tx later; /* left open, for somebody to end */

static int settle(tq *q, struct tq_tx tx, const struct row *r, struct tq_ref ref)
{
    struct tr_err err = TR_ERR_INIT;
    char sql[80];
    int rc = 0;

    (void)snprintf(sql, sizeof(sql), "INSERT INTO biz (job_id) VALUES (%lld)", (long long)ref.id);
    if (kit_exec(tx, sql) < 0)
        return -1;
    if (r->how == ACK)
        rc = tq_tx_ack(q, tx, ref, "done in tx", 10, &err);
    else if (r->how == NACK)
        rc = tq_tx_nack(q, tx, ref, -1, "nacked in tx", 12, &err);
    else if (r->how == BURY)
        rc = tq_tx_bury(q, tx, ref, "buried in tx", 12, &err);
    if (rc < 0)
        (void)fprintf(stderr, "%s: %s\n", r->name, err.msg);
    return rc;
}

static void on_executors(tq *q, const struct row *r, struct tq_ref ref)
{
    struct tr_err err = TR_ERR_INIT;
    struct tq_tx tx = {NULL, NULL};

    (void)kit_ok("begin", tq_begin(q, &tx, &err), &err);
    (void)settle(q, tx, r, ref);
    if (r->fate == COMMIT)
        (void)kit_ok("commit", tq_commit(q, &err), &err);
    else if (r->fate == ROLLBACK)
        tq_rollback(q);
}

static void on_mine(tq *q, const struct row *r, struct tq_ref ref)
{
    struct tq_tx tx = kit_connect(q);

    (void)kit_exec(tx, kit_begin());
    (void)settle(q, tx, r, ref);
    if (r->fate == COMMIT || r->fate == ROLLBACK) {
        (void)kit_exec(tx, r->fate == COMMIT ? "COMMIT" : "ROLLBACK");
        kit_disconnect(tx);
        return;
    }
    (void)pthread_mutex_lock(&later_mu);
    later = tx;
    (void)pthread_mutex_unlock(&later_mu);
}

static void die(struct tq_run *run, enum death how)
{
    if (how == SEGFAULTS)
        (void)raise(SIGSEGV);
    if (how == ABORTS)
        abort();
    if (how == EXITS)
        _exit(7);
    /* A thread that never ended could not be cleaned up here: it hangs well past its grace. */
    int64_t until = kit_mono_us() + 2000000;
    while (how == HANGS && kit_mono_us() < until) {
        struct timespec ts = {.tv_nsec = 10000000};
        (void)nanosleep(&ts, NULL);
    }
    (void)run;
}

static int handler(struct tq_run *run, const struct tq_job *job, void *user)
{
    const struct row *r = &table[strtol(job->payload, NULL, 10)];
    struct tr_err err = TR_ERR_INIT;

    (void)user;
    if (r->where != NOWHERE) {
        tq *q = tq_run_queue(run, &err);

        if (!q)
            return -1;
        if (r->where == EXECUTORS)
            on_executors(q, r, job->ref);
        else
            on_mine(q, r, job->ref);
    }
    if (r->death != LIVES)
        die(run, r->death);
    return r->ret;
}

/* ---------------------------------------------------------------- the checks */

static int64_t enqueue(tq *q, int row)
{
    struct tq_item it = TQ_ITEM_INIT;
    struct tq_enqueued out = {0, 0};
    struct tr_err err = TR_ERR_INIT;
    char text[16];

    (void)snprintf(text, sizeof(text), "%d", row);
    it.payload = text;
    it.payload_len = strlen(text);
    (void)kit_ok("enqueue", tq_enqueue(q, &it, &out, &err), &err);
    return out.id;
}

/* Ends what a handler left open, as soon as the worker has noticed. */
static void end_later(tq_worker *w, const struct row *r)
{
    struct tq_worker_stats s = TQ_WORKER_STATS_INIT;

    tq_worker_stats(w, &s);
    if (r->fate < OPEN_THEN_COMMIT || s.left_open == 0)
        return;
    (void)pthread_mutex_lock(&later_mu);
    if (later.conn) {
        (void)kit_exec(later, r->fate == OPEN_THEN_COMMIT ? "COMMIT" : "ROLLBACK");
        kit_disconnect(later);
        later.conn = NULL;
    }
    (void)pthread_mutex_unlock(&later_mu);
}

static void work(const char *mode, const struct row *only)
{
    struct tq_opts qo = TQ_OPTS_INIT;
    struct tr_err err = TR_ERR_INIT;
    tq_worker *w = NULL;
    int r;

    qo.driver = kit_driver();
    struct tq_worker_opts o = kit_worker(&qo, mode);
    o.concurrency = 3;
    o.flags = TQ_WORKER_UNTIL_EMPTY;
    o.timeout_us = only && only->death == HANGS ? 200000 : 0;
    o.grace_us = 200000;
    (void)kit_ok("worker", tq_worker_new(&w, &o, &err), &err);
    (void)kit_ok("handle", tq_worker_handle(w, NULL, NULL, handler, NULL, &err), &err);
    int64_t until = kit_mono_us() + 30000000;
    while ((r = tq_worker_process(w, &err)) > 0 && kit_mono_us() < until) {
        struct timespec ts = {.tv_nsec = 1000000};

        if (only)
            end_later(w, only);
        if (tq_worker_timeout_us(w) > 1000)
            (void)nanosleep(&ts, NULL);
    }
    (void)kit_ok("process", r, &err);
    if (r > 0)
        (void)fprintf(stderr, "the worker did not come to an end\n");
    tq_worker_free(w);
}

static void check(const struct row *r, int64_t id)
{
    struct tr_err err = TR_ERR_INIT;
    char sql[80], why[400] = "";
    tq_batch *b = NULL;
    tq *q = kit_open();

    (void)kit_ok("show", tq_show(q, id, &b, &err), &err);
    const struct tq_job *j = tq_batch_job(b, 0);
    (void)snprintf(sql, sizeof(sql), "SELECT count(*) FROM biz WHERE job_id = %lld", (long long)id);
    int64_t rows = kit_num(sql);
    const char *error = j->result ? j->result : "";
    if (j->state != r->state)
        (void)snprintf(why, sizeof(why), "is %s, not %s (%s)", tq_state_name(j->state),
                       tq_state_name(r->state), error);
    else if (r->attempts >= 0 && j->attempts != r->attempts)
        (void)snprintf(why, sizeof(why), "%d attempts, not %d", j->attempts, r->attempts);
    else if (rows != r->rows)
        (void)snprintf(why, sizeof(why), "%lld business rows, not %d", (long long)rows, r->rows);
    else if (r->error && !strstr(error, r->error))
        (void)snprintf(why, sizeof(why), "the error is '%s'", error);
    (void)printf(why[0] ? "not ok %s: %s\n" : "ok %s\n", r->name, why);
    tq_batch_free(b);
    tq_close(q);
}

/* Rows that lock the whole of SQLite, or need a deadline, have the worker to themselves. */
static bool alone(const struct row *r)
{
    return r->fate >= OPEN_THEN_COMMIT || r->death == HANGS ||
           (r->where == MINE && r->fate == OPEN);
}

static void slow_backoff(tq *q)
{
    struct tq_config c = TQ_CONFIG_INIT;
    struct tr_err err = TR_ERR_INIT;

    c.base_backoff_us = 3600000000; /* what fails once stays put while we look */
    (void)kit_ok("config", tq_config_set(q, "default", &c, &err), &err);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[argc - 1] : "threads";
    int bit = !strcmp(mode, "processes") ? PROCESSES : THREADS;
    int64_t ids[ROWS] = {0};

    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc > 2) {
        for (int i = 0; i < ROWS; i++)
            if (table[i].modes & bit)
                (void)printf("%s\n", table[i].name);
        return 0;
    }
    kit_init();
    kit_fresh();
    tq *q = kit_open();
    slow_backoff(q);
    for (int i = 0; i < ROWS; i++)
        if ((table[i].modes & bit) && !alone(&table[i]))
            ids[i] = enqueue(q, i);
    tq_close(q);
    work(mode, NULL);
    for (int i = 0; i < ROWS; i++) {
        if (!(table[i].modes & bit) || !alone(&table[i]))
            continue;
        q = kit_open();
        ids[i] = enqueue(q, i);
        tq_close(q);
        work(mode, &table[i]);
    }
    for (int i = 0; i < ROWS; i++)
        if (ids[i])
            check(&table[i], ids[i]);
    return 0;
}
