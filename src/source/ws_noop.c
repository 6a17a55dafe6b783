/* SPDX-License-Identifier: MIT
 *
 * ws_noop.c - the work behind a judge that judges nothing.
 */
#include "source/ws_noop.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

struct job {
    struct job *next;
    struct tr_ws_task *task;
    int64_t due_us;
    char verdict[4];
    bool stopped;
};

struct tr_ws_noop {
    uv_timer_t timer;
    unsigned slots;
    int64_t delay_us;
    struct job *first, **last; /* in the order of their ends */
};

static void on_timer(uv_timer_t *timer);

static void arm(struct tr_ws_noop *n)
{
    if (!n->first)
        return;
    int64_t left_us = n->first->stopped ? 0 : n->first->due_us - tr_clock_mono_us();
    (void)uv_timer_start(&n->timer, on_timer, left_us > 0 ? (uint64_t)(left_us + 999) / 1000 : 0,
                         0);
}

static void end_first(struct tr_ws_noop *n)
{
    struct job *j = n->first;
    bool right = strcmp(j->verdict, "AC") == 0;
    char now[TR_TIME_TEXT];

    n->first = j->next;
    if (!n->first)
        n->last = &n->first;
    if (j->stopped)
        tr_ws_ended_stopped(j->task);
    else
        tr_ws_ended_result(j->task,
                           json_pack("{s:s, s:i, s:s, s:{s:s, s:i, s:i, s:i, s:i, s:[]}}", "status",
                                     "FINISHED", "score", right ? 100 : 0, "timestamp",
                                     tr_clock_text(tr_clock_real_us(), now), "result", "verdict",
                                     j->verdict, "accepted_test", right, "total_test", 1, "time_ms",
                                     0, "memory_kb", 0, "cases"));
    free(j);
}

static void on_timer(uv_timer_t *timer)
{
    struct tr_ws_noop *n = timer->data;
    int64_t now = tr_clock_mono_us();

    while (n->first && (n->first->stopped || n->first->due_us <= now))
        end_first(n);
    arm(n);
}

static int begin(void *arg, struct tr_ws_task *t, const struct tr_ws_job *job, struct tr_err *err)
{
    struct tr_ws_noop *n = arg;
    struct job *j = calloc(1, sizeof(*j));
    const char *says = strstr(job->task, "verdict:");

    if (!j)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory for a task");
    *j = (struct job){.task = t, .due_us = tr_clock_mono_us() + n->delay_us, .verdict = "AC"};
    if (says && strncmp(says, "verdict:WA", 10) == 0)
        memcpy(j->verdict, "WA", 3);
    *n->last = j;
    n->last = &j->next;
    arm(n);
    return 0;
}

static void cancel(void *arg, struct tr_ws_task *t)
{
    struct tr_ws_noop *n = arg;

    for (struct job **at = &n->first; *at; at = &(*at)->next) {
        struct job *j = *at;

        if (j->task != t)
            continue;
        j->stopped = true; /* told on the loop's next turn; to the front, where the timer looks */
        *at = j->next;
        if (!*at)
            n->last = at;
        j->next = n->first;
        n->first = j;
        if (!j->next)
            n->last = &j->next;
        break;
    }
    arm(n);
}

int tr_ws_noop_new(struct tr_loop *loop, unsigned slots, int64_t delay_us, struct tr_ws_noop **ret,
                   struct tr_err *err)
{
    struct tr_ws_noop *n = calloc(1, sizeof(*n));

    if (!n)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory for a judge");
    n->slots = slots;
    n->delay_us = delay_us;
    n->last = &n->first;
    (void)uv_timer_init(tr_loop_uv(loop), &n->timer);
    n->timer.data = n;
    *ret = n;
    return 0;
}

static void freed(uv_handle_t *timer)
{
    free(timer->data);
}

void tr_ws_noop_free(struct tr_ws_noop *n)
{
    if (!n)
        return;
    while (n->first) {
        struct job *j = n->first;

        n->first = j->next;
        free(j);
    }
    uv_close((uv_handle_t *)&n->timer, freed);
}

struct tr_ws_work tr_ws_noop_work(struct tr_ws_noop *n)
{
    return (struct tr_ws_work){.arg = n, .slots = n->slots, .begin = begin, .cancel = cancel};
}
