/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "unit.h"

static int64_t fixed(void *arg)
{
    return 0;
}

/* What was logged since the last call, as a text in a static buffer. */
static const char *logged(int fd)
{
    static char text[20000];
    off_t end = lseek(fd, 0, SEEK_CUR);
    ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

    assert_true(n >= 0 && n == end);
    text[n] = '\0';
    assert_int_equal(ftruncate(fd, 0), 0);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    return text;
}

static int setup(enum tr_log_format format, enum tr_log_level most)
{
    static const struct tr_clock clock = {.real_us = fixed, .mono_us = fixed};
    int fd = memfd_create("log", MFD_CLOEXEC);

    assert_true(fd >= 0);
    tr_clock_replace(&clock);
    tr_log_setup(fd, format, most);
    return fd;
}

static void text_lines_carry_inherited_fields_outer_first(void **state)
{
    tr_autoclose int fd = setup(TR_LOG_TEXT, TR_LOG_INFO);
    struct tr_log_field worker = {.key = "worker", .value = "w1"};
    struct tr_log_field submit = {.up = &worker, .key = "submit", .value = "a b"};

    tr_log(TR_LOG_WARN, &submit, "slow by %d ms", 5);
    assert_string_equal(logged(fd), "1970-01-01T00:00:00.000000Z warn  slow by 5 ms worker=w1 "
                                    "submit=\"a b\"\n");
}

static void json_lines_are_one_object(void **state)
{
    tr_autoclose int fd = setup(TR_LOG_JSON, TR_LOG_INFO);
    struct tr_log_field f = {.key = "submit", .value = "s\"1"};
    struct tr_err err = TR_ERR_INIT;

    tr_fail(&err, TR_E_LOST, 0, "not ours");
    tr_log_err(TR_LOG_ERROR, &f, &err);
    assert_string_equal(logged(fd),
                        "{\"ts\":\"1970-01-01T00:00:00.000000Z\",\"level\":\"error\",\"msg\":"
                        "\"not ours\",\"submit\":\"s\\\"1\",\"err\":\"lost\"}\n");
}

static void what_is_below_the_level_is_not_written(void **state)
{
    tr_autoclose int fd = setup(TR_LOG_TEXT, TR_LOG_WARN);

    tr_log(TR_LOG_INFO, NULL, "no");
    assert_string_equal(logged(fd), "");
}

static void hostile_text_cannot_forge_a_line_or_drive_a_terminal(void **state)
{
    tr_autoclose int fd = setup(TR_LOG_TEXT, TR_LOG_INFO);
    struct tr_log_field f = {.key = "name", .value = "x\n<3>fake \033[2J\xff\xc2\x9b"};

    tr_log(TR_LOG_INFO, &f, "%s", "a\nb\r\033]0;t\007");
    assert_string_equal(logged(fd),
                        "1970-01-01T00:00:00.000000Z info  a\\u000ab\\u000d\\u001b]0;t\\u0007 "
                        "name=\"x\\u000a<3>fake \\u001b[2J\xef\xbf\xbd\\u009b\"\n");
}

static void a_huge_value_is_cut_and_the_json_stays_whole(void **state)
{
    tr_autoclose int fd = setup(TR_LOG_JSON, TR_LOG_INFO);
    tr_autofree char *big = malloc(30001);

    memset(big, '\1', 30000);
    big[30000] = '\0';
    struct tr_log_field one = {.key = "one", .value = big};
    struct tr_log_field two = {.up = &one, .key = "two", .value = big};
    tr_log(TR_LOG_INFO, &two, "%s", big);
    const char *text = logged(fd);
    size_t len = strlen(text);
    assert_true(len <= 8192);
    assert_string_equal(text + len - 3, "\"}\n");
}

static void the_journal_gets_levels_and_no_clock(void **state)
{
    setenv("JOURNAL_STREAM", "1:2", 1);
    int saved = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    tr_autoclose int fd = memfd_create("log", MFD_CLOEXEC);
    assert_int_equal(dup2(fd, STDERR_FILENO), STDERR_FILENO);
    tr_log_setup(STDERR_FILENO, TR_LOG_TEXT, TR_LOG_INFO);
    tr_log(TR_LOG_ERROR, NULL, "disk full");
    assert_int_equal(dup2(saved, STDERR_FILENO), STDERR_FILENO);
    close(saved);
    unsetenv("JOURNAL_STREAM");
    assert_string_equal(logged(fd), "<3>disk full\n");
}

static void levels_have_four_words(void **state)
{
    enum tr_log_level l = TR_LOG_ERROR;

    assert_int_equal(tr_log_level_parse("debug", &l, NULL), 0);
    assert_int_equal(l, TR_LOG_DEBUG);
    assert_int_equal(tr_log_level_parse("loud", &l, NULL), TR_E_PARSE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_lines_carry_inherited_fields_outer_first),
        cmocka_unit_test(json_lines_are_one_object),
        cmocka_unit_test(what_is_below_the_level_is_not_written),
        cmocka_unit_test(hostile_text_cannot_forge_a_line_or_drive_a_terminal),
        cmocka_unit_test(a_huge_value_is_cut_and_the_json_stays_whole),
        cmocka_unit_test(the_journal_gets_levels_and_no_clock),
        cmocka_unit_test(levels_have_four_words),
    };
    return RUN(tests);
}
