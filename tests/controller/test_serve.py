"""`tribunal serve`: one command, a verdict, and nothing lost or left behind."""

import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import urllib.request

import pytest

from controller.test_chaos import SOAK
from harness import wait_until
from harness.proc import free_port
from tribunald import BUILD, CLI, ROOT

WORKER = BUILD / "src/worker/tribunal-worker"
SUM = ROOT / "examples/problems/a-plus-b/submissions"


class Serve:
    def __init__(self, folder, *options):
        self.data, self.port = pathlib.Path(folder) / "data", free_port()
        self.options = options
        self.log = pathlib.Path(folder) / "log"

    def start(self):
        with open(self.log, "a", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                [CLI, "serve", "--data", self.data, "--listen", f"127.0.0.1:{self.port}",
                 *self.options], stdout=log, stderr=log)
        try:
            wait_until(lambda: self.get("/readyz")["ready"], 60, "the first judge")
        except AssertionError as err:
            raise AssertionError(f"{err}\n{self.log.read_text()[-3000:]}") from None

    def get(self, path):
        key = (self.data / "admin.key").read_text().strip()
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}",
                                         headers={"Authorization": "Bearer " + key})
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def submit(self, file, *options):
        return subprocess.run([CLI, "submit", file, "-p", "a-plus-b", "--server",
                               f"http://127.0.0.1:{self.port}", "--key-file",
                               self.data / "admin.key", *options], capture_output=True, text=True,
                              check=False, timeout=120)

    def children(self):
        here = str(self.data)
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and here in (entry / "cmdline").read_text():
                    found.append(int(entry.name))
            except OSError:
                continue
        return found

    def end(self, number):
        self.process.send_signal(number)
        code = self.process.wait(40)
        wait_until(lambda: not self.children(), 20, "no process to be left")
        return code


@pytest.fixture
def serve(tmp_path):
    if not WORKER.exists():
        pytest.fail("tribunal-worker is not built")
    made = Serve(tmp_path)
    try:
        made.start()
        yield made
    finally:
        if made.process.poll() is None:
            made.end(signal.SIGTERM)


def test_a_package_is_imported_and_judged(serve, tmp_path):
    def imported(*words):
        return subprocess.run([CLI, "problem", "import", *words, "--server",
                               f"http://127.0.0.1:{serve.port}", "--key-file",
                               serve.data / "admin.key"], capture_output=True, text=True,
                              check=False, timeout=60)
    folder = ROOT / "examples/problems/a-plus-b"
    archive = shutil.make_archive(tmp_path / "zipped", "zip", folder)
    first = imported(folder, "--id", "sum")
    assert first.returncode == 0 and first.stdout.startswith("sum: new, version "), first.stderr
    assert imported(folder, "--id", "sum").stdout.startswith("sum: updated, version ")
    assert json.loads(imported(archive, "--json").stdout)["id"] == "zipped"
    for bad, why in ((tmp_path / "none", "No such file"), (__file__, "not a zip archive"),
                     ("/dev/null", "no zip file")):
        done = imported(bad, "--id", "bad")
        assert done.returncode == 2 and why in done.stderr, done.stderr
    assert "say --id" in imported(archive, "--id", "a b").stderr
    assert serve.submit(SUM / "accepted/sum.cpp", "-p", "zipped").returncode == 0


def test_right_and_wrong_on_the_first_try_and_nothing_lost_by_a_kill(serve, tmp_path):
    right = serve.submit(SUM / "accepted/sum.cpp")
    assert (right.returncode, right.stdout[:2]) == (0, "AC"), right.stdout + right.stderr
    wrong = serve.submit(SUM / "wrong_answer/difference.cpp", "--json")
    assert (wrong.returncode, json.loads(wrong.stdout)["verdict"]) == (1, "WA"), wrong.stderr
    hostile = tmp_path / "hostile.py"
    hostile.write_text("print('\\x1b[2J\\u202eevil')\n")
    shown = serve.submit(hostile)
    assert (shown.returncode, shown.stdout[:2]) == (1, "WA"), shown.stdout + shown.stderr
    assert r"got      \x1b[2J\xe2\x80\xaeevil" in shown.stdout and "\x1b" not in shown.stdout
    assert oct(os.stat(serve.data / "admin.key").st_mode)[-3:] == "600"
    serve.end(signal.SIGKILL)
    serve.start()
    kept = serve.get("/api/v1/submissions")["submissions"]
    assert [s["verdict"] for s in kept] == ["WA", "WA", "AC"]
    assert serve.end(signal.SIGINT) == 0


def refused(program, where, folder):
    """Its exit code and what it says; it has to end by itself."""
    done = subprocess.run([*program, "--data", folder, "--listen", where], capture_output=True,
                          text=True, timeout=30)
    assert "ready" not in done.stdout
    return done.returncode, done.stderr


def test_a_port_that_is_taken_ends_it_with_a_sentence(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as other:
        where = f"127.0.0.1:{other.getsockname()[1]}"
        code, says = refused([BUILD / "src/controller/tribunald"], where, tmp_path)
        assert code == 3 and f"cannot listen on {where}" in says
        if SOAK:  # it tries for three seconds; nobody there says a word
            code, says = refused([CLI, "serve", "--judges", "0"], where, tmp_path)
            assert code == 3 and "could not be started" in says


def test_a_wrong_address_ends_it_at_once(tmp_path):
    code, says = refused([CLI, "serve", "--judges", "0"], "127.0.0.1:http", tmp_path)
    assert code == 2 and "'http' is not a whole number" in says
