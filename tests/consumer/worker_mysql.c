/* A stranger's program: C99, the installed header, its own MYSQL handle. Arguments: the queue's
 * URL, then host, port, user, password and database of the program's own connection. */
#include <stdio.h>
#include <stdlib.h>
#include <tribunal/queue_mysql.h>

int main(int argc, char **argv)
{
    struct tq_opts o = TQ_OPTS_INIT;
    struct tq_item it = TQ_ITEM_INIT;
    struct tr_err err = TR_ERR_INIT;
    MYSQL *db = mysql_init(NULL);
    tq *q = NULL;
    tq_batch *b = NULL;

    o.driver = tq_mysql_driver();
    it.payload = "hi";
    it.payload_len = 2;
    if (argc < 7 || tq_open(&q, argv[1], &o, &err) < 0 || tq_migrate(q, -1, &err) < 0 ||
        tq_enqueue(q, &it, NULL, &err) < 0 || tq_claim(q, "default", 1, 60000000, &b, &err) != 1)
        return fprintf(stderr, "%s\n", err.msg), 1;
    if (!mysql_real_connect(db, argv[2], argv[4], argv[5], argv[6],
                            (unsigned)strtoul(argv[3], NULL, 10), NULL, CLIENT_FOUND_ROWS) ||
        mysql_query(db, "CREATE TABLE mine (x INT)") || mysql_query(db, "START TRANSACTION") ||
        mysql_query(db, "INSERT INTO mine VALUES (1)"))
        return fprintf(stderr, "%s\n", mysql_error(db)), 2;
    if (tq_tx_ack(q, tq_tx_mysql(db), tq_batch_job(b, 0)->ref, "ok", 2, &err) < 0)
        return fprintf(stderr, "%s\n", err.msg), 3;
    if (mysql_query(db, "COMMIT"))
        return 4;
    if (tq_verify(q, tq_batch_job(b, 0)->ref, &err) != TQ_WAS_SETTLED)
        return 5;
    tq_batch_free(b);
    mysql_close(db);
    tq_close(q);
    puts("acked in my own transaction");
    return 0;
}
