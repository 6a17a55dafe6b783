"""openapi.json tells the truth about answers: nothing comes that it does not name, and everything
it names comes. Every answer of one busy hour of a small site, with a real judge, is held to it."""

import io
import json
import re
import shutil
import types
import urllib.error
import urllib.request
import zipfile

import pytest

from controller.farm import ROOT, Farm
from controller.test_chaos import SOAK
from harness import wait_until
from judge import Judge

DOCUMENT = json.loads((ROOT / "src/controller/openapi.json").read_text())
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int,
         "number": (int, float)}
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
# Only on a machine that is disturbed at the right moment, with a broken checker, between floats.
RARE = {"Case.disturbed", "Case.runs", "Result.fault", "Case.difference.why"}
IN_EVENTS = {"Result.strip"}


class Held:
    """Holds values to schemas and remembers which members it has seen, by name."""

    def __init__(self):
        self.seen = set()

    @staticmethod
    def members(schema, name):
        """Name: (schema, what it is called) of every member, also through allOf and $ref."""
        if "$ref" in schema:
            name = schema["$ref"].rsplit("/", 1)[1]
            schema = DOCUMENT["components"]["schemas"][name]
        found = {k: (v, f"{name}.{k}") for k, v in schema.get("properties", {}).items()}
        for part in schema.get("allOf", ()):
            found |= Held.members(part, name)[0]
        required = set(schema.get("required", ())).union(
            *(Held.members(part, name)[1] for part in schema.get("allOf", ())))
        return found, required, schema, name

    def check(self, value, schema, name):
        members, required, schema, name = self.members(schema, name)
        kind = schema.get("type", "object" if "allOf" in schema else None)
        assert isinstance(value, TYPES[kind]) and (kind == "boolean") == isinstance(value, bool), \
            f"{name}: {value!r} is no {kind}"
        assert "enum" not in schema or value in schema["enum"], f"{name}: {value!r}"
        assert schema.get("format") != "date-time" or TIME.fullmatch(value), f"{name}: {value!r}"
        if kind == "array":
            for one in value:
                self.check(one, schema["items"], name)
        if kind == "object" and members:
            assert not set(value) - set(members), f"{name} has {set(value) - set(members)}"
            assert required <= set(value), f"{name} lacks {required - set(value)}"
            for member in value:
                self.seen.add(members[member][1])
                self.check(value[member], *members[member])

    @staticmethod
    def promised(schema, name):
        """All names below a schema."""
        members, _, schema, name = Held.members(schema, name)
        if schema.get("type") == "array":
            return Held.promised(schema["items"], name)
        return set().union(*({called} | Held.promised(sub, called)
                             for sub, called in members.values()))


def answers():
    """(method, path, status, schema) of every JSON answer but errors."""
    for path, methods in DOCUMENT["paths"].items():
        for method, operation in methods.items():
            for status, answer in operation["responses"].items():
                schema = answer.get("content", {}).get("application/json", {}).get("schema")
                if schema and status != "default" and path != "/api/v1/openapi.json":
                    yield method.upper(), path, status, schema


class Site:
    """A farm whose every answer is checked."""

    def __init__(self, farm):
        self.farm, self.held, self.answered = farm, Held(), set()

    def ask(self, method, path, body=None, **arguments):
        """`path` as the document spells it; its {names} are in `arguments`, as are query and key."""
        query, key = arguments.pop("query", ""), arguments.pop("key", None)
        data = json.dumps(body).encode() if isinstance(body, dict) else body
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.farm.ports[0]}{path.format(**arguments)}{query}", data=data,
            method=method, headers={"Authorization": f"Bearer {key}"} if key else {})
        try:
            with urllib.request.urlopen(request, timeout=70) as answer:
                status, text = answer.status, answer.read()
        except urllib.error.HTTPError as err:
            with err:
                status, text = err.code, err.read()
        said = DOCUMENT["paths"][path][method.lower()]["responses"]
        which = str(status) if str(status) in said else "default"
        assert which != "default" or status >= 400, f"{method} {path}: {status} is not documented"
        schema = said[which]["content"].get("application/json", {}).get("schema")
        if not schema:
            return text.decode()
        self.answered.add((method, path, which))
        self.held.check(json.loads(text), schema, f"{method} {path} {which}")
        return json.loads(text)

    def get(self, path, **arguments):
        return self.ask("GET", path, **arguments)

    def post(self, path, body=None, **arguments):
        return self.ask("POST", path, body if body is not None else {}, **arguments)

    def ended(self, submit_id):
        return wait_until(lambda: (row := self.get("/api/v1/submissions/{id}", id=submit_id))[
            "status"] in ("FINISHED", "DLQ") and row, 60, f"the end of {submit_id}")


@pytest.fixture(scope="module")
def site():
    with Farm(heartbeat="3s") as farm:  # a busy machine delays the scripted judge
        farm.problems = farm.folder / "problems"  # uploads go there
        for name in ("a-plus-b", "pair"):
            shutil.copytree(ROOT / "examples/problems" / name, farm.problems / name)
        (farm.problems / "broken").mkdir()  # no tests: it is listed, with its error
        farm.controller()
        yield Site(farm)


def package(**files):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as zipped:
        for name, text in files.items():
            zipped.writestr(name, text)
    return data.getvalue()


TESTS = {"id": 7, "title": "t", "time_limit": 500, "memory_limit": 64, "scoring": "OI", "test_cases": [
    {"input": "1\n", "expected_output": "1\n", "score": 40},
    {"input": "2\n", "expected_output": "2\n", "score": 60}]}
ONE_TEST = {**TESTS, "test_cases": TESTS["test_cases"][:1]}
PROGRAMS = [  # (name, problem, language, code): together they make every kind of result
    ("wa", "a-plus-b", "python3", "print('no')\n"),
    ("exit", TESTS, "python3", "print(input())\nraise SystemExit(3)\n"),
    ("signal", ONE_TEST, "python3", "import os\nos.abort()\n"),
    ("slow", ONE_TEST, "python3", "while True: pass\n"),
    ("silent", ONE_TEST, "python3", "pass\n"),
    ("ce", ONE_TEST, "c11", "int main(void){ return x; }\n"),
]
VERDICTS = ["WA", "RTE", "RTE", "TLE", "WA", "CE"]
if SOAK:  # compiling a checker takes longer than all of the rest
    PROGRAMS += [("checker", "pair", "python3", "print('x')\n")]
    VERDICTS += ["WA"]
else:
    RARE |= {"Case.message"}


def problems(site):
    """Listed, looked at, uploaded with something odd in it, refused, listed again."""
    site.get("/api/v1/problems")
    odd = package(**{"problem.yaml": "name: odd\n", "data/secret/1.in": "1\n",
                     "data/secret/1.ans": "1\n"})  # no time limit is stated
    assert site.ask("PUT", "/api/v1/problems/{id}", odd, id="odd")["findings"][0]["level"] == "note"
    site.ask("PUT", "/api/v1/problems/{id}", odd, id="odd")
    bad = site.ask("PUT", "/api/v1/problems/{id}", package(**{"readme": "x"}), id="bad")
    assert bad["findings"][0]["level"] == "error"
    site.get("/api/v1/problems/{id}", id="odd")
    site.get("/api/v1/problems/{id}/versions", id="odd")
    site.post("/api/v1/problems/rescan")


def waiting(site):
    """Before there is a judge: what waits, and how much before it."""
    site.get("/readyz")
    for i, (name, problem, language, code) in enumerate(PROGRAMS):
        made = site.post("/api/v1/submissions", {
            "submit_id": name, "problem": problem, "language": language, "code": code,
            "user": {"id": 5, "username": "ada"}, "contest": {"id": "c1"}, "class": "light"})
        assert made["queue_position"] == i
    again = {"submit_id": "wa", "problem": "a-plus-b", "language": "python3", "code": "print(1)"}
    site.post("/api/v1/submissions", again)
    site.get("/api/v1/submissions", query="?limit=2")


def judged(site):
    """A real judge does it all."""
    site.farm.real_judge("j1", slots=2)
    rows = {name: site.ended(name) for name, *_ in PROGRAMS}
    assert [rows[n]["verdict"] for n, *_ in PROGRAMS] == VERDICTS
    assert rows["exit"]["strip"] == "RR" and rows["exit"]["total_test"] == 2
    assert rows["slow"]["time_limit_ms"] >= 500 and rows["slow"]["memory_limit_kb"] >= 64 * 1024
    listed = {r["submit_id"]: r for r in site.get("/api/v1/submissions")["submissions"]}
    for member in ("strip", "accepted_test", "total_test", "time_limit_ms", "memory_limit_kb"):
        assert listed["wa"][member] == rows["wa"][member], member
    site.post("/api/v1/runs", {"language": "python3", "code": "print(1)"}, query="?wait=30")
    site.post("/api/v1/submissions/{id}/rejudge", id="wa")
    assert site.ended("wa")["history"][0]["verdict"] == "WA"
    site.get("/api/v1/submissions/{id}", id="wa", query="?source=1")
    wait_until(lambda: site.get("/api/v1/submissions/{id}/logs", id="wa")["logs"], 20, "logs")
    wait_until(lambda: site.get("/api/v1/submissions/{id}", id="wa")["logs"], 20, "logs")


def running(site):
    """A task that runs, until it is cancelled: progress in the row, the list and the judge."""
    slow = {**TESTS, "time_limit": 60000, "test_cases": [
        {"input": "1\n", "expected_output": "1\n"}, {"input": "2\n", "expected_output": "2\n"}]}
    site.post("/api/v1/submissions", {"submit_id": "long", "problem": slow, "language": "python3",
                                      "code": "x = input()\nprint(x)\nwhile x == '2': pass\n"})
    path = "/api/v1/submissions/{id}"
    row = wait_until(lambda: (r := site.get(path, id="long")).get("progress", {}).get("done") == 1
                     and r, 30, "progress")
    assert row["progress"] == {"stage": "running", "done": 1, "total": 2, "strip": "A"}
    assert site.get("/api/v1/submissions", query="?status=RUNNING")["submissions"][0][
        "progress"] == row["progress"]
    wait_until(lambda: site.get("/api/v1/judges/{id}", id="j1").get("last_heartbeat_at"), 20, "beat")
    assert site.get("/api/v1/judges")["judges"][0]["tasks"][0]["submit_id"] == "long"
    site.post("/api/v1/submissions/{id}/cancel", id="long")


def faults(site):
    """A judge whose Java is broken: dead letters, a language set aside, and both undone."""
    site.post("/api/v1/judges/{id}/drain", id="j1")  # it may well have a Java that works
    server = types.SimpleNamespace(port=site.farm.ports[0], keys={"judge": site.farm.judge_key()})
    judge = Judge(server, "broken").ready(tokens=8, languages=("java17",),
                                           classes=["light", "heavy"])
    wait_until(lambda: len(site.get("/api/v1/judges")["judges"]) == 2, 10, "both judges")
    for i in range(8):
        site.post("/api/v1/submissions", {"submit_id": f"dead{i}", "problem": "a-plus-b",
                                          "language": "java17", "code": f"// {i}", "user": "bob"})
        judge.settle(judge.task(), kind="fault", **{"class": "fatal", "message": "no javac"})
        judge.beat()
    assert site.get("/api/v1/set-asides")["set_asides"][0]["name"] in ("java17", "a-plus-b")
    one = site.get("/api/v1/dead-letters", query="?limit=2&user=bob&language=java17")
    assert len(one["dead_letters"]) == 2
    site.ended("dead0")
    judge.close()
    body = {"language": "java17"}
    assert site.post("/api/v1/dead-letters/retry", {**body, "dry_run": True})["count"] == 8
    site.post("/api/v1/dead-letters/{id}/retry", id="dead0")
    site.post("/api/v1/dead-letters/{id}/discard", id="dead1")
    assert site.post("/api/v1/dead-letters/retry", {"submit_ids": ["dead2", "dead3", "no"]})[
        "count"] == 2
    assert site.post("/api/v1/dead-letters/discard", {"user": "bob"})["count"] == 4
    assert site.get("/api/v1/dead-letters")["dead_letters"] == []
    for number in (0, 2, 3):
        site.post("/api/v1/submissions/{id}/cancel", id=f"dead{number}")
    one = site.get("/api/v1/set-asides")["set_asides"][0]
    site.post("/api/v1/set-asides/{kind}/{name}/resume", kind=one["kind"], name=one["name"])
    site.post("/api/v1/judges/{id}/resume", id="j1")


def the_rest(site):
    for path in ("/api/v1/whoami", "/api/v1/stats", "/api/v1/languages", "/readyz", "/healthz"):
        site.get(path)
    assert site.get("/api/v1/whoami", key=site.farm.new_key("read"))["role"] == "read"
    name = site.get("/api/v1/queues")["queues"][0]["name"]
    site.post("/api/v1/queues/{name}/pause", name=name)
    site.post("/api/v1/queues/{name}/resume", name=name)
    run = site.get("/api/v1/submissions", query="?kind=run")["submissions"][0]["submit_id"]
    site.get("/api/v1/runs/{id}", id=run)
    assert site.post("/api/v1/rejudge", {"problem": "7", "dry_run": True})["count"] > 0
    site.post("/api/v1/rejudge", {"problem": "none"})
    assert site.post("/api/v1/dead-letters/retry", {})["error"]["code"] == "missing_field"
    assert site.post("/api/v1/dead-letters/retry", {"status": "DLQ"})["error"]["field"] == "status"


def test_every_answer_is_as_documented_and_every_documented_field_comes(site):
    for part in (problems, waiting, judged, running, faults, the_rest):
        part(site)
    operations = {(m, p, s) for m, p, s, _ in answers()} - site.answered
    assert not operations, "documented, and never answered"
    promised = set().union(*(Held.promised(schema, f"{m} {p} {s}") for m, p, s, schema in answers()))
    missing = promised - site.held.seen - RARE - IN_EVENTS
    assert not missing, f"documented, and never came: {missing}"
