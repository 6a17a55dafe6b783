"""A judge straight on the database's queue: tribunal-worker --db URL --queues …, no controller.

Jobs are enqueued by a web site, which has nothing but the queue: the job carries the whole task. A
controller on the same database only tells what becomes of them.
"""

import json
import random
import subprocess

import pytest

from controller.farm import ROOT, TRIBUNAL, WORKER, Farm
from controller.test_chaos import RIGHT, SEED, SOAK, WRONG, Disaster, verify, verify_events, \
    verify_rows
from harness import wait_until
from harness.eater import CommitEater

COUNT = 2000 if SOAK else 20


def task(number):
    wrong = number % 3 == 0
    return {"submit_id": f"q-{number:04}", "user": {"id": number % 5, "username": "alice"},
            "language": {"slug": "python3"}, "code": (WRONG if wrong else RIGHT) + f"# {number}\n",
            "problem": {"id": 1, "title": "A+B", "time_limit": 5000, "memory_limit": 256,
                        "test_cases": [{"input": "1 2\n", "expected_output": "3\n"},
                                       {"input": "5 7\n", "expected_output": "12\n"}]}}, \
        "WA" if wrong else "AC"


def enqueue(farm, payload, queue="light"):
    done = subprocess.run([TRIBUNAL, "queue", "enqueue", "--db", farm.db, "--queue", queue,
                           "--payload", "-", "--json-payload", "--max-attempts", "100"],
                          input=json.dumps(payload), text=True, capture_output=True, timeout=30,
                          env=farm.environment)
    assert done.returncode == 0, done.stderr


def judge(farm, name, queues="light,heavy", slots=1, logs="none"):
    return farm.add(name, [WORKER, "--worker-id", name, "--db", farm.db, "--queues", queues,
                           "--concurrency", slots, "--languages", ROOT / "languages",
                           "--lease", "3s", "--log-store", logs, "--state", farm.folder / name])


def migrated(farm):
    (farm.folder / "data").mkdir(exist_ok=True)
    subprocess.run([TRIBUNAL, "queue", "migrate", "up", "--db", farm.db], check=True, timeout=60,
                   capture_output=True, env=farm.environment)


@pytest.fixture(params=["sqlite", "postgres"])
def farm(request, fresh_db):
    db = None if request.param == "sqlite" else fresh_db(request.getfixturevalue("postgres"))
    with Farm(db=db) as one:
        migrated(one)
        yield one


def test_tasks_of_a_site_that_has_only_the_queue_are_judged_once(farm):
    """Judges are killed meanwhile; both queues are served; every task has one right verdict."""
    farm.controller()  # it has no part in it, and tells of it all the same
    judges = [judge(farm, f"sql-{i}") for i in range(2)]
    chance = random.Random(SEED)

    def strike():
        victim = chance.choice(judges)
        victim.kill9()
        victim.start()

    expected = {}
    with Disaster(strike, 2):
        for number in range(COUNT):
            payload, verdict = task(number)
            enqueue(farm, payload, "heavy" if number % 5 == 0 else "light")
            expected[payload["submit_id"]] = verdict
    verify_rows(farm, expected, 900 if SOAK else 90)
    verify_events(farm, expected)


def test_answers_of_commits_are_lost(postgres, fresh_db):
    db = fresh_db(postgres)
    with CommitEater(postgres.port) as eater, Farm(db=db) as farm:
        migrated(farm)
        farm.db = db.replace(f":{postgres.port}/", f":{eater.port}/")
        judges = [judge(farm, f"sql-{i}") for i in range(2)]
        farm.db = db
        expected = {}
        eater.every = 7
        for number in range(COUNT):
            payload, verdict = task(number)
            enqueue(farm, payload)
            expected[payload["submit_id"]] = verdict
        farm.controller()
        verify(farm, expected, 90)
        assert eater.eaten > 3 and all(j.alive() for j in judges)


def test_a_payload_that_is_no_task_is_buried_and_others_flow(farm):
    worker = judge(farm, "sql-1", logs=farm.folder / "logs")
    enqueue(farm, {"nonsense": True})
    payload, verdict = task(1)
    enqueue(farm, payload)
    farm.controller()
    verify_rows(farm, {payload["submit_id"]: verdict}, 40)

    def buried():
        done = subprocess.run([TRIBUNAL, "queue", "dead", "--db", farm.db, "--json"], text=True,
                              capture_output=True, timeout=30, env=farm.environment)
        return [j["state"] for j in json.loads(done.stdout)["jobs"]] == ["dead_letter"]
    wait_until(buried, 20, "the other one to be buried")
    kept = farm.folder / "logs/submissions" / payload["submit_id"]
    wait_until(lambda: (kept / "result.json").exists() and (kept / "case_1.stdout").exists(), 20,
               "its logs")
    assert worker.stop(30) == 0
    assert "the job has no submit_id" in worker.tail()
    assert list((farm.folder / "sql-1").rglob("new-*")) == []
