"""`tribunal nats …` against real servers: Debian's nats-server and, where it was built, a current one."""

import base64
import json
import os
import pathlib
import signal
import subprocess

import pytest

import harness
from certificates import make_certificates
from harness import wait_until
from harness.nats_secrets import (JETSTREAM, PUBLIC, SEED, TLS, ConfiguredNats, make_account,
                                  tls_secrets)
from harness.proc import Unavailable, cache_dir

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("TRIBUNAL_BUILD", ROOT / "build"))
TRIBUNAL = BUILD / "src/cli/tribunal"
SECOND = 10**9
HOUR = 3600 * SECOND
MIB = 2**20

pytestmark = pytest.mark.skipif(
    "no NATS" in subprocess.run([TRIBUNAL, "nats", "--help"], capture_output=True, text=True).stdout,
    reason="this build has no NATS")


class CurrentNats(harness.Nats):
    """A current server, of dev/servers/nats."""

    @classmethod
    def find(cls):
        folder = os.path.join(cache_dir(), "nats", "bin")
        path = os.path.join(folder, "nats-server")
        if not os.access(path, os.X_OK):
            raise Unavailable("a current nats-server is not built", "dev/servers/nats")
        return path


@pytest.fixture(scope="module", params=[harness.Nats, CurrentNats], ids=["debian", "current"])
def server(request):
    try:
        running = request.param().start()
    except Unavailable as err:
        pytest.skip(f"nats CANNOT RUN HERE: {err}")
    yield running
    running.stop()


@pytest.fixture
def empty(server):
    """A server without streams."""
    for name in ask(server, "STREAM.NAMES").get("streams") or []:
        ask(server, f"STREAM.DELETE.{name}")
    return server


@pytest.fixture
def ready(empty):
    """A provisioned server."""
    good(run(empty, "provision"))
    return empty


def run(server, *words, env=None, timeout=60, **more):
    where = {"TRIBUNAL_NATS_SERVER": server if isinstance(server, str) else server.url}
    return subprocess.run([TRIBUNAL, "nats", *map(str, words)], capture_output=True, text=True,
                          timeout=timeout, env={**os.environ, **where, **(env or {})},
                          stdin=subprocess.DEVNULL if "input" not in more else None, **more)


def good(result):
    assert (result.returncode, result.stderr) == (0, ""), result
    return result.stdout


def refused(result, code):
    assert (result.returncode, result.stdout) == (code, ""), result
    assert len(result.stderr.splitlines()) == 1, result.stderr
    return result.stderr.strip()


def ask(server, what, body=b""):
    return server.ask(f"$JS.API.{what}", body)


def put(server, subject, body):
    answer = server.publish(subject, body)
    assert "error" not in answer, answer
    return answer["seq"]


def stored(server, stream, seq):
    message = ask(server, f"STREAM.MSG.GET.{stream}", {"seq": seq})["message"]
    headers = base64.b64decode(message.get("hdrs", "")).decode()
    return message["subject"], headers, base64.b64decode(message.get("data", ""))


def count(server, stream):
    return ask(server, f"STREAM.INFO.{stream}")["state"]["messages"]


def task(submit="s1", slug="cpp17", **more):
    return {"submit_id": submit, "problem": {"id": 1, "time_limit": 1000, "memory_limit": 256},
            "language": {"id": 1, "slug": slug}, "code": "int main(){}", **more}


def write(path, value):
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return path


# ---- provision and check

PLAN = {
    "JUDGE_TASKS": {"subjects": ["judge.tasks.*"], "retention": "workqueue", "discard": "new",
                    "storage": "file", "max_bytes": 100 * MIB, "max_msgs": 100_000, "max_age": 24 * HOUR,
                    "max_msg_size": MIB, "num_replicas": 1, "duplicate_window": 120 * SECOND},
    "JUDGE_EVENTS": {"subjects": ["judge.events.*"], "retention": "limits", "discard": "old",
                     "storage": "file", "max_bytes": 50 * MIB, "max_age": HOUR},
    "JUDGE_DLQ": {"subjects": ["judge.dlq.*"], "retention": "limits", "discard": "new", "storage": "file",
                  "max_bytes": 100 * MIB, "max_age": 7 * 24 * HOUR},
    "judge-light": {"filter_subject": "judge.tasks.light", "ack_wait": 30 * SECOND, "max_deliver": 30,
                    "max_ack_pending": 1024, "deliver_policy": "all", "ack_policy": "explicit"},
    "judge-heavy": {"filter_subject": "judge.tasks.heavy", "ack_wait": 120 * SECOND, "max_deliver": 30,
                    "max_ack_pending": 1024, "deliver_policy": "all", "ack_policy": "explicit"},
    "judge-dlq-monitor": {"filter_subject": "judge.dlq.*", "ack_wait": 60 * SECOND,
                          "deliver_policy": "all", "ack_policy": "explicit"},
}


def live(server, name):
    if name.isupper():
        return ask(server, f"STREAM.INFO.{name}")["config"]
    stream = "JUDGE_DLQ" if "dlq" in name else "JUDGE_TASKS"
    return ask(server, f"CONSUMER.INFO.{stream}.{name}")["config"]


def test_provisioning_makes_the_plan_and_repeating_it_changes_nothing(empty):
    first = good(run(empty, "provision")).splitlines()
    assert first[:6] == [f"{name}: created" for name in PLAN]
    assert "max_ack_pending is 1024 for the whole farm: 4 for each of 256 slots" in first[6]
    for name, wanted in PLAN.items():
        config = live(empty, name)
        assert {key: config.get(key) for key in wanted} == wanted
        assert not config.get("backoff")
    assert json.loads(good(run(empty, "provision", "--json"))) == {name: "unchanged" for name in PLAN}
    *planned, database = good(run(empty, "check")).splitlines()
    assert planned == [f"{name}: as planned" for name in PLAN]
    assert database.startswith("database: none is named") and "share a database" in database
    assert json.loads(good(run(empty, "check", "--json"))) == {"ok": True, "differences": []}


def test_a_dry_run_prints_what_would_be_sent_and_needs_no_server(empty):
    plan = json.loads(good(run("nats://127.0.0.1:1", "provision", "--dry-run", "--farm-slots", 10)))
    assert [s["name"] for s in plan["streams"]] == ["JUDGE_TASKS", "JUDGE_EVENTS", "JUDGE_DLQ"]
    assert plan["consumers"][0]["config"]["max_ack_pending"] == 40
    for stream in plan["streams"]:
        assert "error" not in ask(empty, f"STREAM.CREATE.{stream['name']}", stream)
    for item in plan["consumers"]:
        name = item["config"]["durable_name"]
        assert "error" not in ask(empty, f"CONSUMER.DURABLE.CREATE.{item['stream_name']}.{name}", item)
    good(run(empty, "check", "--farm-slots", 10))


@pytest.mark.parametrize("name, change, line", [
    ("JUDGE_TASKS", {"discard": "old"},
     'discard is "old", planned is "new": when the stream is full the oldest waiting task vanishes'),
    ("JUDGE_TASKS", {"max_msgs": 10}, "max_msgs is 10, planned is 100000: publishers are refused earlier"),
    ("JUDGE_TASKS", {"max_bytes": -1}, "max_bytes is -1, planned is 104857600: a farm that is down fills"),
    ("JUDGE_TASKS", {"max_age": HOUR}, "tasks that wait vanish earlier"),
    ("JUDGE_EVENTS", {"subjects": ["judge.events.status"]}, "events are not stored"),
    ("JUDGE_DLQ", {"max_age": HOUR}, "dead letters vanish before somebody looks"),
    ("judge-light", {"max_ack_pending": 10},
     "max_ack_pending is 10, planned is 1024: it is for the whole farm: no more tasks than that"),
    ("judge-heavy", {"ack_wait": 10 * SECOND}, "a slow task is delivered a second time while it runs"),
    ("judge-heavy", {"backoff": [10 * SECOND, 30 * SECOND]},
     "planned is not set: its first value replaces ack_wait"),
])
def test_a_difference_is_told_with_its_cost_and_mended(ready, name, change, line):
    config = {**live(ready, name), **change}
    if name.isupper():
        answer = ask(ready, f"STREAM.UPDATE.{name}", config)
    else:
        answer = ask(ready, f"CONSUMER.DURABLE.CREATE.JUDGE_TASKS.{name}",
                     {"stream_name": "JUDGE_TASKS", "config": config})
    assert "error" not in answer, answer
    result = run(ready, "check")
    assert result.returncode == 1 and result.stderr == ""
    assert any(text.startswith(f"{name}: ") and line in text for text in result.stdout.splitlines()), result
    found = json.loads(run(ready, "check", "--json").stdout)
    assert not found["ok"]
    assert {d["object"] for d in found["differences"]} == {name}
    assert set(change) <= {d["field"] for d in found["differences"]}
    assert json.loads(good(run(ready, "provision", "--json")))[name] == "updated"
    good(run(ready, "check"))


def test_settings_of_the_operator_survive_an_update(ready):
    config = {**live(ready, "JUDGE_TASKS"), "description": "ours", "max_msgs": 7}
    assert "error" not in ask(ready, "STREAM.UPDATE.JUDGE_TASKS", config)
    good(run(ready, "provision"))
    assert live(ready, "JUDGE_TASKS")["description"] == "ours"
    assert live(ready, "JUDGE_TASKS")["max_msgs"] == 100_000


def test_a_stream_of_the_wrong_kind_is_remade_only_when_empty(empty):
    seed = {"name": "JUDGE_TASKS", "subjects": ["judge.tasks.*"], "storage": "file", "num_replicas": 1}
    assert "error" not in ask(empty, "STREAM.CREATE.JUDGE_TASKS", seed)
    put(empty, "judge.tasks.light", {"x": 1})
    said = refused(run(empty, "provision"), 3)
    assert "JUDGE_TASKS has settings that cannot be changed in place" in said and "--recreate" in said
    assert "JUDGE_TASKS holds 1 messages and is not deleted" in \
        refused(run(empty, "provision", "--recreate"), 3)
    assert count(empty, "JUDGE_TASKS") == 1
    ask(empty, "STREAM.PURGE.JUDGE_TASKS")
    done = json.loads(good(run(empty, "provision", "--recreate", "--json")))
    assert done["JUDGE_TASKS"] == "recreated"
    good(run(empty, "check"))


def test_a_consumer_of_the_wrong_kind_is_remade_and_no_message_is_lost(ready):
    put(ready, "judge.dlq.light", {"x": 1})
    ask(ready, "CONSUMER.DELETE.JUDGE_DLQ.judge-dlq-monitor")
    new = {**PLAN["judge-dlq-monitor"], "durable_name": "judge-dlq-monitor", "deliver_policy": "new"}
    assert "error" not in ask(ready, "CONSUMER.DURABLE.CREATE.JUDGE_DLQ.judge-dlq-monitor",
                              {"stream_name": "JUDGE_DLQ", "config": new})
    assert "is never delivered" in run(ready, "check").stdout
    assert "judge-dlq-monitor has settings that cannot be changed" in refused_tail(run(ready, "provision"))
    done = json.loads(good(run(ready, "provision", "--recreate", "--json")))
    assert done["judge-dlq-monitor"] == "recreated"
    assert ask(ready, "CONSUMER.INFO.JUDGE_DLQ.judge-dlq-monitor")["num_pending"] == 1


def refused_tail(result):
    """A failure after some lines of work that was done."""
    assert result.returncode == 3, result
    return result.stderr.strip()


def test_replicas_need_a_cluster(empty):
    assert "is not in a cluster and keeps one copy only; use --replicas 1" in \
        refused(run(empty, "provision", "--replicas", 3), 2)
    assert "1, 3 or 5" in refused(run(empty, "provision", "--replicas", 2), 2)


# ---- publish

@pytest.mark.parametrize("slug, more, subject", [
    ("cpp17", {}, "heavy"), ("c11", {}, "heavy"), ("java17", {}, "heavy"), ("python3", {}, "light"),
    ("go", {}, "light"), ("python3", {"type": "heavy"}, "heavy"), ("cpp17", {"type": "light"}, "light"),
])
def test_tasks_are_routed_by_language_or_as_they_say(slug, more, subject, tmp_path):
    path = write(tmp_path / "t", task(slug=slug, **more))
    assert good(run("nats://127.0.0.1:1", "publish", "--dry-run", path)) == \
        f"s1: would go to judge.tasks.{subject} as s1:0:0:0\n"


def test_the_language_table_is_a_setting(tmp_path):
    path = write(tmp_path / "t", task(slug="zig"))
    for words, env in ([["--heavy-languages", "ada, zig"], {}],
                       [[], {"TRIBUNAL_HEAVY_LANGUAGES": "zig"}]):
        assert "judge.tasks.heavy" in good(run("x", "publish", "--dry-run", *words, path, env=env))


def test_the_file_that_all_commands_read_holds_the_settings(tmp_path):
    file = write(tmp_path / "c.yaml", "heavy_languages: zig\nfarm_slots: 7\nnats_server: nats://127.0.0.1:1\n")
    path = write(tmp_path / "t", task(slug="zig"))
    assert "judge.tasks.heavy" in good(run("x", "publish", "--dry-run", path, "--config", file))
    plan = json.loads(good(run("x", "provision", "--dry-run", "--config", file)))
    assert plan["consumers"][0]["config"]["max_ack_pending"] == 28
    env = {k: v for k, v in os.environ.items() if not k.startswith("TRIBUNAL_NATS")}
    said = subprocess.run([TRIBUNAL, "nats", "check", "--config", file], env=env, capture_output=True, text=True)
    assert "no NATS server answers at nats://127.0.0.1:1 (No server available" in said.stderr
    assert subprocess.run([TRIBUNAL, "config", "--config", file], capture_output=True).returncode == 0
    write(file, "farm_slots: many\n")
    said = subprocess.run([TRIBUNAL, "config", "--config", file], capture_output=True, text=True)
    assert (said.returncode, "farm_slots: 'many' is not a whole number" in said.stderr) == (2, True)


def test_a_published_task_is_stored_once_under_its_id(ready, tmp_path):
    first = write(tmp_path / "1", task("a", generation=2, retry_count=1, crashes=3))
    second = write(tmp_path / "2", task("a", generation=2, retry_count=2, crashes=3))
    assert good(run(ready, "publish", first)) == "a: judge.tasks.heavy, JUDGE_TASKS 1\n"
    assert "it was there already" in good(run(ready, "publish", first))
    published = json.loads(good(run(ready, "publish", "--json", second)))["published"]
    assert published == [{"submit_id": "a", "subject": "judge.tasks.heavy", "msg_id": "a:2:2:3",
                          "stream": "JUDGE_TASKS", "seq": 2, "duplicate": False}]
    subject, headers, body = stored(ready, "JUDGE_TASKS", 1)
    assert subject == "judge.tasks.heavy" and "Nats-Msg-Id: a:2:1:3\r\n" in headers
    assert body == first.read_bytes()
    assert good(run(ready, "publish", "-", input=json.dumps(task("b", slug="go")))) == \
        "b: judge.tasks.light, JUDGE_TASKS 3\n"


def test_a_task_of_1000000_bytes_goes_and_one_more_does_not(ready, tmp_path):
    room = 1_000_000 - len(json.dumps(task(code="")))
    exact = write(tmp_path / "exact", task(code="x" * room))
    assert exact.stat().st_size == 1_000_000
    good(run(ready, "publish", exact))
    over = write(tmp_path / "over", task(code="x" * (room + 1)))
    assert "the task has 1000001 bytes; at most 1000000 go over NATS" in refused(run(ready, "publish", over), 2)
    assert count(ready, "JUDGE_TASKS") == 1


@pytest.mark.parametrize("text, says", [
    ("", "not JSON"), ("[]", "expected a JSON object"), ("{}", "submit_id"),
    ('{"submit_id": "a", "submit_id": "b"}', "duplicate"),
    (json.dumps(task("../../x")), "submit_id"), (json.dumps(task("a\nb")), "submit_id"),
    (json.dumps(task(retry_count=-1)), "retry_count"), (json.dumps(task(generation="x")), "generation"),
    (json.dumps(task(crashes=1.5)), "crashes"), (json.dumps(task(type="medium")), "type"),
    (json.dumps({**task(), "language": {}}), "language.slug"),
    (json.dumps({**task(), "problem": {"id": 1, "time_limit": 10**9}}), "time_limit"),
])
def test_what_is_no_task_is_refused_before_anything_is_sent(text, says, tmp_path):
    good_one, bad_one = write(tmp_path / "good", task()), write(tmp_path / "bad", text)
    said = refused(run("nats://127.0.0.1:1", "publish", good_one, bad_one), 2)
    assert f"{bad_one}: " in said and says in said


def test_a_full_stream_is_said_and_keeps_what_it_has(ready, tmp_path):
    config = {**live(ready, "JUDGE_TASKS"), "max_msgs": 1}
    assert "error" not in ask(ready, "STREAM.UPDATE.JUDGE_TASKS", config)
    good(run(ready, "publish", write(tmp_path / "1", task("one"))))
    said = refused(run(ready, "publish", write(tmp_path / "2", task("two"))), 3)
    assert "the stream takes no more" in said
    assert json.loads(stored(ready, "JUDGE_TASKS", 1)[2])["submit_id"] == "one"


# ---- bad servers

def test_a_server_that_is_not_there_is_said(tmp_path):
    said = refused(run("nats://user:secret@127.0.0.1:1", "check"), 3)
    assert "no NATS server answers at 127.0.0.1:1" in said and "secret" not in said
    assert "no NATS server answers" in \
        refused(run("nats://127.0.0.1:1", "publish", write(tmp_path / "t", task())), 3)
    assert "expected nats://HOST:PORT or tls://HOST:PORT" in refused(run("http://x", "check"), 2)
    assert "no NATS server is named" in refused(run(" , ", "check"), 2)


def test_missing_streams_are_named(empty, tmp_path):
    path = write(tmp_path / "t", task())
    assert "no stream takes judge.tasks.heavy; run 'tribunal nats provision'" in \
        refused(run(empty, "publish", path), 2)
    for words in (["events"], ["dlq", "list"]):
        assert "'tribunal nats provision' makes what is missing" in refused(run(empty, *words), 2)
    result = run(empty, "check")
    assert result.returncode == 1
    assert result.stdout.splitlines()[0] == \
        "JUDGE_TASKS: missing: what is published to it is lost; run 'tribunal nats provision'"


def test_jetstream_that_is_off_is_said(tmp_path):
    path = write(tmp_path / "t", task())
    with ConfiguredNats("") as off:
        for words in (["check"], ["publish", path], ["events"]):
            assert "JetStream is off on NATS at " in refused(run(off, *words), 3), words


USERS = JETSTREAM + """authorization { users: [
    {user: alice, password: wonder}
    {user: reader, password: r, permissions: {publish: ["none"], subscribe: ["_INBOX.>"]}}
    {nkey: %s} ] }
""" % PUBLIC


def test_users_passwords_and_nkeys(tmp_path):
    password, seed = write(tmp_path / "password", "wonder\n"), write(tmp_path / "seed", SEED + "\n")
    broken = write(tmp_path / "broken", SEED[:-1] + "A\n")
    with ConfiguredNats(USERS) as server:
        good(run(server, "provision", "--nats-user", "alice", "--nats-password-file", password))
        good(run(server, "check", env={"TRIBUNAL_NATS_USER": "alice", "TRIBUNAL_NATS_PASSWORD": "wonder"}))
        good(run(server, "check", "--nats-nkey", seed))
        for words, says in [
                ([], "it wants credentials (--nats-user, --nats-nkey or --nats-creds)"),
                (["--nats-user", "alice", "--nats-password", "x"], "the user and password are wrong"),
                (["--nats-user", "reader", "--nats-password", "r"], "does not let us: Permissions Violation")]:
            assert says in refused(run(server, "check", *words, "--nats-timeout", "1s"), 3)
        for words, says in [
                (["--nats-nkey", broken], "its check sum is wrong"),
                (["--nats-nkey", tmp_path / "none"], "No such file"),
                (["--nats-creds", tmp_path / "none"], "No such file"),
                (["--nats-nkey", seed, "--nats-user", "alice"], "choose one"),
                (["--nats-password", "x"], "without a user"),
                (["--nats-cert", seed], "needs its key")]:
            assert says in refused(run(server, "check", *words), 2), words


def test_a_context_of_the_nats_tool(tmp_path):
    folder = tmp_path / "nats/context"
    folder.mkdir(parents=True)
    seed = write(tmp_path / "seed", SEED)
    with ConfiguredNats(USERS) as server:
        write(folder / "farm.json", {"description": "", "url": server.url, "user": "alice", "password": "wonder",
                                     "creds": "", "inbox_prefix": ""})
        write(folder / "keyed.json", {"url": "nats://127.0.0.1:1", "nkey": "~/seed"})
        write(folder / "token.json", {"url": server.url, "token": "t"})
        write(folder / "broken.json", "{")

        def check(name, *words):
            env = {k: v for k, v in os.environ.items() if k != "TRIBUNAL_NATS_SERVER"}
            return subprocess.run([TRIBUNAL, "nats", "check", "--nats-context", name, *words], text=True, timeout=60,
                                  capture_output=True, env={**env, "XDG_CONFIG_HOME": str(tmp_path),
                                                            "HOME": str(tmp_path)})

        assert check("farm").returncode == 1  # it is there, and has no streams
        assert check("keyed", "-s", server.url).returncode == 1  # the command line wins
        assert check("farm", "--nats-nkey", seed).returncode == 1
        assert "the user and password are wrong" in refused(check("farm", "--nats-password", "x"), 3)
        assert "it uses 'token', which is not supported" in refused(check("token"), 3)
        assert "the NATS context 'broken': not JSON" in refused(check("broken"), 2)
        assert "No such file" in refused(check("none"), 2)
        assert "is not the name of a NATS context" in refused(check("../farm"), 2)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    return make_certificates(tmp_path_factory.mktemp("tls"))


def test_tls_with_certificates_on_both_sides(certificates):
    c = certificates
    ours = ["--nats-cert", c / "client.pem", "--nats-key", c / "client.key"]
    with ConfiguredNats(TLS, secrets=tls_secrets(c)) as server:
        good(run(server, "provision", "--nats-ca", c / "ca.pem", *ours))
        good(run(server.url.replace("nats:", "tls:"), "check", "--nats-ca", c / "ca.pem", *ours))
        for words, says in [
                (["--nats-ca", c / "other.pem", *ours], "TLS with NATS at "),
                (["--nats-ca", c / "ca.pem"], "client certificate"),
                ([], "NATS at ")]:
            assert says in refused(run(server, "check", *words, "--nats-timeout", "2s"), 3), words


def test_a_creds_file_opens_an_account(tmp_path):
    text, ours, other = make_account(tmp_path)
    with ConfiguredNats(text) as server:
        good(run(server, "provision", "--nats-creds", ours))
        good(run(server, "check", env={"TRIBUNAL_NATS_CREDS": str(ours)}))
        assert "the creds file is not valid there" in refused(run(server, "check", "--nats-creds", other), 3)


# ---- events

def event(submit, status, **more):
    return {"type": "status_change", "submit_id": submit, "status": status, **more}


def test_events_that_are_kept_are_shown(ready):
    put(ready, "judge.events.status", event("a", "RUNNING", worker_id="w1"))
    put(ready, "judge.events.status", event("b", "RUNNING"))
    put(ready, "judge.events.system", b"\x1b[2J not json")
    put(ready, "judge.events.status", {"type": "result", "submit_id": "a", "status": "FINISHED", "score": 100})
    lines = good(run(ready, "events", "--all", "--no-follow")).splitlines()
    assert [line.split(" ", 1)[1] for line in lines] == [
        "status status_change submit=a RUNNING worker=w1", "status status_change submit=b RUNNING",
        "system (not JSON)", "status result submit=a FINISHED score=100"]
    got = [json.loads(line) for line in good(run(ready, "events", "--no-follow", "--json")).splitlines()]
    assert [(e["seq"], e["subject"]) for e in got] == [
        (1, "judge.events.status"), (2, "judge.events.status"), (3, "judge.events.system"),
        (4, "judge.events.status")]
    assert got[0]["event"]["worker_id"] == "w1"
    assert got[2]["event"] is None and "not json" in got[2]["text"]
    ours = good(run(ready, "events", "--no-follow", "--json", "--submit", "a")).splitlines()
    assert [json.loads(line)["seq"] for line in ours] == [1, 4]
    assert len(good(run(ready, "events", "--no-follow", "--kind", "system")).splitlines()) == 1
    assert good(run(ready, "events", "--no-follow", "--kind", "contest")) == ""
    assert len(good(run(ready, "events", "--all", "-n", 2)).splitlines()) == 2
    assert "is not status" in refused(run(ready, "events", "--kind", "a.b"), 2)


def consumers(server):
    return ask(server, "CONSUMER.NAMES.JUDGE_EVENTS").get("consumers") or []


def test_a_follower_misses_nothing_when_the_server_is_killed(tmp_path):
    """100 events, the server killed with -9 and started again twice in between."""
    with harness.Nats() as server:
        good(run(server, "provision"))
        out = tmp_path / "out"
        with open(out, "wb") as file:
            follower = subprocess.Popen([TRIBUNAL, "nats", "events", "--json", "-s", server.url], stdout=file)
        wait_until(lambda: consumers(server), 10, "the follower to be there")
        try:
            for i in range(100):
                put(server, "judge.events.status", event(f"s{i}", "RUNNING"))
                if i in (30, 60):
                    server.kill9()
                    server.restart()
            wait_until(lambda: len(out.read_text().splitlines()) >= 100, 20, "all events to be shown")
        finally:
            follower.send_signal(signal.SIGTERM)
            assert follower.wait(10) == 0
        seen = [json.loads(line)["event"]["submit_id"] for line in out.read_text().splitlines()]
        assert seen == [f"s{i}" for i in range(100)]
        assert consumers(server) == []  # it cleaned up behind itself


# ---- dead letters

def letter(submit, error="disk full", **more):
    return {"original_subject": "judge.tasks.heavy", "submit_id": submit, "error": error, "retry_count": 3,
            "failed_at": "2026-01-01T00:00:00Z", "payload": task(submit, retry_count=3, crashes=2), **more}


@pytest.fixture
def dead(ready):
    put(ready, "judge.dlq.heavy", letter("a"))
    put(ready, "judge.dlq.heavy", letter("b", "no\x1b[2J network"))
    put(ready, "judge.dlq.light", b"rubbish")
    put(ready, "judge.dlq.heavy", letter("a", "again", payload=None))
    return ready


def sequences(server, *words):
    return [one["seq"] for one in json.loads(good(run(server, "dlq", "list", "--json", *words)))["letters"]]


def test_dead_letters_are_listed_and_shown(dead):
    lines = good(run(dead, "dlq", "list")).splitlines()
    assert len(lines) == 4
    assert lines[0].split()[0] == "1" and lines[0].endswith("a  retries=3  disk full")
    assert lines[1].endswith("b  retries=3  no\\x1b[2J network")
    assert "not JSON" in lines[2]
    assert sequences(dead) == [1, 2, 3, 4]
    assert sequences(dead, "--submit", "a") == [1, 4]
    shown = json.loads(good(run(dead, "dlq", "show", 1)))
    assert shown["payload"]["submit_id"] == "a" and shown["error"] == "disk full"
    assert json.loads(good(run(dead, "dlq", "show", 3)))["text"] == "rubbish"
    assert "there is no dead letter 9" in refused(run(dead, "dlq", "show", 9), 2)
    assert "'x' is not" in refused(run(dead, "dlq", "show", "x"), 2)
    assert "has no dead letter" in refused(run(dead, "dlq", "show", "--submit", "zz"), 2)
    assert "name letters in one way" in refused(run(dead, "dlq", "show"), 2)
    assert count(dead, "JUDGE_DLQ") == 4


def test_a_dead_letter_is_judged_again_with_its_tries_back_at_0(dead, tmp_path):
    good(run(dead, "publish", write(tmp_path / "t", task("a"))))  # its first id is fresh in the server's memory
    assert good(run(dead, "dlq", "retry", 1)) == "1: published again\n"
    subject, headers, body = stored(dead, "JUDGE_TASKS", 2)
    assert subject == "judge.tasks.heavy" and "Nats-Msg-Id: a:0:0:0:dlq1\r\n" in headers
    assert json.loads(body) == task("a", retry_count=0, crashes=0, revivals=1)
    assert sequences(dead) == [2, 3, 4]
    assert "there is no dead letter 1" in refused(run(dead, "dlq", "retry", 1), 2)
    assert "holds no task; it can only be dropped" in refused(run(dead, "dlq", "retry", 4), 2)
    assert "dead letter 3" in refused(run(dead, "dlq", "retry", 3), 2)
    done = json.loads(good(run(dead, "dlq", "retry", "--submit", "b", "--json")))["letters"]
    assert done == [{"seq": 2, "submit_id": "b", "done": "published again"}]
    assert count(dead, "JUDGE_TASKS") == 3


def test_dead_letters_are_dropped(dead):
    assert good(run(dead, "dlq", "drop", 3)) == "3: dropped\n"
    assert "there is no dead letter 3" in refused(run(dead, "dlq", "drop", 3), 2)
    assert sequences(dead) == [1, 2, 4]
    assert len(good(run(dead, "dlq", "drop", "--all")).splitlines()) == 3
    assert good(run(dead, "dlq", "list")) == "no dead letters\n"
    assert good(run(dead, "dlq", "retry", "--all")) == "no dead letters\n"


# ---- the connection of a worker

class Connection:
    """tests/drivers/nats_driver.c, its lines kept as they come."""

    def __init__(self, path, *words):
        self.out = path
        with open(path, "wb") as file:
            self.process = subprocess.Popen([BUILD / "tests/drivers/nats_driver", *words], stdin=subprocess.PIPE,
                                            stdout=file)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(20)

    def words(self):
        return [line.split()[0] for line in self.out.read_text().splitlines()]

    def wait(self, *words):
        wait_until(lambda: self.words() == list(words), 15, f"{words}, not {self.words()}")

    def answers(self):
        """Does JetStream answer? Asked once."""
        before = len(self.words())
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()
        wait_until(lambda: len(self.words()) > before, 10, "an answer")
        return self.words()[-1] == "yes"


def test_a_connection_waits_for_its_server_and_outlives_it(tmp_path):
    """Opened while the server is down, killed twice, closed in order."""
    with harness.Nats() as server:
        server.shutdown()
        with Connection(tmp_path / "out", server.url) as connection:
            connection.wait("open")
            server.restart()
            connection.wait("open", "up")
            for _ in range(2):
                server.kill9()
                wait_until(lambda: connection.words()[-1] == "down", 10, "the loss to be noticed")
                server.restart()
                wait_until(lambda: connection.words()[-1] == "up", 10, "the connection to come back")
            wait_until(connection.answers, 10, "JetStream to answer", every=0.2)
        assert connection.process.returncode == 0
        assert connection.words()[-1] == "closed"


def test_a_connection_that_waits_does_not_wait_for_other_credentials(tmp_path):
    with ConfiguredNats(USERS) as server:
        with Connection(tmp_path / "out", server.url, "alice", "wrong") as connection:
            wait_until(lambda: connection.process.poll() is not None, 10, "the refusal")
        assert "the user and password are wrong" in (tmp_path / "out").read_text()
        server.shutdown()
        with Connection(tmp_path / "late", server.url, "alice", "wrong") as connection:
            connection.wait("open")
            server.restart()
            wait_until(lambda: connection.words()[-1] == "closed", 10, "the worker to be told")


# ---- a cluster

def test_three_copies_on_a_cluster_and_no_task_lost_with_its_leader(tmp_path):
    """1,000 tasks while the leader of the stream is killed with -9."""
    total = 1000
    for i in range(total):
        write(tmp_path / f"{i}", task(f"s{i}"))
    with harness.Cluster() as cluster:
        one = cluster.urls[0]  # it tells of the others
        assert "at least 3 copies of each stream" in good(run(one, "provision", "--nats-timeout", "20s"))
        good(run(cluster, "check"))
        publisher = subprocess.Popen(
            [TRIBUNAL, "nats", "publish", "-s", cluster.url, "--nats-timeout", "30s",
             *(str(tmp_path / f"{i}") for i in range(total))],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        wait_until(lambda: count(cluster, "JUDGE_TASKS") > 100, 60, "the publisher to be on its way")
        cluster.stream_leader("JUDGE_TASKS").kill9()
        _, said = publisher.communicate(timeout=60)
        assert (publisher.returncode, said) == (0, "")
        state = ask(cluster, "STREAM.INFO.JUDGE_TASKS")["state"]
        names = submissions(cluster, range(state["first_seq"], state["last_seq"] + 1))
        assert (state["messages"], len(names)) == (total, total)


def submissions(server, sequence):
    """The submit_ids of stored tasks."""
    return {json.loads(stored(server, "JUDGE_TASKS", seq)[2])["submit_id"] for seq in sequence}
