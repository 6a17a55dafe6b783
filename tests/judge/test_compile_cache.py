"""Compiled once: by content, also when two ask at the same time."""

import json
import subprocess
import time
import uuid

from judging import ENV, HONEST, TRIBUNAL, Result, run


def fresh():
    return f"/* {uuid.uuid4()} */\n" + HONEST


def test_the_second_time_nothing_is_compiled(judge, problem):
    folder, source = problem(), fresh()
    first, second = judge(source, folder), judge(source, folder)
    assert first.verdict == second.verdict == "AC"
    assert not first.result["compile"]["cached"] and second.result["compile"]["cached"]
    other = judge(source + "\n", folder)
    assert not other.result["compile"]["cached"]


def test_two_at_once_compile_once(tmp_path, problem):
    folder = problem()
    path = tmp_path / "main.c"
    path.write_text(fresh())
    both = [subprocess.Popen([TRIBUNAL, "judge", path, "-p", folder, "--json"], env=ENV, text=True,
                             stdout=subprocess.PIPE) for _ in range(2)]
    said = [json.loads(p.communicate(timeout=60)[0]) for p in both]
    assert sorted(s["result"]["compile"]["cached"] for s in said) == [False, True]
    assert all(s["result"]["verdict"] == "AC" for s in said)


def test_no_cache_keeps_nothing(judge, problem):
    folder, source = problem(), fresh()
    for _ in range(2):
        assert not judge(source, folder, "main.c", "--no-cache").result["compile"]["cached"]


def test_a_long_source_is_a_verdict_of_its_problem(tmp_path):
    """A Kattis package takes 128 KiB unless it says otherwise."""
    folder = tmp_path / "p"
    (folder / "data/secret").mkdir(parents=True)
    (folder / "data/secret/1.in").write_text("1 2\n")
    (folder / "data/secret/1.ans").write_text("3\n")
    path = tmp_path / "main.c"
    path.write_text(HONEST + "//" + "x" * 200_000)
    r = Result(run("judge", path, "-p", folder, "--json"))
    assert r.verdict == "CE" and "131072" in r.log


def test_an_image_is_a_folder_of_the_configuration(tmp_path):
    root = tmp_path / "root"
    (root / "bin").mkdir(parents=True)
    for folder in ("proc", "dev", "tmp", "w", "usr"):
        (root / folder).mkdir()
    code = tmp_path / "only.c"
    code.write_text('#include <stdio.h>\nint main(void){puts("from the image");}')
    subprocess.run(["gcc", "-static", "-o", root / "bin/only", code], check=True)
    task = {"submit_id": "t", "code": "x", "problem":
            {"test_cases": [{"input": "", "expected_output": "from the image\n"}]},
            "language": {"slug": "mine", "source_filename": "main.txt", "run_cmd": ["/bin/only"],
                         "docker_image": "tiny"}}
    path = tmp_path / "task.json"
    path.write_text(json.dumps(task))
    r = Result(run("judge", "--task", path, "--json", "--root", f"tiny={root}"))
    assert r.verdict == "AC", r
    assert Result(run("judge", "--task", path, "--json")).verdict == "RTE"  # the host has none


def test_a_seen_submission_is_quick(judge, problem):
    """Not a benchmark, only a bound that no busy machine should break."""
    folder, source = problem(), fresh()
    judge(source, folder)
    began = time.monotonic()
    assert judge(source, folder).verdict == "AC"
    assert time.monotonic() - began < 5
