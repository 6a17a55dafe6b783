"""One controller and one real judge: what a person sees of a judging, beside its verdict."""

import pytest

from controller.farm import Farm
from controller.test_chaos import RIGHT
from harness import wait_until


@pytest.fixture(scope="module")
def farm():
    with Farm() as one:
        one.controller()
        one.judge = one.real_judge("j1")
        yield one


def of(farm, submit_id):
    return farm.get(f"/api/v1/submissions/{submit_id}")


def ended(farm, submit_id):
    return wait_until(lambda: (row := of(farm, submit_id))["status"] in ("FINISHED", "CANCELLED")
                      and row, 60, f"the end of {submit_id}")


def test_logs_follow_the_verdict(farm):
    farm.submit({"submit_id": "logs", "problem": "a-plus-b", "language": "python3", "code": RIGHT})
    assert ended(farm, "logs")["verdict"] == "AC"
    wanted = {"compile.log", "result.json", "case_1.stdout", "case_1.stderr", "case_1_resource.json"}
    wait_until(lambda: wanted <= {log["name"] for log in
                                  farm.get("/api/v1/submissions/logs/logs")["logs"]},
               20, "the logs")


@pytest.mark.parametrize("code,verdict,stdout,stderr", [
    ("import sys\nprint(input()[::-1])\nprint('e', file=sys.stderr)\n", "AC", "cba\n", "e\n"),
    ("print('x')\nraise SystemExit(3)\n", "RTE", "x\n", ""),
], ids=["ends well", "ends with 3"])
def test_a_run_with_custom_input_is_compared_with_nothing(farm, code, verdict, stdout, stderr):
    run = farm.request("POST", "/api/v1/runs?wait=30", {"language": "python3", "code": code,
                                                        "stdin": "abc\n"})
    assert run["verdict"] == verdict
    assert run["result"]["run"] == {"stdout": stdout, "stderr": stderr, "stdout_truncated": False,
                                    "stderr_truncated": False}


def test_a_cancelled_task_frees_its_slot_at_once(farm):
    forever = {"id": 1, "title": "x", "time_limit": 60000, "memory_limit": 64,
               "test_cases": [{"input": "", "expected_output": "1"}]}
    farm.submit({"submit_id": "forever", "problem": forever, "language": "python3",
                 "code": "while True: pass"})
    wait_until(lambda: of(farm, "forever")["status"] == "RUNNING", 20, "it to run")
    farm.request("POST", "/api/v1/submissions/forever/cancel", {})
    assert ended(farm, "forever")["status"] == "CANCELLED"
    farm.submit({"submit_id": "next", "problem": "a-plus-b", "language": "python3",
                 "code": RIGHT + "# next"})
    wait_until(lambda: of(farm, "next")["status"] == "FINISHED", 15, "the slot to be free")
