"""Task messages: inline tests, a language of the task's own, limits."""

import json
import zipfile

import pytest

from judging import EXAMPLES, HONEST, Result, run


@pytest.fixture
def judge_task(tmp_path):
    def do(task, *flags):
        path = tmp_path / "task.json"
        path.write_text(json.dumps(task))
        return Result(run("judge", "--task", path, "--json", *flags))
    return do


def task(**problem):
    return {"submit_id": "uuid-1", "problem": {"id": 1, **problem},
            "language": {"slug": "c11"}, "code": HONEST,
            "contest": {"id": 1, "type": "ACM"}, "user": {"id": 1}}


def test_tests_inside_a_task_are_scored(judge_task):
    r = judge_task(task(test_cases=[{"input": "1 2\n", "expected_output": "3\n", "score": 40},
                                    {"input": "1 2\n", "expected_output": "4\n", "score": 60}]))
    assert r.doc["submit_id"] == "uuid-1" and r.doc["score"] == 40
    assert [c["status"] for c in r.cases] == ["AC", "WA"]
    assert r.cases[1]["difference"]["expected"] == "4"


def test_a_task_may_bring_its_own_language(judge_task):
    t = task(test_cases=[{"input": "1 2\n", "expected_output": "3\n"}])
    t["language"] = {"slug": "mine", "source_filename": "prog.c",
                     "compile_cmd": ["gcc", "-o", "prog", "prog.c"], "run_cmd": ["./prog"],
                     "docker_image": "oj-runner-c", "time_factor": 2.0, "memory_factor": 1.0,
                     "output_limit": 65536, "pids_limit": 16}
    r = judge_task(t)
    assert r.verdict == "AC" and r.result["limits"]["time_ms"] == 2000


def test_an_unknown_language_without_commands_is_refused(judge_task):
    t = task(test_cases=[{"input": "", "expected_output": ""}])
    t["language"] = {"slug": "cobol"}
    r = judge_task(t)
    assert r.code == 2 and "cobol" in r.stderr


def test_a_zip_of_a_package_is_judged(tmp_path, judge_task):
    path = tmp_path / "p.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as z:
        for f in sorted((EXAMPLES / "spread").rglob("*")):
            if f.is_file() and "submissions" not in f.parts:
                z.write(f, f"spread/{f.relative_to(EXAMPLES / 'spread')}")
    source = EXAMPLES / "spread/submissions/accepted/exponents.py"
    r = Result(run("judge", source, "-p", path, "--json"))
    assert r.verdict == "AC" and r.result["total_test"] == 5


def test_no_tests_at_all_is_refused(judge_task):
    assert judge_task(task()).code == 2
