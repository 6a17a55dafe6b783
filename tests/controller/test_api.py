"""What the REST API promises: roles, limits, errors with code, sentence and field, nothing lost."""

import concurrent.futures
import io
import json
import socket
import subprocess
import zipfile

import pytest

from harness import wait_until
from judge import Judge, Socket
from tribunald import PROGRAM


@pytest.fixture(scope="module")
def spec(server):
    return server.get("/api/v1/openapi.json", key=None)


def test_the_document_and_the_handlers_are_the_same(spec):
    said = {(method.upper(), path, operation["x-role"])
            for path, methods in spec["paths"].items() for method, operation in methods.items()}
    lines = subprocess.run([PROGRAM, "--routes"], capture_output=True, text=True, check=True).stdout
    assert said == {tuple(line.split()) for line in lines.splitlines()}


def test_every_reference_of_the_document_leads_somewhere(spec):
    text = json.dumps(spec)
    for name in {part.split('"')[0] for part in text.split("#/components/schemas/")[1:]}:
        assert name in spec["components"]["schemas"], name


ROLES = ["none", "submit", "read", "admin"]


def test_every_route_asks_for_its_role(server, spec):
    for path, methods in spec["paths"].items():
        for method, operation in methods.items():
            need = ROLES.index(operation["x-role"])
            where = path.replace("{", "").replace("}", "")
            if need > 0:
                answer = server.ask(method.upper(), where, key=None)
                assert (answer.status, answer.error["code"]) == (401, "bad_key"), path
            if need > 1:
                answer = server.ask(method.upper(), where, key=ROLES[need - 1])
                assert (answer.status, answer.error["code"]) == (403, "forbidden"), path


def test_a_key_works_at_once_and_a_judges_key_is_no_api_key(server):
    assert server.ask("GET", "/api/v1/queues", key=server.new_key("read")).status == 200
    assert server.ask("GET", "/api/v1/queues", key=server.keys["judge"]).status == 401
    assert server.ask("GET", "/api/v1/queues", key="tk_abcdefghijkl_" + "0" * 64).status == 401


def test_who_am_i(server):
    assert server.get("/api/v1/whoami", key=None)["role"] == "none"
    assert server.get("/api/v1/whoami", key="read")["role"] == "read"


GOOD = {"problem": "a-plus-b", "language": "cpp17", "code": "int main(){}"}


@pytest.mark.parametrize("label, change, status, code, field", [
    ("no code", {"code": None}, 422, "missing_field", "code"),
    ("empty code", {"code": ""}, 422, "bad_field", "code"),
    ("code is a number", {"code": 7}, 422, "bad_field", "code"),
    ("code too long", {"code": "x" * 1000001}, 422, "bad_field", "code"),
    ("no problem", {"problem": None}, 422, "missing_field", "problem"),
    ("unknown problem", {"problem": "nope"}, 422, "unknown_problem", "problem"),
    ("problem is a path", {"problem": "../../etc"}, 422, "unknown_problem", "problem"),
    ("no language", {"language": None}, 422, "missing_field", "language"),
    ("mistyped language", {"language": "cpp18"}, 422, "unknown_language", "language"),
    ("bad id", {"submit_id": "a/b"}, 422, "bad_field", "submit_id"),
    ("priority too high", {"priority": 1000}, 422, "bad_field", "priority"),
    ("priority for admins", {"priority": 1}, 403, "forbidden", "priority"),
    ("unknown class", {"class": "medium"}, 422, "bad_field", "class"),
    ("user is a list", {"user": []}, 422, "bad_field", "user"),
    ("time limit too long", {"problem": {"test_cases": [{"expected_output": ""}],
                                         "time_limit": 60001}}, 422, "bad_field",
     "problem.time_limit"),
    ("no answer", {"problem": {"test_cases": [{"input": ""}]}}, 422, "missing_field",
     "problem.test_cases[0].expected_output"),
])
def test_every_refusal_says_which_field(server, label, change, status, code, field):
    answer = server.ask("POST", "/api/v1/submissions", {**GOOD, **change}, key="submit")
    assert (answer.status, answer.error["code"]) == (status, code), answer.body
    assert answer.error.get("field", "").startswith(field.split("[")[0].split(".")[0])
    assert len(answer.error["message"]) > 10


@pytest.mark.parametrize("label, body", [
    ("nothing", b""), ("not JSON", b"{"), ("a list", b"[]"), ("a text", b'"x"'),
    ("a name twice", b'{"code":"a","code":"b"}'), ("not UTF-8", b'{"code":"\xff"}'),
    ("deep", b"[" * 100000), ("two documents", b"{} {}"),
])
def test_what_is_no_json_is_refused(server, label, body):
    answer = server.ask("POST", "/api/v1/submissions", body, key="submit")
    assert (answer.status, answer.error["code"]) == (400, "bad_json")


def test_a_suggestion_for_a_mistyped_language(server):
    answer = server.ask("POST", "/api/v1/submissions", {**GOOD, "language": "cp17"}, key="submit")
    assert "cpp17" in answer.error["message"]


def test_wrong_paths_methods_and_parameters(server):
    assert server.ask("GET", "/api/v1/nothing").error["code"] == "not_found"
    answer = server.ask("DELETE", "/api/v1/problems")
    assert (answer.status, answer.headers["Allow"]) == (405, "GET")
    assert server.ask("GET", "/api/v1/submissions?statsu=RUNNING").error["field"] == "statsu"
    assert server.ask("GET", "/api/v1/submissions?status=DONE").error["field"] == "status"
    assert server.ask("GET", "/api/v1/submissions?limit=0").error["field"] == "limit"
    assert server.ask("GET", "/api/v1/submissions/unknown").error["code"] == "not_found"
    assert b"root:" not in server.ask("GET", "/../../../../etc/passwd").body


def test_a_body_over_the_ceiling_is_refused_unread(server):
    answer = server.ask("POST", "/api/v1/submissions", b"x" * (5 * 1024 * 1024), key="submit")
    assert answer.error["code"] == "too_large"


def test_the_same_key_gives_the_same_submission(server):
    body = {**GOOD, "user": "u1", "idempotency_key": "once"}
    first = server.ask("POST", "/api/v1/submissions", body)
    again = server.ask("POST", "/api/v1/submissions", body)
    assert (first.status, again.status) == (201, 200)
    assert first.json["submit_id"] == again.json["submit_id"]
    by_header = server.ask("POST", "/api/v1/submissions", {**GOOD, "user": "u1"},
                           headers={"Idempotency-Key": "once"})
    assert by_header.json["submit_id"] == first.json["submit_id"]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        many = list(pool.map(lambda _: server.ask("POST", "/api/v1/submissions", {
            **GOOD, "user": "u2", "idempotency_key": "race"}), range(16)))
    assert len({m.json["submit_id"] for m in many}) == 1
    assert sorted(m.status for m in many) == [200] * 15 + [201]


def test_lists_have_filters_and_cursors(own):
    server = own()
    made = [server.submit(f"// {i}", user=f"user{i % 2}",
                          language="python3" if i % 3 else "cpp17")["submit_id"] for i in range(7)]
    page = server.get("/api/v1/submissions?limit=3")
    assert [s["submit_id"] for s in page["submissions"]] == made[::-1][:3]
    rest = server.get(f"/api/v1/submissions?limit=500&cursor={page['next_cursor']}")
    assert [s["submit_id"] for s in rest["submissions"]] == made[::-1][3:]
    assert "next_cursor" not in rest
    assert len(server.get("/api/v1/submissions?language=cpp17")["submissions"]) == 3
    assert len(server.get("/api/v1/submissions?user=user1&status=PENDING")["submissions"]) == 3
    assert server.get("/api/v1/submissions?until=2020-01-01T00:00:00Z")["submissions"] == []


def test_what_was_answered_201_survives_a_kill(own, judges):
    server = own("--rate", "100000")
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        pending = [pool.submit(server.ask, "POST", "/api/v1/submissions", {**GOOD, "code": f"// {i}"})
                   for i in range(200)]
        wait_until(lambda: sum(p.done() for p in pending) > 60)
        server.kill9()
        done = []
        for p in pending:
            try:
                if p.result().status == 201:
                    done.append(p.result().json["submit_id"])
            except OSError:
                pass
    server.restart()
    assert len(done) > 60
    judge = judges(server).ready(tokens=256)
    kept = set()
    while not set(done) <= kept:
        kept.add(judge.task()["submit_id"])


def test_cancel_before_and_after(own):
    server = own()
    made = server.submit()["submit_id"]
    path = f"/api/v1/submissions/{made}/cancel"
    assert server.ask("POST", path).json["status"] == "CANCELLED"
    again = server.ask("POST", path)
    assert (again.status, again.error["code"]) == (409, "conflict")


def test_rejudging_keeps_the_old_result(own, judges):
    server = own()
    judge = judges(server).ready()
    made = [server.submit(f"// {i}")["submit_id"] for i in range(3)]
    for task in [judge.task() for _ in made]:
        judge.settle(task, verdict="WA")
    one = f"/api/v1/submissions/{made[0]}"
    assert server.ask("POST", one + "/rejudge").status == 202
    task = judge.task()
    assert (task["submit_id"], task["generation"]) == (made[0], 1)
    assert judge.settle(task, verdict="AC") == "finished"
    row = server.get(one)
    assert (row["verdict"], row["generation"], row["priority"]) == ("AC", 1, 0)
    assert [(h["generation"], h["verdict"]) for h in row["history"]] == [(0, "WA")]
    count = {"problem": "a-plus-b", "verdict": "WA", "dry_run": True}
    assert server.ask("POST", "/api/v1/rejudge", count).json == {"count": 2, "dry_run": True}
    assert server.ask("POST", "/api/v1/rejudge", {**count, "dry_run": False}).status == 202
    assert {judge.task()["submit_id"] for _ in range(2)} == set(made[1:])
    assert server.ask("POST", "/api/v1/rejudge", {}).error["code"] == "missing_field"


def test_a_run_gives_what_the_program_printed(own, judges):
    server = own()
    judge = judges(server).ready()
    with concurrent.futures.ThreadPoolExecutor() as pool:
        answer = pool.submit(server.ask, "POST", "/api/v1/runs?wait=20", {
            "language": "python3", "code": "print(input())", "stdin": "42\n"}, "submit")
        task = judge.task()
        assert task["kind"] == "run"
        assert task["task"]["problem"]["test_cases"][0]["input"] == "42\n"
        judge.settle(task, result={"verdict": "AC", "time_ms": 1, "memory_kb": 1,
                                   "run": {"stdout": "42\n", "stderr": ""}})
        run = answer.result(20).json
    assert run["result"]["run"]["stdout"] == "42\n"
    assert server.get("/api/v1/submissions")["submissions"] == []
    assert len(server.get("/api/v1/submissions?kind=run")["submissions"]) == 1


def test_a_paused_queue_gives_nothing(own, judges):
    server = own()
    server.submit()
    name = "judge.normal.heavy.cpp17"
    assert server.ask("POST", f"/api/v1/queues/{name}/pause").json["paused"] is True
    judge = judges(server).ready()
    with pytest.raises(AssertionError):
        judge.task(timeout=0.7)
    assert wait_until(lambda: server.get("/api/v1/queues")["queues"][0]["ready"]) == 1
    assert server.ask("POST", f"/api/v1/queues/{name}/resume").json["paused"] is False
    judge.task()


def package(**files):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as zipped:
        for name, text in files.items():
            zipped.writestr(name.replace("_", "."), text)
    return data.getvalue()


def test_uploading_a_problem(own):
    server = own(problems=())
    good = package(**{"1_in": "1\n", "1_out": "1\n"})
    new = server.ask("PUT", "/api/v1/problems/fresh", good)
    assert new.status == 201, new.body
    assert new.json["tests"] == 1
    same = server.ask("PUT", "/api/v1/problems/fresh", good)
    assert (same.status, same.json["version"]) == (200, new.json["version"])
    other = server.ask("PUT", "/api/v1/problems/fresh", package(**{"1_in": "2\n", "1_out": "2\n"}))
    assert other.json["version"] != new.json["version"]
    for label, body in [("no zip", b"hello"), ("empty zip", package()),
                        ("no tests", package(readme_txt="x")),
                        ("leaves its folder", package(**{"../x_in": "1", "../x_out": "1"}))]:
        bad = server.ask("PUT", "/api/v1/problems/bad", body)
        assert bad.status == 422 and bad.error["field"] == "body", (label, bad.body)
    assert server.ask("PUT", "/api/v1/problems/.hidden", good).status == 422
    assert [p["id"] for p in server.get("/api/v1/problems")["problems"]] == ["fresh"]


def test_limits_answer_with_retry_after(own):
    server = own("--max-queue", "3", "--rate", "5")
    answers = [server.ask("POST", "/api/v1/submissions", {**GOOD, "code": f"// {i}"}, key="submit")
               for i in range(6)]
    full = [a for a in answers if a.status == 503]
    assert full and full[0].error["code"] == "queue_full" and full[0].headers["Retry-After"]
    many = [server.ask("GET", "/api/v1/problems", key="submit") for _ in range(20)]
    slow = [a for a in many if a.status == 429]
    assert slow and slow[0].error["code"] == "too_many_requests" and slow[0].headers["Retry-After"]
    assert server.ask("GET", "/api/v1/problems", key="read").status == 200, "another key is free"


def test_health_readiness_and_metrics(own, judges):
    server = own()
    assert server.ask("GET", "/readyz", key=None).status == 503
    judge = judges(server).ready()
    wait_until(lambda: server.ask("GET", "/readyz", key=None).status == 200)
    server.submit()
    judge.settle(judge.task())
    text = server.ask("GET", "/metrics", key=None).body.decode()
    assert 'tribunal_submissions_total{lang="cpp17",verdict="AC"} 1' in text
    stats = server.get("/api/v1/stats?minutes=5")
    assert stats["verdicts"] == {"AC": 1} and stats["now"]["judges"] == 1
    languages = {l["slug"]: l for l in server.get("/api/v1/languages")["languages"]}
    assert languages["cpp17"]["judges"] == 1 and languages["java17"]["judges"] == 0


def test_a_slow_client_disturbs_nobody(server):
    slow = []
    for _ in range(20):
        half = socket.create_connection(("127.0.0.1", server.port))
        half.sendall(b"POST /api/v1/submissions HTTP/1.1\r\nHost: x\r\nContent-Le")
        slow.append(half)
    assert server.ask("GET", "/healthz", key=None).status == 200
    for half in slow:
        half.settimeout(15)
        assert b"201" not in half.recv(100), "closed, or told that it was too slow"
        half.close()


def test_raw_nonsense_is_no_harm(server):
    for junk in (b"\x00" * 2000, b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"A" * 20000,
                 b"POST / HTTP/1.1\r\nContent-Length: -5\r\n\r\n",
                 b"POST /api/v1/runs HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"):
        with socket.create_connection(("127.0.0.1", server.port)) as conn:
            conn.sendall(junk)
            conn.settimeout(0.2)
            try:
                conn.recv(1000)
            except OSError:
                pass
    assert server.ask("GET", "/healthz", key=None).status == 200


def test_loopback_without_a_key_only_with_the_flag(own, server):
    assert server.ask("GET", "/api/v1/queues", key=None).status == 401
    opened = own("--open-loopback")
    assert opened.ask("GET", "/api/v1/queues", key=None).status == 200
    foreign = {"Origin": "http://evil.example"}
    assert opened.ask("GET", "/api/v1/queues", key=None, headers=foreign).status == 401
    rebound = {"Host": "evil.example"}
    assert opened.ask("GET", "/api/v1/queues", key=None, headers=rebound).status == 401


def test_pages_come_with_a_strict_policy(server):
    page = server.ask("GET", "/", key=None)
    assert page.status == 200 and "default-src 'none'" in page.headers["Content-Security-Policy"]


# ---------------------------------------------------------------- events and backends


class Stream:
    """Server-sent events, read line by line."""

    def __init__(self, server, query="", last=None):
        self.sock = socket.create_connection(("127.0.0.1", server.port), timeout=10)
        extra = f"Last-Event-ID: {last}\r\n" if last is not None else ""
        self.sock.sendall(f"GET /api/v1/events{query} HTTP/1.1\r\nHost: x\r\n{extra}"
                          f"Authorization: Bearer {server.keys['read']}\r\n\r\n".encode())
        self.lines = self.sock.makefile("r", encoding="utf-8")
        while self.lines.readline().strip():
            pass

    def next(self, *kinds):
        event = {}
        while True:
            line = self.lines.readline().rstrip("\n")
            if not line:
                if event.get("event") in kinds:
                    return event
                event = {}
            elif not line.startswith(":"):
                name, _, value = line.partition(": ")
                event[name] = json.loads(value) if name == "data" else value

    def close(self):
        self.sock.close()


def test_events_in_order_and_resumed_also_after_a_kill(own, judges):
    server = own()
    stream = Stream(server)
    judge = judges(server).ready()
    made = server.submit()["submit_id"]
    judge.settle(judge.task())
    kinds = ("status_change", "result")
    seen = [stream.next(*kinds) for _ in range(3)]
    assert [e["data"]["status"] for e in seen] == ["PENDING", "RUNNING", "FINISHED"]
    assert seen[2]["data"]["result"]["verdict"] == "AC" and "cases" not in seen[2]["data"]["result"]
    stream.close()
    server.kill9()
    server.restart()
    again = Stream(server, last=seen[0]["id"])
    assert [again.next(*kinds)["id"] for _ in range(2)] == [e["id"] for e in seen[1:]]
    only = Stream(server, query="?submit_id=other&last_event_id=0")
    other = server.submit(submit_id="other")
    assert only.next(*kinds)["data"]["submit_id"] == other["submit_id"] != made
    again.close()
    only.close()


def backend(server, role="submit"):
    socket_ = Socket(f"ws://127.0.0.1:{server.port}/ws/backend",
                     headers={"Authorization": "Bearer " + server.keys[role]})
    socket_.expect("welcome", role=role)
    return socket_


def test_a_backend_submits_and_gets_the_result_pushed(own, judges):
    server = own()
    judge = judges(server).ready()
    web = backend(server)
    web.send({"type": "submit", "id": 1, "task": GOOD})
    made = web.expect("submitted", id=1)
    assert made["status"] == "PENDING"
    judge.settle(judge.task())
    assert web.expect("result")["submit_id"] == made["submit_id"]
    web.send({"type": "get", "id": "x", "submit_id": made["submit_id"]})
    assert web.expect("submission", id="x")["submission"]["verdict"] == "AC"
    web.send({"type": "submit", "id": 2, "task": {**GOOD, "language": "nope"}})
    assert web.expect("error", id=2)["code"] == "unknown_language"
    web.send({"type": "cancel", "id": 3, "submit_id": made["submit_id"]})
    assert web.expect("error", id=3)["code"] == "conflict"
    web.send({"type": "problem_update", "id": 4})
    assert web.expect("error", id=4)["code"] == "forbidden"
    web.send({"type": "dance", "id": 5})
    assert web.expect("error", id=5)["code"] == "unknown_type"
    web.send({"type": "ping", "id": 6})
    web.expect("pong", id=6)
    web.close()


def test_a_backend_names_its_key_in_the_first_frame(server):
    web = Socket(f"ws://127.0.0.1:{server.port}/ws/backend")
    web.send({"type": "auth", "key": server.keys["admin"]})
    web.expect("welcome", role="admin")
    web.send({"type": "problem_update", "id": 1, "problem": "a-plus-b"})
    assert web.expect("problem", id=1)["problem"]["id"] == "a-plus-b"
    web.close()
    wrong = Socket(f"ws://127.0.0.1:{server.port}/ws/backend")
    wrong.send({"type": "auth", "key": "tk_x"})
    assert wrong.closed().code == 4001


def test_two_controllers_share_one_database(postgres, fresh_db, own, judges):
    url = fresh_db(postgres)
    first = own("--heartbeat", "500ms", db=url)
    second = own("--heartbeat", "500ms", db=url)
    second.keys = first.keys
    made = first.submit()["submit_id"]
    judge = Judge(second).ready()
    task = judge.task()
    assert task["submit_id"] == made
    second.kill9()
    judge.closed()
    back = judges(first).ready(running=[{"submit_id": made, "run_lease": task["run_lease"],
                                         "ticket": task["ticket"]}])
    (mine,) = back.expect("adopted")["tasks"]
    assert back.settle({**task, "run_lease": mine["new_run_lease"],
                        "ticket": mine["ticket"]}) == "finished"
    assert first.get(f"/api/v1/submissions/{made}")["verdict"] == "AC"
