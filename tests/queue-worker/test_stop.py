"""A worker under load that is told to stop, and one whose database goes away and comes back."""

import json
import os
import pathlib
import signal
import subprocess
import time

import pytest

from harness.wait import wait_until

BUILD = pathlib.Path(os.environ.get("TRIBUNAL_BUILD", "build"))
CHAOS = BUILD / "tests/queue-worker/tq-chaos"
TRIBUNAL = BUILD / "src/cli/tribunal"
DRAIN = 5  # seconds, in tq-chaos


def run(url, *words):
    done = subprocess.run([CHAOS, *words], env={**os.environ, "TRIBUNAL_QUEUE_URL": url}, capture_output=True,
                          text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def start(url, verb, mode):
    return subprocess.Popen([CHAOS, verb, mode], env={**os.environ, "TRIBUNAL_QUEUE_URL": url},
                            stdout=subprocess.PIPE, text=True)


def counted(url):
    return json.loads(run(url, "count"))


@pytest.mark.parametrize("mode", ["threads", "processes"])
@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
def test_sigterm_under_load_loses_nothing_and_returns_in_time(engine, mode, request, fresh_db, tmp_path):
    url = f"sqlite:{tmp_path}/stop.db" if engine == "sqlite" else fresh_db(request.getfixturevalue(engine))
    run(url, "prepare", "3000")
    worker = start(url, "work", mode)
    wait_until(lambda: counted(url)["completed"] > 20, what="some jobs to be done", timeout=30)
    worker.send_signal(signal.SIGTERM)
    begun = time.monotonic()
    said = json.loads(worker.communicate(timeout=30)[0])
    assert time.monotonic() - begun < DRAIN
    found = counted(url)
    assert found["running"] == 0
    assert found["rows"] == found["distinct"] == found["history"] == found["completed"]
    assert found["rows"] + found["left"] == 3000
    assert said["lost"] == 0 and said["ran_out"] == 0


@pytest.mark.parametrize("mode", ["threads", "processes"])
def test_a_second_sigterm_gives_everything_back_now(mode, tmp_path):
    url = f"sqlite:{tmp_path}/stop.db"
    run(url, "prepare", "50")
    worker = start(url, "hold", mode)
    wait_until(lambda: counted(url)["running"] > 4, what="jobs to run", timeout=30)
    worker.send_signal(signal.SIGTERM)
    worker.send_signal(signal.SIGTERM)
    worker.communicate(timeout=DRAIN)
    found = counted(url)
    assert found["running"] == 0 and found["rows"] + found["left"] == 50


@pytest.mark.parametrize("engine,mode", [("postgres", "threads"), ("mysql", "processes")])
def test_handlers_run_on_while_the_database_restarts(engine, mode, own_server):
    server = own_server(engine)
    run(server.url, "prepare", "24")
    worker = start(server.url, "hold", mode)
    wait_until(lambda: counted(server.url)["running"] > 3, what="jobs to run", timeout=30)
    server.kill9()
    server.restart()
    wait_until(lambda: counted(server.url)["left"] == 0, what="all jobs to be done", timeout=60)
    assert worker.poll() is None
    worker.send_signal(signal.SIGTERM)
    said = json.loads(worker.communicate(timeout=30)[0])
    assert said["errors"] > 0, said
    found = counted(server.url)
    assert found["rows"] == found["distinct"] == found["completed"] == found["history"] == 24


def tribunal(*words, **more):
    return subprocess.run([TRIBUNAL, "queue", *words], capture_output=True, text=True, check=False, timeout=60,
                          **more)


@pytest.fixture
def db(tmp_path):
    url = f"sqlite:{tmp_path}/work.db"
    assert tribunal("migrate", "up", "--db", url).returncode == 0
    return url


def put(db, payload, *words):
    done = tribunal("enqueue", "--db", db, "--payload", "-", *words, input=payload)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def shown(db, job):
    return json.loads(tribunal("show", "--db", db, "--json", job).stdout)


@pytest.mark.parametrize("code,state,error", [
    (0, "completed", None), (65, "dead_letter", "exit status 65: broken"), (75, "scheduled", "exit status 75: broken"),
    (1, "scheduled", "exit status 1: broken"),
])
def test_the_exit_code_of_a_command_decides(code, state, error, db):
    job = put(db, "hello\n", "--kind", "greeting")
    done = tribunal("work", "--db", db, "--until-empty", "--json", "--exec",
                    f'cat; echo "$TRIBUNAL_JOB_ID $TRIBUNAL_JOB_KIND"; echo broken >&2; exit {code}')
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["acked"] == (code == 0)
    found = shown(db, job)
    found = found.get("job", found)
    assert found["state"] == state
    assert found["result"] == (error or f"hello\n{job} greeting\n")


def test_a_command_that_takes_too_long_is_stopped(db):
    job = put(db, "x")
    done = tribunal("work", "--db", db, "--until-empty", "--timeout", "200ms", "--exec", "sleep 30 & sleep 30")
    assert done.returncode == 0, done.stderr
    found = shown(db, job)
    found = found.get("job", found)
    assert found["state"] == "scheduled" and "signal 15" in found["result"]


def test_a_command_need_not_read_its_input(db):
    job = put(db, "x" * 1_000_000)
    assert tribunal("work", "--db", db, "--until-empty", "--exec", "true").returncode == 0
    found = shown(db, job)
    assert found.get("job", found)["state"] == "completed"
