"""What the controller promises to judges: doc/protocol.md §2, message by message."""

import json
import urllib.request

import pytest

from harness import wait_until
from judge import Judge, fence, proofs


def status(server, submit_id):
    return server.get(f"/api/v1/submissions/{submit_id}")["status"]


def test_a_submission_is_judged_once_and_the_verdict_is_kept(own, judges):
    server = own()
    judge = judges(server).ready()
    made = server.submit("int main(){return 0;}", user={"id": 7, "username": "alice"})
    task = judge.task()
    assert task["submit_id"] == made["submit_id"]
    assert task["run_lease"] == 1 and task["kind"] == "judge"
    assert task["task"]["code"] == "int main(){return 0;}"
    assert task["task"]["problem"]["test_data_hash"] == task["data"]["sha256"]
    assert status(server, made["submit_id"]) == "RUNNING"
    assert judge.settle(task) == "finished"
    row = server.get(f"/api/v1/submissions/{made['submit_id']}")
    assert (row["status"], row["verdict"], row["score"]) == ("FINISHED", "AC", 100)
    assert row["worker_id"] == "judge-1"
    assert [e["what"] for e in row["timeline"]] == ["PENDING", "RUNNING", "FINISHED"]
    assert judge.settle(task, verdict="WA") == "stale"
    assert server.get(f"/api/v1/submissions/{made['submit_id']}")["verdict"] == "AC"


def test_waiting_gives_the_verdict_in_the_same_answer(own, judges):
    server = own()
    judge = judges(server).ready()
    import concurrent.futures
    with concurrent.futures.ThreadPoolExecutor() as pool:
        answer = pool.submit(server.submit, wait=20)
        judge.settle(judge.task(), verdict="WA")
        assert answer.result(20)["result"]["verdict"] == "WA"


def test_no_judge_ever_has_more_than_its_tokens(own, judges):
    server = own()
    judge = judges(server).ready(tokens=2)
    for i in range(5):
        server.submit(f"// {i}")
    first, second = judge.task(), judge.task()
    with pytest.raises(AssertionError):
        judge.task(timeout=0.7)
    assert judge.settle(first) == "finished"
    third = judge.task()
    judge.send({"type": "tokens", "tokens": 1})
    judge.settle(second)
    with pytest.raises(AssertionError):
        judge.task(timeout=0.7)
    judge.settle(third)
    judge.task()


def test_tasks_go_to_judges_that_have_the_language(own, judges):
    server = own()
    c = judges(server, "only-c").ready(languages=["c11"])
    made = server.submit(language="python3", code="print(1)")
    with pytest.raises(AssertionError):
        c.task(timeout=0.7)
    python = judges(server, "python").ready(languages=["python3"])
    assert python.task()["submit_id"] == made["submit_id"]


def test_high_priority_goes_first_and_users_take_turns(own, judges):
    server = own()
    many = [server.submit(f"// a{i}", user="anna")["submit_id"] for i in range(6)]
    one = server.submit("// b", user="bert")["submit_id"]
    urgent = server.submit("// u", user="anna", priority=5)["submit_id"]
    judge = judges(server).ready(tokens=1)
    order = []
    for _ in range(8):
        task = judge.task()
        order.append(task["submit_id"])
        judge.settle(task)
    assert order[0] == urgent
    assert order.index(one) <= 3, "one user's many submissions starve nobody"
    assert [s for s in order if s in many] == many


def test_a_judge_that_has_the_data_is_preferred(own, judges):
    server = own(problems=("a-plus-b", "squares"))
    for turn in range(3):
        a = judges(server, f"a{turn}").ready(tokens=2)
        b = judges(server, f"b{turn}").ready(tokens=2, data=[
            server.get("/api/v1/problems/squares")["data"]])
        server.submit(problem="squares", code=f"// {turn}")
        b.settle(b.task())
        a.close()
        b.close()


def test_a_fault_is_tried_again_and_at_last_a_dead_letter(own, judges):
    server = own()
    judge = judges(server).ready()
    made = server.submit()
    task = judge.task()
    assert judge.settle(task, kind="fault", **{"class": "retry", "message": "disk full"}) == "retry"
    row = server.get(f"/api/v1/submissions/{made['submit_id']}")
    assert (row["status"], row["error"], row["attempts"]) == ("SYSTEM_ERROR", "disk full", 1)
    other = server.submit("// fatal")
    task = judge.task()
    assert judge.settle(task, kind="fault", **{"class": "fatal", "message": "no checker"}) == "dead"
    letters = server.get("/api/v1/dead-letters")["dead_letters"]
    assert [(d["submit_id"], d["error"]) for d in letters] == [(other["submit_id"], "no checker")]
    assert server.ask("POST", f"/api/v1/dead-letters/{other['submit_id']}/retry").status == 200
    task = judge.task()
    assert (task["submit_id"], task["run_lease"]) == (other["submit_id"], 2)
    assert judge.settle(task) == "finished"


def test_what_is_given_back_goes_to_another(own, judges):
    server = own()
    judge = judges(server).ready()
    made = server.submit()
    task = judge.task()
    judge.send({"type": "leaving"})
    judge.answer(task, kind="returned", reason="draining")
    assert judge.expect("settled")["outcome"] == "returned"
    other = judges(server, "judge-2").ready()
    again = other.task()
    assert (again["submit_id"], again["run_lease"]) == (made["submit_id"], 2)
    assert other.settle(again) == "finished"


def test_a_lost_judges_tasks_go_to_another_after_the_grace(own, judges):
    server = own()
    judge = judges(server).ready()
    made = server.submit()
    task = judge.task()
    judge.cut()
    other = judges(server, "judge-2").ready()
    again = other.task(timeout=6)
    assert (again["submit_id"], again["run_lease"]) == (made["submit_id"], 2)
    assert other.settle(again, verdict="WA") == "finished"
    row = server.get(f"/api/v1/submissions/{made['submit_id']}")
    assert (row["verdict"], row["crashes"], row["attempts"]) == ("WA", 1, 0)
    # the first comes back late with its result: nothing changes
    late = judges(server).ready(running=[{**fence(task), "ticket": task["ticket"]}])
    assert late.expect("adopted")["lost"] == [fence(task)]
    assert late.settle(task) == "stale"
    assert server.get(f"/api/v1/submissions/{made['submit_id']}")["verdict"] == "WA"


def test_a_judge_that_comes_back_in_time_goes_on(own, judges):
    server = own()
    judge = judges(server).ready()
    server.submit()
    task = judge.task()
    judge.cut()
    back = judges(server).ready(running=[{**fence(task), "ticket": task["ticket"]}])
    adopted = back.expect("adopted")
    assert adopted["lost"] == []
    (mine,) = adopted["tasks"]
    assert (mine["run_lease"], mine["new_run_lease"]) == (1, 2)
    assert back.settle(task) == "stale", "the old fence is over"
    assert back.settle(task | {"run_lease": 2, "ticket": mine["ticket"]}) == "finished"


def test_a_controller_that_was_killed_lets_judges_go_on(own, judges):
    server = own()
    judge = judges(server).ready()
    made = [server.submit(f"// {i}")["submit_id"] for i in range(2)]
    tasks = [judge.task(), judge.task()]
    server.kill9()
    judge.closed()
    server.restart()
    back = judges(server).ready(running=[{**fence(t), "ticket": t["ticket"]} for t in tasks])
    adopted = back.expect("adopted")
    assert adopted["lost"] == []
    for t in tasks:
        (mine,) = [a for a in adopted["tasks"] if a["submit_id"] == t["submit_id"]]
        new = {**t, "run_lease": mine["new_run_lease"], "ticket": mine["ticket"]}
        assert back.settle(new) == "finished"
    for submit_id in made:
        events = server.get(f"/api/v1/submissions/{submit_id}")["timeline"]
        assert [e["what"] for e in events].count("FINISHED") == 1


def test_what_nobody_comes_back_for_is_judged_by_another(own, judges):
    server = own()
    judge = judges(server).ready()
    made = server.submit()
    judge.task()
    server.kill9()
    server.restart()
    other = judges(server, "judge-2").ready()
    task = other.task(timeout=8)
    assert task["submit_id"] == made["submit_id"] and task["run_lease"] == 2
    assert other.settle(task) == "finished"


def test_heartbeats_renew_and_tell_what_is_lost(own, judges):
    server = own()
    judge = judges(server).ready()
    made = server.submit()
    task = judge.task()
    ghost = {"submit_id": "never-given", "run_lease": 1}
    assert judge.beat([task, ghost])["lost"] == [ghost]
    assert server.ask("POST", f"/api/v1/submissions/{made['submit_id']}/cancel").json["status"] \
        == "CANCELLED"
    assert judge.expect("cancel")["submit_id"] == made["submit_id"]
    judge.answer(task, kind="returned", reason="cancelled")
    assert judge.expect("settled")["outcome"] == "cancelled"
    assert status(server, made["submit_id"]) == "CANCELLED"


def test_three_missed_heartbeats_are_a_loss(own, judges):
    server = own("--heartbeat", "300ms")
    judge = judges(server).ready()
    assert judge.expect("bye", timeout=5)["code"] == "slow"
    judge.closed()
    assert server.get("/api/v1/judges/judge-1")["state"] == "lost"


def test_the_newer_connection_of_a_name_wins(own, judges):
    server = own()
    old = judges(server).ready()
    server.submit()
    task = old.task()
    new = judges(server).ready(running=[{**fence(task), "ticket": task["ticket"]}])
    assert old.expect("bye")["code"] == "replaced"
    assert old.closed().code == 4003
    assert new.expect("adopted")["tasks"][0]["new_run_lease"] == 2
    other_key = server.new_key("judge")
    stranger = Judge(server, "judge-1", key=other_key, prove=False)
    with pytest.raises(Exception):
        stranger.auth()
    assert stranger.closed().code == 4003


def test_drain_and_resume(own, judges):
    server = own()
    judge = judges(server).ready()
    wait_until(lambda: server.get("/api/v1/judges/judge-1")["state"] == "connected")
    assert server.ask("POST", "/api/v1/judges/judge-1/drain").json["state"] == "draining"
    judge.expect("drain")
    server.submit()
    with pytest.raises(AssertionError):
        judge.task(timeout=0.7)
    assert server.ask("POST", "/api/v1/judges/judge-1/resume").json["state"] == "connected"
    judge.expect("resume")
    judge.settle(judge.task())


def test_a_drain_outlives_the_controller_that_was_told(own, judges):
    server = own()
    judges(server).ready()
    path = "/api/v1/judges/judge-1"
    wait_until(lambda: server.get(path)["state"] == "connected")
    assert server.ask("POST", path + "/drain").status == 200
    server.kill9()
    server.restart()
    judge = judges(server).ready()
    server.submit()
    assert wait_until(lambda: server.ask("GET", path).json.get("state")) == "draining"
    with pytest.raises(AssertionError):
        judge.task(timeout=0.7)
    judge.close()
    assert server.ask("POST", path + "/resume").status == 200, "also while it is away"
    server.kill9()
    server.restart()
    judges(server).ready().task()


def test_a_drain_at_one_controller_holds_at_the_other(postgres, fresh_db, own, judges):
    db = fresh_db(postgres)
    one, other = own(db=db), own(db=db)
    here, there = judges(one).ready(), judges(other, key=one.keys["judge"]).ready()
    path = "/api/v1/judges/judge-1"
    for server in (one, other):
        wait_until(lambda: server.ask("GET", path).json.get("state") == "connected")
    one.ask("POST", path + "/drain")
    here.expect("drain")
    there.expect("drain")
    other.ask("POST", path + "/resume")
    there.expect("resume")
    here.expect("resume")


def test_data_by_its_hash_also_in_parts(own, judges):
    server = own()
    judge = judges(server).ready()
    handle = server.get("/api/v1/problems/a-plus-b")["data"]

    def fetch(key=judge.credential, **headers):
        return server.ask("GET", f"/judge/v1/data/{handle}", key=key, headers=headers)

    whole = fetch()
    import hashlib
    assert hashlib.sha256(whole.body).hexdigest() == handle
    assert whole.headers["ETag"] == f'"{handle}"'
    part = fetch(Range="bytes=100-199")
    assert (part.status, part.body) == (206, whole.body[100:200])
    assert part.headers["Content-Range"] == f"bytes 100-199/{len(whole.body)}"
    assert fetch(Range="bytes=-10").body == whole.body[-10:]
    assert fetch(Range=f"bytes={len(whole.body)}-").status == 416
    assert fetch(**{"If-None-Match": f'"{handle}"'}).status == 304
    assert fetch(key=None).status == 401
    assert fetch(key="admin").status == 401
    judge.cut()
    wait_until(lambda: fetch().status == 401, what="the credential to die with the session")


def test_logs_are_taken_while_the_task_is_there_and_a_minute_after(own, judges):
    server = own()
    judge = judges(server).ready()
    made = server.submit()
    task = judge.task()

    def put(name, lease=1, body=b"words", key=judge.credential):
        return server.ask("PUT", f"/judge/v1/logs/{made['submit_id']}/{lease}/{name}", body,
                          key=key).status

    assert put("compile.log") == 201
    assert put("case_1.stderr") == 201
    assert put("case_1.stderr", lease=2) == 409
    assert put("..%2f..%2fetc") in (404, 422)
    assert put("passwd") == 422
    assert put("compile.log", key="admin") == 401
    judge.settle(task)
    assert put("result.json") == 201  # the verdict goes first, logs follow it
    assert put("result.json", lease=2) == 409
    judge.close()
    assert put("result.json") in (401, 409)
    listed = server.get(f"/api/v1/submissions/{made['submit_id']}/logs")["logs"]
    assert {entry["name"] for entry in listed} == {"compile.log", "case_1.stderr", "result.json"}
    got = server.ask("GET", f"/api/v1/submissions/{made['submit_id']}/logs/compile.log")
    assert got.body == b"words"


def test_each_submission_keeps_the_version_it_started_with(own, judges):
    server = own()
    judge = judges(server).ready()
    server.submit("// old")
    old = judge.task()
    (server.data / "problems/a-plus-b/1.in").write_text("4 5\n")
    changed = server.ask("POST", "/api/v1/problems/rescan").json
    assert changed["changed"] == 1
    server.submit("// new")
    new = judge.task()
    assert old["data"]["sha256"] != new["data"]["sha256"]
    for task in (old, new):
        url = server.url + task["data"]["url"]
        request = urllib.request.Request(url, headers={"Authorization": "Bearer " + judge.credential})
        with urllib.request.urlopen(request) as answer:
            assert len(answer.read()) == task["data"]["size"]
    versions = server.get("/api/v1/problems/a-plus-b/versions")["versions"]
    assert [v["current"] for v in versions] == [True, False]


def test_a_language_that_keeps_failing_is_set_aside_and_others_flow(own, judges):
    server = own("--max-queue", "1000")
    judge = judges(server).ready(tokens=16)
    for i in range(8):
        server.submit(f"// {i}", problem={"test_cases": [{"input": "", "expected_output": ""}],
                                          "id": i})
    for task in [judge.task() for _ in range(8)]:
        judge.settle(task, kind="fault", **{"class": "fatal", "message": "no compiler"})
    aside = server.get("/api/v1/set-asides")["set_asides"]
    assert [(a["kind"], a["name"]) for a in aside] == [("language", "cpp17")]
    judge.close()
    server.restart()
    again = server.get("/api/v1/set-asides")["set_asides"]
    assert [(a["name"], a["faults"], a["message"]) for a in again] == [("cpp17", 8, "no compiler")]
    judge = judges(server).ready(tokens=16)
    waits = server.submit("// waits")
    flows = server.submit("print(1)", language="python3")
    assert judge.task()["submit_id"] == flows["submit_id"]
    assert server.ask("POST", "/api/v1/set-asides/language/cpp17/resume").status == 200
    assert judge.task()["submit_id"] == waits["submit_id"]


# ---------------------------------------------------------------- refusals


def refused(judge, message):
    judge.send(message)
    return judge.expect("error")


def test_a_wrong_proof_is_refused(server, judges):
    judge = judges(server, prove=False)
    bad = {"type": "auth", "protocol": 1, "key_id": judge.key.split("_")[1], "judge_id": "judge-1",
           "nonce": "0" * 64, "proof": "1" * 64}
    assert refused(judge, bad)["code"] == "bad_key"
    assert judge.closed().code == 4001


def test_a_replayed_proof_is_refused(server, judges):
    first = judges(server, "replay", prove=False)
    nonce = "ab" * 32
    proof, _ = proofs(first.key, first.challenge["nonce"], nonce, "replay")
    auth = {"type": "auth", "protocol": 1, "key_id": first.key.split("_")[1],
            "judge_id": "replay", "nonce": nonce, "proof": proof}
    first.send(auth)
    first.expect("welcome")
    second = judges(server, "replay", prove=False)
    assert refused(second, auth)["code"] == "bad_key"


def test_a_revoked_key_ends_its_judges(own, judges):
    server = own()
    judge = judges(server).ready()
    import subprocess
    from tribunald import CLI
    subprocess.run([CLI, "keys", "revoke", judge.key.split("_")[1], "--db", server.database],
                   check=True, capture_output=True)
    assert judge.expect("bye")["code"] == "revoked"
    again = judges(server, prove=False)
    with pytest.raises(Exception):
        again.auth()


@pytest.mark.parametrize("label, message, code, close", [
    ("wrong version", {"type": "auth", "protocol": 2}, "bad_version", 4000),
    ("missing fields", {"type": "auth", "protocol": 1}, "bad_field", 4002),
    ("out of order", {"type": "ready", "tokens": 1}, "out_of_order", 4002),
    ("unknown message", {"type": "hello"}, "unknown_type", 4002),
    ("no type", {}, "unknown_type", 4002),
    ("not JSON", "{", "bad_json", 4002),
    ("a list", "[]", "bad_json", 4002),
    ("a name twice", '{"type":"auth","type":"auth"}', "bad_json", 4002),
])
def test_before_the_welcome_every_fault_ends_it(server, judges, label, message, code, close):
    judge = judges(server, prove=False)
    assert refused(judge, message)["code"] == code
    assert judge.closed().code == close


def test_binary_and_oversized_frames_end_it(server, judges):
    judge = judges(server, prove=False)
    judge.send(b"\x00\x01")
    assert judge.closed().code == 1003
    judge = judges(server, prove=False)
    judge.send(json.dumps({"type": "auth", "fill": "x" * 5000}))
    assert judge.closed().code == 1009


@pytest.mark.parametrize("label, message, code, field", [
    ("unknown message", {"type": "hello"}, "unknown_type", "type"),
    ("auth again", {"type": "auth"}, "out_of_order", "type"),
    ("too many tokens", {"type": "tokens", "tokens": 5000}, "bad_field", "tokens"),
    ("tokens below zero", {"type": "tokens", "tokens": -1}, "bad_field", "tokens"),
    ("a verdict that is none", {"type": "result", "result": {"verdict": "JE"}}, "bad_field",
     "result.verdict"),
    ("no verdict", {"type": "result", "submit_id": "x", "run_lease": 1}, "bad_field",
     "result.verdict"),
    ("a fault without class", {"type": "fault"}, "bad_field", "class"),
    ("running is no list", {"type": "heartbeat", "running": 3}, "bad_field", "running"),
])
def test_after_it_a_fault_is_told_and_the_session_goes_on(server, judges, label, message, code,
                                                          field):
    judge = judges(server, "faulty").ready()
    judge.beat()
    error = refused(judge, message)
    assert (error["code"], error["field"]) == (code, field)
    judge.beat()


def test_a_result_for_a_task_never_given_is_stale(server, judges):
    judge = judges(server, "liar").ready()
    judge.send({"type": "result", "submit_id": "nobody", "run_lease": 1, "ticket": "1.1",
                "result": {"verdict": "AC"}})
    assert judge.expect("settled")["outcome"] == "stale"


def test_a_wrong_ticket_is_stale(own, judges):
    server = own()
    judge = judges(server).ready()
    server.submit()
    task = judge.task()
    assert judge.settle(task | {"ticket": "999.1"}) == "stale"
    assert judge.settle(task) == "finished"


def test_ten_faults_end_a_session_and_nobody_else(own, judges):
    server = own()
    good = judges(server, "good").ready()
    bad = judges(server, "bad").ready()
    for _ in range(10):
        bad.send({"type": "nonsense"})
    assert bad.expect("bye")["code"] == "protocol"
    server.submit()
    good.settle(good.task())
