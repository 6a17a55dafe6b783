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


def resident_kib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:"))


class Load(threading.Thread):
    """Submits at a steady pace until told to stop; counts what was taken."""

    def __init__(self, server):
        super().__init__(daemon=True)
        self.server, self.taken, self.refused = server, 0, 0
        self.over = threading.Event()

    def run(self):
        begun = time.monotonic()
        while not self.over.is_set():
            due = begun + (self.taken + self.refused) * 60 / PER_MINUTE
            if self.over.wait(max(0, due - time.monotonic())):
                return
            answer = self.server.ask("POST", "/api/v1/submissions", {
                "problem": "a-plus-b", "language": "cpp17", "code": SOURCES[self.taken % 4]})
            if answer.status == 201:
                self.taken += 1
            else:
                self.refused += 1


@pytest.mark.skipif(os.environ.get("TRIBUNAL_SOAK") != "1", reason="five minutes: TRIBUNAL_SOAK=1")
def test_a_thousand_submissions_a_minute_leave_the_page_responsive(own, look):
    server = own(problems=("a-plus-b",))
    own.judge(server, "judge-1", concurrency=2)
    page = look(server).open("/").live()
    page.script("""
        window.slowest = 0;
        let last = performance.now();
        setInterval(() => { const now = performance.now();
            window.slowest = Math.max(window.slowest, now - last - 50); last = now; }, 50);
    """)
    load = Load(server)
    load.start()
    heap, daemon = [], []
    for _ in range(MINUTES * 6):
        load.over.wait(10)
        page.cdp("HeapProfiler.collectGarbage")
        heap.append(page.script("return performance.memory.usedJSHeapSize") // 1024)
        daemon.append(resident_kib(server.pid))
    load.over.set()
    load.join()
    print(f"taken {load.taken}, refused {load.refused}, slowest turn {page.script('return window.slowest')} ms, "
          f"heap KiB {heap}, tribunald KiB {daemon}")
    assert load.taken >= 0.95 * PER_MINUTE * MINUTES and load.refused == 0
    assert page.script("return window.slowest") < 500
    # After the first minute both have what they need; what grows on and on doubles in the next four.
    assert max(heap[-6:]) < 1.5 * max(heap[3:9])
    assert max(daemon[-6:]) < 1.5 * max(daemon[3:9])
    wait_until(lambda: page.count("tr.row") == 30, what="the list to be its usual length")
