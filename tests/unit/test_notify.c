/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "rt/notify.h"

/* A socket such as systemd's, abstract so that nothing is left behind. */
static int listen_as(const char *name)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    (void)snprintf(at.sun_path + 1, sizeof(at.sun_path) - 1, "%s", name + 1);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name));
    assert_int_equal(bind(fd, (struct sockaddr *)&at, size), 0);
    return fd;
}

static const char *heard(int fd)
{
    static char text[600];
    ssize_t n = recv(fd, text, sizeof(text) - 1, 0);

    text[n > 0 ? n : 0] = '\0';
    return text;
}

static void stop(uv_timer_t *timer)
{
    tr_loop_stop(timer->data);
}

static void says_ready_once_and_that_its_loop_turns(void **state)
{
    char name[64];
    struct tr_loop *loop = NULL;
    uv_timer_t end;

    (void)state;
    (void)snprintf(name, sizeof(name), "@tribunal-notify-%d", (int)getpid());
    int fd = listen_as(name);
    assert_int_equal(setenv("NOTIFY_SOCKET", name, 1), 0);
    assert_int_equal(setenv("WATCHDOG_USEC", "40000", 1), 0);
    assert_int_equal(tr_loop_new(&loop, NULL), 0);
    tr_notify_ready(loop, "judging");
    assert_string_equal(heard(fd), "READY=1\nSTATUS=judging\n");
    assert_string_equal(heard(fd), "");
    assert_int_equal(uv_timer_init(tr_loop_uv(loop), &end), 0);
    end.data = loop;
    assert_int_equal(uv_timer_start(&end, stop, 200, 0), 0);
    tr_loop_run(loop);
    assert_string_equal(heard(fd), "WATCHDOG=1");
    assert_string_equal(heard(fd), "WATCHDOG=1");
    while (*heard(fd)) {
    }
    tr_notify_stopping();
    assert_string_equal(heard(fd), "STOPPING=1\n");
    tr_loop_free(loop);
    (void)close(fd);
}

static void says_nothing_without_a_socket(void **state)
{
    (void)state;
    assert_int_equal(setenv("NOTIFY_SOCKET", "no path", 1), 0);
    tr_notify_status("x");
    assert_int_equal(unsetenv("NOTIFY_SOCKET"), 0);
    tr_notify_stopping();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_ready_once_and_that_its_loop_turns),
        cmocka_unit_test(says_nothing_without_a_socket),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
