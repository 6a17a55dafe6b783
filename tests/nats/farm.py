"""A farm for tests: a NATS server, a database, and real tribunal-workers.

Workers are real processes of the real program; a Farm ends them all and removes their folders.
"""

import base64
import hashlib
import io
import json
import os
import pathlib
import re
import signal
import sqlite3
import subprocess
import zipfile

from harness import Postgres, wait_until
from harness.proc import environment

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("TRIBUNAL_BUILD", ROOT / "build"))
TRIBUNAL = BUILD / "src/cli/tribunal"
WORKER = BUILD / "src/worker/tribunal-worker"
SECOND = 10**9

# Judged in a few milliseconds once it is compiled, and compiled once.
CODE = '#include <stdio.h>\nint main(void){int a,b;if(scanf("%d %d",&a,&b)!=2)return 1;printf("%d\\n",a+b);}\n'


def task(submit="s1", code=CODE, slug="c11", tests=(("1 2\n", "3\n"),), **more):
    """A task with inline tests."""
    problem = {"id": 1, "time_limit": 1000, "memory_limit": 256,
               "test_cases": [{"input": i, "expected_output": o} for i, o in tests]}
    return {"submit_id": submit, "problem": {**problem, **more.pop("problem", {})},
            "language": {"id": 1, "slug": slug}, "code": code, "user": {"id": 7, "username": "alice"}, **more}


def make_zip(tests):
    """The bytes of an archive with 1.in, 1.out, … and its hash."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as z:
        for i, (given, want) in enumerate(tests, 1):
            z.writestr(f"{i}.in", given)
            z.writestr(f"{i}.out", want)
    return out.getvalue(), hashlib.sha256(out.getvalue()).hexdigest()


def sql(url, text):
    """The rows of a query, each a list of texts; None for NULL."""
    if url.startswith("sqlite:"):
        path = url.removeprefix("sqlite:")
        if not os.path.exists(path):
            return []
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=20) as db:
            rows = db.execute(text).fetchall()
        return [[None if v is None else v.decode() if isinstance(v, bytes) else str(v) for v in r] for r in rows]
    if url.startswith("postgres"):
        done = subprocess.run([f"{Postgres.find()}/psql", "-X", "-A", "-t", "-q", "-F", "\x1f", "-P", "null=\x1e", "-c", text, url],
                              capture_output=True, text=True, check=True, env=environment())
        lines = done.stdout.splitlines()
    else:
        m = re.fullmatch(r"mysql://([^:@]*)(?::([^@]*))?@([^:/]+):(\d+)/([^?]+).*", url)
        user, password, host, port, name = m.groups()
        done = subprocess.run(["mariadb", "-N", "-B", "-h", host, "-P", port, "-u", user, f"-p{password or ''}",
                               name, "-e", text], capture_output=True, text=True, check=True, env=environment())
        lines = [line.replace("\t", "\x1f").replace("NULL", "\x1e") for line in done.stdout.splitlines()]
    return [[None if v == "\x1e" else v for v in line.split("\x1f")] for line in lines if line]


class Worker:
    """One tribunal-worker; its log is in self.log."""

    def __init__(self, farm, name, *options):
        self.farm, self.name = farm, name
        self.log = farm.folder / f"{name}.log"
        words = ["--worker-id", name, "--nats-server", farm.nats_url, "--state", farm.folder / "state",
                 "--cache", farm.cache, "--log-store", farm.folder / "logs", *options]
        if farm.db:
            words += ["--db", farm.db]
        with open(self.log, "ab") as out:
            self._from = out.tell()  # an earlier worker of the same name wrote the rest
            self.process = subprocess.Popen([WORKER, *map(str, words)], stdout=out, stderr=out,
                                            stdin=subprocess.DEVNULL, env=environment(farm.env))

    def text(self):
        return self.log.read_bytes()[self._from:].decode(errors="replace")

    def is_ready(self):
        return "tasks from" in self.text()

    def wait_ready(self):
        wait_until(lambda: self.is_ready() or self.process.poll() is not None, 60,
                   f"{self.name} to start")
        assert self.process.poll() is None, self.text()
        return self

    def kill9(self):
        self.process.kill()
        self.process.wait()

    def stop(self, timeout=60):
        """SIGTERM; the exit code."""
        self.process.terminate()
        return self.process.wait(timeout)

    def children(self):
        return [int(p) for p in subprocess.run(["pgrep", "-P", str(self.process.pid)], capture_output=True,
                                               text=True, check=False).stdout.split()]


class Farm:
    """A provisioned server and the workers of one test."""

    def __init__(self, nats, db, folder, cache, env=None):
        self.nats, self.db, self.folder, self.cache = nats, db, folder, cache
        self.env = env or {}
        self.nats_url = nats.url
        self.workers = []

    def provision(self, ack_wait=None, **consumer):
        """The planned streams, empty; with an ack_wait (seconds) of the test's own."""
        for name in self.ask("STREAM.NAMES").get("streams") or []:
            self.ask(f"STREAM.DELETE.{name}")
        self.cli("nats", "provision")
        if ack_wait:
            consumer["ack_wait"] = int(ack_wait * SECOND)
        if consumer:
            for name in ("judge-light", "judge-heavy"):
                config = self.ask(f"CONSUMER.INFO.JUDGE_TASKS.{name}")["config"]
                answer = self.ask(f"CONSUMER.DURABLE.CREATE.JUDGE_TASKS.{name}",
                                  {"stream_name": "JUDGE_TASKS", "config": {**config, **consumer}})
                assert "error" not in answer, answer
        return self

    def cli(self, *words, code=0, **more):
        done = subprocess.run([TRIBUNAL, *map(str, words)], capture_output=True, text=True, timeout=60, check=False,
                              env=environment({**self.env, "TRIBUNAL_NATS_SERVER": self.nats_url}), **more)
        assert done.returncode == code, done
        return done.stdout

    def ask(self, what, body=b""):
        return self.nats.ask(f"$JS.API.{what}", body)

    def put(self, *tasks, subject=None):
        """Publish tasks as a site would."""
        for one in tasks:
            heavy = isinstance(one, dict) and one.get("type") == "heavy"
            answer = self.nats.publish(subject or f"judge.tasks.{'heavy' if heavy else 'light'}", one)
            assert "error" not in answer, answer

    def messages(self, stream):
        """All messages of a stream that are there now: (subject, parsed body)."""
        state = self.ask(f"STREAM.INFO.{stream}")["state"]
        out = []
        for seq in range(max(1, state["first_seq"]), state["last_seq"] + 1):  # an empty stream's first is 0
            answer = self.ask(f"STREAM.MSG.GET.{stream}", {"seq": seq})
            if answer.get("error", {}).get("code") == 404:
                continue  # it was removed
            m = answer["message"]
            out.append((m["subject"], json.loads(base64.b64decode(m.get("data", "")))))
        return out

    def events(self, kind=None, submit=None):
        return [body for _, body in self.messages("JUDGE_EVENTS")
                if kind in (None, body["type"]) and submit in (None, body.get("submit_id"))]

    def letters(self):
        return [body for _, body in self.messages("JUDGE_DLQ")]

    def count(self, stream):
        return self.ask(f"STREAM.INFO.{stream}")["state"]["messages"]

    def worker(self, name="w1", *options):
        worker = Worker(self, name, *options)
        self.workers.append(worker)
        return worker

    def sql(self, text):
        return sql(self.db, text)

    def states(self):
        """{state: how many rows}"""
        return {state: int(n) for state, n in self.sql("SELECT status, count(*) FROM submissions GROUP BY status")}

    def row(self, submit, columns="status, verdict, retry_count, crashes, run_lease"):
        rows = self.sql(f"SELECT {columns} FROM submissions WHERE submit_id = '{submit}'")
        return rows[0] if rows else None

    def wait_state(self, submit, state, timeout=30):
        def is_there():
            row = self.row(submit)
            return row and row[0] == state
        self.wait(is_there, timeout, f"{submit} to be {state}")
        return self.row(submit)

    def wait(self, cond, timeout, what):
        """As wait_until(), and a failure shows what the workers said."""
        try:
            return wait_until(cond, timeout, what)
        except AssertionError as err:
            raise AssertionError(f"{err}; rows: {self.states()}\n{self.logs()}") from None

    def wait_all(self, n, timeout=120):
        self.wait(lambda: self.states().get("FINISHED", 0) >= n, timeout, f"{n} rows to be FINISHED")

    def left(self):
        """Tasks that are still to be delivered or settled. Not the stream's count: a server that was killed may keep
        acked messages that it will never deliver again."""
        infos = [self.ask(f"CONSUMER.INFO.JUDGE_TASKS.{name}") for name in ("judge-light", "judge-heavy")]
        return sum(i["num_pending"] + i["num_ack_pending"] for i in infos)

    def wait_settled(self, timeout=60):
        """Every task is acked."""
        self.wait(lambda: self.left() == 0, timeout, "every task to be settled")

    def logs(self):
        return "".join(f"--- {w.name}\n{w.text()[-3000:]}" for w in self.workers)

    def close(self):
        for worker in self.workers:
            if worker.process.poll() is None:
                worker.process.send_signal(signal.SIGCONT)
                worker.process.kill()
                worker.process.wait()

