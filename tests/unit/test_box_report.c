/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "box/report.h"
#include "unit.h"

static struct box_wire_report quiet_report(void)
{
    struct box_wire_report r = {.cpu_us = 1000, .wall_us = 2000, .container_ok = 1};

    box_wire_head(&r.head, BOX_REPORT, sizeof(r), 0);
    return r;
}

/* One row: what was seen, and what must be said. Limits are the defaults of RUN. */
static void the_cause_comes_from_the_record_in_its_order(void **state)
{
    static const struct {
        const char *label;
        int status;
        enum tbox_cause ended_by;
        int64_t cpu_us;
        int64_t wall_us;
        uint64_t memory;
        uint32_t oom;
        uint32_t full;
        bool over;
        enum tbox_cause want;
    } rows[] = {
        {"plain end", 0, TBOX_EXIT, 1, 1, 1, 0, 0, false, TBOX_EXIT},
        {"exit code", 7 << 8, TBOX_EXIT, 1, 1, 1, 0, 0, false, TBOX_EXIT},
        {"own SIGKILL is no limit", 9, TBOX_EXIT, 1, 1, 1, 0, 0, false, TBOX_SIGNAL},
        {"own SIGXCPU is no limit", 24, TBOX_EXIT, 1, 1, 1, 0, 0, false, TBOX_SIGNAL},
        {"own SIGXFSZ is no limit", 25, TBOX_EXIT, 1, 1, 1, 0, 0, false, TBOX_SIGNAL},
        {"SIGXFSZ with a full file", 25, TBOX_EXIT, 1, 1, 1, 0, 1, false, TBOX_FILES},
        {"a full file alone", 0, TBOX_EXIT, 1, 1, 1, 0, 1, false, TBOX_EXIT},
        {"SIGSYS", 31, TBOX_EXIT, 1, 1, 1, 0, 0, false, TBOX_SYSCALL},
        {"killed for CPU", 9, TBOX_CPU, 1000001, 1, 1, 0, 0, false, TBOX_CPU},
        {"ended by itself over the limit", 0, TBOX_EXIT, 1000001, 1, 1, 0, 0, false, TBOX_CPU},
        {"at the limit", 0, TBOX_EXIT, 1000000, 1, 1, 0, 0, false, TBOX_EXIT},
        {"killed for wall", 9, TBOX_WALL, 1, 3000001, 1, 0, 0, false, TBOX_WALL},
        {"CPU before wall", 9, TBOX_WALL, 1000001, 3000001, 1, 0, 0, false, TBOX_CPU},
        {"output before CPU", 9, TBOX_CPU, 2000000, 1, 1, 0, 0, true, TBOX_OUTPUT},
        {"memory before output", 9, TBOX_OUTPUT, 1, 1, 1, 1, 0, true, TBOX_MEMORY},
        {"a child killed for memory, exit 0", 0, TBOX_EXIT, 1, 1, 1, 1, 0, false, TBOX_MEMORY},
        {"peak over the limit", 0, TBOX_EXIT, 1, 1, UINT64_C(256) << 21, 0, 0, false, TBOX_MEMORY},
        {"cancelled", 9, TBOX_CANCEL, 1, 1, 1, 0, 0, false, TBOX_CANCEL},
    };
    struct tbox_limits limits;

    tbox_limits_default(TBOX_RUN, &limits);
    for (size_t i = 0; i < TR_ARRAY_LEN(rows); i++) {
        struct box_wire_report in = quiet_report();
        struct box_seen seen = {.over_output = rows[i].over};
        struct tbox_report out;

        ROW(rows[i].label);
        in.status = rows[i].status;
        in.ended_by = rows[i].ended_by;
        in.cpu_us = rows[i].cpu_us;
        in.wall_us = rows[i].wall_us;
        in.memory_bytes = rows[i].memory;
        in.oom_kills = rows[i].oom;
        in.files_full = rows[i].full;
        assert_int_equal(box_report_read(&in, sizeof(in), NULL), 0);
        box_report_make(&in, &seen, &limits, &out);
        assert_string_equal(tbox_cause_name(out.cause), tbox_cause_name(rows[i].want));
        assert_true(out.note[0] != 0);
    }
}

static void a_forged_report_is_refused(void **state)
{
    struct box_wire_report r = quiet_report();

    assert_int_equal(box_report_read(&r, sizeof(r) - 1, NULL), TR_E_PARSE);
    r.status = 0x7f; /* stopped: not an end */
    assert_int_equal(box_report_read(&r, sizeof(r), NULL), TR_E_PARSE);
    r = quiet_report();
    r.cpu_us = -1;
    assert_int_equal(box_report_read(&r, sizeof(r), NULL), TR_E_PARSE);
    r = quiet_report();
    r.ended_by = 77;
    assert_int_equal(box_report_read(&r, sizeof(r), NULL), TR_E_PARSE);
    r = quiet_report();
    memset(r.note, 'x', sizeof(r.note));
    assert_int_equal(box_report_read(&r, sizeof(r), NULL), TR_E_PARSE);
}

static void json_escapes_its_note_and_never_overruns(void **state)
{
    struct tbox_report r = {.cause = TBOX_SIGNAL, .signal = 11};
    char out[2048];

    (void)snprintf(r.note, sizeof(r.note), "a \"quote\" \\ and \n and \x1b[31m");
    size_t n = tbox_report_json(&r, out, sizeof(out));
    assert_true(n == strlen(out));
    assert_non_null(strstr(out, "\"cause\":\"signal\""));
    assert_non_null(strstr(out, "\"signal_name\":\"SIGSEGV\""));
    assert_non_null(strstr(out, "a \\\"quote\\\" \\\\ and \\u000a and \\u001b[31m"));
    memset(r.note, 1, sizeof(r.note) - 1);
    r.note[sizeof(r.note) - 1] = 0;
    (void)tbox_report_json(&r, out, sizeof(out));
    assert_int_equal(out[strlen(out) - 1], '}');
    assert_true(tbox_report_json(&r, out, 10) > 10);
    assert_int_equal(strlen(out), 9);
}

static void messages_carry_descriptors_and_surplus_ones_are_closed(void **state)
{
    int ends[2];
    int fds[BOX_WIRE_FDS];
    struct box_wire_head m;
    struct box_wire_head got;

    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    box_wire_head(&m, BOX_CLEAN, sizeof(m), 5);
    const int two[] = {0, 1};
    assert_int_equal(box_wire_send(ends[0], &m, sizeof(m), two, 2, NULL), 0);
    assert_int_equal(box_wire_recv(ends[1], &got, sizeof(got), fds, 0, NULL), sizeof(m));
    assert_int_equal(box_wire_check(&got, sizeof(got), BOX_CLEAN, sizeof(got), NULL), 0);
    assert_true(fds[0] > 2 && fds[1] > 2 && fds[2] == -1);
    assert_true(fcntl(fds[0], F_GETFD) == FD_CLOEXEC);
    tr_close(&fds[0]);
    tr_close(&fds[1]);
    /* A message longer than the room is an error, not a short read. */
    char longer[sizeof(m) + 1] = {0};
    assert_int_equal(box_wire_send(ends[0], longer, sizeof(longer), two, 1, NULL), 0);
    assert_int_equal(box_wire_recv(ends[1], &got, sizeof(got), fds, 0, NULL), TR_E_PARSE);
    assert_int_equal(fds[0], -1);
    tr_close(&ends[0]);
    assert_int_equal(box_wire_recv(ends[1], &got, sizeof(got), fds, 0, NULL), TR_E_LOST);
    assert_int_equal(box_wire_send(ends[1], &m, sizeof(m), NULL, 0, NULL), TR_E_LOST);
    tr_close(&ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cause_comes_from_the_record_in_its_order),
        cmocka_unit_test(a_forged_report_is_refused),
        cmocka_unit_test(json_escapes_its_note_and_never_overruns),
        cmocka_unit_test(messages_carry_descriptors_and_surplus_ones_are_closed),
    };

    return RUN(tests);
}
