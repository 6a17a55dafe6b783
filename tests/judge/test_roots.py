"""A docker_image is an unpacked file system that the configuration names; here a real, small one."""

import json
import pathlib
import re
import shutil
import subprocess

import pytest

from judging import Result, run


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A shell with its libraries, a few tools, and a file that no other system has."""
    top = tmp_path_factory.mktemp("image")
    for tool in ("sh", "cat", "ls"):
        copy(top, pathlib.Path(shutil.which(tool)).resolve(), f"bin/{tool}")
    (top / "etc").mkdir()
    (top / "etc/only-here").write_text("42\n")
    return top


def copy(top, source, name):
    listed = subprocess.run(["ldd", source], capture_output=True, text=True).stdout
    for path, to in [(source, name), *((p, p.lstrip("/")) for p in re.findall(r"(/\S+)", listed))]:
        where = top / to
        where.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, where)


@pytest.fixture
def task(tmp_path):
    path = tmp_path / "task.json"
    path.write_text(json.dumps({
        "submit_id": "t", "problem": {"test_cases": [{"input": "x\n", "expected_output": "42\n"}]},
        "language": {"slug": "tiny-sh", "docker_image": "tiny:1", "source_filename": "main.sh",
                     "compile_cmd": ["/bin/sh", "-n", "main.sh"], "run_cmd": ["/bin/sh", "main.sh"]},
        "code": "cat /etc/only-here\n"}))
    return path


def test_a_task_runs_in_the_image_that_the_file_names(root, task, tmp_path):
    config = tmp_path / "tribunal.yaml"
    config.write_text(f"root:\n  - other:2=/nowhere\n  - tiny:1={root}\n")
    r = Result(run("judge", "--task", task, "--config", config, "--json"))
    assert r.verdict == "AC", r
    # The same file serves commands that have no use for it.
    assert run("config", "--config", config).returncode == 0
    assert "root" in run("config", "--sample").stdout


def test_without_it_the_hosts_folders_serve(task):
    r = Result(run("judge", "--task", task, "--json"))
    assert r.verdict == "RTE", r


def test_an_image_that_is_not_there_is_a_fault(task):
    r = run("judge", "--task", task, "--root", "tiny:1=/nowhere/at/all")
    assert r.returncode in (2, 3) and "/nowhere/at/all" in r.stderr, r.stderr


def test_nothing_of_the_host_is_in_the_image(root):
    done = run("run", "--root", root, "--", "/bin/sh", "-c", "cat /etc/only-here; ls /usr/bin /etc/passwd")
    assert "42" in done.stdout and done.returncode == 1, done
    assert "passwd" not in done.stdout
