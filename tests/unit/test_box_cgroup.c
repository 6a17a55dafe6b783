/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/cleanup.h"
#include "box/cgroup.h"
#include "unit.h"

static const char hybrid_groups[] = "12:name=systemd:/\n8:pids:/a\n4:memory:/x/y\n"
                                    "2:cpu,cpuacct:/z\n0::/user.slice\n";

static void own_group_is_found_by_controller(void **state)
{
    static const struct {
        const char *controller;
        const char *want; /* NULL: not there */
    } rows[] = {{"memory", "/x/y"},  {"cpuacct", "/z"}, {"cpu", "/z"}, {"pids", "/a"},
                {"", "/user.slice"}, {"acct", NULL},    {"mem", NULL}, {"freezer", NULL}};
    char out[64];

    for (size_t i = 0; i < TR_ARRAY_LEN(rows); i++) {
        ROW(rows[i].controller);
        bool found = box_cg_own_path(hybrid_groups, rows[i].controller, out, sizeof(out));
        assert_int_equal(found, rows[i].want != NULL);
        if (found)
            assert_string_equal(out, rows[i].want);
    }
    assert_false(box_cg_own_path("", "memory", out, sizeof(out)));
    assert_false(box_cg_own_path("garbage\n:\n::\n", "memory", out, sizeof(out)));
    assert_false(box_cg_own_path(hybrid_groups, "memory", out, 4)); /* does not fit: not cut */
}

static void mount_points_are_found_by_kind(void **state)
{
    static const char mounts[] =
        "23 1 0:5 / / rw - ext4 /dev/root rw\n"
        "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu,cpuacct\n"
        "35 31 0:32 /docker/1 /sys/fs/cgroup/memory rw shared:5 - cgroup cgroup rw,memory\n"
        "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw,nsdelegate\n"
        "broken line\n"
        "1 2 3 - x\n";
    char out[64];
    char root[64];

    assert_true(box_cg_mount_point(mounts, NULL, out, sizeof(out), root, sizeof(root)));
    assert_string_equal(out, "/sys/fs/cgroup/unified");
    assert_true(box_cg_mount_point(mounts, "memory", out, sizeof(out), root, sizeof(root)));
    assert_string_equal(out, "/sys/fs/cgroup/memory");
    assert_string_equal(root, "/docker/1");
    assert_true(box_cg_mount_point(mounts, "cpuacct", out, sizeof(out), root, sizeof(root)));
    assert_string_equal(out, "/sys/fs/cgroup/cpu");
    assert_false(box_cg_mount_point(mounts, "pids", out, sizeof(out), root, sizeof(root)));
    assert_false(box_cg_mount_point("", NULL, out, sizeof(out), root, sizeof(root)));
}

static void fields_are_read_by_their_whole_name(void **state)
{
    static const char text[] = "usage_usec 123456\nuser_usec 100\nsystem_usec 23\noom_kill 2\n"
                               "oom_kill_disable 7\nunder_oom 0\nempty \nlast 9";

    assert_int_equal(box_cg_field(text, "usage_usec"), 123456);
    assert_int_equal(box_cg_field(text, "system_usec"), 23);
    assert_int_equal(box_cg_field(text, "oom_kill"), 2);
    assert_int_equal(box_cg_field(text, "oom"), 0);
    assert_int_equal(box_cg_field(text, "empty"), 0);
    assert_int_equal(box_cg_field(text, "last"), 9);
    assert_int_equal(box_cg_field("", "x"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_group_is_found_by_controller),
        cmocka_unit_test(mount_points_are_found_by_kind),
        cmocka_unit_test(fields_are_read_by_their_whole_name),
    };

    return RUN(tests);
}
