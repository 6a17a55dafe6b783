"""Controllers and judges as processes, for tests of the whole: start, kill, cut off, count.

A judge is the real tribunal-worker with its slots and boxes, or, where thousands of verdicts are
wanted, ws_judge: the same connection code with nothing behind it.
"""

import json
import os
import pathlib
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

from harness import wait_until
from harness.proc import free_port

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("TRIBUNAL_BUILD", ROOT / "build")).resolve()
TRIBUNAL = BUILD / "src/cli/tribunal"
TRIBUNALD = BUILD / "src/controller/tribunald"
WORKER = BUILD / "src/worker/tribunal-worker"
NOOP_JUDGE = BUILD / "tests/drivers/ws_judge"


class Process:
    """A program that may be killed and started again, its output in a file."""

    def __init__(self, farm, name, argv, prefix=()):
        self.farm, self.name, self.argv, self.prefix = farm, name, list(map(str, argv)), prefix
        self.log = farm.folder / f"{name}.log"
        self.popen = None

    def start(self):
        with open(self.log, "ab") as log:
            self.popen = subprocess.Popen([*self.prefix, *self.argv], stdout=log, stderr=log,
                                          stdin=subprocess.DEVNULL, cwd=self.farm.folder,
                                          env=self.farm.environment, start_new_session=True)
        return self

    def alive(self):
        return self.popen is not None and self.popen.poll() is None

    def kill9(self):
        """SIGKILL for it; what it leaves behind ends by itself, and that is part of the test."""
        if self.popen is not None:
            self.popen.kill()
            self.popen.wait()

    def stop(self, timeout=20):
        """SIGTERM, and its exit code."""
        if self.alive():
            self.popen.terminate()
        try:
            return self.popen.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill9()
            raise AssertionError(f"{self.name} did not stop in {timeout} s\n{self.tail()}") from None

    def tail(self, lines=20):
        return "".join(self.log.read_text(errors="replace").splitlines(True)[-lines:])


class Farm:
    """A folder, controllers on one database, judges; a context manager that leaves nothing."""

    def __init__(self, db=None, heartbeat="1s", grace="2s"):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tribunal-farm-"))
        self.db = db or f"sqlite:{self.folder}/data/tribunal.db"
        self.heartbeat, self.grace = heartbeat, grace
        self.problems = ROOT / "examples/problems"  # not to be written to
        self.environment = {"TRIBUNAL_BOX": str(BUILD / "src/boxd/tribunal-box"), **os.environ,
                            "XDG_CACHE_HOME": str(self.folder / "cache")}
        self.processes = []
        self.ports = []
        self.key = None
        self.tls = None  # folder of certificates; then everything speaks TLS

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in reversed(self.processes):
            if process.alive():
                process.popen.terminate()
        for process in reversed(self.processes):
            try:
                if process.popen is not None:
                    process.popen.wait(10)
            except subprocess.TimeoutExpired:
                process.kill9()
        # The slots of a judge that was killed end a moment after it, and may still be writing.
        def gone():
            shutil.rmtree(self.folder, ignore_errors=True)
            return not self.folder.exists()
        wait_until(gone, 10, f"{self.folder} to be gone")

    # --- parts

    def add(self, name, argv, prefix=()):
        process = Process(self, name, argv, prefix)
        self.processes.append(process)
        return process.start()

    def controller(self, listen="127.0.0.1", prefix=()):
        port = free_port()
        number = len(self.ports)
        self.ports.append(port)
        process = self.add(f"controller{number}", [
            TRIBUNALD, "--listen", f"{listen}:{port}", "--data", self.folder / "data", "--db",
            self.db, "--problems", self.problems, "--languages", ROOT / "languages",
            "--open-loopback", "--heartbeat", self.heartbeat, "--grace", self.grace, "--rate",
            "10000", *self.tls_options()], prefix)
        process.port = port
        self.wait_ready(port, process)
        return process

    def tls_options(self):
        return ["--tls-cert", self.tls / "server.pem", "--tls-key", self.tls / "server.key"] \
            if self.tls else []

    def wait_ready(self, port, process, timeout=30):
        def ready():
            assert process.alive(), f"the controller ended:\n{process.tail()}"
            try:
                return self.get("/healthz", port=port, timeout=2) is not None
            except OSError:
                return False
        wait_until(ready, timeout, f"{process.name} to be ready\n{process.tail()}")

    def new_key(self, role):
        done = subprocess.run([TRIBUNAL, "keys", "new", "--role", role, "--name", "test",
                               "--db", self.db], capture_output=True, text=True,
                              env=self.environment, timeout=30)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def judge_key(self):
        if self.key is None:
            self.key = self.new_key("judge")
        return self.key

    def urls(self, host="127.0.0.1"):
        return [f"{'wss' if self.tls else 'ws'}://{host}:{port}" for port in self.ports]

    def noop_judge(self, name, slots=4, delay_ms=20, prefix=(), host="127.0.0.1"):
        return self.add(name, [NOOP_JUDGE, name, self.judge_key(), slots, delay_ms,
                               *self.urls(host)], prefix)

    def real_judge(self, name, slots=1, prefix=(), host="127.0.0.1", more=()):
        key_file = self.folder / "judge.key"
        key_file.write_text(self.judge_key())
        key_file.chmod(0o600)
        argv = [WORKER, "--worker-id", name, "--key-file", key_file, "--concurrency", slots,
                "--languages", ROOT / "languages", *more]
        for url in self.urls(host):
            argv += ["--controller", url]
        return self.add(name, argv, prefix)

    # --- talking to it

    def request(self, method, path, body=None, port=None, timeout=70):
        request = urllib.request.Request(
            f"http{'s' if self.tls else ''}://127.0.0.1:{port or self.ports[0]}{path}", method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"})
        trust = ssl.create_default_context(cafile=self.tls / "ca.pem") if self.tls else None
        with urllib.request.urlopen(request, timeout=timeout, context=trust) as answer:
            text = answer.read()
            return json.loads(text) if text[:1] in (b"{", b"[") else text.decode()

    def get(self, path, **more):
        return self.request("GET", path, **more)

    def submit(self, task, deadline_s=60):
        """POST until it is accepted, at any controller that answers: submit_id makes repeats
        harmless. Returns the answer of the one that took it."""
        until = time.monotonic() + deadline_s
        turn = 0
        while True:
            port = self.ports[turn % len(self.ports)]
            turn += 1
            try:
                return self.request("POST", "/api/v1/submissions", task, port=port, timeout=10)
            except urllib.error.HTTPError as err:
                text = err.read().decode(errors="replace")
                if err.code not in (429, 500, 502, 503):
                    raise AssertionError(f"POST was refused: {err.code} {text}") from None
            except (OSError, socket.timeout, ValueError):
                pass
            assert time.monotonic() < until, f"no controller took {task['submit_id']}"
            time.sleep(0.02)


def send(process, number):
    os.kill(process.popen.pid, number)


def pause(process):
    send(process, signal.SIGSTOP)


def resume(process):
    send(process, signal.SIGCONT)
