"""Whatever dies: every task FINISHED exactly once, none lost, no double verdict, no dead letter.

About a tenth of the tasks by default, 2,000 with TRIBUNAL_SOAK=1.
"""

import os
import threading
import time

from farm import CODE, task
from harness.eater import CommitEater

SOAK = os.environ.get("TRIBUNAL_SOAK") == "1"
TASKS = 2000 if SOAK else 200
LIMIT = 1500 if SOAK else 240


class Trouble:
    """Does something soon, and again and again until the work is done; counts it."""

    FIRST_S = 0.3  # the work of the short run is done in two seconds

    def __init__(self, every, what):
        self.every, self.what, self.count = every, what, 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.failed = None

    def _run(self):
        wait = min(self.FIRST_S, self.every)
        while not self._stop.wait(wait):
            wait = self.every
            try:
                self.count += self.what() is not False
            except Exception as err:  # noqa: BLE001 - shown by the test
                self.failed = err
                return

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join(300)  # a cluster without its leader takes its time
        assert not self._thread.is_alive(), "the trouble does not end"
        assert self.failed is None, self.failed
        assert self.count > 0, "the work was done before the first trouble"


def tasks(n):
    # Two sources, each compiled once; every tenth answer is wrong.
    wrong = CODE.replace("a+b", "a-b")
    return [task(f"s{i}", code=wrong if i % 10 == 0 else CODE) for i in range(n)]


def check(f, n):
    """Count everything, when the trouble is over."""
    f.wait_settled(LIMIT)
    assert f.states() == {"FINISHED": n}
    verdicts = {v: int(c) for v, c in f.sql("SELECT verdict, count(*) FROM submissions GROUP BY verdict")}
    assert verdicts == {"AC": n - n // 10, "WA": n // 10}
    results = {}
    for e in f.events(kind="result"):
        results.setdefault(e["submit_id"], []).append((e["generation"], e["run_lease"], e["result"]["verdict"]))
    assert len(results) == n, f"{n - len(results)} results are missing"
    doubles = {k: v for k, v in results.items() if len(set(v)) > 1}
    assert doubles == {}, "two verdicts for one submission"
    leases = dict(f.sql("SELECT submit_id, run_lease FROM submissions"))
    assert all(int(leases[k]) == v[0][1] for k, v in results.items()), "an event that is not the row's"
    assert f.count("JUDGE_DLQ") == 0
    repeats = sum(len(v) - 1 for v in results.values())
    crashes = f.sql("SELECT sum(crashes), sum(retry_count), max(crashes) FROM submissions")[0]
    print(f"{n} tasks, {repeats} repeated events, crashes/retries/most: {crashes}")


def test_workers_killed_every_second(farm, fresh_db, postgres):
    f = farm(db=fresh_db(postgres), ack_wait=1)
    names = ["a", "b", "c"]
    alive = {n: f.worker(n, "--concurrency", 2).wait_ready() for n in names}
    todo = tasks(TASKS)
    # Compiled before the killing begins: where the compiler takes longer than a worker lives, the same tasks would see
    # worker after worker die, and be given up after twenty of them.
    f.put(*todo[:2])
    f.wait_all(2)

    def kill():
        """Of those that work the one that has done so longest; False: none does yet."""
        name = next((n for n in names if alive[n].is_ready()), None)
        if name is None:
            return False
        names.append(names.pop(names.index(name)))
        alive[name].kill9()
        alive[name] = f.worker(name, "--concurrency", 2)
        return True
    with Trouble(1.0, kill) as trouble:
        f.put(*todo[2:])
        f.wait_all(TASKS, LIMIT)
    check(f, TASKS)
    print(f"{trouble.count} workers killed")


def test_nats_server_killed_and_restarted(farm, own_server, fresh_db, postgres):
    server = own_server("nats")
    f = farm(db=fresh_db(postgres), server=server, ack_wait=1)
    for name in ("a", "b"):
        f.worker(name, "--concurrency", 2).wait_ready()
    f.put(*tasks(TASKS))

    def restart():
        server.kill9()
        server.restart()
    with Trouble(2.0, restart) as trouble:
        f.wait_all(TASKS, LIMIT)
    check(f, TASKS)
    print(f"{trouble.count} restarts of NATS")


def test_leader_of_a_cluster_killed(farm, own_server, fresh_db, postgres):
    cluster = own_server("nats_cluster")
    f = farm(db=fresh_db(postgres), server=cluster, ack_wait=2)
    for name in ("a", "b"):
        f.worker(name, "--concurrency", 2).wait_ready()
    f.put(*tasks(TASKS))

    def kill_leader():
        node = cluster.stream_leader("JUDGE_TASKS")
        node.kill9()
        time.sleep(1)  # trouble has to last
        node.restart()
        cluster.wait_for_peers(3)
    with Trouble(3.0 if SOAK else 1.0, kill_leader) as trouble:
        f.wait_all(TASKS, LIMIT)
    check(f, TASKS)
    print(f"{trouble.count} leaders killed")


def test_postgres_restarted(farm, own_server):
    server = own_server("postgres")
    f = farm(db=server.url, ack_wait=2)
    for name in ("a", "b"):
        f.worker(name, "--concurrency", 2).wait_ready()

    def restart():
        server.kill9()
        server.restart()
    with Trouble(2.0, restart) as trouble:
        f.put(*tasks(TASKS))
        f.wait_all(TASKS, LIMIT)
    check(f, TASKS)
    print(f"{trouble.count} restarts of PostgreSQL")


def test_answers_of_commits_are_lost(farm, fresh_db, postgres):
    """Committed and not confirmed: tried again, and still one verdict and one result each."""
    db = fresh_db(postgres)
    with CommitEater(postgres.port) as eater:
        f = farm(db=db.replace(f":{postgres.port}/", f":{eater.port}/"), ack_wait=2)
        for name in ("a", "b"):
            f.worker(name, "--concurrency", 2).wait_ready()
        eater.every = 7
        f.put(*tasks(TASKS // 4))
        f.wait_all(TASKS // 4, LIMIT)
        eater.every = 0
        check(f, TASKS // 4)
    print(f"{eater.eaten} answers lost")
    assert eater.eaten > 3
