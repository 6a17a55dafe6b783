/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <signal.h>

#include "rt/loop.h"
#include "unit.h"

enum {
    THREADS = 4,
    POSTS = 5000
};

struct seen {
    struct tr_loop *loop;
    int count;
    int last[THREADS]; /* the last number of each thread: they must arrive in order */
};

struct item {
    struct seen *seen;
    int thread;
    int number;
};

static struct item posted[THREADS][POSTS];

static void take(void *arg)
{
    struct item *it = arg;

    assert_int_equal(it->number, it->seen->last[it->thread] + 1);
    it->seen->last[it->thread] = it->number;
    if (++it->seen->count == THREADS * POSTS)
        tr_loop_stop(it->seen->loop);
}

static void *poster(void *arg)
{
    struct item *mine = arg;

    for (int i = 0; i < POSTS; i++)
        assert_int_equal(tr_loop_post(mine->seen->loop, take, &mine[i], NULL), 0);
    return NULL;
}

static void never(uv_timer_t *t)
{
    fail_msg("nothing came in time");
}

static void posts_of_many_threads_arrive_once_and_in_order(void **state)
{
    static struct seen seen;
    pthread_t threads[THREADS];
    uv_timer_t deadline;

    seen = (struct seen){0};
    assert_int_equal(tr_loop_new(&seen.loop, NULL), 0);
    uv_timer_init(tr_loop_uv(seen.loop), &deadline);
    uv_timer_start(&deadline, never, 30000, 0);
    for (int t = 0; t < THREADS; t++) {
        for (int i = 0; i < POSTS; i++)
            posted[t][i] = (struct item){.seen = &seen, .thread = t, .number = i + 1};
        assert_int_equal(pthread_create(&threads[t], NULL, poster, posted[t]), 0);
    }
    tr_loop_run(seen.loop);
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    assert_int_equal(seen.count, THREADS * POSTS);
    tr_loop_free(seen.loop); /* with the timer still running */
}

static void on_stop(void *arg, unsigned times)
{
    struct tr_loop *l = arg;

    if (times == 2)
        tr_loop_stop(l);
    else
        raise(SIGINT);
}

static void stop_signals_are_counted(void **state)
{
    struct tr_loop *l = NULL;
    uv_timer_t deadline;

    assert_int_equal(tr_loop_new(&l, NULL), 0);
    uv_timer_init(tr_loop_uv(l), &deadline);
    uv_timer_start(&deadline, never, 30000, 0);
    assert_int_equal(tr_loop_on_stop_signal(l, on_stop, l, NULL), 0);
    raise(SIGTERM);
    tr_loop_run(l);
    tr_loop_free(l);
}

static void count(void *arg)
{
    (*(int *)arg)++;
}

static void a_turn_runs_what_was_posted_and_nothing_else_is_left(void **state)
{
    struct tr_loop *l = NULL;
    int seen = 0;

    assert_int_equal(tr_loop_new(&l, NULL), 0);
    tr_loop_turn(l);
    assert_int_equal(seen, 0);
    assert_int_equal(tr_loop_post(l, count, &seen, NULL), 0);
    tr_loop_turn(l);
    assert_int_equal(seen, 1);
    tr_loop_free(l);
}

static void nothing(void *arg)
{
}

static void the_inbox_has_a_ceiling(void **state)
{
    struct tr_loop *l = NULL;

    assert_int_equal(tr_loop_new(&l, NULL), 0);
    for (int i = 0; i < TR_LOOP_POSTS_MAX; i++)
        assert_int_equal(tr_loop_post(l, nothing, NULL, NULL), 0);
    assert_int_equal(tr_loop_post(l, nothing, NULL, NULL), TR_E_LIMIT);
    tr_loop_free(l); /* with all of them still waiting */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(posts_of_many_threads_arrive_once_and_in_order),
        cmocka_unit_test(stop_signals_are_counted),
        cmocka_unit_test(a_turn_runs_what_was_posted_and_nothing_else_is_left),
        cmocka_unit_test(the_inbox_has_a_ceiling),
    };
    return RUN(tests);
}
