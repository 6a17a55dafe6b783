"""`tribunal queue …` as people type it, on SQLite and PostgreSQL."""

import json
import os
import pathlib
import subprocess

import pytest

BUILD = pathlib.Path(os.environ.get("TRIBUNAL_BUILD", "build"))


def tribunal(*words, stdin=b"", code=0):
    done = subprocess.run([BUILD / "src/cli/tribunal", *map(str, words)], input=stdin, capture_output=True,
                          check=False, timeout=120)
    assert done.returncode == code, done.stderr.decode()
    return done.stdout.decode() if code == 0 else done.stderr.decode()


@pytest.fixture(params=["sqlite", "postgres"])
def db(request, tmp_path, fresh_db):
    url = f"sqlite:{tmp_path}/q.db" if request.param == "sqlite" \
        else fresh_db(request.getfixturevalue("postgres"))
    tribunal("queue", "migrate", "up", "--db", url)
    return url


def stats(db, queue="mail"):
    queues = json.loads(tribunal("queue", "stats", "--db", db, "--json"))["queues"]
    return next(q for q in queues if q["queue_name"] == queue)


def enqueue(db, *words, payload=b"x"):
    return int(tribunal("queue", "enqueue", "--db", db, "--queue", "mail", "--payload", "-", *words,
                        stdin=payload))


def test_enqueue_prints_the_number_and_stats_count_it(db):
    assert enqueue(db) < enqueue(db)
    assert stats(db)["ready"] == 2


def test_a_job_is_shown_with_its_payload(db):
    job = enqueue(db, "--priority", 3, "--kind", "letter", payload=b'{"a": "\xc3\xa9"}\x00\xff')
    shown = json.loads(tribunal("queue", "show", job, "--db", db, "--json"))
    assert shown["payload"] == '{"a": "é"}\x00\ufffd'
    assert (shown["priority"], shown["kind"], shown["state"]) == (3, "letter", "ready")


def test_cancel_retry_discard_move_a_job(db):
    job = enqueue(db, "--delay", "1h")
    assert stats(db)["scheduled"] == 1
    tribunal("queue", "retry", job, "--db", db)
    assert stats(db)["ready"] == 1
    tribunal("queue", "cancel", job, "--db", db)
    listed = json.loads(tribunal("queue", "list", "--state", "cancelled", "--db", db, "--json"))["jobs"]
    assert [j["id"] for j in listed] == [job]
    tribunal("queue", "retry", job, "--db", db)
    tribunal("queue", "discard", job, "--db", db)
    assert json.loads(tribunal("queue", "show", job, "--db", db, "--json"))["state"] == "discarded"


def test_pause_resume_and_config(db):
    tribunal("queue", "pause", "mail", "--db", db)
    assert stats(db)["paused"] is True
    tribunal("queue", "resume", "mail", "--db", db)
    config = json.loads(tribunal("queue", "config", "mail", "--db", db, "--concurrency", 4, "--rate", "2.5",
                                 "--base-backoff", "5s", "--retention", "30d", "--json"))
    assert (config["concurrency_limit"], config["rate_per_sec"]) == (4, 2.5)
    assert (config["base_backoff_us"], config["retention_us"]) == (5_000_000, 30 * 86_400_000_000)
    assert config["paused"] is False


def test_unique_keys_from_the_shell(db):
    first = enqueue(db, "--unique-key", "k")
    assert enqueue(db, "--unique-key", "k") == first


def test_reclaim_prints_how_many(db):
    assert tribunal("queue", "reclaim", "--db", db) == "0\n"


def test_dead_is_empty_at_first(db):
    assert json.loads(tribunal("queue", "dead", "--db", db, "--json")) == {"jobs": []}


def test_migrate_down_and_status(db):
    tribunal("queue", "migrate", "down", "--db", db)
    assert "migrate up" in tribunal("queue", "stats", "--db", db, code=3)
    newest = max(int(f.name[:4]) for f in (pathlib.Path(__file__).parents[2] / "src/queue/sql/postgres").glob("*.up.sql"))
    assert json.loads(tribunal("queue", "migrate", "up", "--db", db, "--json"))["version"] == newest
    tribunal("queue", "migrate", "down", "--to", "0", "--db", db)
    assert "migrate up" in tribunal("queue", "enqueue", "--db", db, code=3)


@pytest.mark.parametrize("backend", ["sqlite:x", "postgres://x/y", "mysql://x/y"])
def test_the_sql_can_be_read_without_a_database(backend):
    assert "CREATE TABLE job_queue" in tribunal("queue", "migrate", "up", "--db", backend, "--show-sql")


@pytest.mark.parametrize("words", [
    ["queue", "stats"], ["queue", "stats", "--db", "oracle://x"], ["queue", "nonsense"],
    ["queue", "migrate", "sideways", "--db", "sqlite:x"], ["queue", "show", "abc", "--db", "sqlite:/tmp/x"],
    ["queue", "show", "12", "13", "--db", "sqlite:x"], ["queue", "enqueue", "--db", "sqlite:x", "--delay", "5"],
])
def test_wrong_usage_is_exit_code_2_with_a_sentence(words):
    assert tribunal(*words, code=2).strip()


def test_a_missing_database_is_a_fault(tmp_path):
    assert tribunal("queue", "stats", "--db", f"sqlite:{tmp_path}/no/such/q.db", code=3).strip()
    assert not (tmp_path / "no").exists()


def test_bench_runs_on_a_small_number(db):
    out = json.loads(tribunal("bench", "queue", "--db", db, "--json", "--jobs", 500, "--samples", 5,
                              "--batch", 50))
    assert out["cycle"] > 0 and len(out["steps"]) == 3
