/* A stranger's program: C99, the installed header, its own SQLite connection. */
#include <stdio.h>
#include <tribunal/queue_sqlite.h>

int main(int argc, char **argv)
{
    struct tq_opts o = TQ_OPTS_INIT;
    struct tq_item it = TQ_ITEM_INIT;
    struct tr_err err = TR_ERR_INIT;
    sqlite3 *db = NULL;
    tq *q = NULL;
    tq_batch *b = NULL;

    o.driver = tq_sqlite_driver();
    it.payload = "hi";
    it.payload_len = 2;
    if (argc < 2 || tq_open(&q, argv[1], &o, &err) < 0 || tq_migrate(q, -1, &err) < 0 ||
        tq_enqueue(q, &it, NULL, &err) < 0 || tq_claim(q, "default", 1, 60000000, &b, &err) != 1)
        return fprintf(stderr, "%s\n", err.msg), 1;
    if (sqlite3_open(argv[1] + 7, &db) != SQLITE_OK ||
        sqlite3_exec(db, "CREATE TABLE mine (x); BEGIN IMMEDIATE; INSERT INTO mine VALUES (1)",
                     NULL, NULL, NULL) != SQLITE_OK)
        return 2;
    if (tq_tx_ack(q, tq_tx_sqlite(db), tq_batch_job(b, 0)->ref, "ok", 2, &err) < 0)
        return fprintf(stderr, "%s\n", err.msg), 3;
    if (sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
        return 4;
    if (tq_verify(q, tq_batch_job(b, 0)->ref, &err) != TQ_WAS_SETTLED)
        return 5;
    tq_batch_free(b);
    sqlite3_close(db);
    tq_close(q);
    puts("acked in my own transaction");
    return 0;
}
