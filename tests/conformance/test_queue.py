"""The queue on SQLite, PostgreSQL, MariaDB and MySQL: every promise of tq-conformance, and the model.

The C program runs once for each engine; each of its promises is reported as a test of its own.
"""

import functools
import os
import pathlib
import re
import subprocess

import pytest

BUILD = pathlib.Path(os.environ.get("TRIBUNAL_BUILD", "build")) / "tests/conformance"
ENGINES = ["sqlite", "postgres", "mariadb", "mysql"]
SOAK = os.environ.get("TRIBUNAL_SOAK") == "1"


@functools.cache
def promises():
    listed = subprocess.run([BUILD / "tq-conformance", "--list"], capture_output=True, text=True, check=True)
    return listed.stdout.split()


@functools.cache
def outcomes(url):
    """Run the whole suite once: {promise: the text of its failure or None}."""
    done = subprocess.run([BUILD / "tq-conformance"], capture_output=True, text=True, check=False,
                          timeout=3600 if SOAK else 300, errors="replace",
                          env={**os.environ, "TRIBUNAL_QUEUE_URL": url})
    text = done.stdout + done.stderr
    passed = set(re.findall(r"^\[       OK \] (\w+)", text, re.M))
    return {name: None if name in passed else text[-6000:] for name in promises()}


@pytest.fixture(scope="module")
def sqlite_url(tmp_path_factory):
    return f"sqlite:{tmp_path_factory.mktemp('queue')}/queue.db"


@pytest.fixture
def url(engine, request, sqlite_url):
    return sqlite_url if engine == "sqlite" else request.getfixturevalue(engine).url


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("promise", promises())
def test_promise(engine, promise, url):
    failure = outcomes(url)[promise]
    assert failure is None, failure


@pytest.mark.parametrize("engine", ENGINES)
def test_random_operations_agree_with_the_model(engine, request, tmp_path, fresh_db):
    where = f"sqlite:{tmp_path}/model.db" if engine == "sqlite" else fresh_db(request.getfixturevalue(engine))
    done = subprocess.run([BUILD / "tq-model"], capture_output=True, text=True, check=False,
                          timeout=1800, env={**os.environ, "TRIBUNAL_QUEUE_URL": where})
    assert done.returncode == 0, done.stderr + done.stdout
