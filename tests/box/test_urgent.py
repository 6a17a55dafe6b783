"""test_urgent.py - who watches a program near its CPU limit is on time, and nobody else pays for it."""

import os
import subprocess
import time

import pytest

import boxtool
import rows
from boxtool import wait_for

LIMITS = {**rows.LIMITS, "wall": "1s"}
TICKS = os.sysconf("SC_CLK_TCK")


@pytest.fixture
def tool(mode, shop, slot_folder, skip_row):
    """Starts the tool with commands that run one after the other in one container."""
    if mode.uid is not None:
        skip_row(mode, "urgent", "only root can give a real-time priority")
    if subprocess.run(["chrt", "-f", "1", "true"], capture_output=True).returncode != 0:
        skip_row(mode, "urgent", "this host gives no real-time priority")
    started = []

    def start(first, *then, limits):
        words = boxtool.limit_options({**LIMITS, **limits}) + [w for t in then for w in ("--then", t)]
        started.append(subprocess.Popen(
            [*mode.prefix, boxtool.tool_path(), "run", "--json", *mode.options,
             *boxtool.put_options({"a": shop.programs["attacker"]}), *words, "--", *first.split()],
            cwd=slot_folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            env={"PATH": os.environ["PATH"], "TMPDIR": str(slot_folder)}))
        return started[0]

    yield start
    for proc in started:
        proc.kill()
        proc.communicate()


def child_of(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as f:
            return int((f.read().split() or [0])[0])
    except OSError:
        return 0


def command(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as f:
            return f.read()
    except OSError:
        return b""


def first_process(proc):
    def helper():
        pid = child_of(proc.pid)
        return b"helper" in command(pid) and pid

    return wait_for(lambda: child_of(wait_for(helper, "the tool started no helper")), "there is no container")


def policy(pid):
    try:
        return os.sched_getscheduler(pid)
    except ProcessLookupError:
        return None


def cpu_s(pid):
    """What it has used, or None when it is gone."""
    try:
        with open(f"/proc/{pid}/stat") as f:
            words = f.read().rpartition(")")[2].split()
    except OSError:
        return None
    return (int(words[11]) + int(words[12])) / TICKS


def test_a_program_at_rest_below_its_limit_keeps_nobody_busy(mode, tool):
    """It is watched with priority for as long as it likes, so that must cost next to nothing."""
    proc = tool("./a spin_and_rest mark 290000", limits={"time": "300ms", "wall": "2s"})
    first = first_process(proc)
    wait_for(lambda: policy(first) == os.SCHED_FIFO, "near the limit it has no priority")
    since, used = time.monotonic(), cpu_s(first)
    last = used
    while (now := cpu_s(first)) is not None and proc.poll() is None:
        last = now
        time.sleep(0.01)
    assert last - used < 0.2 * (time.monotonic() - since) + 0.05, (used, last)


def test_the_priority_is_given_back(mode, tool):
    """One run ends over its limit, the next one is far from it."""
    proc = tool("./a spin mark", "./a sleeper second-of-two", limits={"time": "100ms"})
    first = first_process(proc)
    wait_for(lambda: b"second-of-two" in command(child_of(first)), "the second run did not start")
    assert policy(first) == os.SCHED_OTHER
