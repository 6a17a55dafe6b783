"""Workers that are killed, a database that is killed, handlers that crash: every job has its business
row once and its history entry once."""

import json
import os
import pathlib
import random
import signal
import subprocess
import time

import pytest

from harness.wait import wait_until

BUILD = pathlib.Path(os.environ.get("TRIBUNAL_BUILD", "build")) / "tests/queue-worker"
SOAK = os.environ.get("TRIBUNAL_SOAK") == "1"
JOBS = 20000 if SOAK else 400
WORKERS = 4
EVERY = 0.3  # seconds between two kills


class Crowd:
    """Four workers on one database, one of them killed now and then."""

    def __init__(self, url, mode, crash):
        self.env = {**os.environ, "TRIBUNAL_QUEUE_URL": url}
        self.words = [BUILD / "tq-chaos", "work", mode, str(crash)]
        self.luck = random.Random(f"{url.split(':')[0]} {mode}")
        self.workers, self.kills = [], 0

    def ask(self, *words):
        done = subprocess.run([BUILD / "tq-chaos", *words], env=self.env, capture_output=True, text=True,
                              check=False, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def fill(self):
        self.workers = [w for w in self.workers if w.poll() is None]
        while len(self.workers) < WORKERS:
            self.workers.append(subprocess.Popen(self.words, env=self.env, stdout=subprocess.DEVNULL,
                                                 stderr=subprocess.DEVNULL))

    def kill_one(self):
        victim = self.luck.choice(self.workers)
        victim.kill()
        victim.wait()
        self.kills += 1

    def end(self):
        for worker in self.workers:
            worker.send_signal(signal.SIGTERM)
        for worker in self.workers:
            worker.wait(timeout=30)


def play(crowd, server):
    """Kill until everything is done; the database once, when a third is."""
    killed, deadline = server is None, time.monotonic() + (600 if SOAK else 120)
    while True:
        crowd.fill()
        time.sleep(EVERY)  # the rhythm of the kills, not a wait for anything
        left = int(crowd.ask("left"))
        if left == 0:
            return
        assert time.monotonic() < deadline, f"{left} jobs left after {crowd.kills} kills: {crowd.ask('count')}"
        crowd.kill_one()
        if not killed and left < JOBS * 2 / 3:
            server.kill9()
            server.restart()
            killed = True


EACH_ONCE = [("sqlite", "threads", 0), ("postgres", "processes", 5), ("mysql", "threads", 0)]
THE_REST = [("sqlite", "processes", 5), ("postgres", "threads", 0), ("mysql", "processes", 5)]


@pytest.mark.parametrize("engine,mode,crash", EACH_ONCE + (THE_REST if SOAK else []))
def test_every_job_once_whoever_is_killed(engine, mode, crash, own_server, tmp_path):
    server = None if engine == "sqlite" else own_server(engine)
    crowd = Crowd(server.url if server else f"sqlite:{tmp_path}/chaos.db", mode, crash)
    crowd.ask("prepare", str(JOBS))
    begun = time.monotonic()
    try:
        play(crowd, server)
    finally:
        crowd.end()
    took = time.monotonic() - begun
    wait_until(lambda: not subprocess.run(["pgrep", "-f", f"tq-chaos work {mode} {crash}$"],
                                          capture_output=True, check=False).stdout, what="no process left")
    found = json.loads(crowd.ask("count"))
    assert found == {"rows": JOBS, "distinct": JOBS, "history": JOBS, "completed": JOBS, "left": 0, "running": 0}
    print(f"{engine} {mode}: {JOBS} jobs, {crowd.kills} workers killed, {took:.1f} s")
