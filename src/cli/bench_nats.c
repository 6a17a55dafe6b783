/* SPDX-License-Identifier: MIT
 *
 * bench_nats.c - `tribunal bench nats`: what the fenced commits cost beside the bare server.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/bench.h"
#include "cli/nats_opts.h"
#include "nats/bench.h"
#include "store/store.h"

struct options {
    struct tr_nats_opts nats;
    struct tr_conf_list dbs;
    int64_t tasks, bytes;
    bool json;
};

static const struct tr_conf_item items[] = {
    {.name = "db",
     .type = TR_CONF_LIST,
     .at = offsetof(struct options, dbs),
     .unit = "URL",
     .doc = "database to commit to; may be repeated"},
    {.name = "tasks",
     .type = TR_CONF_INT,
     .at = offsetof(struct options, tasks),
     .fallback = "2000",
     .min = 100,
     .max = 1000000,
     .unit = "N",
     .doc = "tasks of each measurement, a multiple of 100"},
    {.name = "bytes",
     .type = TR_CONF_INT,
     .at = offsetof(struct options, bytes),
     .fallback = "1024",
     .min = 1,
     .max = 900000,
     .unit = "N",
     .doc = "size of a task"},
    JSON_ITEM(struct options, json),
    NATS_ITEMS(struct options, nats),
};

static const struct cli_doc doc = {
    .name = "tribunal bench nats",
    .usage = "[--db URL]… [--tasks N] [--json]",
    .summary =
        "Tasks a second through pull → start (fenced commit) → verdict (fenced commit) → ack\n"
        "for a judge that has nothing to do, at batches of 1 and 100, beside the raw publish and\n"
        "pull + ack of the same server in the same run. Works in a stream of its own; rows it\n"
        "wrote stay in the database under the source 'bench'.",
    .examples = "  tribunal bench nats --db sqlite:/tmp/b.db --db postgres://… --json\n",
    .items = items,
    .count = TR_ARRAY_LEN(items),
};

enum {
    BATCH_MAX = 100
};
static const int batches[] = {1, BATCH_MAX};

struct fenced {
    struct tr_store *st;
    char prefix[48];
    char ids[BATCH_MAX][96];
    struct tr_submission_new rows[BATCH_MAX];
    struct tr_insert_item in[BATCH_MAX];
    struct tr_start_item run[BATCH_MAX];
    struct tr_finish_item done[BATCH_MAX];
};

static void name_all(struct fenced *f, const uint64_t *seqs, size_t n)
{
    for (size_t i = 0; i < n; i++)
        (void)snprintf(f->ids[i], sizeof(f->ids[i]), "%s-%llu", f->prefix,
                       (unsigned long long)seqs[i]);
}

static int end(struct fenced *f, int r, struct tr_err *err)
{
    if (r >= 0)
        return tr_store_commit(f->st, err);
    tr_store_rollback(f->st);
    return r;
}

static int start_all(struct fenced *f, size_t n, struct tr_err *err)
{
    int r = tr_store_begin(f->st, err);

    for (size_t i = 0; i < n; i++) {
        f->rows[i] = (struct tr_submission_new){
            .submit_id = f->ids[i], .source = "bench", .task = "{}", .task_len = 2};
        f->in[i] = (struct tr_insert_item){.row = &f->rows[i]};
        f->run[i] = (struct tr_start_item){.of.submit_id = f->ids[i]};
    }
    if (r >= 0)
        r = tr_store_insert_many(f->st, f->in, n, err);
    if (r >= 0)
        r = tr_store_start_many(f->st, f->run, n, INT64_C(30000000), err);
    for (size_t i = 0; r >= 0 && i < n; i++)
        if (f->run[i].of.result != TR_START_OK)
            r = tr_fail(err, TR_E_FATAL, 0, "a task of the benchmark was not new");
    return end(f, r, err);
}

static int finish_all(struct fenced *f, size_t n, struct tr_err *err)
{
    const struct tr_verdict_row v = {
        .verdict = "AC", .score = 100, .result = "{}", .result_len = 2};
    int r = tr_store_begin(f->st, err);

    for (size_t i = 0; i < n; i++)
        f->done[i] = (struct tr_finish_item){
            .of.submit_id = f->ids[i], .run_lease = f->run[i].got.run_lease, .verdict = &v};
    if (r >= 0)
        r = tr_store_finish_many(f->st, f->done, n, err);
    for (size_t i = 0; r >= 0 && i < n; i++)
        if (f->done[i].of.result != TR_MOVED)
            r = tr_fail(err, TR_E_FATAL, 0, "a task of the benchmark was lost");
    return end(f, r, err);
}

static int judge(void *arg, const uint64_t *seqs, size_t n, struct tr_err *err)
{
    struct fenced *f = arg;

    name_all(f, seqs, n);
    int r = start_all(f, n, err);
    return r < 0 ? r : finish_all(f, n, err);
}

static void print_rates(const struct options *o, const char *what, const double *rates,
                        const double *raw, bool last)
{
    if (o->json)
        (void)printf("\"%s\": {\"batch_1\": %.0f, \"batch_100\": %.0f}%s", what, rates[0], rates[1],
                     last ? "" : ", ");
    else
        (void)printf("%-22s  %8.0f  %9.0f tasks/s   (%.2f, %.2f of pull + ack)\n", what, rates[0],
                     rates[1], rates[0] / raw[0], rates[1] / raw[1]);
}

static int measure(const struct options *o, struct tr_nats_bench *b, tr_nats_bench_fn work,
                   void *arg, double *rates, struct tr_err *err)
{
    int r = 0;

    for (size_t i = 0; r >= 0 && i < TR_ARRAY_LEN(batches); i++)
        r = tr_nats_bench_pull(b, o->tasks, (size_t)o->bytes, batches[i], work, arg, &rates[i],
                               err);
    return r;
}

static int measure_db(const struct options *o, struct tr_nats_bench *b, const char *url,
                      double *rates, struct tr_err *err)
{
    TR_CLEANUP(tr_store_closep) struct tr_store *st = NULL;
    const struct tr_store_conf conf = {.url = url, .worker_id = "bench"};
    tr_autofree struct fenced *f = calloc(1, sizeof(*f));
    int64_t now = 0;
    int r = f ? tr_store_open(&conf, &st, err) : tr_fail(err, TR_E_NOMEM, 0, "out of memory");

    if (r >= 0)
        r = tr_store_migrate(st, -1, err);
    if (r >= 0)
        r = tr_store_now(st, &now, err);
    if (r < 0)
        return r;
    f->st = st;
    (void)snprintf(f->prefix, sizeof(f->prefix), "bench-%lld-%d", (long long)now, (int)getpid());
    return measure(o, b, judge, f, rates, err);
}

static int measure_all(const struct options *o, struct tr_nats_bench *b, struct tr_err *err)
{
    double publish = 0, raw[2] = {0};
    int r = tr_nats_bench_publish(b, o->tasks, (size_t)o->bytes, &publish, err);

    if (r >= 0)
        r = measure(o, b, NULL, NULL, raw, err);
    if (r < 0)
        return r;
    if (o->json)
        (void)printf("{\"tasks\": %lld, \"publish\": %.0f, ", (long long)o->tasks, publish);
    else
        (void)printf("%-22s  %8.0f\n%-22s   batch 1  batch 100\n", "raw publish", publish, "");
    print_rates(o, o->json ? "pull_ack" : "raw pull + ack", raw, raw, o->dbs.count == 0);
    for (size_t i = 0; r >= 0 && i < o->dbs.count; i++) {
        char engine[16] = "";
        double rates[2] = {0};

        (void)snprintf(engine, sizeof(engine), "%.*s", (int)strcspn(o->dbs.items[i], ":"),
                       o->dbs.items[i]);
        r = measure_db(o, b, o->dbs.items[i], rates, err);
        if (r >= 0)
            print_rates(o, engine, rates, raw, i + 1 == o->dbs.count);
    }
    if (o->json)
        (void)printf("}\n");
    return r;
}

int bench_nats(int argc, char **argv)
{
    TR_CLEANUP(cli_end) struct cli_run run;
    TR_CLEANUP(tr_nats_closep) struct tr_nats *n = NULL;
    struct tr_nats_bench *b = NULL;
    struct tr_err err = TR_ERR_INIT;
    struct options o = {0};
    int code = CLI_OK;

    if (!cli_begin(&run, &doc, &o, argc, argv, &code))
        return code;
    o.tasks -= o.tasks % batches[1];
    int r = tr_nats_opts_open(&o.nats, NULL, &n, &err);
    if (r >= 0)
        r = tr_nats_bench_open(n, &b, &err);
    if (r >= 0)
        r = measure_all(&o, b, &err);
    tr_nats_bench_close(b);
    return r < 0 ? cli_fail(&run, &err) : CLI_OK;
}
