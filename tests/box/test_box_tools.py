"""`tribunal doctor`, `tribunal run`, `tribunal bench box`, and many runs in one slot."""

import json
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("TRIBUNAL_BUILD", ROOT / "build"))
TRIBUNAL = BUILD / "src/cli/tribunal"
BOX = BUILD / "src/boxd/tribunal-box"
CONSUMER = BUILD / "tests/consumer"
SOAK = os.environ.get("TRIBUNAL_SOAK") == "1"


def call(*words, timeout=120, **more):
    return subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=timeout, **more)


def test_doctor_says_what_was_tried_and_how_to_fix_it():
    done = call(TRIBUNAL, "doctor", "--json")
    report = json.loads(done.stdout)
    rows = {r["name"]: r for r in report["rows"]}
    assert {"kernel", "namespaces", "user namespace", "seccomp", "cgroup", "a run"} <= set(rows)
    assert done.returncode == (0 if report["ok"] else 1)
    for row in report["rows"]:
        assert row["status"] in ("ok", "weaker", "missing") and row["found"]
        assert (row["status"] == "ok") == (row["weaker"] == "" and row["fix"] == ""), row
    table = call(TRIBUNAL, "doctor")
    assert "a run" in table.stdout and table.returncode == done.returncode


def test_run_is_the_same_command_by_both_names():
    for words in ([TRIBUNAL, "run"], [BOX, "run"]):
        done = call(*words, "--json", "--", "/bin/sh", "-c", "exit 4")
        assert done.returncode == 1
        report = json.loads(done.stdout)
        assert report["cause"] == "exit" and report["exit"] == 4
    assert call(TRIBUNAL, "run", "--", "/bin/echo", "hi").stdout == "hi\n"


def test_bench_box_prints_what_it_promises():
    done = call(TRIBUNAL, "bench", "box", "--rounds", "5", "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    for load in ("hello_static", "ab_dynamic"):
        assert {"bare_us", "box_us", "ratio", "p99_ratio", "runs_per_s_1", "runs_per_s_2"} <= set(report[load])
        # No target here: a machine that runs tests is no place to measure. Only "not absurd".
        assert 0.3 < report[load]["ratio"] < 4, report


def test_bench_box_checks_what_a_contender_prints(tmp_path):
    """A stand-in for isolate that is fast because it runs nothing."""
    script = tmp_path / "isolate"
    script.write_text(f"""#!/bin/sh
case $1 in --init) mkdir -p {tmp_path}/0/box; echo {tmp_path}/0;; --silent) echo "${{SAYS-hello}}";; esac
""")
    script.chmod(0o755)
    env = dict(os.environ, PATH=f"{tmp_path}:{os.environ['PATH']}")
    done = call(TRIBUNAL, "bench", "box", "--rounds", "1", env=dict(env, SAYS="wrong"))
    assert done.returncode == 3 and "isolate: a wrong answer" in done.stderr, done
    done = call(TRIBUNAL, "bench", "box", "--rounds", "1", env=env)  # right for the first load only
    assert "isolate  median" in done.stdout and done.returncode == 3, done


def test_bench_box_says_when_a_named_contender_is_missing():
    done = call(TRIBUNAL, "bench", "box", env=dict(os.environ, TRIBUNAL_GO_JUDGE="/no/such/file"))
    assert done.returncode in (2, 3) and "TRIBUNAL_GO_JUDGE" in done.stderr, done


def test_many_runs_leave_nothing_behind():
    runs = 100000 if SOAK else 4000
    env = dict(os.environ, TRIBUNAL_BOX=str(BOX), LD_LIBRARY_PATH=str(BUILD / "src/box"))
    done = call(CONSUMER / "box_api", CONSUMER / "load", "soak", runs, timeout=1500, env=env)
    assert done.returncode == 0, done.stderr
    grown = json.loads(done.stdout)
    print(grown)
    assert grown["renewed"] == 0
    assert all(kib <= 512 for kib in grown["rss_growth_kib"]), grown
    assert grown["fd_growth"] == [0, 0, 0]
    assert grown["mount_growth"] <= 0
    assert grown["cgroup_growth"] <= 0
    # The fastest quarter of the last tenth against that of the first: others use this machine too.
    assert grown["last_quarter_us"] < 2 * grown["first_quarter_us"], grown
