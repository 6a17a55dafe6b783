"""Judging can be stopped at any moment, and leaves nothing behind."""

import signal
import subprocess
import time
import zipfile

import pytest

from harness.wait import wait_until
from judging import ENV, HONEST, TRIBUNAL, Result, run

COMPILES_LONG = "\n".join(f"#define A{i} A{i-1} A{i-1}" for i in range(1, 27)) + \
    "\n#define A0 x\nint main(void){ return A26; }\n"
RUNS_LONG = "int main(void){for(;;);}\n"


def children_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as f:
        return [int(x) for x in f.read().split()]


def ticks(pid):
    """CPU of a process and of what it waited for, in ticks."""
    with open(f"/proc/{pid}/stat") as f:
        return sum(int(w) for w in f.read().rsplit(")", 1)[1].split()[11:15])


def busy(pid):
    """Somewhere below, a process of a box uses CPU: it compiles or runs."""
    below = children_of(pid)
    for p in below:
        below += children_of(p)
    return any(ticks(p) > 20 for p in below)


@pytest.mark.leaves_nothing
@pytest.mark.parametrize("source", [COMPILES_LONG, RUNS_LONG], ids=["compiling", "running"])
def test_an_interrupted_judging_ends_at_once_and_cleans_up(source, tmp_path, problem):
    folder = problem(yaml="time_limit: 30000\nmemory_limit: 512\n")
    archive = tmp_path / "problem.zip"
    with zipfile.ZipFile(archive, "w") as z:
        for f in folder.iterdir():
            z.write(f, f.name)
    path = tmp_path / "main.c"
    path.write_text(source)
    p = subprocess.Popen([TRIBUNAL, "judge", path, "-p", archive, "--no-cache"], env=ENV,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        wait_until(lambda: busy(p.pid), 30, "a busy box")
        began = time.monotonic()
        p.send_signal(signal.SIGINT)
        _, said = p.communicate(timeout=20)
    finally:
        p.kill()
        p.wait()
    assert p.returncode == 3 and "stopped" in said, said
    assert time.monotonic() - began < 2
    path.write_text(HONEST)
    assert Result(run("judge", path, "-p", archive, "--json")).verdict == "AC"
