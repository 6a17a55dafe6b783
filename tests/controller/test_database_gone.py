"""A database that is gone, or there and silent: whoever asks is refused in time, the controller ends
when it is told to, and goes on by itself when the database is back."""

import contextlib
import json
import os
import signal
import threading
import time
import urllib.error

import pytest

from controller.farm import Farm
from controller.test_chaos import four_judges, noop_task, verify, wait_judges
from harness.postgres import Postgres
from harness.wait import wait_until

POSTS = 30
LATE_S = 10  # LATE_US of src/controller/http.c
LEAVE_S = 30  # LEAVE_US of src/controller/storage.c
ROOM_S = 15  # for a busy machine


@pytest.fixture
def database():
    with Postgres() as server:
        yield server


@pytest.fixture
def farm(database):
    with Farm(db=database.url) as one:
        one.controller()
        four_judges(one)
        wait_judges(one, 4)
        yield one


def frozen(database):
    """Stops every process of the server: connections stay, answers do not come."""
    pids = [int(p) for p in os.listdir("/proc") if p.isdigit() and belongs(int(p), database.pid)]
    assert len(pids) > 3
    stack = contextlib.ExitStack()
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
        stack.callback(lambda pid=pid: os.kill(pid, signal.SIGCONT))
    return stack


def belongs(pid, server):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return pid == server or int(stat.read().rpartition(")")[2].split()[1]) == server
    except OSError:
        return False


def post(farm, number):
    """(status, seconds, the error's sentence)"""
    began = time.monotonic()
    try:
        farm.request("POST", "/api/v1/submissions", noop_task(number)[0])
        return 201, time.monotonic() - began, ""
    except urllib.error.HTTPError as err:
        return err.code, time.monotonic() - began, json.loads(err.read())["error"]["message"]


def post_many(farm, first):
    answers = []
    threads = [threading.Thread(target=lambda n=n: answers.append(post(farm, n)))
               for n in range(first, first + POSTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == POSTS
    return answers


def ready(farm):
    try:
        return farm.get("/readyz")["ready"]
    except urllib.error.HTTPError as err:
        assert err.code == 503
        return False


def refused_in_time(answers, seconds):
    for status, took, message in answers:
        assert status == 503 and "does not answer" in message, answers
        assert took < seconds, answers
        assert "127.0.0.1" not in message  # where our database is concerns nobody


def test_gone_is_refused_and_back_goes_on(database, farm):
    first = {}
    for number in range(POSTS):
        task, verdict = noop_task(number)
        farm.request("POST", "/api/v1/submissions", task)
        first[task["submit_id"]] = verdict
    database.kill9()  # in the middle of their judging
    refused_in_time(post_many(farm, 1000), ROOM_S)
    assert not ready(farm)
    with pytest.raises(urllib.error.HTTPError) as refused:
        farm.get("/api/v1/submissions")
    assert refused.value.code == 503
    database.restart()
    wait_until(lambda: ready(farm), 60, "the controller to be ready again")
    task, verdict = noop_task(2000)
    farm.request("POST", "/api/v1/submissions", task)
    verify(farm, {**first, task["submit_id"]: verdict}, 60)
    database.kill9()  # gone for good: no reason to stay
    assert post(farm, 3000)[0] == 503
    began = time.monotonic()
    assert farm.processes[0].stop(60) == 0
    assert time.monotonic() - began < ROOM_S


@pytest.mark.skipif(os.environ.get("TRIBUNAL_SOAK") != "1", reason="a minute: TRIBUNAL_SOAK=1")
def test_silent_is_refused_and_ended(database, farm):
    with frozen(database):
        answers = post_many(farm, 1)
        refused_in_time(answers, LATE_S + ROOM_S)
        assert all("same idempotency key" in message for _, _, message in answers)
        assert not ready(farm)
        assert farm.get("/api/v1/judges")["judges"]  # what needs no database is answered
        began = time.monotonic()
        assert farm.processes[0].stop(90) == 1
        assert time.monotonic() - began < LEAVE_S + ROOM_S
        assert "ended without it" in farm.processes[0].tail()
