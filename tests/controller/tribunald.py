"""tribunald under test: a real process on a free port with its own data folder."""

import json
import os
import pathlib
import shutil
import subprocess
import urllib.error
import urllib.request

from harness.proc import Server, Unavailable

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(os.environ.get("TRIBUNAL_BUILD", ROOT / "build")).resolve()
PROGRAM = BUILD / "src/controller/tribunald"
CLI = BUILD / "src/cli/tribunal"


class Reply:
    """Status, headers and body of an answer."""

    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def error(self):
        return self.json["error"]


class Tribunald(Server):
    name = "tribunald"
    start_timeout = 20.0

    def __init__(self, *options, db=None, problems=("a-plus-b",)):
        super().__init__()
        self.options, self.db, self.problems = options, db, problems
        self.keys = {}

    @classmethod
    def find(cls):
        if not PROGRAM.exists():
            raise Unavailable("tribunald is not built", "make")
        return str(PROGRAM)

    @property
    def data(self):
        return pathlib.Path(self.folder) / "data"

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    @property
    def database(self):
        return self.db or f"sqlite:{self.data}/tribunal.db"

    def prepare(self):
        for name in self.problems:
            shutil.copytree(ROOT / "examples/problems" / name, self.data / "problems" / name)
        self.data.mkdir(exist_ok=True)
        for role in ("submit", "read", "admin", "judge"):
            self.keys[role] = self.new_key(role)

    def new_key(self, role, name="test"):
        done = subprocess.run([CLI, "keys", "new", "--role", role, "--name", name, "--db",
                               self.database], capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def command(self):
        return [self.find(), "--listen", f"127.0.0.1:{self.port}", "--data", str(self.data),
                "--db", self.database, "--heartbeat", "5s", "--grace", "1s", *self.options]

    def ready(self):
        return self.ask("GET", "/healthz", key=None).status == 200

    def _end_process(self, guarded):
        """It ends in order, whatever was under way; what a sanitizer finds at the end counts."""
        pid = self._pid
        super()._end_process(guarded)
        code = guarded.ask("poll", pid=pid)["rc"]
        log = (pathlib.Path(guarded.folder) / "log").read_text(errors="replace")
        assert code == 0, f"tribunald ended with {code}:\n{log[-4000:]}"

    def ask(self, method, path, body=None, key="admin", headers=None, timeout=30):
        """One request; `key` is a role's name, a key, or None."""
        data = json.dumps(body).encode() if isinstance(body, (dict, list)) else body
        request = urllib.request.Request(self.url + path, data=data, method=method,
                                         headers=dict(headers or {}))
        if key:
            request.add_header("Authorization", "Bearer " + self.keys.get(key, key))
        try:
            with urllib.request.urlopen(request, timeout=timeout) as answer:
                return Reply(answer.status, answer.headers, answer.read())
        except urllib.error.HTTPError as err:
            with err:
                return Reply(err.code, err.headers, err.read())

    def get(self, path, **more):
        answer = self.ask("GET", path, **more)
        assert answer.status == 200, (answer.status, answer.body)
        return answer.json

    def submit(self, code="int main(){}", expect=201, wait=None, **more):
        body = {"problem": "a-plus-b", "language": "cpp17", "code": code, **more}
        answer = self.ask("POST", "/api/v1/submissions" + (f"?wait={wait}" if wait else ""), body,
                          key="admin")
        assert answer.status == expect, (answer.status, answer.body)
        return answer.json
