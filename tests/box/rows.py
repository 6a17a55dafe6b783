"""rows.py - the table of attacks: a number of ATTACKS.md, a promise, the attack, what may happen.

A row is green when the cause of the end is one of `causes`, the attacker wrote no line that begins
with one of `forbid`, and `check` (if any) has no complaint. What every row promises beside that (the
honest runs around it, nothing left) is in test_attacks.py and not repeated here.

Rows of our own, which ATTACKS.md does not have, are numbered "+".
"""

import dataclasses
from typing import Callable

from boxtool import MEMORY_ROOM_KIB

ESCAPES = ("ESCAPED", "BROKEN", "DIRTY")
STRICT = (*ESCAPES, "REACHED")

MIB = 1024
MEMORY_KIB = 64 * MIB
PIDS = 48
OUTPUT_BYTES = 256 * 1024
FILE_BYTES = 8 << 20

LIMITS = {
    "time": "100ms",
    "wall": "15s",  # far away: on a loaded machine 100 ms of CPU can take seconds
    "memory": "64M",
    "pids": PIDS,
    "output": "256K",
    "file-size": "8M",
}
WAITS = {"wall": "200ms"}


@dataclasses.dataclass(frozen=True)
class Row:
    no: str
    promise: str
    attack: str
    args: tuple = ()
    causes: tuple = ("exit",)
    exit: int | None = None
    signal: int | None = None
    limits: dict = dataclasses.field(default_factory=dict, hash=False)
    needs: tuple = ()
    forbid: tuple = ESCAPES
    check: Callable | None = None
    stdin: str | None = None
    get: tuple = ()
    program: str = "attacker"
    slot: tuple = ()  # options of the slot as a whole

    @property
    def id(self):
        return f"{self.no}_{self.promise}"


# ---------------------------------------------------------------- checks: complaint or None


def pids_held(o, ctx):
    if o.report["pids_peak"] > PIDS:
        return f"{o.report['pids_peak']} processes, allowed are {PIDS}"


def quick(limit_ms):
    def check(o, ctx):
        if "timing" not in ctx.mode.lacks and o.report["wall_us"] > limit_ms * 1000:
            return f"took {o.report['wall_us']} us of wall time, expected at most {limit_ms} ms"

    return check


def killed_at_least(n):
    def check(o, ctx):
        if o.report["killed"] < n:
            return f"{o.report['killed']} killed, expected at least {n}"

    return check


def says(*texts):
    def check(o, ctx):
        for text in texts:
            if not any(line.startswith(text) for line in o.lines):
                return f"no line begins with {text!r}"

    return check


def time_is_charged(o, ctx):
    limit_us = ctx.time_us
    if o.report["cpu_us"] < limit_us:
        return f"reported {o.report['cpu_us']} us, the limit was {limit_us}"


def small_overshoot(o, ctx):
    """Time reported is at least the limit and at most 5 ms more (research: nobody else does better
    than 100 ms). On a loaded machine one of two tries has to do it: see best_of."""
    bad = time_is_charged(o, ctx)
    if bad or "timing" in ctx.mode.lacks:
        return bad
    ctx.best_of("overshoot_us", o.report["cpu_us"] - ctx.time_us)


def all_cpu_seen(o, ctx):
    if "timing" in ctx.mode.lacks:
        return None
    used = int(next(line for line in o.lines if line.startswith("used ")).split()[1])
    if o.report["cpu_us"] < used * 0.98:
        return f"reported {o.report['cpu_us']} us of {used}"


def memory_held(o, ctx):
    if o.report["memory_kib"] > MEMORY_KIB + MEMORY_ROOM_KIB:
        return f"used {o.report['memory_kib']} KiB"


def memory_reached(o, ctx):
    if o.report["memory_kib"] < MEMORY_KIB * 0.9:
        return f"stopped for memory with {o.report['memory_kib']} KiB"


def memory_small(o, ctx):
    if o.report["memory_kib"] > 8 * MIB:
        return f"charged {o.report['memory_kib']} KiB for what it never touched"


def output_held(o, ctx):
    size = len(o.stdout) + len(o.stderr)
    if size > OUTPUT_BYTES + 65536:
        return f"{size} bytes came out, allowed are {OUTPUT_BYTES}"


def output_at_once(o, ctx):
    return output_held(o, ctx) or quick(1000)(o, ctx)


def nothing_came_out(o, ctx):
    for name, content in o.got.items():
        if content:
            return f"{name} came out with {len(content)} bytes: {content[:40]!r}"


def only_own_came_out(o, ctx):
    for name, content in o.got.items():
        if content not in (None, b"", b"mine\n"):
            return f"{name} came out: {content[:40]!r}"


def bounded_came_out(o, ctx):
    for name, content in o.got.items():
        if content and len(content) > FILE_BYTES:
            return f"{name} came out with {len(content)} bytes"


def exact_bytes(o, ctx):
    odd = (
        b"a\0b\r\n\xff\xfe\xc0\x80\xed\xa0\x80\xf4\x90\x80\x80\n"
        b"\x1b[2J\x1b]0;t\x07</script>\r\r\n\"}\n\0"
    )
    if o.stdout != odd or o.stderr != odd:
        return f"the bytes changed: {o.stdout!r} {o.stderr!r}"


def all_bytes(n):
    def check(o, ctx):
        if len(o.stdout) != n:
            return f"{len(o.stdout)} bytes came out, {n} were written"

    return check


def stdin_unchanged(o, ctx):
    if ctx.input_facts() != ctx.facts:
        return f"the judge's input file was changed: {ctx.facts} became {ctx.input_facts()}"


def program_unchanged(o, ctx):
    if ctx.program_digest() != ctx.digest:
        return "the judge's copy of the program was changed"


def cgroup_path_hidden(o, ctx):
    """Its own namespace's root is all it may see: no name of ours, nothing above."""
    shown = [line for line in o.starting("CGROUP ") if "tribunal" in line or "/.." in line]
    if shown:
        return f"shows where it lives on the host: {shown}"


def no_late_output(o, ctx):
    if not o.stdout.startswith(b"42\n") and b"42\n" not in o.stdout[:65536]:
        return "lost the answer"
    return output_held(o, ctx)


def _r(no, promise, attack, *args, **kw):
    return Row(no, promise, attack, tuple(str(a) for a in args), **kw)


CPU_OR_WALL = ("cpu", "wall")
ENDED = ("exit", "signal", "syscall")
TREE = ("cpu-tree",)
MEM = ("memory",)
CHARGED = ("charged",)

PROCESSES = [
    _r("1", "fork_bomb_is_bounded", "fork_bomb", causes=CPU_OR_WALL, check=pids_held, needs=TREE),
    _r("1", "quiet_fork_bomb_is_bounded", "fork_bomb_quiet", causes=CPU_OR_WALL, limits=WAITS,
       check=pids_held),
    _r("2", "daemons_die_with_a_sleeper", "daemons_and_sleep", causes=("wall",), limits=WAITS,
       check=killed_at_least(10)),
    _r("2", "daemons_die_with_their_parent", "daemons_and_exit", exit=0, check=killed_at_least(10)),
    _r("3", "verdict_of_the_parent_at_once", "answer_leave_children", 100, exit=0,
       limits={"pids": 120}, check=lambda o, c: says("42 children 100")(o, c) or quick(400)(o, c)),
    _r("4", "open_stdout_does_not_hang", "child_holds_stdout", exit=0,
       check=lambda o, c: says("42")(o, c) or quick(400)(o, c)),
    _r("4", "late_writer_does_not_hang", "child_writes_on", causes=("exit", "output"),
       check=no_late_output),
    _r("5", "time_of_a_child_counts", "child_burns", causes=("cpu",), check=time_is_charged,
       needs=TREE),
    _r("5", "time_of_an_orphan_counts", "orphan_burns", causes=("cpu",), check=time_is_charged,
       needs=TREE),
    _r("5", "time_of_short_children_counts", "short_children_burn", causes=("cpu",),
       check=time_is_charged, needs=TREE),
    _r("6", "thread_bomb_is_bounded", "thread_bomb", causes=("signal", "memory", "cpu", "wall"),
       check=pids_held),
    _r("7", "eight_threads_share_one_limit", "eight_threads", causes=("cpu",),
       check=small_overshoot),
    _r("8", "signals_do_not_reach_the_judge", "kill_judge", causes=ENDED),
    _r("8", "its_own_group_is_its_own", "kill_own_group", causes=("signal",), signal=9),
    _r("8", "stopping_all_stops_no_judge", "stop_everything", causes=CPU_OR_WALL, limits=WAITS,
       needs=TREE),
    _r("9", "stopped_program_ends_by_wall", "stop_self", causes=("wall",), limits=WAITS),
    _r("10", "ignored_signals_do_not_help", "ignore_and_spin", causes=("cpu",), check=time_is_charged),
    _r("10", "cancelled_alarms_do_not_help", "ignore_and_spin", "sleep", causes=("wall",),
       limits=WAITS),
    _r("11", "own_sigkill_is_its_own", "raise_signal", 9, causes=("signal",), signal=9),
    _r("12", "own_sigxcpu_is_no_time_limit", "raise_signal", 24, causes=("signal",), signal=24),
    _r("12", "own_sigxfsz_is_no_file_limit", "raise_signal", 25, causes=("signal",), signal=25),
    _r("12", "own_sigterm_is_its_own", "raise_signal", 15, causes=("signal",), signal=15),
    _r("12", "own_sigsys_is_no_escape", "raise_signal", 31, causes=("signal", "syscall"), signal=31),
    _r("13", "exit_code_is_told", "exit_with", 1, exit=1, check=says("42")),
    _r("14", "nobody_can_be_traced", "trace_others"),
    _r("14", "nobody_traces_it", "trace_me", causes=("exit", "wall"), limits=WAITS),
    _r("15", "zombies_are_harmless", "zombies", exit=0, limits={"time": "2s"},
       check=says("42 zombies")),
    _r("16", "exec_storm_is_charged", "exec_storm", causes=("cpu",), check=time_is_charged, needs=TREE),
    _r("17", "prctl_games_are_harmless", "prctl_games", exit=0, check=says("42")),
    _r("18", "limits_cannot_be_raised", "raise_limits", exit=0),
    _r("18", "raised_limits_do_not_help", "raise_limits", "spin", causes=("cpu",),
       check=time_is_charged),
]

TIME = [
    _r("19", "busy_loop_ends_on_time", "spin", causes=("cpu",), check=small_overshoot),
    _r("20", "sleeper_ends_by_wall", "sleeper", causes=("wall",), limits=WAITS),
    _r("20", "waiter_ends_by_wall", "wait_in_poll", causes=("wall",), limits=WAITS),
    _r("21", "closed_streams_end_by_wall", "close_and_sleep", causes=("wall",), limits=WAITS),
    _r("22", "unread_input_is_fine", "ignore_stdin", exit=0, stdin="huge", check=lambda o,
       c: says("42")(o, c) or quick(400)(o, c)),
    _r("23", "reading_past_the_end_ends", "read_past_eof", causes=("cpu",), check=time_is_charged),
    _r("24", "system_time_counts", "burn_system", causes=("cpu",), check=time_is_charged),
    _r("24", "time_in_long_calls_counts", "burn_system", "zero", causes=("cpu",),
       check=time_is_charged),
    _r("25", "page_faults_count", "burn_faults", causes=("cpu",), check=time_is_charged),
    _r("27", "dripping_is_bounded", "drip", causes=("output", "cpu", "wall"), check=output_held),
    _r("28", "timer_storm_ends", "timer_storm", causes=CPU_OR_WALL, limits={"wall": "400ms"}),
    _r("+", "timer_flood_ends", "timerfd_flood", causes=CPU_OR_WALL, limits={"wall": "300ms"}),
    _r("+", "tick_dodger_is_charged", "dodge_ticks", 60000, exit=0, limits={"time": "1s"},
       check=all_cpu_seen),
    _r("+", "short_lives_are_charged", "dodge_by_dying", 100, exit=0, limits={"time": "1s"},
       check=all_cpu_seen, needs=TREE),
    _r("+", "vfork_child_is_charged", "vfork_child_burns", causes=("cpu",), check=time_is_charged,
       needs=TREE),
    _r("+", "stopped_vfork_child_ends", "vfork_child_stops", causes=("wall",), limits=WAITS),
    _r("+", "idle_class_ends", "idle_class_spin", causes=CPU_OR_WALL, limits={"wall": "1s"}),
    _r("+", "leader_gone_still_charged", "leader_gone", causes=("cpu",),
       check=time_is_charged),
    _r("+", "leader_gone_still_ends", "leader_gone", "rest", causes=("wall",),
       limits=WAITS),
    _r("+", "end_by_own_timer_is_a_signal", "end_at", 50000, causes=("signal",), signal=9),
    _r("+", "clocks_cannot_be_set", "fake_clock", exit=0),
]

MEMORY = [
    _r("29", "hog_is_memory", "hog", causes=("memory",), needs=MEM, limits={"time": "2s"},
       check=lambda o, c: memory_reached(o, c) or memory_held(o, c)),
    _r("29", "hog_without_cgroup_is_refused", "hog", causes=("exit", "memory", "signal"),
       limits={"time": "2s"}),
    _r("29", "shared_memory_without_cgroup_ends", "hog_shared", causes=("memory",),
       limits={"time": "2s"}),
    _r("32", "memfd_without_cgroup_is_bounded", "fill_memfd", causes=("memory", "exit"),
       limits={"time": "3s"}, check=memory_held),
    _r("29", "shared_memory_counts", "hog_shared", causes=("memory",), needs=CHARGED,
       limits={"time": "2s"}, check=memory_held),
    _r("29", "children_count_together", "hog_children", causes=("memory",), needs=CHARGED,
       limits={"time": "2s"}, check=memory_held),
    _r("30", "touched_array_is_memory", "touch", causes=("memory",), needs=MEM, limits={"time": "2s"},
       program="bigarray"),
    _r("30", "untouched_array_is_free", "leave", exit=0, needs=MEM, program="bigarray",
       check=memory_small),
    _r("31", "untouched_terabyte_is_free", "map_terabyte", exit=0, needs=("memory", "terabyte"),
       check=lambda o, c: says("42")(o, c) or memory_small(o, c)),
    _r("32", "memfd_is_charged", "fill_memfd", causes=("memory", "exit"), needs=CHARGED,
       limits={"time": "3s"}, check=memory_held),
    _r("32", "work_folder_is_charged", "fill_folder", "/w", causes=("memory", "exit"),
       limits={"time": "3s"}, check=memory_held),
    _r("32", "full_work_folder_does_not_hurt_copy_out", "fill_folder", "/w", causes=("memory", "exit"),
       limits={"time": "3s"}, get=("fill0", "fill1"), check=bounded_came_out),
    _r("32", "tmp_is_charged", "fill_folder", "/tmp", causes=("memory", "exit"), limits={"time": "3s"},
       check=memory_held),
    _r("32", "dev_shm_is_charged", "fill_folder", "/dev/shm", causes=("memory", "exit"),
       limits={"time": "3s"}, check=memory_held),
    _r("32", "sysv_memory_is_charged", "fill_shmem", causes=("memory", "exit"), needs=CHARGED,
       limits={"time": "3s"}, check=memory_held),
    _r("33", "locked_memory_is_charged", "lock_memory", causes=("memory", "exit", "signal"),
       limits={"time": "2s"}, check=memory_held),
    _r("33", "huge_pages_are_denied_or_charged", "huge_pages", causes=("exit", "memory", "signal"),
       limits={"time": "2s"}, check=memory_held),
    _r("34", "endless_recursion_ends", "recurse", causes=("signal", "memory"),
       limits={"stack": "8M", "time": "1s"}, check=memory_held),
    _r("34", "deep_recursion_is_fine", "recurse", 40 << 20, exit=0,
       limits={"stack": "60M", "time": "1s"}, check=says("42")),
    _r("35", "paging_out_does_not_help", "hog_pageout", causes=("memory",), needs=MEM,
       limits={"time": "3s"}, check=memory_held),
    *[
        _r("36", f"kernel_{kind}s_are_bounded", "kernel_objects", kind,
           causes=("exit", "memory", "cpu", "signal"), limits={"time": "2s"},
           check=memory_held, needs=CHARGED if kind in ("pagetable", "dentry") else ())
        for kind in ("pipe", "socketpair", "eventfd", "epoll", "inotify", "signalfd", "timer", "msgqueue",
                     "mqueue", "mapping", "pagetable", "dentry", "fd_in_flight")
    ],
    _r("37", "child_over_memory_is_memory", "child_oom", causes=("memory",), needs=MEM,
       limits={"time": "2s"}),
    _r("39", "caught_failure_goes_on", "refused_malloc", exit=0, check=says("42")),
    _r("+", "secret_memory_is_denied_or_charged", "secret_memory", causes=("exit", "memory", "signal"),
       check=memory_held),
    _r("+", "pages_in_pipes_are_charged", "gift_pages", causes=("exit", "memory"),
       limits={"time": "1s"}),
]

FILES = [
    _r("40", "endless_stdout_ends_at_once", "flood", 1, causes=("output",), limits={"time": "2s"},
       check=output_at_once),
    _r("41", "endless_stderr_ends_at_once", "flood", 2, causes=("output",), limits={"time": "2s"},
       check=output_at_once),
    _r("41", "both_streams_share_a_limit", "flood_both", causes=("output",), limits={"time": "2s"},
       check=output_at_once),
    _r("40", "spliced_output_counts", "flood_splice", causes=("output", "exit", "signal", "files"),
       limits={"time": "2s"}, check=output_held),
    _r("40", "output_cannot_be_resized", "resize_stdout", exit=0, check=output_held),
    _r("42", "sparse_file_is_refused", "sparse_file", exit=0, get=("out",), check=bounded_came_out),
    _r("42", "sparse_file_is_a_file_limit", "sparse_file_dies", causes=("files", "signal"), signal=25),
    _r("43", "many_files_are_bounded", "many_files", causes=("exit", "memory"), limits={"time": "3s"}),
    _r("43", "many_files_do_not_hurt_copy_out", "many_files", causes=("exit", "memory"),
       limits={"time": "3s"}, get=("out",), check=nothing_came_out),
    _r("43", "a_hundred_thousand_files_are_cleaned", "many_files", causes=("exit", "memory"),
       limits={"time": "5s", "memory": "512M"}, slot=("--files", "100000")),
    _r("43", "deep_folders_are_cleaned", "deep_folders", 10000, causes=("exit", "memory"),
       limits={"time": "3s"}, slot=("--files", "12000")),
    _r("43", "tangled_files_are_cleaned", "tangled_files", exit=0, limits={"time": "1s"}),
    _r("44", "locked_folders_are_cleaned", "locked_folders", exit=0),
    *[
        _r("45", f"output_as_{kind}{''.join(more).replace('/', '_')}_is_missing", "output_is", kind, *more,
           exit=0, get=get, check=nothing_came_out)
        for kind, more, get in (
            ("symlink", ("/usr/lib/os-release",), ("out",)),
            ("symlink", ("/proc/self/environ",), ("out",)),
            ("symlink", ("/dev/zero",), ("out",)),
            ("symlink", ("a",), ("out",)),
            ("fifo", (), ("out",)),
            ("folder", (), ("out",)),
            ("device", (), ("out",)),
            ("socket", (), ("out",)),
            ("unreadable", (), ("out",)),
            ("parent", ("/etc",), ("dir/passwd",)),
            ("parent", ("/proc/1",), ("dir/environ",)),
            ("parent", ("..",), ("dir/usr/lib/os-release", "../usr/lib/os-release", "/usr/lib/os-release")),
        )
    ],
    _r("46", "swapping_during_copy_out_fails", "swap_output", "/etc/passwd", exit=0, get=("out",),
       check=only_own_came_out),
    _r("46", "lease_does_not_stall_copy_out", "lease_output", exit=0, get=("out",),
       check=only_own_came_out),
    _r("47", "hard_links_fail", "hard_links", exit=0),
    _r("48", "program_is_whole_in_the_next_test", "overwrite_self", exit=0, check=program_unchanged),
    *[_r("48", f"program_replaced_by_a_{kind}_is_put_back", "replace_self", kind, exit=0)
      for kind in ("folder", "link", "fifo")],
    _r("48", "input_cannot_be_changed", "change_stdin", exit=0, stdin="numbers", check=stdin_unchanged),
    _r("48", "writable_input_cannot_be_changed", "change_stdin", exit=0, stdin="loose",
       check=stdin_unchanged),
    _r("49", "files_do_not_survive", "leave_files", exit=0),
    _r("49", "marks_on_folders_do_not_survive", "leave_marks", exit=0),
    _r("49", "space_of_deleted_files_comes_back", "hold_deleted", exit=0),
    _r("49", "spoiled_work_folder_is_repaired", "spoil_work_folder", exit=0),
    _r("50", "ipc_does_not_survive", "leave_ipc", exit=0),
    _r("50", "locks_on_shared_files_fail", "lock_shared_files", exit=0),
    _r("51", "secrets_are_out_of_reach", "read_secrets", exit=0),
    _r("52", "no_descriptor_is_inherited", "probe_descriptors", exit=0),
    _r("53", "file_size_holds_every_way", "outgrow", FILE_BYTES, exit=0, limits={"time": "1s"}),
    _r("54", "odd_bytes_come_out_unchanged", "odd_bytes", exit=0, check=exact_bytes),
    _r("54", "long_line_comes_out_whole", "long_line", 16, exit=0,
       limits={"output": "20M", "time": "1s"}, check=all_bytes(16 << 20)),
    _r("+", "streams_of_the_next_run_are_fresh", "disturb_streams", exit=0, stdin="numbers"),
    _r("+", "output_cannot_be_read_back", "read_back_stdout", exit=0),
    _r("+", "stolen_output_hurts_only_itself", "steal_output", exit=0, limits={"time": "1s"}),
    _r("+", "clogged_input_hurts_nobody", "clog_stdin", exit=0, stdin="huge"),
    _r("+", "forged_report_is_just_output", "forge_report", exit=9),
    _r("+", "link_maze_is_cheap", "link_maze", exit=0, get=("out",), check=nothing_came_out),
]

KERNEL = [
    _r("55", "no_socket_of_any_family", "sockets", causes=ENDED, forbid=(*STRICT, "LACKS")),
    _r("55", "socketpair_is_no_door", "pair_as_socket", causes=ENDED),
    _r("56", "forbidden_calls_are_refused", "forbidden_calls", causes=ENDED, forbid=STRICT,
       limits={"time": "1s"}),
    _r("56", "unknown_calls_are_refused", "unknown_calls", causes=ENDED, forbid=STRICT),
    _r("57", "foreign_calls_are_refused", "foreign_calls", causes=ENDED),
    _r("58", "setuid_gives_nothing", "setuid_programs", causes=ENDED),
    _r("58", "it_is_nobody_and_can_nothing", "confined", exit=0),
    _r("59", "proc_shows_nobody_else", "proc_of_others", exit=0, limits={"time": "1s"}),
    _r("59", "proc_shows_no_host_path", "host_paths", exit=0, check=cgroup_path_hidden),
    _r("60", "proc_cannot_be_written", "write_proc", exit=0),
    _r("61", "no_terminal_and_no_device", "terminals", exit=0),
    _r("62", "root_cannot_be_left", "escape_root", causes=ENDED),
    _r("62", "handles_open_nothing", "open_by_handle", causes=ENDED, forbid=STRICT),
    _r("63", "no_core_is_left", "core_dump", causes=("signal",), signal=6, get=("core",),
       check=nothing_came_out),
    _r("63", "no_core_with_a_lower_limit", "core_dump", "zero", causes=("signal",), signal=6,
       get=("core",), check=nothing_came_out),
    _r("64", "scheduling_is_denied", "schedule_games", exit=0, check=says("42")),
]

OWN = [
    _r("+", "comets_die", "comets", 4, exit=0, check=says("42")),
    _r("+", "comets_are_charged", "comets", 4, "stay", causes=("cpu",), check=time_is_charged,
       needs=TREE),
    _r("+", "impostor_does_not_exit_for_it", "clone_parent", 0, 7, exit=7),
    _r("+", "impostor_does_not_fail_for_it", "clone_parent", 3, 0, exit=0),
    _r("+", "quiet_children_die", "clone_quiet", exit=0, check=says("42")),
    _r("+", "evil_names_fool_nobody", "evil_name", exit=0, check=killed_at_least(5)),
    _r("+", "thread_exec_is_followed", "thread_exec", causes=("signal",), signal=10),
    _r("+", "exec_for_ever_is_charged", "exec_self_forever", causes=("cpu",), check=time_is_charged),
    *[_r("+", f"exit_code_{n}_is_its_own", "exit_with", n, exit=n) for n in (2, 3, 125, 126, 127, 255)],
    _r("+", "survived_fault_is_fine", "survive_fault", exit=0, check=says("42")),
    _r("+", "queued_signals_are_bounded", "signal_flood", exit=0, limits={"time": "1s"}),
    _r("+", "memfd_program_is_confined", "exec_memfd", causes=ENDED),
    _r("+", "script_loop_is_harmless", "script_loop", exit=0, check=says("42")),
    _r("+", "long_arguments_are_bounded", "long_arguments", causes=("exit", "signal", "memory"),
       limits={"time": "1s"}),
    _r("+", "personality_changes_nothing", "strange_personality", causes=ENDED),
    _r("+", "shared_files_cannot_be_watched", "watch_shared", exit=0, forbid=STRICT),
    _r("+", "own_filter_gives_nothing", "own_filter", causes=ENDED),
    _r("+", "forbidden_exit_ends", "cannot_exit", causes=("wall", "signal", "exit"), limits=WAITS),
    _r("+", "unanswered_calls_die", "notify_hang", exit=0),
    _r("+", "namespaces_have_no_parents", "namespace_ioctls", causes=ENDED),
    _r("+", "landlock_hurts_only_itself", "landlock_itself", causes=ENDED),
    _r("+", "hidden_command_line_dies", "rename_itself", exit=0, check=killed_at_least(1)),
    _r("+", "descriptors_are_bounded", "many_descriptors", exit=0, limits={"time": "1s"}),
    _r("+", "machine_cannot_be_poisoned", "poison", causes=ENDED),
]

# Rows that depend on the kind of cgroup, and few that show that a kind works at all: what `make test`
# has time for where the rest was run in another mode already (conftest.py).
DRIVER = {r.id for r in (*PROCESSES, *TIME, *MEMORY)}
FEW = {r.id for r in (*PROCESSES, *TIME, *MEMORY, *FILES, *KERNEL) if r.promise in {
    "fork_bomb_is_bounded", "daemons_die_with_a_sleeper", "verdict_of_the_parent_at_once",
    "time_of_an_orphan_counts", "own_sigkill_is_its_own", "busy_loop_ends_on_time",
    "sleeper_ends_by_wall", "hog_is_memory", "children_count_together", "work_folder_is_charged",
    "child_over_memory_is_memory", "endless_stdout_ends_at_once", "many_files_are_bounded",
    "ipc_does_not_survive", "proc_cannot_be_written",
}}

ROWS = [*PROCESSES, *TIME, *MEMORY, *FILES, *KERNEL, *OWN]

# Rows of ATTACKS.md that need more than the box.
WITH_THE_JUDGE = {
    "38": "checker or interactor over memory is a judge error",
    "77": "output made to break the checker",
    "78": "flooded interactor",
    "79": "early exit, closed pipes",
    "80": "interactor says wrong, solution gets SIGPIPE",
    "81": "both wait",
    "82": "the checker's report is out of reach",
    "83": "checker crashes, hangs, exits badly",
    "84": "large source, deep JSON, bad archives",
}
