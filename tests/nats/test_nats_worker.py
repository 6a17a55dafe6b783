"""The way of a task through NATS, the database and the judge: one verdict, one event, no more."""

import contextlib
import http.client
import json
import os
import re
import signal
import socket

import pytest

import harness
from e2e.certificates import make_certificates
from harness import wait_until
from harness.nats_secrets import JETSTREAM, PUBLIC, SEED, TLS, ConfiguredNats, Identity, make_account, tls_secrets
from farm import CODE, Farm, make_zip, task

# Delays of retries scaled down: the order of events is the same.
FAST = ("--retry-delays", "50ms,100ms,150ms")
SLOW_CODE = CODE.replace("printf", "for(volatile long i=0;i<600000000;i++);printf")


def seed_message(zip_url, zip_hash, submit="uuid-xxx"):
    """The literal message of seed 000 §4.1, with a real zip."""
    return {
        "submit_id": submit, "idempotency_key": "client-provided-key",
        "problem": {"id": 1, "title": "A+B", "time_limit": 1000, "memory_limit": 256, "stack_limit": 64,
                    "is_spj": False, "test_data_zip": zip_url, "test_data_hash": zip_hash},
        "language": {"id": 1, "slug": "cpp17", "source_filename": "main.cpp",
                     "compile_cmd": ["g++", "-o", "main", "main.cpp"], "run_cmd": ["./main"],
                     "docker_image": "oj-runner-cpp17", "time_factor": 1.0, "memory_factor": 1.0,
                     "output_limit": 65536, "pids_limit": 64},
        "code": "#include <iostream>\nint main(){int a,b;std::cin>>a>>b;std::cerr<<\"hm\";std::cout<<a+b<<'\\n';}",
        "contest": {"id": 1, "type": "ACM", "penalty_minutes": 20, "frozen_minutes": 30, "is_virtual": False},
        "user": {"id": 1, "username": "alice"},
        "retry_count": 0, "created_at": "2024-01-01T10:00:00Z"}


LOGS = {"compile.log", "case_1.stdout", "case_1.stderr", "case_1_resource.json", "case_2.stdout", "case_2.stderr",
        "case_2_resource.json", "result.json"}


@pytest.mark.parametrize("engine", ["sqlite", "postgres", "mariadb", "mysql"])
def test_the_seeds_message_goes_all_the_way(farm, fresh_db, request, engine, s3, tmp_path):
    """Seed 000 §4.1 in, §4.2 and §7 of seed 001 out; data from and logs to the S3 server."""
    db = None if engine == "sqlite" else fresh_db(request.getfixturevalue(engine))
    bucket, logs = s3.make_bucket(), s3.make_bucket()
    bytes_, digest = make_zip([("1 2\n", "3\n"), ("20 22\n", "42\n")])
    assert s3.request("PUT", f"/{bucket}/testdata/1.zip", bytes_)[0] == 200
    f = farm(db=db, env={"TRIBUNAL_S3_ACCESS_KEY": s3.key, "TRIBUNAL_S3_SECRET_KEY": s3.secret})
    f.worker("judge-worker-1", "--consumer", "judge-heavy", "--s3-endpoint", s3.endpoint, "--log-store",
             f"s3://{logs}", "--root", "oj-runner-cpp17=/").wait_ready()
    path = tmp_path / "task.json"
    path.write_text(json.dumps(seed_message(f"minio://{bucket}/testdata/1.zip", digest)))
    assert "judge.tasks.heavy" in f.cli("nats", "publish", path)
    f.wait_state("uuid-xxx", "FINISHED")
    f.wait_settled()
    running, result = f.events(submit="uuid-xxx", kind="status_change") + f.events(submit="uuid-xxx", kind="result")
    assert running["status"] == "RUNNING" and running["worker_id"] == "judge-worker-1"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d.\d+Z", running["timestamp"])
    assert (result["status"], result["score"]) == ("FINISHED", 100), result
    body = result["result"]
    assert (body["accepted_test"], body["total_test"], len(body["cases"])) == (2, 2, 2)
    assert body["time_ms"] >= 0 and body["memory_kb"] > 0
    contest, = f.events(kind="contest")
    assert (contest["contest"]["id"], contest["user"]["username"], contest["verdict"]) == (1, "alice", "AC")
    assert f.row("uuid-xxx", "status, verdict, user_id, contest_id, problem_id, lang, worker_id") == [
        "FINISHED", "AC", "1", "1", "1", "cpp17", "judge-worker-1"]

    def kept():
        text = s3.request("GET", f"/{logs}")[2].decode()
        return {k.removeprefix("submissions/uuid-xxx/") for k in re.findall(r"<Key>([^<]*)</Key>", text)}
    f.wait(lambda: kept() == LOGS, 30, "the five kinds of logs")
    assert s3.request("GET", f"/{logs}/submissions/uuid-xxx/case_2.stdout")[2] == b"42\n"
    assert s3.request("GET", f"/{logs}/submissions/uuid-xxx/case_1.stderr")[2] == b"hm"
    assert f.workers[0].stop() == 0


def test_logs_go_to_a_folder_by_default(farm, tmp_path):
    f = farm()
    f.worker().wait_ready()
    f.put(task("a-1.b_2"))
    f.wait_state("a-1.b_2", "FINISHED")
    folder = tmp_path / "logs/submissions/a-1.b_2"
    want = {"compile.log", "case_1.stdout", "case_1.stderr", "case_1_resource.json", "result.json"}
    f.wait(lambda: {p.name for p in folder.iterdir()} == want, 20, "the logs")
    assert (folder / "case_1.stdout").read_text() == "3\n"
    assert json.loads((folder / "result.json").read_text())["submit_id"] == "a-1.b_2"
    assert json.loads((folder / "case_1_resource.json").read_text())["verdict"] == "AC"


@pytest.mark.parametrize("code, verdict", [
    (CODE.replace("a+b", "a-b"), "WA"), ("int main(", "CE"), ("int main(void){return 3;}", "RTE")])
def test_what_a_program_does_is_a_verdict_and_final(farm, code, verdict):
    f = farm()
    f.worker("w1", *FAST).wait_ready()
    f.put(task(code=code))
    assert f.wait_state("s1", "FINISHED") == ["FINISHED", verdict, "0", "0", "1"]
    f.wait_settled()
    assert f.letters() == []


def test_a_fault_is_tried_four_times_then_dead_and_can_be_revived(farm, tmp_path):
    """The test data are missing: one try, three retries with growing delays, a dead letter; when the cause is gone
    `dlq retry` judges it."""
    f = farm()
    data = tmp_path / "data"
    data.mkdir()
    f.worker("w1", *FAST, "--file-data", data).wait_ready()
    bytes_, digest = make_zip([("1 2\n", "3\n")])
    one = task(tests=(), problem={"test_data_zip": f"file://{data}/1.zip", "test_data_hash": digest})
    del one["problem"]["test_cases"]
    f.put(one)
    assert f.wait_state("s1", "DLQ") == ["DLQ", None, "3", "0", "4"]
    f.wait_settled()
    letter, = f.letters()
    assert (letter["original_subject"], letter["submit_id"], letter["retry_count"]) == ("judge.tasks.light", "s1", 3)
    assert "1.zip" in letter["error"] and letter["payload"]["submit_id"] == "s1" and "failed_at" in letter
    states = [e["status"] for e in f.events(submit="s1", kind="status_change")]
    assert states == ["RUNNING", "SYSTEM_ERROR"] * 3 + ["RUNNING", "DLQ"]
    assert f.events(kind="result") == []
    (data / "1.zip").write_bytes(bytes_)
    f.cli("nats", "dlq", "retry", "--all")
    f.wait_state("s1", "FINISHED")
    f.wait_settled()
    assert f.row("s1", "verdict, retry_count, revivals") == ["AC", "0", "1"]
    assert f.letters() == []


def test_a_slot_that_dies_costs_one_retry_and_not_the_worker(farm):
    f = farm()
    worker = f.worker("w1", *FAST, "--concurrency", 1).wait_ready()
    f.put(task(code=SLOW_CODE))
    f.wait_state("s1", "RUNNING")
    for pid in worker.children():
        os.kill(pid, signal.SIGABRT)  # as after an assert
    f.wait_state("s1", "FINISHED")
    assert f.row("s1") == ["FINISHED", "AC", "1", "0", "2"]
    faults = [e for e in f.events(submit="s1") if e.get("status") == "SYSTEM_ERROR"]
    assert len(faults) == 1 and "SIGABRT" in faults[0]["error"]
    assert worker.process.poll() is None


def test_a_message_that_is_no_task_goes_to_the_dead_letters(farm):
    rows = {"not JSON": b"hello", "no submit_id": b"{}", "a key twice": b'{"submit_id":"x","submit_id":"y"}',
            "a limit outside": json.dumps(task("s1", problem={"time_limit": 10**9})).encode(),
            "bytes": b"\xff\xfe\x00", "deep": b"[" * 10000, "too long a name": json.dumps(task("x" * 300)).encode()}
    f = farm()
    f.worker("w1", *FAST).wait_ready()
    for label, body in rows.items():
        f.put(body)
    f.put(task("good"))
    f.wait_state("good", "FINISHED")
    f.wait_settled()
    letters = f.letters()
    assert len(letters) == len(rows) and all(x["error"] for x in letters), letters
    assert f.states() == {"FINISHED": 1}


BAD_DATA = {
    "wrong hash": ("1.zip", "0" * 64, "SHA-256"),
    "not a zip": ("text.zip", None, "zip"),
    "zip bomb": ("bomb.zip", None, "packed size"),
    "missing object": ("gone.zip", None, "gone.zip"),
    "outside": ("../../../etc/passwd", None, "etc/passwd"),
}


@pytest.mark.parametrize("label", BAD_DATA)
def test_bad_test_data_end_in_a_dead_letter_with_the_reason(farm, tmp_path, label):
    name, digest, word = BAD_DATA[label]
    data = tmp_path / "data"
    data.mkdir()
    (data / "1.zip").write_bytes(make_zip([("1 2\n", "3\n")])[0])
    (data / "text.zip").write_text("no archive")
    (data / "bomb.zip").write_bytes(make_zip([("0" * 60_000_000, "3\n")])[0])
    f = farm()
    f.worker("w1", *FAST, "--file-data", data).wait_ready()
    one = task(problem={"test_data_zip": f"file://{data}/{name}", "test_data_hash": digest})
    del one["problem"]["test_cases"]
    f.put(one, task("good"))
    f.wait_state("s1", "DLQ")
    f.wait_state("good", "FINISHED")
    f.wait_settled()
    letter, = f.letters()
    assert word.lower() in letter["error"].lower(), letter["error"]


# ---- one verdict

def finished_once(f, n):
    """Every row FINISHED, one result event for each, no task left, no dead letter."""
    f.wait_settled()
    assert f.states() == {"FINISHED": n}, f.logs()
    results = [e["submit_id"] for e in f.events(kind="result")]
    assert sorted(results) == sorted(set(results)) and len(results) == n
    assert f.count("JUDGE_DLQ") == 0


def test_a_task_published_twice_has_one_verdict(farm):
    f = farm(ack_wait=1)
    f.put(task(), task())
    f.worker().wait_ready()
    f.worker("w2").wait_ready()
    f.wait_state("s1", "FINISHED")
    finished_once(f, 1)
    assert f.row("s1")[4] == "1"


def test_a_second_submission_with_the_same_key_gets_the_first_ones_result(farm):
    f = farm()
    f.worker().wait_ready()
    f.put(task("a", code=SLOW_CODE, idempotency_key="k"))
    f.wait_state("a", "RUNNING")
    f.put(task("b", idempotency_key="k"))
    f.wait_state("a", "FINISHED")
    f.wait_state("b", "FINISHED")
    f.wait_settled()
    f.put(task("c", idempotency_key="k"))
    f.wait(lambda: len(f.events(kind="result")) == 3, 20, "three results")
    results = {e["submit_id"]: e for e in f.events(kind="result")}
    assert {k: v.get("duplicate_of") for k, v in results.items()} == {"a": None, "b": "a", "c": "a"}
    assert f.row("b", "duplicate_of, run_lease, verdict") == ["a", "1", "AC"]


def test_a_worker_frozen_past_its_lease_writes_nothing(farm):
    f = farm(ack_wait=1)
    frozen = f.worker("same-name", "--concurrency", 1).wait_ready()
    f.put(task(code=SLOW_CODE))
    f.wait_state("s1", "RUNNING")
    frozen.process.send_signal(signal.SIGSTOP)
    f.worker("same-name", "--concurrency", 1, "--spool", f.folder / "spool2").wait_ready()
    f.wait_state("s1", "FINISHED")
    frozen.process.send_signal(signal.SIGCONT)
    f.wait(lambda: "nothing is written" in frozen.text() or "not written" in frozen.text(), 30,
           "the frozen worker to notice")
    finished_once(f, 1)
    assert f.row("s1", "run_lease, crashes, retry_count") == ["2", "1", "0"]


def test_a_long_judging_keeps_its_message(farm):
    """Judging takes longer than ack_wait: signs of life keep the message and the lease."""
    f = farm(ack_wait=0.5)
    f.worker("w1", "--concurrency", 1).wait_ready()
    f.worker("w2", "--concurrency", 1).wait_ready()
    f.put(task(code=SLOW_CODE, tests=[("1 2\n", "3\n")] * 3))
    f.wait_state("s1", "FINISHED")
    finished_once(f, 1)
    assert f.row("s1", "run_lease, crashes") == ["1", "0"]


def test_a_rejudge_has_the_next_generation_and_keeps_the_old_result(farm):
    f = farm()
    f.worker().wait_ready()
    f.put(task(code=CODE.replace("a+b", "a-b")))
    f.wait_state("s1", "FINISHED")
    f.wait_settled()
    f.put(task(generation=1))
    f.wait(lambda: f.row("s1", "generation, verdict") == ["1", "AC"], 20, "the new verdict")
    assert f.sql("SELECT generation, verdict FROM submission_history") == [["0", "WA"]]
    f.put(task())  # an old message, late
    f.wait_settled()
    assert f.row("s1", "generation, verdict") == ["1", "AC"]


# ---- life of a worker

def test_sigterm_lets_running_tasks_finish(farm):
    f = farm()
    worker = f.worker("w1", "--concurrency", 1).wait_ready()
    f.put(task(code=SLOW_CODE), task("s2"))
    f.wait_state("s1", "RUNNING")
    assert worker.stop() == 0
    assert f.row("s1")[0] == "FINISHED"
    assert f.row("s2") in (None, ["PENDING", None, "0", "0", "0"])
    f.worker("w2").wait_ready()
    f.wait_state("s2", "FINISHED")
    finished_once(f, 2)
    assert [e["type"] for e in f.events() if e["type"].startswith("worker_")][:2] == ["worker_up", "worker_down"]


def test_a_drain_that_takes_too_long_gives_tasks_back_for_nothing(farm):
    f = farm()
    worker = f.worker("w1", "--concurrency", 1, "--drain-timeout", "100ms").wait_ready()
    f.put(task(code=SLOW_CODE, tests=[("1 2\n", "3\n")] * 20, problem={"time_limit": 20000}))
    f.wait_state("s1", "RUNNING")
    assert worker.stop(20) == 0
    assert f.row("s1") == ["PENDING", None, "0", "0", "1"]
    f.wait(lambda: f.left() == 1, 10, "the message to be given back")


def test_the_watchdog_brings_back_what_is_lost(farm, tmp_path):
    """A run whose worker died and whose message is gone; a row whose message never came."""
    f = farm(ack_wait=0.5)
    first = f.worker("w1", "--concurrency", 1).wait_ready()
    f.put(task("lost", code=SLOW_CODE, problem={"time_limit": 20000}))
    f.wait_state("lost", "RUNNING")
    first.kill9()
    path = tmp_path / "task.json"
    path.write_text(json.dumps(task("never", slug="python3", code="a,b=map(int,input().split())\nprint(a+b)")))
    f.cli("nats", "publish", "--db", f.db, path)
    assert f.row("never", "status, source, subject") == ["PENDING", "nats", "judge.tasks.light"]
    f.ask("STREAM.PURGE.JUDGE_TASKS")
    f.worker("w2", "--watchdog", "100ms", "--lease-grace", "300ms").wait_ready()
    f.worker("w3", "--watchdog", "100ms", "--lease-grace", "300ms").wait_ready()
    f.wait_state("lost", "FINISHED")
    f.wait_state("never", "FINISHED")
    assert f.row("lost", "verdict, crashes, retry_count") == ["AC", "1", "0"]
    assert f.count("JUDGE_DLQ") == 0


def test_a_message_delivered_too_often_is_found_and_buried(farm):
    """JetStream itself only stops delivering it."""
    f = farm(ack_wait=0.3, max_deliver=2)
    f.put(task())

    def take():
        with f.nats.client() as client:
            return client.request("$JS.API.CONSUMER.MSG.NEXT.JUDGE_TASKS.judge-light", {"batch": 1, "no_wait": True})
    for _ in range(2):  # somebody takes it and never answers
        f.wait(take, 20, "the message")
    f.worker().wait_ready()
    f.put(task("good"))
    f.wait_state("good", "FINISHED")
    f.wait(lambda: f.letters(), 20, "the letter")
    assert "delivered" in f.letters()[0]["error"]
    f.wait_settled()


def test_metrics_are_served(farm):
    f = farm()
    worker = f.worker("w1", "--metrics-listen", "127.0.0.1:0").wait_ready()
    f.put(task(), task("s2", code="int main("))
    f.wait_state("s1", "FINISHED")
    f.wait_state("s2", "FINISHED")
    f.wait_settled()
    port = int(re.search(r"metrics on port (\d+)", worker.text())[1])

    def page():
        c = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        c.request("GET", "/metrics")
        return c.getresponse().read().decode()
    f.wait(lambda: 'tribunal_logs_total{outcome="kept"} 2' in page(), 20, "the logs to be counted")
    text = page()
    for line in ('tribunal_tasks_total{outcome="finished"} 2', "tribunal_slots 2", "tribunal_slots_busy 0",
                 'tribunal_verdicts_total{language="c11",verdict="AC"} 1', "tribunal_connected 1",
                 'tribunal_verdicts_total{language="c11",verdict="CE"} 1', "tribunal_judge_seconds_count 2",
                 'tribunal_queue_wait_seconds_bucket{le="+Inf"} 2'):
        assert line in text, line


def test_logs_of_a_worker_that_died_are_kept_if_its_run_counts(farm, tmp_path):
    """Kept: the run that gave the verdict. Removed: one that never counted, one of nobody."""
    f = farm(ack_wait=1)
    first = f.worker("w1", "--concurrency", 1).wait_ready()
    f.put(task("s1"))
    f.wait_state("s1", "FINISHED")
    logs, spool = tmp_path / "logs/submissions", tmp_path / "state/spool/w1"
    f.wait(lambda: not list(spool.iterdir()), 20, "the logs to be kept")
    f.put(task("s2", code=SLOW_CODE))
    f.wait(lambda: list(spool.glob("new-*-1")), 20, "the second run's folder")
    first.kill9()
    for name, submit in (("new-a-1", "s1"), ("new-b-9", "s1"), ("new-c-1", "nobody"), ("new-d-1", None)):
        (spool / name).mkdir()
        (spool / name / "mark").write_text(name)
        if submit:
            (spool / name / "submit_id").write_text(submit)
    f.worker("w1", "--concurrency", 1).wait_ready()
    f.wait_state("s2", "FINISHED")
    f.wait(lambda: not list(spool.iterdir()), 20, "the spool to be empty")
    assert (logs / "s1/mark").read_text() == "new-a-1"
    assert not (logs / "nobody").exists() and not (logs / "s2/mark").exists()
    (spool / "new-e-1").mkdir()
    f.worker("w2", "--spool", spool).wait_ready()
    assert (spool / "new-e-1").exists(), "w1 lives: what is in its spool is its own"


def test_progress_events_are_published_when_asked_for(farm):
    f = farm()
    f.worker("w1", "--progress").wait_ready()
    f.put(task(tests=[("1 2\n", "3\n"), ("2 2\n", "4\n")]))
    f.wait_state("s1", "FINISHED")
    f.wait_settled()
    progress = f.events("progress")
    assert [p.get("test") for p in progress] == [None, 1, 2]
    assert all(p["submit_id"] == "s1" and p["run_lease"] == 1 for p in progress)


# ---- what can be wrong at the start

def refused(f, *options, db=None, nats=None):
    if db:
        f.db = db
    if nats:
        f.nats_url = nats
    worker = f.worker(f"bad{len(f.workers)}", "--no-wait", *options)
    code = worker.process.wait(30)
    lines = [x for x in worker.text().splitlines() if x.startswith("tribunal-worker:")]
    assert len(lines) == 1, worker.text()
    return code, lines[0]


def test_a_worker_that_cannot_work_says_why_in_one_sentence(farm, tmp_path):
    f = farm()
    good_db, good_url = f.db, f.nats_url
    code, said = refused(f, nats="nats://127.0.0.1:1")
    assert code == 3 and "127.0.0.1:1" in said
    f.nats_url = good_url
    code, said = refused(f, db="postgres://nobody@127.0.0.1:1/x")
    assert code == 3 and "PostgreSQL" in said
    code, said = refused(f, db="oracle://x")
    assert code == 2 and "sqlite:" in said
    f.db = good_db
    code, said = refused(f, "--consumer", "judge-medium")
    assert code == 2 and "judge-light" in said
    code, said = refused(f, "--retry-delays", "5")
    assert code == 2 and "retry-delays" in said
    code, said = refused(f, "--log-store", "s3://logs")
    assert code == 2 and "--s3-endpoint" in said
    f.ask("STREAM.DELETE.JUDGE_TASKS")
    code, said = refused(f)
    assert code == 3 and "tribunal nats provision" in said


def test_a_worker_that_starts_too_early_waits_and_says_for_what(tmp_path, judge_cache, own_server):
    """No server, then no stream: two sentences, and then it works."""
    server = own_server("nats")
    server.shutdown()
    f = Farm(server, f"sqlite:{tmp_path}/s.db", tmp_path, judge_cache)
    worker = f.worker("w1")
    f.wait(lambda: "tries again: no NATS server answers" in worker.text(), 20, "it to miss the server")
    server.restart()
    f.wait(lambda: "'tribunal nats provision' makes what is missing" in worker.text(), 20, "it to miss the stream")
    f.provision()
    worker.wait_ready()
    f.put(task())
    f.wait_state("s1", "FINISHED")
    assert worker.stop() == 0


def test_a_worker_waits_for_its_database_and_ends_when_told(farm):
    f = farm(db="postgres://nobody@127.0.0.1:1/x")
    worker = f.worker("w1")
    wait_until(lambda: "tries again: " in worker.text() and "PostgreSQL" in worker.text(), 30, "it to miss the database")
    worker.process.terminate()
    assert worker.process.wait(20) == -signal.SIGTERM


@pytest.mark.parametrize("options, code, word", [
    (("--nats-server", "http://127.0.0.1:1"), 2, "nats://HOST:PORT"),
    (("--nats-creds", "/nowhere.creds"), 3, "/nowhere.creds")])
def test_what_only_a_person_can_mend_is_not_waited_for(farm, options, code, word):
    f = farm()
    worker = f.worker("w1", *options)
    assert worker.process.wait(30) == code, worker.text()
    assert word in worker.text()


def test_jetstream_that_is_off_is_named(tmp_path, judge_cache):
    class Off(harness.Nats):
        def command(self):
            return [w for w in super().command() if w != "--jetstream"]

        def ready(self):
            with self.client():
                return True
    with Off() as server:
        f = Farm(server, f"sqlite:{tmp_path}/s.db", tmp_path, judge_cache)
        code, said = refused(f)
        assert code == 3 and "JetStream is off" in said


def test_credentials_are_wanted_checked_and_enough(tmp_path, judge_cache):
    class Locked(harness.Nats):
        def command(self):
            return [*super().command(), "--user", "alice", "--pass", "wonder"]

        def ready(self):
            with socket.create_connection(("127.0.0.1", self.port), 5):
                return True
    with Locked() as server:
        f = Farm(server, f"sqlite:{tmp_path}/s.db", tmp_path, judge_cache)
        code, said = refused(f)
        assert code == 3 and "it wants credentials" in said
        code, said = refused(f, "--nats-user", "alice", "--nats-password", "x")
        assert code == 3 and "the user and password are wrong" in said
        f.env = {"TRIBUNAL_NATS_USER": "alice", "TRIBUNAL_NATS_PASSWORD": "wonder"}
        f.cli("nats", "provision")
        worker = f.worker().wait_ready()
        (tmp_path / "task.json").write_text(json.dumps({**task(), "type": "light"}))
        f.cli("nats", "publish", tmp_path / "task.json")
        f.wait_state("s1", "FINISHED")
        assert worker.stop() == 0


def with_tls(folder):
    c = make_certificates(folder)
    ours = {"TRIBUNAL_NATS_CA": c / "ca.pem", "TRIBUNAL_NATS_CERT": c / "client.pem",
            "TRIBUNAL_NATS_KEY": c / "client.key"}
    return ConfiguredNats(TLS, secrets=tls_secrets(c)), ours, {"TRIBUNAL_NATS_CA": c / "ca.pem"}, "client certificate"


def with_nkey(folder):
    (folder / "seed").write_text(SEED)
    (folder / "other").write_text(Identity(folder, "user").seed)
    server = ConfiguredNats(JETSTREAM + "authorization { users: [ {nkey: %s} ] }" % PUBLIC)
    return server, {"TRIBUNAL_NATS_NKEY": folder / "seed"}, {"TRIBUNAL_NATS_NKEY": folder / "other"}, \
        "the nkey is not one of its users"


def with_creds(folder):
    text, ours, other = make_account(folder)
    return ConfiguredNats(text), {"TRIBUNAL_NATS_CREDS": ours}, {"TRIBUNAL_NATS_CREDS": other}, \
        "the creds file is not valid there"


@pytest.mark.parametrize("way", [with_tls, with_nkey, with_creds])
def test_a_worker_comes_in_with_what_it_has_and_not_otherwise(tmp_path, judge_cache, way):
    server, ours, others, word = way(tmp_path)
    with server, contextlib.closing(Farm(server, f"sqlite:{tmp_path}/s.db", tmp_path, judge_cache)) as f:
        f.env = {k: str(v) for k, v in ours.items()}
        f.cli("nats", "provision")
        worker = f.worker().wait_ready()
        (tmp_path / "task.json").write_text(json.dumps({**task(), "type": "light"}))
        f.cli("nats", "publish", tmp_path / "task.json")
        f.wait_state("s1", "FINISHED")
        assert worker.stop() == 0
        f.env = {k: str(v) for k, v in others.items()}
        stranger = f.worker("w2")  # no --no-wait: this is nothing to wait for
        assert stranger.process.wait(30) == 3 and word in stranger.text(), stranger.text()


def test_without_a_database_it_warns_loudly(farm):
    f = farm()
    f.db = None
    worker = f.worker().wait_ready()
    assert "NO SHARED DATABASE" in worker.text()
    f.db = f"sqlite:{f.folder}/state/submissions.db"
    f.put(task())
    f.wait_state("s1", "FINISHED")
