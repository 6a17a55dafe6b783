/* SPDX-License-Identifier: MIT
 *
 * full_disk.c - SQLite on a disk that runs full: a class and a sentence, nothing lost, and the same
 * handle works again once there is room.
 *
 * usage: tq-full-disk DIR, where DIR is a tmpfs of about 2 MiB that this process may remount.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>

#include <tribunal/queue_sqlite.h>

static struct tr_err err = TR_ERR_INIT;

#define CHECK(cond)                                                                                \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            (void)fprintf(stderr, "line %d: %s (%d %s)\n", __LINE__, #cond, err.code, err.msg);    \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static char payload[20000];

static int add(tq *q)
{
    struct tq_item it = TQ_ITEM_INIT;

    it.queue = "q";
    it.payload = payload;
    it.payload_len = sizeof(payload);
    return tq_enqueue(q, &it, NULL, &err);
}

static int count(void *arg, const struct tq_stat *s)
{
    *(int64_t *)arg = s->ready;
    return 0;
}

static int64_t ready(tq *q)
{
    int64_t n = -1;

    CHECK(tq_stats(q, count, &n, &err) >= 0);
    return n;
}

static int whole(void *arg, const struct tq_val *cols, int ncols)
{
    *(int *)arg = ncols == 1 && cols[0].len == 2 && !memcmp(cols[0].p, "ok", 2);
    return 0;
}

/* Every job that was accepted is there, with all its bytes, and can be finished. */
static void drain(tq *q, int64_t want)
{
    int64_t got = 0;
    tq_batch *b = NULL;

    for (int n; (n = tq_claim(q, "q", 10, 60000000, &b, &err)) != 0; b = NULL) {
        CHECK(n > 0);
        for (int i = 0; i < n; i++) {
            CHECK(tq_batch_job(b, i)->payload_len == sizeof(payload));
            CHECK(!memcmp(tq_batch_job(b, i)->payload, payload, sizeof(payload)));
            CHECK(tq_ack(q, tq_batch_job(b, i)->ref, NULL, 0, &err) == 0);
        }
        got += n;
        tq_batch_free(b);
    }
    CHECK(got == want);
}

int main(int argc, char **argv)
{
    struct tq_opts o = TQ_OPTS_INIT;
    struct tq_tx tx;
    char url[4096];
    tq_batch *held = NULL;
    int64_t added = 0;
    int r = 0, ok = 0;
    tq *q = NULL;

    if (argc != 2)
        return 2;
    memset(payload, 'p', sizeof(payload));
    (void)snprintf(url, sizeof(url), "sqlite:%s/jobs.db", argv[1]);
    o.driver = tq_sqlite_driver();
    CHECK(tq_open(&q, url, &o, &err) == 0);
    CHECK(tq_migrate(q, -1, &err) > 0);
    CHECK(add(q) == 0 && tq_claim(q, "q", 1, 60000000, &held, &err) == 1);

    while ((r = add(q)) == 0 && added < 10000)
        added++;
    (void)printf("after %lld jobs: %s\n", (long long)added, err.msg);
    CHECK(r == TR_E_RETRY && strstr(err.msg, "full") && strstr(err.msg, "room"));
    CHECK(added > 10 && ready(q) == added); /* reading goes on, and nothing is there by half */
    struct tq_ref ref = tq_batch_job(held, 0)->ref;
    CHECK(tq_ack(q, ref, payload, sizeof(payload), &err) == TR_E_RETRY);
    CHECK(tq_verify(q, ref, &err) == TQ_STILL_MINE);

    CHECK(mount("none", argv[1], "tmpfs", MS_REMOUNT, "size=64m") == 0);
    CHECK(tq_ack(q, ref, payload, sizeof(payload), &err) == 0);
    CHECK(add(q) == 0);
    drain(q, added + 1);
    CHECK(tq_begin(q, &tx, &err) == 0);
    CHECK(tq_sql(tx, "PRAGMA integrity_check", NULL, 0, whole, &ok, &err) >= 0 && ok);
    CHECK(tq_commit(q, &err) == 0);
    tq_batch_free(held);
    tq_close(q);
    return 0;
}
