"""A judge that root starts and that is root no more: `tribunal-worker --user`."""

import os
import pathlib
import pwd
import signal

import pytest

from controller.farm import ROOT, WORKER, Farm
from controller.test_chaos import verify_rows
from controller.test_sql_judge import enqueue, migrated, task
from harness import wait_until
from harness.needs import missing

CPP = "#include <iostream>\nint main() { long a, b; std::cin >> a >> b; std::cout << a + b << '\\n'; }\n"


def family(pid):
    """The pids of a process and of everything below it."""
    found = [pid]
    for one in found:
        for thread in pathlib.Path(f"/proc/{one}/task").iterdir():
            found += map(int, (thread / "children").read_text().split())
    return found


def about(pid):
    """Name, uids and capabilities of a process."""
    lines = dict(line.split(":", 1) for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines())
    command = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    return command, set(lines["Uid"].split()), int(lines["CapPrm"], 16) | int(lines["CapEff"], 16)


@pytest.fixture
def farm(postgres, fresh_db):
    if os.geteuid() != 0:
        missing("only root can become somebody else")
    with Farm(db=fresh_db(postgres)) as one:
        one.folder.chmod(0o755)
        migrated(one)
        yield one


def start(farm, user="nobody"):
    return farm.add("low", [WORKER, "--user", user, "--worker-id", "low", "--db", farm.db, "--queues", "light",
                            "--concurrency", 2, "--languages", ROOT / "languages", "--cache", farm.folder / "kept",
                            "--state", farm.folder / "low"])


def test_only_helpers_stay_root(farm):
    worker = start(farm)
    expected = {}
    for number in range(4):
        payload, verdict = task(number)
        if number == 1:
            payload = {**payload, "code": CPP, "language": {"slug": "cpp17"}}
        enqueue(farm, payload)
        expected[payload["submit_id"]] = verdict
    farm.controller()
    verify_rows(farm, expected, 60)
    nobody = str(pwd.getpwnam("nobody").pw_uid)
    low, launchers = [], []
    for pid in family(worker.popen.pid):
        command, uids, caps = about(pid)
        if b"launcher" in command:
            launchers.append(pid)
        elif command[0].endswith((b"tribunal-worker", b"tribunal-slot")):
            low.append(pid)
            assert uids == {nobody} and caps == 0, (command, uids, hex(caps))
    assert len(low) == 3 and len(launchers) == 1
    # A slot that dies gets its boxes from the launcher as well.
    os.kill(low[-1], signal.SIGKILL)
    payload, verdict = task(5)
    enqueue(farm, payload)
    verify_rows(farm, {payload["submit_id"]: verdict}, 40)
    # Nobody left could start it again.
    os.kill(launchers[0], signal.SIGKILL)
    wait_until(lambda: not worker.alive(), 20, "the worker to give up")
    assert worker.popen.returncode == 3 and "the launcher of boxes ended" in worker.tail()


def test_who_it_cannot_be(farm):
    for user, why in (("no-such-user", "there is no user"), ("root", "is root")):
        worker = start(farm, user)
        assert worker.popen.wait(20) == 2 and why in worker.tail(), worker.tail()
