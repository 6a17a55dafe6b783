/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/spawn.h"
#include "unit.h"

static void the_child_has_exactly_the_named_descriptors(void **state)
{
    tr_autoclose int leaky = open("/dev/null", O_RDONLY); /* NOLINT: not CLOEXEC on purpose */
    tr_autoclose int out = memfd_create("out", MFD_CLOEXEC);
    tr_autoclose int in = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    const struct tr_spawn_fd fds[] = {{in, out}, {out, in}, {out, 1}, {out, 2}};
    char script[] = "cd /proc/self/fd && echo *";
    char *argv[] = {(char[]){"sh"}, (char[]){"-c"}, script, NULL};
    struct tr_spawn what = {
        .path = "/bin/sh", .argv = argv, .fds = fds, .nfds = 4, .cwd = AT_FDCWD};
    pid_t pid = 0;
    int status = -1;
    char text[200] = {0};
    char want[200];

    assert_true(leaky >= 0);
    assert_int_equal(tr_spawn(&what, &pid, NULL, NULL), 0);
    assert_int_equal(tr_spawn_wait(pid, &status, NULL), 0);
    assert_int_equal(status, 0);
    assert_true(pread(out, text, sizeof(text) - 1, 0) > 0);
    /* 1, 2 and the two that were swapped; the shell has one open itself while it lists (it is 0,
     * the lowest that is free) or not at all, depending on the shell. */
    (void)snprintf(want, sizeof(want), "1 2 %d %d\n", out < in ? out : in, out < in ? in : out);
    const char *tail = text;
    if (strncmp(text, "0 ", 2) == 0)
        tail += 2;
    assert_string_equal(tail, want);
}

static void a_missing_program_is_told_apart_from_a_forbidden_one(void **state)
{
    struct tr_err err = TR_ERR_INIT;
    char *argv[] = {(char[]){"no-such-program-here"}, NULL};
    struct tr_spawn what = {.argv = argv, .cwd = AT_FDCWD};
    pid_t pid = 0;

    assert_int_equal(tr_spawn(&what, &pid, NULL, &err), TR_E_NOTFOUND);
    assert_non_null(strstr(err.msg, "start 'no-such-program-here'"));
    what.path = "/etc/passwd";
    assert_int_equal(tr_spawn(&what, &pid, NULL, &err), TR_E_DENIED);
}

static void a_repeated_target_is_refused(void **state)
{
    const struct tr_spawn_fd fds[] = {{0, 1}, {0, 1}};
    char *argv[] = {(char[]){"true"}, NULL};
    struct tr_spawn what = {.argv = argv, .fds = fds, .nfds = 2, .cwd = AT_FDCWD};
    pid_t pid = 0;

    assert_int_equal(tr_spawn(&what, &pid, NULL, NULL), TR_E_USAGE);
}

static void blocked_and_ignored_signals_do_not_reach_the_child(void **state)
{
    TR_CLEANUP(tr_buf_done) struct tr_buf out;
    char script[] = "kill -TERM $$; echo survived";
    char *argv[] = {(char[]){"sh"}, (char[]){"-c"}, script, NULL};
    sigset_t term;

    tr_buf_init(&out, 100);
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    sigprocmask(SIG_BLOCK, &term, NULL);
    int r = tr_spawn_capture(argv, 10000000, &out, NULL);
    sigprocmask(SIG_UNBLOCK, &term, NULL);
    assert_int_equal(r, TR_E_FATAL);
    assert_int_equal(out.len, 0);
}

static void output_is_captured_up_to_the_ceiling(void **state)
{
    TR_CLEANUP(tr_buf_done) struct tr_buf out;
    char script[] = "yes | head -c 100000; echo err >&2; exit 7";
    char *argv[] = {(char[]){"sh"}, (char[]){"-c"}, script, NULL};

    tr_buf_init(&out, 1000);
    assert_int_equal(tr_spawn_capture(argv, 10000000, &out, NULL), 7);
    assert_int_equal(out.len, 1000);
}

static void a_program_that_hangs_is_ended_with_its_children(void **state)
{
    TR_CLEANUP(tr_buf_done) struct tr_buf out;
    char script[] = "sleep 1000 & sleep 1000";
    char *argv[] = {(char[]){"sh"}, (char[]){"-c"}, script, NULL};

    tr_buf_init(&out, 1000);
    assert_int_equal(tr_spawn_capture(argv, 50000, &out, NULL), TR_E_TIMEOUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_child_has_exactly_the_named_descriptors),
        cmocka_unit_test(a_missing_program_is_told_apart_from_a_forbidden_one),
        cmocka_unit_test(a_repeated_target_is_refused),
        cmocka_unit_test(blocked_and_ignored_signals_do_not_reach_the_child),
        cmocka_unit_test(output_is_captured_up_to_the_ceiling),
        cmocka_unit_test(a_program_that_hangs_is_ended_with_its_children),
    };
    return RUN(tests);
}
