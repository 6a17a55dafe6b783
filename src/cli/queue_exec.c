/* SPDX-License-Identifier: MIT
 *
 * queue_exec.c - one job, one command.
 *
 * For commands that the operator chose; the payload is data for them and never part of the command
 * line. The command runs in a session of its own, so that stopping it stops what it started.
 */
#include "cli/queue_exec.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/spawn.h"

enum {
    RESULT_MAX = 65536,
    ERRORS_KEPT = 4096,
    KILL_AFTER_US = 4000000, /* from SIGTERM to SIGKILL; less than the worker's grace */
    EXIT_DEAD = 65 /* EX_DATAERR: it will never work. 75, EX_TEMPFAIL, is like any other */
};

struct command {
    struct tq_run *run;
    const struct tq_job *job;
    pid_t pid;
    int in, out, errs; /* our ends */
    size_t sent;
    struct tr_buf result, errors;
    int64_t kill_us; /* 0: not asked to stop */
};

static int make_pipe(int fds[2], struct tr_err *err)
{
    if (pipe2(fds, O_CLOEXEC) < 0)
        return tr_fail(err, TR_E_IO, errno, "pipe");
    return 0;
}

/* Our environment with the job's facts before it: the first of a name wins in a shell. */
static char **make_env(const struct tq_job *job, struct tr_buf *text)
{
    size_t n = 0, starts[6];

    while (environ[n])
        n++;
    tr_buf_init(text, 4096);
    const char *const words[6] = {"ID", "RUN_LEASE", "ATTEMPT", "MAX_ATTEMPTS", "QUEUE", "KIND"};
    const long long numbers[4] = {(long long)job->ref.id, (long long)job->ref.run_lease,
                                  job->attempts, job->max_attempts};
    for (int i = 0; i < 6; i++) {
        starts[i] = text->len;
        tr_buf_addf(text, "TRIBUNAL_JOB_%s=", words[i]);
        if (i < 4)
            tr_buf_addf(text, "%lld", numbers[i]);
        else
            tr_buf_adds(text, i == 4 ? job->queue : job->kind);
        tr_buf_addc(text, '\0');
    }
    char **env = calloc(n + 7, sizeof(*env));
    if (!env || text->failed)
        return env;
    for (size_t i = 0; i < 6; i++)
        env[i] = text->data + starts[i];
    memcpy(env + 6, environ, n * sizeof(*env));
    return env;
}

static int start(struct command *c, const char *command, struct tr_err *err)
{
    tr_autoclose int in0 = -1, out1 = -1, err1 = -1;
    TR_CLEANUP(tr_buf_done) struct tr_buf text;
    int p[2];

    tr_autofree char **env = make_env(c->job, &text);
    if (!env)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory for the command");
    int r = make_pipe(p, err);
    if (r < 0)
        return r;
    in0 = p[0];
    c->in = p[1];
    if ((r = make_pipe(p, err)) < 0)
        return r;
    c->out = p[0];
    out1 = p[1];
    if ((r = make_pipe(p, err)) < 0)
        return r;
    c->errs = p[0];
    err1 = p[1];
    (void)fcntl(c->in, F_SETFL, O_NONBLOCK);
    tr_autofree char *copy = strdup(command);
    if (!copy)
        return tr_fail(err, TR_E_NOMEM, 0, "no memory for the command");
    char *argv[] = {(char[]){"/bin/sh"}, (char[]){"-c"}, copy, NULL};
    struct tr_spawn_fd fds[] = {{in0, 0}, {out1, 1}, {err1, 2}};
    struct tr_spawn what = {.path = "/bin/sh",
                            .argv = argv,
                            .envp = env,
                            .fds = fds,
                            .nfds = 3,
                            .cwd = AT_FDCWD,
                            .new_session = true};
    return tr_spawn(&what, &c->pid, NULL, err);
}

static void send_payload(struct command *c)
{
    ssize_t n =
        write(c->in, (const char *)c->job->payload + c->sent, c->job->payload_len - c->sent);

    if (n > 0)
        c->sent += (size_t)n;
    if ((n < 0 && errno != EAGAIN && errno != EINTR) || c->sent == c->job->payload_len)
        tr_close(&c->in); /* it need not read all of it */
}

static void take_output(int *fd, struct tr_buf *into, bool keep_tail)
{
    char bytes[4096];
    ssize_t n = read(*fd, bytes, sizeof(bytes));

    if (n < 0 && errno == EINTR)
        return;
    if (n <= 0) {
        tr_close(fd);
        return;
    }
    if (keep_tail) {
        (void)!write(STDERR_FILENO, bytes, (size_t)n); /* people look there */
        if (into->len + (size_t)n > ERRORS_KEPT)
            tr_buf_eat(into, into->len + (size_t)n - ERRORS_KEPT < into->len
                                 ? into->len + (size_t)n - ERRORS_KEPT
                                 : into->len);
    }
    size_t room = into->max - into->len;
    tr_buf_add(into, bytes, (size_t)n < room ? (size_t)n : room);
}

static void look_at_stop(struct command *c)
{
    int64_t now = tr_clock_mono_us();

    if (tq_run_stopped(c->run) == TQ_GO_ON)
        return;
    if (!c->kill_us) {
        (void)kill(-c->pid, SIGTERM);
        c->kill_us = now + KILL_AFTER_US;
    } else if (now >= c->kill_us) {
        (void)kill(-c->pid, SIGKILL);
    }
}

/* Feed and read until the command has closed its output, or is dead (something it left behind may
 * keep the pipes open). */
static int pump(struct command *c)
{
    int status = 0;

    for (;;) {
        struct pollfd p[4] = {{.fd = c->in, .events = POLLOUT},
                              {.fd = c->out, .events = POLLIN},
                              {.fd = c->errs, .events = POLLIN},
                              {.fd = c->kill_us ? -1 : tq_run_fd(c->run), .events = POLLIN}};
        bool closed = c->out < 0 && c->errs < 0;

        if (closed) /* nothing more to hear: it will end, or be told to */
            (void)poll(&p[3], 1, 20);
        else
            (void)poll(p, 4, 200);
        if (p[0].revents && c->in >= 0)
            send_payload(c);
        if (p[1].revents && c->out >= 0)
            take_output(&c->out, &c->result, false);
        if (p[2].revents && c->errs >= 0)
            take_output(&c->errs, &c->errors, true);
        look_at_stop(c);
        bool quiet = !p[1].revents && !p[2].revents;
        if ((quiet || closed) && waitpid(c->pid, &status, WNOHANG) == c->pid)
            return status;
    }
}

static void say_why(struct command *c, int status)
{
    char text[ERRORS_KEPT + 128];
    size_t from, end = c->errors.len;

    while (end > 0 && c->errors.data[end - 1] == '\n')
        end--;
    for (from = end; from > 0 && c->errors.data[from - 1] != '\n'; from--)
        ;
    int n = WIFSIGNALED(status)
                ? snprintf(text, sizeof(text), "killed by signal %d (SIG%s)", WTERMSIG(status),
                           sigabbrev_np(WTERMSIG(status)) ? sigabbrev_np(WTERMSIG(status)) : "?")
                : snprintf(text, sizeof(text), "exit status %d", WEXITSTATUS(status));
    if (end > from)
        n += snprintf(text + n, sizeof(text) - (size_t)n, ": %.*s", (int)(end - from),
                      c->errors.data + from);
    (void)tq_run_result(c->run, text, (size_t)n, NULL);
}

int queue_exec_handler(struct tq_run *run, const struct tq_job *job, void *user)
{
    struct command c = {.run = run, .job = job, .in = -1, .out = -1, .errs = -1};
    struct tr_err err = TR_ERR_INIT;

    tr_buf_init(&c.result, RESULT_MAX);
    tr_buf_init(&c.errors, ERRORS_KEPT);
    int r = start(&c, user, &err);
    if (r < 0) {
        (void)tq_run_result(run, err.msg, strlen(err.msg), NULL);
    } else {
        int status = pump(&c);
        int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;

        r = code == 0 ? 0 : code == EXIT_DEAD ? TQ_BURY : TQ_NACK;
        if (r)
            say_why(&c, status);
        else
            (void)tq_run_result(run, c.result.data, c.result.len, NULL);
    }
    tr_close(&c.in);
    tr_close(&c.out);
    tr_close(&c.errs);
    tr_buf_done(&c.result);
    tr_buf_done(&c.errors);
    return r;
}
