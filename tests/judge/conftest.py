"""`tribunal judge` from the outside: every test hands it files and reads its JSON."""

import json
import os

import pytest

from judging import Result, run


@pytest.fixture(scope="session", autouse=True)
def warm():
    """What make install does: standard headers are precompiled before anybody submits."""
    done = run("lang", "warm", timeout=300)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="session")
def languages():
    """Slugs that are usable here."""
    done = run("lang", "list", "--json")
    return {row["slug"] for row in json.loads(done.stdout) if row["usable"]}


@pytest.fixture
def problem(tmp_path):
    """A function that makes a problem folder: tests as pairs, and files beside them."""
    def make(tests=(("20 22\n", "42\n"),), files=None, yaml=None, name="problem"):
        folder = tmp_path / name
        folder.mkdir()
        for i, (given, answer) in enumerate(tests, 1):
            (folder / f"{i}.in").write_text(given)
            (folder / f"{i}.out").write_text(answer)
        (folder / "problem.yaml").write_text(
            yaml or "time_limit: 500\nmemory_limit: 64\noutput_limit: 1024\n")
        for path, text in (files or {}).items():
            where = folder / path
            where.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(text, bytes):
                where.write_bytes(text)
            else:
                where.write_text(text)
        return folder
    return make


@pytest.fixture
def judge(tmp_path):
    """A function that judges source text (or bytes) and gives a Result."""
    def do(source, folder, name="main.c", *flags, timeout=120):
        path = tmp_path / name
        if isinstance(source, bytes):
            path.write_bytes(source)
        else:
            path.write_text(source)
        return Result(run("judge", path, "-p", folder, "--json", *flags, timeout=timeout))
    return do


@pytest.fixture(autouse=True)
def nothing_is_left(request):
    """No folder, and no box, outlives the command that made it."""
    if "leaves_nothing" not in request.keywords:
        yield
        return
    before = set(os.listdir("/tmp"))
    yield
    after = {n for n in os.listdir("/tmp") if n.startswith("tribunal-problem-")}
    assert not after - before


def pytest_configure(config):
    config.addinivalue_line("markers", "leaves_nothing: nothing of ours is in /tmp afterwards")
