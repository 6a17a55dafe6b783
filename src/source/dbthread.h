/* SPDX-License-Identifier: MIT
 *
 * source/dbthread.h - the store on a thread of its own, for programs that must not wait.
 *
 * Operations run in the order given. What has piled up meanwhile runs in one transaction: under
 * load a commit is shared, without load nothing waits for one.
 */
#ifndef SOURCE_DBTHREAD_H
#define SOURCE_DBTHREAD_H

#include "rt/loop.h"
#include "store/store.h"

struct tr_dbthread;

/* Embed it first in what the operation needs. */
struct tr_dbop {
    struct tr_dbop *next;
    /* On the thread; touches only the operation. May run twice when a transaction has to be done
     * again: it must start from the operation's inputs. */
    int (*run)(struct tr_store *st, struct tr_dbop *op, struct tr_err *err);
    /* run() for several in the transaction that is open, or NULL. Fills result and err of each;
     * negative: the transaction is of no use. Operations that have one may change places with each
     * other, none passes one that has not. */
    int (*many)(struct tr_store *st, struct tr_dbop *const *ops, size_t n, struct tr_err *err);
    /* On the loop; `result` is what run() returned, `err` its sentence. The operation is free now.
     */
    void (*done)(struct tr_dbop *op);
    bool alone; /* never share a transaction: it has its own, or several */
    int result;
    struct tr_err err;
};

/* Opens a connection of its own and checks the schema. */
int tr_dbthread_open(struct tr_loop *loop, const struct tr_store_conf *conf, bool migrate,
                     struct tr_dbthread **ret, struct tr_err *err);
/* Waits for the operation at work; done() is not called any more for what is left. */
void tr_dbthread_close(struct tr_dbthread *t);

void tr_dbthread_do(struct tr_dbthread *t, struct tr_dbop *op);

#endif
