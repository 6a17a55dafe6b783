"""A busy day: a thousand submissions a minute, and the page stays a page."""

import os
import threading
import time

import pytest

from harness import wait_until

from programs import BROKEN, RIGHT, WRONG

PER_MINUTE = 1000
MINUTES = 5
SOURCES = [RIGHT, WRONG, BROKEN, RIGHT + "\n// again\n"]  # few, so that the compile cache answers

# What a person takes for a page that answers: a press of a button shows within a second, and hardly ever
# anything keeps the page for longer than a fifth of one.
ANSWER_MS = 1000
LATE_MS = 200
LATE_SHARE = 0.02

# Two connections keep up to 16 MiB of SQLite's pages each (src/queue/sql/sqlite/statements.sql), which
# fill as there is more to keep; the rest needs 16 MiB at the start and has as much again to grow.
DAEMON_KIB = 64 * 1024

METER = """
    const m = window.meter = {turns: 0, late: 0, worst: 0, on: true};
    let last = performance.now();
    setInterval(() => {
        const now = performance.now(), over = now - last - 50;
        last = now;
        if (!m.on) return;
        m.turns++;
        if (over > arguments[0]) m.late++;
        m.worst = Math.max(m.worst, over);
    }, 50);
"""

# From a press of the language button until the words on the page have changed.
PRESS = """
    const done = arguments[0], from = performance.now(), head = document.querySelector('#latest-title');
    const before = head.textContent;
    const look = () => head.textContent !== before ? done(performance.now() - from) : setTimeout(look, 5);
    document.querySelector('#language').click();
    look();
"""


def resident_kib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:"))


class Load(threading.Thread):
    """Submits at a steady pace until told to stop; counts what was taken."""

    def __init__(self, server):
        super().__init__(daemon=True)
        self.server, self.taken, self.refused = server, 0, 0
        self.over = threading.Event()
        self.begun = time.monotonic()

    def run(self):
        while not self.over.is_set():
            due = self.begun + (self.taken + self.refused) * 60 / PER_MINUTE
            if self.over.wait(max(0, due - time.monotonic())):
                return
            answer = self.server.ask("POST", "/api/v1/submissions", {
                "problem": "a-plus-b", "language": "cpp17", "code": SOURCES[self.taken % 4]})
            if answer.status == 201:
                self.taken += 1
            else:
                self.refused += 1


def heap_kib(page):
    """The tab's memory after a collection, which itself is not counted as being late."""
    page.script("meter.on = false")
    page.cdp("HeapProfiler.collectGarbage")
    kib = page.script("return performance.memory.usedJSHeapSize") // 1024
    page.script("setTimeout(() => { meter.on = true; }, 100)")
    return kib


@pytest.mark.skipif(os.environ.get("TRIBUNAL_SOAK") != "1", reason="five minutes: TRIBUNAL_SOAK=1")
def test_a_thousand_submissions_a_minute_leave_the_page_responsive(own, look):
    server = own(problems=("a-plus-b",))
    own.judge(server, "judge-1", concurrency=2)
    page = look(server).open("/").live()
    page.browser.call("POST", "/timeouts", {"script": 30000})
    page.script(METER, LATE_MS)
    load = Load(server)
    load.start()
    heap, daemon, press = [], [], []
    for turn in range(1, MINUTES * 6 + 1):
        load.over.wait(max(0, turn * 10 - (time.monotonic() - load.begun)))
        press.append(round(page.browser.call("POST", "/execute/async", {"args": [], "script": PRESS})))
        heap.append(heap_kib(page))
        daemon.append(resident_kib(server.pid))
    load.over.set()
    load.join()
    meter = page.script("return meter")
    now = server.get("/api/v1/stats?minutes=1")["now"]
    print(f"taken {load.taken} in {MINUTES} min, refused {load.refused}, still waiting {now['pending']}; "
          f"late turns {meter['late']} of {meter['turns']}, the worst {meter['worst']:.0f} ms; press to answer, ms {press}; "
          f"heap KiB {heap}; tribunald KiB {daemon}")
    assert load.taken >= 0.95 * PER_MINUTE * MINUTES and load.refused == 0
    assert meter["late"] <= LATE_SHARE * meter["turns"] and max(press) < ANSWER_MS
    # After the first minute the tab has what it needs; what grows on and on doubles in the next four.
    assert max(heap[-6:]) < 1.5 * max(heap[3:9])
    assert max(daemon) < DAEMON_KIB
    wait_until(lambda: page.count("tr.row") == 30, what="the list to be its usual length")
