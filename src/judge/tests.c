/* SPDX-License-Identifier: MIT
 *
 * tests.c - run the tests, several at once, and report what a serial run would report.
 *
 * One thread, one poll loop: a lane is a box for the program and one for the checker, and walks
 * idle -> running -> checking -> idle. Tests start in order; one that a known result makes
 * pointless is not started, and what was started too much is settled away at the end
 * (model/score.c), so the number of lanes never shows in the result.
 * A test that has to be run again (again.c) waits until no other one runs.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "judge/compare.h"
#include "judge/judge_private.h"

enum {
    SURE_TLE = 2 /* confirmed time limits after which further ones are believed at once */
};

enum lane_state {
    IDLE,
    WAITING, /* to run again, when nobody else runs */
    RUNNING,
    CHECKING
};

struct lane {
    enum lane_state state;
    size_t test;
    tbox *run_box, *check_box;
    int cpu;
    int64_t wall_us; /* the limit of this run: longer when the one before was starved */
    bool idle;       /* stopped because it waited */
    int input, answer;
    int out, errfd;           /* the program's */
    int check_out, check_err; /* the checker's */
    struct tr_case now, best;
    struct check check;
};

struct tests {
    struct tr_judge *j;
    const struct tests_job *job;
    struct tr_arena *arena;
    struct tr_case *cases;
    struct lane lanes[TR_JUDGE_JOBS_MAX];
    size_t nlanes;
    size_t next;
    unsigned sure_tle;
    struct tr_err *err;
};

/* ---- files of a test */

static int open_piece(struct tests *t, const char *path, const char *text, size_t len, int *ret)
{
    uint64_t size = 0;

    if (text)
        return memory_file("test", text, len, ret, t->err);
    int fd = tr_fs_open_regular(t->job->dirfd, path, INT64_MAX, &size, t->err);
    if (fd < 0)
        return tr_fail_wrap(t->err, "the test's file '%s'", path);
    *ret = fd;
    return 0;
}

static int open_test(struct tests *t, struct lane *l)
{
    const struct tr_test *test = &t->job->problem->tests[l->test];
    int r = open_piece(t, test->input, test->input_text, test->input_len, &l->input);

    if (r == 0 && (test->answer || test->answer_text))
        r = open_piece(t, test->answer, test->answer_text, test->answer_len, &l->answer);
    return r;
}

static void close_test(struct lane *l)
{
    tr_close(&l->input);
    tr_close(&l->answer);
}

static int empty(struct tests *t, int fd)
{
    if (ftruncate(fd, 0) < 0 || lseek(fd, 0, SEEK_SET) < 0)
        return tr_fail(t->err, TR_E_IO, errno, "empty a memory file");
    return 0;
}

/* ---- lanes */

static int lane_open(struct tests *t, struct lane *l, unsigned i)
{
    const struct program *p = t->job->program;
    const struct helper *h = t->job->interactor ? t->job->interactor : t->job->checker;

    *l = (struct lane){
        .input = -1, .answer = -1, .out = -1, .errfd = -1, .check_out = -1, .check_err = -1};
    l->cpu = t->j->o.cpus ? t->j->o.cpus[i] : -1;
    if (l->cpu < 0 && t->job->interactor)
        l->cpu = sched_getcpu(); /* any one will do, as long as both sides share it */
    int r = boxes_get(t->j->boxes, TBOX_RUN, p->root, i, &l->run_box, t->err);
    if (r == 0)
        r = tbox_put(l->run_box, p->artifact, p->lang->artifact, 0555, t->err);
    if (r == 0)
        r = empty_memory_file("stdout", &l->out, t->err);
    if (r == 0)
        r = empty_memory_file("stderr", &l->errfd, t->err);
    if (r < 0 || !h)
        return r;
    r = boxes_get(t->j->boxes, TBOX_CHECKER, h->root, i, &l->check_box, t->err);
    if (r == 0)
        r = tbox_put(l->check_box, h->artifact, h->lang.artifact, 0555, t->err);
    if (r == 0)
        r = empty_memory_file("checker stdout", &l->check_out, t->err);
    if (r == 0)
        r = empty_memory_file("checker stderr", &l->check_err, t->err);
    return r;
}

static void lane_close(struct lane *l)
{
    close_test(l);
    tr_close(&l->out);
    tr_close(&l->errfd);
    tr_close(&l->check_out);
    tr_close(&l->check_err);
}

/* ---- one test through its states */

static int settle(struct tests *t, struct lane *l);

/* What the compiler made, or the command of a task, is no program: the submission's doing. */
static void cannot_start(struct lane *l, const struct tr_err *why)
{
    l->now = (struct tr_case){.verdict = TR_V_RTE};
    (void)snprintf(l->now.note, sizeof(l->now.note), "it cannot be started: %.200s", why->msg);
}

static int start_run(struct tests *t, struct lane *l)
{
    struct tbox_spec spec;
    int r = empty(t, l->out);

    if (r == 0)
        r = empty(t, l->errfd);
    if (r < 0)
        return r;
    l->now = (struct tr_case){.verdict = TR_V_NONE};
    program_spec(t->job->program, &spec);
    spec.fd[0] = l->input;
    spec.fd[1] = l->out;
    spec.fd[2] = l->errfd;
    spec.cpu = l->cpu;
    spec.idle_us = t->j->o.idle_us;
    l->idle = false;
    /* A program that got no CPU has the clock against it through no fault of its own. */
    if (l->best.runs > 0 && l->best.disturbed)
        spec.limits.wall_us <<= l->best.runs;
    l->wall_us = spec.limits.wall_us;
    if (lseek(l->input, 0, SEEK_SET) < 0)
        return tr_fail(t->err, TR_E_IO, errno, "rewind the input");
    r = tbox_start(l->run_box, &spec, t->err);
    if (r == 0)
        l->state = RUNNING;
    return r;
}

static void fill_check(struct tests *t, struct lane *l, const struct helper *h)
{
    const struct tr_test *test = &t->job->problem->tests[l->test];

    l->check = (struct check){
        .helper = h,
        .box = l->check_box,
        .input = l->input,
        .output = l->out,
        .answer = l->answer,
        .full_points = test->points,
        .args = test->args ? (const char *const *)test->args : h->args,
        .out_fd = l->check_out,
        .err_fd = l->check_err,
    };
    const struct tr_group *g = &t->job->problem->groups[test->group];
    if (g->rule == TR_GROUP_MIN)
        l->check.full_points = g->points;
}

/* Both sides at once and to the end: an interactive test blocks the loop, and so runs alone. */
static int run_interactive(struct tests *t, struct lane *l)
{
    TR_CLEANUP(relay_done) struct relay relay = {.ways = {{-1, -1}, {-1, -1}}};
    fill_check(t, l, t->job->interactor);
    l->check.output = -1;
    l->check.argv = checker_argv(&l->check, t->arena);
    if (!l->check.argv)
        return tr_fail(t->err, TR_E_NOMEM, 0, "no memory for the interactor's arguments");
    struct talk talk = {.program = t->job->program,
                        .box = l->run_box,
                        .errfd = l->errfd,
                        .cpu = l->cpu,
                        .idle_us = t->j->o.idle_us,
                        .relay = t->job->events->transcript ? &relay : NULL,
                        .events = t->job->events};
    int r = empty(t, l->check_err);
    if (r == 0)
        r = empty(t, l->errfd);
    if (r == 0)
        r = stage_interact(&l->check, &talk, &l->now, t->err);
    if (r < 0)
        return r;
    if (talk.relay) {
        size_t len = 0;
        const char *text = relay_text(&relay, &len);

        t->job->events->transcript(t->job->events->arg, l->test, text, len);
    }
    return settle(t, l);
}

static int begin(struct tests *t, struct lane *l)
{
    return t->job->interactor ? run_interactive(t, l) : start_run(t, l);
}

/* The program ended well: is its output right? */
static int judge_output(struct tests *t, struct lane *l)
{
    if (t->job->checker) {
        fill_check(t, l, t->job->checker);
        int r = checker_start(&l->check, t->arena, t->err);
        if (r == 0)
            l->state = CHECKING;
        return r;
    }
    struct tr_bytes got = {.fd = l->out}, want = {.fd = l->answer};
    const struct tr_compare *own = t->job->problem->tests[l->test].compare;
    int r = tr_compare_run(own ? own : &t->job->problem->compare, got, want, &l->now.verdict,
                           &l->now.sub, &l->now.diff, t->err);
    if (r < 0)
        return r;
    l->now.share = l->now.verdict == TR_V_AC ? TR_SHARE_FULL : 0;
    return settle(t, l);
}

static int run_ended(struct tests *t, struct lane *l, const struct tbox_report *report)
{
    struct tr_limits limits = t->job->program->limits;

    limits.wall_us = l->wall_us;
    int r = run_verdict(t->job->program, &limits, report, l->idle, l->errfd, &l->now, t->err);
    if (r < 0)
        return r;
    if (l->now.verdict == TR_V_AC)
        return judge_output(t, l);
    return settle(t, l);
}

static int check_ended(struct tests *t, struct lane *l, const struct tbox_report *report)
{
    int r = checker_finish(&l->check, report, &l->now, t->err);

    return r < 0 ? r : settle(t, l);
}

/* A run of the test is over: again, or done with it. */
static int settle(struct tests *t, struct lane *l)
{
    const struct tr_judge_events *e = t->job->events;

    again_keep(&l->now, &l->best);
    if (again_wanted(&t->job->program->limits, &l->now, &l->best, t->sure_tle >= SURE_TLE)) {
        l->state = WAITING;
        return 0;
    }
    t->sure_tle += l->best.verdict == TR_V_TLE && l->best.runs > 1;
    again_note(&l->best);
    t->cases[l->test] = l->best;
    if (e->output)
        e->output(e->arg, l->test, l->out, l->errfd);
    if (e->ended)
        e->ended(e->arg, l->test, &t->cases[l->test]);
    close_test(l);
    l->state = IDLE;
    return 0;
}

/* ---- the loop */

static size_t busy(const struct tests *t)
{
    size_t n = 0;

    for (size_t i = 0; i < t->nlanes; i++)
        n += t->lanes[i].state == RUNNING || t->lanes[i].state == CHECKING;
    return n;
}

static struct lane *in_state(struct tests *t, enum lane_state s)
{
    for (size_t i = 0; i < t->nlanes; i++) {
        if (t->lanes[i].state == s)
            return &t->lanes[i];
    }
    return NULL;
}

/* Start whatever may start now. */
static int feed(struct tests *t)
{
    struct lane *again = in_state(t, WAITING);

    if (again)
        return busy(t) == 0 ? begin(t, again) : 0;
    for (;;) {
        struct lane *l = in_state(t, IDLE);

        while (t->next < t->job->problem->ntests &&
               tr_score_skips(t->job->problem, t->cases, t->next))
            t->next++;
        if (!l || t->next == t->job->problem->ntests || in_state(t, WAITING))
            return 0;
        l->test = t->next++;
        l->best = (struct tr_case){0};
        int r = open_test(t, l);
        if (r == 0 && t->job->events->started)
            t->job->events->started(t->job->events->arg, l->test);
        if (r == 0)
            r = begin(t, l);
        if (r < 0)
            return r;
    }
}

static bool no_program(int code)
{
    return code == TR_E_NOTFOUND || code == TR_E_DENIED || code == TR_E_PARSE;
}

static int step(struct tests *t, struct lane *l)
{
    struct tr_err why = TR_ERR_INIT;
    struct tbox_report report;
    tbox *box = l->state == RUNNING ? l->run_box : l->check_box;
    int r = tbox_step(box, &report, &why);

    if (l->state == RUNNING && no_program(r)) {
        cannot_start(l, &why);
        return settle(t, l);
    }
    if (r < 0)
        *t->err = why;
    if (r <= 0)
        return r;
    return l->state == RUNNING ? run_ended(t, l, &report) : check_ended(t, l, &report);
}

static int wait_for_some(struct tests *t)
{
    struct pollfd fds[TR_JUDGE_JOBS_MAX];

    for (size_t i = 0; i < t->nlanes; i++) {
        const struct lane *l = &t->lanes[i];
        bool active = l->state == RUNNING || l->state == CHECKING;

        fds[i] = (struct pollfd){
            .fd = active ? tbox_fd(l->state == RUNNING ? l->run_box : l->check_box) : -1,
            .events = POLLIN};
    }
    if (poll(fds, t->nlanes, LOOK_MS) < 0 && errno != EINTR)
        return tr_fail(t->err, TR_E_IO, errno, "wait for the boxes");
    for (size_t i = 0; i < t->nlanes; i++) {
        int r = fds[i].revents ? step(t, &t->lanes[i]) : 0;
        if (r < 0)
            return r;
    }
    return 0;
}

/* Nobody will ever answer a program whose input is a file: one that waits is stopped. */
static int stop_idle(struct tests *t)
{
    for (size_t i = 0; i < t->nlanes; i++) {
        struct lane *l = &t->lanes[i];

        if (l->state != RUNNING || l->idle || tbox_idle_us(l->run_box) == 0)
            continue;
        l->idle = true;
        int r = tbox_kill(l->run_box, t->err);
        if (r < 0)
            return r;
    }
    return 0;
}

static int loop(struct tests *t)
{
    const struct tr_judge_events *e = t->job->events;

    for (;;) {
        if (stop_asked(e))
            return stopped(t->err);
        int r = feed(t);
        if (r < 0)
            return r;
        if (busy(t) == 0) {
            if (!in_state(t, WAITING) && t->next == t->job->problem->ntests)
                return 0;
            continue;
        }
        r = wait_for_some(t);
        if (r == 0)
            r = stop_idle(t);
        if (r < 0)
            return r;
    }
}

/* After a fault a box may still run something: it is not worth keeping. */
static void abandon(struct tests *t)
{
    for (size_t i = 0; i < t->nlanes; i++) {
        struct lane *l = &t->lanes[i];

        if (l->run_box)
            boxes_drop(t->j->boxes, l->run_box);
        if (l->check_box)
            boxes_drop(t->j->boxes, l->check_box);
    }
}

int stage_tests(struct tr_judge *j, const struct tests_job *job, struct tr_arena *arena,
                struct tr_case *cases, struct tr_err *err)
{
    struct tests *t = tr_arena_alloc(arena, sizeof(*t));
    unsigned jobs = j->o.jobs ? j->o.jobs : 1;
    int r = 0;

    if (!t)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory for the tests");
    *t = (struct tests){.j = j, .job = job, .arena = arena, .cases = cases, .err = err};
    if (job->interactor)
        jobs = 1;
    if (jobs > job->problem->ntests)
        jobs = (unsigned)job->problem->ntests;
    for (unsigned i = 0; r == 0 && i < jobs; i++, t->nlanes++)
        r = lane_open(t, &t->lanes[i], i);
    if (r == 0)
        r = loop(t);
    if (r < 0)
        abandon(t);
    for (size_t i = 0; i < t->nlanes; i++)
        lane_close(&t->lanes[i]);
    return r;
}
