/* SPDX-License-Identifier: MIT
 *
 * serve_children.c - see serve_children.h.
 */
#include "cli/serve_children.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"

enum {
    STOP_US = 15000000,
    AGAIN_US = 1000000 /* a child that dies at once is not restarted in a circle */
};

struct child *child_add(struct children *s, const char *name)
{
    assert(s->count < CHILDREN_MAX);
    struct child *c = &s->list[s->count++];

    (void)snprintf(c->name, sizeof(c->name), "%s", name);
    return c;
}

void child_arg(struct child *c, const char *word)
{
    size_t n = 0;

    while (c->argv[n])
        n++;
    if (n + 1 < CHILD_ARGS_MAX && word)
        c->argv[n] = strdup(word);
}

void child_pair(struct child *c, const char *name, const char *value)
{
    if (!value)
        return;
    child_arg(c, name);
    child_arg(c, value);
}

static void start_child(struct child *c)
{
    pid_t parent = getpid();
    sigset_t none;

    (void)fflush(NULL);
    c->started_us = tr_clock_mono_us();
    c->pid = fork();
    if (c->pid != 0)
        return;
    /* Whatever happens to us, no child stays behind. */
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(1);
    (void)setpgid(0, 0); /* Ctrl-C is ours to hand on, in order */
    (void)sigemptyset(&none);
    (void)pthread_sigmask(SIG_SETMASK, &none, NULL);
    if (c->run) {
        c->run(c->arg);
        _exit(0);
    }
    (void)execv(c->argv[0], c->argv);
    (void)fprintf(stderr, "tribunal serve: cannot start '%s': %s\n", c->argv[0],
                  strerrordesc_np(errno));
    _exit(127);
}

void children_reap(struct children *s, bool stopping)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        for (size_t i = 0; i < s->count; i++) {
            struct child *c = &s->list[i];

            if (c->pid != pid)
                continue;
            c->pid = 0;
            c->ends++;
            c->code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
            struct tr_log_field f = {.key = "child", .value = c->name};
            if (!stopping)
                tr_log(TR_LOG_WARN, &f, "ended (%s %d); starting it again",
                       WIFSIGNALED(status) ? "signal" : "code",
                       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
        }
}

void children_start(struct children *s)
{
    int64_t now = tr_clock_mono_us();

    for (size_t i = 0; i < s->count; i++) {
        struct child *c = &s->list[i];

        if (c->pid == 0 && (c->started_us == 0 || now - c->started_us > AGAIN_US))
            start_child(c);
    }
}

static bool any_running(const struct children *s, size_t from)
{
    for (size_t i = from; i < s->count; i++)
        if (s->list[i].pid > 0)
            return true;
    return false;
}

static void signal_from(const struct children *s, size_t from, int number)
{
    for (size_t i = from; i < s->count; i++)
        if (s->list[i].pid > 0)
            (void)kill(s->list[i].pid, number);
}

static void wait_for_end(struct children *s, size_t from, const sigset_t *set)
{
    int64_t until = tr_clock_mono_us() + STOP_US;
    const struct timespec step = {.tv_nsec = 100000000};

    while (any_running(s, from) && tr_clock_mono_us() < until) {
        int n = sigtimedwait(set, NULL, &step);

        if (n == SIGINT || n == SIGTERM) /* twice: now */
            break;
        children_reap(s, true);
    }
    signal_from(s, from, SIGKILL);
    while (any_running(s, from)) {
        (void)sigtimedwait(set, NULL, &step);
        children_reap(s, true);
    }
}

void children_stop(struct children *s, const sigset_t *set)
{
    signal_from(s, 1, SIGTERM);
    wait_for_end(s, 1, set);
    signal_from(s, 0, SIGTERM);
    wait_for_end(s, 0, set);
}

void children_done(struct children *s)
{
    for (size_t i = 0; i < s->count; i++)
        for (size_t k = 0; k < CHILD_ARGS_MAX; k++)
            free(s->list[i].argv[k]);
}
