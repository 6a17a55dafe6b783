/* Enqueue in a transaction, crash in the middle of the work, recover: one mail, not two, not none.
 *   cc crash.c $(pkg-config --cflags --libs tribunal-queue sqlite3) && ./a.out shop.db */
#include <stdio.h>
#include <sys/wait.h>
#include <tribunal/queue_sqlite.h>
#include <unistd.h>

static struct tr_err err;

static void check(int ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "%s: %s\n", what, err.msg);
        exit(1);
    }
}

static void run(sqlite3 *db, const char *sql)
{
    check(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK, sql);
}

static void work(const char *path, int enqueue, int crash)
{
    struct tq_opts o = TQ_OPTS_INIT;
    struct tq_item job = TQ_ITEM_INIT;
    char url[512];
    sqlite3 *db; /* our own connection: our rows and the queue's are one transaction on it */
    tq *q;
    tq_batch *b;

    o.driver = tq_sqlite_driver();
    snprintf(url, sizeof(url), "sqlite:%s", path);
    check(tq_open(&q, url, &o, &err) >= 0 && tq_migrate(q, -1, &err) >= 0, "queue");
    check(sqlite3_open(path, &db) == SQLITE_OK, path);
    run(db, "CREATE TABLE IF NOT EXISTS orders (x); CREATE TABLE IF NOT EXISTS mails (x); BEGIN "
            "IMMEDIATE");
    if (enqueue) { /* the order and the job that mails it: both or neither */
        job.queue = "mail";
        run(db, "INSERT INTO orders VALUES (1)");
        check(tq_tx_enqueue(q, tq_tx_sqlite(db), &job, NULL, &err) >= 0, "enqueue");
    }
    run(db, "COMMIT");
    while (tq_claim(q, "mail", 1, 60000000, &b, &err) == 0)
        check(tq_wait(q, "mail", 5000000, &err) >= 0, "wait"); /* brings a dead worker's job back */
    run(db, "BEGIN IMMEDIATE; INSERT INTO mails VALUES ('thank you')");
    check(tq_tx_ack(q, tq_tx_sqlite(db), tq_batch_job(b, 0)->ref, "ok", 2, &err) >= 0, "ack");
    if (crash)
        _exit(9); /* acked, not committed: as if somebody pulled the plug */
    run(db, "COMMIT");
    printf("mailed at attempt %d\n", tq_batch_job(b, 0)->attempts);
}

int main(int argc, char **argv)
{
    if (fork() == 0)
        work(argc > 1 ? argv[1] : "shop.db", 1, 1);
    wait(NULL);
    work(argc > 1 ? argv[1] : "shop.db", 0, 0);
}
