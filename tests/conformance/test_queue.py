"""The queue on SQLite, PostgreSQL, MariaDB and MySQL: every promise of tq-conformance, and the model.

The C program runs once for each engine, all engines at the same time; each of its promises is reported as
a test of its own.
"""

import concurrent.futures
import functools
import os
import pathlib
import re
import subprocess

import pytest

from harness.needs import missing

BUILD = pathlib.Path(os.environ.get("TRIBUNAL_BUILD", "build")) / "tests/conformance"
ENGINES = ["sqlite", "postgres", "mariadb", "mysql"]
SOAK = os.environ.get("TRIBUNAL_SOAK") == "1"


@functools.cache
def promises():
    listed = subprocess.run([BUILD / "tq-conformance", "--list"], capture_output=True, text=True, check=True)
    return listed.stdout.split()


def run_all_promises(url):
    """Run the whole suite once: {promise: the text of its failure or None}."""
    done = subprocess.run([BUILD / "tq-conformance"], capture_output=True, text=True, check=False,
                          timeout=3600 if SOAK else 600, errors="replace",
                          env={**os.environ, "TRIBUNAL_QUEUE_URL": url})
    text = done.stdout + done.stderr
    passed = set(re.findall(r"^\[       OK \] (\w+)", text, re.M))
    return {name: None if name in passed else text[-6000:] for name in promises()}


@pytest.fixture(scope="module")
def outcomes(request, tmp_path_factory):
    """For every engine that a test of this run asks for, the future of what its promises came to.

    The engines run side by side: a promise mostly waits, for a disk or for a lease to run out.
    """
    wanted = {item.callspec.params["engine"] for item in request.session.items
              if getattr(item, "originalname", "") == "test_promise"}
    with concurrent.futures.ThreadPoolExecutor(len(ENGINES)) as pool:
        runs = {}
        for engine in (e for e in ENGINES if e in wanted):
            try:
                url = (f"sqlite:{tmp_path_factory.mktemp('queue')}/queue.db" if engine == "sqlite"
                       else request.getfixturevalue(engine).url)
            except (pytest.skip.Exception, pytest.fail.Exception):
                continue  # the engine's own tests say so
            runs[engine] = pool.submit(run_all_promises, url)
        yield runs


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("promise", promises())
def test_promise(engine, promise, outcomes, request):
    if engine not in outcomes:
        request.getfixturevalue(engine)  # skips or fails, with the reason
    failure = outcomes[engine].result()[promise]
    assert failure is None, failure


@pytest.mark.parametrize("engine", ENGINES)
def test_random_operations_agree_with_the_model(engine, request, tmp_path, fresh_db):
    where = f"sqlite:{tmp_path}/model.db" if engine == "sqlite" else fresh_db(request.getfixturevalue(engine))
    done = subprocess.run([BUILD / "tq-model"], capture_output=True, text=True, check=False,
                          timeout=1800, env={**os.environ, "TRIBUNAL_QUEUE_URL": where})
    assert done.returncode == 0, done.stderr + done.stdout


def test_a_full_disk_loses_nothing_and_is_survived(tmp_path):
    """SQLite on a tmpfs of 2 MiB that is made larger once it is full."""
    inside = ["unshare", "--user", "--map-root-user", "--mount"]
    if subprocess.run([*inside, "mount", "-t", "tmpfs", "none", tmp_path], capture_output=True, check=False).returncode:
        missing("no right to mount a tmpfs in a namespace")
    done = subprocess.run([*inside, "sh", "-c", 'mount -t tmpfs -o size=2m none "$1" && exec "$2" "$1"', "sh", tmp_path,
                           BUILD.resolve() / "tq-full-disk"], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
