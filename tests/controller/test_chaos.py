"""Whatever breaks, every submission ends FINISHED once, with the right verdict.

100 submissions for each disaster (2,000 with TRIBUNAL_SOAK=1) go in by REST while it happens; four
judges work. Most rows use judges with nothing behind their connection, so that the counts are large
and the time is spent on disasters, not on compilers; the last row of each kind in the soak and the
small ones here use real judges with slots and boxes. What is counted comes from the controller's own
list and from its stored events: one `result` event for each submission, and the verdict it has to
have.
"""

import collections
import http.client
import json
import os
import random
import shutil
import subprocess
import threading
import time

import pytest

from controller.farm import ROOT, Farm
from harness import wait_until
from harness.eater import CommitEater
from harness.needs import missing

SOAK = os.environ.get("TRIBUNAL_SOAK") == "1"
COUNT = 2000 if SOAK else 100
SEED = 20261116

RIGHT = (ROOT / "examples/problems/a-plus-b/submissions/accepted/sum.py").read_text()
WRONG = "a, b = map(int, input().split())\nprint(a - b - 1)\n"


def noop_task(number):
    verdict = "WA" if number % 3 == 0 else "AC"
    return {"submit_id": f"c-{number:05}", "language": "python3", "user": f"u{number % 7}",
            "code": f"# verdict:{verdict} {number}",
            "problem": {"id": 1, "title": "A+B", "time_limit": 1000, "memory_limit": 256,
                        "test_cases": [{"input": "1 2\n", "expected_output": "3\n"}]}}, verdict


def real_task(number):
    wrong = number % 3 == 0
    return {"submit_id": f"c-{number:05}", "language": "python3", "user": f"u{number % 7}",
            "code": (WRONG if wrong else RIGHT) + f"# {number}\n", "problem": "a-plus-b"}, \
        "WA" if wrong else "AC"


class Disaster:
    """Runs `strike` again and again in a thread until it is told to end."""

    def __init__(self, strike, every_s):
        self._strike, self._every_s = strike, every_s
        self._end = threading.Event()
        self.strikes = 0
        self.error = None
        self._thread = threading.Thread(target=self._run)

    def _run(self):
        try:
            while not self._end.wait(self._every_s):
                self._strike()
                self.strikes += 1
        except Exception as err:  # told by the test's own thread
            self.error = err

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._end.set()
        self._thread.join()
        if self.error:
            raise self.error


def submit_all(farm, make, count, spread_s):
    """Submit over `spread_s` seconds; the verdict each has to get."""
    expected = {}
    start = time.monotonic()
    for number in range(count):
        task, verdict = make(number)
        farm.submit(task)
        expected[task["submit_id"]] = verdict
        ahead = start + spread_s * number / count - time.monotonic()
        if ahead > 0:
            time.sleep(ahead)  # the disaster's own pace, no wait for a condition
    return expected


def listed(farm):
    """Every submission the controller knows: id to (status, verdict, run_lease)."""
    found, cursor = {}, ""
    while True:
        for _ in range(200):
            try:
                page = farm.get(f"/api/v1/submissions?limit=200{cursor}", timeout=10)
                break
            except OSError:
                time.sleep(0.1)
        else:
            raise AssertionError("no controller answers")
        for row in page["submissions"]:
            found[row["submit_id"]] = row
        if not page.get("next_cursor"):
            return found
        cursor = f"&cursor={page['next_cursor']}"


def verify(farm, expected, timeout):
    """Wait until all are at their end; then count rows, verdicts and events."""
    verify_rows(farm, expected, timeout)
    verify_events(farm, expected)


def verify_rows(farm, expected, timeout):
    rows = {}

    def all_done():
        rows.clear()
        rows.update(listed(farm))
        return all(rows.get(i, {}).get("status") == "FINISHED" for i in expected)

    try:
        wait_until(all_done, timeout, "every submission to be FINISHED", every=0.25)
    except AssertionError:
        left = collections.Counter(rows.get(i, {}).get("status", "missing") for i in expected)
        raise AssertionError(f"states: {dict(left)}; controller says:\n"
                             f"{farm.processes[0].tail(40)}") from None
    wrong = {i: rows[i].get("verdict") for i, v in expected.items() if rows[i].get("verdict") != v}
    assert not wrong, wrong


def verify_events(farm, expected):
    results = collections.Counter()

    def all_told():  # what another process wrote is read by the controller a moment later
        results.clear()
        results.update(e["submit_id"] for e in events(farm) if e["type"] == "result")
        return all(results[i] for i in expected)

    wait_until(all_told, 20, "a result event of each")
    assert {i: results[i] for i in expected} == {i: 1 for i in expected}


def events(farm):
    """All stored events: the stream is read until two `stats`, one a second, follow each other."""
    connection = http.client.HTTPConnection("127.0.0.1", farm.ports[0], timeout=20)
    connection.request("GET", "/api/v1/events?last_event_id=0")
    found, stats = [], 0
    try:
        for line in connection.getresponse():
            if not line.startswith(b"data:"):
                continue
            event = json.loads(line[5:])
            stats = stats + 1 if event["type"] == "stats" else 0
            if stats == 2:
                break
            found.append(event)
    finally:
        connection.close()
    return found


@pytest.fixture
def farm():
    with Farm() as one:
        yield one


def four_judges(farm, **more):
    return [farm.noop_judge(f"judge-{i}", **more) for i in range(4)]


def wait_judges(farm, count):
    def there():
        judges = farm.get("/api/v1/judges")["judges"]
        return sum(j["state"] in ("connected", "draining") for j in judges) >= count
    wait_until(there, 20, f"{count} judges to be connected")


def test_judges_killed_at_random(farm):
    farm.controller()
    judges = four_judges(farm, delay_ms=50)
    wait_judges(farm, 4)
    chance = random.Random(SEED)

    def strike():
        victim = chance.choice(judges)
        victim.kill9()
        victim.start()

    with Disaster(strike, 0.4) as disaster:
        expected = submit_all(farm, noop_task, COUNT, COUNT / 25)
    assert disaster.strikes >= 5
    verify(farm, expected, 60)


def test_the_controller_killed_every_five_seconds(farm):
    controller = farm.controller()
    four_judges(farm)
    wait_judges(farm, 4)

    def strike():
        controller.kill9()
        controller.start()

    every = 5 if SOAK else 2
    with Disaster(strike, every) as disaster:
        expected = submit_all(farm, noop_task, COUNT, 60 if SOAK else 7)
    assert disaster.strikes >= 3
    farm.wait_ready(controller.port, controller)
    verify(farm, expected, 60)


def test_two_controllers_on_one_database_and_one_is_killed(postgres, fresh_db):
    with Farm(db=fresh_db(postgres)) as farm:
        first = farm.controller()
        second = farm.controller()
        four_judges(farm)
        wait_until(lambda: sum(len(farm.get("/api/v1/judges", port=p)["judges"])
                               for p in farm.ports) >= 4, 20, "four judges")
        threading.Timer(1, second.kill9).start()
        expected = submit_all(farm, noop_task, COUNT, 3)
        assert not second.alive() and first.alive()
        verify(farm, expected, 60)


def test_answers_of_commits_are_lost(postgres, fresh_db):
    """What was committed and not confirmed is tried again: no second row, verdict or event."""
    url = fresh_db(postgres)
    with CommitEater(postgres.port) as eater, \
            Farm(db=url.replace(f":{postgres.port}/", f":{eater.port}/")) as farm:
        farm.controller()
        four_judges(farm)
        wait_judges(farm, 4)
        eater.every = 5
        expected = submit_all(farm, noop_task, COUNT // 2, COUNT / 50)
        # A claim whose answer was lost waits for the end of its lease, and its backoff doubles each time.
        verify_rows(farm, expected, 240)
        eater.every = 0
        assert eater.eaten >= 5
        verify_events(farm, expected)


# --- a network that is cut: judges in a network namespace of their own, joined by a pair of links


class Wire:
    """A namespace for judges and a cable to it that can be pulled."""

    def __init__(self):
        tag = f"{os.getpid() % 10000}"
        self.name, self.here, self.there = f"trib{tag}", f"trh{tag}", f"trt{tag}"
        self.net = f"10.{200 + os.getpid() % 50}.{os.getpid() // 50 % 250}"

    def ip(self, *words, inside=False):
        prefix = ["ip", "netns", "exec", self.name] if inside else []
        subprocess.run([*prefix, "ip", *words], check=True, capture_output=True)

    def __enter__(self):
        self.ip("netns", "add", self.name)
        self.ip("link", "add", self.here, "type", "veth", "peer", "name", self.there)
        self.ip("link", "set", self.there, "netns", self.name)
        self.ip("addr", "add", f"{self.net}.1/24", "dev", self.here)
        self.ip("link", "set", self.here, "up")
        self.ip("addr", "add", f"{self.net}.2/24", "dev", self.there, inside=True)
        self.ip("link", "set", self.there, "up", inside=True)
        self.ip("link", "set", "lo", "up", inside=True)
        return self

    def __exit__(self, *_):
        subprocess.run(["ip", "netns", "del", self.name], check=False, capture_output=True)
        subprocess.run(["ip", "link", "del", self.here], check=False, capture_output=True)

    def pull(self):
        self.ip("link", "set", self.here, "down")

    def plug(self):
        self.ip("link", "set", self.here, "up")

    @property
    def prefix(self):
        return ("ip", "netns", "exec", self.name)


@pytest.fixture
def wire():
    if os.geteuid() != 0 or not shutil.which("ip"):
        missing("network namespaces: needs root and iproute2")
    with Wire() as one:
        yield one


@pytest.mark.parametrize("cut_s", [5, 60 if SOAK else 7])
def test_the_network_is_cut(wire, cut_s):
    """Two judges are cut off and two are not; leases are 3 + 2 s, so that 5 s is about the grace
    and 7 s (60 in the soak) is beyond it."""
    with Farm() as farm:
        farm.controller(listen="0.0.0.0")
        for i in range(2):
            farm.noop_judge(f"near-{i}", delay_ms=100)
            farm.noop_judge(f"far-{i}", delay_ms=100, prefix=wire.prefix, host=f"{wire.net}.1")
        wait_judges(farm, 4)
        cut = threading.Timer(1, wire.pull)
        cut.start()
        mend = threading.Timer(1 + cut_s, wire.plug)
        mend.start()
        expected = submit_all(farm, noop_task, COUNT, 4)
        cut.join()
        mend.join()
        verify(farm, expected, 60)
        wait_judges(farm, 4)


def test_real_judges_killed_with_their_slots(farm):
    """The whole of it: compilers, boxes, archives by hash; a tenth of the count."""
    farm.controller()
    judges = [farm.real_judge(f"real-{i}") for i in range(2)]
    wait_judges(farm, 2)
    chance = random.Random(SEED)

    def strike():
        victim = chance.choice(judges)
        victim.kill9()
        victim.start()

    count = COUNT // 10
    with Disaster(strike, 2) as disaster:
        expected = submit_all(farm, real_task, count, 6 if not SOAK else 60)
    assert disaster.strikes >= 2
    verify(farm, expected, 90)
