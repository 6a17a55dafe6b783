/* SPDX-License-Identifier: MIT
 *
 * nats_db.c - what a delivery asks of the database, on the store's thread.
 *
 * An operation touches its own copy of what it needs and nothing of the loop; a delivery stays in
 * place until its operation has answered.
 */
#include <stdlib.h>
#include <string.h>

#include "codec/brief.h"
#include "codec/json.h"
#include "source/nats_private.h"

enum {
    ARENA_MAX = 96 << 20
};

struct op {
    struct tr_dbop db; /* first */
    struct delivery *d;
    struct tr_start run;
    int64_t lease_us, delay_us;
    int max_retries;
    char *why;
    json_t *event, *duplicates;
    char *text; /* the event as the row keeps it */
    struct tr_verdict_row verdict;
    char brief[TR_BRIEF_MAX];
    char verdict_id[8];
    char other[TR_STORE_SUBMIT_ID_MAX + 1];
};

static void free_op(struct op *op)
{
    json_decref(op->event);
    json_decref(op->duplicates);
    free(op->why);
    free(op->text);
    free(op);
}

static struct op *new_op(struct delivery *d,
                         int (*run)(struct tr_store *, struct tr_dbop *, struct tr_err *),
                         void (*done)(struct tr_dbop *))
{
    struct op *op = calloc(1, sizeof(*op));

    if (!op)
        abort(); /* a worker that cannot allocate a page has nothing better to do */
    op->db.run = run;
    op->db.done = done;
    op->d = d;
    op->run = d->run;
    op->lease_us = d->src->ack_wait_us;
    return op;
}

/* ---------------------------------------------------------------- start */

/* The result that a row at its end has, as the event says it, and those that wait for it. */
static int load_end(struct tr_store *st, struct op *op, const char *submit_id, struct tr_err *err)
{
    struct tr_submission_list list = {0};
    const char *task, *result;
    size_t task_len, result_len;
    struct tr_arena arena;

    tr_arena_init(&arena, ARENA_MAX);
    int r = tr_store_texts(st, submit_id, &arena, &task, &task_len, &result, &result_len, err);
    if (r >= 0)
        r = tr_store_duplicates(st, submit_id, &arena, &list, err);
    json_decref(op->event);
    json_decref(op->duplicates);
    op->event = NULL;
    op->duplicates = json_array();
    if (r >= 0 && result_len)
        (void)tr_json_parse(result, result_len, 64 << 20, &op->event, NULL);
    for (size_t i = 0; r >= 0 && i < list.count; i++)
        (void)json_array_append_new(op->duplicates, json_string(list.rows[i].submit_id));
    tr_arena_done(&arena);
    return r;
}

/* A second submission with a known key: it has the first one's result, now or later. */
static int is_duplicate(struct tr_store *st, struct op *op, struct tr_err *err)
{
    struct tr_submission s;
    struct tr_arena arena;

    tr_arena_init(&arena, ARENA_MAX);
    int r = tr_store_get(st, op->other, &arena, &s, err);
    if (r >= 0 && s.status == TR_FINISHED)
        r = load_end(st, op, op->other, err);
    tr_arena_done(&arena);
    return r < 0 ? r : TR_START_DUPLICATE;
}

static int start_again(struct tr_store *st, struct op *op, int how, struct tr_err *err)
{
    const struct tr_envelope *e = &op->d->env;
    int64_t r = 0;

    if (how == TR_START_DEAD && e->revivals > op->run.revivals)
        r = tr_store_retry(st, e->submit_id, e->revivals, err);
    else if ((how == TR_START_FINISHED || how == TR_START_DEAD || how == TR_START_CANCELLED) &&
             e->generation > op->run.generation)
        r = tr_store_rejudge(st, e->submit_id, NULL, 0, err);
    else
        return how;
    return r < 0 ? (int)r
                 : tr_store_start(st, e->submit_id, e->generation, op->lease_us, &op->run, err);
}

/* What a start's answer means for this delivery. */
static int after_start(struct tr_store *st, struct op *op, int how, struct tr_err *err)
{
    int r = how < 0 ? how : start_again(st, op, how, err);

    if (r == TR_START_FINISHED) {
        int loaded = load_end(st, op, op->d->env.submit_id, err);
        return loaded < 0 ? loaded : r;
    }
    return r;
}

static int run_start(struct tr_store *st, struct tr_dbop *db, struct tr_err *err)
{
    struct op *op = (struct op *)db;
    const struct delivery *d = op->d;
    int r = tr_store_insert(st, &d->row, op->other, err);

    if (r < 0)
        return r;
    if (op->other[0])
        return is_duplicate(st, op, err);
    r = tr_store_start(st, d->env.submit_id, d->env.generation, op->lease_us, &op->run, err);
    return after_start(st, op, r, err);
}

/* The rows of all, then the runs of those that are to be judged. */
static int insert_many(struct tr_store *st, struct tr_dbop *const *ops, size_t n,
                       struct tr_err *err)
{
    tr_autofree struct tr_insert_item *in = calloc(n, sizeof(*in));

    for (size_t i = 0; in && i < n; i++) {
        struct op *op = (struct op *)ops[i];

        in[i].row = &op->d->row;
        in[i].other = op->other;
        in[i].of.err = &op->db.err;
    }
    int r = in ? tr_store_insert_many(st, in, n, err) : TR_E_NOMEM;
    for (size_t i = 0; r >= 0 && i < n; i++)
        ops[i]->result = in[i].of.result;
    return r;
}

static int start_many(struct tr_store *st, struct tr_dbop *const *ops, size_t n, struct tr_err *err)
{
    tr_autofree struct tr_start_item *runs = calloc(n, sizeof(*runs));
    size_t k = 0;
    int r = runs ? insert_many(st, ops, n, err) : TR_E_NOMEM;

    for (size_t i = 0; r >= 0 && i < n; i++) {
        struct op *op = (struct op *)ops[i];

        if (op->db.result < 0 || op->other[0])
            continue;
        runs[k].of.submit_id = op->d->env.submit_id;
        runs[k].of.err = &op->db.err;
        runs[k++].generation = op->d->env.generation;
    }
    if (r >= 0)
        r = tr_store_start_many(st, runs, k, ((struct op *)ops[0])->lease_us, err);
    k = 0;
    for (size_t i = 0; r >= 0 && i < n; i++) {
        struct op *op = (struct op *)ops[i];

        if (op->db.result < 0)
            continue;
        if (op->other[0]) {
            op->db.result = is_duplicate(st, op, &op->db.err);
            continue;
        }
        op->run = runs[k].got;
        op->db.result = after_start(st, op, runs[k++].of.result, &op->db.err);
    }
    return r;
}

static void start_done(struct tr_dbop *db)
{
    struct op *op = (struct op *)db;
    struct delivery *d = op->d;

    d->run = op->run;
    task_started(d, db->result, &db->err, op->event, op->duplicates,
                 op->other[0] ? op->other : NULL);
    free_op(op);
}

void db_start(struct delivery *d)
{
    struct op *op = new_op(d, run_start, start_done);

    op->db.many = start_many;
    tr_dbthread_do(d->src->db, &op->db);
}

/* ---------------------------------------------------------------- renew */

static int run_renew(struct tr_store *st, struct tr_dbop *db, struct tr_err *err)
{
    struct op *op = (struct op *)db;

    return tr_store_renew(st, op->other, op->run.run_lease, op->lease_us, err);
}

static void renew_done(struct tr_dbop *db)
{
    struct op *op = (struct op *)db;

    task_renewed(op->d, db->result);
    free_op(op);
}

void db_renew(struct delivery *d)
{
    struct op *op = new_op(d, run_renew, renew_done);

    (void)snprintf(op->other, sizeof(op->other), "%s", d->env.submit_id);
    tr_dbthread_do(d->src->db, &op->db);
}

/* ---------------------------------------------------------------- the end */

/* The database is away: nothing else can be done with an end, so it waits for the database. */
static bool again(struct op *op)
{
    int class = tr_err_class(op->db.result);

    if (op->d->src->closing || (class != TR_E_RETRY && class != TR_E_UNSURE))
        return false;
    src_log(op->d->src, TR_LOG_WARN, op->d->env.submit_id, &op->db.err, "database");
    tr_dbthread_do(op->d->src->db, &op->db);
    return true;
}

/* Who else has this verdict now. */
static int after_finish(struct tr_store *st, struct op *op, int how, struct tr_err *err)
{
    struct tr_submission_list list;
    struct tr_arena arena;

    json_decref(op->duplicates);
    op->duplicates = NULL;
    if (how < 0 || how == TR_MOVED)
        return how;
    tr_arena_init(&arena, ARENA_MAX);
    int r = tr_store_duplicates(st, op->d->env.submit_id, &arena, &list, err);
    op->duplicates = json_array();
    for (size_t i = 0; r >= 0 && i < list.count; i++)
        (void)json_array_append_new(op->duplicates, json_string(list.rows[i].submit_id));
    tr_arena_done(&arena);
    return r;
}

static int run_finish(struct tr_store *st, struct tr_dbop *db, struct tr_err *err)
{
    struct op *op = (struct op *)db;
    int r = tr_store_finish(st, op->d->env.submit_id, op->run.run_lease, &op->verdict, err);

    return after_finish(st, op, r, err);
}

static int finish_many(struct tr_store *st, struct tr_dbop *const *ops, size_t n,
                       struct tr_err *err)
{
    tr_autofree struct tr_finish_item *done = calloc(n, sizeof(*done));

    for (size_t i = 0; done && i < n; i++) {
        struct op *op = (struct op *)ops[i];

        done[i].of.submit_id = op->d->env.submit_id;
        done[i].of.err = &op->db.err;
        done[i].run_lease = op->run.run_lease;
        done[i].verdict = &op->verdict;
    }
    int r = done ? tr_store_finish_many(st, done, n, err) : TR_E_NOMEM;
    for (size_t i = 0; r >= 0 && i < n; i++)
        ops[i]->result = after_finish(st, (struct op *)ops[i], done[i].of.result, &ops[i]->err);
    return r;
}

static void finish_done(struct tr_dbop *db)
{
    struct op *op = (struct op *)db;

    if (again(op))
        return;
    task_finished(op->d, db->result, &db->err, op->event, op->duplicates);
    free_op(op);
}

void db_finish(struct delivery *d, const struct tr_pool_result *r, json_t *event)
{
    struct op *op = new_op(d, run_finish, finish_done);

    op->db.many = finish_many;
    op->event = event;
    op->text = json_dumps(event, JSON_COMPACT);
    (void)snprintf(op->verdict_id, sizeof(op->verdict_id), "%s", r->verdict);
    tr_result_brief(json_object_get(event, "result"), op->brief);
    op->verdict = (struct tr_verdict_row){.verdict = op->verdict_id,
                                          .score = r->score,
                                          .time_ms = r->time_ms,
                                          .memory_kb = r->memory_kb,
                                          .result = op->text,
                                          .result_len = op->text ? strlen(op->text) : 0,
                                          .brief = *op->brief ? op->brief : NULL};
    tr_dbthread_do(d->src->db, &op->db);
}

static int run_fault(struct tr_store *st, struct tr_dbop *db, struct tr_err *err)
{
    struct op *op = (struct op *)db;

    return tr_store_fault(st, op->d->env.submit_id, op->run.run_lease, op->why, op->delay_us,
                          op->max_retries, err);
}

static void fault_done(struct tr_dbop *db)
{
    struct op *op = (struct op *)db;

    if (again(op))
        return;
    task_faulted(op->d, db->result, &db->err, op->why, op->delay_us);
    free_op(op);
}

void db_fault(struct delivery *d, const char *why, bool final)
{
    const struct tr_source_nats_conf *c = &d->src->conf;
    struct op *op = new_op(d, run_fault, fault_done);
    int64_t n = d->run.retry_count < c->ndelays ? d->run.retry_count : c->ndelays - 1;

    op->why = strdup(why);
    op->delay_us = c->ndelays ? c->delays_us[n] : 0;
    op->max_retries = final ? 0 : c->ndelays;
    tr_dbthread_do(d->src->db, &op->db);
}

static int run_release(struct tr_store *st, struct tr_dbop *db, struct tr_err *err)
{
    struct op *op = (struct op *)db;

    return tr_store_release(st, op->d->env.submit_id, op->run.run_lease, false, err);
}

static void release_done(struct tr_dbop *db)
{
    struct op *op = (struct op *)db;

    task_released(op->d); /* if it failed, the lease runs out by itself */
    free_op(op);
}

void db_release(struct delivery *d)
{
    tr_dbthread_do(d->src->db, &new_op(d, run_release, release_done)->db);
}
