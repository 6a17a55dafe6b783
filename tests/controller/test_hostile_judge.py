"""A judge that has a key and means harm, or is broken: it hurts itself alone."""

import json
import urllib.error
import urllib.request

import pytest

from harness import wait_until
from judge import Closed, Socket, fence


def result(**more):
    return {"verdict": "AC", "accepted_test": 1, "total_test": 1, "time_ms": 3, "memory_kb": 1024,
            "cases": [], **more}


@pytest.mark.parametrize("label, change, field", [
    ("before its beginning", {"result": result(time_ms=-1)}, "result.time_ms"),
    ("as long as the world", {"result": result(time_ms=2**62)}, "result.time_ms"),
    ("a time that is a text", {"result": result(time_ms="3")}, "result.time_ms"),
    ("less than no memory", {"result": result(memory_kb=-1)}, "result.memory_kb"),
    ("more than there is", {"result": result(memory_kb=2**62)}, "result.memory_kb"),
    ("too many tests", {"result": result(cases=[1] * 1001)}, "result.cases"),
    ("tests that are none", {"result": result(cases={"a": 1})}, "result.cases"),
    ("a score without end", {"score": 1e308}, "score"),
    ("a score that is a text", {"score": "100"}, "score"),
])
def test_numbers_that_cannot_be_are_refused(server, judges, label, change, field):
    judge = judges(server).ready()
    server.submit(user=label)
    task = judge.task()
    judge.answer(task, **change)
    error = judge.expect("error")
    assert (error["code"], error["field"]) == ("bad_field", field)
    assert judge.settle(task) == "finished", "the right one is still taken"


def test_what_another_judge_has_cannot_be_taken_by_guessing(server, judges):
    honest = judges(server, "honest").ready(tokens=1)
    server.submit(submit_id="guessed")
    task = honest.task()
    thief = judges(server, "thief").ready(tokens=0, running=[
        {**fence(task), "ticket": task["ticket"]},
        {"submit_id": "none", "run_lease": 1, "ticket": task["ticket"]}])
    adopted = thief.expect("adopted")
    assert adopted["tasks"] == [] and len(adopted["lost"]) == 2
    assert honest.beat([task])["lost"] == []
    # and its job is still there: given back, it comes again
    assert honest.settle(task, kind="returned") == "returned"
    again = honest.task()
    assert again["submit_id"] == "guessed" and honest.settle(again) == "finished"


@pytest.mark.parametrize("name", ["case_1001.stdout", "case_0001.stdout", "case_.stdout", "case_1.txt",
                                  "transcript_1.stdout", "case_99999999999.stdout", "..", "a.sh"])
def test_logs_have_names_of_a_closed_list(server, judges, name):
    judge = judges(server).ready()
    task = given(server, judge)

    def put(name):
        url = f"{server.url}/judge/v1/logs/{task['submit_id']}/{task['run_lease']}/{name}"
        request = urllib.request.Request(url, b"x", method="PUT", headers={
            "Authorization": f"Bearer {judge.credential}"})
        try:
            with urllib.request.urlopen(request) as answer:
                return answer.status
        except urllib.error.HTTPError as err:
            with err:
                return err.code
    assert put(name) in (404, 422)
    assert put("case_1000.stdout") == 201
    judge.settle(task)


def given(server, judge):
    server.submit()
    return judge.task()


def test_a_flood_of_progress_ends_its_session_and_reaches_nobody(server, judges):
    listener = Socket(f"ws://127.0.0.1:{server.port}/ws/backend",
                      headers={"Authorization": f"Bearer {server.keys['read']}"})
    listener.send({"type": "subscribe"})
    listener.expect("subscribed")
    judge = judges(server).ready()
    task = given(server, judge)
    with pytest.raises((Closed, Exception)):
        for i in range(100000):
            judge.send({"type": "progress", **fence(task), "stage": "running", "done": i,
                        "cases": [{"id": i, "status": "AC", "essay": "x" * 1000}]})
    assert judge.closed().code == 4002
    listener.expect("judge", state="lost")
    server.ask("POST", f"/api/v1/submissions/{task['submit_id']}/cancel")
    listener.close()


def test_what_is_shown_of_a_judge_is_what_is_documented(server, judges):
    """Words of the wrong type would break the page for everybody; long ones the list."""
    judge = judges(server, "shown").ready(
        languages=["cpp17"], cores="many", calibration=[], classes=["light", 7, {}],
        box={"weak": "all", "mode": {"x": 1}, "essay": "x" * 100000}, essay="x" * 1000000)
    judge.seq += 1
    judge.send({"type": "heartbeat", "seq": judge.seq, "load": {}, "slots": "four", "busy": [],
                "cache": {"hits": "many", "misses": 3}, "essay": "x" * 1000000})
    judge.expect("beat")
    one = server.get("/api/v1/judges/shown")
    assert len(json.dumps(one)) < 2000
    assert one["classes"] == ["light"] and one["box"] == {} and one["cache"] == {"misses": 3}
    assert not {"cores", "calibration", "load", "slots", "busy"} & set(one)


def test_heartbeats_without_a_pause_renew_all_the_same(server, judges):
    judge = judges(server).ready()
    task = given(server, judge)
    for seq in range(300):
        judge.send({"type": "heartbeat", "seq": seq, "running": [fence(task)]})
    judge.seq = 1000
    wait_until(lambda: beat_answered(judge, task), 10, "an answer")
    assert judge.settle(task) == "finished"


def beat_answered(judge, task):
    judge.seq += 1
    judge.send({"type": "heartbeat", "seq": judge.seq, "running": [fence(task)]})
    while (answer := judge.expect("beat"))["seq"] < 1000:
        pass
    return answer["lost"] == []
