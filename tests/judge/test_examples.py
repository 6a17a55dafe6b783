"""Every submission of every example gets the verdict that its folder promises."""

import json

import pytest

from judging import EXAMPLES, SOAK, Result, run

TIMES = 20 if SOAK else 2
NAMES = sorted(p.name for p in EXAMPLES.iterdir() if p.is_dir())


@pytest.mark.parametrize("name", NAMES)
def test_every_submission_has_its_expected_verdict(name):
    done = run("problem", "check", EXAMPLES / name, "--json", "--times", TIMES, "--jobs", 2,
               timeout=300 * TIMES)
    report = json.loads(done.stdout)
    wrong = [s for s in report["submissions"] if not s["as_expected"]]
    assert done.returncode == 0 and not wrong, (wrong, done.stderr)
    assert report["judged"] >= 8 * TIMES


@pytest.mark.parametrize("name, path", [
    ("a-plus-b", "wrong_answer/difference.cpp"),
    ("stairs", "time_limit_exceeded/50_loop.c"),
    ("stairs", "memory_limit_exceeded/20_table.cpp"),
    ("pair", "wrong_answer/values.cpp"),
    ("squares", "wrong_answer/one_short.c"),
])
def test_two_lanes_report_what_one_reports(name, path):
    folder = EXAMPLES / name
    source = folder / "submissions" / path
    one, two = (Result(run("judge", source, "-p", folder, "--json", "--jobs", n)) for n in (1, 2))
    assert [c["status"] for c in one.cases] == [c["status"] for c in two.cases]
    assert [c["score"] for c in one.cases] == [c["score"] for c in two.cases]
    assert (one.verdict, one.sub, one.doc["score"]) == (two.verdict, two.sub, two.doc["score"])
    assert one.code == two.code == 1


def test_the_result_has_the_seeds_shape():
    folder = EXAMPLES / "a-plus-b"
    r = Result(run("judge", folder / "submissions/accepted/sum.c", "-p", folder, "--json"))
    assert r.code == 0 and r.doc["type"] == "result" and r.doc["status"] == "FINISHED"
    assert r.doc["score"] == 100
    assert {"accepted_test", "total_test", "time_ms", "memory_kb", "cases"} <= r.result.keys()
    assert r.result["accepted_test"] == r.result["total_test"] == 20
    for i, case in enumerate(r.cases, 1):
        assert {"id", "status", "time_ms", "memory_kb", "score"} <= case.keys()
        assert case["id"] == i and case["status"] == "AC"


def test_a_compile_error_carries_its_log():
    folder = EXAMPLES / "a-plus-b"
    r = Result(run("judge", folder / "submissions/compile_error/typo.cpp", "-p", folder, "--json"))
    assert r.code == 1 and r.verdict == "CE" and "undeclared" in r.log and r.cases == []


def test_the_table_is_for_people():
    folder = EXAMPLES / "a-plus-b"
    done = run("judge", folder / "submissions/wrong_answer/difference.cpp", "-p", folder)
    assert done.returncode == 1
    assert "WA" in done.stdout and "expected 3" in done.stdout and "line 1, column 1" in done.stdout
    assert "19 not run" in done.stdout and "\033" not in done.stdout
    painted = run("judge", folder / "submissions/wrong_answer/difference.cpp", "-p", folder,
                  "--color", "always")
    assert "\033[1;31mWA" in painted.stdout
