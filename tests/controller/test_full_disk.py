"""A disk that is full: what was answered 201 is there, what cannot be stored is refused, and the
controller goes on by itself when there is room again."""

import contextlib
import json
import os
import subprocess
import urllib.error

import pytest

from controller.farm import Farm
from controller.test_chaos import four_judges, noop_task, verify, wait_judges
from harness.needs import missing


@pytest.fixture
def farm():
    """A farm whose data folder is a disk of 24 MB."""
    if os.geteuid() != 0:
        missing("a small disk: needs root")
    with Farm() as one:
        disk = one.folder / "data"
        disk.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "small", disk], check=True)
        try:
            yield one
        finally:
            for process in one.processes:
                with contextlib.suppress(AssertionError):
                    process.stop()
            subprocess.run(["umount", "-l", disk], check=True)


def fill(path):
    with open(path, "wb", buffering=0) as out:
        with contextlib.suppress(OSError):
            while True:
                out.write(b"\0" * 4096)


def test_accepted_is_on_disk_and_refused_is_said(farm):
    controller = farm.controller()
    four_judges(farm)
    wait_judges(farm, 4)
    filler = farm.folder / "data/filler"
    fill(filler)
    expected, refused = {}, []
    for number in range(60):
        task, verdict = noop_task(number)
        task["code"] += "#" * 60000  # room of its own
        try:
            farm.request("POST", "/api/v1/submissions", task)
            expected[task["submit_id"]] = verdict
        except urllib.error.HTTPError as err:
            refused.append((err.code, json.loads(err.read())["error"]))
        if number == 40:
            filler.unlink()
    assert len(refused) > 20 and len(expected) >= 19
    for status, error in refused:
        assert status in (500, 503) and "full" in error["message"], refused
    assert controller.alive()
    verify(farm, expected, 60)
