/* SPDX-License-Identifier: MIT
 *
 * interact.c - a program and an interactor that talk to each other.
 *
 * Direct pipes between two boxes, both on one core: a copying relay, or two cores, make each
 * message several times slower.
 *
 * Who ended first decides where both have something to say, but microseconds cannot be trusted on a
 * busy machine: one dies of the other's end. So causes come first, and the clock only where one was
 * earlier by far:
 *
 *   the interactor failed            JE, unless the program broke a limit or crashed by a signal
 *   the interactor says wrong        a limit or a crash of the program counts, unless it came long
 *                                    after the interactor's end; a broken pipe or a bad exit code
 * is what the end of the talk does to a program, and is WA the interactor says right        the
 * program's own failure counts, if any
 *
 * A program that waits while the interactor waits too is idle: it is stopped and that is said
 * (ILE). One that waits for an interactor at work is not.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "judge/judge_private.h"

enum {
    SIGPIPE_NUMBER = 13,
    LONG_US = 50000 /* more than a busy machine's scheduler delays a supervisor */
};

static void interactor_spec(const struct check *c, const struct program *p, int cpu,
                            struct tbox_spec *spec)
{
    *spec = (struct tbox_spec){
        .size = sizeof(*spec),
        .argv = c->argv,
        .env = c->helper->lang.env.count ? c->helper->lang.env.words : NULL,
        .fd = {-1, -1, c->err_fd},
        .cpu = cpu,
        .flags = TBOX_KEEP_FILES,
    };
    tbox_limits_default(TBOX_CHECKER, &spec->limits);
    /* It must outlive the program's own limits, or its end would be taken for the program's fault.
     */
    spec->limits.cpu_us = p->limits.time_us + 10000000;
    spec->limits.wall_us = p->limits.wall_us + 10000000;
}

/* The program's failure is its own: nothing that the interactor did can have made it. */
static bool own_failure(const struct tr_case *ran, bool long_after)
{
    bool limit = ran->verdict == TR_V_TLE || ran->verdict == TR_V_MLE || ran->verdict == TR_V_OLE;
    bool crash = ran->verdict == TR_V_RTE && ran->facts.cause != TR_CAUSE_EXIT &&
                 ran->facts.signal != SIGPIPE_NUMBER;

    return (limit || crash) && !long_after;
}

static void decide(const struct tr_case *said, const struct tr_case *ran, bool long_after,
                   struct tr_case *ret)
{
    *ret = *ran;
    memcpy(ret->message, said->message, said->message_len);
    ret->message_len = said->message_len;
    if (own_failure(ran, long_after))
        return;
    if (ran->verdict != TR_V_AC && said->verdict == TR_V_AC)
        return;
    ret->verdict = said->verdict;
    ret->sub = said->sub;
    ret->share = said->share;
    if (said->verdict == TR_V_JE)
        memcpy(ret->note, said->note, sizeof(ret->note));
}

/* What the two get as their streams, [0] the program's; what is left open closes with the struct.
 */
struct ends {
    int in[2], out[2];
};

static void ends_done(struct ends *e)
{
    for (int i = 0; i < 2; i++) {
        tr_close(&e->in[i]);
        tr_close(&e->out[i]);
    }
}

static int direct_pipes(struct ends *e, struct tr_err *err)
{
    for (int i = 0; i < 2; i++) {
        int both[2];

        if (pipe2(both, O_CLOEXEC) < 0)
            return tr_fail(err, TR_E_IO, errno, "make a pipe");
        e->in[1 - i] = both[0];
        e->out[i] = both[1];
    }
    return 0;
}

/* Our ends are closed when this returns, so that each side sees the other's end. */
static int start_both(tbox *const boxes[2], struct tbox_spec specs[2], struct relay *relay,
                      int64_t began[2], struct tr_err *err)
{
    TR_CLEANUP(ends_done) struct ends e = {{-1, -1}, {-1, -1}};
    struct tbox_report dropped;
    int r = relay ? relay_open(relay, e.in, e.out, err) : direct_pipes(&e, err);

    for (int i = 0; i < 2; i++) {
        specs[i].fd[0] = e.in[i];
        specs[i].fd[1] = e.out[i];
        specs[i].flags |= TBOX_DIRECT_OUTPUT;
    }
    if (r < 0)
        return r;
    began[0] = tr_clock_mono_us();
    r = tbox_start(boxes[0], &specs[0], err);
    if (r < 0)
        return r;
    began[1] = tr_clock_mono_us();
    r = tbox_start(boxes[1], &specs[1], err);
    if (r < 0) {
        (void)tbox_kill(boxes[0], NULL);
        (void)tbox_wait(boxes[0], &dropped, NULL);
    }
    return r;
}

/* A talk going on. */
struct pair {
    tbox *const *boxes;
    const struct talk *talk;
    struct tbox_report *reports;
    bool done[2];
    bool idle; /* both waited, and were stopped for it */
};

/* Neither will ever go on: each waits, or is gone. Word of it is late by a quarter, so that one who
 * was woken a moment ago is not taken for waiting. */
static bool stuck(const struct pair *p)
{
    int64_t enough = p->talk->idle_us + p->talk->idle_us / 4;

    return !p->done[0] && tbox_idle_us(p->boxes[0]) >= enough &&
           (p->done[1] || tbox_idle_us(p->boxes[1]) >= enough);
}

static int end_both(struct pair *p, struct tr_err *err)
{
    int r = 0;

    p->idle = true;
    for (int i = 0; r == 0 && i < 2; i++)
        r = p->done[i] ? 0 : tbox_kill(p->boxes[i], err);
    return r;
}

static int wait_once(struct pair *p, struct tr_err *err)
{
    struct pollfd fds[4];
    nfds_t n = 2;

    for (int i = 0; i < 2; i++)
        fds[i] = (struct pollfd){.fd = p->done[i] ? -1 : tbox_fd(p->boxes[i]), .events = POLLIN};
    if (p->talk->relay) {
        relay_poll(p->talk->relay, fds + 2);
        n = 4;
    }
    if (poll(fds, n, LOOK_MS) < 0)
        return errno == EINTR ? 0 : tr_fail(err, TR_E_IO, errno, "wait for the boxes");
    if (p->talk->relay)
        relay_step(p->talk->relay, fds + 2);
    for (int i = 0; i < 2; i++) {
        int r = fds[i].revents ? tbox_step(p->boxes[i], &p->reports[i], err) : 0;

        if (r < 0)
            return r;
        p->done[i] = p->done[i] || r == 1;
    }
    return 0;
}

/* To the end of both. After an error the caller throws both boxes away. */
static int wait_both(struct pair *p, struct tr_err *err)
{
    while (!p->done[0] || !p->done[1]) {
        int r = stop_asked(p->talk->events) ? stopped(err) : wait_once(p, err);

        if (r == 0 && !p->idle && stuck(p))
            r = end_both(p, err);
        if (r < 0)
            return r;
    }
    return 0;
}

int stage_interact(struct check *c, const struct talk *t, struct tr_case *ret, struct tr_err *err)
{
    const struct program *p = t->program;
    struct tr_case ran = {.verdict = TR_V_NONE}, said = {.verdict = TR_V_NONE};
    tbox *const boxes[2] = {t->box, c->box};
    struct tbox_report reports[2] = {{.cause = TBOX_EXIT}, {.cause = TBOX_EXIT}};
    struct tbox_spec specs[2];
    struct pair pair = {.boxes = boxes, .talk = t, .reports = reports};
    int64_t began[2] = {0, 0};
    int r = tbox_put(c->box, c->input, "input", 0444, err);

    if (r == 0 && c->answer >= 0)
        r = tbox_put(c->box, c->answer, "answer", 0444, err);
    if (r < 0)
        return r;
    program_spec(p, &specs[0]);
    specs[0].cpu = t->cpu;
    specs[0].fd[2] = t->errfd;
    interactor_spec(c, p, t->cpu, &specs[1]);
    specs[0].idle_us = specs[1].idle_us = t->idle_us;
    r = start_both(boxes, specs, t->relay, began, err);
    if (r == 0)
        r = wait_both(&pair, err);
    if (r < 0)
        return r;
    bool long_after = began[1] + reports[1].wall_us + LONG_US < began[0] + reports[0].wall_us;

    r = run_verdict(p, &p->limits, &reports[0], pair.idle, t->errfd, &ran, err);
    if (r == 0)
        r = checker_words(c, &reports[1], &said, err);
    if (r < 0)
        return r;
    if (reports[1].cause == TBOX_SIGNAL && reports[1].signal == SIGPIPE_NUMBER) {
        /* It wrote to somebody who had left: no fault of its own, and no answer either. */
        said = (struct tr_case){.verdict = TR_V_WA};
        (void)snprintf(ran.note + strlen(ran.note), sizeof(ran.note) - strlen(ran.note),
                       "%sit left before the interactor was done", ran.note[0] ? "; " : "");
    }
    decide(&said, &ran, long_after, ret);
    return 0;
}
