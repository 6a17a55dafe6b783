/* SPDX-License-Identifier: MIT
 *
 * bench_gojudge.c - go-judge as a contender of `tribunal bench box`.
 *
 * It is a server with an interface over HTTP, so that is how it is asked: one connection that stays
 * open, one request for each run, the program named by its path on this machine.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/spawn.h"
#include "cli/bench_rivals.h"
#include "net/http.h"

enum {
    START_MAX_US = 10000000,
    LOOK_NS = 20000000,
    ANSWER_MAX = 65536
};

struct bench_gojudge {
    const struct bench_program *program;
    pid_t pid; /* of its server, in a session of its own */
    struct tr_http *http;
    char base[64]; /* http://127.0.0.1:port */
    char url[80];
    char *body; /* of every request */
    struct tr_buf answer;
};

/* Somebody could take it before the server does; then it says so and ends. */
static int free_port(unsigned *ret, struct tr_err *err)
{
    tr_autoclose int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(at);

    if (s < 0 || bind(s, (struct sockaddr *)&at, len) < 0 ||
        getsockname(s, (struct sockaddr *)&at, &len) < 0)
        return tr_fail(err, TR_E_IO, errno, "find a free port");
    *ret = ntohs(at.sin_port);
    return 0;
}

static int start(struct bench_gojudge *g, unsigned port, struct tr_err *err)
{
    const char *named = getenv("TRIBUNAL_GO_JUDGE"); /* NOLINT(concurrency-mt-unsafe) */
    tr_autoclose int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    const struct tr_spawn_fd fds[] = {{null, 0}, {null, 1}, {null, 2}};
    char words[][32] = {"-silent", "-parallelism=1"};
    char program[512];
    char address[64];
    char prefix[300];
    char *argv[] = {program, words[0], words[1], address, prefix, NULL};
    const struct tr_spawn what = {
        .argv = argv, .fds = fds, .nfds = 3, .cwd = g->program->dir, .new_session = true};

    (void)snprintf(program, sizeof(program), "%s", named && *named ? named : "go-judge");
    (void)snprintf(address, sizeof(address), "-http-addr=127.0.0.1:%u", port);
    (void)snprintf(prefix, sizeof(prefix), "-src-prefix=%s", g->program->path);
    int r = tr_spawn(&what, &g->pid, NULL, err);
    if (r == TR_E_NOTFOUND && named && *named)
        return tr_fail(err, TR_E_USAGE, 0, "TRIBUNAL_GO_JUDGE: there is no '%s'", named);
    return r;
}

/* Until it answers. */
static int await(struct bench_gojudge *g, struct tr_err *err)
{
    const struct timespec look = {.tv_nsec = LOOK_NS};
    int64_t deadline = tr_clock_mono_us() + START_MAX_US;
    const struct tr_http_request ask = {
        .method = "GET", .url = g->url, .body_fd = -1, .max_bytes = ANSWER_MAX};
    struct tr_http_reply reply;

    (void)snprintf(g->url, sizeof(g->url), "%s/version", g->base);
    while (tr_http_exchange(g->http, &ask, &reply, NULL) < 0 || reply.status != 200) {
        if (waitpid(g->pid, NULL, WNOHANG) == g->pid) {
            g->pid = 0;
            return tr_fail(err, TR_E_FATAL, 0, "go-judge ended while starting: try it by hand");
        }
        if (tr_clock_mono_us() > deadline)
            return tr_fail(err, TR_E_TIMEOUT, 0, "go-judge does not answer on %s", g->base);
        (void)nanosleep(&look, NULL);
    }
    (void)snprintf(g->url, sizeof(g->url), "%s/run", g->base);
    return 0;
}

/* The limits of the other contenders: 1 s, 256 MiB, 64 processes. */
static char *make_body(const struct bench_program *p)
{
    json_t *cmd =
        json_pack("{s:[{s:[s],s:[s],s:[{s:s},{s:s,s:i},{s:s,s:i}],s:I,s:I,s:i,s:{s:{s:s}}}]}",
                  "cmd", "args", "/w/prog", "env", "PATH=/usr/bin:/bin", "files", "content",
                  p->input ? p->input : "", "name", "stdout", "max", 10240, "name", "stderr", "max",
                  10240, "cpuLimit", (json_int_t)1000000000, "memoryLimit", (json_int_t)268435456,
                  "procLimit", 64, "copyIn", "prog", "src", p->path);
    char *text = cmd ? json_dumps(cmd, JSON_COMPACT) : NULL;

    json_decref(cmd);
    return text;
}

int bench_gojudge_open(const struct bench_program *p, struct bench_gojudge **ret,
                       struct tr_err *err)
{
    struct bench_gojudge *g = calloc(1, sizeof(*g));
    unsigned port = 0;

    *ret = NULL;
    if (!g)
        return tr_fail(err, TR_E_NOMEM, 0, "out of memory");
    g->program = p;
    tr_buf_init(&g->answer, ANSWER_MAX);
    g->body = make_body(p);
    int r = g->body ? free_port(&port, err) : tr_fail(err, TR_E_NOMEM, 0, "out of memory");
    if (r == 0)
        r = start(g, port, err);
    (void)snprintf(g->base, sizeof(g->base), "http://127.0.0.1:%u", port);
    if (r == 0)
        r = tr_http_new(&(struct tr_http_conf){.timeout_us = START_MAX_US}, &g->http, err);
    if (r == 0)
        r = await(g, err);
    if (r < 0) {
        bench_gojudge_close(g);
        return r == TR_E_NOTFOUND ? 0 : r;
    }
    *ret = g;
    return 0;
}

static int keep(void *arg, const void *bytes, size_t len, struct tr_err *err)
{
    struct bench_gojudge *g = arg;

    tr_buf_add(&g->answer, bytes, len);
    return tr_buf_check(&g->answer, "the answer of go-judge", err);
}

static int check(const struct bench_gojudge *g, struct tr_err *err)
{
    const char *status = "";
    const char *said = "";
    json_t *answer = json_loadb(g->answer.data ? g->answer.data : "", g->answer.len, 0, NULL);
    int r = answer && json_unpack(answer, "[{s:s,s?{s?s}}]", "status", &status, "files", "stdout",
                                  &said) == 0
                ? 0
                : TR_E_PARSE;

    if (r < 0)
        r = tr_fail(err, r, 0, "go-judge: no such answer is known: %.100s",
                    g->answer.data ? g->answer.data : "");
    else if (strcmp(status, "Accepted") != 0 || strcmp(said, g->program->output) != 0)
        r = tr_fail(err, TR_E_FATAL, 0, "go-judge: %s, printed '%.100s'", status, said);
    json_decref(answer);
    return r;
}

int bench_gojudge_run(struct bench_gojudge *g, struct tr_err *err)
{
    static const char *const headers[] = {"Content-Type: application/json"};
    const struct tr_http_sink sink = {.bytes = keep, .arg = g};
    const struct tr_http_request ask = {.method = "POST",
                                        .url = g->url,
                                        .headers = headers,
                                        .nheaders = 1,
                                        .body = g->body,
                                        .body_len = strlen(g->body),
                                        .body_fd = -1,
                                        .max_bytes = ANSWER_MAX,
                                        .sink = &sink};
    struct tr_http_reply reply;

    tr_buf_clear(&g->answer);
    int r = tr_http_exchange(g->http, &ask, &reply, err);
    if (r < 0)
        return r;
    if (reply.status != 200)
        return tr_fail(err, TR_E_FATAL, 0, "go-judge: status %d: %.200s", reply.status,
                       reply.problem);
    return check(g, err);
}

void bench_gojudge_close(struct bench_gojudge *g)
{
    int status = 0;

    if (!g)
        return;
    tr_http_free(g->http);
    if (g->pid > 0) { /* it removes its groups and containers on SIGTERM */
        (void)kill(g->pid, SIGTERM);
        (void)tr_spawn_wait(g->pid, &status, NULL);
    }
    free(g->body);
    tr_buf_done(&g->answer);
    free(g);
}
