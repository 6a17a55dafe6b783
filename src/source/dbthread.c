/* SPDX-License-Identifier: MIT
 *
 * dbthread.c - one thread, one store, a list of operations.
 */
#include "source/dbthread.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/gather.h"

enum {
    SHARED_MAX = 128 /* operations in one commit: a few milliseconds of locks at most */
};

struct tr_dbthread {
    struct tr_loop *loop;
    struct tr_store *st;
    pthread_t thread;
    bool running;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t wake;
    struct tr_dbop *first, **last;
    struct tr_dbop *finished, **finished_last;
    bool stop;
};

/* On the loop: hand over what is finished. */
static void deliver(void *arg)
{
    struct tr_dbthread *t = arg;

    (void)pthread_mutex_lock(&t->lock);
    struct tr_dbop *op = t->finished;
    t->finished = NULL;
    t->finished_last = &t->finished;
    (void)pthread_mutex_unlock(&t->lock);
    while (op) {
        struct tr_dbop *next = op->next;

        op->done(op);
        op = next;
    }
}

static void finish(struct tr_dbthread *t, struct tr_dbop *const *ops, size_t n)
{
    (void)pthread_mutex_lock(&t->lock);
    bool first = t->finished == NULL;
    for (size_t i = 0; i < n; i++) {
        ops[i]->next = NULL;
        *t->finished_last = ops[i];
        t->finished_last = &ops[i]->next;
    }
    (void)pthread_mutex_unlock(&t->lock);
    if (first)
        (void)tr_loop_post(t->loop, deliver, t, NULL);
}

static void run_alone(struct tr_dbthread *t, struct tr_dbop *op)
{
    op->err = (struct tr_err)TR_ERR_INIT;
    op->result = op->run(t->st, op, &op->err);
}

static tr_kind kind(const void *op)
{
    return (tr_kind)((const struct tr_dbop *)op)->many;
}

static int run_some(struct tr_dbthread *t, struct tr_dbop *const *ops, size_t n)
{
    struct tr_err err = TR_ERR_INIT;

    if (n == 1)
        run_alone(t, ops[0]);
    else if (ops[0]->many(t->st, ops, n, &err) < 0)
        return -1;
    /* A run that is lost is an answer; everything else spoils the transaction. */
    for (size_t i = 0; i < n; i++)
        if (ops[i]->result < 0 && ops[i]->result != TR_E_LOST)
            return -1;
    return 0;
}

/* All in one transaction; false: nothing of it remains, do them one by one. */
static bool run_shared(struct tr_dbthread *t, struct tr_dbop **ops, size_t n)
{
    struct tr_err err;

    if (tr_store_begin(t->st, &err) < 0)
        return false;
    for (size_t i = 0, some; i < n; i += some) {
        some = tr_gather((void **)(ops + i), n - i, kind);
        if (run_some(t, ops + i, some) < 0) {
            tr_store_rollback(t->st);
            return false;
        }
    }
    return tr_store_commit(t->st, &err) >= 0;
}

static void run_all(struct tr_dbthread *t, struct tr_dbop **ops, size_t n)
{
    if (n < 2 || !run_shared(t, ops, n)) {
        for (size_t i = 0; i < n; i++)
            run_alone(t, ops[i]);
    }
    finish(t, ops, n);
}

/* The next operations that may go together; 0 at the end. */
static size_t take(struct tr_dbthread *t, struct tr_dbop **ops)
{
    size_t n = 0;

    (void)pthread_mutex_lock(&t->lock);
    while (!t->first && !t->stop)
        (void)pthread_cond_wait(&t->wake, &t->lock);
    while (!t->stop && t->first && n < SHARED_MAX) {
        bool alone = t->first->alone;

        if (alone && n > 0)
            break;
        ops[n++] = t->first;
        t->first = t->first->next;
        if (alone)
            break;
    }
    if (!t->first)
        t->last = &t->first;
    (void)pthread_mutex_unlock(&t->lock);
    return n;
}

static void *work(void *arg)
{
    struct tr_dbthread *t = arg;
    struct tr_dbop *ops[SHARED_MAX];

    for (size_t n; (n = take(t, ops)) > 0;)
        run_all(t, ops, n);
    return NULL;
}

int tr_dbthread_open(struct tr_loop *loop, const struct tr_store_conf *conf, bool migrate,
                     struct tr_dbthread **ret, struct tr_err *err)
{
    struct tr_dbthread *t = calloc(1, sizeof(*t));

    if (!t)
        return tr_fail(err, TR_E_NOMEM, 0, "out of memory");
    t->loop = loop;
    t->last = &t->first;
    t->finished_last = &t->finished;
    (void)pthread_mutex_init(&t->lock, NULL);
    (void)pthread_cond_init(&t->wake, NULL);
    int r = tr_store_open(conf, &t->st, err);
    if (r >= 0)
        r = migrate ? tr_store_migrate(t->st, -1, err) : tr_store_check_schema(t->st, err);
    if (r >= 0 && pthread_create(&t->thread, NULL, work, t) != 0)
        r = tr_fail(err, TR_E_NOMEM, 0, "no thread for the database");
    t->running = r >= 0;
    if (r < 0) {
        tr_dbthread_close(t);
        return r;
    }
    *ret = t;
    return 0;
}

void tr_dbthread_close(struct tr_dbthread *t)
{
    if (!t)
        return;
    if (t->running) {
        (void)pthread_mutex_lock(&t->lock);
        t->stop = true;
        (void)pthread_cond_signal(&t->wake);
        (void)pthread_mutex_unlock(&t->lock);
        (void)pthread_join(t->thread, NULL);
    }
    tr_store_close(t->st);
    (void)pthread_cond_destroy(&t->wake);
    (void)pthread_mutex_destroy(&t->lock);
    free(t);
}

void tr_dbthread_do(struct tr_dbthread *t, struct tr_dbop *op)
{
    op->next = NULL;
    (void)pthread_mutex_lock(&t->lock);
    *t->last = op;
    t->last = &op->next;
    (void)pthread_cond_signal(&t->wake);
    (void)pthread_mutex_unlock(&t->lock);
}
