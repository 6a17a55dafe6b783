"""The truth table of the worker (doc/decisions/0420-the-truth-table.md), row by row, on every engine,
with handlers in threads and in processes."""

import functools
import os
import pathlib
import re
import subprocess

import pytest

BUILD = pathlib.Path(os.environ.get("TRIBUNAL_BUILD", "build")) / "tests/queue-worker"
ENGINES = ["sqlite", "postgres", "mariadb", "mysql"]
MODES = ["threads", "processes"]


@functools.cache
def rows(mode):
    listed = subprocess.run([BUILD / "tq-truth", "--list", mode], capture_output=True, text=True, check=True)
    return listed.stdout.split()


@functools.cache
def outcomes(url, mode):
    """Check the whole table once: {row: what is wrong, or None}."""
    done = subprocess.run([BUILD / "tq-truth", mode], capture_output=True, text=True, check=False, timeout=300,
                          env={**os.environ, "TRIBUNAL_QUEUE_URL": url})
    passed = set(re.findall(r"^ok (\w+)$", done.stdout, re.M))
    wrong = dict(re.findall(r"^not ok (\w+): (.*)$", done.stdout, re.M))
    return {row: None if row in passed else wrong.get(row, done.stdout + done.stderr) for row in rows(mode)}


@pytest.fixture(scope="module")
def sqlite_folder(tmp_path_factory):
    return tmp_path_factory.mktemp("truth")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("mode,row", [(mode, row) for mode in MODES for row in rows(mode)])
def test_row(engine, mode, row, request, sqlite_folder):
    url = f"sqlite:{sqlite_folder}/{mode}.db" if engine == "sqlite" else request.getfixturevalue(engine).url
    wrong = outcomes(url, mode)[row]
    assert wrong is None, wrong
