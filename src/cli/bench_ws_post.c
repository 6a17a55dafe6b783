/* SPDX-License-Identifier: MIT
 *
 * bench_ws_post.c - the submitting side of `tribunal bench ws`: plain blocking HTTP, so that what
 * is measured is the controller and not a client library.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/parse.h"
#include "cli/bench_ws.h"

static int dial(int port)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    int one = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0)
        tr_close(&fd);
    if (fd >= 0)
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    return fd;
}

/* The status of one answer, its body read to the end; -1 when the connection broke. */
static int read_answer(int fd)
{
    char b[16384];
    size_t have = 0;
    const char *end = NULL;

    while (!end) {
        ssize_t n = have < sizeof(b) - 1 ? read(fd, b + have, sizeof(b) - 1 - have) : 0;

        if (n <= 0)
            return -1;
        have += (size_t)n;
        b[have] = '\0';
        end = strstr(b, "\r\n\r\n");
    }
    const char *length = strcasestr(b, "\r\ncontent-length:");
    int64_t body = 0, status = 0;
    char word[24] = "";

    if (!length || length > end || sscanf(length + 17, "%20s", word) != 1 ||
        tr_parse_i64(word, 0, 1 << 30, &body, NULL) < 0)
        return -1;
    size_t left = (size_t)(end + 4 - b) + (size_t)body;
    for (left = left > have ? left - have : 0; left > 0;) {
        char rest[4096];
        ssize_t n = read(fd, rest, left < sizeof(rest) ? left : sizeof(rest));

        if (n <= 0)
            return -1;
        left -= (size_t)n;
    }
    (void)snprintf(word, sizeof(word), "%.3s", b + 9);
    return tr_parse_i64(word, 100, 599, &status, NULL) < 0 ? -1 : (int)status;
}

static int post(int fd, int64_t number)
{
    char body[512], request[1024];
    int len =
        snprintf(body, sizeof(body),
                 "{\"submit_id\":\"b-%lld\",\"language\":\"python3\",\"code\":\"print(%lld)\","
                 "\"user\":\"u%lld\",\"problem\":{\"id\":1,\"title\":\"A\",\"time_limit\":1000,"
                 "\"memory_limit\":64,\"test_cases\":[{\"input\":\"\",\"expected_output\":"
                 "\"1\"}]}}",
                 (long long)number, (long long)number, (long long)(number % 16));
    int n = snprintf(request, sizeof(request),
                     "POST /api/v1/submissions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: "
                     "application/json\r\nContent-Length: %d\r\n\r\n%s",
                     len, body);

    if (tr_fs_write_all(fd, request, (size_t)n, NULL) < 0)
        return -1;
    return read_answer(fd);
}

static void *work(void *arg)
{
    struct ws_posts *p = arg;
    tr_autoclose int fd = dial(p->port);

    while (fd >= 0 && !p->failed) {
        int64_t i = p->next++;

        if (i >= p->count)
            return NULL;
        /* Asleep, not looking again and again: that would take the controller's CPU. */
        while (sem_wait(&p->room) < 0 && errno == EINTR) {
        }
        if (p->failed)
            break;
        p->posted_us[i] = tr_clock_mono_us();
        int status = post(fd, p->first + i);
        if (status != 201)
            p->failed = status;
    }
    if (fd < 0)
        p->failed = -1;
    return NULL;
}

int ws_posts_start(struct ws_posts *p, struct tr_err *err)
{
    if (sem_init(&p->room, 0, (unsigned)p->ahead) < 0)
        return tr_fail(err, TR_E_FATAL, errno, "sem_init");
    for (unsigned i = 0; i < p->threads; i++) {
        int r = pthread_create(&p->thread[i], NULL, work, p);

        if (r != 0)
            return tr_fail(err, TR_E_RETRY, r, "start a thread");
    }
    return 0;
}

void ws_posts_result(struct ws_posts *p)
{
    p->results++;
    (void)sem_post(&p->room);
}

void ws_posts_join(struct ws_posts *p)
{
    for (unsigned i = 0; p->failed && i < p->threads; i++)
        (void)sem_post(&p->room);
    for (unsigned i = 0; i < p->threads; i++)
        (void)pthread_join(p->thread[i], NULL);
    (void)sem_destroy(&p->room);
}
