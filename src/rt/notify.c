/* SPDX-License-Identifier: MIT
 *
 * notify.c - datagrams to the socket in NOTIFY_SOCKET, as sd_notify(3) describes them.
 *
 * The watchdog's timer runs on the loop it vouches for: a loop that hangs falls silent.
 */
#include "rt/notify.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/parse.h"

enum {
    TEXT_MAX = 512
};

static void say(const char *text)
{
    const char *path = secure_getenv("NOTIFY_SOCKET");
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    size_t len = path ? strlen(path) : 0;

    if (len < 2 || len >= sizeof(to.sun_path) || (path[0] != '/' && path[0] != '@'))
        return;
    memcpy(to.sun_path, path, len);
    if (path[0] == '@')
        to.sun_path[0] = '\0'; /* an abstract name */
    tr_autoclose int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
    (void)sendto(fd, text, strlen(text), MSG_NOSIGNAL, (struct sockaddr *)&to, size);
}

/* Is the watchdog meant for this process, and how often does it want to hear of us? */
static int64_t watchdog_us(void)
{
    const char *usec = secure_getenv("WATCHDOG_USEC"), *pid = secure_getenv("WATCHDOG_PID");
    int64_t us = 0, who = getpid();

    if (!usec || tr_parse_i64(usec, 1, INT64_MAX, &us, NULL) < 0)
        return 0;
    if (pid && (tr_parse_i64(pid, 1, INT32_MAX, &who, NULL) < 0 || who != getpid()))
        return 0;
    return us;
}

static void on_timer(uv_timer_t *timer)
{
    (void)timer;
    say("WATCHDOG=1");
}

void tr_notify_ready(struct tr_loop *l, const char *status)
{
    static uv_timer_t timer; /* one program, one watchdog */
    char text[TEXT_MAX];
    int64_t us = watchdog_us();

    (void)snprintf(text, sizeof(text), "READY=1\nSTATUS=%.400s\n", status);
    say(text);
    if (us == 0)
        return;
    uint64_t every_ms = us / 2000 > 0 ? (uint64_t)us / 2000 : 1;
    (void)uv_timer_init(tr_loop_uv(l), &timer);
    (void)uv_timer_start(&timer, on_timer, every_ms, every_ms);
    uv_unref((uv_handle_t *)&timer); /* it keeps nobody alive */
}

void tr_notify_status(const char *status)
{
    char text[TEXT_MAX];

    (void)snprintf(text, sizeof(text), "STATUS=%.400s\n", status);
    say(text);
}

void tr_notify_stopping(void)
{
    say("STOPPING=1\n");
}
