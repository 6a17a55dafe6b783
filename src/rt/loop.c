/* SPDX-License-Identifier: MIT
 *
 * loop.c - a libuv loop with stop signals and a bounded inbox for other threads.
 */
#include "rt/loop.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>

struct post {
    struct post *next;
    void (*fn)(void *arg);
    void *arg;
};

struct tr_loop {
    uv_loop_t uv;
    uv_async_t wake;
    uv_signal_t term;
    uv_signal_t intr;
    bool signals;
    void (*on_stop)(void *arg, unsigned times);
    void *on_stop_arg;
    unsigned stops;

    pthread_mutex_t lock; /* guards the four below */
    struct post *first;
    struct post *last;
    size_t waiting;
    bool closing;
};

static void run_posts(uv_async_t *wake)
{
    struct tr_loop *l = wake->data;

    (void)pthread_mutex_lock(&l->lock);
    struct post *p = l->first;
    l->first = NULL;
    l->last = NULL;
    l->waiting = 0;
    (void)pthread_mutex_unlock(&l->lock);
    while (p) {
        struct post *next = p->next;

        p->fn(p->arg);
        free(p);
        p = next;
    }
}

int tr_loop_new(struct tr_loop **ret, struct tr_err *err)
{
    struct tr_loop *l = calloc(1, sizeof(*l));

    if (!l)
        return tr_fail(err, TR_E_NOMEM, 0, "out of memory");
    int r = uv_loop_init(&l->uv);
    if (r < 0) {
        free(l);
        return tr_fail(err, TR_E_IO, -r, "start the event loop");
    }
    (void)pthread_mutex_init(&l->lock, NULL); /* the default kind does not fail */
    r = uv_async_init(&l->uv, &l->wake, run_posts);
    if (r < 0) {
        (void)uv_loop_close(&l->uv);
        free(l);
        return tr_fail(err, TR_E_IO, -r, "start the event loop");
    }
    l->wake.data = l;
    uv_unref((uv_handle_t *)&l->wake); /* waiting for posts alone keeps no program alive */
    *ret = l;
    return 0;
}

static void close_handle(uv_handle_t *h, void *arg)
{
    (void)arg;
    if (!uv_is_closing(h))
        uv_close(h, NULL);
}

void tr_loop_free(struct tr_loop *l)
{
    if (!l)
        return;
    (void)pthread_mutex_lock(&l->lock);
    l->closing = true;
    (void)pthread_mutex_unlock(&l->lock);
    uv_walk(&l->uv, close_handle, NULL);
    while (uv_run(&l->uv, UV_RUN_DEFAULT) != 0) {
        /* only closing handles are left; a pending uv_stop() ends one round early */
    }
    int r = uv_loop_close(&l->uv);
    assert(r == 0); /* a request (work, DNS) was still under way: its owner must end it first */
    (void)r;
    while (l->first) {
        struct post *next = l->first->next;

        free(l->first);
        l->first = next;
    }
    (void)pthread_mutex_destroy(&l->lock);
    free(l);
}

uv_loop_t *tr_loop_uv(struct tr_loop *l)
{
    return &l->uv;
}

void tr_loop_run(struct tr_loop *l)
{
    (void)uv_run(&l->uv, UV_RUN_DEFAULT); /* non-zero only says that handles are left */
}

void tr_loop_stop(struct tr_loop *l)
{
    uv_stop(&l->uv);
}

void tr_loop_turn(struct tr_loop *l)
{
    uv_ref((uv_handle_t *)&l->wake); /* libuv looks at nothing when nothing keeps it alive */
    (void)uv_run(&l->uv, UV_RUN_NOWAIT);
    uv_unref((uv_handle_t *)&l->wake);
}

static void on_signal(uv_signal_t *h, int signum)
{
    struct tr_loop *l = h->data;

    (void)signum;
    l->on_stop(l->on_stop_arg, ++l->stops);
}

int tr_loop_on_stop_signal(struct tr_loop *l, void (*fn)(void *arg, unsigned times), void *arg,
                           struct tr_err *err)
{
    l->on_stop = fn;
    l->on_stop_arg = arg;
    if (l->signals)
        return 0;
    uv_signal_t *both[] = {&l->term, &l->intr};
    const int numbers[] = {SIGTERM, SIGINT};
    for (int i = 0; i < 2; i++) {
        int r = uv_signal_init(&l->uv, both[i]);

        both[i]->data = l;
        if (r == 0)
            r = uv_signal_start(both[i], on_signal, numbers[i]);
        if (r < 0)
            return tr_fail(err, TR_E_IO, -r, "watch signal %d", numbers[i]);
        uv_unref((uv_handle_t *)both[i]);
    }
    l->signals = true;
    return 0;
}

int tr_loop_post(struct tr_loop *l, void (*fn)(void *arg), void *arg, struct tr_err *err)
{
    struct post *p = calloc(1, sizeof(*p));

    if (!p)
        return tr_fail(err, TR_E_NOMEM, 0, "out of memory");
    p->fn = fn;
    p->arg = arg;
    (void)pthread_mutex_lock(&l->lock);
    bool closing = l->closing;
    bool full = l->waiting >= TR_LOOP_POSTS_MAX;
    if (!closing && !full) {
        if (l->last)
            l->last->next = p;
        else
            l->first = p;
        l->last = p;
        l->waiting++;
        (void)uv_async_send(&l->wake); /* under the lock: the handle is not closed yet */
    }
    (void)pthread_mutex_unlock(&l->lock);
    if (!closing && !full)
        return 0;
    free(p);
    return closing
               ? tr_fail(err, TR_E_LOST, 0, "the event loop has ended")
               : tr_fail(err, TR_E_LIMIT, 0, "%d calls wait for the event loop", TR_LOOP_POSTS_MAX);
}
