"""test_rules.py - rows that need more than a program in a slot: two boxes, a terminal, a dead tool."""

import ctypes
import os
import pty
import resource
import signal
import statistics
import subprocess
import threading
import time

import pytest

import boxtool
import rows
from boxtool import Run
from matrix import cannot

LIMITS = {**rows.LIMITS, "time": "1s", "wall": "5s"}
SYS_RT_SIGACTION = {"x86_64": 13, "aarch64": 134}[os.uname().machine]
libc = ctypes.CDLL(None)


def puts(shop):
    return {"a": shop.programs["attacker"]}


def attack(shop, mode, folder, name, *args, limits=None, more=(), **kw):
    mark = boxtool.new_mark()
    run = Run(["./a", name, mark, *map(str, args)], None, {**LIMITS, **(limits or {})})
    return boxtool.run_one(mode, run, puts(shop), folder, *more, **kw)


def need(mode, feature, skip_row, row):
    if feature in mode.lacks:
        skip_row(mode, row, mode.lacks[feature])


@pytest.mark.parametrize("slack_us", [-20000, -1000, 1000, 20000])
def test_26_at_the_limit_time_and_verdict_agree(mode, shop, slot_folder, skip_row, slack_us):
    """Rounding is none: over the limit by a microsecond is over, at the limit is not."""
    need(mode, "timing", skip_row, "26_at_the_limit")
    need(mode, "cpu-tree", skip_row, "26_at_the_limit")
    limit_us = 100000
    for _ in range(3):
        o = attack(shop, mode, slot_folder, "spin_for", limit_us + slack_us, limits={"time": "100ms"})
        over = o.report["cpu_us"] > limit_us
        assert o.report["cause"] == ("cpu" if over else "exit"), o.report
    if slack_us == 20000:
        assert o.report["cause"] == "cpu", o.report
    if slack_us == -20000:
        assert o.report["cause"] == "exit", o.report


def test_27_collector_of_a_dripping_program_is_cheap(mode, shop, slot_folder, skip_row):
    """One-byte writes cost the tool no more than they cost the program."""
    need(mode, "timing", skip_row, "27_collector")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    o = attack(shop, mode, slot_folder, "drip", limits={"time": "300ms", "output": "64M"})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent_us = sum(
        (getattr(after, f) - getattr(before, f)) * 1e6 for f in ("ru_utime", "ru_stime")
    )
    assert o.report["cause"] == "cpu", o.report
    # The program's own time may or may not be in what our children used.
    assert spent_us < 3 * o.report["cpu_us"] + 200000, (spent_us, o.report)


def cgroups_of(mark):
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if mark.encode() in open(f"/proc/{pid}/cmdline", "rb").read().split(b"\0")[2:3]:
                return dict(
                    line.split(":", 2)[1:] for line in open(f"/proc/{pid}/cgroup").read().splitlines()
                )
        except OSError:
            continue
    return None


class Background:
    """The tool with one run, while the test looks on."""

    started_here = []

    def __init__(self, shop, mode, folder, name, *args, limits=None, out=None, **popen):
        self.mark = boxtool.new_mark()
        words = ["run", "--json", *mode.options, *boxtool.put_options(puts(shop))]
        words += boxtool.limit_options({**LIMITS, **(limits or {})})
        if out:
            words += ["--stdout", str(out)]
        if mode.uid is not None:
            popen.update(user=mode.uid, group=mode.uid, extra_groups=[])
        self.proc = subprocess.Popen(
            [*mode.prefix, boxtool.tool_path(), *words, "--", "./a", name, self.mark, *map(str, args)],
            cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={"PATH": os.environ["PATH"], "TMPDIR": str(folder)}, **popen)
        Background.started_here.append(self.proc)

    def started(self):
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            found = cgroups_of(self.mark)
            if found is not None:
                return found
            time.sleep(0.005)
        raise AssertionError("the program never started")

    def end(self):
        out, err = self.proc.communicate(timeout=boxtool.TOOL_DEADLINE_S)
        return self.proc.returncode, out, err


@pytest.fixture(autouse=True)
def tools_end_with_their_test():
    """Also when it fails: what is left would be on the bill of all tests after it."""
    yield
    while Background.started_here:
        proc = Background.started_here.pop()
        proc.kill()
        proc.wait()
        proc.stdout.close()
        proc.stderr.close()


def test_35_swap_is_bounded(mode, shop, slot_folder, skip_row):
    """Memory and swap together have the limit, or swap alone has none to give."""
    need(mode, "memory", skip_row, "35_swap_is_bounded")
    with_swap = Background(shop, mode, slot_folder, "sleeper", limits={"wall": "1500ms"})
    groups = with_swap.started()
    limit = 64 << 20
    if mode.cgroup == "v2":
        folder = "/sys/fs/cgroup" + groups[""]
        assert open(folder + "/memory.max").read().strip() == str(limit)
        assert open(folder + "/memory.swap.max").read().strip() == "0"
    else:
        folder = "/sys/fs/cgroup/memory" + groups["memory"]
        room = 4 << 20  # the resident process lives in the same group
        assert int(open(folder + "/memory.limit_in_bytes").read()) <= limit + room
        swap = folder + "/memory.memsw.limit_in_bytes"
        if os.path.exists(swap):
            assert int(open(swap).read()) <= limit + room
        else:
            assert int(open(folder + "/memory.swappiness").read()) == 0
    with_swap.end()


def test_52_descriptors_and_environment_of_the_caller_stay_outside(mode, shop, slot_folder):
    """What the judge has open and in its environment is not the program's."""
    fds = [os.open(shop.secret, os.O_RDONLY) for _ in range(3)]
    try:
        secret = {"DB_PASSWORD": "SECRET-ANSWER"}
        o = attack(shop, mode, slot_folder, "probe_descriptors", pass_fds=fds, env=secret)
        assert not o.starting("ESCAPED"), o.lines
        run = Run(["/usr/bin/env"], None, LIMITS, {"GIVEN": "yes"})
        o = boxtool.run_one(mode, run, puts(shop), slot_folder, env=secret)
        assert b"SECRET" not in o.stdout and b"GIVEN=yes" in o.stdout, o.stdout
        assert str(shop.top).encode() not in o.stdout, o.stdout
    finally:
        for fd in fds:
            os.close(fd)


def test_61_terminal_of_the_caller_is_out_of_reach(mode, shop, slot_folder):
    """Started from a terminal, the program has none: no /dev/tty, no TIOCSTI, no job control."""
    report = slot_folder / "terminals.json"
    words = ["run", "--json", *mode.options, *boxtool.put_options(puts(shop)), *boxtool.limit_options(LIMITS),
             "--stdout", str(slot_folder / "out"), "--", "./a", "terminals", boxtool.new_mark()]
    pid, terminal = pty.fork()
    if pid == 0:
        try:
            if mode.uid is not None:
                os.setgroups([])
                os.setresgid(mode.uid, mode.uid, mode.uid)
                os.setresuid(mode.uid, mode.uid, mode.uid)
            os.chdir(slot_folder)
            argv = [*mode.prefix, boxtool.tool_path(), *words]
            os.execvpe(argv[0], argv, {"PATH": os.environ["PATH"]})
        finally:
            os._exit(99)
    screen = b""
    while True:
        try:
            piece = os.read(terminal, 65536)
        except OSError:
            break
        if not piece:
            break
        screen += piece
    os.waitpid(pid, 0)
    os.close(terminal)
    out = (slot_folder / "out").read_text(errors="replace")
    assert "HELD" in out and "ESCAPED" not in out, (out, screen, report)


CORE_PATTERN = "/proc/sys/kernel/core_pattern"


@pytest.fixture
def core_handler(shop, slot_folder, mode, skip_row):
    """A handler behind a pipe, as many distributions have one. It is the whole machine's, so only on a
    machine of our own. Gives the list of names for which it was started."""
    if os.environ.get("TRIBUNAL_IN_UML") != "1":
        skip_row(mode, "63_no_core_handler_is_started", "sets core_pattern: only under tests/box/run-in-uml")
    seen, handler, before = slot_folder / "seen", slot_folder / "handler", open(CORE_PATTERN).read()
    handler.write_text(f'#!/bin/sh\nPATH=/usr/bin:/bin\necho "$1" >>{seen}\ncat >/dev/null\n')
    handler.chmod(0o755)
    with open(CORE_PATTERN, "w") as f:
        f.write(f"|{handler} %e")
    yield lambda: seen.read_text().split() if seen.exists() else []
    with open(CORE_PATTERN, "w") as f:
        f.write(before)


def test_63_no_core_handler_is_started(mode, shop, slot_folder, core_handler):
    """A limit of 0 does not keep the kernel from starting a handler outside the box as root."""
    control = subprocess.run(["/bin/sh", "-c", "ulimit -c 0; kill -ABRT $$"], check=False)
    deadline = time.monotonic() + 10
    while "sh" not in core_handler() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert control.returncode == -signal.SIGABRT and "sh" in core_handler(), "the control shows nothing"
    for args in ((), ("zero",)):
        o = attack(shop, mode, slot_folder, "core_dump", *args)
        assert o.report["signal"] == signal.SIGABRT, o.report
        o = attack(shop, mode, slot_folder, "raise_signal", 11)
    time.sleep(0.5)  # time in which nothing may happen
    assert set(core_handler()) == {"sh"}, core_handler()


def test_65_boxes_do_not_share_a_limit_of_processes(mode, shop, slot_folder):
    """One box at its limit of processes takes none from the other."""
    bomb = Background(shop, mode, slot_folder, "fork_bomb_quiet", limits={"wall": "1500ms"})
    bomb.started()
    time.sleep(0.2)  # not a wait for a condition: the bomb has to have hit its limit, which is silent
    o = attack(shop, mode, slot_folder, "can_fork", 30)
    bomb.end()
    assert o.report["exit"] == 0, o.lines


def test_two_boxes_do_not_see_each_other(mode, shop, slot_folder):
    other = Background(shop, mode, slot_folder, "daemons_and_sleep", limits={"wall": "1200ms"})
    other.started()
    for name in ("kill_judge", "trace_others", "proc_of_others"):
        o = attack(shop, mode, slot_folder, name)
        assert not o.starting("ESCAPED"), o.lines
    code, out, err = other.end()
    report = boxtool.parse_report(out, err, code)
    assert report["cause"] == "wall", report
    assert report["killed"] >= 10, report


@pytest.mark.parametrize("sig", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP],
                         ids=lambda s: s.name)
@pytest.mark.parametrize("name", ["daemons_and_sleep", "fork_bomb_quiet"])
def test_dead_tool_leaves_no_process(mode, shop, slot_folder, name, sig):
    """Whoever kills the tool gets a clean machine: all processes dead at once. After SIGKILL the
    folder of the cgroup may stay, since nobody is there to remove it; after the others nothing may."""
    before = boxtool.Leftovers(slot_folder, "", mode.uid)
    tool = Background(shop, mode, slot_folder, name, limits={"wall": "20s"})
    before.mark = tool.mark
    tool.started()
    tool.proc.send_signal(sig)
    tool.end()
    found = before.complaints(2.0)
    if sig == signal.SIGKILL:
        found = [f for f in found if not f.startswith("cgroup ")]
    assert not found, found


def test_stopped_tool_does_not_free_the_program(mode, shop, slot_folder, skip_row):
    """Time goes on while the supervisor sleeps; the program does not profit for ever."""
    need(mode, "timing", skip_row, "stopped_tool")
    tool = Background(shop, mode, slot_folder, "sleeper", limits={"wall": "300ms"})
    tool.started()
    tool.proc.send_signal(signal.SIGSTOP)
    time.sleep(0.5)
    tool.proc.send_signal(signal.SIGCONT)
    code, out, err = tool.end()
    assert boxtool.parse_report(out, err, code)["cause"] == "wall"


def test_closed_reader_does_not_break_the_tool(mode, shop, slot_folder):
    """Nobody reads the report: the tool still cleans up and ends."""
    mark = boxtool.new_mark()
    before = boxtool.Leftovers(slot_folder, mark, mode.uid)
    r, w = os.pipe()
    os.close(r)
    words = ["run", "--json", *mode.options, *boxtool.put_options(puts(shop)), *boxtool.limit_options(LIMITS)]
    boxtool.call(mode, [*words, "--", "./a", "daemons_and_exit", mark], cwd=slot_folder, stdout=w)
    os.close(w)
    assert not before.complaints(), before.complaints()


def ignore_and_block():
    for s in (signal.SIGHUP, signal.SIGTERM, signal.SIGUSR1, signal.SIGCHLD, signal.SIGPIPE):
        signal.signal(s, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 32))
    for s in (32, 33):  # glibc's own, which only the kernel lets one ignore: struct {SIG_IGN, 0, 0, 0}
        libc.syscall(SYS_RT_SIGACTION, s, ctypes.byref((ctypes.c_uint64 * 4)(1, 0, 0, 0)), None, 8)
    os.umask(0)
    os.nice(5)


def test_signals_of_the_caller_stay_outside(mode, shop, slot_folder):
    """What the judge ignores or blocks is not ignored or blocked in the program."""
    o = attack(shop, mode, slot_folder, "honest", "a", preexec_fn=ignore_and_block)
    told = dict(line[4:].split(":", 1) for line in o.starting("ENV Sig", "ENV Umask"))
    assert int(told["SigIgn"], 16) == 0 and int(told["SigBlk"], 16) == 0, told
    assert told["Umask"].strip() == "0022", told


def test_process_numbers_begin_anew_in_every_run(mode, shop, slot_folder):
    """A test cannot count what an earlier test of the same container started."""
    if not os.path.exists("/proc/sys/kernel/ns_last_pid"):
        cannot("this kernel has no ns_last_pid (CONFIG_CHECKPOINT_RESTORE)")
    runs = [Run(["/usr/bin/env", "sh", "-c", "echo $$; sh -c 'echo $$'; true"], None, LIMITS) for _ in range(3)]
    seen = [o.stdout for o in boxtool.run_slot(mode, runs, puts(shop), slot_folder)]
    assert seen == [b"2\n3\n"] * 3, seen


def test_slow_reader_frees_no_program(mode, shop, slot_folder):
    """stdout of the run is a pipe that nobody empties: the program dies by its wall limit all the
    same, and the report comes as soon as somebody reads."""
    fifo = slot_folder / "fifo"
    os.mkfifo(fifo)
    os.chmod(fifo, 0o666)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    before = boxtool.Leftovers(slot_folder, "", None)
    # Long enough to be seen on a slow machine, where a look at all processes takes a second.
    wall = "300ms" if "timing" not in mode.lacks else "4s"
    tool = Background(shop, mode, slot_folder, "flood", 1, limits={"wall": wall, "output": "8M"}, out=fifo)
    tool.started()
    deadline = time.monotonic() + 10
    while cgroups_of(tool.mark) is not None:
        assert time.monotonic() < deadline, "the program outlived its wall limit"
        time.sleep(0.02)
    os.set_blocking(reader, True)
    drain = threading.Thread(target=lambda: [None for _ in iter(lambda: os.read(reader, 1 << 16), b"")])
    drain.start()
    code, out, err = tool.end()
    drain.join()
    os.close(reader)
    assert boxtool.parse_report(out, err, code)["cause"] in ("wall", "cpu", "output")
    before.mark = tool.mark
    assert not before.complaints()


def descriptors_of(pid):
    pids, n = [pid], 0
    for p in pids:
        try:
            n += len(os.listdir(f"/proc/{p}/fd"))
            for task in os.listdir(f"/proc/{p}/task"):
                pids += map(int, open(f"/proc/{p}/task/{task}/children").read().split())
        except OSError:
            continue
    return n


def test_slot_does_not_grow(mode, shop, slot_folder):
    """Three hundred runs in a slot: descriptors of tool and helper stay what they were."""
    seen = []
    runs = 300 if "timing" not in mode.lacks else 40
    words = ["run", "--json", *mode.options, "--repeat", str(runs), *boxtool.put_options(puts(shop)),
             *boxtool.limit_options(LIMITS)]
    popen = {} if mode.uid is None else dict(user=mode.uid, group=mode.uid, extra_groups=[])
    proc = subprocess.Popen([*mode.prefix, boxtool.tool_path(), *words, "--", "./a", "daemons_and_exit",
                             boxtool.new_mark(), "1"], cwd=slot_folder, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, **popen)
    pieces = []
    pump = threading.Thread(target=lambda: pieces.append(proc.communicate()))
    pump.start()
    while pump.is_alive():
        seen.append(descriptors_of(proc.pid))
        time.sleep(0.02)
    pump.join()
    out, err = pieces[0]
    reports = boxtool.parse_report(out, err, proc.returncode)["runs"]
    assert len(reports) == runs and all(r["cause"] == "exit" and r["exit"] == 0 for r in reports), reports[-1]
    # Programs come and go between two looks: the middle is what stays.
    third = max(1, len(seen) // 3)
    assert statistics.median(seen[-third:]) <= statistics.median(seen[third:-third] or seen) + 4, seen


def test_strict_refuses_to_be_weak(mode, shop, slot_folder):
    """--strict with rlimits only is refused; with cgroups it runs."""
    words = ["run", "--json", *mode.options, "--strict", *boxtool.put_options(puts(shop)),
             "--", "./a", "noop", "x"]
    code, out, err = boxtool.call(mode, words, cwd=slot_folder)
    if mode.cgroup == "none":
        assert code == 3 and err.strip() and b"cause" not in out, (code, out, err)
    else:
        assert code == 0, (code, out, err)
