"""What a judge promises its controller (doc/protocol.md §2), whatever the controller does.

The judge is the real one with nothing behind it (tests/drivers/ws_judge.c); the controller is a
script, because these promises are about controllers that break off, lie or come back changed.
"""

import base64
import hashlib
import os
import pathlib
import re
import signal
import socket
import subprocess

import pytest

from controller.scripted import KEY, Controller, task

BUILD = pathlib.Path(os.environ.get("TRIBUNAL_BUILD", "build"))


@pytest.fixture
def controller():
    with Controller() as one:
        yield one


@pytest.fixture
def judge(controller):
    """A function that starts the judge; it is ended with the test."""
    started = []

    def start(*urls, name="w1", key=KEY, slots=2, delay_ms=0):
        process = subprocess.Popen(
            [BUILD / "tests/drivers/ws_judge", name, key, str(slots), str(delay_ms),
             *(urls or [controller.url])], stdout=subprocess.PIPE, text=True)
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()


def exit_of(process):
    """How it ended by itself: code and its last line."""
    out, _ = process.communicate(timeout=20)
    return process.returncode, out.strip().splitlines()[-1]


def test_a_judge_proves_itself_and_says_what_it_can(controller, judge):
    judge()
    ready = controller.next_judge().welcome(running=[])
    assert ready["tokens"] == 2 and ready["memory_mib"] == 16384
    assert {"slug": "cpp17", "version": "none"} in ready["languages"]


def test_a_task_is_answered_with_its_fence_and_ticket(controller, judge):
    judge()
    s = controller.next_judge()
    s.welcome()
    s.say(**task("s1", 7, code="verdict:WA"))
    result = s.hear("result")
    assert (result["submit_id"], result["run_lease"], result["ticket"]) == ("s1", 7, "t.s1.7")
    assert result["result"]["verdict"] == "WA" and result["status"] == "FINISHED"


def test_a_controller_that_cannot_prove_itself_gets_nothing(controller, judge):
    process = judge()
    s = controller.next_judge()
    s.greet()
    s.hear("auth")
    s.say(type="welcome", proof="0" * 64, credential="ts_x", session="1", heartbeat_ms=5000,
          grace_ms=10000, lease_ms=25000, max_frame=1)
    assert s.heard_close() == 1000
    code, last = exit_of(process)
    assert code == 3 and "could not prove" in last


@pytest.mark.parametrize("code", ["bad_key", "judge_taken", "bad_version"])
def test_a_refusal_at_the_first_greeting_ends_the_judge_with_a_sentence(controller, judge, code):
    process = judge()
    s = controller.next_judge()
    s.greet()
    s.hear("auth")
    s.say(type="error", code=code, message="no such key here")
    s.close(4001)
    assert exit_of(process) == (3, f"ended the controller says {code}: no such key here")


def test_another_version_of_the_protocol_ends_the_judge(controller, judge):
    process = judge()
    controller.next_judge().greet(protocol=2)
    code, last = exit_of(process)
    assert code == 3 and "another version" in last


@pytest.mark.parametrize("code,says", [("replaced", "another --worker-id"),
                                       ("revoked", "revoked")])
def test_a_replaced_or_revoked_judge_does_not_come_back(controller, judge, code, says):
    process = judge()
    s = controller.next_judge()
    s.welcome()
    s.say(type="bye", code=code, message="")
    s.close(4003)
    status, last = exit_of(process)
    assert status == 3 and says in last


@pytest.mark.parametrize("how", ["cut", "close", "shutdown"])
def test_a_judge_comes_back_with_what_it_holds(controller, judge, how):
    judge(delay_ms=60000)
    s = controller.next_judge()
    s.welcome(running=[])
    s.say(**task("s1", 3))
    s.say(**task("s2", 1))
    if how == "shutdown":
        s.say(type="bye", code="shutdown", message="the controller stops")
    (s.cut if how == "cut" else s.close)()
    again = controller.next_judge().welcome(running=[("s1", 3), ("s2", 1)])
    assert again["running"][0]["ticket"] == "t.s1.3"


def test_an_unsettled_result_is_said_again_under_the_new_fence(controller, judge):
    judge()
    s = controller.next_judge()
    s.welcome()
    s.say(**task("s1", 1))
    assert s.hear("result")["run_lease"] == 1
    s.cut()
    s = controller.next_judge()
    s.welcome(running=[("s1", 1)])
    s.say(type="adopted", lost=[], tasks=[{"submit_id": "s1", "run_lease": 1, "new_run_lease": 2,
                                           "ticket": "new"}])
    result = s.hear("result")
    assert (result["run_lease"], result["ticket"]) == (2, "new")
    s.settle(result)
    s.cut()
    controller.next_judge().welcome(running=[])


def test_a_settled_task_is_forgotten_and_a_lost_one_stopped(controller, judge):
    judge(slots=1, delay_ms=60000)
    s = controller.next_judge()
    s.welcome()
    s.say(**task("s1"))
    s.cut()
    s = controller.next_judge()
    s.welcome(running=[("s1", 1)])
    s.say(type="adopted", tasks=[], lost=[{"submit_id": "s1", "run_lease": 1}])
    s.cut()
    controller.next_judge().welcome(running=[])


def test_a_heartbeat_says_what_runs_and_lost_in_its_answer_stops_it(controller, judge):
    judge(slots=1, delay_ms=60000)
    s = controller.next_judge()
    s.welcome(heartbeat_ms=100)
    s.say(**task("s1", 5))
    beat = s.hear("heartbeat")
    while not beat["running"]:
        s.say(type="beat", seq=beat["seq"])
        beat = s.hear("heartbeat")
    assert beat["running"] == [{"submit_id": "s1", "run_lease": 5}]
    assert (beat["slots"], beat["busy"]) == (1, 1)
    s.say(type="beat", seq=beat["seq"], lost=[{"submit_id": "s1", "run_lease": 5}])
    assert s.hear("heartbeat")["running"] == []


def test_a_controller_that_answers_no_heartbeat_is_left(controller, judge):
    judge()
    s = controller.next_judge()
    s.welcome(heartbeat_ms=50)
    controller.next_judge().welcome(running=[])


def test_a_cancelled_task_is_given_back(controller, judge):
    judge(slots=1, delay_ms=60000)
    s = controller.next_judge()
    s.welcome()
    s.say(**task("running"))
    s.say(**task("waiting"))
    for name in ("waiting", "running"):
        s.say(type="cancel", submit_id=name, run_lease=1, reason="cancelled")
        back = s.hear("returned", "result")
        assert (back["type"], back["submit_id"]) == ("returned", name)
        assert back["ticket"] == f"t.{name}.1"
        s.settle(back, "cancelled")


def test_a_leaving_judge_finishes_what_runs_and_gives_back_the_rest(controller, judge):
    process = judge(slots=1, delay_ms=500)
    s = controller.next_judge()
    s.welcome()
    s.say(**task("first"))
    s.say(**task("second"))
    process.send_signal(signal.SIGTERM)
    heard = {}
    while len(heard) < 3:
        frame = s.hear("leaving", "returned", "result")
        heard[frame.get("submit_id", "leaving")] = frame["type"]
        if frame["type"] != "leaving":
            s.settle(frame)
    assert heard == {"leaving": "leaving", "second": "returned", "first": "result"}
    assert s.heard_close() == 1000
    assert exit_of(process) == (0, "ended in order")


def test_a_second_signal_gives_everything_back(controller, judge):
    process = judge(slots=1, delay_ms=60000)
    s = controller.next_judge()
    s.welcome()
    s.say(**task("first"))
    process.send_signal(signal.SIGTERM)
    s.hear("leaving")
    process.send_signal(signal.SIGTERM)
    back = s.hear("returned")
    s.settle(back, "returned")
    assert exit_of(process)[0] == 0


def test_a_judge_without_tasks_and_controller_leaves_at_once(controller, judge):
    process = judge()
    s = controller.next_judge()  # connected, and never greeted
    process.send_signal(signal.SIGTERM)
    assert s.heard_close() == 1000
    assert exit_of(process) == (0, "ended in order")


def test_a_leaving_judge_waits_only_shortly_for_a_controller_that_never_answers(judge):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        process = judge(f"ws://127.0.0.1:{silent.getsockname()[1]}")
        line, _ = silent.accept()
        with line:
            assert line.recv(3) == b"GET"
            process.send_signal(signal.SIGTERM)
            assert exit_of(process) == (0, "ended in order")


def test_a_leaving_judge_closes_also_what_was_not_open_yet(judge):
    with socket.create_server(("127.0.0.1", 0)) as late:
        process = judge(f"ws://127.0.0.1:{late.getsockname()[1]}")
        line, _ = late.accept()
        with line:
            request = b""
            while b"\r\n\r\n" not in request:
                request += line.recv(4096)
            process.send_signal(signal.SIGTERM)
            key = re.search(rb"(?i)sec-websocket-key: *(\S+)", request)[1]
            accept = hashlib.sha1(key + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest()
            line.sendall(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                         b"Connection: Upgrade\r\nSec-WebSocket-Protocol: tribunal.judge.v1\r\n"
                         b"Sec-WebSocket-Accept: " + base64.b64encode(accept) + b"\r\n\r\n")
            frame = line.recv(64)
            mask, masked = frame[2:6], frame[6:8]
            assert frame[:2] == b"\x88\x82", "a masked closing frame with a code"
            assert int.from_bytes(bytes(a ^ b for a, b in zip(masked, mask)), "big") == 1000
        assert exit_of(process) == (0, "ended in order")


def test_the_next_controller_is_tried_when_one_is_gone(controller, judge):
    with Controller() as other:
        judge(controller.url, other.url)
        s = controller.next_judge()
        s.welcome()
        s.say(**task("s1", 1))
        s.hear("result")
        s.cut()
        other.next_judge().welcome(running=[("s1", 1)])


@pytest.mark.parametrize("frame", ["{", "[]", '{"type": "task"}', '{"type": "nonsense"}',
                                   '{"type": "task", "submit_id": 5, "run_lease": "x"}',
                                   '{"type": "adopted", "tasks": 3, "lost": {}}',
                                   '{"type": "beat", "lost": [[], {}, {"submit_id": ""}]}',
                                   '{"type": "settled"}', '{"type": "cancel", "run_lease": null}',
                                   b"binary", "x" * 100])
def test_nonsense_from_a_controller_does_not_end_the_judge(controller, judge, frame):
    judge()
    s = controller.next_judge()
    s.welcome(heartbeat_ms=200)
    s.say_raw(frame)
    try:
        s.say(**task("s1"))
        s.hear("result")
    except Exception:  # it closed this connection; then it comes back
        s = controller.next_judge()
        s.welcome(running=[])
        s.say(**task("s2"))
        s.hear("result")
