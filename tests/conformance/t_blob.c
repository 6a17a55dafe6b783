/* SPDX-License-Identifier: MIT
 *
 * t_blob.c - payloads that live beside the table.
 */
#include "conf.h"

#include <ftw.h>
#include <unistd.h>

static char folder[64];
static struct tq_blobs *blobs;

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *f)
{
    (void)st;
    (void)type;
    (void)f;
    return remove(path);
}

static int files;

static int count_one(const char *path, const struct stat *st, int type, struct FTW *f)
{
    (void)path;
    (void)st;
    (void)f;
    files += type == FTW_F;
    return 0;
}

static int blob_files(void)
{
    files = 0;
    (void)nftw(folder, count_one, 8, FTW_PHYS);
    return files;
}

static tq *open_blobs(void)
{
    struct tq_opts o = opts();

    (void)snprintf(folder, sizeof(folder), "/tmp/tq-blobs-XXXXXX");
    assert_non_null(mkdtemp(folder));
    OK(tq_blobs_folder(folder, &blobs, &E.err));
    o.blobs = blobs;
    o.inline_max = 100;
    return open_with(&o);
}

static void done(tq *q)
{
    close_handle(q);
    tq_blobs_folder_free(blobs);
    (void)nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static struct tq_item large(char *room)
{
    struct tq_item it = job("q", NULL);

    for (int i = 0; i < 5000; i++)
        room[i] = (char)i;
    it.payload = room;
    it.payload_len = 5000;
    return it;
}

static void a_large_payload_goes_to_the_blob_store_and_back(void **state)
{
    char room[5000];
    tq *q = open_blobs();
    struct tq_item it = large(room);

    OK(tq_enqueue(q, &it, NULL, &E.err));
    assert_true(num("SELECT length(payload) FROM job_queue") < 100);
    assert_int_equal(blob_files(), 1);
    const struct tq_job *j = take(q, "q");
    assert_int_equal(j->payload_len, 5000);
    assert_memory_equal(j->payload, room, 5000);
    OK(tq_ack(q, j->ref, NULL, 0, &E.err));
    done(q);
}

static void a_small_payload_stays_in_the_table(void **state)
{
    tq *q = open_blobs();
    struct tq_item it = job("q", "small");

    OK(tq_enqueue(q, &it, NULL, &E.err));
    assert_int_equal(blob_files(), 0);
    done(q);
}

static void orphans_of_rollbacks_are_collected(void **state)
{
    char room[5000];
    tq *q = open_blobs();
    struct tq_tx tx = caller();
    struct tq_item it = large(room);

    OK(tq_enqueue(q, &it, NULL, &E.err));
    begin(tx);
    OK(tq_tx_enqueue(q, tx, &it, NULL, &E.err));
    rollback(tx);
    assert_int_equal(blob_files(), 2);
    assert_int_equal(OK(tq_blobs_collect(q, 3600LL * SEC, &E.err)), 0); /* too young */
    assert_int_equal(OK(tq_blobs_collect(q, 0, &E.err)), 1);
    assert_int_equal(blob_files(), 1);
    (void)take(q, "q");
    done(q);
}

static void history_keeps_its_blob_until_it_is_pruned(void **state)
{
    char room[5000];
    tq *q = open_blobs();
    struct tq_item it = large(room);

    OK(tq_enqueue(q, &it, NULL, &E.err));
    OK(tq_ack(q, take(q, "q")->ref, NULL, 0, &E.err));
    assert_int_equal(OK(tq_blobs_collect(q, 0, &E.err)), 0);
    sql(caller(), "DELETE FROM job_history");
    assert_int_equal(OK(tq_blobs_collect(q, 0, &E.err)), 1);
    done(q);
}

static void a_missing_blob_costs_its_job_one_attempt(void **state)
{
    char room[5000];
    tq *q = open_blobs();
    struct tq_item it = large(room), small = job("q", "fine");
    tq_batch *b;

    OK(tq_enqueue(q, &it, NULL, &E.err));
    OK(tq_enqueue(q, &small, NULL, &E.err));
    (void)nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    assert_int_equal(take_n(q, "q", 5, &b), 1);
    assert_memory_equal(tq_batch_job(b, 0)->payload, "fine", 4);
    assert_int_equal(num("SELECT count(*) FROM job_queue WHERE state = 0 AND attempts = 1 AND "
                         "last_error IS NOT NULL"),
                     1);
    close_handle(q);
    tq_blobs_folder_free(blobs);
}

static void a_handle_without_the_store_gives_the_job_back(void **state)
{
    char room[5000];
    tq *q = open_blobs();
    struct tq_item it = large(room);

    OK(tq_enqueue(q, &it, NULL, &E.err));
    assert_true(nothing_in(E.q, "q"));
    assert_int_equal(num("SELECT count(*) FROM job_queue WHERE state = 0"), 1);
    done(q);
}

const struct promise blob_promises[] = {PROMISE(a_large_payload_goes_to_the_blob_store_and_back),
                                        PROMISE(a_small_payload_stays_in_the_table),
                                        PROMISE(orphans_of_rollbacks_are_collected),
                                        PROMISE(history_keeps_its_blob_until_it_is_pruned),
                                        PROMISE(a_missing_blob_costs_its_job_one_attempt),
                                        PROMISE(a_handle_without_the_store_gives_the_job_back),
                                        {NULL, NULL}};
