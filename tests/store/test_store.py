"""The submission store on SQLite, PostgreSQL, MariaDB and MySQL: every promise of store-conformance.

The C program runs once for each engine; each of its promises is reported as a test of its own.
"""

import functools
import os
import pathlib
import re
import subprocess

import pytest

PROGRAM = pathlib.Path(os.environ.get("TRIBUNAL_BUILD", "build")) / "tests/store/store-conformance"
ENGINES = ["sqlite", "postgres", "mariadb", "mysql"]


@functools.cache
def promises():
    return subprocess.run([PROGRAM, "--list"], capture_output=True, text=True, check=True).stdout.split()


@functools.cache
def outcomes(url):
    """Run the whole suite once: {promise: the text of its failure or None}."""
    done = subprocess.run([PROGRAM], capture_output=True, text=True, check=False, timeout=120,
                          errors="replace", env={**os.environ, "TRIBUNAL_STORE_URL": url})
    text = done.stdout + done.stderr
    passed = set(re.findall(r"^\[       OK \] (\w+)", text, re.M))
    return {name: None if name in passed else text[-6000:] for name in promises()}


@pytest.fixture(scope="module")
def urls(tmp_path_factory, request):
    """A function: the URL of one database for each engine, for the whole module."""
    made = {"sqlite": f"sqlite:{tmp_path_factory.mktemp('store')}/store.db"}

    def url(engine):
        if engine not in made:
            context = request.getfixturevalue(engine).new_database()
            made[engine] = context.__enter__()
            request.addfinalizer(lambda: context.__exit__(None, None, None))
        return made[engine]
    return url


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("promise", promises())
def test_promise(engine, promise, urls):
    failure = outcomes(urls(engine))[promise]
    assert failure is None, failure
